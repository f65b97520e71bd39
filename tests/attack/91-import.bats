# runs: root user user:gvisor
# seconds: 40
# What an agent's references and submodules may become in the user's repository.
# What is in single quotes is for the shell inside; every test has an environment of its own.
# shellcheck disable=SC2016,SC2030,SC2031
load ../cli/helpers
load ../engines/engine

setup() {
	engine_setup || return
	git branch -q -M main
}

teardown() {
	ralph_teardown
}

# within SCRIPT: in the kept sandbox of this test.
within() {
	ralph run --name "import-${WS##*-}" -e GIT_AUTHOR_NAME=a -e GIT_AUTHOR_EMAIL=a@example.invalid -e GIT_COMMITTER_NAME=a \
		-e GIT_COMMITTER_EMAIL=a@example.invalid -e CANARY="$T/canary" -- bash -ec "$1" >"$T/said" 2>&1 || fail "$(cat "$T/said")"
}

@test 'a commit with a submodule that was held stays held, whatever other names it gets later' {
	within 'c=$(git commit-tree -p main -m gl $( (git ls-tree main; printf "160000 commit %s\tgl\n" $(git rev-parse main)) | git mktree --missing))
		git branch b1 $c'
	has "$(cat "$T/said")" 'it adds a submodule'
	within 'git tag later main'
	lacks "$(git for-each-ref)" refs/heads/b1
	within 'git reset -q b1'
	within 'git tag of-it b1; git tag of-tree b1^{tree}; git checkout -q -B b2 b1'
	lacks "$(git for-each-ref)" refs/tags/of-
	lacks "$(git for-each-ref)" refs/heads/b
	lacks "$(git ls-files -s)" 160000
	lacks "$(git ls-tree -r main)" 160000
	same refs/heads/main "$(git symbolic-ref HEAD)"
}

# emptied WHAT: a submodule that the user empties, and an agent that makes a .git there and then does WHAT.
emptied() {
	git init -q "$T/lib"
	git -C "$T/lib" -c user.name=x -c user.email=x@y commit -q --allow-empty -m lib
	git -c protocol.file.allow=always submodule --quiet add "$T/lib" lib
	git commit -q -m start
	ralph run --name "import-${WS##*-}" -e CANARY="$T/canary" -- sh -c 'mkdir ev; git init -q ev/r; git -C ev/r config user.name x
		git -C ev/r config user.email x@y; git -C ev/r commit -q --allow-empty -m x; git -C ev/r config core.worktree ../../../lib
		git -C ev/r config core.fsmonitor "touch $CANARY; false"; touch started; while [ ! -e lib/.git ] || [ ! -e stop ]; do
			[ -e lib/.git ] || { echo "gitdir: ../ev/r/.git" >lib/.git; touch made; '"$1"'; }; done' >"$T/said" 2>&1 &
	wait_until -t 60 test -e started
	git submodule --quiet deinit -f lib
	wait_until -t 60 test -e made
}

@test 'a .git that the agent makes in a submodule that the user emptied is put away at once' {
	emptied 'sleep 1000'
	wait_until -t 60 test ! -e lib/.git
	git status --short >/dev/null
	[ ! -e "$T/canary" ]
	# The text that was there leads to the user's own: it is covered, and stays.
	git -c protocol.file.allow=always submodule --quiet update --init lib
	same lib "$(git -C lib log -1 --format=%s)"
	ralph stop "import-${WS##*-}"
	wait
	same lib "$(git -C lib log -1 --format=%s)"
	[ ! -e "$T/canary" ]
}

@test 'an agent that makes such a .git again is stopped' {
	emptied :
	wait
	has "$(cat "$T/said")" 'for the second time'
	git status --short >/dev/null || :
	[ ! -e "$T/canary" ]
}

@test 'a branch whose name is not UTF-8 is imported like any other' {
	within 'git checkout -q -b "$(printf "caf\351")"; echo 1 >n; git add n; git commit -qm work; git checkout -q main'
	same work "$(git log -1 --format=%s "$(printf 'caf\351')")"
}

@test 'a new name that already means something to the user is held' {
	local name

	git branch other
	git tag v1
	git update-ref refs/remotes/origin/main HEAD
	git update-ref refs/remotes/up/HEAD HEAD
	within 'git update-ref refs/heads/mine HEAD; git update-ref refs/tags/up HEAD; git update-ref refs/heads/up HEAD; git update-ref refs/tags/new HEAD
		for t in main other HEAD stash heads/main; do git update-ref "refs/tags/$t" HEAD; done
		for b in origin/main v1 FETCH_HEAD refs/heads/main "$(git rev-parse --short HEAD)"; do git update-ref "refs/heads/$b" HEAD; done'
	for name in refs/tags/main refs/tags/other refs/tags/HEAD refs/tags/heads/main refs/heads/origin/main refs/heads/v1 refs/heads/FETCH_HEAD \
		refs/heads/refs/heads/main refs/heads/up refs/tags/up; do
		! git show-ref --quiet --verify "$name" || fail "$name is there"
	done
	git show-ref --quiet --verify refs/heads/mine
	git show-ref --quiet --verify refs/tags/new
	has "$(cat "$T/said")" 'its name means something else here'
}

