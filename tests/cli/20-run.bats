#!/usr/bin/env bats
# runs: root user runtime
# A command in the sandbox of a workspace: what goes in, what comes out, what is left.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # text for shells inside; tests are subshells; bats sets stderr
load helpers
load sandbox

@test "the exit code is the command's own" {
	must_exit 0 ralph run -- true
	must_exit 7 ralph run --rm -- sh -c 'exit 7'
	must_exit 255 ralph run --rm -- sh -c 'exit 255'
}

@test "a command that a signal ended: 128 and the signal" {
	must_exit 137 ralph run -- sh -c 'kill -9 $$'
	must_exit 143 ralph run -- sh -c 'kill -15 $$'
	must_exit 134 ralph run -- sh -c 'kill -6 $$'
}

@test "a command that is not there: 127, with its name" {
	run --separate-stderr ralph run -- no-such-command-x
	same 127 "$status"
	has "$stderr" "no-such-command-x"
	run ralph run -- /no/such/path
	same 127 "$status"
}

@test "a file that cannot be executed: 126" {
	echo text >data && chmod 644 data
	run ralph run -- ./data
	same 126 "$status"
	run ralph run -- /etc
	same 126 "$status"
}

@test "ralph itself fails: 125 and nothing started" {
	own_guest 'exit 1'
	run --separate-stderr ralph run -- /bin/true
	same 125 "$status"
	has "$stderr" "the guest did not start"
	same "" "$output"
}

@test "a wrong command line: 2, and no sandbox" {
	must_exit 2 ralph run --no-such-option -- true
	must_exit 2 ralph run --rm -d -- true
	must_exit 2 ralph run
	must_exit 2 ralph run "$WS" "$WS" -- true
	must_exit 2 ralph run --pids 0x10 -- true
	must_exit 2 ralph run --memory 010M -- true
	same "" "$(ralph ls -q)"
}

@test "stdin and stdout pass byte for byte: 100 MB from file to file" {
	head -c 100M /dev/urandom >"$T/in"
	ralph run -- cat <"$T/in" >"$T/out"
	cmp "$T/in" "$T/out"
}

@test "stdin and stdout pass byte for byte: 100 MB from pipe to pipe" {
	head -c 100M /dev/urandom >"$T/in"
	# shellcheck disable=SC2002
	cat "$T/in" | ralph run -- cat | cmp - "$T/in"
}

@test "stderr passes byte for byte, apart from stdout" {
	head -c 100M /dev/urandom >"$T/in"
	ralph run -- sh -c 'cat >&2; echo out' <"$T/in" >"$T/out" 2>"$T/err"
	cmp "$T/in" "$T/err"
	same out "$(cat "$T/out")"
}

@test "nothing of ralph's is mixed into stdout and stderr" {
	ralph run -- printf 'a\0b' >"$T/out" 2>"$T/err"
	printf 'a\0b' | cmp - "$T/out"
	[ ! -s "$T/err" ]
	ralph run -d -- true >"$T/out" 2>"$T/err"
	[ ! -s "$T/out" ] && [ ! -s "$T/err" ]
	ralph exec "$(sandbox)" sh -c 'printf x; printf y >&2' >"$T/out" 2>"$T/err"
	same x "$(cat "$T/out")"
	same y "$(cat "$T/err")"
}

@test "one descriptor for both streams keeps their order" {
	ralph run -- sh -c 'for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done' >"$T/both" 2>&1
	same "o1 e1 o2 e2 o3 e3 o4 e4 o5 e5" "$(tr '\n' ' ' <"$T/both" | sed 's/ $//')"
}

@test "a file is appended to where its descriptor stands" {
	echo before >"$T/log"
	ralph run -- echo inside >>"$T/log"
	echo after >>"$T/log"
	same "before inside after" "$(xargs <"$T/log")"
}

@test "closed standard descriptors are empty ones inside, nothing of ralph's" {
	ralph run -- sh -c 'readlink /proc/self/fd/0 >got; ls /proc/self/fd | wc -l >>got' 0<&- 1>&- 2>&-
	same "/dev/null 4" "$(xargs <got)"
	rm got
}

@test "a reader that went away ends the writer" {
	ralph run -- yes | head -1 >"$T/out"
	same y "$(cat "$T/out")"
	wait_until down
}

@test "arguments pass as they are: empty, newlines, spaces, bytes that are no UTF-8" {
	ralph run -- printf '[%s]' '' $'a\nb' ' c  d ' '*' $'\xff\xfe' '--rm' '--' >"$T/out"
	printf '[%s]' '' $'a\nb' ' c  d ' '*' $'\xff\xfe' '--rm' '--' | cmp - "$T/out"
}

