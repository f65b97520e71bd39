#!/usr/bin/env bats
# runs: user root
# Commits come out of a sandbox's private git directory, and the user's go in: when, and what is said.
# What is in single quotes is for the shell inside; every test has an environment of its own.
# shellcheck disable=SC2016,SC2030,SC2031
load helpers

setup() {
	ralph_setup
	NAME=git-${WS##*-}
	BRANCH=$(git symbolic-ref --short HEAD)
	RECORD=$XDG_STATE_HOME/ralph/sandboxes/$NAME
}

# inside SCRIPT: a command in the sandbox of this test, which ends with it.
inside() {
	ralph run --agent command -n "$NAME" -- sh -euc "$1"
}

# stay: the sandbox of this test stays up; live SCRIPT: a command in it.
stay() {
	ralph run --agent command -d -n "$NAME" >/dev/null
}

live() {
	ralph exec "$NAME" sh -euc "$1"
}

subject() {
	git log -1 --format=%s "${1:-HEAD}"
}

has_subject() {
	[ "$(subject "$1" 2>/dev/null)" = "$2" ]
}

clean() {
	same "" "$(git status --porcelain)"
	git fsck --no-progress --no-dangling
}

@test 'commits of a command are in the repository when it has ended, and said in a line' {
	inside 'echo one >>file; git commit -qam one; echo two >>file; git commit -qam two; git tag v1' 2>"$T/err"
	same two "$(subject)"
	has "$(cat "$T/err")" "$BRANCH: 2 commits imported"
	git rev-parse -q --verify v1
	clean
	has "$(ralph events "$NAME")" git-import
}

@test 'a command that commits nothing says nothing and imports nothing' {
	inside 'git status; git log -1' 2>"$T/err"
	lacks "$(cat "$T/err")" import
	same "" "$(git for-each-ref refs/ralph)"
}

@test 'the payload'\''s exit code and output are as they were, whatever is imported' {
	must_exit 7 inside 'echo one >>file; git commit -qam one; echo out; exit 7' >"$T/out" 2>/dev/null
	same out "$(cat "$T/out")"
	same one "$(subject)"
}

@test 'a commit is imported while its command still runs; HEAD switches only at its end' {
	stay
	live 'git checkout -qb side; echo one >one; git add one; git commit -qm one
		touch ready; until [ -e go ]; do sleep 0.05; done' 2>/dev/null &
	wait_until -t 30 has_subject side one
	same "$BRANCH" "$(git symbolic-ref --short HEAD)"
	touch go
	wait
	same side "$(git symbolic-ref --short HEAD)"
	rm go ready
	clean
}

@test 'what the user commits, branches and switches is inside when the next command starts' {
	stay
	echo user >user
	git add user
	git commit -qm user
	git checkout -qb user-side
	same "user-side user" "$(live 'echo $(git symbolic-ref --short HEAD) $(git log -1 --format=%s); [ -z "$(git status --porcelain)" ]')"
	live 'echo more >>user; git commit -qam more' 2>/dev/null
	same more "$(subject)"
	clean
}

@test 'what one sandbox commits is in the other live sandbox of the workspace' {
	stay
	ralph run --agent command -d -n "$NAME-b" >/dev/null
	live 'echo one >>file; git commit -qam one' 2>/dev/null
	same one "$(ralph exec "$NAME-b" git log -1 --format=%s)"
	ralph exec "$NAME-b" sh -c 'echo two >>file; git commit -qam two' 2>"$T/err"
	has "$(cat "$T/err")" "1 commit imported"
	same two "$(subject)"
	clean
}

# diverge: user and agent both commit to the current branch.
diverge() {
	stay
	live 'touch ready; until [ -e go ]; do sleep 0.05; done
		echo a >agent; git add agent; git commit -qm agent; echo b >>agent; git commit -qam agent2' 2>"$T/err" &
	wait_until test -e ready
	git commit -q --allow-empty -m user
	touch go
	wait
	rm go ready
}

