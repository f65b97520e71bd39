# runs: root user
# seconds: 60
# Git directories that an agent leaves in the tree: each goes whole, nobody judges it, and no number, size, mode or spelling keeps it
# there. Judged by a canary that only the host can make, and by bytes outside.
# What is in single quotes is for the shell inside.
# shellcheck disable=SC2016
load attack

# attack SCRIPT: runs it in the sandbox, in the workspace. Its own failure is no news.
attack() {
	"$RALPH" run --rm -e "EVIL=touch $T/canary" -- bash -c "$1" >"$T/said" 2>"$T/notices" || :
}

# victim DIR…: a person works with git there.
victim() {
	local dir args

	printf '[user]\n\tname = v\n\temail = v@example.invalid\n' >"$T/gitconfig"
	for dir; do
		[ -d "$dir" ] || continue
		for args in status diff 'add -A' 'commit -m victim' 'log -1 -p' stash; do
			# shellcheck disable=SC2086 # words
			(cd "$dir" && GIT_CONFIG_GLOBAL=$T/gitconfig GIT_CONFIG_NOSYSTEM=1 timeout 60 git $args) </dev/null >>"$T/victim" 2>&1 || :
		done
	done
}

unharmed() {
	[ ! -e "$T/canary" ] || fail "it ran on the host; notices: $(tail -n 5 "$T/notices")"
}

