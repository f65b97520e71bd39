#!/usr/bin/env bats
# runs: user root
# What an agent can make of its private git directory, and of the import that comes out of it.
# What is in single quotes is for the shell inside; every test has an environment of its own.
# shellcheck disable=SC2016,SC2030,SC2031
load attack

setup() {
	attack_setup
	NAME=git-${WS##*-}
	rm -f "$WS/probe"
	git branch other
	git tag v1
}

agent() {
	ralph run --agent command -n "$NAME" -- sh -c "$1" 2>"$T/err"
}

# users: what is the user's and nobody else's to move.
users() {
	git for-each-ref refs/heads refs/tags refs/stash
	cat .git/HEAD .git/config
	find .git/hooks .git/info -type f | sort
}

@test 'deleting, rewinding and moving branches and tags of the user changes none of them' {
	local before

	git commit -q --allow-empty -m second
	before=$(users)
	agent 'git reset -q --hard HEAD~1; git branch -D other; git tag -d v1; git tag -f v2 HEAD; git update-ref refs/heads/other HEAD
		git tag -f v1 HEAD~0; git stash list'
	same "$before" "$(users | grep -v refs/tags/v2)"
	has "$(cat "$T/err")" held
	git fsck --no-progress --no-dangling
}

@test 'an emptied or replaced git directory inside leaves the repository as it is' {
	local before

	before=$(users)
	agent 'rm -rf .git/* .git/.[a-z]*; git init -q; git config user.email a@b; git config user.name a; git commit -q --allow-empty -m alien' || true
	same "$before" "$(users)"
	git fsck --no-progress --no-dangling
}

@test 'an export that hangs keeps the user no longer than an interrupt, and moves nothing' {
	local before pid

	before=$(users)
	"$RALPH" run --agent command -n "$NAME" -- sh -c 'git commit -q --allow-empty -m hang; mkfifo .git/refs/heads/pipe; touch ended' 2>"$T/err" &
	pid=$!
	wait_until test -e ended
	wait_until grep -q 'importing commits' "$T/err"
	kill -TERM $pid
	wait $pid || true
	has "$(cat "$T/err")" "were not imported"
	same "$before" "$(users)"
	same "" "$(git for-each-ref refs/ralph)"
	rm ended
	agent 'rm .git/refs/heads/pipe'
	same hang "$(git log -1 --format=%s)"
}

@test 'more references than an import takes move nothing, and it is said' {
	local before

	before=$(users)
	agent 'h=$(git rev-parse HEAD); i=0; { grep -v "^#" .git/packed-refs; while [ $i -lt 4100 ]; do echo "$h refs/heads/flood/$i"; i=$((i+1)); done; } >.git/t; mv .git/t .git/packed-refs'
	has "$(cat "$T/err")" "more than 4096 references"
	same "$before" "$(users)"
	same "" "$(git for-each-ref refs/ralph)"
}

@test 'more directories of references than are looked at: what is in them is imported, and the sandbox ends' {
	agent 'h=$(git commit-tree -m deep -p HEAD "HEAD^{tree}"); i=0; while [ $i -lt 300 ]; do mkdir -p .git/refs/heads/d$i; i=$((i+1)); done; git update-ref refs/heads/d299/x $h'
	same deep "$(git log -1 --format=%s d299/x)"
	must_fail ralph exec "$NAME" true 2>/dev/null
}

@test 'a descriptor of the export that somebody inside keeps does not let anything through later' {
	agent 'git commit -q --allow-empty -m one; mkdir -p /tmp/keep
		(while :; do for f in /proc/[0-9]*/fd/1; do case $(readlink $f 2>/dev/null) in pipe:*) cat /dev/null 3>>$f ;; esac; done; done) >/dev/null 2>&1 &
		sleep 0.3'
	same one "$(git log -1 --format=%s)"
	git fsck --no-progress --no-dangling
}

@test 'settings, hooks and unfinished operations of the private directory run nothing on the host' {
	export EVIL="touch $T/canary"
	ralph run --agent command -n "$NAME" -e "EVIL=$EVIL" -- sh -c 'git config core.fsmonitor "$EVIL"; git config core.hooksPath .git/h; mkdir .git/h
		printf "#!/bin/sh\n%s\n" "$EVIL" >.git/h/reference-transaction; chmod +x .git/h/*; cp .git/h/* .git/hooks/
		echo x >>file; git -c core.hooksPath=/dev/null -c core.fsmonitor=false commit -qam armed; git config alias.status "!$EVIL"; git config filter.x.clean "$EVIL"; echo "* filter=x" >.git/info/attributes' 2>/dev/null
	same armed "$(git log -1 --format=%s)"
	git status
	git commit -q --allow-empty -m host
	git checkout -q other
	[ ! -e "$T/canary" ]
}
