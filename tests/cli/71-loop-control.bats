#!/usr/bin/env bats
# runs: user
# seconds: 20
# Who drives a loop: signals, pause, stop, resume.
# shellcheck disable=SC2030,SC2031
load helpers
load loop

@test 'one Ctrl-C finishes the iteration and pauses: exit 9, resume goes on' {
	loop_workspace 2
	begin waits
	wait_until test -e waiting
	kill -INT "$LOOP"
	wait_until grep -q 'pausing after this iteration' "$T/err"
	touch go-on
	ends 9
	same 'true false' "$(passes US-1) $(passes US-2)"
	loop_exits 0 resume
	same 'done done' "$(verdicts)"
}

@test 'a second Ctrl-C stops at once: exit 130' {
	loop_workspace 1
	begin waits
	wait_until test -e waiting
	kill -INT "$LOOP"
	wait_until grep -q 'pausing after this iteration' "$T/err"
	kill -INT "$LOOP"
	ends 130
	same interrupted "$(verdicts)"
	same 0 "$(summary 'j["tasks"][0]["attempts"]')"
	touch go-on
	loop_exits 0 resume
	same 'interrupted done' "$(verdicts)"
}

@test 'SIGTERM stops at once: exit 143, nothing is left running' {
	loop_workspace 1
	begin waits
	wait_until test -e waiting
	kill -TERM "$LOOP"
	ends 143
	[ ! -e .ralph/active ]
	same stopped "$(ralph ls --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["state"])')"
}

@test 'ralph pause and ralph stop do the same from elsewhere' {
	loop_workspace 2
	begin waits
	wait_until test -e waiting
	(cd / && ralph pause "$WS")
	touch go-on
	ends 9
	rm go-on waiting
	"$RALPH" resume >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	wait_until test -e waiting
	ralph stop
	ends 143
	# Where no loop runs, it is the project's sandbox that is stopped.
	has "$(ralph stop)" agent-loop-command-
	must_exit 2 ralph pause 2>/dev/null
}

@test 'ralph logs -f follows from iteration to iteration, until the loop has ended' {
	local follower

	loop_workspace 2
	begin waits
	wait_until test -e waiting
	"$RALPH" logs -f >"$T/followed" 3>&- &
	follower=$!
	wait_until grep -q 'Bash  waiting' "$T/followed"
	touch go-on
	ends 0
	wait "$follower"
	has "$(cat "$T/followed")" 'Bash  write US-1'
	has "$(cat "$T/followed")" 'Bash  write US-2'
}

@test 'a task that the user reopens is worked on again, with all its attempts' {
	loop_workspace 1
	build 4 no-commit --max-stuck 1
	same stuck "$(summary 'j["tasks"][0]["state"]')"
	ralph task reopen US-1
	rm -f US-1
	loop_exits 0 resume -- ./agent.py honest
	same 'no-commit done' "$(verdicts)"
}

@test 'one loop per workspace' {
	loop_workspace 1
	begin waits
	wait_until test -e waiting
	loop_exits 1 build -- ./agent.py honest
	has "$(cat "$T/err")" "a loop runs in this workspace already (process $LOOP)"
	touch go-on
	ends 0
}

@test 'an active file of a process that is gone, or another, holds nobody up' {
	loop_workspace 1
	echo "{\"pid\":$$,\"start\":1}" >.ralph/active
	must_exit 2 ralph pause 2>/dev/null
	build 0 honest
}

@test 'a pause while it waits for a limit holds at once' {
	loop_workspace 1
	begin hangs-after-limit --grace 500ms
	wait_until grep -q 'waiting until' "$T/err"
	kill -INT "$LOOP"
	ends 9
}

@test 'the status says what the loop does' {
	loop_workspace 2
	begin waits
	wait_until test -e waiting
	python3 - <<-'EOF'
		import json
		j = json.load(open(".ralph/state/status.json"))
		assert j["phase"] == "iterating" and j["iteration"] == 1 and j["max_iterations"] == 10, j
		assert j["task"]["id"] == "US-1" and j["tasks"]["total"] == 2, j
		assert j["exit_code"] == -1 and j["pid"] > 0 and j["start"] > 0, j
	EOF
	touch go-on
	ends 0
	same 'done' "$(python3 -c 'import json; print(json.load(open(".ralph/state/status.json"))["phase"])')"
}

@test 'what the loop remembers cannot be read or written inside' {
	loop_workspace 1
	git rm -q --cached agent.py
	cat >agent.py <<-'EOF'
		#!/bin/sh
		ls .ralph/state | wc -l >seen
		cat .ralph/active >>seen 2>&1 || echo hidden >>seen
		echo x >.ralph/state/x 2>/dev/null && echo written >>seen
		echo x >.ralph/config.yaml 2>/dev/null && echo written >>seen
		echo "loop=${RALPH_LOOP:+set}" >>seen
	EOF
	git add -A && git commit -qm 'another agent'
	build 4 x --max-stuck 1
	grep -qx 0 seen
	grep -qx hidden seen
	grep -qx 'loop=set' seen
	run ! grep -q written seen
}

@test 'a kill -9 of the loop ends the agent, and resume goes on with the same counters' {
	loop_workspace 1
	begin waits
	wait_until test -e waiting
	kill -9 "$LOOP"
	wait "$LOOP" || true
	wait_until -t 60 nothing_runs
	touch go-on
	loop_exits 0 resume
	same 'interrupted done' "$(verdicts)"
	same 2 "$(state 'j["iterations"]')"
	same 1 "$(summary 'j["tasks"][0]["attempts"]')"
}

nothing_runs() {
	! grep -qsz "[a]gent.py" /proc/[0-9]*/cmdline
}
