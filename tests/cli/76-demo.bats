#!/usr/bin/env bats
# runs: root user
# What `make demo` shows is true: the scripts end with 1 when a line of theirs does not hold.
load helpers

@test 'the demo of a command that tries to get out' {
	"$BATS_TEST_DIRNAME/../../demo/demo.sh" "${RALPH%/bin/ralph}" >"$T/out" 2>&1 || fail "$(tail -n 30 "$T/out")"
}

@test 'the demo of a loop over three stories' {
	"$BATS_TEST_DIRNAME/../../demo/loop.sh" "${RALPH%/bin/ralph}" >"$T/out" 2>&1 || fail "$(tail -n 30 "$T/out")"
	has "$(cat "$T/out")" 'exit 0: all 3 tasks are done and verified'
	has "$(cat "$T/out")" 'a reviewer asked for changes to US-2, and got them'
	lacks "$(cat "$T/out")" '(!)'
}
