#!/usr/bin/env bats
# runs: user
# seconds: 60
# kill -9 of the loop wherever it changes something, then `ralph resume`: see tests/unit/die-at.c. Half of the points are in
# 72-loop-kill-more.bats, so that both halves run side by side.
load helpers
load loop
load dying

@test 'killed at random points 1 to 50 of 100 and resumed: no task is lost or done twice, counters are right' {
	kill_and_resume 1 50
}
