#!/usr/bin/env bats
# runs: user
# seconds: 60
# A loop moves its own branch and nothing else, whatever the agent does to the repository: in a sandbox, in a machine of
# Docker Sandboxes, and without a sandbox.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # text for shells inside; tests are subshells; bats sets stderr
load helpers
load sandbox
load loop
load ../lib/sbx

setup() {
	ralph_setup
}

teardown() {
	local bad=0

	fake_sbx_end || bad=1
	ralph_teardown || bad=1
	return $bad
}

# scripted SCRIPT: the workspace of a loop with one story, whose agent is this script; $OTHERS has the user's references
# but for the branch of the loop.
scripted() {
	loop_workspace 1
	printf '%s\n' '#!/bin/bash' 'cat >prompt-of-agent' 'exec 2>>agent.err' "$1" >agent.sh
	chmod +x agent.sh
	printf '%s\n' prompt-of-agent agent.err >>.gitignore
	git add -A
	git commit -qm agent
	git branch topic HEAD~1
	git tag v1
	OTHERS=$(others)
}

others() {
	git for-each-ref --format='%(objectname) %(refname)' refs/heads refs/tags refs/stash | grep -v ' refs/heads/ralph/demo$'
}

# loops ENGINE CODE [OPTION…]: the loop ends with that code, and every other reference is the user's.
loops() {
	local engine=$1 code=$2
	shift 2

	case $engine in
	native) loop_exits "$code" build "$@" -- ./agent.sh ;;
	sbx)
		fake_sbx sbx
		loop_exits "$code" --engine sbx build "$@" -- ./agent.sh
		;;
	none)
		# An agent that is named prints a record of its result.
		mkdir -p "$T/bin"
		cat >"$T/bin/claude" <<-EOF
			#!/bin/bash
			case \${1-} in --version) echo 2.1.325; exit ;; esac
			printf '{"type":"result","subtype":"success","is_error":false,"result":"%s"}\n' "\$("$WS/agent.sh" | tail -1)"
		EOF
		chmod 755 "$T/bin/claude"
		PATH=$T/bin:$PATH loop_exits "$code" --no-sandbox build "$@" claude
		;;
	esac
	same "$OTHERS" "$(others)"
	same ralph/demo "$(git branch --show-current)"
	same '' "$(git status --porcelain -- . ':!.ralph')"
	git fsck --no-dangling --no-progress 2>&1 | must_fail grep -E 'error|missing'
}

WORK='echo x >"$RALPH_TASK" && git add "$RALPH_TASK" && git commit -qm work'
DONE='sed -i "s/\"passes\": false/\"passes\": true/" .ralph/agent/prd.json 2>/dev/null ||
	sed -i "s/\"passes\": false/\"passes\": true/" .ralph/prd.json; echo "<promise>COMPLETE</promise>"'

# taken_over ENGINE: work on another branch is done on the loop's.
taken_over() {
	scripted "git checkout -qb x && $WORK; $DONE"
	git init -q --bare "$T/remote.git"
	git remote add origin "$T/remote.git"
	loops "$1" 0 --push
	same 'done' "$(verdicts)"
	same work "$(git log -1 --format=%s HEAD~1)"
	same "$(git rev-parse HEAD)" "$(git -C "$T/remote.git" rev-parse ralph/demo)"
	same ralph/demo "$(git -C "$T/remote.git" branch --format='%(refname:short)')"
	has "$(cat "$T/err")" "the commits on branch 'x' are taken onto 'ralph/demo'"
	lacks "$(cat "$T/out")" heads/x
}

@test 'commits on a new branch of the agent are taken onto the branch of the loop, which is pushed' {
	taken_over native
}

@test 'no sandbox: commits on a new branch are taken onto the branch of the loop' {
	taken_over none
}

@test 'Docker Sandboxes: commits on a new branch are taken onto the branch of the loop' {
	taken_over sbx
}

on_main() {
	scripted "git checkout -q $(git branch --show-current) && $WORK; $DONE"
	loops "$1" 0
	same work "$(git log -1 --format=%s HEAD~1)"
}

@test "commits on the user's branch are the loop's, and the user's branch stays where it was" {
	on_main native
}

@test "no sandbox: commits on the user's branch are the loop's, and the user's branch stays" {
	on_main none
}

no_branch() {
	scripted "git checkout -q --detach && $WORK; $DONE"
	loops "$1" 0
	same work "$(git log -1 --format=%s HEAD~1)"
}

@test 'commits on no branch are taken onto the branch of the loop' {
	no_branch native
}

@test 'no sandbox: commits on no branch are taken onto the branch of the loop' {
	no_branch none
}

# apart ENGINE: work that does not go on from the loop's branch does not count, and is not lost.
apart() {
	scripted "cp prompt-of-agent seen-\$RALPH_ITERATION
git checkout -q --orphan x && git rm -rfq . && $WORK; echo '<promise>COMPLETE</promise>'"
	printf '%s\n' 'seen-*' >>.git/info/exclude
	git init -q --bare "$T/remote.git"
	git remote add origin "$T/remote.git"
	loops "$1" 4 --push --max-stuck 2
	same 'rejected rejected' "$(verdicts)"
	same '' "$(git -C "$T/remote.git" branch)"
	has "$(cat "$T/err")" "the commits are on branch 'x', which does not go on from 'ralph/demo'"
	has "$(cat seen-2)" "do not go on from 'ralph/demo'"
	[ ! -e US-1 ] && [ -x agent.sh ]
	# On top of it may be what was not committed.
	git log --format=%s "$(git for-each-ref --format='%(refname)' refs/ralph/rejected | head -1)" | grep -qx work
}

