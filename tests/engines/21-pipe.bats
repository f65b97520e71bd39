#!/usr/bin/env bats
# runs: root:native user:native root:docker root:podman user:podman
# seconds: 30
# Way `pipe`: the real login is inside while a command runs, in memory, and nowhere afterwards.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # text for shells inside; tests are subshells; bats sets stderr
load ../cli/helpers
load ../cli/sandbox
load ../lib/cred
load engine

setup() {
	engine_setup
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	export RALPH_AGENT=claude
	login sk-ant-oat01-piped-access-token sk-ant-ort01-piped-refresh-token
	FILE=$HOME/.claude/.credentials.json
	way pipe
}

teardown() {
	local bad=0

	ralph rm --all --force >/dev/null 2>&1 || :
	[ -z "${ENGINE_DIR:-}" ] || engine volume rm "$(id -un)-llm" >/dev/null 2>&1 || :
	ralph_teardown || bad=1
	return $bad
}

way() {
	echo "credentials: [{name: anthropic, way: $1}]" >"$XDG_CONFIG_HOME/ralph/config.yaml"
}

# nowhere: no file of ralph's state (homes, volumes, records) has a byte of the login.
nowhere() {
	! grep -raF -e sk-ant-oat01-piped -e sk-ant-ort01-piped "$XDG_STATE_HOME" || fail "the login is left"
}

# background COMMAND…: run in $S until $T/go is there; it says that it has begun in $WS/begun.
background() {
	rm -f "$WS/begun" "$WS/go"
	"$RALPH" run -n "$S" -- sh -c 'cat "$1" >/dev/null; touch begun; until [ -e go ]; do sleep 0.05; done; cat "$1"' sh "$FILE" \
		</dev/null >"$T/out" 2>"$T/err" 3>&- &
	BACK=$!
	wait_until -t 60 test -e "$WS/begun" || fail "$(cat "$T/err")"
}

# empty: between two commands the file in memory holds nothing. Only root can look into the sandbox without being a command.
empty() {
	local init

	[ "$(id -u)" -eq 0 ] || return 0
	init=$(ralph inspect --json "$S" | get 'j["live"]["init"]')
	has "$(cat "/proc/$init/mountinfo")" " $FILE "
	same "" "$(cat "/proc/$init/root$FILE")"
}

# left WHERE: the login is put where an older ralph left it.
left() {
	mkdir -p "$1/.claude"
	rm -f "$1/.claude/.credentials.json"
	cp "$FILE" "$1/.claude/.credentials.json"
}

@test "pipe: the first use with a fresh state works, and the login is there" {
	rm -f "$XDG_STATE_HOME"/ralph/selftest-*
	has "$(ralph run -n "$S" -- cat "$FILE")" sk-ant-oat01-piped
	nowhere
}

@test "pipe: while a command runs the login is in memory alone, and gone when it has ended" {
	ralph run -d -n "$S" -- true
	background
	nowhere
	touch "$WS/go"
	wait "$BACK"
	has "$(cat "$T/out")" sk-ant-oat01-piped
	empty
	run -0 ralph selftest "$S"
	empty
	nowhere
	# The file that was covered is empty.
	ralph stop "$S"
	way off
	same "" "$(ralph run -n "$S" -- sh -c 'cat "$1" 2>/dev/null || :' sh "$FILE")"
}

@test "pipe: it is gone after SIGKILL of the command, of its minder and of the supervisor" {
	local pid

	ralph run -d -n "$S" -- true
	background
	pkill -9 -P "$BACK" 2>/dev/null || :
	kill -9 "$BACK"
	wait_until -t 30 is "$S" commands 0
	empty
	nowhere
	run ralph run -n "$S" -- sh -c 'cat "$1" >/dev/null; kill -9 $PPID; sleep 1000' sh "$FILE"
	wait_until -t 60 is "$S" commands 0
	empty
	nowhere
	background
	pid=$(ralph inspect --json "$S" | get 'j["live"]["supervisor"]')
	kill -9 "$pid"
	wait "$BACK" || :
	wait_until -t 30 is "$S" state stopped
	nowhere
	has "$(ralph run -n "$S" -- cat "$FILE")" sk-ant-oat01-piped
	nowhere
}

@test "pipe: a command that ends does not take the login from another, and the last one takes it along" {
	ralph run -d -n "$S" -- true
	background
	has "$(ralph exec "$S" cat "$FILE")" sk-ant-oat01-piped
	must_exit 7 ralph exec "$S" sh -c 'exit 7'
	[ "$(id -u)" -ne 0 ] || must_fail empty
	# The others have ended: the login is still there for the first.
	touch "$WS/go"
	wait "$BACK"
	has "$(cat "$T/out")" sk-ant-oat01-piped
	empty
	nowhere
}

