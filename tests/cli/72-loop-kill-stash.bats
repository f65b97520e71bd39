#!/usr/bin/env bats
# runs: user
# seconds: 25
# kill -9 of a loop with --stash wherever it changes something, then `ralph resume`: see tests/unit/die-at.c.
load helpers
load loop
load dying

# The user's changes are back in the tree, and in no commit.
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
	build_dying 0 --stash
	check_changes
	total=$(cat "$T/count")
	RANDOM=$seed
	for ((i = 0; i < 25; i++)); do
		point=$((RANDOM % total + 1))
		fresh
		{ build_dying $point --stash || true; } 2>/dev/null
		timeout 60 "$RALPH" resume >"$T/out" 2>"$T/err" ||
			timeout 60 "$RALPH" build --net none --stash --verify 'test -f file' -- ./agent.sh >"$T/out" 2>"$T/err" || true
		check_changes || fail "point $point of $total (seed $seed): $(cat "$T/err" "$T/out")"
	done
}
