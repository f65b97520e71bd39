#!/usr/bin/env bats
# runs: user
# seconds: 30
# A provider that is not available is nobody's attempt: the loop waits, and says so with 7 when it lasts too long.
# shellcheck disable=SC2016,SC2153
load helpers
load loop
load ../lib/cred

teardown() {
	provider_stop
	ralph_teardown
}

@test 'an outage is waited for: no attempt, and neither an iteration nor time of the loop' {
	loop_workspace 1
	build 0 overloaded-twice -n 1 --max-attempts 1 --max-stuck 1 --max-duration 10m
	same 'outage outage done' "$(verdicts)"
	same 1 "$(summary 'j["tasks"][0]["attempts"]')"
	has "$(cat "$T/err")" 'the provider is not available: waiting until 20'
}

@test 'an outage that lasts longer than --max-outage: exit 7, with the time, and no time is counted' {
	loop_workspace 1
	build 7 overloaded --max-outage 1s
	same 'outage outage' "$(verdicts)"
	same "0 0" "$(summary 'j["tasks"][0]["attempts"]') $(state 'j["active_ms"]')"
	has "$(cat "$T/out")" 'exit 7: the provider is not available since 20'
	has "$(cat "$T/out")" 'next: ralph resume'
	loop_exits 0 resume -n 1 -- ./agent.py honest
}

@test 'a provider that cannot be reached: --no-wait ends with 7 at once' {
	loop_workspace 2
	build 7 unreached --no-wait
	same outage "$(verdicts)"
	has "$(cat "$T/out")" 'the provider is not available since 20'
}

@test 'a usage limit with --no-wait is the same exit code, and says until when' {
	loop_workspace 1
	build 7 hangs-after-limit --grace 300ms --no-wait
	has "$(cat "$T/out")" "exit 7: the provider is not available: the provider's limit is reached, until 20"
}

@test 'workers of a parallel loop: an outage ends it with 7 and the reason, and resume goes on' {
	loop_workspace 2
	build 7 overloaded --parallel 2 --no-wait -n 2
	has "$(cat "$T/out")" 'exit 7: the provider is not available since 20'
	loop_exits 0 resume -n 2 -- ./agent.py honest
	same 'true true' "$(passes US-1) $(passes US-2)"
}

# An agent that says nothing of why it failed: the gateway has seen the provider's answers.
silent_agent() {
	provider_start
	provider_takes key-of-the-host
	export ANTHROPIC_API_KEY=key-of-the-host
	unset RALPH_AGENT
	config 'credentials: [{name: anthropic, source: "env:ANTHROPIC_API_KEY"}]'
	loop_workspace 1
	cat >agent.sh <<-EOF
		#!/bin/sh
		cat >/dev/null
		code=\$(curl -s -o answer -w '%{http_code}' -H "x-api-key: \$ANTHROPIC_API_KEY" \\
			-d '{"model":"claude-test","max_tokens":1}' "\$ANTHROPIC_BASE_URL/v1/messages$1")
		echo "it said \$code"
		exit 1
	EOF
	chmod +x agent.sh
	echo answer >>.gitignore
	git add -A
	git commit -qm agent
}

@test 'an answer of 529 is known by the gateway, whatever the agent says' {
	silent_agent '?as=error'
	loop_exits 7 build --no-wait -- ./agent.sh
	has "$(cat .ralph/logs/iteration-001.jsonl)" 'it said 529'
	same outage "$(verdicts)"
}

@test 'a provider that refuses connections is known by the gateway, which answers 502' {
	silent_agent ''
	provider_stop
	wait "$PROV_PID" || :
	loop_exits 7 build --no-wait -- ./agent.sh
	has "$(cat .ralph/logs/iteration-001.jsonl)" 'it said 502'
	same outage "$(verdicts)"
}

@test 'an agent that fails after a good answer has failed' {
	silent_agent ''
	loop_exits 4 build --no-wait --max-stuck 1 -- ./agent.sh
	has "$(cat .ralph/logs/iteration-001.jsonl)" 'it said 200'
	same failed "$(verdicts)"
}

@test 'a login that has ended is no outage: exit 8, although the agent says 503' {
	provider_start
	unset RALPH_AGENT
	provider_refresh sk-ant-ort01-other sk-ant-oat01-none
	login sk-ant-oat01-old sk-ant-ort01-dead 1000
	loop_workspace 1
	mkdir -p "$HOME/.local/bin"
	cat >"$HOME/.local/bin/claude" <<-EOF
		#!/bin/sh
		cat >/dev/null
		code=\$(curl -s -o answer -w '%{http_code}' -H "authorization: Bearer \$CLAUDE_CODE_OAUTH_TOKEN" \\
			-d '{"model":"claude-test","max_tokens":1}' "\$ANTHROPIC_BASE_URL/v1/messages")
		echo '{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":'\$code'}'
		exit 1
	EOF
	chmod 755 "$HOME/.local/bin/claude"
	loop_exits 8 build claude
	same credential "$(verdicts)"
	has "$(cat "$T/out")" 'next: ralph check-token --agent claude'
}
