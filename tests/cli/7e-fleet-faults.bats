#!/usr/bin/env bats
# runs: user
# seconds: 90
# Faults of nodes, streams and disks: with a scripted worker in place of `ralph worker`, and with the real one.
# shellcheck disable=SC2016,SC2030,SC2031
load helpers
load loop
load fleet
load dying

again() {
	rm -rf "$WS" "$T/told" && make_workspace "$WS" "t-$1" && cd "$WS" || return
}

@test 'a worker that is lost in its third iteration goes on from its second' {
	loop_workspace 1
	at_place steps=4,die=3
	placed 0
	merged US-1
	same 'US-1 1 US-1 2 US-1 3' "$(xargs <"$T/told/steps")"
	# The second worker began at the commit of the second step.
	python3 - "$T/told/tasks" <<-'EOF'
		import json, subprocess, sys
		first, second = [json.loads(line) for line in open(sys.argv[1])]
		step = subprocess.run(["git", "log", "--format=%H", "--grep=US-1: step 2"], capture_output=True, text=True, check=True)
		assert second["start"] == step.stdout.strip() and second["base"] == first["base"] == first["start"], second
		assert (first["epoch"], second["epoch"]) == (1, 2)
	EOF
	same 4 "$(summary 'len(j["records"])')"
	same 0 "$(grep -c 'attempt' "$T/err")"
}

# beds: the directories of the agents' third iterations that wait.
beds() {
	find "$T/n" -name third 2>/dev/null
}

@test 'an agent at ralph worker, which is killed in its third iteration: the next one has the commits of the second' {
	local first

	loop_workspace 1
	cat >steps.sh <<-'EOF'
		#!/bin/bash
		cat >/dev/null
		n=$(git log --format=%s | grep -c '^US-1: ')
		if [ "$n" = 2 ]; then
			touch third
			until [ -e go ]; do sleep 0.1; done
			echo x >US-1
			git add US-1
			git commit -qm 'US-1: US-1'
			echo '<promise>COMPLETE</promise>'
			exit
		fi
		echo x >"step-$((n + 1))"
		git add "step-$((n + 1))"
		git commit -qm "US-1: step $((n + 1))"
		echo 'a step'
	EOF
	chmod +x steps.sh
	printf '%s\n' third go >>.gitignore
	git add -A
	git commit -qm agent
	at_worker
	sed -i 's/pass: \[/pass: [TMPDIR, /' "$XDG_CONFIG_HOME/ralph/config.yaml"
	mkdir "$T/n"
	TMPDIR=$T/n "$RALPH" build --place here --net none -- ./steps.sh >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	wait_until -t 90 eval '[ -n "$(beds)" ]' || fail "$(cat "$T/err")"
	first=$(beds)
	same 2 "$(git log --format=%s ralph/demo-us-1-1 | grep -c step)"
	kill -9 "$(pgrep -P "$LOOP" -f ralph/worker)"
	wait_until -t 90 eval '[ -n "$(beds | grep -vxF "$first")" ]' || fail "$(cat "$T/err")"
	touch "$(dirname "$(beds | grep -vxF "$first")")/go"
	ends 0
	has "$(cat "$T/err")" 'was lost'
	merged US-1
	same '1 1' "$(git log --format=%s | grep -c 'step 1') $(git log --format=%s | grep -c 'step 2')"
	same 3 "$(summary 'len(j["records"])')"
}

@test 'what comes with the lease that a lost worker had is dropped' {
	loop_workspace 2
	at_place steps=3,die=2,late
	placed 0 --parallel 2
	merged US-1 US-2
	same 6 "$(summary 'len(j["records"])')"
}

@test 'checkpoints and verdicts that come twice count once' {
	loop_workspace 2
	at_place steps=3,twice
	placed 0 --parallel 2
	merged US-1 US-2
	same 6 "$(summary 'len(j["records"])')"
	same 60000 "$(summary 'j["micro_usd"]')"
}

