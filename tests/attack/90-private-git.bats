# runs: root user user:gvisor
# seconds: 60
# The sandbox has a git directory of its own. Each test works in it with real git, and is judged by the bytes of the
# user's: nothing in there changes, whatever the agent does.
# What is in single quotes is for the shell inside; every test has an environment of its own.
# shellcheck disable=SC2016,SC2030,SC2031
load ../cli/helpers
load ../engines/engine

# print [DIR…]: every file of these directories with its content, and every link.
print() {
	find "${@:-.git}" \( -type f -exec sha256sum {} + \) -o \( -type l -printf '%p -> %l\n' \) -o \( -type d -printf '%p/\n' \) | sort
}

# within SCRIPT: in a sandbox of the current directory, which must succeed.
within() {
	ralph run --rm -e GIT_AUTHOR_NAME=a -e GIT_AUTHOR_EMAIL=a@example.invalid -e GIT_COMMITTER_NAME=a \
		-e GIT_COMMITTER_EMAIL=a@example.invalid -- bash -ec "$1" 2>"$T/notices" || fail "$(cat "$T/notices")"
}

# Work as agents do it; then everything that can be broken in a git directory.
WORK='git status --short >"$HOME/was"; [ ! -s "$HOME/was" ] || { cat "$HOME/was"; exit 1; }
	git log -1 --format=%s | grep -qx start; echo agent >>file; git commit -qam agent; git checkout -q -b other; git tag mine
	git stash list; git gc -q; git fsck --no-dangling --no-progress; [ "$(git log --oneline | wc -l)" -ge 2 ]; [ -z "$(git status --short)" ]'
