# runs: user
# The work that agents do, with the real programs, in a repository and in a linked worktree of it.
# What is in single quotes is for the shell inside; every test has an environment of its own.
# shellcheck disable=SC2016,SC2030,SC2031
load helpers

# work SCRIPT: the script runs in the sandbox of the current directory and succeeds; nothing that ordinary
# work leaves behind is a finding.
work() {
	"$RALPH" run "${RUN[@]}" -- bash -euc "$1" 2>"$T/stderr" || fail "$(cat "$T/stderr")" || return
	lacks "$(cat "$T/stderr")" "is new or changed"
	lacks "$(cat "$T/stderr")" quarantine
}

RUN=(--rm)

# in_both FUNCTION: once in the repository, once in a worktree of it.
in_both() {
	cd "$WS" || return
	"$1" || fail "in the repository" || return
	git -C "$WS" worktree add -q "$HOME/tree" -b "tree-$1"
	cd "$HOME/tree" || return
	"$1" || fail "in a worktree"
}

everyday_git() {
	work '
		branch=$(git symbolic-ref --short HEAD)
		echo one >>file; git add .; git commit -qm one
		git checkout -qb side; echo two >two; git add two; git commit -qm two
		git checkout -q "$branch"; echo three >three; git add .; git commit -qm three
		git rebase -q "$branch" side; git checkout -q "$branch"; git merge -q side
		git tag -a -m t t1; git stash list; echo x >>two; git stash -q; git stash pop -q; git checkout -q two
		git branch -q old; git branch -qD old 2>/dev/null
		git cherry-pick --allow-empty side >/dev/null 2>&1 || git cherry-pick --skip
		git commit -q --amend -m amended; git revert --no-edit HEAD >/dev/null
		git gc -q; git fsck --no-progress; git tag -d t1; git branch -D side 2>/dev/null'
	same "" "$(git status --porcelain)"
	has "$(git log --format=%s)" amended
}

# bats test_tags=root
@test 'commit, branch, rebase, merge, stash, tag, amend, gc, as on the host' {
	in_both everyday_git
}

interactive_rebase() {
	work 'for i in 1 2 3; do echo $i >r$i; git add .; git commit -qm r$i; done
		GIT_SEQUENCE_EDITOR="sed -i 2s/pick/squash/" GIT_EDITOR=true git rebase -qi HEAD~3; git log --oneline | head -2'
	[ ! -e "$(git rev-parse --git-dir)/rebase-merge" ]
}

@test 'an interactive rebase that squashes' {
	in_both interactive_rebase
}

# A worktree that is made inside is the sandbox's own; its branch comes out.
worktrees() {
	local branch=one-$RANDOM

	RUN=(-n trees)
	work 'git worktree add -q .trees/one -b '$branch'; cd .trees/one; echo w >w; git add .; git commit -qm w; git status --porcelain
		cd ../..; git worktree list | grep -q trees/one; git worktree add -q .trees/two; git worktree remove .trees/two'
	same w "$(git log --format=%s -1 $branch)"
	[ ! -e .trees/one/.git ] || fail "a pointer of the agent's is on the host" || return
	# The next run finds that worktree and works in it too.
	work 'cd .trees/one; echo more >more; git add .; git commit -qm more'
	same more "$(git log --format=%s -1 $branch)"
	RUN=(--rm)
	ralph rm trees
}

@test 'worktree add and remove, and work in a worktree of an earlier run' {
	in_both worktrees
}

# A submodule that is initialised inside is there alone; its commits come out, for the user's own `submodule update`.
submodules() {
	work 'git -c protocol.file.allow=always submodule update -q --init --recursive
		cat libs/one/one; cd libs/one; git checkout -qb work; echo more >more; git add .; git -c user.name=x -c user.email=x commit -qm more
		cd ../..; git add libs/one; git commit -qm "take more"; git submodule status'
	same "take more" "$(git log -1 --format=%s)"
	git submodule --quiet update --init
	same more "$(git -C libs/one log -1 --format=%s)"
	work 'cd libs/one; git checkout -q work; echo again >again; git add .; git -c user.name=x -c user.email=x commit -qm again; git -C ../.. submodule foreach -q true'
	same again "$(git -C libs/one log -1 --format=%s work)"
}

