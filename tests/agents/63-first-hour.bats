#!/usr/bin/env bats
# runs: user
# seconds: 150
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

# in_terminal ROWSxCOLS AGENT READY KEYS ANSWERED LEAVE…: an agent's own terminal, from its start to the shell's next prompt.
in_terminal() {
	local size=$1 agent=$2 ready=$3 keys=$4 answered=$5
	shift 5

	mkdir -p hello && git init -q -b main hello
	steps '[{"say": "The door is blue."}]'
	hour "$size" 'send:cd hello; clear\n' prompt:2 keep: \
		"send:ralph run $agent\n" 'expect:Proceed' "shot:$agent-question" 'send:y\n' "expect:$ready" "shot:$agent-start" \
		"send:$keys" "expect:$keys" "enter:$answered" "shot:$agent-answer" "$@" prompt:3 restored: "shot:$agent-exit"
}

# Claude Code names the conversation at its exit if it has written it to its file by then.
claude() {
	in_terminal "$1" claude 'bypass permissions on' greetings 'The door is blue' \
		"file:$XDG_STATE_HOME/ralph/homes/*/.claude/projects/*/*.jsonl" send:/exit 'expect:❯ /exit' 'send:\r'
}

codex() {
	login codex key
	in_terminal "$1" codex 'Ask Codex' Z 'Worked for' 'send:\x03' 'send:\x03'
}

gemini() {
	login gemini key
	in_terminal "$1" gemini 'Type your message' greetings 'The door is blue' 'send:\x03' 'expect:again to exit' 'send:\x03' \
		'from:Interaction Summary'
}

@test "Claude Code's terminal on 80x24: a start, an answer and the shell again are those that are on record" {
	claude 24x80
}

@test "Claude Code's terminal on 120x35: a start, an answer and the shell again are those that are on record" {
	claude 35x120
}

@test "Codex's terminal on 80x24: a start, an answer and the shell again are those that are on record" {
	codex 24x80
}

@test "Codex's terminal on 120x35: a start, an answer and the shell again are those that are on record" {
	codex 35x120
}

@test "Gemini's terminal on 80x24: a start, an answer and the shell again are those that are on record" {
	gemini 24x80
}

@test "Gemini's terminal on 120x35: a start, an answer and the shell again are those that are on record" {
	gemini 35x120
}

# On the alternate screen, into which Claude Code draws, lines of ralph's would not be seen: the stream has them all.
@test "from 'ralph run claude' to the prompt of Claude Code the second time: no question, no screen, at most one line of ralph's" {
	local ENTER claude=('expect:bypass permissions on' send:/exit expect:exit 'send:\r')

	mkdir hello && git init -q -b main hello
	cd hello
	enter
	export TERM=xterm-256color
	python3 "$NETBED/../cli/terminal.py" "$T/first" 'expect:Proceed' 'send:y\n' "${claude[@]}" -- "${ENTER[@]}" ralph run claude 3>&-
	python3 "$NETBED/../cli/terminal.py" "$T/second" "${claude[@]}" -- "${ENTER[@]}" ralph run claude 3>&-
	before_the_agent <"$T/first" >"$T/lines"
	has "$(cat "$T/lines")" Proceed
	before_the_agent <"$T/second" >"$T/lines"
	[ "$(grep -c . "$T/lines")" -le 1 ] || fail "$(cat "$T/lines")"
	! grep -q '?' "$T/lines" || fail "asked: $(cat "$T/lines")"
}

# before_the_agent: of a terminal's stream, the text until Claude Code switches the first mode of the terminal.
before_the_agent() {
	python3 -c 'import re, sys; print(re.split(rb"\x1b\[[?>]", sys.stdin.buffer.read())[0].decode())'
}
