#!/usr/bin/env bats
# runs: user
# seconds: 20
# Submodules that the agent of a loop moves.
# shellcheck disable=SC2016
load helpers
load loop

DONE='sed -i "s/\"passes\": false/\"passes\": true/" .ralph/agent/prd.json 2>/dev/null ||
	sed -i "s/\"passes\": false/\"passes\": true/" .ralph/prd.json; echo "<promise>COMPLETE</promise>"'
MOVE='cd libs/one && echo changed >file && echo new >new && git add . && git -c user.name=x -c user.email=x commit -qm inside && cd ../.. &&
	echo x >"$RALPH_TASK" && git add . && git commit -qm work'

# with_submodule SCRIPT: the workspace of a loop with one story and a submodule, whose agent is this script.
with_submodule() {
	loop_workspace 1
	git init -q "$T/one"
	(cd "$T/one" && echo file >file && git add . && git -c user.name=x -c user.email=x commit -qm one)
	git -c protocol.file.allow=always submodule --quiet add "$T/one" libs/one
	printf '%s\n' '#!/bin/bash' 'cat >prompt-of-agent' 'exec 2>>agent.err' "$1" >agent.sh
	chmod +x agent.sh
	printf '%s\n' prompt-of-agent agent.err >>.gitignore
	git add -A
	git commit -qm agent
	ONE=$(git -C libs/one rev-parse HEAD) BRANCH=$(git -C libs/one symbolic-ref -q HEAD || :)
}

# What the user sees is what was there before the agent.
is_put_back() {
	same "$ONE" "$(git -C libs/one rev-parse HEAD)"
	same "$BRANCH" "$(git -C libs/one symbolic-ref -q HEAD || :)"
	same file "$(cat libs/one/file)"
	[ ! -e libs/one/new ]
	same '' "$(git status --porcelain -- . ':!.ralph')"
	same '' "$(git -C libs/one status --porcelain)"
}

@test 'a submodule that a rejected iteration moved is put back with its files, and nothing of the agent is lost' {
	with_submodule "$MOVE; $DONE"
	loop_exits 4 build -- ./agent.sh
	is_put_back
	kept=$(git -C libs/one for-each-ref --format='%(refname)' refs/ralph/rejected | head -1)
	same new "$(git -C libs/one show "$kept:new")"
	has "$(cat "$T/err")" "submodule 'libs/one' is put back"
	has "$(cat "$T/err")" "$kept"
	has "$(cat "$T/err")" '--submodules take'
}

@test 'a submodule on no branch is put back to no branch' {
	with_submodule "$MOVE; $DONE"
	git -C libs/one checkout -q --detach
	BRANCH=
	loop_exits 4 build -- ./agent.sh
	is_put_back
}

@test 'no sandbox: a submodule that a rejected iteration moved is put back with its files' {
	with_submodule "$MOVE; $DONE"
	mkdir -p "$T/bin"
	cat >"$T/bin/claude" <<-EOF
		#!/bin/bash
		case \${1-} in --version) echo 2.1.325; exit ;; esac
		printf '{"type":"result","subtype":"success","is_error":false,"result":"%s"}\n' "\$("$WS/agent.sh" | tail -1)"
	EOF
	chmod 755 "$T/bin/claude"
	PATH=$T/bin:$PATH loop_exits 4 --no-sandbox build claude
	is_put_back
}

@test 'with --submodules take the move of a submodule counts' {
	with_submodule "$MOVE; $DONE"
	loop_exits 0 build --submodules take -- ./agent.sh
	same changed "$(cat libs/one/file)"
	same "$(git rev-parse HEAD:libs/one)" "$(git -C libs/one rev-parse HEAD)"
	same '' "$(git status --porcelain -- . ':!.ralph')"
}

@test 'a submodule with changes of the user is left alone, and the command that puts it back is named' {
	with_submodule "$MOVE; $DONE"
	echo mine >libs/one/mine
	loop_exits 4 build -- ./agent.sh
	same mine "$(cat libs/one/mine)"
	same changed "$(cat libs/one/file)"
	has "$(cat "$T/err")" 'git submodule update --force -- libs/one'
}

# with_nested SCRIPT: the same, and the submodule has one of its own.
with_nested() {
	git init -q "$T/deep"
	(cd "$T/deep" && echo file >file && git add . && git -c user.name=x -c user.email=x commit -qm deep)
	with_submodule "$1"
	git -C libs/one -c protocol.file.allow=always submodule --quiet add "$T/deep" deep
	git -C libs/one -c user.name=x -c user.email=x commit -qm deep
	git commit -qam nested
	ONE=$(git -C libs/one rev-parse HEAD) DEEP=$(git -C libs/one/deep rev-parse HEAD)
}

NESTED='(cd libs/one/deep && echo changed >file && echo new >new && git add . && git -c user.name=x -c user.email=x commit -qm inside)
	(cd libs/one && echo changed >file && git add . && git -c user.name=x -c user.email=x commit -qm outer)
	echo x >"$RALPH_TASK" && git add . && git commit -qm work'

@test 'a submodule of a submodule is put back with its files, and nothing of the agent is lost' {
	with_nested "$NESTED; $DONE"
	loop_exits 4 build -- ./agent.sh
	is_put_back
	same "$DEEP" "$(git -C libs/one/deep rev-parse HEAD)"
	same file "$(cat libs/one/deep/file)"
	[ ! -e libs/one/deep/new ]
	same '' "$(git -C libs/one/deep status --porcelain)"
	kept=$(git -C libs/one/deep for-each-ref --format='%(refname)' refs/ralph/rejected | head -1)
	same new "$(git -C libs/one/deep show "$kept:new")"
	has "$(cat "$T/err")" "submodule 'libs/one/deep' is put back"
}

@test 'with --submodules take the move of a submodule of a submodule counts' {
	with_nested "$NESTED; $DONE"
	loop_exits 0 build --submodules take -- ./agent.sh
	same changed "$(cat libs/one/deep/file)"
	same "$(git rev-parse HEAD:libs/one)" "$(git -C libs/one rev-parse HEAD)"
	same "$(git -C libs/one rev-parse HEAD:deep)" "$(git -C libs/one/deep rev-parse HEAD)"
	same '' "$(git status --porcelain -- . ':!.ralph')"
}

@test 'a submodule of a submodule with changes of the user is left alone, and the one around it is put back' {
	with_nested "$NESTED; $DONE"
	echo mine >libs/one/deep/mine
	loop_exits 4 build -- ./agent.sh
	same mine "$(cat libs/one/deep/mine)"
	same changed "$(cat libs/one/deep/file)"
	same "$ONE" "$(git -C libs/one rev-parse HEAD)"
	same file "$(cat libs/one/file)"
}