@test "pipe: what a command leaves in the background ends with it, and keeps neither file nor namespace" {
	ralph run -d -n "$S" -- true
	ralph run -n "$S" -- sh -c 'exec 9<"$1"; setsid sh -c "exec sleep 1000" </dev/null >/dev/null 2>&1 & sleep 0.1' sh "$FILE"
	empty
	same 0 "$(sleepers "$S")"
	nowhere
}

@test "pipe: a link, a directory or a pipe in the login's place leads nowhere and hides nothing" {
	ralph run -n "$S" -- true
	ralph rm -f "$S"
	way off
	mkdir "$WS/trap"
	ralph run -n "$S" -- sh -c 'mkdir -p ~/.claude; rm -f "$1"; ln -s "$2/trap/login" "$1"' sh "$FILE" "$WS"
	way pipe
	has "$(ralph run -n "$S" -- cat "$FILE")" sk-ant-oat01-piped
	same "" "$(ls -A "$WS/trap")"
	way off
	ralph run -n "$S" -- sh -c 'rm -f "$1"; mkfifo "$1"' sh "$FILE"
	way pipe
	has "$(ralph run -n "$S" -- cat "$FILE")" sk-ant-oat01-piped
	nowhere
	way off
	ralph run -n "$S" -- sh -c 'rm -f "$1"; mkdir "$1"' sh "$FILE"
	way pipe
	run --separate-stderr ralph run -n "$S" -- true
	same 125 "$status"
	has "$stderr" .credentials.json
	nowhere
}

@test "pipe: the login cannot be moved, replaced or executed, and what is written there stays in memory" {
	must_fail ralph run -n "$S" -- sh -c 'rm "$1"' sh "$FILE"
	must_fail ralph run -n "$S" -- sh -c 'mv "$1" "$1.old"' sh "$FILE"
	must_fail ralph run -n "$S" -- sh -c 'echo mine >"$1.new" && mv "$1.new" "$1"' sh "$FILE"
	must_fail ralph run -n "$S" -- sh -c 'printf "#!/bin/sh\nexit 0\n" >"$1"; chmod +x "$1"; "$1"' sh "$FILE"
	must_fail ralph run -n "$S" -- sh -c 'ln "$1" "$1.second"' sh "$FILE"
	has "$(ralph run -n "$S" -- cat "$FILE")" sk-ant-oat01-piped
	nowhere
	same sk-ant-oat01-piped-access-token "$(saved accessToken)"
}

@test "a login that a program kept in its home is overwritten there before the next start, and said" {
	ralph run -n "$S" -- sh -c 'cp "$1" "$1.bak"; mkdir -p ~/deep/er; { echo before; cat "$1"; echo after; } >~/deep/er/notes' sh "$FILE"
	must_fail nowhere
	run --separate-stderr -0 ralph run -n "$S" -- sh -c 'cat ~/deep/er/notes ~/.claude/.credentials.json.bak'
	has "$stderr" "'deep/er/notes' in the sandbox's home held a login of the host"
	has "$stderr" ".credentials.json.bak' in the sandbox's home held a login of the host"
	has "$output" before
	has "$output" after
	lacks "$output" sk-ant-o
	nowhere
	# Said once.
	run --separate-stderr -0 ralph run -n "$S" -- true
	lacks "$stderr" "held a login"
}

@test "a login that an older ralph left in a home or volume is removed before the next start, whatever the way, and said" {
	ralph run -n "$S" -- true
	left "$XDG_STATE_HOME/ralph/sandboxes/$S/home"
	[ ! -d "$XDG_STATE_HOME/ralph/volumes" ] || left "$XDG_STATE_HOME/ralph/volumes/$(id -un)-llm/$(basename "$(readlink "$XDG_STATE_HOME/ralph/sandboxes/$S/home")")"
	must_fail nowhere
	way off
	run --separate-stderr -0 ralph run -n "$S" -- sh -c 'cat "$1" 2>/dev/null || :' sh "$FILE"
	same "" "$output"
	has "$stderr" "'.claude/.credentials.json' in the sandbox's home held a login of the host; removed it"
	nowhere
	# A login of the sandbox's own is not the host's, and stays.
	ralph run -n "$S" -- sh -c 'sed "s/piped/inside/g" "$2" >"$1"' sh "$FILE" - <"$HOME/.claude/.credentials.json"
	has "$(ralph run -n "$S" -- cat "$FILE")" sk-ant-oat01-inside
}

@test "pipe: the audit says that the real login is inside while a command runs, and shows its place" {
	run -0 ralph audit -- true
	has "$output" "the real one is inside while a command runs"
	lacks "$output" "anthropic (anthropic-oauth)"
	has "$(ralph audit --json -- true)" '"login"'
	run -0 ralph run -n "$S" -- true
	has "$output" "while it runs"
}