@test 'a link over /proc, which is another place for each process, is not left in the workspace' {
	within 'ln -s /proc/self/cwd/../elsewhere over; ln -s plain ok'
	[ ! -L over ]
	[ -L ok ]
}

# brings PATH: the agent commits a new PATH in a worktree of its own, where nothing is read-only, on a branch of its own.
brings() {
	within 'rm -rf /tmp/w; git worktree prune; git worktree add -q -b "b$RANDOM$RANDOM" /tmp/w main; cd /tmp/w; mkdir -p "$(dirname "'"$1"'")"
		echo "touch $CANARY" >"'"$1"'"; chmod +x "'"$1"'"; git add -Af .; git commit -qm bring; cd /; rm -rf /tmp/w'
}

@test 'commits that change files which the host runs are held, told with the file, and taken by apply --protected' {
	local name="import-${WS##*-}" path

	for path in .vscode/tasks.json .envrc .husky/pre-commit sub/.claude/settings.json .mcp.json opencode.json .github/workflows/x.yml \
		.cursor/mcp.json .idea/x.xml .devcontainer.json mise.toml .tool-versions .pre-commit-config.yaml lefthook.yml .lfsconfig; do
		brings "$path"
		has "$(cat "$T/said")" "it changes files that your host runs: $path"
	done
	same start "$(git log --branches --tags --format=%s)"
	has "$(ralph status)" 'held: b'
	has "$(ralph diff "$name")" '#   .vscode/tasks.json: tasks and settings of the editor'
	run ralph apply "$name"
	same 1 "$status"
	has "$output" 'use --protected'
	same start "$(git log --branches --tags --format=%s)"
	run ralph apply --protected "$name"
	same 0 "$status"
	has "$output" '  .envrc: a script that direnv runs'
	same 16 "$(git for-each-ref refs/heads | wc -l)"
	# An ordinary file is not held.
	brings src/main.c
	same 17 "$(git for-each-ref refs/heads | wc -l)"
}

@test 'a commit that changes a protected file does not reach the current branch or the tree by reset, merge or amend' {
	mkdir .vscode
	echo mine >.vscode/tasks.json
	git add .vscode
	git commit -q -m tasks
	# Nobody inside can write the file, and git does not need it.
	within 'evil=$(git hash-object -w --stdin <<<evil); export GIT_INDEX_FILE=/tmp/i; git read-tree main
		git update-index --cacheinfo "100644,$evil,.vscode/tasks.json"; c=$(git commit-tree -p main -m x $(git write-tree))
		git update-ref refs/heads/main $c'
	same tasks "$(git log -1 --format=%s)"
	has "$(cat "$T/said")" 'your host runs: .vscode/tasks.json'
	# Later work on top, a commit that puts it back, and a merge that hides it behind its second parent.
	within 'export GIT_INDEX_FILE=/tmp/i; good=$(git rev-parse main~1); t=$(git rev-parse $good^{tree})
		c=$(git commit-tree -p main -m back $t); git update-ref refs/heads/main $c
		m=$(git commit-tree -p $good -p $c -m merge $t); git update-ref refs/heads/merged $m; git update-ref refs/tags/tagged $m'
	same tasks "$(git log -1 --format=%s)"
	lacks "$(git for-each-ref)" refs/heads/merged
	lacks "$(git for-each-ref)" refs/tags/tagged
	git stash -q || :
	git checkout -q main
	same mine "$(cat .vscode/tasks.json)"
}

@test 'a merge of what the user changed is imported, and one that undoes it is held' {
	echo 1 >.envrc
	git add .envrc
	git commit -q -m one
	git branch old
	git checkout -q -b feature old
	echo f >f
	git add f
	git commit -q -m feature
	git checkout -q main
	echo 2 >.envrc
	git commit -q -am two
	git checkout -q feature
	within 'git merge -q -m "take main" main'
	same 'take main' "$(git log -1 --format=%s feature)"
	# The first parent has the old file, and so has the merge.
	within 't=$(git rev-parse old^{tree}); git update-ref refs/heads/undone $(git commit-tree -p old -p main -m undo $t)
		git update-ref refs/heads/undone2 $(git commit-tree -p old -p main -p feature -m undo $t)'
	lacks "$(git for-each-ref)" refs/heads/undone
	has "$(cat "$T/said")" 'your host runs: .envrc'
}

