#!/usr/bin/env bats
# runs: engines
# seconds: 50
# What every engine promises, in the same words. See engine.bash for the rows.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # text for shells inside; tests are subshells; bats sets stderr
load ../cli/helpers
load ../cli/sandbox
load ../lib/netbed
load engine

setup() {
	case $BATS_TEST_DESCRIPTION in
	"network: "*)
		with bed
		netbed_setup
		engine_env
		;;
	*) engine_setup ;;
	esac
}

teardown() {
	case $BATS_TEST_DESCRIPTION in
	"network: "*) netbed_teardown ;;
	*) ralph_teardown ;;
	esac
}

@test "create: a command runs in the workspace, as itself, in a sandbox of that engine" {
	same "$WS content" "$(ralph run -- sh -c 'pwd; cat file' | xargs)"
	same "${ENGINE%-remote}" "$(ralph inspect "$(sandbox)" --json | get 'j["engine"]')"
	down
}

@test "create: the plan is printed, and nothing is started" {
	with plan
	has "$(ralph --dry-run run -- true)" "$WS"
	same "" "$(ralph ls -q)"
	same "" "$(engine ps -aq)"
}

@test "create: what is written in the workspace is the caller's, and is there at once" {
	ralph run -- sh -c 'echo new >made; mkdir dir'
	same new "$(cat made)"
	same "$(id -u) $(id -g)" "$(stat -c '%u %g' made)"
	rm -r made dir
}

@test "reuse: one sandbox for one workspace, and its home stays for the next run" {
	ralph run -d -- sh -c 'echo x >/tmp/t; echo y >~/h'
	same "x y" "$(ralph run -- sh -c 'cat /tmp/t ~/h' | xargs)"
	same 1 "$(ralph ls -q | wc -l)"
	ralph stop "$(sandbox)"
	same "y" "$(ralph run -- sh -c 'cat ~/h')"
}

@test "reuse: what was in /tmp ends with the sandbox" {
	ralph run -- sh -c 'echo x >/tmp/t'
	holds fresh must_fail ralph run -- cat /tmp/t 2>/dev/null
}

@test "reuse: other settings are refused, and the sandbox goes on" {
	ralph run -d -n "$S"
	run --separate-stderr ralph run -n "$S" --net none -- true
	same 2 "$status"
	has "$stderr" "ralph stop $S"
	must_exit 0 ralph exec "$S" true
}

@test "exec: arguments, variables and the working directory pass as they are" {
	ralph run -d -n "$S"
	ralph exec "$S" printf '[%s]' '' $'a\nb' ' c  d ' '*' $'\xff\xfe' '--rm' '--' >"$T/out"
	printf '[%s]' '' $'a\nb' ' c  d ' '*' $'\xff\xfe' '--rm' '--' | cmp - "$T/out"
	same "one two" "$(ralph exec -e A=one -e B=two "$S" sh -c 'echo $A $B')"
	same unset "$(FOO=secret ralph exec "$S" sh -c 'echo ${FOO-unset}')"
	same /tmp "$(ralph exec -w /tmp "$S" pwd)"
}

@test "exec: five commands at once each have their own input, output and code" {
	local i pids=() code

	ralph run -d -n "$S"
	for i in {1..5}; do
		echo "in $i" | ralph exec "$S" sh -c "cat; echo err $i >&2; exit $i" >"$T/o$i" 2>"$T/e$i" 3>&- &
		pids+=($!)
	done
	for i in {1..5}; do
		code=0
		wait "${pids[i - 1]}" || code=$?
		same "$i in $i err $i" "$code $(cat "$T/o$i" "$T/e$i" | xargs)"
	done
}

@test "exec: a terminal of its own" {
	with terminal
	ralph run -d -n "$S"
	must_exit 4 python3 "$ENGINES_DIR/../cli/terminal.py" "$T/out" -- \
		"$RALPH" exec -t "$S" sh -c 'test -t 0 && test -t 1 && stty size; exit 4'
	same "24 80" "$(tr -d '\r' <"$T/out")"
}

