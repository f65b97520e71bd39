#!/usr/bin/env bats
# runs: user
# seconds: 25
# What the loop does with the repository: branches, worktrees, the user's changes, commits that do not count.
# shellcheck disable=SC2016
load helpers
load loop

@test 'a tree with changes that are not committed is refused: exit 2, with their names' {
	loop_workspace 1
	echo more >>file
	build 2 honest
	has "$(cat "$T/err")" 'not committed: M file'
	has "$(cat "$T/err")" '--stash'
	same 'content
more' "$(cat file)"
}

@test 'with --stash they are put away, and back at the end; they are in no commit' {
	loop_workspace 1
	echo more >>file
	echo new >untracked
	build 0 honest --stash
	same 'content
more' "$(cat file)"
	same new "$(cat untracked)"
	same 'US-1' "$(git diff --name-only HEAD ralph/demo -- . ':!.ralph')"
}

@test 'the work goes to the branch of the list, and the one before stays as it was' {
	local before

	loop_workspace 1
	before=$(git rev-parse HEAD)
	build 0 honest
	same ralph/demo "$(git branch --show-current)"
	# The commit of the agent, and the host's with the mark.
	same "$before" "$(git rev-parse HEAD~2)"
}

@test 'marks in a list of the repository are committed by the host with their task: the tree is clean' {
	local home

	loop_workspace 2
	home=$(git branch --show-current)
	build 0 honest
	same '' "$(git status --porcelain -uno)"
	same 'US-2 is done
US-2: US-2
US-1 is done
US-1: US-1
work to do' "$(git log -5 --format=%s)"
	same .ralph/prd.json "$(git show --name-only --format= HEAD)"
	has "$(git show HEAD~2:.ralph/prd.json | tr -d ' \n')" '"passes":true'
	git switch -q "$home"
}

@test 'a list that the repository does not have stays out of it' {
	loop_workspace 1
	git rm -q --cached .ralph/prd.json
	echo prd.json >>.ralph/.gitignore
	git add -f .ralph/.gitignore
	git commit -qm 'a list of my own'
	build 0 honest
	same 'US-1: US-1' "$(git log -1 --format=%s)"
	same true "$(passes US-1)"
}

@test 'a commit of marks is not taken for the work of a task' {
	loop_workspace 1
	# What the task asks for is there already: its agent writes a note, and then only says that it is done.
	cat >agent.sh <<-'EOF'
		#!/bin/sh
		cat >/dev/null
		[ "$RALPH_ITERATION" = 1 ] || { echo '<promise>COMPLETE</promise>' && exit; }
		sed -i 's/"notes": ""/"notes": "thinking"/' .ralph/agent/prd.json
		echo 'I think about it.'
	EOF
	chmod +x agent.sh
	touch US-1
	git add -A
	git commit -qm agent
	loop_exits 3 build -n 1 -- ./agent.sh
	same 'Where the tasks stand' "$(git log -1 --format=%s)"
	loop_exits 3 resume -n 2
	same 'no-progress no-commit' "$(verdicts)"
}

@test '--branch names another' {
	loop_workspace 1
	build 0 honest --branch feature/x
	same feature/x "$(git branch --show-current)"
}

@test '--worktree works beside the repository, whose tree stays as it is' {
	local before

	loop_workspace 2
	before=$(git branch --show-current)
	build 0 honest --worktree
	same "$before" "$(git branch --show-current)"
	[ ! -e US-1 ]
	same 'true true' "$(passes US-1) $(passes US-2)"
	same 2 "$(git rev-list --count "HEAD..ralph/demo")"
	# It was clean at the end, so it is gone.
	same 1 "$(git worktree list | wc -l | tr -d ' ')"
}

@test 'an agent that commits everything takes the files of ralph along as they are: they count' {
	loop_workspace 2
	build 0 adds-all
	same 'done done' "$(verdicts)"
	same 'true true' "$(passes US-1) $(passes US-2)"
}

@test 'an agent that commits another list has its commits taken back, and the list is as it was' {
	loop_workspace 2
	build 4 rewrites-list --max-stuck 1
	same 'rejected rejected' "$(verdicts)"
	same 'false false' "$(passes US-1) $(passes US-2)"
	has "$(cat "$T/err")" 'what was there is kept at refs/ralph/rejected/'
	[ ! -e US-1 ]
	# But for the notes, which are the agent's to write.
	same '' "$(git status --porcelain -uno -- . ':!.ralph')"
}