@test 'commits on a branch that the user moved too are held, named once, and apply merges them' {
	diverge
	has "$(cat "$T/err")" "2 commits on '$BRANCH' are held: you committed there too; see: ralph diff $NAME, ralph apply $NAME"
	same user "$(subject)"
	live 'true' 2>"$T/err"
	lacks "$(cat "$T/err")" held
	has "$(ralph status)" "held: $BRANCH"
	has "$(ralph status --json)" "heads/$BRANCH"
	has "$(ralph ls --json)" "heads/$BRANCH"
	has "$(ralph inspect --json "$NAME")" "heads/$BRANCH"
	ralph diff "$NAME" >"$T/diff"
	has "$(cat "$T/diff")" '2 commits ahead of yours, 1 behind'
	has "$(cat "$T/diff")" '+b'
	has "$(ralph diff --stat "$NAME" "$BRANCH")" '1 file changed'
	has "$(ralph apply "$NAME")" "$BRANCH"
	git merge-base --is-ancestor HEAD^2 HEAD
	has "$(git log --format=%s)" agent2
	has "$(git log --format=%s)" user
	clean
	lacks "$(ralph status)" held
	has "$(ralph apply "$NAME" 2>&1)" "nothing of sandbox '$NAME' is held"
	same "$(git rev-parse HEAD)" "$(live 'git rev-parse HEAD' 2>/dev/null)"
}

@test 'apply --force takes the held branch, and keeps the tip of the user; --drop forgets' {
	diverge
	ralph apply --force "$BRANCH" "$NAME"
	same agent2 "$(subject)"
	same user "$(subject "refs/ralph/$NAME/was/heads/$BRANCH")"
	must_exit 2 ralph apply --force x --drop "$NAME"
	clean
}

@test 'apply --drop forgets what is held, and the branch stays' {
	diverge
	ralph apply --drop "$NAME"
	same user "$(subject)"
	same "" "$(git for-each-ref "refs/ralph/$NAME/heads")"
}

@test 'what is held stays when the sandbox is removed, and apply finds it in the repository' {
	diverge
	ralph rm -f "$NAME"
	same "" "$(git for-each-ref "refs/ralph/$NAME/seen" "refs/ralph/$NAME/base")"
	ralph apply "$NAME"
	has "$(git log --format=%s)" agent2
	clean
}

# wide: the repository of this test names its objects by SHA-256.
wide() {
	rm -rf .git
	git init -q --object-format=sha256 .
	git config user.name user
	git config user.email user@example.org
	git add .
	git commit -q -m first
	BRANCH=$(git symbolic-ref --short HEAD)
}

@test 'with SHA-256 commits are imported, held, merged and taken by force as with SHA-1' {
	wide
	inside 'echo one >>file; git add file; git commit -qm one; git tag v1; git branch new' 2>"$T/err"
	has "$(cat "$T/err")" "$BRANCH: 1 commit imported"
	same one "$(subject)"
	same "$(git rev-parse HEAD)" "$(git rev-parse v1 new | uniq)"
	clean
	diverge
	has "$(cat "$T/err")" "2 commits on '$BRANCH' are held"
	has "$(ralph diff "$NAME")" '+b'
	ralph apply "$NAME"
	git merge-base --is-ancestor HEAD^2 HEAD
	clean
	live 'git commit -q --amend -m theirs --allow-empty; git reset -q --hard HEAD~1; git commit -q --allow-empty -m other' 2>"$T/err" || cat "$T/err"
	ralph apply --force "$BRANCH" "$NAME"
	same other "$(subject)"
	git fsck --no-progress --no-dangling
}

@test 'with SHA-256 a live sandbox follows the user, a clone is shown and applied, and an own repository is adopted' {
	wide
	stay
	git commit -q --allow-empty -m users
	has "$(live 'git log -1 --format=%s')" users
	ralph rm -f "$NAME"
	ralph run --agent command --clone -n "clone-$NAME" -- sh -euc 'echo c >c; git add c; git commit -qm inclone'
	has "$(ralph diff "clone-$NAME")" '+c'
	ralph apply "clone-$NAME"
	same inclone "$(subject "clone-$NAME/$BRANCH")"
	inside 'git init -q --object-format=sha256 lib; cd lib; echo l >l; git add l; git -c user.name=a -c user.email=a@b commit -qm lib'
	ralph adopt lib
	same lib "$(git -C lib log -1 --format=%s)"
	same sha256 "$(git -C lib rev-parse --show-object-format)"
	git -C lib fsck --no-progress
	same "" "$(git -C lib status --porcelain)"
}