@test "stdio: 100 MB in and out, byte for byte" {
	local size=100M

	! lacks_word fast || size=8M
	head -c "$size" /dev/urandom >"$T/in"
	# shellcheck disable=SC2002
	cat "$T/in" | ralph run -- cat | cmp - "$T/in"
}

@test "stdio: stderr is apart from stdout, and nothing of ralph's is mixed in" {
	ralph run -- sh -c 'printf "a\0b"; printf y >&2' >"$T/out" 2>"$T/err"
	printf 'a\0b' | cmp - "$T/out"
	same y "$(cat "$T/err")"
}

@test "stdio: a reader that went away ends the writer" {
	same y "$(ralph run -- yes | head -1)"
	wait_until down
}

@test "exit codes: the command's own, 128 and the signal, 127 and 126" {
	ralph run -d -n "$S"
	must_exit 0 ralph exec "$S" true
	must_exit 7 ralph exec "$S" sh -c 'exit 7'
	must_exit 255 ralph exec "$S" sh -c 'exit 255'
	must_exit 137 ralph exec "$S" sh -c 'kill -9 $$'
	must_exit 143 ralph exec "$S" sh -c 'kill -15 $$'
	must_exit 127 ralph exec "$S" no-such-command-x
	must_exit 126 ralph exec "$S" /etc/passwd
}

@test "signals: SIGTERM, SIGHUP and SIGUSR1 to the command line reach the command" {
	local sig pid code

	ralph run -d -n "$S"
	for sig in TERM HUP USR1; do
		"$RALPH" exec "$S" sh -c "trap 'echo got $sig >seen; exit 9' $sig; touch ready; while :; do sleep 0.05; done" 3>&- &
		pid=$!
		wait_until test -e ready
		kill "-$sig" "$pid"
		code=0
		wait "$pid" || code=$?
		same "9 got $sig" "$code $(cat seen)"
		rm ready seen
	done
}

@test "signals: a time limit ends the command with all it started" {
	ralph run -d -n "$S"
	must_exit 143 ralph exec --timeout 500ms "$S" sh -c 'setsid sleep 60 & sleep 60'
	wait_until no_sleepers "$S"
}

@test "killed client: its command ends, with setsid and double forks; the others go on" {
	ralph run -d -n "$S"
	"$RALPH" exec "$S" sh -c '(setsid sh -c "(sleep 61 &) ; sleep 61" &) ; touch ready; exec sleep 61' 3>&- &
	local pid=$!

	wait_until test -e ready
	kill -9 "$pid"
	wait_until runs 0
	wait_until no_sleepers "$S"
	must_exit 0 ralph exec "$S" true
	rm ready
}

@test "killed client: a sandbox that was up for it alone ends" {
	"$RALPH" run -- sh -c 'touch ready; exec sleep 61' 3>&- &
	local pid=$!

	wait_until -t 30 test -e ready
	kill -9 "$pid"
	wait_until nothing_left
	down
	rm ready
}

@test "limits: processes are bounded, and the sandbox lives on" {
	local n=200

	! lacks_word fast || n=80
	bounds pids run -d -n "$S" --pids 64 || return 0
	must_fail ralph exec "$S" sh -c 'i=0; while [ $i -lt $0 ]; do sleep 60 & i=$((i + 1)); done; wait' $n 2>/dev/null
	wait_until no_sleepers "$S"
	must_exit 0 ralph exec "$S" true
}

@test "limits: memory is bounded, for all processes together, and the sandbox lives on" {
	local least=${LEAST_MEMORY:-128}

	bounds memory run -d -n "$S" --memory "${least}M" || return 0
	must_exit 137 ralph exec "$S" python3 -c "x = bytearray($((3 * least)) << 20)"
	must_exit 0 ralph exec "$S" true
}

@test "limits: open files and temporary space are as the settings say" {
	RALPH_LIMITS_OPEN_FILES=256 bounds limits.open_files run --rm -- true || return 0
	same 256 "$(RALPH_LIMITS_OPEN_FILES=256 ralph run --rm -- sh -c 'ulimit -n')"
	must_fail env RALPH_LIMITS_TMP=8M "$RALPH" run --rm -- dd if=/dev/zero of=/tmp/x bs=1M count=16 2>/dev/null
}