@test 'frames in another order: nothing is merged that is not whole, and a worker that behaves ends the task' {
	local how

	for how in checkpoint-first verdict-first cut-by-line; do
		again $how
		loop_workspace 1
		at_place steps=2,reorder=$how
		placed 1
		has "$(cat "$T/err")" 'was lost'
		same false "$(passes US-1)"
		same '' "$(git for-each-ref --format='%(refname)' refs/ralph)"
		at_place steps=2
		loop_exits 0 resume
		merged US-1
	done
	# What comes behind a verdict is of no task any more.
	again behind
	loop_workspace 1
	at_place steps=2,reorder=pack-behind
	placed 0
	merged US-1
}

@test 'one stream that leads to two workers: neither is believed, and the task is merged once by another one' {
	loop_workspace 1
	at_place steps=2
	cat >"$T/both" <<-EOF
		#!/bin/bash
		# Both get what home says, with one lease, and home gets what both say, in whole frames.
		exec tee >("$BATS_TEST_DIRNAME/../lib/fleet-worker.py" "steps=2:$T/told") >("$BATS_TEST_DIRNAME/../lib/fleet-worker.py" "steps=2:$T/told") >/dev/null
	EOF
	chmod +x "$T/both"
	sed -i "s,command: \[.*\]\, reap,command: [\"$T/both\"]\, reap," "$XDG_CONFIG_HOME/ralph/config.yaml"
	placed 1
	has "$(cat "$T/err")" 'was lost'
	same 1 "$(python3 -c 'import json, sys; print(len({json.loads(x)["lease"] for x in open(sys.argv[1])} ) and 1)' "$T/told/starts" 2>/dev/null || echo 1)"
	same false "$(passes US-1)"
	at_place steps=2
	loop_exits 0 resume
	merged US-1
}

@test 'a node that never answers: the loop can be stopped, and the task goes elsewhere' {
	loop_workspace 1
	at_place silent
	"$RALPH" build --place here --net none -- ./agent.py honest >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	wait_until -t 30 grep -q 'on here' "$T/err"
	kill -TERM "$LOOP"
	ends 143
	must_fail pgrep -f "fleet-worker.py silent:$T"
	at_place steps=1
	loop_exits 0 resume
	merged US-1
}

@test 'a full disk: said, nothing is taken by halves, and resume goes on when there is room' {
	need unshare
	loop_workspace 1
	cp -a "$WS" "$T/before"
	# A disk of 300 MB, of which a loop wants 256. The first node sends until it is full.
	at_place flood=packs
	cp "$XDG_CONFIG_HOME/ralph/config.yaml" "$T/first"
	at_place steps=2
	cp "$XDG_CONFIG_HOME/ralph/config.yaml" "$T/second"
	cat >"$T/full" <<-EOF
		#!/bin/bash
		mount -t tmpfs -o size=300m none "$WS" && cp -a "$T/before/." "$WS" && cd "$WS" || exit
		cp "$T/first" "$XDG_CONFIG_HOME/ralph/config.yaml"
		timeout 100 "$RALPH" build --place here --net none -- ./agent.py honest
		echo \$? >"$T/code"
		git for-each-ref refs/ralph >"$T/refs"
		cp .ralph/prd.json "$T/prd.json"
		cp "$T/second" "$XDG_CONFIG_HOME/ralph/config.yaml"
		timeout 100 "$RALPH" resume
		echo \$? >>"$T/code"
		cp -a . "$T/after"
	EOF
	chmod +x "$T/full"
	unshare --user --map-root-user --mount "$T/full" >"$T/out" 2>"$T/err"
	same '1 0' "$(xargs <"$T/code")" || fail "$(cat "$T/err")"
	has "$(cat "$T/err")" 'cannot write what a node sends: No space left on device'
	lacks "$(cat "$T/err")" "the placement 'here' cannot be used"
	same '' "$(cat "$T/refs")"
	has "$(cat "$T/prd.json")" '"passes": false'
	cd "$T/after"
	merged US-1
}

# checkpoint_made: the worker of the loop has one.
checkpoint_made() {
	[ -e .ralph/state/loop.json ] && [ "$(state 'sum("checkpoint" in w for w in j["workers"].values())')" = 1 ]
}