@test "a megabyte of arguments passes" {
	local args=() part

	part=$(head -c 100000 /dev/zero | tr '\0' x)
	for _ in {1..10}; do args+=("$part"); done
	same 1000000 "$(ralph run -- sh -c 'printf %s "$@"' sh "${args[@]}" | wc -c)"
}

@test "nothing of the host's environment is inside but the allowlist" {
	export FOO=secret LD_PRELOAD="" NODE_OPTIONS=--x BUN_OPTIONS=--x GIT_DIR=/x GIT_SSH_COMMAND=x \
		PYTHONPATH=/x AWS_SECRET_ACCESS_KEY=secret ANTHROPIC_API_KEY=secret SSH_AUTH_SOCK=/x \
		DBUS_SESSION_BUS_ADDRESS=x DISPLAY=:0 BASH_ENV=/x LC_TEST=yes TZ=UTC COLORTERM=truecolor
	local got

	got=$(ralph run -- /usr/bin/env | cut -d= -f1 | sort | xargs)
	same "ALL_PROXY COLORTERM GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0 HOME HTTPS_PROXY HTTP_PROXY LANG LC_TEST LOGNAME NODE_USE_ENV_PROXY NO_PROXY PATH RALPH_SANDBOX SHELL TERM TMPDIR TZ USER XDG_RUNTIME_DIR all_proxy http_proxy https_proxy no_proxy" "$got"
}

@test "--env sets, --pass takes from the host, both beat the allowlist" {
	export FOO=one TZ=UTC
	same "one UTC two" "$(ralph run --pass FOO -e BAR=two -- sh -c 'echo $FOO $TZ $BAR')"
	same "x=y " "$(ralph run -e TZ='x=y ' -- sh -c 'printf %s "$TZ"')"
	same unset "$(ralph run --pass NOT_THERE -- sh -c 'echo ${NOT_THERE-unset}')"
	must_exit 2 ralph run -e =x -- true
	must_exit 2 ralph run -e HOME=/x -- true
}