@test "network: the allowed host is reached, the other is not and is on record" {
	has "$(box curl -sS --cacert ca.crt https://allowed.test/a)" "GET /a at "
	holds transparent has "$(direct curl -sS http://allowed.test/b)" "GET /b at "
	must_fail box curl -sS https://other.test/
	must_fail direct curl -sS -m 5 https://other.test/
	holds record denied other.test '"port":443'
	nothing_for other.test
	no_packet_to 8.8.4.2
}

@test "network: none is none" {
	bed "$RALPH" run -d -n "$BOX" --net none -- true
	touch "$BED/up"
	must_fail box curl -sS -m 5 https://allowed.test/a
	must_fail direct curl -sS -m 5 http://8.8.4.1/
	holds loopback same lo "$(box sh -c 'tail -n +3 /proc/net/dev | cut -d: -f1' | xargs)"
	settle
	no_packet_to 8.8.4.1
}

@test "network: a server inside is reached through a published port, and not without" {
	local port

	if lacks_word ports; then
		box true
		run --separate-stderr bed "$RALPH" ports "$BOX" publish 8000:8000
		has "$status $stderr" "engine ${ENGINE%-remote}"
		return
	fi
	box sh -c 'mkdir -p /tmp/www && echo inside >/tmp/www/f'
	bed "$RALPH" exec "$BOX" python3 -m http.server --bind 127.0.0.1 --directory /tmp/www 8000 >/dev/null 2>&1 3>&- &
	wait_until -t 20 box curl -sSf -o /dev/null --noproxy '*' http://127.0.0.1:8000/f 2>/dev/null
	port=$((20000 + RANDOM % 20000))
	must_fail bed curl -sS -m 5 "http://127.0.0.1:$port/f"
	bed "$RALPH" ports "$BOX" publish "$port:8000"
	same inside "$(bed curl -sS -m 10 "http://127.0.0.1:$port/f")"
}

@test "protected paths: git's hooks and settings, and what is hidden, cannot be changed or put aside" {
	local was

	echo '#!/bin/sh' >.git/hooks/pre-push
	chmod 755 .git/hooks/pre-push
	was=$(guarded)
	echo KEY=secret >.env
	hides .env || rm .env
	ralph run -d -n "$S"
	for how in 'echo x >.git/hooks/post-commit' 'echo x >>.git/config' 'rm -rf .git/hooks' 'mv .git/hooks .git/h2' \
		'echo x >>.git/hooks/pre-push' 'chmod 644 .git/hooks/pre-push' 'rm .git/config; mkdir .git/config' \
		'rm -rf .git/info; ln -s /tmp .git/info' 'mkdir -p .git/hooks/x/y'; do
		ralph exec "$S" sh -c "$how" 2>/dev/null || :
		same "$was" "$(guarded)"
	done
	holds pins must_fail ralph exec "$S" sh -c 'mv .git .g2'
	if [ -e .env ]; then
		must_fail ralph exec "$S" cat .env
		must_fail ralph exec "$S" sh -c 'rm -f .env'
	fi
	rm -f .env
}

@test "commits of the agent are in the user's repository after the command" {
	ralph run -d -n "$S"
	ralph exec "$S" sh -c 'echo more >>file && git -c user.name=a -c user.email=a@example.invalid commit -qam more'
	same more "$(git log -1 --format=%s)"
}

# What git would run, or take orders from, as text.
guarded() {
	(cd .git && find config hooks info -printf '%p %m %y %l\n' | sort && cat config hooks/pre-push)
}

# hides FILE: it cannot be read inside; else nothing is started, and the file is named.
hides() {
	lacks_word masks || return 0
	run --separate-stderr ralph run -n "$S" -- true
	same 2 "$status"
	has "$stderr" "$WS/$1"
	return 1
}

