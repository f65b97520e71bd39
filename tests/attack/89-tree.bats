# runs: root user
# seconds: 60
# Looks at the workspace that are made too long, too deep or impossible for the host: whatever was not looked at is protected,
# moved away or said, never passed over. Each attack is judged by a canary that only the host can make.
# What is in single quotes is for the shell inside.
# shellcheck disable=SC2016
load attack

# attack [OPTION… --] SCRIPT: runs it in the sandbox, in the workspace. Its own failure is no news.
attack() {
	local options=()

	while [ $# -gt 1 ]; do
		[ "$1" = -- ] || options+=("$1")
		shift
	done
	"$RALPH" run --rm -e "EVIL=touch $T/canary" "${options[@]}" -- bash -c "$1" >"$T/said" 2>"$T/notices" || :
}

# victim DIR: a person works with git there.
victim() {
	local args

	printf '[user]\n\tname = v\n\temail = v@example.invalid\n' >"$T/gitconfig"
	for args in status 'diff' 'add -A .' 'commit -m victim' 'stash'; do
		# shellcheck disable=SC2086 # words
		GIT_CONFIG_GLOBAL=$T/gitconfig GIT_CONFIG_NOSYSTEM=1 timeout 60 git -C "$1" $args </dev/null >>"$T/victim" 2>&1 || :
	done
}

unharmed() {
	[ ! -e "$T/canary" ] || fail "it ran on the host; notices: $(tail -n 5 "$T/notices")"
}

# spread DIR N: so many empty files in it.
spread() {
	python3 -c 'import os, sys
top, n = sys.argv[1], int(sys.argv[2])
os.makedirs(top, exist_ok=True)
for i in range(n):
    open(f"{top}/a{i:06}", "w").close()' "$1" "$2"
}

@test 'twelve thousand names beside it do not push the git directory or a secret out of protection' {
	cp .git/config "$T/git-config"
	spread "$WS" 12000
	echo SECRET >.env
	echo mine >.mcp.json
	mkdir sub
	spread sub 12000
	echo SECRET >sub/zz.pem
	attack 'cat .env sub/zz.pem; echo theirs >.mcp.json; git config core.fsmonitor "$EVIL"; mv .git x; printf "[core]\n\tfsmonitor = $EVIL\n" >>.git/config'
	lacks "$(cat "$T/said")" SECRET
	same mine "$(cat .mcp.json)"
	cmp .git/config "$T/git-config"
	victim "$WS"
	unharmed
}

@test 'secrets behind two hundred directories, five levels and two hundred other secrets are not readable' {
	local i

	for i in {1..260}; do
		mkdir -p "a$i"
		echo OTHER >"a$i/.env"
	done
	mkdir -p z/1/2/3/4/5/6/7/8 z/closed
	echo SECRET >z/1/2/3/4/5/6/7/8/.env
	echo SECRET >z/.env
	echo SECRET >z/closed/.env
	chmod 000 z/closed
	attack 'chmod 700 z/closed; find . -name ".env*" -exec cat {} + | sort -u'
	lacks "$(cat "$T/said")" SECRET
	lacks "$(cat "$T/said")" OTHER
	same 0 "$(($(stat -c %a z/closed) % 1000))"
	chmod 700 z/closed
	same SECRET "$(cat z/closed/.env)"
}

@test 'with more secrets than can be hidden nothing starts, and it is said' {
	python3 -c 'import os
for i in range(3100):
    open(f".env.{i}", "w").close()'
	must_exit 2 ralph run --rm -- touch ran 2>"$T/err"
	has "$(cat "$T/err")" 'more than 3000 files'
	[ ! -e ran ]
	ralph run --rm --mask '!.env*' -- touch ran
}

@test 'six hundred hooks and a thousand armed repositories are all disarmed' {
	attack 'python3 -c "
import os, shutil, subprocess
evil = os.environ[\"EVIL\"]
subprocess.run([\"git\", \"init\", \"-q\", \"hooks\"])
for i in range(600):
    with open(f\"hooks/.git/hooks/x{i}\", \"w\") as f:
        f.write(f\"#!/bin/sh\n{evil}\n\")
    os.chmod(f\"hooks/.git/hooks/x{i}\", 0o755)
for name in (\"post-checkout\", \"pre-commit\", \"post-index-change\", \"reference-transaction\"):
    shutil.copy(\"hooks/.git/hooks/x1\", f\"hooks/.git/hooks/{name}\")
subprocess.run([\"git\", \"init\", \"-q\", \"--template=\", \"r0\"])
with open(\"r0/.git/config\", \"a\") as f:
    f.write(f\"[core]\n\tfsmonitor = {evil}\n\")
for i in range(1, 1000):
    shutil.copytree(\"r0\", f\"r{i}\")
"'
	victim "$WS/hooks"
	for i in 0 250 257 300 511 512 513 999; do
		victim "$WS/r$i"
	done
	unharmed
	[ -d r999 ]
	same "" "$(find . -mindepth 2 -name .git)"
	has "$(cat "$T/notices")" '1001 git directories'
	same 1001 "$(ralph adopt --json | grep -c '"id"')"
}

@test 'a thousand other findings do not keep an armed repository from being moved' {
	attack --quarantine git -- 'git init -q y; git -C y config core.fsmonitor "$EVIL"; python3 -c "
import os
for i in range(5000):
    os.mkdir(f\"a{i}\")
    open(f\"a{i}/.envrc\", \"w\").close()
"; git init -q z; git -C z config core.fsmonitor "$EVIL"'
	victim "$WS/y"
	victim "$WS/z"
	unharmed
}

@test 'what lies two hundred levels deep is found, and what lies deeper goes as a whole' {
	attack 'python3 -c "
import os, subprocess
def deep(top, n):
    os.mkdir(top); os.chdir(top)
    for i in range(n):
        os.mkdir(\"d\"); os.chdir(\"d\")
    subprocess.run([\"git\", \"init\", \"-q\", \".\"])
    with open(\".git/config\", \"a\") as f:
        f.write(\"[core]\n\tfsmonitor = \" + os.environ[\"EVIL\"] + \"\n\")
here = os.getcwd()
deep(\"two\", 200); os.chdir(here); deep(\"five\", 500)
"'
	victim "$WS/two$(printf '/d%.0s' {1..200})"
	[ ! -e "$WS/five$(printf '/d%.0s' {1..500})" ]
	victim "$WS/five$(printf '/d%.0s' {1..500})"
	unharmed
	has "$(cat "$T/notices")" 'too deep'
}

@test 'a directory that is too deep at the start keeps a sandbox from starting' {
	python3 -c 'import os
for i in range(450):
    os.mkdir("d"); os.chdir("d")'
	must_exit 2 ralph run --rm -- true 2>"$T/err"
	has "$(cat "$T/err")" 'too deep'
}

@test 'unreadable and unwritable directories at each level hide nothing and keep nothing in place' {
	attack 'arm() { git init -q "$1"; git -C "$1" config core.fsmonitor "$EVIL"; printf "#!/bin/sh\n$EVIL\n" >"$1/.git/hooks/pre-commit"; chmod +x "$1/.git/hooks/pre-commit"; }
		arm a/b/c; chmod 000 a/b
		arm d; chmod 000 d/.git
		arm e; chmod 555 e/.git/hooks e/.git e
		arm f; chmod 000 f/.git/config; chmod 111 f/.git/hooks
		arm g/h; chmod 333 g
		mkdir i; echo "$EVIL" >i/.envrc; chmod 555 i'
	chmod -R u+rwX a d e f g i "$XDG_STATE_HOME/ralph/nested" 2>/dev/null || :
	same "" "$(find . -mindepth 2 -iname .git)"
	for dir in a/b/c d e f g/h; do
		victim "$WS/$dir"
	done
	unharmed
}

@test 'a directory of the user that is closed keeps its mode' {
	mkdir -p mine/deep readonly
	chmod 000 mine/deep
	chmod 555 readonly
	attack 'true'
	same 0 "$(stat -c %a mine/deep)"
	same 555 "$(stat -c %a readonly)"
}

@test 'a hook of 70 MB and a tree of many files are disarmed where the workspace is on another file system' {
	other_disk
	attack 'cd disk; git init -q big; { printf "#!/bin/sh\n$EVIL\nexit\n"; head -c 70000000 /dev/zero; } >big/.git/hooks/pre-commit; chmod +x big/.git/hooks/pre-commit
		git init -q many; python3 -c "
import os
os.makedirs(\"many/.git/hooks/x\")
for i in range(11000):
    open(f\"many/.git/hooks/x/{i}\", \"w\").close()
"; printf "#!/bin/sh\n$EVIL\n" >many/.git/hooks/pre-commit; chmod +x many/.git/hooks/pre-commit
		git -C big config core.fsmonitor "$EVIL"; git -C many config core.fsmonitor "$EVIL"'
	victim "$WS/disk/big"
	victim "$WS/disk/many"
	leave_disk
	unharmed
}

@test 'a second name of a protected file or of a secret is no way to it' {
	mkdir .vscode
	echo mine >.mcp.json
	echo mine >.vscode/tasks.json
	echo SECRET >.env
	ln .mcp.json a
	ln .vscode/tasks.json b
	ln .env c
	attack 'echo theirs >a; echo theirs >b; cat c .env'
	same mine "$(cat .mcp.json)"
	same mine "$(cat .vscode/tasks.json)"
	lacks "$(cat "$T/said")" SECRET
	same SECRET "$(cat .env)"
	has "$(cat "$T/notices")" "$WS/.mcp.json' had another name"
	same 1 "$(stat -c %h .mcp.json)"
}

@test 'a link in the place of a directory of settings is found, new or changed, and moved away' {
	mkdir keep
	ln -s keep sub-claude
	attack --quarantine all -- 'mkdir -p theirs sub; echo "{\"hooks\": 1}" >theirs/settings.json; ln -s theirs .claude; ln -s ../theirs sub/.claude; ln -s theirs .github'
	for link in .claude sub/.claude .github; do
		[ ! -L "$link" ] || fail "$link is still there"
		has "$(cat "$T/notices")" "$WS/$link'"
	done
	[ -L sub-claude ]
}

@test 'ralph why says who uses a protected file and when' {
	mkdir -p .zed sub
	echo '[]' >.zed/tasks.json
	echo x >sub/.pre-commit-config.yaml
	has "$(ralph why "$WS/.zed/tasks.json" || :)" 'Zed uses it when you open the directory in it'
	has "$(ralph why "$WS/sub/.pre-commit-config.yaml" || :)" 'pre-commit uses it when you commit'
	git init -q lib
	mkdir -p lib/.git/hooks
	has "$(ralph why "$WS/lib/.git/hooks" || :)" 'git uses it when you commit'
	has "$(ralph why "$WS/.git/hooks" || :)" 'the sandbox has one of its own in its place'
	lacks "$(ralph why "$WS/Makefile" || :)" 'uses it'
}

@test 'the home is no hiding place: what leads into the state of ralph is found in any session' {
	local name=hide-${WS##*-} home

	home=$XDG_STATE_HOME/ralph/sandboxes/$name/home
	# The pointers first, when they lead nowhere; what they lead to in another session.
	ralph run -n "$name" -- sh -c 'mkdir sub linked; echo "gitdir: $1/gd" >sub/.git; ln -s "$1/gd" linked/.git; ln -s "$1" way' - "$home" 2>"$T/notices"
	for link in sub/.git linked/.git way; do
		has "$(cat "$T/notices")" "$WS/$link'"
	done
	# As if nobody had looked in that session.
	mkdir -p sub linked
	echo "gitdir: $home/gd" >sub/.git
	ln -sfn "$home/gd" linked/.git
	touch -h -d '2 days ago' sub/.git linked/.git
	must_exit 125 ralph run -n "$name" -- true 2>"$T/notices"
	has "$(cat "$T/notices")" "start it again"
	ralph run -n "$name" -e "EVIL=touch $T/canary" -- sh -c 'git init -q ~/x; mv ~/x/.git ~/gd; printf "[core]\n\tfsmonitor = $EVIL\n\tbare = false\n" >>~/gd/config' 2>"$T/notices"
	victim "$WS/sub"
	victim "$WS/linked"
	unharmed
	[ ! -e sub/.git ]
	[ ! -L linked/.git ]
}

# replace FILE TEXT: as an editor does.
replace() {
	echo "$2" >"$T/new"
	mv "$T/new" "$1"
}

# covered SANDBOX FILE
covered() {
	grep -q "protect-again.*$2\"" "$XDG_STATE_HOME/ralph/sandboxes/$1/events.jsonl"
}

@test 'a secret that an editor replaces is hidden again, at any depth' {
	local name=mask-${WS##*-}

	mkdir -p a/b/c
	echo SECRET1 >.env
	echo SECRET1 >a/b/c/.env
	ralph run -d -n "$name"
	replace .env SECRET2
	replace a/b/c/.env SECRET2
	sed -i s/2/3/ .env
	wait_until covered "$name" "$WS/.env"
	wait_until covered "$name" "$WS/a/b/c/.env"
	# The look after a command comes before its end, so what was done until now is covered.
	ralph exec "$name" true
	lacks "$(ralph exec "$name" sh -c 'cat .env a/b/c/.env' 2>&1)" SECRET
	same SECRET3 "$(cat .env)"
	ralph stop "$name"
}

# hold NAME FILE…: a process inside that takes all it can of these files whenever it can, until `go` is there: descriptors to
# write and to read, O_PATH ones, other names, and of a directory also itself. Then it uses them all, and says in `finished`
# how many it had and what it read by them.
hold() {
	ralph exec "$1" python3 -c '
import os, sys
held, links = [], 0
open("ready", "w").close()
while not os.path.exists("go"):
    for name in sys.argv[1:]:
        for flags in (os.O_WRONLY, os.O_RDONLY, os.O_PATH, os.O_PATH | os.O_DIRECTORY):
            try:
                fd = os.open(name, flags)
                if len(held) < 800 and flags != os.O_RDONLY | os.O_PATH:
                    held.append(fd)
                else:
                    os.close(fd)
            except OSError:
                pass
        try:
            os.link(name, f"other-{links}")
            links += links < 200
        except OSError:
            pass
said = b""
def use(path):
    global said
    try:
        with open(path, "rb") as f:
            said += f.read()
    except OSError:
        pass
    try:
        with open(path, "r+b") as f:
            f.write(b"evil")
    except OSError:
        pass
for fd in held:
    use(f"/proc/self/fd/{fd}")
    use(f"/proc/self/fd/{fd}/settings.json")
    try:
        os.pwrite(fd, b"evil", 0)
    except OSError:
        pass
for i in range(links + 1):
    use(f"other-{i}")
for name in sys.argv[2:]:
    use(name)
with open("finished.new", "wb") as f:
    f.write(b"%d descriptors, %d links\n" % (len(held), links) + said)
os.rename("finished.new", "finished")' "${@:2}" &
	wait_until [ -e ready ]
}

# settled SANDBOX: what the host did until now is covered. A look comes before the end of each command.
settled() {
	ralph exec "$1" true
}

@test 'nothing that is taken of a protected file or a secret while the host replaces it leads to it afterwards' {
	local name=fd-${WS##*-} i

	mkdir team .claude .zed
	echo mine >.zed/settings.json
	echo mine >.mcp.json
	echo mine >team/.envrc
	echo mine >.env
	echo mine >.claude/settings.json
	ralph run -d -n "$name"
	hold "$name" .mcp.json team/.envrc .env .claude .claude/settings.json .zed .zed/settings.json
	for i in {1..200}; do
		replace .mcp.json "host$i"
		replace team/.envrc "host$i"
		replace .env "host$i"
		replace .claude/settings.json "host$i"
	done
	# A whole directory, and a file that is removed and made again, as git checkout does.
	mkdir "$T/claude" "$T/zed"
	echo host | tee "$T/claude/settings.json" >"$T/zed/settings.json"
	mv .claude "$T/old"
	mv "$T/claude" .claude
	rm -r .zed
	mv "$T/zed" .zed
	rm .mcp.json
	echo host >.mcp.json
	wait_until covered "$name" "$WS/.mcp.json"
	wait_until covered "$name" "$WS/team/.envrc"
	wait_until covered "$name" "$WS/.env"
	wait_until covered "$name" "$WS/.claude"
	wait_until covered "$name" "$WS/.zed"
	settled "$name"
	# What is written now, in place, nobody inside has seen or can write.
	echo SECRET >.env
	for file in .mcp.json team/.envrc .claude/settings.json .zed/settings.json; do
		echo last >"$file"
	done
	touch go
	wait_until -t 60 [ -e finished ]
	for file in .mcp.json team/.envrc .claude/settings.json .zed/settings.json; do
		same last "$(cat "$file")"
	done
	same SECRET "$(cat .env)"
	lacks "$(cat finished)" SECRET
	has "$(cat finished)" descriptors
	ralph stop "$name"
	same '' "$(find . -name '.ralph-fresh-*')"
}

@test 'a file of the host that is being written when it is covered again is whole in the end' {
	local name=slow-${WS##*-}

	echo mine >.mcp.json
	ralph run -d -n "$name"
	# As git checkout writes it: made in its place, in pieces.
	python3 -c '
import os
os.unlink(".mcp.json")
with open(".mcp.json", "w") as f:
    for i in range(200):
        f.write(f"line {i}\n")
        f.flush()'
	wait_until covered "$name" "$WS/.mcp.json"
	settled "$name"
	same 200 "$(wc -l <.mcp.json)"
	must_fail ralph exec "$name" sh -c 'echo theirs >.mcp.json' 2>/dev/null
	ralph stop "$name"
}

@test 'protected files that git checkout of the user replaces are protected again' {
	local name=switch-${WS##*-} file

	mkdir .zed
	echo one | tee .zed/settings.json >.mcp.json
	git add -f .mcp.json .zed
	git commit -q -m one
	git checkout -q -b other
	echo two | tee .zed/settings.json >.mcp.json
	git commit -q -a -m two
	git checkout -q -
	ralph run -d -n "$name"
	git checkout -q other
	wait_until covered "$name" "$WS/.mcp.json" # of the other the whole directory is read-only
	settled "$name"
	for file in .mcp.json .zed/settings.json; do
		must_fail ralph exec "$name" sh -c "echo theirs >$file" 2>/dev/null
		same two "$(cat "$file")"
	done
	ralph stop "$name"
	same '' "$(git status --porcelain -- .mcp.json .zed)"
}

@test 'a sandbox whose file cannot be covered again ends, and it is said' {
	local name=lost-${WS##*-}

	echo mine >.mcp.json
	ralph run -d -n "$name"
	ln -s elsewhere "$T/link"
	mv -T "$T/link" .mcp.json
	wait_until not_running "$name"
	grep -q "cannot be protected again" "$XDG_STATE_HOME/ralph/sandboxes/$name/events.jsonl"
}

not_running() {
	! ralph ls | grep -q "^$1 .*running"
}

@test "programs in the tree that the user's own git settings name are not written, and not made where there were none" {
	export GIT_CONFIG_GLOBAL=$T/mine/gitconfig GIT_CONFIG_NOSYSTEM=1
	local file

	mkdir -p "$T/mine" tools .hooks aliases sub
	for file in tools/clean tools/smudge tools/diff.sh tools/merge tools/monitor tools/ssh tools/edit tools/page .hooks/pre-commit aliases/a aliases/b.py; do
		printf '#!/bin/sh\n' >"$file"
	done
	chmod +x tools/* .hooks/pre-commit aliases/*
	chmod -x tools/diff.sh
	echo plain >tools/notes
	printf '[alias]\n\tinner = !sh aliases/b.py\n' >shared.gitconfig
	cat >"$GIT_CONFIG_GLOBAL" <<-END
		[core]
			hooksPath = .hooks
			fsmonitor = ./tools/monitor
			sshCommand = ssh -o ProxyCommand=none ./tools/ssh
			editor = "$WS/tools/edit" --wait
			pager = LESS=R tools/page | cat
		[filter "x"]
			clean = \"\$(git rev-parse --show-toplevel)/tools/clean\" %f
			smudge = \$PWD/tools/smudge
		[diff "x"]
			textconv = sh -e tools/diff.sh
		[merge "x"]
			driver = exec ./tools/merge %O %A %B
		[alias]
			t = !git status && aliases/a
			s = status tools/notes
			n = !./later/new
			p = !python3 later/made.py
			e = "!f() { sh new.sh; }; f"
			make = !make
		[include]
			path = $WS/shared.gitconfig
	END
	attack 'for f in tools/clean tools/smudge tools/diff.sh tools/merge tools/monitor tools/ssh tools/edit tools/page .hooks/pre-commit aliases/a aliases/b.py shared.gitconfig; do
			{ echo "$EVIL" >>"$f"; } 2>/dev/null && echo "wrote $f"; rm -f "$f" 2>/dev/null && echo "removed $f"; done
		mv tools x; mv .hooks y; echo new >.hooks/post-commit; mkdir later; printf "#!/bin/sh\n$EVIL\n" >later/new; chmod +x later/new
		echo "$EVIL" >later/made.py; echo "$EVIL" >new.sh; echo all: >make
		echo changed >tools/notes'
	same '' "$(cat "$T/said")"
	same changed "$(cat tools/notes)"
	[ ! -e .hooks/post-commit ]
	[ ! -e later/new ] || fail "a program that an alias names is still there"
	has "$(cat "$T/notices")" "$WS/later/new'"
	# An interpreter runs a file whatever its mode is. A command without a slash is never one of the tree.
	[ ! -e later/made.py ] || fail "a program that an interpreter of an alias runs is still there"
	[ ! -e new.sh ]
	[ -e make ]
	git commit -q --allow-empty -m x || :
	unharmed
	# A directory of hooks that is not there yet.
	rm -r .hooks
	attack 'mkdir .hooks; printf "#!/bin/sh\n$EVIL\n" >.hooks/pre-commit; chmod +x .hooks/pre-commit'
	git commit -q --allow-empty -m x || :
	unharmed
}

# arm PATH…: text for the sandbox that makes a program of each.
arm() {
	printf 'mkdir -p "$(dirname %s)"; printf "#!/bin/sh\\n$EVIL\\ncat\\n" >%s; chmod +x %s; ' "$1" "$1" "$1"
}

@test 'links in the tree on the way to hooks, programs and settings of git are not replaced by the agent' {
	local file

	mkdir -p real/hooks real/bin bin2
	for file in real/hooks/pre-commit real/bin/clean real/bin/diff bin2/tool; do
		printf '#!/bin/sh\ncat\n' >"$file"
		chmod +x "$file"
	done
	touch real/settings
	ln -s real tools
	ln -s real/hooks .githooks
	ln -s real/bin/diff differ
	ln -s real/settings .gitconfig
	ln -s bin2 bin
	echo '*.x filter=x diff=x' >.gitattributes
	echo 1 >f.x
	git config filter.x.clean ./tools/bin/clean
	git config diff.x.command ./differ
	git config include.path ../.gitconfig
	git add -A
	git commit -q -m links
	for file in .githooks tools/hooks; do
		git config core.hooksPath "$file"
		PATH=$PATH:$WS/bin attack "rm -rf tools .githooks differ .gitconfig bin; $(arm tools/hooks/pre-commit)$(arm tools/hooks/post-index-change
			)$(arm tools/bin/clean)$(arm .githooks/pre-commit)$(arm differ)$(arm bin/tool)"'
			printf "[core]\n\tfsmonitor = \"$EVIL\"\n" >.gitconfig; echo 2 >f.x; touch ran'
		[ -e ran ]
		[ ! -e bin/tool ]
		victim "$WS"
		unharmed
		git checkout -q -f HEAD -- .
	done
	# To another place of the tree.
	attack "$(arm other/hooks/pre-commit)$(arm other/bin/clean)"'ln -sfn other tools; ln -sfn other/hooks .githooks'
	victim "$WS"
	unharmed
	git checkout -q -f HEAD -- .
	[ ! -L tools ] || same real "$(readlink tools)"
}

@test 'an old directory that the agent renames to where programs are looked for brings none there' {
	local dir

	git config core.hooksPath hooks/here
	git config filter.x.clean ./later/clean
	# Nothing of these is younger than the sandbox; only the directory has moved.
	mkdir o1 o2 o3
	for dir in o1 o2 o3; do
		printf '#!/bin/sh\ntouch %s\ncat\n' "$T/canary" >$dir/clean
		cp $dir/clean $dir/pre-commit
		cp $dir/clean $dir/tool
		chmod +x $dir/*
	done
	mkdir bin
	PATH=$PATH:$WS/bin attack 'rmdir bin; mkdir -p hooks; mv o1 bin; mv o2 hooks/here; mv o3 later; touch ran'
	[ -e ran ]
	[ ! -e bin/tool ] || fail 'a program of PATH'
	[ ! -e hooks/here/pre-commit ] || fail 'a hook'
	[ ! -e later/clean ] || fail 'a filter'
	echo '*.x filter=x' >.gitattributes
	echo 1 >f.x
	victim "$WS"
	unharmed
}

@test 'programs behind cd, modules of Python and files of further interpreters that git settings name are not written' {
	local file

	mkdir tools sub
	for file in tools/clean tools/mod.py tools/c.awk sub/x.py; do printf '#!/bin/sh\n' >"$file"; done
	chmod +x tools/clean
	git config filter.x.clean 'cd tools && ./clean'
	git config filter.y.clean 'python3 -m tools.mod'
	git config filter.z.clean 'awk -f tools/c.awk'
	git config alias.u '!cd "$(git rev-parse --show-toplevel)/sub" && uv run x.py'
	attack 'for f in tools/clean tools/mod.py tools/c.awk sub/x.py; do { echo "$EVIL" >>"$f"; } 2>/dev/null && echo "wrote $f"; done; echo tried'
	same tried "$(cat "$T/said")"
}
