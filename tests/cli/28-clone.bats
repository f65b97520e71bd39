# runs: user
# --clone: the agent works in a clone of its own; diff and apply take its commits over.
# What is in single quotes is for the shell inside; every test has an environment of its own.
# shellcheck disable=SC2016,SC2030,SC2031
load helpers

# clone SCRIPT: in the sandbox of this test that works in a clone.
clone() {
	ralph run --clone -n "$NAME" -- sh -euc "$1"
}

setup() {
	ralph_setup
	NAME=clone-${WS##*-}
	BRANCH=$(git symbolic-ref --short HEAD)
}

# bats test_tags=root
@test 'the agent works in a clone, and the repository stays as it is' {
	local before

	echo untracked >untracked
	before=$(git rev-parse HEAD; git status --porcelain; find .git | sort)
	clone 'pwd; cat file; ! cat untracked 2>/dev/null; echo more >>file; git commit -qam more; git config core.editor x; git log -1 --format=%an' >"$T/out"
	has "$(cat "$T/out")" "$WS"
	has "$(cat "$T/out")" content
	has "$(cat "$T/out")" test
	same "$before" "$(git rev-parse HEAD; git status --porcelain; find .git | sort)"
	same content "$(cat file)"
}

@test 'the repository can be read inside and not written' {
	clone 'git fetch -q origin; ! touch /run/ralph/origin.git/x; ! git push -q origin HEAD:new; ! git --git-dir=/run/ralph/origin.git config a.b c' 2>/dev/null
	same "" "$(git branch --list new)"
}

@test 'the clone is there again the next time, with what was not committed' {
	clone 'echo one >one'
	clone 'cat one; git add one; git commit -qm one'
	same one "$(clone 'git log -1 --format=%s')"
}

@test 'diff shows what was committed and what was not, and changes nothing' {
	local before

	clone 'echo more >>file; git commit -qam more; echo new >new; git add new; git commit -qm new; echo open >open'
	before=$(find .git | sort)
	ralph diff "$NAME" >"$T/diff" 2>"$T/err"
	has "$(cat "$T/diff")" '+more'
	has "$(cat "$T/diff")" '+new'
	has "$(cat "$T/diff")" '+open'
	has "$(cat "$T/err")" '1 uncommitted file is included'
	has "$(ralph diff --stat "$NAME")" '3 files changed'
	same "$before" "$(find .git | sort)"
	git apply --check "$T/diff"
	# In the clone it is as uncommitted as it was.
	same '?? open' "$(clone 'git status --porcelain')"
	same new "$(clone 'git log -1 --format=%s')"
}

@test 'apply says how to get uncommitted work of a clone, and commits it if told to' {
	clone 'git commit -q --allow-empty -m done; echo open >open; echo more >>file'
	ralph apply "$NAME" >/dev/null 2>"$T/err" </dev/null
	has "$(cat "$T/err")" '2 uncommitted files'
	has "$(cat "$T/err")" "ralph apply --commit $NAME"
	same 'done' "$(git log -1 --format=%s "$NAME/$BRANCH")"
	ralph apply --commit "$NAME"
	same open "$(git show "$NAME/$BRANCH:open")"
	same '' "$(clone 'git status --porcelain')"
	run ralph apply "$NAME"
	lacks "$output" uncommitted
	ralph run -n "plain-${WS##*-}" -- true
	must_exit 2 ralph apply --commit "plain-${WS##*-}"
}

@test 'apply on a terminal asks whether to commit the uncommitted work of a clone' {
	need python3
	clone 'echo open >open'
	python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" 'expect:Commit 1 uncommitted file of the clone first\? \[Y/n\]' 'send:n\n' 'expect:left out' -- "$RALPH" apply "$NAME"
	python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" 'expect:Commit 1 uncommitted file' 'send:\n' 'expect:1 commit ahead' -- "$RALPH" apply "$NAME"
	same open "$(git show "$NAME/$BRANCH:open")"
}

# bats test_tags=root
@test 'apply brings the branches as those of a remote, and a merge takes them' {
	clone 'echo more >>file; git commit -qam more; git checkout -qb other; git commit -q --allow-empty -m other'
	ralph apply "$NAME" >"$T/out"
	has "$(cat "$T/out")" "$NAME/$BRANCH"
	has "$(cat "$T/out")" '2 commits ahead'
	same content "$(cat file)"
	same more "$(git log -1 --format=%s "$NAME/$BRANCH")"
	git merge -q "$NAME/other"
	has "$(cat file)" more
	git fsck --no-progress
	# Nothing new, and then again something.
	ralph apply "$NAME"
	clone 'git commit -q --allow-empty -m again'
	ralph apply "$NAME"
	same again "$(git log -1 --format=%s "$NAME/other")"
}

@test 'apply and diff go on while the sandbox runs, and after the repository has moved on' {
	ralph run --clone -d -n "$NAME" -- sh -c 'echo more >>file; git commit -qam more'
	echo host >host
	git add host
	git commit -q -m host
	ralph apply "$NAME"
	has "$(ralph diff "$NAME")" '+more'
	lacks "$(ralph diff "$NAME")" host
	git merge -q --no-edit "$NAME/$BRANCH"
	ralph stop "$NAME"
}

@test 'commits that touch what the host runs are taken and named' {
	clone 'echo x >.envrc; mkdir .vscode; echo x >.vscode/tasks.json; git add -A; git commit -qm x'
	ralph apply "$NAME" >/dev/null 2>"$T/err"
	has "$(cat "$T/err")" .envrc
	has "$(cat "$T/err")" .vscode/tasks.json
	has "$(ralph apply --json "$NAME" | tr -d '\n ')" '"path":".envrc"'
}

@test 'a worktree is cloned from its repository' {
	git worktree add -q "$HOME/tree" -b tree
	cd "$HOME/tree"
	same tree "$(clone 'git symbolic-ref --short HEAD')"
	clone 'echo more >>file; git commit -qam more'
	ralph apply "$NAME"
	same more "$(git log -1 --format=%s "$NAME/tree")"
}

@test 'what cannot be cloned is refused in words, and nothing is started' {
	mkdir "$HOME/plain" "$WS/sub"
	must_exit 2 ralph run --clone "$HOME/plain" -- true
	must_exit 2 ralph run --clone "$WS/sub" -- true
	must_exit 2 ralph run --clone --rm -- true
	git checkout -q --detach
	must_exit 2 ralph run --clone -- true
	same "" "$(ralph ls -q)"
}

@test 'a sandbox with a clone never gets the workspace by a word left out, nor diff another' {
	clone true
	must_exit 2 ralph run -n "$NAME" -- true
	ralph run -n "plain-${WS##*-}" -- true
	has "$(ralph diff "plain-${WS##*-}" 2>&1)" "nothing of sandbox 'plain-${WS##*-}' is held"
	has "$(ralph apply "plain-${WS##*-}" 2>&1)" "is held"
	must_fail ralph apply "none-${WS##*-}"
}

@test 'the name of a clone is not that of the sandbox without' {
	ralph run -- true
	ralph run --clone -- true
	same 2 "$(ralph ls -q | wc -l)"
}
