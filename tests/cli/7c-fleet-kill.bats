#!/usr/bin/env bats
# runs: user
# seconds: 60
# kill -9 of a loop whose workers run at a placement, wherever it changes something; then `ralph resume`.
load helpers
load loop
load fleet
load dying

@test 'the loop killed at random points and resumed: each task is merged once' {
	local i point total seed=${RALPH_TEST_SEED:-11}

	loop_workspace 2
	at_place steps=2
	dying_libexec
	cp -a "$WS" "$T/before"
	run_dying 0 || fail "$(cat "$T/err")"
	merged US-1 US-2
	total=$(cat "$T/count")
	RANDOM=$seed
	for ((i = 0; i < 12; i++)); do
		point=$((RANDOM % total + 1))
		fresh
		{ run_dying $point || true; } 2>/dev/null
		if [ -e .ralph/state/loop.json ]; then
			[ "$(state 'j["exit_code"]')" = 0 ] || timeout 60 "$RALPH" resume >"$T/out" 2>"$T/err" || true
		else
			timeout 60 "$RALPH" build --place here --parallel 2 --net none -- ./agent.py honest >"$T/out" 2>"$T/err"
		fi
		merged US-1 US-2 || fail "point $point of $total (seed $seed): $(cat "$T/err" "$T/out")"
	done
}

# run_dying POINT
run_dying() {
	RALPH_LIBEXEC=$T/libexec RALPH_TEST_DIE_AT=$1 RALPH_TEST_DIE_WHO=loop RALPH_TEST_COUNT=$T/count \
		timeout 60 "$RALPH" build --place here --parallel 2 --net none -- ./agent.py honest >"$T/out" 2>"$T/err"
}