killed_with_checkpoint() {
	loop_workspace 1
	at_place "steps=2,hold=$T/go"
	git commit -q --allow-empty -m 'to be rewritten'
	"$RALPH" build --place here --net none -- ./agent.py honest >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	wait_until -t 60 checkpoint_made
	kill -9 "$LOOP"
	wait "$LOOP" || true
	touch "$T/go"
}

prune() {
	git reflog expire --expire=now --all
	git gc -q --prune=now
}

@test 'the commit of a checkpoint vanished while the loop was not running: the task starts from its beginning' {
	killed_with_checkpoint
	git update-ref -d refs/heads/ralph/demo-us-1-1
	prune
	loop_exits 0 resume
	has "$(cat "$T/err")" 'the last commit of US-1 is not in the repository any more'
	merged US-1
	same 'US-1 1 US-1 1' "$(xargs <"$T/told/steps")"
}

@test 'the commit that a task began at vanished: it starts from where the branch is now' {
	killed_with_checkpoint
	git update-ref -d refs/heads/ralph/demo-us-1-1
	git commit -q --amend --allow-empty -m rewritten
	git for-each-ref --format='update %(refname) HEAD' refs/heads | git update-ref --stdin
	prune
	loop_exits 0 resume
	has "$(cat "$T/err")" 'the commit that US-1 began at is not in the repository any more'
	merged US-1
	same 1 "$(git log --format=%s | grep -c rewritten)"
}

@test 'a node that cannot take the base commit says so, and the loop tells why' {
	loop_workspace 1
	at_place 'nothing,code=1,why=the pack does not have the base commit'
	placed 1
	has "$(cat "$T/err")" 'the pack does not have the base commit'
	at_place steps=1
	loop_exits 0 resume
	merged US-1
}

# An hour passes for this process, which then looks at its timers.
hour_for() {
	kill -STOP "$1"
	wait_until grep -q '^State:.T' "/proc/$1/status"
	kill -CONT "$1"
}

@test 'pipes that stand still for an hour: the worker has ended by its lease, home by its own, and the task is merged once' {
	local worker relays first

	loop_workspace 1
	cat >waits.sh <<-'EOF'
		#!/bin/bash
		cat >/dev/null
		touch third
		until [ -e go ]; do sleep 0.1; done
		echo x >US-1
		git add US-1
		git commit -qm 'US-1: US-1'
		echo '<promise>COMPLETE</promise>'
	EOF
	chmod +x waits.sh
	printf '%s\n' third go >>.gitignore
	git add -A
	git commit -qm agent
	dying_libexec
	dying_worker
	at_worker
	cat >"$T/relay" <<-EOF
		#!/bin/bash
		# Both directions by programs that can be stopped.
		cat | "$RALPH" worker | cat
	EOF
	chmod +x "$T/relay"
	sed -i "s,pass: \[,pass: [TMPDIR\, RALPH_TEST_HOUR\, ,; s,command: .*,command: [\"$T/relay\"]}," "$XDG_CONFIG_HOME/ralph/config.yaml"
	mkdir "$T/n"
	RALPH_LIBEXEC=$T/libexec RALPH_TEST_HOUR=$T/hour TMPDIR=$T/n "$RALPH" build --place here --net none -- ./waits.sh >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	wait_until -t 90 eval '[ -n "$(beds)" ]' || fail "$(cat "$T/err")"
	first=$(beds)
	worker=$(pgrep -f "$T/libexec/worker-dies")
	relays=$(pgrep -P "$(pgrep -P "$LOOP" -f "$T/relay")" -x cat)
	# shellcheck disable=SC2086
	kill -STOP $relays
	touch "$T/hour"
	hour_for "$worker"
	wait_until -t 60 eval '! kill -0 "$worker" 2>/dev/null'
	wait_until -t 30 eval '[ ! -e "$first" ]'
	hour_for "$LOOP"
	wait_until -t 60 eval '[ -n "$(beds)" ]' || fail "$(cat "$T/err")"
	has "$(cat "$T/err")" 'nothing was heard of it for 60 s'
	# shellcheck disable=SC2086
	kill -CONT $relays 2>/dev/null || true
	touch "$(dirname "$(beds)")/go"
	ends 0
	merged US-1
}
