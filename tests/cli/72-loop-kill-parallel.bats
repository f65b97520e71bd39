#!/usr/bin/env bats
# runs: user
# seconds: 120
# kill -9 of a loop with --parallel, or of one of its workers, wherever it changes something; then `ralph resume`.
load helpers
load loop
load dying

# Three stories, of which the last depends on the first: two at once, then one.
stories() {
	loop_workspace 3
	python3 - <<-'EOF'
		import json
		p = json.load(open(".ralph/prd.json"))
		p["userStories"][2]["dependsOn"] = ["US-1"]
		json.dump(p, open(".ralph/prd.json", "w"), indent=2)
	EOF
	git commit -qam order
	quick_agent
	dying_libexec
	cp -a "$WS" "$T/before"
}

# run_dying POINT WHO
run_dying() {
	rm -f "$T/died"
	RALPH_LIBEXEC=$T/libexec RALPH_TEST_DIE_AT=$1 RALPH_TEST_DIE_WHO=$2 RALPH_TEST_DIE_ONCE=$T/died RALPH_TEST_COUNT=$T/count \
		timeout 60 "$RALPH" build -n 20 --parallel 3 --net none -- ./agent.sh >"$T/out" 2>"$T/err"
}

# check_all LOST: what must hold in the end, with at most so many iterations lost to the kill.
check_all() {
	python3 - "$1" <<-'EOF'
		import json, subprocess, sys
		def git(*args):
		    return subprocess.run(["git", *args], capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
		ids = ["US-1", "US-2", "US-3"]
		j = json.load(open(".ralph/summary.json"))
		s = json.load(open(".ralph/state/loop.json"))
		t = json.load(open(".ralph/prd.json"))
		assert j["exit_code"] == 0, j["reason"]
		assert sorted(r["task"] for r in j["records"] if r["verdict"] == "done") == ids, j["records"]
		assert all(u["passes"] for u in t["userStories"]), "prd.json"
		assert [x["state"] for x in j["tasks"]] == ["done"] * 3, j["tasks"]
		assert [x["attempts"] for x in j["tasks"]] == [1] * 3, j["tasks"]
		# Counters: each iteration has its record, numbered without a gap.
		numbers = [r["iteration"] for r in j["records"]]
		assert numbers == list(range(1, len(numbers) + 1)), ("records", numbers)
		assert s["iterations"] == len(numbers) <= 3 + int(sys.argv[1]), ("iterations", s["iterations"], numbers)
		assert "intent" not in s and s["workers"] == {}, s
		# Each was committed once, and the third begun when the first was there.
		log = git("log", "--format=%s")
		assert all(log.count(i) == 1 for i in ids), log
		third = git("log", "--format=%H", "--grep=^US-3$")[0]
		assert "US-1" in git("ls-tree", "--name-only", third), "US-3 was begun before US-1 was there"
		left = git("status", "--porcelain", "--", ".", ":(exclude).ralph")
		assert left == [], left
		# Nothing is left over.
		assert len(git("worktree", "list")) == 1, git("worktree", "list")
	EOF
	[ ! -e "$WS-worktrees" ] || fail "left over: $(ls "$WS-worktrees")"
	same '' "$(ralph ls -q)"
}

# kills WHO POINTS LOST
kills() {
	local i point total seed=${RALPH_TEST_SEED:-7}

	stories
	run_dying 0 "$1" || fail "$(cat "$T/err")"
	check_all 0
	total=$(cat "$T/count")
	RANDOM=$seed
	for ((i = 0; i < $2; i++)); do
		point=$((RANDOM % total + 1))
		fresh
		# Said by bash, of each that is killed.
		{ run_dying $point "$1" || true; } 2>/dev/null
		if [ -e .ralph/state/loop.json ]; then
			[ "$(state 'j["exit_code"]')" = 0 ] || timeout 60 "$RALPH" resume >"$T/out" 2>"$T/err" || true
		else
			# Killed before the loop was begun: there is nothing to go on with, and build begins.
			timeout 60 "$RALPH" build --parallel 3 --net none -- ./agent.sh >"$T/out" 2>"$T/err"
		fi
		check_all "$3" || fail "point $point of $total (seed $seed): $(cat "$T/err" "$T/out")"
	done
}

@test 'the loop killed at random points and resumed: nothing lost, done twice or left over' {
	kills loop 40 2
}

@test 'a worker killed at random points: the loop goes on with it by itself' {
	kills worker 20 1
}