@test "protected paths: settings that the host replaces meanwhile are read-only again" {
	local was

	if lacks_word host-edits; then
		was=$(cat .git/config)
		ralph run -d -n "$S"
		git config some.key value
		ralph exec "$S" true
		wait_until same "$was" "$(cat .git/config)"
		has "$(ralph quarantine ls)" .git/config
		has "$(ralph events "$S")" "$WS/.git/config"
		return
	fi
	echo mine >.mcp.json
	ralph run -d -n "$S"
	echo new >new
	mv new .mcp.json
	if lacks_word again; then
		wait_until has_event error
		ralph run -d -n "$S"
	fi
	wait_until held
	same new "$(ralph exec "$S" cat .mcp.json)"
	same new "$(cat .mcp.json)"
	rm .mcp.json
}

has_event() {
	grep -q "\"type\":\"$1\"" "$XDG_STATE_HOME/ralph/sandboxes/$S/events.jsonl"
}

held() {
	! ralph exec "$S" sh -c 'echo new >.mcp.json' 2>/dev/null
}

@test "protected paths: nothing else can be written, and nothing of the host's home is there" {
	local at

	echo private >"$HOME/private"
	ralph run -d -n "$S"
	for at in /usr/bin /etc ""; do
		holds root must_fail ralph exec "$S" sh -c "echo x >$at/ralph-$S"
		[ ! -e "$at/ralph-$S" ]
	done
	must_fail ralph exec "$S" cat "$HOME/private"
	must_fail ralph exec "$S" ls "$XDG_STATE_HOME"
}

@test "stop: commands are asked to end, then nothing runs and the home stays" {
	ralph run -d -n "$S"
	"$RALPH" exec "$S" sh -c 'trap "echo bye >said; exit 3" TERM; touch ready; while :; do sleep 0.05; done' 3>&- &
	local pid=$! code=0

	wait_until test -e ready
	same "$S" "$(ralph stop --time 30s "$S")"
	wait "$pid" || code=$?
	same "3 bye" "$code $(cat said)"
	down
	same "" "$(engine ps -aq)"
	wait_until nothing_left
	must_exit 0 ralph stop "$S"
	rm ready said
}

@test "rm: the sandbox and its home are gone, the workspace is as it was" {
	ralph run -d -n "$S" -- sh -c 'echo x >~/h'
	must_fail ralph rm "$S" 2>/dev/null
	ralph rm -f "$S"
	same "" "$(ralph ls -q)"
	same "" "$(ls -A "$XDG_STATE_HOME/ralph/sandboxes")"
	same "" "$(engine ps -aq)"
	same $'.git\nfile' "$(ls -A)"
	same "" "$(git status --porcelain --ignored)"
}

@test "rm: --rm leaves nothing" {
	ralph run --rm -- sh -c 'echo x >~/kept'
	same "" "$(ralph ls -q)"
	same "" "$(engine ps -aq)"
}

@test "list: running and stopped ones, with what runs in them" {
	ralph run -n "$S" -- true
	same stopped "$(field "$S" state)"
	ralph run -d -n "$S"
	same running "$(field "$S" state)"
	same "$WS" "$(field "$S" workspace)"
	"$RALPH" exec "$S" sleep 61 3>&- &
	wait_until is "$S" commands 1
	kill $!
}

@test "crash: a killed supervisor ends everything inside; the caller learns it, the next run works" {
	"$RALPH" run -- sh -c 'setsid sleep 63 & touch ready; exec sleep 63' 3>&- 2>"$T/err" &
	local pid=$! code=0

	wait_until -t 30 test -e ready
	kill -9 "$(field "$(sandbox)" supervisor)"
	wait "$pid" || code=$?
	same 125 "$code"
	has "$(cat "$T/err")" "killed"
	wait_until -t 20 nothing_left
	rm ready
	same again "$(ralph run -- echo again)"
	same "" "$(engine ps -aq)"
}

@test "crash: rm after a killed supervisor leaves no record, and nothing of the engine's" {
	ralph run -d -n "$S"
	kill -9 "$(field "$S" supervisor)"
	wait_until -t 20 nothing_left
	ralph rm -f "$S"
	same "" "$(ralph ls -q)"
	same "" "$(engine ps -aq)"
}
