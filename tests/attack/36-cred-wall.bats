#!/usr/bin/env bats
# runs: root
# seconds: 15
# Values of credentials are in cred and in the gateway, and in no other program of ralph.
# shellcheck disable=SC2016,SC2030,SC2031 # every test is a process of its own
load ../cli/helpers
load ../cli/sandbox
load ../lib/cred
load ../lib/memory

setup() {
	ralph_setup
	provider_start
	# Long, so that a part of it outlasts what is written over a buffer's beginning.
	PART=value-of-the-test-value-of-the-test
	KEY=sk-ant-api03-$(printf 'value-of-the-test-%.0s' {1..100})
	provider_takes "$KEY"
	export ANTHROPIC_API_KEY=$KEY
}

teardown() {
	provider_stop
	ralph_teardown
}

@test 'no value of a credential enters the supervisor' {
	ralph run -d -- true
	box=$(sandbox)
	for _ in 1 2 3 4 5; do
		same 200 "$(ralph exec "$box" sh -c "$ASK")"
	done
	# With a 401 as well: the value is asked for once more.
	provider_takes another
	same 401 "$(ralph exec "$box" sh -c "$ASK")"
	same "$KEY" "$(sent x-api-key)"
	# The search finds it where it has to be.
	[ "$(memory_holds "$(helper_of cred "$box")" "$PART")" -gt 0 ]
	same 0 "$(memory_holds "$(helper_of supervisor "$box")" "$PART")"
}

@test 'a credential helper that is killed is started again with the next request' {
	ralph run -d -- true
	box=$(sandbox)
	same 200 "$(ralph exec "$box" sh -c "$ASK")"
	old=$(helper_of cred "$box")
	kill -KILL "$old"
	wait_until test ! -e "/proc/$old"
	again() { [ "$(ralph exec "$box" sh -c "$ASK")" = 200 ]; }
	wait_until again
	[ "$(helper_of cred "$box")" != "$old" ]
	# The log has how it ended, though its parent is the supervisor's broker.
	same 137 "$(ralph events --json "$box" | python3 -c 'import json, sys
print(*(e["code"] for e in map(json.loads, sys.stdin) if e["type"] == "credential-end"))')"
	same 0 "$(memory_holds "$(helper_of supervisor "$box")" "$PART")"
}

@test 'a sandbox that asks for no credential has no helper' {
	ralph run -d -- true
	box=$(sandbox)
	# The gateway runs, and has its end of the line.
	ralph exec "$box" sh -c 'curl -sS -o /dev/null "$ANTHROPIC_BASE_URL/v1/messages" -H "x-api-key: wrong"; true'
	[ -n "$(helper_of gateway "$box")" ]
	same '' "$(helper_of cred "$box")"
}
