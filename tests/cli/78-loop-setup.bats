#!/usr/bin/env bats
# runs: user
# loop.setup: commands that prepare the sandboxes of a loop.
# shellcheck disable=SC2016 # text for shells inside
load helpers
load sandbox
load loop

# Each run of the command is a line in `runs`, which git ignores.
SETUP='echo run >>runs; cp package.json ~/installed'

project() {
	loop_workspace "$1"
	echo 1 >package.json
	git add -A
	git commit -qm 'a package'
}

@test 'setup commands run inside, once, before the baseline and the agents, and their time is shown apart' {
	project 2
	build 0 honest --setup "$SETUP" --setup 'touch made-by-setup' --verify 'test -e ~/installed && test -e made-by-setup'
	same 1 "$(wc -l <runs)"
	[ ! -e ~/installed ]
	# What setup makes is not the agent's to commit.
	same 'done done' "$(verdicts)"
	lacks "$(cat "$T/out")" 'failed before the loop'
	has "$(cat "$T/out")" 'setup: 1 run, '
	same 1 "$(summary 'j["setup"]["runs"]')"
}

@test 'setup runs again when an input changed, and in a loop that is resumed only then' {
	project 3
	build 3 honest --setup "$SETUP" -n 1
	loop_exits 3 resume -n 2
	same 1 "$(wc -l <runs)"
	echo 2 >package.json
	git commit -qam 'another package'
	loop_exits 0 resume -n 9
	same 2 "$(wc -l <runs)"
	same 2 "$(summary 'j["setup"]["runs"]')"
}

@test 'a script that a setup command names is an input' {
	project 2
	printf 'echo run >>runs\n' >prepare.sh
	git add -A
	git commit -qm 'a script'
	build 3 honest --setup 'sh ./prepare.sh' -n 1
	echo '# more' >>prepare.sh
	git commit -qam 'more'
	loop_exits 0 resume -n 9
	same 2 "$(wc -l <runs)"
}

@test 'setup that fails before the first iteration ends the loop and says why' {
	project 1
	build 1 honest --setup 'echo no such package; exit 5'
	has "$(cat "$T/err")" 'the sandbox cannot be prepared: `echo no such package; exit 5` ended with 5'
	has "$(cat "$T/err")" 'no such package'
	[ ! -e US-1 ]
}

@test 'setup that fails after an agent changed its input is told to the next agent' {
	project 1
	build 0 breaks-setup --setup 'test "$(cat package.json)" = 1'
	has "$(cat runs)" '# The sandbox could not be prepared'
	has "$(cat runs)" 'ended with 1'
}
