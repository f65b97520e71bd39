#!/usr/bin/env bats
# runs: user
# seconds: 60
# kill -9 of the loop wherever it changes something, then `ralph resume`: see tests/unit/die-at.c.
load helpers
load loop
load dying

POINTS=${RALPH_TEST_POINTS:-40}

# run_dying POINT [OPTION…]
run_dying() {
	local point=$1
	shift

	RALPH_LIBEXEC=$T/libexec RALPH_TEST_DIE_AT=$point RALPH_TEST_COUNT=$T/count timeout 60 \
		"$RALPH" build -n 20 --net none --verify 'test -f file' "$@" -- ./agent.sh >"$T/out" 2>"$T/err"
}

# What must hold after the resume, whatever was killed.
check_all() {
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

@test 'killed at random points and resumed: no task is lost or done twice, counters are right' {
	local i point total seed=${RALPH_TEST_SEED:-7}

	loop_workspace 2
	quick_agent
	dying_libexec
	cp -a "$WS" "$T/before"
	run_dying 0 || fail "$(cat "$T/err")"
	check_all
	total=$(cat "$T/count")
	[ "$total" -gt "$POINTS" ]
	RANDOM=$seed
	for ((i = 0; i < POINTS; i++)); do
		point=$((RANDOM % total + 1))
		fresh
		# Said by bash, of each that is killed.
		{ run_dying $point || true; } 2>/dev/null
		timeout 60 "$RALPH" resume >"$T/out" 2>"$T/err" || true
		if [ ! -e .ralph/state/loop.json ]; then
			# Killed before the loop was begun: there is nothing to go on with, and build begins.
			timeout 60 "$RALPH" build --net none --verify 'test -f file' -- ./agent.sh >"$T/out" 2>"$T/err"
		fi
		check_all || fail "point $point of $total (seed $seed): $(cat "$T/err" "$T/out")"
	done
}

# Back where they were, and in no commit.
check_changes() {
	same 'content mine' "$(tr '\n' ' ' <file | sed 's/ $//')"
	same new "$(cat untracked)"
	same 'content' "$(git show ralph/demo:file)"
	same '' "$(git ls-tree ralph/demo untracked)"
	same US-1 "$(git ls-tree --name-only ralph/demo US-1)"
	same '' "$(git for-each-ref refs/ralph/stash)"
}

@test 'killed at random points with --stash: changes of the user are neither lost nor committed' {
	local i point total seed=${RALPH_TEST_SEED:-7}

	loop_workspace 1
	quick_agent
	dying_libexec
	echo mine >>file
	echo new >untracked
	cp -a "$WS" "$T/before"
	run_dying 0 --stash
	check_changes
	total=$(cat "$T/count")
	RANDOM=$seed
	for ((i = 0; i < POINTS / 4; i++)); do
		point=$((RANDOM % total + 1))
		fresh
		{ run_dying $point --stash || true; } 2>/dev/null
		timeout 60 "$RALPH" resume >"$T/out" 2>"$T/err" ||
			timeout 60 "$RALPH" build --net none --stash --verify 'test -f file' -- ./agent.sh >"$T/out" 2>"$T/err" || true
		check_changes || fail "point $point of $total (seed $seed): $(cat "$T/err" "$T/out")"
	done
}