@test 'with SHA-256 settings and hooks of the user start nothing while the host indexes and reads' {
	wide
	mkdir -p "$T/ran"
	for hook in reference-transaction post-index-change pre-commit post-checkout; do
		printf '#!/bin/sh\ntouch %s/%s\n' "$T/ran" $hook >.git/hooks/$hook
		chmod +x .git/hooks/$hook
	done
	git config core.fsmonitor "touch $T/ran/fsmonitor"
	git config core.alternateRefsCommand "touch $T/ran/alternates"
	rm -f "$T"/ran/*
	inside 'rm -f .git/hooks/*; echo one >>file; git add file; git commit -qm one'
	same one "$(subject)"
	same "" "$(ls "$T/ran")"
}

@test 'after SIGKILL of everything the next start imports before its command runs' {
	stay
	live 'true'
	ralph exec "$NAME" sh -c 'until [ -e go ]; do sleep 0.02; done; git commit -q --allow-empty -m late; touch done; sleep 1000' >/dev/null 2>&1 &
	wait_until test -d "$RECORD/git"
	# Frozen, the supervisor cannot import what is committed now.
	read -r front broker < <(python3 - "$(ralph inspect --json "$NAME" | python3 -c 'import json,sys; print(json.load(sys.stdin)["live"]["supervisor"])')" <<'PY'
import sys, os
b = int(sys.argv[1])
kids = open(f"/proc/{b}/task/{b}/children").read().split()
front = [k for k in kids if open(f"/proc/{k}/comm").read().strip() == "front"][0]
print(front, b)
PY
)
	kill -STOP "$front"
	touch go
	wait_until test -e "done"
	kill -9 "$broker" "$front"
	wait || true
	rm -f go "done"
	same start "$(subject)"
	has "$(ralph ls --json)" not_imported
	must_fail ralph rm "$NAME" 2>"$T/err"
	has "$(cat "$T/err")" "were not imported"
	inside 'git log -1 --format=%s' >"$T/out" 2>"$T/err"
	same late "$(subject)"
	lacks "$(ralph ls --json)" not_imported
	ralph rm "$NAME"
	same "" "$(git for-each-ref refs/ralph)"
}

@test 'commits of a command whose command line was killed are imported all the same' {
	ralph run --agent command -n "$NAME" -- sh -c 'git commit -q --allow-empty -m killed; touch ready; sleep 1000' >/dev/null 2>&1 &
	wait_until test -e ready
	kill -9 $!
	wait_until -t 30 has_subject HEAD killed
	rm ready
}

# While the sandbox follows a branch of the user, its references are not those of the last import.
@test 'a sandbox that is stopped while it follows the user ends complete: nothing is held against its removal' {
	local i

	for i in 1 2 3 4 5; do
		stay
		git branch "mine-$i"
		wait_until test -e "$RECORD/git/refs/heads/mine-$i"
		ralph stop "$NAME"
		ralph rm "$NAME" 2>"$T/said" || fail "$(cat "$T/said")"
	done
	clean
}

@test '--rm imports, and leaves no notes in the repository' {
	ralph run --rm --agent command -n "$NAME" -- git commit -q --allow-empty -m gone 2>/dev/null
	same gone "$(subject)"
	same "" "$(git for-each-ref refs/ralph)"
}

@test 'an export that fails moves nothing, is told once, and --rm keeps the sandbox' {
	local before

	before=$(git rev-parse HEAD)
	ralph run --rm --agent command -n "$NAME" -- sh -euc 'echo x >x; git add x; git commit -qm lost
		o=$(git rev-parse HEAD:x); mv .git/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-) .git/away' 2>"$T/err"
	same "$before" "$(git rev-parse HEAD)"
	has "$(cat "$T/err")" "were not imported"
	has "$(cat "$T/err")" "is kept"
	test -d "$RECORD"
	inside 'o=$(git rev-parse HEAD:x); mv .git/away .git/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-)' 2>"$T/err"
	same lost "$(subject)"
}

@test 'a branch the agent rewrote is imported, and the tip before is kept' {
	inside 'git commit -q --allow-empty -m one' 2>/dev/null
	inside 'git commit -q --amend --allow-empty -m better' 2>"$T/err"
	same better "$(subject)"
	has "$(cat "$T/err")" "rewritten by the agent"
	same one "$(subject "refs/ralph/$NAME/was/heads/$BRANCH")"
}
