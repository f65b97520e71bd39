# runs: root user
# seconds: 40
# What an agent's references and submodules may become in the user's repository.
# What is in single quotes is for the shell inside; every test has an environment of its own.
# shellcheck disable=SC2016,SC2030,SC2031
load ../cli/helpers

setup() {
	ralph_setup || return
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
	within 'git update-ref refs/heads/mine HEAD; git update-ref refs/tags/new HEAD
		for t in main other HEAD stash heads/main; do git update-ref "refs/tags/$t" HEAD; done
		for b in origin/main v1 FETCH_HEAD refs/heads/main "$(git rev-parse --short HEAD)"; do git update-ref "refs/heads/$b" HEAD; done'
	for name in refs/tags/main refs/tags/other refs/tags/HEAD refs/tags/heads/main refs/heads/origin/main refs/heads/v1 refs/heads/FETCH_HEAD \
		refs/heads/refs/heads/main; do
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
