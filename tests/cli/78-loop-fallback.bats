#!/usr/bin/env bats
# runs: user
# Other agents that go on when the provider of the first is not available.
# shellcheck disable=SC2030,SC2031 # each test has its own LOOP and environment
load helpers
load sandbox
load loop

teardown() {
	[ -z "${LOOP:-}" ] || kill -9 "$LOOP" 2>/dev/null || :
	ralph_teardown
}

# other_agent 'SHELL': codex, logged in, which does this before it works; its arguments are in `runs`.
other_agent() {
	mkdir -p "$HOME/.local/bin"
	cat >"$HOME/.local/bin/codex" <<-EOF
		#!/bin/sh
		echo "\$*" >>runs
		$1
		./agent.py honest >/dev/null
		echo '{"type":"thread.started","thread_id":"t"}'
		echo '{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}'
	EOF
	chmod 755 "$HOME/.local/bin/codex"
	export OPENAI_API_KEY=sk-of-the-host
}

agents() {
	summary '" ".join(r["agent"] for r in j["records"])'
}

@test 'a limit that lasts longer than --fallback-after: the next agent goes on, and the records say who worked' {
	loop_workspace 2
	other_agent :
	build 0 limited-for-an-hour --fallback codex
	same 'command codex codex' "$(agents)"
	same 'limited done done' "$(verdicts | sed 's/[a-z-]*limit[a-z-]*/limited/')"
	has "$(cat "$T/err")" 'codex goes on'
	# The arguments of the first agent are not the other's.
	lacks "$(cat runs)" limited
}

@test 'the loop comes back to its own agent after the reset' {
	loop_workspace 2
	# shellcheck disable=SC2016
	other_agent 'end=$(($(date +%s) + 8)); while [ "$(date +%s)" -lt "$end" ]; do sleep 0.2; done'
	build 0 limited-for-a-while --fallback codex --fallback-after 1s
	same 'command codex command' "$(agents)"
}

@test 'an outage that is shorter than --fallback-after is waited for' {
	loop_workspace 1
	other_agent :
	build 0 overloaded-twice --fallback codex --fallback-after 1h
	same 'command command command' "$(agents)"
}

@test 'an outage that lasts longer than --fallback-after: the next agent goes on' {
	loop_workspace 1
	other_agent :
	build 0 overloaded --fallback codex --fallback-after 1s
	has "$(agents)" 'command codex'
}

@test 'a credential that ended: the next agent goes on at once; without one the loop ends with 8' {
	loop_workspace 1
	other_agent :
	build 8 logged-out
	build 0 logged-out --fallback codex
	same 'command codex' "$(agents)"
}

@test 'a loop that was killed goes on with the agent that worked' {
	loop_workspace 1
	# shellcheck disable=SC2016
	other_agent '[ -e go-on ] || { touch waiting go-on; exec sleep 1000; }'
	begin limited-for-an-hour --fallback codex
	wait_until -t 60 test -e waiting
	kill -9 "$(python3 -c 'import json; print(json.load(open(".ralph/active"))["pid"])')"
	wait "$LOOP" || :
	LOOP=
	loop_exits 0 resume
	same 'command codex codex' "$(agents)"
}

@test 'a fallback that is no agent, is the first one, or is not logged in: said before anything runs' {
	loop_workspace 1
	build 2 honest --fallback nobody
	has "$(cat "$T/err")" "there is no agent 'nobody'"
	build 2 honest --fallback codex,codex
	has "$(cat "$T/err")" "works already"
	build 8 honest --fallback codex
	has "$(cat "$T/err")" '--fallback codex'
	[ ! -e US-1 ]
}

@test '--model is the option of every agent, and of the first one alone' {
	loop_workspace 1
	other_agent :
	loop_exits 0 build codex -m gpt-9
	has "$(cat runs)" '--model gpt-9'
	build 2 honest --model '--yolo'
	has "$(cat "$T/err")" 'is no name of a model'
}
