# runs: root user
# seconds: 25
# What the agent leaves in the workspace for the host to run. Each attack is followed by a victim: git on
# the host, as a person would use it, and a canary that only the host can make.
# What is in single quotes is for the shell inside; every test has an environment of its own.
# shellcheck disable=SC2016,SC2030,SC2031
load attack

# attack [OPTION… --] SCRIPT: runs it in the sandbox, in the workspace. Its own failure is no news.
attack() {
	local options=()

	while [ $# -gt 1 ]; do
		[ "$1" = -- ] || options+=("$1")
		shift
	done
	export EVIL="touch $T/canary"
	if [ -n "${ATTACK_OUTSIDE:-}" ]; then
		bash -c "$1" || :
	else
		"$RALPH" run --rm -e "EVIL=$EVIL" "${options[@]}" -- bash -c "$1" 2>"$T/notices" || :
	fi
}

# The user's settings for git, which are not the repository's.
victim_git() {
	GIT_CONFIG_GLOBAL=$T/gitconfig GIT_CONFIG_NOSYSTEM=1 timeout 30 git "$@" </dev/null >>"$T/victim" 2>&1 || :
}

# victim [DIR…]: a person works there.
victim() {
	local dir n=0

	printf '[user]\n\tname = v\n\temail = v@example.invalid\n' >"$T/gitconfig"
	for dir in "${@:-$WS}"; do
		cd "$dir" || return
		echo "$n" >>victims-file
		victim_git status
		victim_git diff
		victim_git add -A
		victim_git commit -m "by the victim"
		victim_git checkout -b "victim-$n"
		victim_git checkout -
		victim_git log -p -1
		victim_git stash
		victim_git submodule status
		victim_git rebase --continue
		victim_git gc --auto
		n=$((n + 1))
	done
	cd "$WS" || return
}

unharmed() {
	[ ! -e "$T/canary" ] || fail "it ran on the host; notices: $(cat "$T/notices"); victim: $(cat "$T/victim")"
}

# The victim's work went through: a repository that no longer works would prove nothing.
worked() {
	has "$(cat "$T/victim")" "by the victim"
}

@test 'git directory, and what holds protected files, cannot be renamed or removed' {
	mkdir -p .github/workflows .claude/hooks
	echo x >.github/workflows/ci.yml
	attack 'mv .git .g2; mv .github .gh2; mv .claude .c2; rm -rf .git/hooks .git/config; mv .git/hooks .git/h2
		mkdir -p .git/hooks && printf "#!/bin/sh\n$EVIL\n" >.git/hooks/pre-commit && chmod +x .git/hooks/pre-commit'
	[ -d .git ]
	[ -d .github ]
	[ -d .claude ]
	[ -f .git/config ]
	has "$(cat "$T/notices")" "Device or resource busy"
	victim
	unharmed
	worked
}

@test 'hooks are not written, added, replaced or made executable' {
	printf '#!/bin/sh\nexit 0\n' >.git/hooks/pre-commit
	chmod +x .git/hooks/pre-commit
	attack 'cd .git/hooks; printf "#!/bin/sh\n$EVIL\n" >new; for h in pre-commit post-checkout post-commit; do
		echo "$EVIL" >>$h; cp new $h; ln -sf /bin/sh $h; mv new $h; printf "#!/bin/sh\n$EVIL\n" >$h; chmod +x $h; done
		cp -a . ../h2; mv ../h2/post-commit .; mv ../hooks ../h3; ln -s h2 ../hooks'
	victim
	unharmed
	worked
}

@test 'hooks are not made where there were none' {
	rm -rf .git/hooks
	attack 'mkdir -p .git/hooks; printf "#!/bin/sh\n$EVIL\n" >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit
		mkdir h; cp .git/hooks/pre-commit h/ || printf "#!/bin/sh\n$EVIL\n" >h/pre-commit; chmod +x h/pre-commit
		rm -rf .git/hooks; mv h .git/hooks'
	[ ! -e .git/hooks ]
	victim
	unharmed
	worked
}

@test 'settings of git are not written in any way' {
	attack 'mkdir evil; for h in pre-commit post-checkout post-index-change; do printf "#!/bin/sh\n$EVIL\n" >evil/$h; chmod +x evil/$h; done
		cp .git/config c; printf "[core]\n\tfsmonitor = $EVIL\n\thooksPath = $PWD/evil\n" >>c
		chmod 666 .git/config; truncate -s 0 .git/config; cat c >.git/config; cp c d; mv d .git/config; ln -f c .git/config
		cp c .git/config.lock; mv .git/config.lock .git/config; rm -f .git/config; cat c >.git/config; rm -f hard
		ln .git/config hard && cat c >>hard; python3 -c "import os; os.rename(\"c\", \".git/config\")"
		git config core.fsmonitor "$EVIL"; git config core.hooksPath "$PWD/evil"; git config alias.st "!$EVIL"'
	lacks "$(cat .git/config)" fsmonitor
	victim
	unharmed
	worked
}

@test 'a lock that is held on the settings at the start changes nothing' {
	printf '[core]\n\tfsmonitor = touch %s/canary\n' "$T" >"$T/evil"
	: >.git/config.lock
	: >.git/index.lock
	attack 'cat >>.git/config.lock <.git/config; printf "[core]\n\tfsmonitor = $EVIL\n" >>.git/config.lock; mv .git/config.lock .git/config'
	rm -f .git/config.lock .git/index.lock
	victim
	unharmed
	worked
}

@test 'filters, diff and merge drivers that attributes choose are not defined' {
	attack 'for f in .gitattributes .git/info/attributes; do echo "* filter=evil diff=evil merge=evil" >$f; done
		git config filter.evil.clean "$EVIL"; git config filter.evil.smudge "$EVIL"; git config diff.evil.textconv "$EVIL"
		printf "[filter \"evil\"]\n\tclean = $EVIL\n\tsmudge = $EVIL\n[diff \"evil\"]\n\ttextconv = $EVIL\n" | tee .git/config .git/config.worktree'
	[ ! -e .git/info/attributes ]
	victim
	unharmed
	worked
}

@test 'settings of a worktree are not made where the repository reads them' {
	git config extensions.worktreeConfig true
	attack 'printf "[core]\n\tfsmonitor = $EVIL\n" >.git/config.worktree'
	[ ! -e .git/config.worktree ]
	victim
	unharmed
	worked
}

@test 'the git directory is not told to take its settings from elsewhere' {
	attack 'cp -r .git .evil; printf "[core]\n\tfsmonitor = $EVIL\n" >>.evil/config; echo ../.evil >.git/commondir'
	[ ! -e .git/commondir ]
	victim
	unharmed
	worked
}

@test 'files that the settings include, and hooks they name, are not written' {
	mkdir team
	printf '#!/bin/sh\nexit 0\n' >team/pre-commit
	chmod +x team/pre-commit
	: >team.gitconfig
	git config core.hooksPath team
	git config include.path ../team.gitconfig
	attack 'printf "#!/bin/sh\n$EVIL\n" >team/pre-commit; printf "#!/bin/sh\n$EVIL\n" >team/post-checkout; chmod +x team/*
		mv team t2; mkdir team; cp t2/* team; printf "[core]\n\tfsmonitor = $EVIL\n" >team.gitconfig; mv team.gitconfig x'
	victim
	unharmed
	worked
}

@test 'a nested repository that appears is moved away, whatever it would run' {
	attack 'git init -q nested; cd nested; git config core.fsmonitor "$EVIL"; echo x >x
		cd ..; git init -q other; printf "#!/bin/sh\n$EVIL\n" >other/.git/hooks/post-checkout; chmod +x other/.git/hooks/post-checkout
		cp other/.git/hooks/post-checkout other/.git/hooks/pre-commit'
	victim "$WS/nested" "$WS/other" "$WS"
	unharmed
	has "$(cat "$T/notices")" nested/.git
}

@test 'material that lay there before does not become a repository by a rename' {
	git init -q template
	git -C template config core.fsmonitor "touch $T/canary"
	mv template/.git template/dot-git
	cp -a template parts
	mv parts/dot-git/HEAD parts/dot-git/head
	attack 'mv template/dot-git template/.git; mkdir -p a/b; cp -a template/dot-git a/b/.git; mv a c
		mv parts/dot-git/head parts/dot-git/HEAD; mv parts/dot-git parts/.git'
	victim "$WS/template" "$WS/c/b" "$WS/parts"
	unharmed
}

@test 'a bare repository that appears in the tree is moved away' {
	attack 'git init -q --bare docs; git -C docs config core.fsmonitor "$EVIL"; git -C docs config core.bare false
		git -C docs config core.worktree ..; git init -q --bare x/y/z; printf "#!/bin/sh\n$EVIL\n" >x/y/z/hooks/post-checkout
		chmod +x x/y/z/hooks/*'
	[ ! -e docs ]
	[ ! -e x/y/z ]
	mkdir -p docs x/y/z
	victim "$WS/docs" "$WS/x/y/z"
	unharmed
}

@test 'a .git file does not lead to settings of the agent' {
	attack 'mkdir -p sub/dir evil/common gd; cp -r .git/. evil/common; printf "[core]\n\tfsmonitor = $EVIL\n" >>evil/common/config
		rm -f evil/common/HEAD; cp .git/HEAD gd/; echo ../evil/common >gd/commondir; echo "gitdir: ../gd" >sub/.git
		cp -r .git evil/whole; printf "[core]\n\tfsmonitor = $EVIL\n" >>evil/whole/config; echo "gitdir: ../../evil/whole" >sub/dir/.git'
	[ ! -e gd ]
	victim "$WS/sub" "$WS/sub/dir"
	unharmed
}

# A submodule at libs/one.
add_submodule() {
	git init -q "$T/lib"
	git -C "$T/lib" -c user.name=x -c user.email=x commit -q --allow-empty -m x
	git -c protocol.file.allow=always submodule --quiet add "$T/lib" libs/one
	git commit -q -m sub
}

@test 'submodules: their pointers are not written' {
	local before

	add_submodule
	before=$(cat libs/one/.git)
	attack 'cp -r .git/modules/libs/one evil; git config -f evil/config core.worktree "$PWD/libs/one"; printf "[core]\n\tfsmonitor = $EVIL\n" >>evil/config
		echo "gitdir: $PWD/evil" >libs/one/.git; rm -rf libs/one/.git; mv libs/one/.git x; echo "gitdir: $PWD/evil" >x; mv x libs/one/.git; mv libs/one x'
	same "$before" "$(cat libs/one/.git)"
	victim "$WS/libs/one" "$WS"
	unharmed
	worked
}

@test 'submodules: their settings and hooks are not written, and new ones are disarmed' {
	add_submodule
	attack 'm=.git/modules/libs/one; git -C libs/one config core.fsmonitor "$EVIL"; printf "#!/bin/sh\n$EVIL\n" >$m/hooks/post-checkout
		chmod +x $m/hooks/post-checkout; mv libs/one libs/two; mv libs l2; mv $m $m.x; mv .git/modules .git/m2
		cp -r $m evil; git config -f evil/config core.worktree "$PWD/libs/one"; printf "[core]\n\tfsmonitor = $EVIL\n" | tee -a evil/config >>$m/config
		echo ../../../../evil >$m/commondir; printf "[core]\n\tfsmonitor = $EVIL\n" >$m/config.worktree
		cp -r $m .git/modules/new; printf "[core]\n\tfsmonitor = $EVIL\n" >>.git/modules/new/config; mkdir new; echo "gitdir: ../.git/modules/new" >new/.git
		printf "[submodule \"libs/one\"]\n\tpath = libs/one\n\turl = ext::$EVIL\n\tupdate = !$EVIL\n" >.gitmodules'
	victim "$WS/libs/one" "$WS" "$WS/new"
	victim_git submodule update --init --recursive
	unharmed
	worked
}

@test 'worktrees: neither the pointers nor the repository of a worktree are written from inside of it' {
	git worktree add -q "$T/home/wt" -b wt
	git worktree add -q "$T/home/other" -b other
	cd "$T/home/wt"
	attack 'common=$(git rev-parse --git-common-dir); own=$(git rev-parse --git-dir)
		cp -r $common evil; printf "[core]\n\tfsmonitor = $EVIL\n" >>evil/config; cp $own/HEAD evil/HEAD
		echo "gitdir: $PWD/evil" >.git; rm -f .git; mv .git x; echo "gitdir: $PWD/evil" >.git
		for w in $common/worktrees/*; do echo $PWD/evil >$w/commondir; rm $w/commondir; mv $w $w.x; printf "[core]\n\tfsmonitor = $EVIL\n" >$w/config.worktree; done
		printf "[core]\n\tfsmonitor = $EVIL\n" >>$common/config; git config core.fsmonitor "$EVIL"
		printf "#!/bin/sh\n$EVIL\n" >$common/hooks/post-checkout; chmod +x $common/hooks/post-checkout
		mv $common $common.x; mv $common/worktrees $common/w2; echo $PWD/evil >$common/commondir
		cp -r $own $common/worktrees/new; echo $PWD/evil >$common/worktrees/new/commondir'
	victim "$T/home/wt" "$T/home/other" "$WS"
	unharmed
	worked
}

@test 'a worktree pointer that its repository does not know opens nothing of another project' {
	local before

	git init -q "$HOME/precious"
	before=$(cat "$HOME/precious/.git/config")
	mkdir "$HOME/claim"
	echo "gitdir: $HOME/precious/.git" >"$HOME/claim/.git"
	cd "$HOME/claim"
	attack "ls $HOME/precious/.git >found 2>&1; echo x >>$HOME/precious/.git/config"
	has "$(cat found)" "No such file"
	same "$before" "$(cat "$HOME/precious/.git/config")"
}

@test 'where a protected path is a link, neither the link nor what it leads to can be written' {
	mkdir own-hooks dot-claude
	printf '#!/bin/sh\nexit 0\n' >own-hooks/pre-commit
	chmod +x own-hooks/pre-commit
	rm -rf .git/hooks
	ln -s ../own-hooks .git/hooks
	ln -s dot-claude .claude
	echo '{}' >dot-claude/settings.json
	attack 'printf "#!/bin/sh\n$EVIL\n" >own-hooks/pre-commit; mv own-hooks oh2; rm .git/hooks; mkdir .git/hooks
		printf "#!/bin/sh\n$EVIL\n" >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit
		echo "{\"hooks\": 1}" >dot-claude/settings.json; echo "{\"hooks\": 1}" >.claude/settings.json'
	same ../own-hooks "$(readlink .git/hooks)"
	same '{}' "$(cat dot-claude/settings.json)"
	victim
	unharmed
	worked
}

@test 'a git directory behind a link is protected where it is' {
	mv .git real.git
	ln -s real.git .git
	attack 'git config core.fsmonitor "$EVIL"; printf "[core]\n\tfsmonitor = $EVIL\n" >>real.git/config; mv real.git r2; mv real.git/config x'
	victim
	unharmed
	worked
}

@test 'settings of editors, shells, agents and ralph are read-only' {
	local f files=(.envrc .mcp.json .gitmodules .vscode/tasks.json .idea/workspace.xml .devcontainer/devcontainer.json .husky/pre-commit
		.github/workflows/ci.yml .claude/settings.json .claude/settings.local.json .claude/hooks/h .claude/commands/c.md .claude/agents/a.md
		.claude/skills/s.md .ralph/prompt.md sub/.envrc sub/.vscode/settings.json opencode.json .opencode/agent/a.md .gemini/settings.json
		.codex/config.toml .aider.conf.yml .cursor/mcp.json .windsurf/rules.md .continue/config.yaml .zed/tasks.json mise.toml .mise.toml
		.tool-versions .pre-commit-config.yaml lefthook.yml .lfsconfig .devcontainer.json)

	for f in "${files[@]}"; do
		mkdir -p "$(dirname "$f")"
		echo mine >"$f"
	done
	attack --mask '!*' -- "for f in ${files[*]}; do echo x >\$f; rm -f \$f; mv \$f moved; d=\${f%/*}; [ \$d = \$f ] || { mv \$d moved; touch \$d/new; }; done; ls -A >seen"
	for f in "${files[@]}"; do
		same mine "$(cat "$f")"
	done
	[ ! -e .vscode/new ]
	[ ! -e .claude/hooks/new ]
}

@test 'what appears under a protected name is shown, and moved away where everything is' {
	attack --quarantine git -- 'echo "$EVIL" >.envrc; mkdir -p deep/er .vscode .claude; echo x >deep/er/.mcp.json; echo "{}" >.claude/settings.json; echo x >.vscode/tasks.json'
	for f in .envrc deep/er/.mcp.json .claude/settings.json .vscode; do
		has "$(cat "$T/notices")" "$WS/$f'"
		[ -e "$f" ]
	done
	rm -rf .envrc deep .vscode .claude
	attack --quarantine all -- 'echo "$EVIL" >.envrc; mkdir -p deep/er .vscode .claude; echo x >deep/er/.mcp.json; echo "{}" >.claude/settings.json; echo x >.vscode/tasks.json'
	for f in .envrc deep/er/.mcp.json .claude/settings.json .vscode; do
		has "$(cat "$T/notices")" "$WS/$f'"
		[ ! -e "$f" ]
	done
}

@test 'a program that appears on the PATH of the user is shown' {
	mkdir bin
	PATH=$WS/bin:$PATH attack 'printf "#!/bin/sh\n$EVIL\n" >bin/git; chmod +x bin/git'
	has "$(cat "$T/notices")" "$WS/bin/git"
}

@test 'an unfinished rebase has no commands for the one who goes on with it' {
	for i in 1 2 3; do
		echo "$i" >"f$i"
		git add "f$i"
		git commit -q -m "$i"
	done
	attack 'GIT_SEQUENCE_EDITOR="sed -i 1s/pick/edit/" git rebase -i HEAD~2; echo "exec $EVIL" >>.git/rebase-merge/git-rebase-todo; git status'
	victim
	unharmed
}

@test 'links in the git directory do not have git write to files of the user' {
	echo 'echo mine' >"$T/rc"
	cp "$T/rc" "$T/rc.was"
	# Each of these is written by what the victim does: logs with a name that the agent chose.
	attack "git branch 'x\$(touch\${IFS}$T/canary)'; rm -f .git/logs/HEAD; ln -s $T/rc .git/logs/HEAD; ln -sf $T/rc .git/COMMIT_EDITMSG; ln -sf $T/rc .git/ORIG_HEAD; mkdir -p .git/logs/refs; ln -sf $T/rc .git/logs/refs/stash"
	[ ! -L .git/logs/HEAD ]
	[ ! -L .git/ORIG_HEAD ]
	victim
	worked
	cmp "$T/rc" "$T/rc.was"
	bash "$T/rc" >/dev/null 2>&1 || :
	unharmed
}

@test 'quarantine takes what is there and follows nothing' {
	mkdir "$T/precious"
	echo precious >"$T/precious/file"
	attack --quarantine all -- "ln -s $T/precious .vscode; ln -s $T/precious/file .envrc; mkdir deep; ln -s $T/precious deep/.husky"
	same precious "$(cat "$T/precious/file")"
	[ ! -L .vscode ]
	[ ! -L .envrc ]
	[ ! -L deep/.husky ]
	ralph quarantine drop --all
	same precious "$(cat "$T/precious/file")"
}

@test 'settings that are replaced on the host while the sandbox runs are read-only again' {
	local name=live-${WS##*-}

	echo mine >.mcp.json
	ralph run -d -n "$name"
	git config user.name other
	echo theirs >new
	mv new .mcp.json
	wait_until grep -q protect-again "$XDG_STATE_HOME/ralph/sandboxes/$name/events.jsonl"
	ralph exec "$name" sh -c 'echo "[core] fsmonitor = x" >>.git/config; rm .git/config; echo x >>.mcp.json; mv .mcp.json x; :'
	lacks "$(cat .git/config)" fsmonitor
	same other "$(git config user.name)"
	same theirs "$(cat .mcp.json)"
	ralph stop "$name"
}

@test 'another writable mount is protected as the workspace is' {
	git init -q "$HOME/second"
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	echo "mounts: [{path: $HOME/second, mode: rw}]" >"$XDG_CONFIG_HOME/ralph/config.yaml"
	attack "cd $HOME/second; mv .git x && mv x .git; git config core.fsmonitor \"\$EVIL\"; printf '#!/bin/sh\n%s\n' \"\$EVIL\" >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; echo ok >file"
	same ok "$(cat "$HOME/second/file")"
	victim "$HOME/second"
	unharmed
}

@test 'files whose names say that they hold secrets are not readable' {
	mkdir certs
	for f in .env .env.local certs/server.pem; do
		echo "SECRET" >"$f"
	done
	echo sample >.env.example
	attack 'for f in .env .env.local certs/server.pem; do cat $f; cp $f copy; ln $f hard; mv $f moved; ln -s $f soft; cat hard moved soft copy; done
		cat .env.example; mv certs c2; cat c2/server.pem; rm -f soft; exit 0' >"$T/seen"
	lacks "$(cat "$T/seen")" SECRET
	has "$(cat "$T/seen")" sample
	same SECRET "$(cat .env)"
}

@test 'a secret does not become readable by a forged index' {
	echo "SECRET" >.env
	# The agent lists it as tracked; what it holds the agent can only guess. An import puts that into the user's index.
	attack 'oid=$(echo guess | git hash-object -w --stdin); git update-index --add --cacheinfo 100644,$oid,.env; git commit -qm forged'
	git update-index --add --cacheinfo "100644,$(echo guess | git hash-object -w --stdin),.env"
	attack 'cat .env' >"$T/seen"
	lacks "$(cat "$T/seen")" SECRET
}

@test 'masks and quarantine are taken back by the user alone' {
	echo "SECRET" >.env
	mkdir .ralph
	echo 'workspace: {mask: ["!*"]}' >.ralph/config.yaml
	must_exit 2 ralph run --rm -- cat .env
	echo 'workspace: {quarantine: none}' >.ralph/config.yaml
	must_exit 2 ralph run --rm -- true
	echo 'workspace: {quarantine: all}' >.ralph/config.yaml
	ralph run --rm -- true
	rm .ralph/config.yaml
	same SECRET "$(ralph run --rm --mask '!*' -- cat .env)"
	echo "KEY" >my.key
	must_fail ralph run --rm --mask '*.key' -- cat my.key
}

@test 'who stops the sandbox is told what was left, and it is moved away' {
	local name=stop-${WS##*-}

	ralph run -d -n "$name"
	ralph exec -e "EVIL=touch $T/canary" "$name" sh -c 'git init -q nested; git -C nested config core.fsmonitor "$EVIL"'
	ralph stop "$name" 2>"$T/notices"
	has "$(cat "$T/notices")" nested/.git
	victim "$WS/nested"
	unharmed
}

@test 'what a killed supervisor did not look at the next command does' {
	local name=killed-${WS##*-} pid

	ralph run -d -n "$name"
	ralph exec -e "EVIL=touch $T/canary" "$name" sh -c 'git init -q nested; git -C nested config core.fsmonitor "$EVIL"; echo x >.envrc'
	pid=$(ralph inspect "$name" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["live"]["supervisor"])')
	kill -9 "$pid"
	# As if it had been made in the last moment.
	git init -q late
	printf '#!/bin/sh\ntouch %s\n' "$T/canary" >late/.git/hooks/pre-commit
	chmod +x late/.git/hooks/pre-commit
	ralph run -n "$name" -- true 2>"$T/notices" || { cat "$T/notices" >&2; false; }
	has "$(cat "$T/notices")" nested/.git
	has "$(cat "$T/notices")" late/.git
	has "$(cat "$T/notices")" .envrc
	victim "$WS/nested" "$WS/late" "$WS"
	unharmed
}

@test 'an agent that makes the same file again and again fills neither the quarantine nor the log' {
	need python3
	attack --quarantine all -- 'python3 -c "
import os, time
end = time.time() + 3
while time.time() < end:
    try:
        os.mkdir(\".vscode\")
    except OSError:
        pass
    open(\".envrc\", \"w\").close()
"; printf "#!/bin/sh\n$EVIL\n" >.envrc; mkdir -p .git/hooks; cp .envrc .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit'
	[ "$(ralph quarantine ls --json | grep -c '"id"')" -le 520 ]
	[ ! -e .envrc ]
	[ "$(wc -l <"$T/notices")" -le 600 ]
	victim
	unharmed
	worked
}