BREAK='d=$(git rev-parse --absolute-git-dir); printf "#!/bin/sh\n" >$d/hooks/pre-commit; git config core.fsmonitor /bin/false
	echo ../elsewhere >$d/commondir; rm -rf $d/refs $d/HEAD $d/objects $d/config $d/index; ln -s /etc $d/objects; echo x >$d/config
	rm -rf .git/* || :; mv .git x 2>/dev/null && exit 1; echo x >/run/ralph/objects/x 2>/dev/null && exit 1; :'

# settings [DIR…]: the same without what an import writes: objects, references with their logs, and the index.
settings() {
	print "$@" | grep -Ev '/(objects|refs|logs|branches)/|/(index|HEAD|packed-refs|ORIG_HEAD|sharedindex.*)$'
}

# untouched WHERE…: of work inside only commits come to these directories, of damage not a byte.
untouched() {
	local before

	before=$(settings "$@")
	within "$WORK"
	same "$before" "$(settings "$@")" || return
	before=$(print "$@")
	within "$BREAK"
	same "$before" "$(print "$@")"
}

@test 'an ordinary repository: git works inside, and of the git directory only commits, branches and the index change' {
	untouched .git
	same 2 "$(git rev-list --count --all)"
	same "" "$(git status --short)"
}

@test 'no user name or key of a URL, no setting that runs something, and no log is inside' {
	git config remote.origin.url https://me:key-of-mine@example.invalid/x
	git config credential.helper '!echo key-of-mine'
	git config http.extraHeader 'Authorization: key-of-mine'
	git config core.sshCommand /bin/false
	within 'git config -l; grep -rs key-of-mine .git /run/ralph/git && exit 1; [ ! -e .git/logs ]' >"$T/said"
	has "$(cat "$T/said")" https://example.invalid/x
	lacks "$(cat "$T/said")" key-of-mine
	lacks "$(cat "$T/said")" core.sshcommand
}

@test 'the hooks of the project run inside, and those of the agent never on the host' {
	printf '#!/bin/sh\necho "hook ran"\n' >.git/hooks/pre-commit
	chmod +x .git/hooks/pre-commit
	within "echo x >>file; git commit -am x; printf '#!/bin/sh\ntouch $T/canary\n' >.git/hooks/pre-commit" >"$T/said" 2>&1
	has "$(cat "$T/said" "$T/notices")" "hook ran"
	git commit -q --allow-empty -m mine
	[ ! -e "$T/canary" ]
}

@test 'a kept sandbox keeps its git directory, and one that the agent emptied is made anew' {
	local name=kept-${WS##*-}

	ralph run -n "$name" -e GIT_AUTHOR_NAME=a -e GIT_AUTHOR_EMAIL=a@b -e GIT_COMMITTER_NAME=a -e GIT_COMMITTER_EMAIL=a@b -- \
		sh -ec 'echo x >>file; git commit -qam inside; git branch kept'
	has "$(ralph run -n "$name" -- git branch)" kept
	git branch -D kept
	ralph run -n "$name" -- sh -c 'rm -rf .git/* .git/.[!.]*; :'
	lacks "$(ralph run -n "$name" -- git branch)" kept
}

@test 'a repository that took the place of another gets a git directory of its own' {
	local name=other-${WS##*-}

	ralph run -n "$name" -- git branch old
	rm -rf .git
	git init -q -b new
	git -c user.name=x -c user.email=x@y commit -q --allow-empty -m new
	same new "$(ralph run -n "$name" -- git log -1 --format=%s 2>"$T/notices")"
	has "$(cat "$T/notices")" git.was
}

@test 'a linked worktree: git works inside, and neither its repository nor its pointer changes' {
	git worktree add -q "$HOME/wt" -b wt
	cd "$HOME/wt"
	untouched "$WS/.git" .git
	within '[ "$(cat .git)" = "gitdir: /run/ralph/git" ]; echo x >.git && exit 1; rm -f .git && exit 1; [ ! -e '"$WS"' ]'
}

@test 'a submodule that is initialised: git works in both, neither changes, and its directory stays where it is' {
	git init -q "$T/lib"
	git -C "$T/lib" -c user.name=x -c user.email=x@y commit -q --allow-empty -m lib
	git -c protocol.file.allow=always submodule --quiet add "$T/lib" libs/one
	git commit -q -m start
	untouched .git libs/one/.git
	within 'cd libs/one; git log -1 --format=%s | grep -qx lib; echo x >x; git add x; git commit -qm inside; git status --short
		cd ../..; git submodule status; git status --short | grep -q libs/one; git commit -qam both
		mv libs x 2>/dev/null && exit 1; mv libs/one x 2>/dev/null && exit 1; echo x >libs/one/.git && exit 1; :'
}

@test 'a submodule that is not initialised: what is made there inside the host does not see' {
	git init -q "$T/lib"
	git -C "$T/lib" -c user.name=x -c user.email=x@y commit -q --allow-empty -m lib
	git -c protocol.file.allow=always submodule --quiet add "$T/lib" libs/one
	git commit -q -m start
	git submodule --quiet deinit -f libs/one
	rm -rf .git/modules
	untouched .git
	within "git init -q libs/one; git -C libs/one config core.fsmonitor 'touch $T/canary'; echo x >libs/one/x; mv libs y 2>/dev/null && exit 1; mv libs/one y 2>/dev/null && exit 1; :"
	[ -z "$(ls -A libs/one)" ]
	git status --short
	[ ! -e "$T/canary" ]
}

# armed_at PLACE: an agent makes a repository at PLACE as far as it can, and lives on until `stop` appears.
armed_at() {
	ralph run --rm -e "AT=$1" -e "CANARY=$T/canary" -- bash -c 'git init -q /tmp/armed; cd /tmp/armed; git config user.name x; git config user.email x@y
		git commit -q --allow-empty -m x; git config core.fsmonitor "touch $CANARY; false"; cd - >/dev/null; mkdir -p "$AT"; rm -rf "$AT/.git"
		cp -r /tmp/armed/.git "$AT/.git" 2>/dev/null || cp -r /tmp/armed/.git/. "$AT/.git"; rm -f "$AT.moved"; mv "$AT" "$AT.moved" 2>/dev/null && mkdir -p "$AT" && cp -r /tmp/armed/.git "$AT/.git"
		touch made; for i in $(seq 600); do [ ! -e stop ] || break; sleep 0.1; done' >"$T/said" 2>&1 3>&- &
	wait_until -t 60 test -e made
}

# not_entered PLACE: git of the user, above that place, does not go into what is made there.
not_entered() {
	local dir

	rm -f made stop
	armed_at "$1"
	for dir in . "$(git rev-parse --show-toplevel)"; do
		(cd "$dir" && git status --short && git add -A --dry-run . && git diff) >"$T/out" 2>&1 || :
	done
	touch stop
	wait
	[ ! -e "$T/canary" ] || fail "$1: it ran"
	git status --short >"$T/out" 2>&1 || :
	[ ! -e "$T/canary" ] || fail "$1: it ran afterwards"
}

@test 'a submodule of the index that has no git directory is no place for one: absent, without .gitmodules, with files, below another' {
	git init -q "$T/inner"
	git -C "$T/inner" -c user.name=x -c user.email=x@y commit -q --allow-empty -m inner
	git init -q "$T/lib"
	(cd "$T/lib" && git config user.name x && git config user.email x@y &&
		git -c protocol.file.allow=always submodule --quiet add "$T/inner" in && git commit -q -m lib)
	git -c protocol.file.allow=always submodule --quiet add "$T/lib" one
	git update-index --add --cacheinfo "160000,$(git -C one rev-parse HEAD),two/unlisted"
	git commit -q -m start
	mkdir -p two/unlisted
	not_entered one/in
	not_entered two/unlisted
	rmdir two/unlisted
	not_entered two/unlisted
	[ ! -e two/unlisted ] || fail 'the place stays'
	git submodule --quiet deinit -f one
	echo left >one/build.log
	not_entered one
	same left "$(cat one/build.log)"
	[ ! -e one/.git ]
	rm -r one
	not_entered one
	[ ! -e one ]
	mkdir -p two/unlisted two/work
	cd two
	not_entered unlisted
	rmdir unlisted
	echo file >unlisted
	ralph run --rm -- true 2>"$T/notices" && fail 'a file in its place'
	has "$(cat "$T/notices")" 'git rm --cached'
}

@test 'the place of a submodule that the user removes, or another sandbox leaves, is covered again' {
	local i one=first-${WS##*-}

	git init -q "$T/lib"
	git -C "$T/lib" -c user.name=x -c user.email=x@y commit -q --allow-empty -m lib
	git -c protocol.file.allow=always submodule --quiet add "$T/lib" lib
	git commit -q -m start
	git submodule --quiet deinit -f lib
	rm -r lib
	ralph run -d --name "$one"
	ralph run --rm -e "CANARY=$T/canary" -- bash -c 'git init -q /tmp/r; cd /tmp/r; git -c user.name=x -c user.email=x@y commit -q --allow-empty -m x
		git config core.fsmonitor "touch $CANARY; false"; cd - >/dev/null; touch made
		until [ -e stop ]; do mkdir -p lib && cp -r /tmp/r/.git lib/ && touch again; sleep 0.05; done 2>/dev/null' >"$T/said" 2>&1 3>&- &
	wait_until -t 60 test -e made
	# What the first one made for itself goes with it; then the user removes it, too.
	ralph rm -f "$one"
	wait_until -t 60 test -d lib
	wait_until -t 60 test ! -e lib/.git
	git status --short
	[ ! -e "$T/canary" ]
	touch stop
	wait
	git status --short
	[ ! -e "$T/canary" ]
	has "$(cat "$T/said")" "lib' was replaced while the sandbox runs"
}

@test 'a linked worktree with a submodule: git works in both' {
	git init -q "$T/lib"
	git -C "$T/lib" -c user.name=x -c user.email=x@y commit -q --allow-empty -m lib
	git -c protocol.file.allow=always submodule --quiet add "$T/lib" one
	git commit -q -m start
	git worktree add -q "$HOME/wt" -b wt
	cd "$HOME/wt"
	git -c protocol.file.allow=always submodule --quiet update --init
	untouched "$WS/.git" .git one/.git
	within 'cd one; git log -1 --format=%s | grep -qx lib; git commit -q --allow-empty -m inside'
}

@test 'a subdirectory: git knows the repository, sees only what is there, and changes nothing outside' {
	local before

	mkdir -p 'pkg [1]/deep' other
	echo a >'pkg [1]/deep/a'
	echo b >other/b
	git add .
	git commit -q -m start
	before=$(settings .git other file)
	cd 'pkg [1]'
	within '[ -z "$(git status --short)" ]; echo x >>deep/a; git commit -qam inside; [ -z "$(git status --short)" ]
		git show --name-only --format= HEAD | grep -c . | grep -qx 1; [ ! -e ../other ]; git log -1 --format=%s | grep -qx inside'
	cd "$WS"
	same "$before" "$(settings .git other file)"
	same inside "$(git log -1 --format=%s)"
	same "" "$(git status --short)"
}

@test 'a subdirectory of a sparse checkout: no file that the user left out appears' {
	mkdir -p pkg/in pkg/out other
	touch pkg/in/a pkg/out/b other/c
	git add .
	git commit -q -m start
	git sparse-checkout set pkg/in
	cd pkg
	within '[ -z "$(git status --short)" ]; echo x >in/a; git commit -qam inside; [ -z "$(git status --short)" ]'
	[ ! -e out ]
}

@test 'a bare repository: git works inside, and nothing of it changes' {
	local before

	git clone -q --bare . "$HOME/bare.git"
	cd "$HOME/bare.git"
	before=$(print .)
	within 'git branch inside; git branch | grep -q inside; git log -1 --format=%s | grep -qx start; echo x >config; rm -rf refs hooks'
	same "$before" "$(print .)"
}

@test 'no repository: one that is made inside is not on the host, and nothing is left there' {
	mkdir "$HOME/none"
	cd "$HOME/none"
	echo x >x
	within "git init -q; git add .; git commit -qm inside; git config core.fsmonitor 'touch $T/canary'; mv .git y 2>/dev/null && exit 1; :"
	same x "$(ls -A)"
	GIT_CEILING_DIRECTORIES=$T git status >/dev/null 2>&1 || :
	[ ! -e "$T/canary" ]
}

@test 'no repository, and the supervisor is killed: the place that ralph made goes with the next start' {
	local name=place-${WS##*-} pid

	mkdir "$HOME/none"
	cd "$HOME/none"
	echo x >x
	ralph run -d -n "$name"
	[ -d .git ]
	pid=$(ralph inspect "$name" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["live"]["supervisor"])')
	kill -9 "$pid"
	ralph run -n "$name" -- git init -q
	same x "$(ls -A)"
}

@test 'shallow: git works inside, with the history that is there' {
	git commit -q --allow-empty -m start
	git clone -q --depth 1 "file://$WS" "$HOME/shallow"
	cd "$HOME/shallow"
	untouched .git
	within 'git rev-parse --is-shallow-repository | grep -qx true'
}

@test 'partial: git works inside with the objects that are there' {
	git config uploadpack.allowFilter true
	git clone -q --filter=blob:none "file://$WS" "$HOME/partial"
	cd "$HOME/partial"
	untouched .git
	within 'git config remote.origin.promisor | grep -qx true'
}

@test 'SHA-256: git works inside' {
	git init -q --object-format=sha256 "$HOME/sha"
	cd "$HOME/sha"
	echo x >file
	git add file
	git -c user.name=x -c user.email=x@y commit -q -m start
	untouched .git
}

@test 'a split index and a sparse one: git works inside, and status is clean' {
	mkdir a b
	touch a/x b/x
	git add .
	git commit -q -m start
	git update-index --split-index
	untouched .git
	same "" "$(git status --short)"
	git checkout -q -f -B again HEAD~1
	git branch -q -D other
	git tag -d mine
	git update-index --no-split-index
	git sparse-checkout set --sparse-index a
	untouched .git
	[ ! -e b ]
}

@test 'LFS: the store of the user is there where git-lfs looks for it, read-only' {
	local oid

	mkdir -p .git/lfs/objects/ab/cd
	echo large >.git/lfs/objects/ab/cd/abcd
	untouched .git
	within 'grep -qx large "$(dirname "$(cat .git/objects/info/alternates)")/lfs/objects/ab/cd/abcd"; touch /run/ralph/lfs/objects/x 2>/dev/null && exit 1; :'
	command -v git-lfs >/dev/null || return 0
	git checkout -q -- .
	git lfs install --local >/dev/null
	git lfs track '*.bin' >/dev/null
	echo large >a.bin
	git add .
	git commit -q -m start
	oid=$(git lfs ls-files -l | cut -d' ' -f1)
	untouched .git
	within "[ -f /run/ralph/lfs/objects/${oid:0:2}/${oid:2:2}/$oid ]; rm a.bin; git checkout -- a.bin; grep -qx large a.bin"
}

@test 'alternates, absolute and relative: their objects are read-only inside, and git works' {
	local way

	for way in absolute relative; do
		git clone -q --shared . "$HOME/$way"
		[ $way = absolute ] || echo "../../../${WS##*/}/.git/objects" >"$HOME/$way/.git/objects/info/alternates"
		cd "$HOME/$way"
		untouched .git "$WS/.git"
		within "touch $WS/.git/objects/x 2>/dev/null && exit 1; [ ! -e $WS/.git/config ]"
		cd "$WS"
	done
}

