#!/usr/bin/env bats
# runs: root user
# An agent that forges the result of its checks: nothing that it left outside of its commits decides.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # text for shells inside
load ../cli/helpers
load ../cli/sandbox
load ../cli/loop

# forger SCRIPT: the agent of a loop does this, commits something that proves nothing, and says that all is done.
forger() {
	printf '#!/bin/sh\n%s\necho "$RALPH_ITERATION" >>work; git add work; git commit -qm work\necho "<promise>COMPLETE</promise>"\n' "$1" >forger.sh
	chmod +x forger.sh
	git add forger.sh
	git commit -qm forger
}

# work CHECK: one task, which this command proves.
work() {
	loop_workspace
	python3 - "$1" <<-'END'
		import json, sys
		j = json.load(open(".ralph/prd.json"))
		j["userStories"][0]["verifyCommands"] = [sys.argv[1]]
		json.dump(j, open(".ralph/prd.json", "w"))
	END
	git commit -qam 'the task and its check'
}

# refuted N [OPTION…]: N iterations of the forger end without the task, whose check has failed in the last of them.
refuted() {
	local n=$1
	shift

	loop_exits 3 build --net none -n "$n" "$@" -- ./forger.sh
	same false "$(passes US-1)"
	has "$(cat "$T/err" "$T/out")" 'not verified'
}

@test 'a program in ~/.local/bin, in a directory of PATH or in a cache does not stand for the one that a check runs' {
	work 'PATH="$HOME/.local/bin:$HOME/bin:$HOME/.cache/tool:$PATH" prove-it'
	forger 'mkdir -p ~/.local/bin ~/bin ~/.cache/tool; for d in ~/.local/bin ~/bin ~/.cache/tool; do printf "#!/bin/sh\nexit 0\n" >$d/prove-it; chmod +x $d/prove-it; done'
	refuted 1
}

@test "Python's usercustomize.py of the agent's home does not run in a check" {
	work 'python3 -c "raise SystemExit(5)"'
	forger 'd=$(python3 -m site --user-site); mkdir -p "$d"; printf "import os\nos._exit(0)\n" >"$d/usercustomize.py"; printf "import os; os._exit(0)\n" >"$d/x.pth"'
	refuted 1
}

@test "settings of git, npm and shells in the agent's home are not those of a check" {
	work 'git prove || test -e ~/.npmrc || bash -lc "exit 5"'
	forger 'mkdir -p ~/.config/git; printf "[alias]\n\tprove = !true\n" | tee ~/.gitconfig >~/.config/git/config
		echo "script-shell=/bin/true" >~/.npmrc; printf "exit 0\n" | tee ~/.profile ~/.bash_profile >~/.bashrc'
	refuted 1
}

@test "settings and hooks of the agent's git directory are not those of a check" {
	work 'git prove || test -e .git/hooks/prove || test -n "$(git config core.fsmonitor | grep true)"'
	forger 'git config alias.prove "!true"; git config core.fsmonitor /bin/true; printf "#!/bin/sh\nexit 0\n" >.git/hooks/prove; chmod +x .git/hooks/prove'
	refuted 1
}

@test 'nothing that an agent leaves running or in /tmp is there when a check runs' {
	work 'grep -qsx forging /proc/[0-9]*/comm || test -e /tmp/forged || test -e /dev/shm/forged'
	forger 'mkdir -p /tmp/forged /dev/shm/forged; cp "$(command -v sleep)" ~/forging; setsid ~/forging 1000 >/dev/null 2>&1 </dev/null &'
	refuted 1
}

@test 'what the checks of one iteration leave in their home does not decide the next' {
	work ./check.sh
	printf '#!/bin/sh\ntest -e ~/proof || { touch ~/proof; exit 1; }\n' >check.sh
	chmod +x check.sh
	git add check.sh
	git commit -qm check
	forger :
	refuted 3
}

@test 'setup prepares the home of the checks: an agent that writes over the result changes nothing there' {
	work 'grep -q forged ~/.tool/result'
	forger 'grep -q honest ~/.tool/result && touch seen && git add seen; echo forged >~/.tool/result'
	refuted 1 --setup 'mkdir -p ~/.tool; echo honest >~/.tool/result' --verify 'grep -q honest ~/.tool/result'
	lacks "$(cat "$T/err")" 'grep -q honest ~/.tool/result: ended'
	# The agent has what setup made, too.
	git cat-file -e ralph/demo:seen
}

@test 'setup that ran over files which are not committed does not prepare the checks of the commit' {
	work 'grep -q forged ~/result'
	printf 'echo honest >~/result\n' >prepare.sh
	git add prepare.sh
	git commit -qm prepare
	# The script that forges is there when the second iteration begins, and is put back before it is judged.
	forger 'if [ "$RALPH_ITERATION" = 1 ]; then echo "echo forged >~/result" >prepare.sh; touch left; exit; fi
		git checkout -q prepare.sh; rm -f left'
	refuted 3 --setup 'sh ./prepare.sh'
}
