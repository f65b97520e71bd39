#!/usr/bin/env bats
# runs: user
# The helpers hold what the other files take for granted.
load helpers

@test "must_fail: success is a failure" {
	run ! must_fail true
	must_fail false
}

@test "must_fail: death by a signal is a failure" {
	run ! must_fail bash -c 'kill -9 $$'
}

@test "must_exit: only the very code will do" {
	must_exit 7 bash -c 'exit 7'
	run ! must_exit 7 bash -c 'exit 8'
}

@test "need: a required tool that is missing fails, any other skips" {
	RALPH_TEST_REQUIRE="x no-such-tool" run need no-such-tool
	[ "$status" -eq 1 ]
	need bash
}

@test "left_behind: a process that left its session is seen" {
	setsid sleep 60 3>&- &
	local pid=$!

	seen() {
		[[ $(left_behind) == *"sleep 60"* ]]
	}
	wait_until seen
	kill "$pid"
	wait_until nothing_left
}

@test "wait_until: gives up at its deadline" {
	run ! wait_until -t 1 false
}

@test "each test has a home, a state and a clean workspace of its own" {
	[[ $HOME == "$T"/* && $XDG_STATE_HOME == "$T"/* && $WS == "$HOME"/* ]]
	same "" "$(git -C "$WS" status --porcelain)"
}