@test 'a commit of somebody else does not count' {
	loop_workspace 1
	build 4 other-author --max-stuck 1
	same rejected "$(verdicts)"
	same 'Where the tasks stand
work to do' "$(git log -2 --format=%s)"
}

@test 'a commit with a private key does not count, and the next agent is told why' {
	loop_workspace 1
	build 4 secret --max-stuck 1
	same rejected "$(verdicts)"
	has "$(state 'j["tasks"]["US-1"]["last"]')" 'key.txt'
	[ ! -e key.txt ]
}

@test '--push brings what was verified to the remote, from the host' {
	loop_workspace 1
	git init -q --bare "$T/remote.git"
	git remote add origin "$T/remote.git"
	build 0 honest --push
	same "$(git rev-parse ralph/demo)" "$(git -C "$T/remote.git" rev-parse ralph/demo)"
}

@test 'a workspace without a repository: what is verified is done without a commit' {
	loop_workspace 1
	rm -rf .git
	cat >agent.sh <<-'EOF'
		#!/bin/sh
		echo x >"$RALPH_TASK"
		echo '<promise>COMPLETE</promise>'
	EOF
	chmod +x agent.sh
	loop_exits 0 build -- ./agent.sh
	same 'done' "$(verdicts)"
	has "$(cat "$T/err")" 'iteration 1: done, verified; '
	lacks "$(cat "$T/out" "$T/err")" 'verified and committed'
	lacks "$(cat "$T/out")" 'git log'
}

@test 'ralph loop: a prompt alone, until the promise is kept' {
	loop_workspace 1
	rm -r .ralph
	git commit -qam 'no list'
	cat >agent.sh <<-'EOF'
		#!/bin/sh
		grep -q 'make it so' || exit 1
		echo "$RALPH_ITERATION" >>tries && git add tries && git commit -qm try
		[ "$RALPH_ITERATION" -lt 3 ] || echo '<promise>COMPLETE</promise>'
	EOF
	chmod +x agent.sh
	git add -A && git commit -qm agent
	echo 'make it so' >"$T/prompt"
	loop_exits 0 loop --prompt "$T/prompt" --verify 'test "$(wc -l <tries)" = 3' -- ./agent.sh
	same 'progress progress done' "$(verdicts)"
}

@test 'ralph plan: one iteration, in which nothing becomes done' {
	loop_workspace 1
	cat >agent.sh <<-'EOF'
		#!/bin/sh
		cat >"prompt-seen"
		echo '- [ ] a step' >plan.md
		echo planned
	EOF
	chmod +x agent.sh
	echo 'PLAN IT' >.ralph/PROMPT_plan.md
	git add -A && git commit -qm agent
	loop_exits 0 plan -- ./agent.sh
	has "$(cat prompt-seen)" 'PLAN IT'
	same '- [ ] a step' "$(cat plan.md)"
	same false "$(passes US-1)"
	has "$(cat "$T/out")" 'next: ralph build'
}

@test 'without a sandbox: only when it is typed, said in red, with the blocklist, and the host still decides' {
	loop_workspace 1
	mkdir "$T/bin"
	cat >"$T/bin/claude" <<-EOF
		#!/bin/sh
		case \${1-} in --version) echo 2.1.325; exit ;; esac
		printf '%s\n' "\$@" >"\$HOME/args"
		exec "$WS/agent.py" honest
	EOF
	chmod 755 "$T/bin/claude"
	PATH=$T/bin:$PATH loop_exits 0 --no-sandbox build --iteration-cost 0.5 claude
	same 'done' "$(verdicts)"
	has "$(cat "$T/err")" 'NO SANDBOX'
	has "$(cat "$HOME/args")" --settings
	has "$(cat "$HOME/args")" pre-tool-use
	# What an iteration may cost is told to an agent that has such a limit.
	same 0.500000 "$(grep -A1 -x -e --max-budget-usd "$HOME/args" | tail -1)"
	must_exit 2 ralph --no-sandbox --engine native build claude 2>/dev/null
}

