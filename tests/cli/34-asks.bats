#!/usr/bin/env bats
# runs: root user
# seconds: 80
# What agents ask a person for: put in from inside, answered by commands of the host.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # text for shells inside; LOOP is for ends(); bats sets stderr
load helpers
load sandbox
load loop
load ../lib/web

setup() {
	ralph_setup
	need python3 curl
}

teardown() {
	web_stop
	ralph_teardown
}

# begin_box: a live sandbox $S.
begin_box() {
	S=a-${WS##*/ws-}
	ralph run -d -n "$S"
}

# asks KIND WHAT WHY: the gateway's answer, as JSON behind its status.
asks() {
	"$RALPH" exec "$S" curl -sS -m 60 --noproxy '*' -w '%{stderr}%{http_code}' -H 'Content-Type: application/json' \
		-d "$(python3 -c 'import json, sys; print(json.dumps({"kind": sys.argv[1], "what": sys.argv[2], "why": sys.argv[3]}))' "$@")" \
		http://127.0.0.1:3128/_ralph/asks
}

# of ID: what the agent is told of its ask now.
of() {
	"$RALPH" exec "$S" curl -sS -m 60 --noproxy '*' "http://127.0.0.1:3128/_ralph/asks/$1${2:-}"
}

# refused_body HOST: how the proxy refuses it.
refused_body() {
	"$RALPH" exec "$S" curl -sS -m 60 -x http://127.0.0.1:3128 "http://$1/"
}

@test 'a host without a rule is asked for, and once a person allows it the sandbox is not refused any more' {
	local id

	begin_box
	has "$(refused_body docs.example.test)" '"ask":"/run/ralph/ralph-ask host docs.example.test:80'
	id=$(asks host docs.example.test:80 'the API reference' 2>/dev/null | get 'j["id"]')
	same open "$(of "$id" | get 'j["state"]')"
	# The same thing again is the same ask.
	same "$id" "$(asks host DOCS.example.test:80 again 2>/dev/null | get 'j["id"]')"
	has "$(ralph ask ls)" docs.example.test:80
	same "the API reference" "$(ralph ask show "$id" --json | get 'j["why"]')"
	# Who waits is answered at once.
	of "$id" '?wait=30' >"$T/waits" 3>&- &
	wait_until waits_for_person
	ralph ask allow "$id" 'only the docs'
	wait $!
	same "allowed only the docs once" "$(get 'j["state"] + " " + j["answer"] + " " + j["scope"]' <"$T/waits")"
	lacks "$(refused_body docs.example.test)" 'refused by ralph'
	has "$(refused_body other.example.test)" 'refused by ralph'
	# Once is ten minutes: the rule says until when.
	has "$(ralph inspect "$S" --json 2>/dev/null || ralph net ls "$S" --json)" until
	must_exit 1 ralph ask allow "$id"
	same 0 "$(ralph ask ls --json | get 'len(j)')"
	same 1 "$(ralph ask ls --all --json | get 'len(j)')"
	has "$(ralph events "$S")" 'ask-answer'
}

waits_for_person() {
	ralph ask ls --json | get 'j[0].get("waits", 0)' | grep -qv '^0$'
}

@test 'a denial reaches the agent with a word, and after two the thing is closed' {
	local id i

	begin_box
	for i in 1 2; do
		id=$(asks host no.example.test 'please' 2>/dev/null | get 'j["id"]')
		ralph ask deny "$id" "no, use the mirror"
		same "denied no, use the mirror" "$(of "$id" | get 'j["state"] + " " + j["answer"]')"
	done
	has "$(asks host no.example.test 'please' 2>&1)" 403
	has "$(refused_body no.example.test)" 'refused by ralph'
	# Another word, another text: the person's choice for a project.
	id=$(asks host yes.example.test:80 'please' 2>/dev/null | get 'j["id"]')
	ralph ask allow --project "$id"
	has "$(cat "$XDG_STATE_HOME"/ralph/projects/*/network.rules)" 'allow yes.example.test:80'
	must_exit 2 ralph ask allow --once --project "$id"
}

@test 'what a rule denies, addresses, names of this machine, wildcards and nonsense cannot be asked for' {
	local what

	begin_box
	ralph net deny --sandbox "$S" denied.example.test
	for what in denied.example.test:443 10.0.0.7:5432 127.0.0.1:80 localhost:80 169.254.169.254 metadata.google.internal '*.example.test' \
		'[::1]:80' 192.168.1.1 'a b' '' "$(printf 'x%.0s' $(seq 300)).test"; do
		asks host "$what" 'I want it' >"$T/said" 2>&1 || :
		has "$(cat "$T/said")" 403
		has "$(cat "$T/said")" '"refused"'
	done
	has "$(asks file /etc/passwd 'I want it' 2>&1)" 403
	has "$(asks file ../x 'I want it' 2>&1)" 403
	has "$(asks mount /home 'I want it' 2>&1)" 403
	has "$(asks credential github 'I want it' 2>&1)" 403
	has "$(asks host fine.example.test '' 2>&1)" 403
	has "$(asks host fine.example.test "$(printf 'x%.0s' $(seq 2000))" 2>&1)" 403
	same 0 "$(ralph ask ls --all --json | get 'len(j)')"
	# Not JSON, too long, no length.
	has "$(ralph exec "$S" curl -sS -m 20 --noproxy '*' -w '%{http_code}' -d 'x' http://127.0.0.1:3128/_ralph/asks)" 400
	has "$(ralph exec "$S" sh -c 'head -c 9000 /dev/zero | curl -sS -m 20 --noproxy "*" -w "%{http_code}" --data-binary @- http://127.0.0.1:3128/_ralph/asks')" 413
	has "$(of zzz)" 'no such ask'
	has "$(of ../../x)" 'error'
}

@test 'asks are bounded in a minute, and words of an agent never command a terminal' {
	local i

	begin_box
	asks decide '' "$(printf 'red \033[2J\007 or blue?')" >"$T/said" 2>&1
	has "$(cat "$T/said")" 200
	lacks "$(ralph ask ls)$(ralph ask show "$(ralph ask ls --json | get 'j[0]["id"]')")" $'\033'
	lacks "$(ralph events "$S")" $'\033'
	for i in 1 2 3 4 5; do
		asks host "h$i.example.test" why >/dev/null 2>&1
	done
	has "$(asks host h9.example.test why 2>&1)" 429
}

# agent_says LINE…: an agent whose work on US-1 begins with these lines of a shell.
agent_says() {
	cp agent.py honest.py
	printf '%s\n' '#!/bin/sh' "$@" 'exec ./honest.py honest' >asker.sh
	chmod +x asker.sh honest.py
	git add -A
	git commit -qm asker
}

open_ask() {
	ralph ask ls --json | get 'j[0]["id"]' 2>/dev/null
}

@test 'an agent of a loop asks by ralph-ask and waits; its time stands still; the answer lets it finish' {
	loop_workspace 1
	agent_says '"$RALPH_ASK" decide "SQLite or Postgres?" --choice SQLite --choice Postgres >told; echo "code $?" >>told' \
		'cat >/dev/null; git add told; git commit -qm told'
	"$RALPH" build --idle-time 3s --iteration-time 20s -- ./asker.sh >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	wait_until -t 60 open_ask >/dev/null
	has "$(ralph answer)" 'SQLite or Postgres?'
	same "0 ['SQLite', 'Postgres']" "$(ralph answer --json | get 'str(len(j["questions"])) + " " + str(j["asks"][0]["choices"])')"
	# Longer than it may say nothing.
	wait_until -t 30 has_waited 8
	ralph ask allow "$(open_ask)" 'SQLite, one user'
	ends 0
	same 'SQLite, one user
code 0' "$(cat told)"
}

# has_waited SECONDS: the open ask is that old.
has_waited() {
	ralph ask ls --json | python3 -c 'import json, sys, time; sys.exit(not time.time() - json.load(sys.stdin)[0]["at"] >= int(sys.argv[1]))' "$1"
}

@test 'the time that an agent waits for a person counts neither for loop.max_duration nor for a time limit of a command' {
	local id limited code

	loop_workspace 1
	agent_says '"$RALPH_ASK" decide "SQLite or Postgres?" >told; cat >/dev/null; git add told; git commit -qm told'
	"$RALPH" build --max-duration 8s -- ./asker.sh >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	wait_until -t 60 open_ask >/dev/null
	wait_until -t 60 has_waited 16
	ralph ask allow "$(open_ask)" SQLite
	ends 0
	same SQLite "$(cat told)"
	# The record has what was worked, for a later start and for the summary.
	[ "$(python3 -c 'import json; print(json.load(open(".ralph/state/loop.json"))["active_ms"])')" -lt 8000 ]

	begin_box
	id=$(asks decide '' 'which one?' 2>/dev/null | get 'j["id"]')
	"$RALPH" exec --timeout 4s "$S" sh -c "curl -sS -m 60 --noproxy '*' 'http://127.0.0.1:3128/_ralph/asks/$id?wait=30'; sleep 300" >"$T/said" 2>"$T/err" 3>&- &
	limited=$!
	wait_until -t 60 has_waited 8
	ralph ask allow "$id" both
	# It stood still, and goes on with the answer.
	code=0
	wait "$limited" || code=$?
	same 143 "$code"
	same both "$(get 'j["answer"]' <"$T/said")"
}

@test 'an answer that comes when nobody waits is in the next prompt, and the command says 4 until then' {
	loop_workspace 1
	agent_says 'cat >prompt' 'if [ ! -e asked ]; then' '"$RALPH_ASK" --wait 0 host docs.example.test "the reference"; echo $? >asked; touch waiting' \
		'while [ ! -e go-on ]; do sleep 0.1; done; exit 1; fi' 'cp prompt second; git add -A; git commit -qm second'
	"$RALPH" build -- ./asker.sh >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	wait_until -t 60 test -e waiting
	same 4 "$(cat asked)"
	ralph ask deny "$(open_ask)" 'the mirror has it'
	touch go-on
	ends 0
	has "$(cat second)" 'You asked (host): docs.example.test:443: the reference'
	has "$(cat second)" 'The user has denied it: the mirror has it'
	has "$(cat second)" '/run/ralph/ralph-ask host'
}

# box_of_loop: the sandbox that asks.
box_of_loop() {
	ralph ask ls --json --all | get 'j[0]["sandbox"]'
}

refused_again() {
	has "$(refused_body docs.example.test)" '"ask":'
}

@test 'what a person allows a loop ends with it, also when it is killed; resume takes it up again until the work is done' {
	local S pid

	loop_workspace 1
	agent_says '"$RALPH_ASK" host docs.example.test:80 docs >told 2>&1; echo "code $?" >>told; touch waiting; while [ ! -e go-on ]; do sleep 0.1; done' \
		'cat >/dev/null; git add told; git commit -qm told'
	"$RALPH" build -- ./asker.sh >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	wait_until -t 60 open_ask >/dev/null
	S=$(box_of_loop)
	ralph ask allow --loop "$(open_ask)" 'read only'
	wait_until -t 30 test -e waiting
	same 'read only
code 0' "$(cat told)"
	# A command of the user's keeps the sandbox when the loop is gone.
	"$RALPH" exec "$S" sh -c 'touch here; sleep 300' >/dev/null 2>&1 3>&- &
	pid=$!
	wait_until test -e here
	lacks "$(refused_body docs.example.test)" '"ask":'
	has "$(ralph net ls --sandbox "$S")" 'docs.example.test'

	kill -9 "$LOOP"
	wait_until -t 30 refused_again
	lacks "$(ralph net ls --sandbox "$S")" 'docs.example.test'
	kill -9 "$pid"
	rm waiting told here
	"$RALPH" resume >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	wait_until -t 60 test -e waiting
	has "$(cat told)" 'a rule allows it already'
	touch go-on
	ends 0
	same '' "$(ls "$XDG_STATE_HOME/ralph/loop-rules")"
}

@test 'ralph-ask serves the same as tools of MCP' {
	local id

	loop_workspace 1
	agent_says 'cat >/dev/null' '{ echo "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\"}}"' \
		'echo "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"' 'echo "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}"' \
		'echo "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/call\",\"params\":{\"name\":\"ask_for_host\",\"arguments\":{\"host\":\"docs.example.test\",\"why\":\"docs\"}}}"' \
		'echo "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"run\",\"arguments\":{}}}"; } | "$RALPH_ASK" mcp >told' \
		'git add told; git commit -qm told'
	"$RALPH" build -- ./asker.sh >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	wait_until -t 60 open_ask >/dev/null
	id=$(open_ask)
	ralph ask allow --loop "$id" 'read only'
	has "$(cat "$XDG_STATE_HOME"/ralph/loop-rules/*/network.rules)" 'allow docs.example.test:443'
	ends 0
	python3 - <<-'END'
		import json
		rows = [json.loads(line) for line in open("told")]
		assert [r["id"] for r in rows] == [1, 2, "x", 3], rows
		assert rows[0]["result"]["protocolVersion"] == "2025-06-18"
		assert [t["name"] for t in rows[1]["result"]["tools"]] == ["ask_for_host", "ask_for_file", "ask_person"]
		assert rows[2]["result"]["content"][0]["text"] == "allowed: read only", rows[2]
		assert "error" in rows[3]
	END
}

@test 'the hook behind a tool tells the agent what was refused meanwhile, once, and how to ask' {
	local hook=${RALPH%/bin/ralph}/libexec/ralph/hook said

	mkdir -p "$XDG_CONFIG_HOME/ralph"
	echo "mounts: [{path: $hook, target: /run/ralph/hook}]" >"$XDG_CONFIG_HOME/ralph/config.yaml"
	begin_box
	hooked() {
		echo '{"session_id": "s1", "cwd": "/tmp", "tool_name": "Bash"}' |
			"$RALPH" exec "$S" env RALPH_LOOP=1-1 RALPH_ASK=/run/ralph/ralph-ask XDG_RUNTIME_DIR= /run/ralph/hook post-tool-use
	}
	same "" "$(hooked)"
	refused_body docs.example.test >/dev/null
	said=$(hooked)
	has "$said" 'the sandbox refused docs.example.test'
	has "$said" '/run/ralph/ralph-ask host'
	same "" "$(hooked)"
}

@test 'the person is told of an ask once, with the address of the page about it and no secret' {
	local id

	loop_workspace 1
	agent_says 'cat >/dev/null' '"$RALPH_ASK" host docs.example.test "the reference" >told; git add told; git commit -qm told'
	web_start
	: >"$HOME/heard"
	"$RALPH" build --notify 'command:echo "$RALPH_EVENT ${RALPH_URL:-none} $RALPH_REASON" >>"$HOME/heard"' -- ./asker.sh >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	wait_until -t 60 open_ask >/dev/null
	wait_until -t 60 grep -q needs-you "$HOME/heard"
	id=$(open_ask)
	has "$(cat "$HOME/heard")" "needs-you http://127.0.0.1:$PORT/#/ask/$id an agent asks (host) docs.example.test:443: the reference; see: ralph ask show $id"
	# The same ask again is no news.
	wait_until -t 30 has_waited 8
	same 1 "$(grep -c needs-you "$HOME/heard")"
	ralph ask deny "$id" no
	ends 0
	web_stop
	[ ! -e "$XDG_STATE_HOME/ralph/web/url" ]
}
