#!/usr/bin/env bats
# runs: root user
# What one session leaves in a home: for whom it lies there, and for whom not.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../cli/helpers
load ../cli/sandbox
load ../cli/loop

PLANT='mkdir -p ~/.claude ~/.codex ~/.claude/skills/x; echo planted >~/.claude/CLAUDE.md; echo planted >~/.codex/AGENTS.md; echo planted >~/.bashrc
	echo planted >~/.claude/skills/x/SKILL.md'
SEEN='find ~ -xdev -type f -exec grep -l planted {} + 2>/dev/null | grep -v "^$PWD/" | wc -l'

# home: of the project here.
home() {
	find "$XDG_STATE_HOME/ralph/homes" -maxdepth 1 -type d -name "${WS##*/}-*"
}

# agent SCRIPT: the agent of a loop does this, then its task.
agent() {
	printf '#!/bin/sh\n%s\ntouch "$RALPH_TASK"; git add "$RALPH_TASK"; git commit -qm "$RALPH_TASK"\necho "<promise>COMPLETE</promise>"\n' "$1" >agent.sh
	chmod +x agent.sh
	git add agent.sh
	git commit -qm agent
	BEFORE=$(git rev-parse HEAD)
}

# begin_again: as if the loop had never been.
begin_again() {
	git checkout -qf -B start "$BEFORE"
	git branch -qD ralph/demo
	rm -rf .ralph/state .ralph/summary.json
	git checkout -q "$BEFORE" -- .ralph
}

@test 'what a session plants in its home does not reach a loop, nor a sandbox with --rm' {
	loop_workspace
	agent "$SEEN >seen; git add seen"
	ralph run -- sh -c "$PLANT"
	[ "$(ralph run -- sh -c "$SEEN")" -gt 0 ]
	loop_exits 0 build --net none -- ./agent.sh
	same 0 "$(git show ralph/demo:seen)"
	same 0 "$(ralph run --rm -- sh -c "$SEEN")"
}

@test "what a loop plants in its home reaches neither the project's home nor the next loop: only its conversations do" {
	loop_workspace
	agent "$SEEN >seen; git add seen; $PLANT; mkdir -p ~/.claude/projects/-p/memory; echo planted >~/.claude/projects/-p/memory/MEMORY.md
		echo '{\"type\":\"user\",\"message\":{\"content\":\"hello\"}}' >~/.claude/projects/-p/said.jsonl"
	loop_exits 0 build --net none -- ./agent.sh
	ralph run -- true
	same ./.claude/projects/-p/said.jsonl "$(cd "$(home)" && find . -type f)"
	begin_again
	loop_exits 0 build --net none -- ./agent.sh
	same 0 "$(git show ralph/demo:seen)"
}

@test 'copying conversations follows no link, and takes plain files only' {
	echo secret-of-the-host >"$HOME/secret"
	mkdir "$HOME/dir"
	echo secret-of-the-host >"$HOME/dir/s.jsonl"
	loop_workspace
	agent "mkdir -p ~/.claude/projects/-p ~/.codex; cd ~/.claude/projects/-p; ln -s $HOME/secret a.jsonl; ln -s /proc/self/environ b.jsonl; mkfifo c.jsonl
		mkdir d.jsonl; ln -s $HOME/dir ../-q; ln -s ../../../.. e.jsonl; echo '{}' >plain.jsonl; chmod 0 plain.jsonl; echo '{}' >ok.jsonl; cd \"\$OLDPWD\""
	# The project's home lies in wait as well.
	ralph run -- sh -c "mkdir -p ~/.claude; ln -s $HOME/dir ~/.codex; ln -s $HOME/dir ~/.claude/projects"
	loop_exits 0 build --net none -- ./agent.sh
	same s.jsonl "$(ls "$HOME/dir")"
	same '' "$(grep -rl secret-of-the-host "$(home)" || :)"
	ralph run -- sh -c 'rm ~/.claude/projects'
	begin_again
	ralph --yes rm --home
	loop_exits 0 build --net none -- ./agent.sh
	ralph run -- true
	has "$(cd "$(home)" && find . -name '*.jsonl')" ok.jsonl
	same '' "$(cd "$(home)" && find . -path '*projects*' ! -type f ! -type d)"
	same '' "$(grep -rl secret-of-the-host "$XDG_STATE_HOME/ralph/homes" || :)"
}

@test 'another project never sees the home: not as a directory, not by a name, not by a link' {
	ralph run -- sh -c 'echo here >~/mark'
	mkdir "$HOME/other"
	ralph run -n other "$HOME/other" -- sh -c 'ls -A ~ | grep -v other; [ ! -e ~/mark ]'
	ralph run -n other "$HOME/other" -- sh -c "ln -s $XDG_STATE_HOME/ralph/homes ~/homes; ! ls ~/homes/ 2>/dev/null"
	same here "$(ralph run -- sh -c 'cat ~/mark')"
	# A repository that points to this one's does not make it the same project.
	printf 'gitdir: %s/.git\n' "$WS" >"$HOME/other/.git"
	must_fail ralph run -n third "$HOME/other" -- sh -c 'cat ~/mark' 2>/dev/null
}

@test 'a home is no hiding place: what was hidden in one session is a finding when the next one points to it' {
	ralph run -- sh -c 'git init -q ~/hidden; printf "[core]\n\tfsmonitor = touch %s/ran\n" "$PWD" >>~/hidden/.git/config'
	run --separate-stderr ralph run -- sh -c "mkdir sub; printf 'gitdir: %s/hidden/.git\n' '$(home)' >sub/.git"
	has "$stderr" sub/.git
	(cd sub && git status >/dev/null 2>&1) || :
	[ ! -e ran ]
}
