#!/usr/bin/env bats
# runs: user
# seconds: 60
# The first hour of a person, on a terminal: commands of README and of the getting-started page, typed. What the screen shows is in golden/, for two sizes; lib/screen.py masks what differs from run to run.
# If there is a file golden/.record, the screens of today are written to the directory that it names, which every user can write.
# shellcheck disable=SC2154
load agents
load ../lib/pages

setup() {
	newcomer_setup
	unset COLORTERM
}

# hour ROWSxCOLS STEP…: the steps in an interactive shell of a newcomer; see lib/screen.py.
hour() {
	local size=$1 record=() golden=$BATS_TEST_DIRNAME/golden ENTER
	shift

	[ ! -e "$golden/.record" ] || { record=(--record) && golden=$(cat "$golden/.record"); }
	enter
	TERM=xterm-256color PS1='\# $ ' python3 "$NETBED/screen.py" "${record[@]}" "$golden" "$size" prompt:1 "$@" \
		'send:exit\n' -- "${ENTER[@]}" bash --norc --noprofile -i 3>&-
}

# by_hand ROWSxCOLS: from an empty directory to a sandbox, its walls, and what was refused.
by_hand() {
	export GIT_CONFIG_GLOBAL=$HOME/.gitconfig
	hour "$1" 'send:git config --global user.name You; git config --global user.email you@example.invalid; mkdir hello; cd hello; git init -q -b main\n' prompt:2 \
		'send:clear; ralph run make\n' prompt:3 shot:typed-wrong \
		'send:clear; ralph run -- sh -c "ls -A; echo ready"\n' 'expect:Proceed' shot:first-question 'send:y\n' prompt:4 \
		'send:clear; ralph run -- sh -c "echo again"\n' prompt:5 shot:second-start \
		'send:clear; ralph run -- curl -sS https://example.com\n' prompt:6 shot:refused-host \
		'send:clear; ralph why example.com\n' prompt:7 shot:why-host \
		'send:clear; ralph net allow example.com\n' prompt:8 shot:allowed-host \
		'send:clear; ralph rm --all\n' 'expect:\[y/N\]' shot:rm-question 'send:y\n' prompt:9
}

@test 'the first hour by hand, on 80x24: the screens are those that are on record' {
	by_hand 24x80
}

@test 'the first hour by hand, on 120x35: the screens are those that are on record' {
	by_hand 35x120
}
