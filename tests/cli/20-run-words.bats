#!/usr/bin/env bats
# runs: user
# What people type: ralph's options, then the agent, then the agent's own arguments.
# shellcheck disable=SC2016 # text for shells inside
load helpers
load sandbox

setup() {
	ralph_setup
	need python3
	export TERM=xterm
	# An agent that says what it was given and where.
	mkdir -p "$HOME/.local/bin"
	printf '#!/bin/sh\necho "at $PWD:"; for a; do echo "<$a>"; done\n' >"$HOME/.local/bin/claude"
	chmod +x "$HOME/.local/bin/claude"
	export PATH=$HOME/.local/bin:$PATH ANTHROPIC_API_KEY=sk-ant-api03-not-a-key
}

on_terminal() {
	python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" "$@"
}

# said: the words that the agent got behind those that ralph gives it.
said() {
	ralph "$@" 2>"$T/err" </dev/null | xargs || fail "$(cat "$T/err")"
}

@test "everything behind the agent is the agent's own" {
	has "$(said claude -p hi)" '<-p> <hi>'
	has "$(said run claude --model x -p 'fix the tests')" '<--model> <x> <-p> <fix the tests>'
	has "$(said claude 'fix the tests')" '<fix the tests>'
	has "$(said claude --help)" '<--help>'
	has "$(said claude -- --net none)" '<--net> <none>'
	lacks "$(said claude -- --net none)" '<-->'
}

@test "an option of ralph's behind the agent is refused, and nothing starts" {
	local o

	for o in '--net none' --net=none '--profile x' --rm '--engine docker' '--agent codex'; do
		# shellcheck disable=SC2086 # two words
		run --separate-stderr ralph run claude $o
		same 2 "$status"
		# shellcheck disable=SC2154 # bats sets stderr
		has "$stderr" "put ${o%%[ =]*} before claude, or after --"
		# shellcheck disable=SC2086 # two words
		must_exit 2 ralph claude -p hi $o
	done
	same '' "$(ralph ls -q)"
	has "$(said run --rm --net allowlist claude -p hi)" '<-p> <hi>'
}

@test 'a directory behind the agent is the workspace when it is alone or -- follows' {
	local other=$HOME/other-${WS##*-}

	mkdir "$other"
	has "$(said claude "$other")" "at $other:"
	has "$(said claude "$other" -- --resume)" "at $other:"
	has "$(said claude "$other" -- --resume)" '<--resume>'
	has "$(said run -C "$other" claude -p hi)" "at $other:"
	has "$(said run -C "$other" claude . -p hi)" '<.> <-p> <hi>'
	run --separate-stderr ralph claude "$other" -p hi
	same 2 "$status"
	has "$stderr" "put -C $other before claude"
	must_exit 2 ralph run -C "$other" . -- true
}

@test 'a command without -- gets a suggestion' {
	run --separate-stderr ralph run make -j4 'a b'
	same 2 "$status"
	has "$stderr" "did you mean: ralph run -- make -j4 'a b'"
	run --separate-stderr ralph run --rm make
	same 2 "$status"
	has "$stderr" 'did you mean: ralph run -- make'
	same inside "$(ralph run . --net none -- echo inside)"
	# With --, it was meant as a workspace.
	run --separate-stderr ralph run no-such -- true
	same 2 "$status"
	has "$stderr" 'does not exist'
}

@test 'a bare ralph run offers the agents found here, on a terminal only' {
	on_terminal 'expect:1  ralph run claude' 'expect:Which agent' 'send:1\n' 'expect:Proceed' 'send:y\n' 'expect:at ' -- "$RALPH" run
	on_terminal 'expect:Which agent' 'send:claude\n' 'expect:Proceed' 'send:n\n' -- "$RALPH" run || :
	must_exit 2 ralph run </dev/null
}