@test 'commits that do not go on from the branch of the loop are rejected, and the next agent is told' {
	apart native
}

@test 'no sandbox: commits that do not go on from the branch of the loop are rejected' {
	apart none
}

# vandal ENGINE: references of the user's that the agent deletes, moves and makes.
vandal() {
	local name

	scripted "$WORK; git branch -D topic; git tag -d v1; git stash drop; git branch -f main HEAD~2
git checkout -q -b mine && echo m >m && git add m && git commit -qm mine && git checkout -q ralph/demo
git tag made; git branch other HEAD; git reflog expire --expire=now --all; git gc -q --prune=now; $DONE"
	git branch -m main
	echo stashed >file
	git stash -q
	OTHERS=$(others)
	loops "$1" 0
	same "stashed" "$(git show 'stash@{0}:file')"
	same work "$(git log -1 --format=%s HEAD~1)"
	name=$(git for-each-ref --format='%(refname)' refs/ralph | grep '/heads/mine$') || fail "$(git for-each-ref)"
	same mine "$(git log -1 --format=%s "$name")"
	has "$(cat "$T/out")" "made by the agent, and kept: $name"
	has "$(cat "$T/out")" "${name%/heads/mine}/tags/made"
	# What the loop's branch contains needs no name of its own.
	same "['heads/mine', 'tags/made']" "$(summary '[r.split("/", 3)[3] for r in j["held"]]')"
	lacks "$(git for-each-ref refs/ralph)" heads/other
}

@test "references of the user's that an agent deletes or moves are as they were; what it made is kept and named" {
	vandal native
}

@test "no sandbox: references of the user's are as they were; what the agent made is kept and named" {
	vandal none
}

@test "Docker Sandboxes: references of the user's are as they were; what the agent made is kept and named" {
	vandal sbx
}

@test 'nothing of the agent is imported while it runs, and what is rejected never was on the branch' {
	scripted "$WORK; touch made; until git rev-parse -q --verify mine >/dev/null; do sleep 0.1; done; touch synced
until [ -e go-on ]; do sleep 0.1; done
printf -- '-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gun\n-----END RSA PRIVATE KEY-----\n' >key.txt
git add key.txt && git commit -qm key; echo '<promise>COMPLETE</promise>'"
	printf '%s\n' made synced >>.git/info/exclude
	"$RALPH" build --max-stuck 1 -- ./agent.sh >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	wait_until -t 60 test -e made
	# What the user does goes in; commits would come out before that.
	git tag mine
	wait_until -t 60 test -e synced
	same agent "$(git log -1 --format=%s ralph/demo)"
	same '' "$(git for-each-ref refs/ralph)"
	touch go-on
	ends 4
	same rejected "$(verdicts)"
	same 0 "$(git reflog show ralph/demo --format=%s | grep -c import)"
	same key "$(git log -1 --format=%s "$(git for-each-ref --format='%(refname)' refs/ralph/rejected | head -1)")"
	same '' "$(git status --porcelain -- . ':!.ralph')"
}

@test 'the next agent begins with the references of the user, and with nothing that was rejected' {
	scripted "git config user.email; git for-each-ref --format='%(refname)' | tee refs-\$RALPH_ITERATION >/dev/null
git config core.hooksPath evil; git branch extra; git log -1 --format=%s >log-\$RALPH_ITERATION
git config --get core.hooksPath >hook-\$RALPH_ITERATION.now
git commit -q --allow-empty --author='Other <o@o>' -m foreign"
	printf '%s\n' 'refs-*' 'log-*' 'hook-*' >>.git/info/exclude
	loops native 4 --max-stuck 2
	same 'rejected rejected' "$(verdicts)"
	same "$(cat refs-1)" "$(cat refs-2)"
	same "$(cat log-1)" "$(cat log-2)"
}

@test 'an agent that leaves another branch checked out leaves the files of the loop as they are' {
	scripted "$WORK; $DONE; git checkout -q topic"
	loops native 0
	[ -e US-1 ] && [ -x agent.sh ]
}

@test 'a kill -9 of everything: the commits of the agent are judged when the loop goes on' {
	scripted "git checkout -qb x && $WORK; touch made; until [ -e go-on ]; do sleep 0.1; done; $DONE"
	printf '%s\n' made >>.git/info/exclude
	"$RALPH" build -- ./agent.sh >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	wait_until -t 60 test -e made
	kill -9 "$LOOP" "$(field "$(sandbox)" supervisor)"
	wait "$LOOP" || :
	touch go-on
	loop_exits 0 resume
	has "$(cat "$T/err")" "the commits on branch 'x' are taken onto 'ralph/demo'"
	same "$OTHERS" "$(others)"
}