@test 'programs that git settings of the user name in the tree are not changed by commits, there already or not' {
	local path

	git config core.hooksPath tools/hooks
	git config filter.x.clean 'sh scripts/clean.sh %f'
	git config alias.x '!./bin/x'
	git config include.path ../.gitconfig
	touch .gitconfig
	for path in tools/hooks/pre-commit scripts/clean.sh bin/x .gitconfig TOOLS/hooks/pre-push; do
		brings "$path"
		has "$(cat "$T/said")" "your host runs: $path (a program that your git settings name)"
	done
	within 'l=$(printf elsewhere | git hash-object -w --stdin); export GIT_INDEX_FILE=/tmp/i; git read-tree main
		git update-index --add --cacheinfo "120000,$l,tools"; git update-ref refs/heads/link $(git commit-tree -p main -m x $(git write-tree))
		git read-tree main; git update-index --add --cacheinfo "120000,$l,.claude"
		git update-ref refs/heads/link2 $(git commit-tree -p main -m x $(git write-tree))'
	same start "$(git log --branches --tags --format=%s)"
}

@test 'imports beside git gc --prune=now of the user leave no reference without its objects' {
	local gc

	touch "$T/go"
	while [ -e "$T/go" ]; do git gc -q --prune=now || break; done >"$T/gc" 2>&1 3>&- &
	gc=$!
	within 'for i in $(seq 120); do echo $i >>n; git add n; git commit -qm "n $i"; git branch "at-$i"; done'
	for i in 1 2 3; do within "echo $i >m; git add m; git commit -qm 'm $i'"; done
	rm "$T/go"
	wait "$gc"
	same '' "$(cat "$T/gc")"
	git fsck --connectivity-only >"$T/fsck" 2>&1 || fail "$(cat "$T/fsck")"
	same 'm 3' "$(git log -1 --format=%s)"
	same 120 "$(git for-each-ref 'refs/heads/at-*' | wc -l)"
	same '' "$(find .git/objects -name '*.keep')"
	git status --short >/dev/null
}

# libgit2's walk names commits of main here, although main is hidden.
@test 'a branch at an older commit of the user is imported beside newer notes' {
	local i at='GIT_COMMITTER_DATE="2030-01-01 00:00'

	within "$at:10\" git commit -q --allow-empty -m agent; $at:50\" git notes add -m 1"
	git branch old
	for i in $(seq 20 28); do GIT_COMMITTER_DATE="2030-01-01 00:00:$i" git commit -q --allow-empty -m "user $i"; done
	within "git branch back main~8; $at:53\" git notes add -f -m 2; $at:56\" git notes add -f -m 3"
	lacks "$(cat "$T/said")" 'not imported'
	same "$(git rev-parse main~8)" "$(git rev-parse back)"
}

@test 'the export uses no file of /tmp: one that is full, missing or forged neither stops nor delays it' {
	TMPDIR=$T/nowhere ralph run --name "import-${WS##*-}" -e TMPDIR=/nowhere -e GIT_AUTHOR_NAME=a -e GIT_AUTHOR_EMAIL=a@example.invalid \
		-e GIT_COMMITTER_NAME=a -e GIT_COMMITTER_EMAIL=a@example.invalid -- bash -ec 'echo 1 >n; git add n; git commit -qm one' \
		>"$T/said" 2>&1 || fail "$(cat "$T/said")"
	same one "$(git log -1 --format=%s)"
	ralph rm "import-${WS##*-}"
	# Every file that appears in a new directory of /tmp becomes a pipe that nobody writes to.
	within '(while :; do for f in /tmp/*/*; do [ -p "$f" ] || { rm -f "$f" && mkfifo "$f"; }; done; done) >/dev/null 2>&1 &
		echo 2 >n; git commit -qam two'
	same two "$(git log -1 --format=%s)"
}

@test 'git settings that include a file of the tree which is not there: nothing starts, and it is said' {
	git config include.path ../.gitinc
	run ralph run --rm -- touch ran
	same 2 "$status"
	has "$output" "include '$WS/.gitinc', which cannot be read"
	[ ! -e ran ]
	touch .gitinc
	ralph run --rm -- sh -c '! echo evil >.gitinc' 2>/dev/null
	same '' "$(cat .gitinc)"
}

# lib: a submodule of the user's.
lib() {
	git init -q -b main "$T/lib"
	git -C "$T/lib" -c user.name=x -c user.email=x@y commit -q --allow-empty -m lib
	git -c protocol.file.allow=always submodule --quiet add "$T/lib" lib
	git commit -q -m start
}