@test 'submodule update --init, commits in the submodule, and again in the next sandbox' {
	# Where the sandbox can read it as well.
	git init -q -b main "$WS/.upstream"
	echo one >"$WS/.upstream/one"
	git -C "$WS/.upstream" add .
	git -C "$WS/.upstream" -c user.name=x -c user.email=x commit -q -m one
	echo .upstream >>.git/info/exclude
	git -c protocol.file.allow=always submodule --quiet add "$WS/.upstream" libs/one
	git commit -q -m "a submodule"
	git submodule --quiet deinit -f libs/one
	rm -rf .git/modules
	git config --remove-section submodule.libs/one || :
	submodules
}

@test 'add . takes everything, with secrets and special files about' {
	echo KEY=x >.env
	echo KEY=x >tracked.pem
	git add -f tracked.pem
	git commit -q -m "a key that everybody may see"
	work 'cat tracked.pem; ! cat .env 2>/dev/null; mkfifo pipe; echo x >new; git add .; git commit -qm all; git status --porcelain'
	has "$(git show --stat --format= HEAD)" new
	same KEY=x "$(cat .env)"
	same "" "$(git ls-files .env)"
}

npm_project() {
	mkdir -p dep
	echo '{"name": "dep", "version": "1.0.0", "main": "i.js", "bin": {"dep": "i.js"}}' >dep/package.json
	printf '#!/usr/bin/env node\nmodule.exports = 42; if (require.main === module) console.log("ran");\n' >dep/i.js
	chmod +x dep/i.js
	echo '{"name": "app", "version": "1.0.0", "dependencies": {"dep": "file:dep"}, "scripts": {"test": "dep && node t.js"}}' >package.json
	echo 'console.log(require("dep"))' >t.js
	work 'npm install --offline --no-audit --no-fund >/dev/null; npm test --silent' >"$T/out"
	has "$(cat "$T/out")" ran
	has "$(cat "$T/out")" 42
	[ -f package-lock.json ]
	git add -A
	git commit -q --allow-empty -m npm
}

@test 'npm install of a package with programs, and npm test' {
	need npm node
	in_both npm_project
}

pip_project() {
	mkdir -p lib/thing
	echo 'value = 42' >lib/thing/__init__.py
	printf 'from setuptools import setup\nsetup(name="thing", version="1.0", packages=["thing"], entry_points={"console_scripts": ["thing=thing:value.__str__"]})\n' >lib/setup.py
	work 'python3 -m pip install --user --no-index --no-build-isolation --no-deps --break-system-packages --disable-pip-version-check -q ./lib || python3 -m pip install --user --no-index --no-build-isolation --no-deps --disable-pip-version-check -q ./lib
		cd /tmp; python3 -c "import thing; print(thing.value, thing.__file__)"' >"$T/out"
	has "$(cat "$T/out")" "42 $HOME/.local/"
	rm -rf lib
	[ ! -e "$HOME/.local/lib" ]
}

@test 'pip install --user of a source tree, into the home of the sandbox' {
	need pip3
	in_both pip_project
}

cargo_project() {
	mkdir -p src
	printf '[package]\nname = "small"\nversion = "0.1.0"\nedition = "2021"\n' >Cargo.toml
	printf 'fn add(a: i32, b: i32) -> i32 { a + b }\nfn main() { println!("{}", add(40, 2)); }\n#[test]\nfn adds() { assert_eq!(add(1, 1), 2); }\n' >src/main.rs
	echo target >.gitignore
	work 'cargo build -q --offline; ./target/debug/small; cargo test -q --offline >/dev/null; git add .; git commit -qm cargo' >"$T/out"
	has "$(cat "$T/out")" 42
	has "$(git ls-files)" Cargo.lock
}

@test 'cargo build and test of a project without dependencies' {
	need cargo rustc cc
	in_both cargo_project
}

# bats test_tags=root
@test 'a push to a remote, and a clone of it, inside' {
	git init -q --bare -b main "$WS/.remote.git"
	echo .remote.git >>.git/info/exclude
	git remote add origin "$WS/.remote.git"
	work 'git push -q -u origin HEAD:main 2>/dev/null; git fetch -q; git clone -q .remote.git /tmp/c; cd /tmp/c; git log --oneline
		git checkout -q -b x --track origin/main; git config user.name x; git config user.email x; git commit -q --allow-empty -m x; git push -q origin x'
	has "$(git -C "$WS/.remote.git" branch --format='%(refname:short)')" x
}

@test 'nothing of ralph is left in the workspace' {
	local before

	before=$(find . | sort)
	work 'git status --porcelain; true'
	same "$before" "$(find . | sort)"
	rm -rf .git/hooks .git/info
	before=$(find . | sort)
	work 'git status --porcelain; true'
	same "$before" "$(find . | sort)"
}
