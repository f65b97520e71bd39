#!/usr/bin/env bats
# runs: user
# seconds: 30
# Who is told of a loop: a command, a webhook, the desktop.
# shellcheck disable=SC2016
load helpers
load loop
load ../lib/cred

teardown() {
	[ -z "${HOOK_PID:-}" ] || kill "$HOOK_PID" 2>/dev/null
	ralph_teardown
}

# hook_start STATUS…: a server that answers so, in this order and the last one for ever; requests are in $T/hook/got.
hook_start() {
	need openssl python3
	test_authority "$T/hook" "DNS:localhost,IP:127.0.0.1" || return
	python3 "$BATS_TEST_DIRNAME/../lib/hook-server.py" "$T/hook" "$@" >"$T/hook/log" 2>&1 3>&- &
	HOOK_PID=$!
	wait_until -t 60 test -e "$T/hook/port" || fail "$(cat "$T/hook/log")" || return
	export SSL_CERT_FILE=$T/hook/ca.pem
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	echo "loop: {notify: 'webhook:https://localhost:$(cat "$T/hook/port")/secret-part'}" >"$XDG_CONFIG_HOME/ralph/config.yaml"
}

# got EXPRESSION: of the requests, as the list `j`.
got() {
	python3 -c 'import json, sys; j = [json.loads(x) for x in open(sys.argv[2])]; print(eval(sys.argv[1]))' "$1" "$T/hook/got"
}

@test 'a webhook gets the end of the loop as JSON' {
	hook_start 200
	loop_workspace 1
	build 0 honest
	same "1 /secret-part" "$(got 'str(len(j)) + " " + j[0]["path"]')"
	same "done 0 the task is done and verified" "$(got '"{event} {exit_code} {reason}".format(**j[0]["body"])')"
	has "$(got 'j[0]["body"]["text"]')" 'ralph: done: the task is done and verified ('
	lacks "$(cat "$T/err")" webhook
}

@test 'a webhook that fails is tried once more' {
	hook_start 503 200
	loop_workspace 1
	build 0 honest
	same 2 "$(got 'len(j)')"
	lacks "$(cat "$T/err")" webhook
}

@test 'a webhook that refuses is not asked again, and its address is in no message' {
	hook_start 404
	loop_workspace 1
	build 0 honest
	same 1 "$(got 'len(j)')"
	has "$(cat "$T/err")" 'the webhook: it answers with status 404'
	lacks "$(cat "$T/err" "$T/out")" secret-part
}

@test 'a webhook is not taken from a project, trusted or not, nor from the command line' {
	loop_workspace 1
	loop_exits 2 build --notify webhook:https://example.com/x -- ./agent.py honest
	has "$(cat "$T/err")" 'a webhook is taken from your own configuration only'
	echo 'loop: {notify: "webhook:https://example.com/x"}' >.ralph/config.yaml
	ralph trust --yes . >/dev/null 2>&1 || true
	loop_exits 2 build -- ./agent.py honest
	has "$(cat "$T/err")" 'a webhook is taken from your own configuration only'
}

@test 'a webhook without an address is an error that does not repeat it' {
	loop_workspace 1
	must_exit 2 env RALPH_LOOP_NOTIFY=webhook:http://host/token "$RALPH" build -- ./agent.py honest 2>"$T/err"
	has "$(cat "$T/err")" 'write webhook:https://HOST/PATH'
	lacks "$(cat "$T/err")" token
}

@test 'the desktop is told by notify-send, without markup of the agent' {
	mkdir "$T/bin"
	printf '#!/bin/sh\nprintf "%%s\\n" "$@" >>"%s"\n' "$T/told" >"$T/bin/notify-send"
	chmod +x "$T/bin/notify-send"
	loop_workspace 2
	PATH=$T/bin:$PATH loop_exits 6 build --notify desktop: -- \
		sh -c '[ "$RALPH_TASK" = US-1 ] && { echo "<promise>DECIDE: <b>a & b</b>?</promise>"; exit; }; exec ./agent.py honest'
	same "--app-name=ralph
--
ralph: needs you
US-1: &lt;b&gt;a &amp; b&lt;/b&gt;?
$WS" "$(head -5 "$T/told")"
	same 10 "$(wc -l <"$T/told")"
}

@test 'command: is run for a question while the loop goes on' {
	loop_workspace 2
	loop_exits 6 build --notify 'command:echo "$RALPH_EVENT ${RALPH_EXIT_CODE:-on} $RALPH_REASON" >>"$HOME/told"' -- \
		sh -c '[ "$RALPH_TASK" = US-1 ] && { echo "<promise>DECIDE: a or b?</promise>"; exit; }; exec ./agent.py honest'
	same 'needs-you on US-1: a or b?
needs-you 6 1 of 2 tasks need a decision' "$(cat "$HOME/told")"
}

@test 'a plain command is run at the end alone' {
	loop_workspace 2
	loop_exits 6 build --notify 'echo "$RALPH_EVENT $RALPH_EXIT_CODE" >>"$HOME/told"' -- \
		sh -c '[ "$RALPH_TASK" = US-1 ] && { echo "<promise>DECIDE: a or b?</promise>"; exit; }; exec ./agent.py honest'
	same 'needs-you 6' "$(cat "$HOME/told")"
}

@test 'a loop tells that 80 % of its budget is spent, once' {
	loop_workspace 5
	build 0 honest --max-cost 0.05 --notify 'command:echo "$RALPH_EVENT $RALPH_REASON" >>"$HOME/told"'
	same 'budget $0.0400 of $0.0500 are spent
done all 5 tasks are done and verified' "$(cat "$HOME/told")"
}
