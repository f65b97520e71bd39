# A loop that can be killed wherever it changes something: `load dying` after `load loop`. See tests/unit/die-at.c.
# shellcheck shell=bash

# The programs of ralph, but for a loop that can die.
dying_libexec() {
	local f dies=$BATS_TEST_DIRNAME/loop-dies

	[ -x "$dies" ] || dies=$BATS_TEST_DIRNAME/../../build/tests/unit/loop-dies
	mkdir "$T/libexec"
	for f in "${RALPH%/bin/ralph}"/libexec/ralph/*; do
		ln -s "$f" "$T/libexec/"
	done
	# A copy: what is installed with ralph is found from where its program lies.
	rm -f "$T/libexec/loop"
	cp "$dies" "$T/libexec/loop"
	ln -s "${RALPH%/bin/ralph}/share" "$T/share"
}

# A workspace as it was before, in the same place.
fresh() {
	cd "$HOME" || return
	rm -rf "$WS"
	cp -a "$T/before" "$WS"
	cd "$WS" || return
}

quick_agent() {
	cat >agent.sh <<-'EOF'
		#!/bin/sh
		# Does its task if it is not done, and says so. Every run is written down.
		echo "$RALPH_TASK" >>/tmp/runs
		# A run that was cut off may have left the file without its commit.
		git cat-file -e "HEAD:$RALPH_TASK" 2>/dev/null || { echo x >"$RALPH_TASK"; git add "$RALPH_TASK"; git commit -qm "$RALPH_TASK"; }
		echo '<promise>COMPLETE</promise>'
	EOF
	chmod +x agent.sh
	git rm -q --cached agent.py
	rm agent.py
	git add -A
	git commit -qm agent
}

# build_dying POINT [OPTION…]: `ralph build` of a loop that is killed at its POINTth change; 0: never. $T/count: the changes.
build_dying() {
	local point=$1
	shift

	RALPH_LIBEXEC=$T/libexec RALPH_TEST_DIE_AT=$point RALPH_TEST_COUNT=$T/count timeout 60 \
		"$RALPH" build -n 20 --net none --verify 'test -f file' "$@" -- ./agent.sh >"$T/out" 2>"$T/err"
}

# Checks a loop over two stories that was killed once and resumed.
check_resumed() {
	python3 - <<-'EOF'
		import json, subprocess
		j = json.load(open(".ralph/summary.json"))
		s = json.load(open(".ralph/state/loop.json"))
		t = json.load(open(".ralph/prd.json"))
		done = [r["task"] for r in j["records"] if r["verdict"] == "done"]
		assert sorted(done) == ["US-1", "US-2"], ("tasks done", done)
		assert all(u["passes"] for u in t["userStories"]), "prd.json"
		assert all(x["state"] == "done" for x in j["tasks"]), j["tasks"]
		# Counters: each iteration has its record, numbered without a gap.
		numbers = [r["iteration"] for r in j["records"]]
		assert numbers == list(range(1, len(numbers) + 1)), ("records", numbers)
		assert s["iterations"] == len(numbers), ("iterations", s["iterations"], numbers)
		assert "intent" not in s, s["intent"]
		# One iteration at most was lost to the kill, and its attempt was given back.
		assert len(numbers) <= 3, numbers
		assert all(x["attempts"] == 1 for x in j["tasks"]), j["tasks"]
		log = subprocess.run(["git", "log", "--format=%s"], capture_output=True, text=True, check=True).stdout.split("\n")
		assert log.count("US-1") == 1 and log.count("US-2") == 1, log
		assert j["exit_code"] == 0
	EOF
}

# kill_and_resume FIRST LAST: kills a loop over two stories at these of the 100 random points, and resumes it each time. The
# points follow from the seed, so that two files which run side by side have the hundred between them.
kill_and_resume() {
	local i point total seed=${RALPH_TEST_SEED:-7}

	loop_workspace 2
	quick_agent
	dying_libexec
	cp -a "$WS" "$T/before"
	build_dying 0 || fail "$(cat "$T/err")"
	check_resumed
	total=$(cat "$T/count")
	[ "$total" -gt 100 ]
	RANDOM=$seed
	for ((i = 1; i <= $2; i++)); do
		point=$((RANDOM % total + 1))
		[ "$i" -ge "$1" ] || continue
		fresh
		# bash reports each process that is killed.
		{ build_dying $point || true; } 2>/dev/null
		timeout 60 "$RALPH" resume >"$T/out" 2>"$T/err" || true
		if [ ! -e .ralph/state/loop.json ]; then
			# The loop was killed before it began: there is nothing to resume, and build begins.
			timeout 60 "$RALPH" build --net none --verify 'test -f file' -- ./agent.sh >"$T/out" 2>"$T/err"
		fi
		check_resumed || fail "point $point of $total (seed $seed): $(cat "$T/err" "$T/out")"
	done
}

# A worker of another machine, whose programs can die: main (the worker itself), pack and unpack (libgit2), loop (its own
# loop); after dying_libexec. $T/die-ROLE has settings for tests/unit/die-at.c, which the next program of that role takes.
dying_worker() {
	local dies=$BATS_TEST_DIRNAME/worker-dies

	[ -x "$dies" ] || dies=$BATS_TEST_DIRNAME/../../build/tests/unit/worker-dies
	cp "$dies" "$T/libexec/worker-dies"
	mv "$T/libexec/loop" "$T/libexec/loop-dies"
	rm "$T/libexec/worker"
	cat >"$T/libexec/worker" <<-EOF
		#!/bin/bash
		role=main
		case \${1:-} in
		pack | unpack) role=\$1 ;;
		esac
		. "$T/libexec/die"
		exec "$T/libexec/worker-dies" "\$@"
	EOF
	cat >"$T/libexec/loop" <<-EOF
		#!/bin/bash
		role=home
		case \$HOME in
		*/rw-*) role=loop ;;
		esac
		. "$T/libexec/die"
		exec "$T/libexec/loop-dies" "\$@"
	EOF
	cat >"$T/libexec/die" <<-EOF
		set -a
		# One program alone gets it: the move fails for all others.
		if mv "$T/die-\$role" "$T/died-\$role" 2>/dev/null; then . "$T/died-\$role"; fi
		set +a
		[ -z "\${DIE_NOW:-}" ] || kill -9 \$\$
	EOF
	chmod +x "$T/libexec/worker" "$T/libexec/loop"
}
