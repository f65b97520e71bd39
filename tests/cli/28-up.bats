#!/usr/bin/env bats
# runs: user
# A sandbox to work in: ralph up.
# shellcheck disable=SC2016 # text for shells inside
load helpers
load sandbox

setup() {
	ralph_setup
	need python3
	export TERM=xterm
}

on_terminal() {
	python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" "$@"
}

@test 'up opens a shell in the workspace, after the audit and a yes; the exit code is its own' {
	must_exit 3 on_terminal 'expect:engine' 'expect:Proceed' 'send:y\n' 'expect:\$ ' 'send:cd /tmp; echo at-$OLDPWD-$RALPH_SANDBOX-\n' \
		"expect:at-$WS-agent-loop-command-" 'send:exit 3\n' -- "$RALPH" up
	down
	must_exit 125 on_terminal 'expect:Proceed' 'send:n\n' -- "$RALPH" up --net none
}

@test 'up without a terminal runs what it reads, and asks nothing' {
	same "inside $WS" "$(echo 'echo inside "$PWD"' | ralph up)"
	must_exit 7 ralph up <<<'exit 7'
	down
}

@test 'up -d starts it and prints its name; more shells join it; it stays until it is stopped' {
	local name

	name=$(ralph up -d </dev/null)
	same "$name" "$(sandbox)"
	up
	same there "$(ralph exec "$name" echo there)"
	same "$name" "$(echo 'echo $RALPH_SANDBOX' | ralph up)"
	up
	ralph stop "$name"
	down
}

@test 'up tests a new sandbox once, before anything runs in it' {
	ralph up -d
	same 1 "$(grep -c '"ralph-probe","tell"' "$XDG_STATE_HOME"/ralph/sandboxes/*/events.jsonl)"
	ralph up -d
	same 1 "$(grep -c '"ralph-probe","tell"' "$XDG_STATE_HOME"/ralph/sandboxes/*/events.jsonl)"
}

@test 'up takes settings, a name and a path; --dry-run starts nothing' {
	mkdir "$HOME/p"
	has "$(ralph --dry-run up "$HOME/p")" "$HOME/p"
	[ ! -e "$XDG_STATE_HOME/ralph/sandboxes" ]
	same "u-${WS##*-}" "$(ralph up -d -n "u-${WS##*-}" -e A=1 --net none "$HOME/p")"
	same none "$(ralph inspect --json "u-${WS##*-}" | get 'j["network"]["tier"]')"
	must_exit 2 ralph up a b
}