@test 'hooks that settings of a submodule name are not written or made' {
	lib
	git -C lib config core.hooksPath hooks
	git -C lib config user.name x
	git -C lib config user.email x@y
	mkdir lib/hooks
	printf '#!/bin/sh\n' >lib/hooks/post-commit
	chmod +x lib/hooks/post-commit
	within 'for h in pre-commit post-commit; do { printf "#!/bin/sh\ntouch $CANARY\n" >lib/hooks/$h && chmod +x lib/hooks/$h; } 2>/dev/null || :; done'
	git -C lib commit -q --allow-empty -m mine
	[ ! -e "$T/canary" ]
	rm -r lib/hooks
	within 'mkdir -p lib/hooks; printf "#!/bin/sh\ntouch $CANARY\n" >lib/hooks/post-commit; chmod +x lib/hooks/post-commit'
	git -C lib commit -q --allow-empty -m mine
	[ ! -e "$T/canary" ]
}

@test 'a commit that moves a submodule to a commit which is held there is held, and both are told' {
	lib
	within 'cd lib; git checkout -q -B main; mkdir .vscode; echo evil >.vscode/tasks.json; git add .; git commit -qm evil; cd ..
		git add lib; git commit -qm bump'
	has "$(cat "$T/said")" "submodule lib: 1 commit on 'main' is held: it changes files that your host runs: .vscode/tasks.json"
	has "$(cat "$T/said")" 'it moves a submodule to commits that are held'
	same start "$(git log -1 --format=%s)"
	git submodule --quiet update
	[ ! -e lib/.vscode ]
	has "$(ralph diff "import-${WS##*-}")" '# modules/lib: heads/main'
	run ralph apply "import-${WS##*-}"
	same 1 "$status"
	has "$output" 'lib: main: it changes files'
	has "$output" 'main: it moves a submodule to commits that are held'
	same start "$(git log -1 --format=%s)"
	# Ordinary work in it comes through.
	within 'git reset -q --hard HEAD~1; cd lib; git reset -q --hard HEAD~1; echo 1 >f; git add .; git commit -qm good; cd ..; git add lib
		git commit -qm bumped'
	same bumped "$(git log -1 --format=%s)"
	same good "$(git -C lib log -1 --format=%s main)"
}

@test 'what is held in a submodule is taken with the rest by apply --protected, or dropped' {
	local name="import-${WS##*-}"

	lib
	within 'cd lib; git checkout -q -B main; mkdir .vscode; echo tasks >.vscode/tasks.json; git add .; git commit -qm tasks; cd ..
		git add lib; git commit -qm bump'
	run ralph apply --protected "$name"
	same 0 "$status"
	has "$output" 'lib: main: taken'
	same tasks "$(git -C lib log -1 --format=%s main)"
	same bump "$(git log -1 --format=%s)"
	lacks "$(git -C lib for-each-ref)" "refs/ralph/$name/heads"
	within 'cd lib; echo more >.envrc; git add .; git commit -qm more'
	has "$(git -C lib for-each-ref)" "refs/ralph/$name/heads/main"
	ralph apply --drop "$name"
	lacks "$(git -C lib for-each-ref)" "refs/ralph/$name/heads"
	same tasks "$(git -C lib log -1 --format=%s main)"
}

@test 'a git that the agent put on the PATH of the user is not the one that imports and applies' {
	local kind name=path-${WS##*-}

	for kind in split sha256; do
		rm -rf .git
		[ $kind = split ] && git init -q . || git init -q --object-format=sha256 .
		git config user.name user
		git config user.email user@example.org
		echo one >file
		git add file
		git commit -q -m one
		[ $kind = sha256 ] || git update-index --split-index
		mkdir -p bin other
		printf '#!/bin/sh\n: >"%s"\nexec /usr/bin/git "$@"\n' "$T/ran" >bin/git
		chmod +x bin/git
		ln -sf "$WS/bin/git" "$T/git"
		PATH=$T:$WS/bin:bin:.:$PATH ralph run --agent command -d -n "$name-$kind" >/dev/null
		PATH=$T:$WS/bin:bin:.:$PATH ralph exec "$name-$kind" sh -euc 'echo two >file; git commit -qam two; git commit -q --amend -m three'
		git commit -q --allow-empty -m users
		PATH=$WS/bin:bin:.:$PATH ralph exec "$name-$kind" sh -euc 'git commit -q --allow-empty -m four; git reset -q --hard HEAD~2; git commit -q --allow-empty -m five'
		PATH=$T:$WS/bin:bin:.:$PATH ralph diff "$name-$kind" >/dev/null || :
		PATH=$T:$WS/bin:bin:.:$PATH ralph apply --force "$(git symbolic-ref --short HEAD)" "$name-$kind"
		[ ! -e "$T/ran" ] || fail "git of the tree ran: $kind"
		ralph rm -f "$name-$kind"
		rm -f "$T/git"
	done
}
