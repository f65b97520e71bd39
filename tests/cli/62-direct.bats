#!/usr/bin/env bats
# runs: user
# Without a sandbox: never by itself, never without the blocklist, and never quietly.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # text for shells; tests are subshells; bats sets stderr
load helpers
load sandbox

# An agent that tells what it was given, and asks its hook as Claude Code does.
setup() {
	ralph_setup
	mkdir "$T/bin"
	cat >"$T/bin/claude" <<-'SH'
		#!/bin/sh
		case ${1-} in --version) echo 2.1.325; exit ;; esac
		printf '%s\n' "$@" >"$HOME/args"
		[ -z "${TASK-}" ] || exec sh -c "$TASK"
		exit "${CODE-0}"
	SH
	chmod 755 "$T/bin/claude"
	cp "$T/bin/claude" "$T/bin/codex"
	export PATH=$T/bin:$PATH
}

# settings: what stands behind --settings.
settings() {
	grep -A1 -x -e --settings "$HOME/args" | tail -1
}

@test "an agent runs on the host, with the user's environment, and its code is passed on" {
	echo private >"$HOME/private"
	MINE=yes TASK='cat "$HOME/private"; echo "$MINE $PWD"; echo err >&2; exit 6' \
		run --separate-stderr ralph --no-sandbox run -T claude -- -p hello
	same 6 "$status"
	same "private yes $WS" "$(xargs <<<"$output")"
	has "$stderr" err
	has "$(cat "$HOME/args")" "--dangerously-skip-permissions"
	same "hello" "$(tail -1 "$HOME/args")"
}

@test "it is said in one red line, and in the event log" {
	run --separate-stderr ralph --no-sandbox run -T claude
	same 0 "$status"
	same 1 "$(grep -c "NO SANDBOX" <<<"$stderr")"
	lacks "$stderr" $'\033'
	run --separate-stderr ralph --color always --no-sandbox run -T claude
	has "$stderr" $'\033[31mNO SANDBOX'
	has "$(cat "$XDG_STATE_HOME/ralph/sandboxes/$(sandbox)/events.jsonl")" '"type":"no-sandbox"'
}

@test "the blocklist is wired, and blocks" {
	ralph --no-sandbox run -T claude 2>/dev/null
	hook=$(settings | get "j['hooks']['PreToolUse'][0]['hooks'][0]['command']")
	same block "$(settings | get "j['hooks']['PreToolUse'][0]['hooks'][0]['onFailure']")"
	must_exit 2 sh -c "$hook" <<<'{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm -rf ~"}}' \
		2>/dev/null
	must_exit 0 sh -c "$hook" <<<'{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}'
}

# refused CODE TEXT CMD…: with that code and that word, and the agent was not run.
refused() {
	local code=$1 text=$2
	shift 2

	run --separate-stderr "$@"
	same "$code" "$status"
	has "$stderr" "$text"
	[ ! -e "$HOME/args" ] || fail "the agent was run"
}

@test "where the blocklist cannot be wired nothing is run" {
	refused 2 "runs an agent" ralph --no-sandbox run -- true
	refused 125 "takes no hooks" ralph --no-sandbox run -T codex
	refused 2 "--settings" ralph --no-sandbox run -T claude -- --settings '{}'
	refused 2 "--bare" ralph --no-sandbox run -T claude -- --bare
	for file in "$WS/.claude/settings.json" "$WS/.claude/settings.local.json" "$HOME/.claude/settings.json"; do
		mkdir -p "${file%/*}"
		echo '{"disableAllHooks": true}' >"$file"
		refused 125 "$file" ralph --no-sandbox run -T claude
		echo '{"disableAllHooks"' >"$file"
		refused 125 "$file" ralph --no-sandbox run -T claude
		rm "$file"
	done
	same "" "$(ralph ls -q)"
}

