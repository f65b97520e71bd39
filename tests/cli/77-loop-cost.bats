#!/usr/bin/env bats
# runs: user
# What an iteration may spend holds for an agent that knows nothing of it: the gateway counts.
# shellcheck disable=SC2016,SC2153
load helpers
load loop
load ../lib/cred

setup() {
	ralph_setup
	provider_start
	provider_takes key-of-the-host
	export ANTHROPIC_API_KEY=key-of-the-host
	unset RALPH_AGENT
	config 'credentials: [{name: anthropic, source: "env:ANTHROPIC_API_KEY"}]
prices: ["claude-test=1000/2000"]' # 13 thousandths of a dollar each time
	loop_workspace 1
}

teardown() {
	provider_stop
	ralph_teardown
}

# spender 'SHELL': an agent that asks its provider until it is refused, and then does that.
spender() {
	cat >agent.sh <<-EOF
		#!/bin/sh
		while code=\$($ASK) && [ "\$code" = 200 ]; do echo "asked \$code"; done
		echo "refused \$code"
		$1
	EOF
	chmod +x agent.sh
	git add -A
	git commit -qm agent
}

@test 'an iteration ends when it has spent what it may, and the next one may spend as much again' {
	spender 'exit 1'
	loop_exits 4 build --iteration-cost 0.03 --max-attempts 2 -- ./agent.sh
	same 'failed failed' "$(verdicts)"
	has "$(cat "$T/err")" 'it has spent $0.0390 of $0.0300'
	has "$(summary 'j["records"][0]["why"]')" 'it has spent what an iteration may'
	has "$(cat .ralph/logs/iteration-001.jsonl)" 'refused 402'
	# Three requests each: the third was let through, as the limit was not reached.
	same '39000 39000' "$(summary '" ".join(str(r["micro_usd"]) for r in j["records"])')"
	same 6 "$(requests /v1/messages)"
}

@test 'one that does not end by itself then is ended after the grace' {
	spender 'sleep 1000'
	loop_exits 4 build --iteration-cost 0.03 --grace 1s --max-attempts 1 -- ./agent.sh
	has "$(summary 'j["records"][0]["why"]')" 'it has spent what an iteration may'
}

@test 'what it did until then counts, if it comes to a proper end' {
	spender 'echo x >US-1; git add US-1; git commit -qm US-1; echo "<promise>COMPLETE</promise>"'
	loop_exits 0 build --iteration-cost 0.03 -- ./agent.sh
	same 'done' "$(verdicts)"
}

@test 'what a loop may spend ends the iteration that reaches it, and the loop with 3' {
	spender 'exit 1'
	loop_exits 3 build --max-cost 0.03 -n 9 -- ./agent.sh
	same 39000 "$(summary 'j["micro_usd"]')"
	has "$(cat "$T/out")" 'a cost of $0.03'
	loop_exits 3 resume
	same 3 "$(requests /v1/messages)"
}

@test 'what a loop has used is in ralph usage when its sandbox is gone' {
	spender 'echo x >US-1; git add US-1; git commit -qm US-1; echo "<promise>COMPLETE</promise>"'
	loop_exits 0 build --iteration-cost 0.03 -- ./agent.sh
	same '[]' "$(ralph ls --json)"
	same '1 3 0.039' "$(ralph usage --json | python3 -c 'import json, sys
j = json.load(sys.stdin)
print(len(j), j[0]["requests"], round(j[0]["usd"], 6))')"
	has "$(ralph usage)" claude-test
}