# Nothing that git takes for a git directory is left but the workspace's own.
clean() {
	same "" "$(find "$WS" -mindepth 2 -iname .git)"
	same "" "$(find "$WS" -name HEAD -not -path "$WS/.git/*" -printf '%h\n' | while read -r dir; do [ ! -e "$dir/objects" ] && [ ! -e "$dir/commondir" ] || echo "$dir"; done)"
}

# sum PATH…: everything that a restore must give back.
sum() {
	tar --sort=name --numeric-owner -cf - "$@" | sha256sum
}

# nested NAME: the id of what was put away from there.
nested() {
	ralph adopt --json | python3 -c 'import json, sys
print(*[row["id"] for row in json.load(sys.stdin) if row["path"] == sys.argv[1]])' "$WS/$1"
}

@test 'every kind and spelling of a git directory that appears is moved away and named' {
	attack 'git init -q one; git init -q Two; mv Two/.git Two/.GiT; mkdir three four five; echo "gitdir: ../one/.git" >three/.git; ln -s ../one/.git four/.git
		git init -q --bare five.git; mkdir -p six; cp .git/HEAD six/; echo ../.git >six/commondir; mkdir -p seven/objects; cp .git/HEAD seven/
		echo plain >five/HEAD'
	clean
	for path in one/.git Two/.GiT three/.git four/.git five.git six seven; do
		[ -n "$(nested "$path")" ] || fail "$path is not listed: $(ralph adopt)"
		has "$(cat "$T/notices")" "$path"
	done
	same plain "$(cat five/HEAD)"
	has "$(cat "$T/notices")" '7 git directories'
	has "$(ralph status)" "$WS/one/.git; see: ralph adopt"
	has "$(ralph status --json)" "$WS/five.git"
}

@test 'pointers with newlines, and loops, lead git nowhere' {
	attack 'evil() { git init -q --bare "$1"; git -C "$1" config core.bare false; git -C "$1" config core.fsmonitor "$EVIL"; }
		mkdir a b c d e; evil .git/x; printf "gitdir: ../.git/x\n\n\n" >a/.git; evil $'"'"'.git/y\nz'"'"'; printf "gitdir: ../.git/y\nz\n" >b/.git
		evil $'"'"'.git/u\rv'"'"'; printf "gitdir: ../.git/u\rv\r\n\n" >c/.git; cp .git/HEAD d/; echo . >d/commondir; cp .git/HEAD e/; echo ../d >e/commondir'
	clean
	same "" "$(find .git -mindepth 1 -name config -path "*/*/*")"
	victim "$WS/a" "$WS/b" "$WS/c" "$WS/d" "$WS/e"
	unharmed
}

@test 'two hundred thousand files before a link do not keep it there' {
	echo mine >"$T/outside"
	attack 'git init -q deep; cd deep; git -c user.name=x -c user.email=x commit -q --allow-empty -m x; echo new >x; python3 -c "
import os
os.makedirs(\".git/refs/a\")
for i in range(200100):
    os.mknod(f\".git/refs/a/{i:06}\")
"; mkdir -p .git/refs/z; rm .git/logs/HEAD; ln -s "'"$T"'/outside" .git/logs/HEAD; ln -s "'"$T"'/outside" .git/refs/z/last'
	clean
	victim "$WS/deep"
	same mine "$(cat "$T/outside")"
	unharmed
}

@test 'a directory of the user that the agent makes a git directory of keeps all files but HEAD' {
	mkdir -p src/deep
	echo mine >src/main.c
	attack 'cd src; cp -r ../.git/objects ../.git/refs .; cp ../.git/HEAD .; printf "[core]\n\tfsmonitor = $EVIL\n\tbare = false\n\tworktree = .\n" >config'
	same mine "$(cat src/main.c)"
	clean
	victim "$WS/src" "$WS/src/deep"
	unharmed
}

@test 'the top of a workspace without a repository does not become one' {
	rm -rf .git
	attack 'git init -q --bare x.git; cp -r x.git/. .; git config -f config core.fsmonitor "$EVIL"; git config -f config core.bare false; git config -f config core.worktree .; rm -r x.git'
	clean
	[ ! -e HEAD ]
	victim "$WS"
	unharmed
}

@test 'an armed repository that becomes a gitlink of the user runs nothing afterwards' {
	attack 'git init -q sub; cd sub; echo x >x; git add x; git -c user.name=x -c user.email=x commit -q -m x; git config core.fsmonitor "$EVIL"; printf "#!/bin/sh\n$EVIL\n" >.git/hooks/post-index-change; chmod +x .git/hooks/post-index-change'
	victim "$WS" "$WS/sub"
	unharmed
	has "$(git ls-files -s sub)" '100644'
}

@test 'what the user cloned or added as a worktree meanwhile is named and comes back byte for byte' {
	local name=own-${WS##*-} before

	git commit -q --allow-empty -m first
	ralph run -d -n "$name"
	git clone -q . clone
	git worktree add -q tree
	printf '#!/bin/sh\nexit 0\n' >clone/.git/hooks/pre-push
	chmod 751 clone/.git/hooks/pre-push
	ln -s nowhere clone/.git/link
	chmod 555 clone/.git/hooks
	before=$(sum clone/.git tree/.git .git/worktrees)
	ralph stop "$name" 2>"$T/notices"
	has "$(cat "$T/notices")" '2 git directories that appeared were put away'
	has "$(cat "$T/notices")" clone/.git
	has "$(cat "$T/notices")" tree/.git
	[ ! -e clone/.git ]
	ralph rm "$name" 2>"$T/notices" || fail "$(cat "$T/notices")"
	has "$(cat "$T/notices")" '2 git directories'
	ralph adopt --mine clone
	ralph adopt --mine "$WS/tree/.git"
	same "$before" "$(sum clone/.git tree/.git .git/worktrees)"
	git -C clone status
	git -C tree status
	same '[]' "$(ralph adopt --json)"
	# They are the user's from now on.
	ralph run --rm -- true
	[ -e clone/.git ]
	[ -e tree/.git ]
	chmod 755 clone/.git/hooks
}

@test 'after SIGKILL the next start moves them away, and the agent goes on with them' {
	local name=killed-${WS##*-} pid

	ralph run -d -n "$name"
	ralph exec -e "EVIL=touch $T/canary" "$name" sh -c 'git init -q sub; cd sub; git config core.fsmonitor "$EVIL"; git -c user.name=x -c user.email=x -c core.fsmonitor= commit -q --allow-empty -m theirs'
	pid=$(ralph inspect "$name" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["live"]["supervisor"])')
	kill -9 "$pid"
	has "$(ralph run -n "$name" -- git -c core.fsmonitor= -C sub log --oneline 2>"$T/notices")" theirs
	has "$(cat "$T/notices")" sub/.git
	clean
	# Killed while it was mounted: the empty place goes too.
	ralph run -d -n "$name"
	pid=$(ralph inspect "$name" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["live"]["supervisor"])')
	[ -d sub/.git ]
	same "" "$(ls -A sub/.git)"
	kill -9 "$pid"
	ralph rm -f "$name"
	clean
	[ -n "$(nested sub/.git)" ]
	victim "$WS/sub"
	unharmed
}

@test 'the agent works on in what was put away, and the host sees nothing of it' {
	attack 'git init -q sub; cd sub; echo 1 >f; git add f; git -c user.name=x -c user.email=x commit -q -m one; cd ..; mkdir wt; echo "gitdir: ../sub/.git" >wt/.git; git init -q --bare store.git'
	attack 'cd sub; git log --oneline; git status -s; echo 2 >g; git add g; git -c user.name=x -c user.email=x commit -q -m two; git -C ../wt log --oneline; git push -q ../store.git HEAD:refs/heads/main; git -C ../store.git log --oneline main; rm -rf ../wt/.git'
	same 3 "$(grep -c ' one$' "$T/said")"
	has "$(cat "$T/said")" ' two'
	clean
	attack 'git -C sub log --oneline; rm -rf sub'
	has "$(cat "$T/said")" ' two'
	clean
	# What the agent emptied is gone.
	same "" "$(nested sub/.git)"
	[ -n "$(nested store.git)" ]
}

@test 'git directories of before stay, and one that nothing protects goes when it is changed' {
	git init -q mine
	git init -q vendor/kept
	git init -q vendor/changed
	git init -q --bare mine.git
	attack 'printf "[core]\n\tfsmonitor = $EVIL\n" >>vendor/changed/.git/config; printf "[core]\n\tfsmonitor = $EVIL\n" >>mine/.git/config
		printf "[core]\n\tfsmonitor = $EVIL\n\tbare = false\n" >>mine.git/config; rm -rf mine/.git mine.git'
	[ -d mine/.git ]
	[ -d mine.git ]
	[ -d vendor/kept/.git ]
	[ ! -e vendor/changed/.git ]
	victim "$WS/mine" "$WS/mine.git" "$WS/vendor/kept" "$WS/vendor/changed"
	unharmed
}

@test 'names with control characters are moved, escaped and adopted by their id' {
	attack 'd=$(printf "a\033]0;x\007 \302\233b"); git init -q "$d"; git init -q "$d/n
l"'
	clean
	lacks "$(cat "$T/notices")" $'\033'
	lacks "$(cat "$T/notices")" $'\302\233'
	has "$(cat "$T/notices")" '2 git directories'
	same 2 "$(ralph adopt | grep -c 'agent-loop')"
	lacks "$(ralph adopt; ralph status)" $'\033'
	for id in $(ralph adopt --json | python3 -c 'import json, sys; print(*[row["id"] for row in json.load(sys.stdin)])'); do
		ralph adopt --mine "$id" >"$T/out"
		lacks "$(cat "$T/out")" $'\033'
	done
	same 2 "$(find . -mindepth 2 -name .git | tr -d '\n' | grep -o '/\.git' | wc -l)"
}

@test 'adopting takes commits and nothing that runs' {
	attack 'git init -q -b main sub; cd sub; printf "#!/bin/sh\n$EVIL\n" >.git/hooks/post-checkout; chmod +x .git/hooks/post-checkout; cp .git/hooks/post-checkout .git/hooks/pre-commit
		echo "* filter=f" >.gitattributes; echo x >x; git add .; git -c core.hooksPath=/dev/null -c user.name=x -c user.email=x commit -q -m theirs
		git config core.fsmonitor "$EVIL"; git config filter.f.clean "$EVIL"; git config alias.st "!$EVIL"; git config core.pager "$EVIL"; git config core.hooksPath ../sub/.git/hooks
		git config remote.a.url "ext::sh -c $EVIL"; git config remote.b.url https://u:p@example.invalid/x; git config remote.b.fetch "+refs/*:refs/*"; git config remote.b.uploadpack "$EVIL"; git config url.x.insteadOf https://
		git config include.path ../../evil; git config branch.main.remote b; git config branch.main.merge refs/heads/main; git config remote.--upload-pack=x.url https://example.invalid/y'
	ralph adopt sub
	has "$(git -C sub log --oneline main)" theirs
	same "" "$(git -C sub status --porcelain)"
	same b "$(git -C sub config branch.main.remote)"
	same https://example.invalid/x "$(git -C sub config remote.b.url)"
	same "+refs/heads/*:refs/remotes/b/*" "$(git -C sub config remote.b.fetch)"
	for word in fsmonitor filter alias pager hookspath ext:: upload insteadof include; do
		lacks "$(git -C sub config --local -l)" "$word"
	done
	victim "$WS/sub"
	unharmed
}

@test 'adopting follows no link that the agent left in the way' {
	mkdir "$T/outside"
	attack 'git init -q sub; cd sub; git -c user.name=x -c user.email=x commit -q --allow-empty -m x'
	attack 'rm -rf sub/* ; mv sub other; ln -s "'"$T"'/outside" sub'
	must_exit 1 ralph adopt sub
	must_exit 1 ralph adopt --mine sub
	same "" "$(ls -A "$T/outside")"
}

@test 'on another file system they are copied as they are, or disarmed where they are' {
	local before

	other_disk
	attack 'cd disk; git init -q big; { printf "#!/bin/sh\n$EVIL\nexit\n"; head -c 70000000 /dev/zero; } >big/.git/hooks/pre-commit; chmod 755 big/.git/hooks/pre-commit; git -C big config core.fsmonitor "$EVIL"; ln -s /etc/passwd big/.git/link
		git init -q many; mkdir many/.git/x; python3 -c "
import os
for i in range(101000):
    os.mknod(f\"many/.git/x/{i}\")
"; sha256sum big/.git/hooks/pre-commit'
	[ ! -e disk/big/.git ]
	[ ! -e disk/many/.git ]
	victim "$WS/disk/big" "$WS/disk/many"
	unharmed
	before=$(grep -o '^[0-9a-f]*' "$T/said")
	ralph adopt --mine disk/big
	same "$before" "$(sha256sum <disk/big/.git/hooks/pre-commit | grep -o '^[0-9a-f]*')"
	same 755 "$(stat -c %a disk/big/.git/hooks/pre-commit)"
	same /etc/passwd "$(readlink disk/big/.git/link)"
	ralph adopt --mine disk/many
	[ -d disk/many/.git/x ]
	leave_disk
}

@test 'with quarantine off they stay, and are named' {
	"$RALPH" run --rm --quarantine none -- git init -q sub 2>"$T/notices"
	[ -d sub/.git ]
	has "$(cat "$T/notices")" "$WS/sub/.git' is new or changed"
}

@test 'a directory that the agent closed to writing keeps no sandbox from starting, and what was in it stays put away' {
	attack 'mkdir doc; git init -q doc; chmod 555 doc'
	[ -n "$(nested doc/.git)" ]
	clean
	same started "$("$RALPH" run --rm -- echo started 2>"$T/notices")"
	[ -n "$(nested doc/.git)" ]
	chmod 755 doc
	has "$("$RALPH" run --rm -- git -C doc rev-parse --git-dir)" .git
}
