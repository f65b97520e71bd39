#!/usr/bin/env bats
# runs: user
# seconds: 40
# Engines that show the git directory as it is: branches, tags, stashes, HEAD and the index are the user's afterwards.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # text for shells inside; tests are subshells; bats sets stderr
load helpers
load sandbox
load ../lib/sbx

setup() {
	ralph_setup
	export GIT_AUTHOR_NAME=me GIT_AUTHOR_EMAIL=me@test GIT_COMMITTER_NAME=me GIT_COMMITTER_EMAIL=me@test
	git init -q .
	git symbolic-ref HEAD refs/heads/main
	commit one
	commit two
	git branch topic
	git tag v1
	echo put away >file
	git stash -q
	echo first stash >file
	git stash -q
	echo staged >staged
	git add staged
	mkdir "$T/bin"
	printf '#!/bin/sh\ncase ${1-} in --version) echo 2.1.325; exit ;; esac\nexec sh -c "$TASK"\n' >"$T/bin/claude"
	chmod 755 "$T/bin/claude"
	export PATH=$T/bin:$PATH
}

teardown() {
	local bad=0

	fake_sbx_end || bad=1
	ralph_teardown || bad=1
	return $bad
}

commit() {
	echo "$1" >file
	git add file
	git commit -q -m "$1"
}

# everything of the user's that a reference leads to, without ralph's own.
state() {
	git for-each-ref --format='%(objectname) %(refname)' | grep -v ' refs/ralph/'
	git symbolic-ref HEAD
	git stash list --format=%H
	git diff --cached --name-status
}

# agent ENGINE SCRIPT: what an agent does to the repository.
agent() {
	if [ "$1" = sbx ]; then
		fake_sbx sbx
		run --separate-stderr ralph --engine sbx run -- sh -c "$2"
	else
		TASK=$2 run --separate-stderr ralph --no-sandbox run -T claude
	fi
	same 0 "$status"
}

@test "deleted branches, tags and stashes are back, and so is a branch that was moved back, in each engine" {
	for engine in sbx none; do
		before=$(state)
		agent $engine 'git reset -q --soft HEAD~1; git branch -q -D topic; git tag -d v1 >/dev/null; git stash clear
			git reflog expire --expire=now --all; git gc -q --prune=now; git checkout -q --detach'
		same "$before" "$(state)"
		has "$stderr" "'refs/heads/main' was moved"
		has "$stderr" "'refs/heads/topic' was deleted inside and is back"
		has "$stderr" "'refs/tags/v1' was deleted inside and is back"
		has "$stderr" "'refs/stash' was deleted inside and is back"
		must_exit 0 git fsck --strict
		ralph rm --all --force
	done
}

@test "commits on a branch, new branches and tags are the agent's work and stay" {
	for engine in sbx none; do
		agent $engine "echo $engine >made-$engine; git add made-$engine; git -c user.name=a -c user.email=a@b commit -q -m 'by the agent' made-$engine
			git branch new-$engine; git tag tag-$engine"
		same "by the agent" "$(git log -1 --format=%s main)"
		same "$(git rev-parse main)" "$(git rev-parse "new-$engine" )"
		same "$(git rev-parse main)" "$(git rev-parse "tag-$engine")"
		lacks "$stderr" "is back"
	done
}

@test "a rewritten branch is put back, and what the agent made of it is held" {
	before=$(state)
	agent none 'git -c user.name=a -c user.email=a@b commit -q --amend -m rewritten'
	same "$before" "$(state)"
	name=$(sandbox)
	same rewritten "$(git log -1 --format=%s "refs/ralph/$name/heads/main")"
}

@test "settings and hooks of git are what they were" {
	echo '#!/bin/sh' >.git/hooks/pre-commit
	before=$(cat .git/config .git/hooks/pre-commit)
	for engine in sbx none; do
		agent $engine 'git config core.fsmonitor ./evil; echo evil >>.git/hooks/pre-commit; echo evil >.git/hooks/post-checkout'
		same "$before" "$(cat .git/config .git/hooks/pre-commit)"
		lacks "$(ls .git/hooks)" post-checkout
		ralph rm --all --force
	done
}

@test "a replacement of a commit, and notes, are not the user's" {
	agent none 'git replace -f HEAD HEAD~1; git notes add -m planted'
	same "" "$(git replace -l)"
	same "" "$(git for-each-ref refs/notes)"
	same two "$(git log -1 --format=%s)"
	has "$stderr" "refs/replace/"
}

@test "a supervisor that was killed leaves the references to the next look" {
	before=$(state)
	TASK='git branch -q -D topic; touch ready; exec sleep 1000' "$RALPH" --no-sandbox run -T -n killed claude 3>&- &
	wait_until -t 30 test -e ready
	kill -9 "$(field killed supervisor)"
	wait $! || :
	rm ready
	ralph ls >/dev/null
	TASK=true ralph --no-sandbox run -T -n killed claude
	same "$before" "$(state)"
}

@test "nothing of ralph's stays in the repository" {
	agent none true
	same "" "$(git for-each-ref refs/ralph)"
}