@test 'reftable: refused before anything starts, with what to do' {
	git config core.repositoryformatversion 1
	git config extensions.refStorage reftable
	must_fail ralph run --rm -- touch ran 2>"$T/said"
	[ ! -e ran ]
	has "$(cat "$T/said")" "git refs migrate"
}

@test 'a git directory that cannot be copied: said with the reason, no command runs, and the next start works' {
	mv .git/index "$T/index"
	mkdir .git/index
	must_fail ralph run --rm -- touch ran 2>"$T/said"
	[ ! -e ran ]
	has "$(cat "$T/said")" "index' is not a file"
	rmdir .git/index
	mv "$T/index" .git/index
	within '[ -z "$(git status --short)" ]'
}

@test 'an index as young as its files: the first commit writes only what changed' {
	local i

	for i in $(seq 200); do
		echo "$i" >"f$i"
	done
	git add .
	git commit -q -m start
	touch -d '1 minute ago' f*
	git update-index -q --refresh
	touch -r f1 .git/index
	within 'echo x >>file; git commit -qam inside; find .git/objects -type f | wc -l' >"$T/count"
	[ "$(cat "$T/count")" -le 10 ] || fail "$(cat "$T/count") objects"
}

# The agent writes to .git all the time; the user puts another repository there.
replace() {
	local name=replaced-${WS##*-} marker=written-inside

	ralph run -d -n "$name"
	ralph exec "$name" sh -c "while [ ! -e stop ]; do $2; touch started; done 2>/dev/null" &
	wait_until -t 60 test -e started
	eval "$1"
	# One that came while the agent could write it is in quarantine, and the user makes another.
	git init -q || :
	wait_until -t 60 grep -q protect-again "$XDG_STATE_HOME/ralph/sandboxes/$name/events.jsonl"
	git init -q
	for i in 1 2 3; do
		rm -f started
		wait_until -t 60 test -e started
	done
	grep -rs $marker .git && fail "the agent wrote the user's git directory"
	ralph exec "$name" sh -c "echo $marker >.git/config; [ -e .git/config ]"
	lacks "$(cat .git/config)" $marker
	touch stop
	wait
	ralph stop "$name"
	grep -rs $marker .git && fail "the agent wrote the user's git directory"
	git status --short
}

@test 'the user moves .git away and makes another: the agent never writes the new one' {
	replace 'mv .git x' 'echo "# written-inside" >>.git/config'
	grep -rs written-inside x && fail "the agent wrote the old git directory"
	:
}

@test 'the user removes .git and makes another: the agent never writes the new one' {
	replace 'rm -rf .git' 'echo "# written-inside" >>.git/config'
}

@test 'the user moves .git away, and the agent makes one faster: the user does not get it' {
	replace 'mv .git x' 'mkdir .git; echo "# written-inside" >>.git/config'
}

# A user namespace has a limit of its own, so that others have their watches meanwhile.
@test 'without a watch on the workspace nothing starts' {
	unshare -r sh -c 'echo 0 >/proc/sys/user/max_inotify_instances; exec "$@"' sh "$RALPH" run --rm -- touch ran 2>"$T/said" && fail "it started"
	[ ! -e ran ]
	has "$(cat "$T/said")" "cannot watch"
}
