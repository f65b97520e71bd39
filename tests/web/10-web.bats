#!/usr/bin/env bats
# runs: user
# seconds: 120
# The page of `ralph web` in a real browser: each test is a file *.mjs beside this one, driven by Playwright.
# shellcheck disable=SC2016,SC2034 # text for shells inside; LOOP is for ends()
load ../cli/helpers
load ../cli/loop
load ../lib/web

setup() {
	need_browser
	ralph_setup
}

teardown() {
	web_stop
	ralph_teardown
}

@test 'every page at both sizes, dark and light: axe finds nothing, nothing scrolls sideways, nothing is refused by the policy' {
	local box=box-${WS##*-}

	loop_workspace 2
	build 6 decides --max-cost 9
	ralph run --rm -- sh -c 'echo one >.envrc' </dev/null
	ralph run -d -n "$box" --budget 5
	ralph exec "$box" curl -sS -m 10 http://docs.example.test/ || true
	web_start
	browse pages "${RALPH_WEB_SHOTS:-}"
}

@test 'a question is answered on the page, and the loop goes on to its end' {
	loop_workspace 1
	build 6 decides
	web_start
	browse answer
	loop_exits 0 resume -- ./agent.py honest
}

@test 'a loop is watched from its start to its end: tasks, live lines and verdicts arrive by themselves' {
	loop_workspace 2
	web_start
	browse watch "$T/ready" &
	wait_until -t 30 test -e "$T/ready"
	build 0 honest
	wait $!
}

# A conversation as Claude Code keeps it, saved when its sandbox ends.
@test 'a commit is shown beside what proved it, and a conversation and a sandbox are shown whole' {
	loop_workspace 1
	build 0 honest
	ralph run -n "said-${WS##*-}" -- sh -c 'mkdir -p ~/.claude/projects/-p && echo "{\"type\":\"user\",\"timestamp\":\"2026-01-02T00:00:00Z\",\"message\":{\"content\":\"The door is blue\"}}" >~/.claude/projects/-p/s.jsonl'
	wait_until -t 30 test -d "$XDG_STATE_HOME/ralph/inbox/conversations"
	wait_until -t 30 nothing_left
	web_start
	browse commit "${RALPH_WEB_SHOTS:-}"
}

@test 'text of agents is shown as text: no element, link, dialog or report comes of it' {
	browse_hostile
}

browse_hostile() {
	loop_workspace 1
	python3 - <<-'END'
		import json
		evil = "<img src=x onerror=alert(1)><script>alert(2)</script><a href='javascript:alert(3)'>x</a>\u202e\u001b[31m\u200b" + "A" * 300
		j = json.load(open(".ralph/prd.json"))
		j["project"] = evil
		j["userStories"][0]["title"] = evil
		json.dump(j, open(".ralph/prd.json", "w"))
	END
	git commit -qam evil
	cat >evil.py <<-'END'
		#!/usr/bin/env python3
		import json
		evil = "<img src=x onerror=alert(1)><script>alert(2)</script><a href='javascript:alert(3)'>x</a>\u202e\u001b[31m\u200b"
		print(json.dumps({"type": "system", "subtype": "init", "session_id": "x", "model": "m"}))
		print(json.dumps({"type": "assistant", "message": {"content": [{"type": "text", "text": evil}, {"type": "tool_use", "id": "1", "name": evil, "input": {"command": evil + "B" * 100000}}]}}))
		print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": evil + "\n<promise>DECIDE:" + evil + "</promise>", "num_turns": 1, "session_id": "x", "usage": {}}))
	END
	chmod +x evil.py
	git add evil.py && git commit -qm evil
	loop_exits 6 build -- ./evil.py
	web_start
	browse hostile
}

@test '100 cut streams lose no line and no event, and double none; eight tabs share one stream' {
	local box=cut-${WS##*-}

	loop_workspace 1
	build 0 honest
	ralph run -d -n "$box"
	web_start
	browse streams "$WS/.ralph/logs/iteration-001.jsonl" "$box" "$RALPH"
}

@test 'what an agent asks for while it works is allowed on the page, and the loop finishes' {
	loop_workspace 1
	cp agent.py honest.py
	printf '%s\n' '#!/bin/sh' 'cat >/dev/null' '"$RALPH_ASK" host docs.example.test:80 "<b>the reference</b>" >told; echo "$?" >>told' \
		'git add told; git commit -qm told' 'exec ./honest.py honest </dev/null' >asker.sh
	chmod +x asker.sh honest.py
	git add -A
	git commit -qm asker
	"$RALPH" build -- ./asker.sh >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	wait_until -t 60 asked
	web_start
	browse asks "${RALPH_WEB_SHOTS:-}"
	ends 0
	same 'allowed
0' "$(cat told)"
}

asked() {
	[ "$(ralph ask ls --json)" != "[]" ]
}
