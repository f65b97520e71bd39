#!/usr/bin/env bats
# runs: user
# seconds: 60
# The other half of 72-loop-kill.bats.
load helpers
load loop
load dying

@test 'killed at random points 51 to 100 of 100 and resumed: no task is lost or done twice, counters are right' {
	kill_and_resume 51 100
}