@test "a blocklist that is not there, or lets everything through, is none" {
	mkdir "$T/libexec"
	ln -s "$(dirname "$RALPH")"/../libexec/ralph/* "$T/libexec/"
	rm "$T/libexec/hook"
	RALPH_LIBEXEC=$T/libexec refused 125 "blocklist" ralph --no-sandbox run -T claude
	printf '#!/bin/sh\nexit 0\n' >"$T/libexec/hook"
	chmod 755 "$T/libexec/hook"
	RALPH_LIBEXEC=$T/libexec refused 125 "let through" ralph --no-sandbox run -T claude
}

@test "it is typed, or it is not: no file, no variable, no other command has it" {
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	echo 'engine: direct' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	must_exit 2 ralph run -- true
	rm "$XDG_CONFIG_HOME/ralph/config.yaml"
	RALPH_ENGINE=direct must_exit 2 ralph run -- true
	must_exit 2 ralph --engine direct run -- true
	must_exit 2 ralph --no-sandbox up
	must_exit 2 ralph --no-sandbox exec x true
	must_exit 2 ralph --sandbox --no-sandbox run claude
	must_exit 2 ralph --engine native --no-sandbox run claude
}

@test "without any engine that is usable nothing is run, with --sandbox or without" {
	own_guest 'exit 1'
	for args in "" "--sandbox"; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr ralph $args run -- true
		same 125 "$status"
		has "$stderr" guest
		lacks "$stderr" "NO SANDBOX"
	done
}

@test "nobody joins it" {
	TASK='touch ready; while [ ! -e go ]; do sleep 0.05; done' \
		"$RALPH" --no-sandbox run -T claude 2>/dev/null 3>&- &
	wait_until test -e ready
	run --separate-stderr ralph exec "$(sandbox)" true
	same 125 "$status"
	has "$stderr" "no sandbox"
	touch go
	wait $!
	rm ready go
}

@test "a killed command line ends the agent with all that it started" {
	TASK='setsid sleep 61 & (setsid sh -c "sleep 61 & sleep 61" &); touch ready; exec sleep 61' \
		"$RALPH" --no-sandbox run -T claude 2>/dev/null 3>&- &
	wait_until test -e ready
	kill -9 $!
	wait_until nothing_left
	rm ready
}

@test "signals and time limits reach the agent" {
	TASK='trap "exit 9" TERM; touch ready; while :; do sleep 0.05; done' \
		"$RALPH" --no-sandbox run -T claude 2>/dev/null 3>&- &
	wait_until test -e ready
	kill -TERM $!
	code=0
	wait $! || code=$?
	same 9 $code
	TASK='exec sleep 61' must_exit 143 ralph --no-sandbox run --timeout 500ms -T claude 2>/dev/null
	rm ready
}

@test "a killed supervisor ends the agent" {
	TASK='setsid sleep 61 & touch ready; exec sleep 61' "$RALPH" --no-sandbox run -T claude 2>/dev/null 3>&- &
	wait_until test -e ready
	kill -9 "$(field "$(sandbox)" supervisor)"
	wait_until nothing_left
	rm ready
}

# in_shell STEP…: the steps in an interactive shell of the user's, which ends with 3.
in_shell() {
	must_exit 3 env PS1='$ ' TERM=xterm python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" 'expect:\$ ' "$@" 'send:exit 3\n' -- bash --norc --noprofile -i
}

@test "Ctrl-Z stops an agent without a sandbox and ralph, with a terminal and without one; fg continues both" {
	local how

	need python3
	export TASK='trap "echo back-$((3 + 4))" CONT; echo run-$((1 + 1)); while :; do :; done'
	for how in -t -T; do
		in_shell "send:$RALPH --yes --no-sandbox run $how claude\n" 'expect:run-2' 'send:\x1a' 'expect:Stopped' 'send:echo still-$((40+2))\n' 'expect:still-42' \
			'send:fg\n' 'expect:back-7' 'send:\x03' 'expect:\$ ' 'send:echo code-$?\n' 'expect:code-130'
	done
}

@test "an agent without a sandbox that stops itself gives the shell back; the terminal is left as it was" {
	need python3
	export TASK='printf "\033[?1049h"; echo run-$((1+1)); read x; kill -STOP $$; echo back-$((3+4)); read x; kill -9 $$'
	in_shell "send:$RALPH --yes --no-sandbox run -t claude\n" 'expect:run-2' 'send:go\n' 'expect:Stopped' 'send:fg\n' 'expect:back-7' 'send:end\n' \
		'expect:1049l' 'expect:\$ ' 'send:echo code-$?\n' 'expect:code-137'
}