@test 'another list has a branch of its own, whatever was worked on before' {
	loop_workspace 1
	build 0 honest
	git checkout -q main 2>/dev/null || git checkout -q -
	printf '# More\n\n- [ ] second thing\n' >plan.md
	git add plan.md
	git commit -qm plan
	cat >agent.sh <<-'EOF'
		#!/bin/sh
		echo x >"$RALPH_TASK"; git add "$RALPH_TASK"; git commit -qm "$RALPH_TASK"
		echo '<promise>COMPLETE</promise>'
	EOF
	chmod +x agent.sh
	git add -A
	git commit -qm agent
	loop_exits 0 build -f plan.md -- ./agent.sh
	same ralph/more "$(git branch --show-current)"
	has "$(cat "$T/err")" 'no command verifies this work'
	same '' "$(git status --porcelain -uno)"
	same plan.md "$(git show --name-only --format= HEAD)"
}

@test 'a branch of ralph that was merged goes on from there' {
	local home

	home=$(git branch --show-current)
	loop_workspace 1
	build 0 honest
	git checkout -q "$home"
	git merge -q ralph/demo
	python3 - <<-'EOF'
		import json
		p = json.load(open(".ralph/prd.json"))
		p["userStories"].append(dict(p["userStories"][0], id="US-2", title="second", passes=False, verifyCommands=["test -f US-2"]))
		json.dump(p, open(".ralph/prd.json", "w"), indent=2)
	EOF
	git commit -qam 'one more'
	build 0 honest
	same ralph/demo "$(git branch --show-current)"
	same 'true true' "$(passes US-1) $(passes US-2)"
	git merge-base --is-ancestor "$home" ralph/demo
}

@test 'changes that are stashed go back to the branch they were made on, not to that of an earlier loop' {
	loop_workspace 2
	build 0 honest -n 9
	git checkout -q -b other
	ralph task reopen US-2
	git rm -q --cached US-2 && rm US-2 && git commit -qm 'once more'
	echo mine >>file
	build 0 honest --stash
	same other "$(git branch --show-current)"
	same mine "$(tail -n 1 file)"
	has "$(cat "$T/err")" 'put away: M file'
}

@test 'what ralph keeps for itself must be in no commit: exit 2 says how to take it out' {
	loop_workspace 1
	mkdir .ralph/state
	touch .ralph/state/lock
	git add -f .ralph/state
	git commit -qm oops
	loop_exits 2 build -- ./agent.py honest
	has "$(cat "$T/err")" 'git rm -r --cached .ralph/state'
	git rm -q -r --cached .ralph/state
	git commit -qm out
	build 0 honest
}

@test 'a build that finds nothing to do leaves nothing that git would add' {
	loop_exits 2 build -- true
	has "$(cat "$T/err")" 'or name one with --tasks'
	git add -A
	same '' "$(git ls-files .ralph | grep -v '^.ralph/.gitignore$' || true)"
}

@test 'resume and build with nothing to do touch nothing, the checked-out branch included' {
	local home before

	loop_workspace 2
	home=$(git branch --show-current)
	build 0 honest
	git switch -q "$home"
	state_of() {
		git branch -v --no-color
		git status --porcelain
		find .ralph -type f -exec md5sum {} + | sort
	}
	before=$(state_of)
	loop_exits 0 resume
	has "$(cat "$T/out")" 'exit 0: all 2 tasks are done and verified'
	same "$before" "$(state_of)"
	build 0 honest
	same "$before" "$(state_of)"
	same "$home" "$(git branch --show-current)"
}

@test 'a task that is stuck is nothing to do: the same end, and nothing is touched' {
	loop_workspace 1
	build 4 no-commit --max-stuck 1
	rm US-1
	git stash -q -u 2>/dev/null || :
	git switch -q -c elsewhere
	loop_exits 4 resume
	same elsewhere "$(git branch --show-current)"
	same 1 "$(state 'j["iterations"]')"
	# Reopened, there is something to do.
	ralph task reopen US-1
	loop_exits 0 resume -- ./agent.py honest
}

@test 'a loop whose work is done starts nothing when it is resumed' {
	loop_workspace 1
	build 0 honest
	loop_exits 0 resume
	has "$(cat "$T/out")" 'the task is done'
	same '' "$(ralph ls -q)"
	same 1 "$(find .ralph/logs/events -mindepth 1 -maxdepth 1 | wc -l)"
}