@test "the command starts where the caller is, within the workspace" {
	mkdir -p "$WS/a b/c" && cd "$WS/a b/c"
	same "$WS" "$(ralph run "$T/home/ws-${WS##*ws-}" -- sh -c 'cd ../.. && pwd')"
	same "$PWD" "$(ralph run "$WS" -- pwd)"
	cd "$T"
	same "$WS" "$(ralph run "$WS" -- pwd)"
}

@test "a subdirectory given as PATH is a workspace of its own" {
	mkdir -p "$WS/sub" && echo x >"$WS/sub/f"
	same "f" "$(ralph run "$WS/sub" -- ls)"
	must_fail ralph run "$WS/sub" -- cat "$WS/file"
}

@test "--rm leaves nothing; without it the home stays for the next run" {
	ralph run --rm -- sh -c 'echo x >~/kept'
	same "" "$(ralph ls -q)"
	# The name is free at once; nobody waits for the files.
	gone() { [ -z "$(ls -A "$XDG_STATE_HOME/ralph/sandboxes")" ]; }
	wait_until gone
	ralph run -- sh -c 'test ! -e ~/kept; echo y >~/kept'
	down
	wait_until nothing_left
	same y "$(ralph run -- sh -c 'cat ~/kept')"
}

@test "--detach leaves the sandbox up, with and without a command" {
	ralph run -d -- sh -c 'echo z >/tmp/t'
	up
	same z "$(ralph exec "$(sandbox)" cat /tmp/t)"
	ralph run -d
	same z "$(ralph run -- cat /tmp/t)"
	up
}

@test "--rm in a sandbox that was kept: the command runs, then it is gone" {
	ralph run -d
	same hi "$(ralph run --rm -- echo hi)"
	same "" "$(ralph ls -q)"
}

@test "the workspace is the host's, written by the caller" {
	ralph run -- sh -c 'echo new >made; mkdir dir; ln -s made link'
	same new "$(cat made)"
	same "$(id -u) $(id -g)" "$(stat -c '%u %g' made)"
	rm -r made dir link
}

@test "inside one is oneself, or 1000 for root; the name of the sandbox is the host's" {
	local uid

	uid=$(id -u)
	[ "$uid" -ne 0 ] || uid=1000
	same "$uid" "$(ralph run -- id -u)"
	same "$(sandbox)" "$(ralph run -- hostname)"
	same "$(sandbox)" "$(ralph run -- cat /etc/hostname)"
	has "$(sandbox)" "agent-loop-command-t-"
}

@test "--timeout ends the command with all it started" {
	run --separate-stderr ralph run --timeout 300ms -- sh -c 'setsid sleep 60 & sleep 60'
	same 143 "$status"
	has "$stderr" "time limit"
	wait_until nothing_left
}

@test "--timeout: who ignores SIGTERM is killed" {
	run ralph run --timeout 100ms -- sh -c 'trap "" TERM; while :; do sleep 60; done'
	same 137 "$status"
}

signal_case() {
	ralph run -d
	"$RALPH" run -- sh -c "trap 'echo got $1 >>seen; exit 9' $1; touch ready; while :; do sleep 0.05; done" 3>&- &
	local pid=$! code=0

	wait_until test -e ready
	kill "-$1" "$pid"
	wait "$pid" || code=$?
	same 9 "$code"
	same "got $1" "$(cat seen)"
	rm ready seen
}

@test "SIGTERM to the command line reaches the command" {
	signal_case TERM
}

@test "SIGINT to the command line reaches the command" {
	# A background job of a shell without job control ignores SIGINT from birth: so does ralph then.
	need python3
	python3 - "$RALPH" <<-'END'
		import os, signal, subprocess, sys, time
		p = subprocess.Popen([sys.argv[1], "run", "--", "sh", "-c",
		    "trap 'echo got >seen; exit 9' INT; touch ready; while :; do sleep 0.05; done"])
		while not os.path.exists("ready"):
		    time.sleep(0.01)
		p.send_signal(signal.SIGINT)
		sys.exit(0 if p.wait() == 9 else 1)
	END
	same got "$(cat seen)"
	rm ready seen
}

@test "SIGHUP and SIGUSR1 reach the command" {
	signal_case HUP
	signal_case USR1
}

@test "a killed command line ends its command, with setsid and double forks" {
	ralph run -d
	"$RALPH" run -- sh -c '(setsid sh -c "(sleep 61 &) ; sleep 61" &) ; touch ready; exec sleep 61' 3>&- &
	local pid=$!

	wait_until test -e ready
	wait_until runs 1
	kill -9 "$pid"
	wait_until runs 0
	wait_until no_sleepers "$(sandbox)"
	rm ready
}

@test "a killed command line ends the sandbox that was up for it alone" {
	"$RALPH" run -- sh -c 'touch ready; exec sleep 61' 3>&- &
	local pid=$!

	wait_until test -e ready
	kill -9 "$pid"
	wait_until nothing_left
	down
	rm ready
}

@test "children that left their session do not outlive their command" {
	ralph run -d
	ralph run -- sh -c '(setsid sh -c "sleep 62 & sleep 62" &) ; true'
	same 0 "$(sleepers "$(sandbox)")"
}

@test "a killed supervisor ends everything inside; the caller learns it" {
	"$RALPH" run -- sh -c 'setsid sleep 63 & touch ready; exec sleep 63' 3>&- 2>"$T/err" &
	local pid=$! code=0

	wait_until test -e ready
	kill -9 "$(field "$(sandbox)" supervisor)"
	wait "$pid" || code=$?
	same 125 "$code"
	has "$(cat "$T/err")" "killed"
	wait_until nothing_left
	rm ready
	same again "$(ralph run -- echo again)"
}

@test "git status is clean after a run, after --rm, and after SIGKILL of everything" {
	ralph run -- true
	same "" "$(git status --porcelain --ignored)"
	ralph run --rm -- sh -c 'git status >/dev/null 2>&1; true'
	same "" "$(git status --porcelain --ignored)"
	"$RALPH" run -- sleep 64 3>&- &
	local pid=$!
	wait_until runs 1
	kill -9 "$pid" "$(field "$(sandbox)" supervisor)"
	wait "$pid" || :
	wait_until nothing_left
	same "" "$(git status --porcelain --ignored)"
	same $'.git\nfile' "$(ls -A)"
}

@test "--dry-run prints the plan and starts nothing" {
	run --separate-stderr ralph --dry-run run -- true
	same 0 "$status"
	has "$output" "guest launch"
	has "$output" "bind $WS $WS"
	same "" "$(ralph ls -q)"
}

@test "a directory as stdin is refused, and says why" {
	run --separate-stderr ralph run -- true </etc
	same 125 "$status"
	has "$stderr" "directory"
}

@test "a workspace below /var/tmp is a workspace, and /var/tmp can be written to" {
	local dir

	dir=$(mktemp -d /var/tmp/rt-XXXXXX)
	run -0 ralph run --rm "$dir" -- sh -c 'pwd; echo made >file; echo x >/var/tmp/other && cat /var/tmp/other'
	[ "$output" = "$dir"$'\n'x ] || fail "$output"
	[ "$(cat "$dir/file")" = made ]
	rm -rf "$dir"
}
