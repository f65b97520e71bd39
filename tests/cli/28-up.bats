#!/usr/bin/env bats
# runs: user
# A sandbox to work in: ralph up.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # text for shells inside; tests are subshells; bats sets stderr
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

# program NAME: an agent that says what it has, as npm's global packages and the installers have it.
program() {
	mkdir -p "$HOME/.local/bin" "$HOME/.claude" "$HOME/.codex"
	printf '#!/bin/sh\necho "%s: ${ANTHROPIC_API_KEY:-none} ${RALPH_PHANTOM:-none} ${GEMINI_API_KEY:-none}"\n' "$1" >"$HOME/.local/bin/$1"
	chmod +x "$HOME/.local/bin/$1"
}

@test 'up has the logins and settings of every agent found, as placeholders; --agent has one' {
	local got name

	program claude && program codex && program gemini
	export PATH=$HOME/.local/bin:$PATH ANTHROPIC_API_KEY=real-a OPENAI_API_KEY=real-o GEMINI_API_KEY=real-g
	got=$(ralph up <<<'claude; codex; gemini; cat ~/.codex/config.toml ~/.gemini/settings.json; env')
	lacks "$got" real-
	lacks "$got" ': none'
	lacks "$got" ' none'
	has "$got" 'model_provider = "ralph"'
	has "$got" 'gemini-api-key'
	name=$(sandbox)
	same "['claude', 'codex', 'gemini']" "$(ralph inspect --json "$name" | get 'j["agents"]')"
	same "['anthropic', 'gemini', 'openai']" "$(ralph inspect --json "$name" | get 'sorted(c["name"] for c in j["credentials"])')"
	# No host is opened for logging in to the others.
	same '[]' "$(ralph inspect --json "$name" | get 'j["network"]["rules"]')"
	got=$(ralph up --agent codex <<<'codex')
	has "$got" 'codex: none '
	lacks "$got" 'none none'
}

@test 'up: a login that cannot be used is said, and the other agents work' {
	program claude && program codex
	export PATH=$HOME/.local/bin:$PATH ANTHROPIC_API_KEY=real-a
	(umask 077 && echo '{' >"$HOME/.codex/auth.json")
	run --separate-stderr ralph up <<<claude
	[ "$status" -eq 0 ] || fail "$status $stderr"
	lacks "$output" 'claude: none'
	has "$stderr" 'Codex has no login here'
}

@test 'a command joins a sandbox that has more agents than it asks for, and up joins one that has fewer' {
	local name

	program claude
	export PATH=$HOME/.local/bin:$PATH ANTHROPIC_API_KEY=real-a
	name=$(ralph up -d </dev/null)
	same "$name" "$(ralph run -- sh -c 'echo $RALPH_SANDBOX')"
	# A wall that the command asks for is not lost.
	must_exit 2 ralph run --net none -- true
	ralph stop "$name" && ralph rm -f "$name"
	ralph run -d
	run --separate-stderr ralph up <<<'echo $RALPH_SANDBOX'
	[ "$status" -eq 0 ] || fail "$stderr"
	same "$name" "$output"
	has "$stderr" "live without the agents' logins"
}

@test 'exec and shells find the programs of ~/.local/bin that run finds, and never a private one' {
	local name

	program mine
	mkdir -p "$HOME/.local/share/pipx/venvs/t/bin" "$HOME/bin" "$HOME/.ssh"
	printf '#!/bin/sh\necho piped\n' >"$HOME/.local/share/pipx/venvs/t/bin/t"
	printf '#!/bin/sh\necho from-bin\n' >"$HOME/bin/b"
	printf '#!/bin/sh\necho key\n' >"$HOME/.ssh/k"
	chmod +x "$HOME/.local/share/pipx/venvs/t/bin/t" "$HOME/bin/b" "$HOME/.ssh/k"
	ln -s ../share/pipx/venvs/t/bin/t "$HOME/.local/bin/t"
	ln -s ../.ssh/k "$HOME/bin/k"
	export PATH=$HOME/.local/bin:$HOME/bin:$PATH
	for how in up run; do
		name=$(ralph $how -d </dev/null && sandbox) && name=${name##*$'\n'}
		has "$(ralph exec "$name" mine)" 'mine: '
		same piped "$(ralph exec "$name" t)"
		same from-bin "$(ralph exec "$name" b)"
		same from-bin "$(ralph shell "$name" <<<b)"
		must_exit 127 ralph exec "$name" k
		must_exit 1 ralph exec "$name" test -e "$HOME/.ssh/k"
		ralph stop "$name"
	done
}
