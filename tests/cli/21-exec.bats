#!/usr/bin/env bats
# runs: root user
# Commands in a sandbox that is up.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # text for shells inside; tests are subshells; bats sets stderr
load helpers
load sandbox

setup() {
	ralph_setup
	S=t-${WS##*/ws-}
	case $BATS_TEST_DESCRIPTION in
	"not up:"*) ;;
	*) ralph run -d -n "$S" ;;
	esac
}

one_sleeper() {
	[ "$(sleepers "$S")" = 1 ]
}

@test "the exit code is the command's own, 127 and 126 where there is none" {
	must_exit 0 ralph exec "$S" true
	must_exit 7 ralph exec "$S" sh -c 'exit 7'
	must_exit 137 ralph exec "$S" sh -c 'kill -9 $$'
	must_exit 127 ralph exec "$S" no-such-command-x
	must_exit 126 ralph exec "$S" /etc/passwd
	must_exit 126 ralph exec "$S" /etc
}

@test "options end at the name: what follows is the command's" {
	same "[-e][--rm][--][x]" "$(ralph exec "$S" printf '[%s]' -e --rm -- x)"
	must_exit 2 ralph exec "$S"
	must_exit 2 ralph exec
	must_exit 2 ralph exec --no-such-option "$S" true
}

@test "-e sets a variable for this command alone, above the sandbox's own" {
	same "one two" "$(ralph exec -e A=one -e TMPDIR=two "$S" sh -c 'echo $A $TMPDIR')"
	same "unset /tmp" "$(ralph exec "$S" sh -c 'echo ${A-unset} $TMPDIR')"
	same "" "$(ralph exec -e EMPTY= "$S" sh -c 'printf %s "${EMPTY-unset}"')"
	must_exit 2 ralph exec -e NOVALUE "$S" true
	must_exit 2 ralph exec -e =x "$S" true
}

@test "the caller's environment does not come along" {
	export FOO=secret LD_LIBRARY_PATH=/x GIT_DIR=/x
	same "" "$(ralph exec "$S" env | grep -E '^(FOO|LD_|GIT_DIR)' || :)"
}

@test "-w starts the command there; a directory that is not there is no missing program" {
	mkdir sub
	same "$WS" "$(ralph exec "$S" pwd)"
	same "$WS/sub" "$(ralph exec -w "$WS/sub" "$S" pwd)"
	same /tmp "$(ralph exec --workdir=/tmp "$S" pwd)"
	run --separate-stderr ralph exec -w /no/such "$S" true
	same 125 "$status"
	has "$stderr" "/no/such"
	must_exit 2 ralph exec -w relative "$S" true
}

@test "-i and no option alike pass stdin on" {
	same in "$(echo in | ralph exec -i "$S" cat)"
	same in "$(echo in | ralph exec "$S" cat)"
	same "" "$(ralph exec "$S" cat </dev/null)"
}

@test "-u takes the sandbox's own user by name and number, and no other" {
	local uid name

	uid=$(ralph exec "$S" id -u)
	name=$(ralph exec "$S" id -un)
	same "$uid" "$(ralph exec -u "$uid" "$S" id -u)"
	same "$uid" "$(ralph exec -u "$name" "$S" id -u)"
	run --separate-stderr ralph exec -u root "$S" id
	same 2 "$status"
	has "$stderr" "root"
	must_exit 2 ralph exec -u 0 "$S" id
}

@test "--timeout ends this command, and no other" {
	"$RALPH" exec "$S" sh -c 'touch ready; sleep 61; echo no' 3>&- &
	local pid=$!

	wait_until test -e ready
	run ralph exec --timeout 200ms "$S" sleep 62
	same 143 "$status"
	runs 1
	kill -9 "$pid"
	wait_until runs 0
	rm ready
}

@test "not up: an unknown name is said to be unknown" {
	run --separate-stderr ralph exec no-such true
	same 125 "$status"
	has "$stderr" "there is no sandbox 'no-such'"
	must_exit 2 ralph exec ../x true
	must_exit 2 ralph exec UPPER true
}

@test "a first word that names no sandbox is a command for this project's, with a line on stderr" {
	run --separate-stderr ralph exec sh -c 'echo "$PWD $1"' sh 'two words'
	same "0 $WS two words" "$status $output"
	same 1 "$(wc -l <<<"$stderr")"
	has "$stderr" "running sh in this project's sandbox $S"
	same x "$(ralph exec -e A=x /bin/sh -c 'echo $A' 2>/dev/null)"
	must_exit 7 ralph exec sh -c 'exit 7'
	must_exit 127 ralph exec no-such-command-x
	# A sandbox of that name wins, wherever one is.
	same "$WS" "$(cd "$HOME" && ralph exec "$S" pwd)"
	mkdir "$T/elsewhere"
	(cd "$T/elsewhere" && must_exit 125 ralph exec make)
}

@test "not up: a stopped sandbox is said to be stopped, with what to do" {
	ralph run -n "$S" -- true
	run --separate-stderr ralph exec "$S" true
	same 125 "$status"
	has "$stderr" "not running"
	has "$stderr" "ralph run -d -n $S"
}

@test "live with other settings: refused with the difference, and the sandbox goes on" {
	run --separate-stderr ralph run -n "$S" --memory 64M -- true
	same 2 "$status"
	has "$stderr" "limits"
	has "$stderr" "ralph stop $S"
	run --separate-stderr ralph run -n "$S" --net none --allow example.com -- true
	same 2 "$status"
	must_exit 0 ralph exec "$S" true
	must_exit 0 ralph run -n "$S" -e OTHER=1 --timeout 1m -- true
}

@test "another workspace does not get into a sandbox by its name" {
	mkdir "$HOME/other-$S"
	run --separate-stderr ralph run -n "$S" "$HOME/other-$S" -- true
	same 2 "$status"
	has "$stderr" "$WS"
}

@test "a command that ended is told so while others run on" {
	"$RALPH" exec "$S" sh -c 'touch ready; exec sleep 61' 3>&- &
	local pid=$!

	wait_until test -e ready
	same told "$(timeout 20 "$RALPH" exec "$S" echo told)"
	same told "$(timeout 20 "$RALPH" run -n "$S" -- echo told)"
	runs 1
	kill "$pid"
	rm ready
}

@test "twenty commands at once each have their own input, output and code" {
	local i pids=() code

	for i in {1..20}; do
		echo "in $i" | ralph exec "$S" sh -c "cat; echo err $i >&2; exit $i" >"$T/o$i" 2>"$T/e$i" 3>&- &
		pids+=($!)
	done
	for i in {1..20}; do
		code=0
		wait "${pids[i - 1]}" || code=$?
		same "$i" "$code"
		same "in $i" "$(cat "$T/o$i")"
		same "err $i" "$(cat "$T/e$i")"
	done
	runs 0
}

@test "a megabyte of arguments passes" {
	local args=() part

	part=$(head -c 100000 /dev/zero | tr '\0' x)
	for _ in {1..10}; do args+=("$part"); done
	same 1000000 "$(ralph exec "$S" sh -c 'printf %s "$@"' sh "${args[@]}" | wc -c)"
}

@test "100 MB in and out at once" {
	head -c 100M /dev/urandom >"$T/in"
	# shellcheck disable=SC2002
	cat "$T/in" | ralph exec "$S" cat | cmp - "$T/in"
}

@test "the command sees no descriptor but its three" {
	same "0 1 2 3" "$(ralph exec "$S" ls /proc/self/fd 5</etc/passwd 7<"$WS" | xargs)"
}

@test "commands share /tmp, the processes and the home of their sandbox" {
	ralph exec "$S" sh -c 'echo x >/tmp/t; echo y >~/h'
	same "x y" "$(ralph exec "$S" sh -c 'cat /tmp/t ~/h' | xargs)"
	"$RALPH" exec "$S" sh -c 'exec sleep 61' 3>&- &
	local pid=$!
	wait_until one_sleeper
	kill "$pid"
	wait_until no_sleepers "$S"
}

@test "exec while the sandbox stops: it runs, or is told so, and nothing hangs" {
	"$RALPH" exec "$S" sh -c 'trap "" TERM; touch ready; while :; do sleep 0.05; done' 3>&- 2>/dev/null &
	local pid=$! code=0 stopper

	wait_until test -e ready
	"$RALPH" stop --time 1s "$S" 3>&- >/dev/null &
	stopper=$!
	while kill -0 "$stopper" 2>/dev/null; do
		code=0
		timeout 20 "$RALPH" exec "$S" true 2>"$T/err" || code=$?
		[ "$code" -eq 0 ] || [ "$code" -eq 125 ] || fail "exit $code: $(cat "$T/err")"
	done
	wait "$stopper"
	code=0
	wait "$pid" || code=$?
	same 137 "$code"
	down
	rm ready
}

@test "stop ends commands by SIGTERM first" {
	"$RALPH" exec "$S" sh -c 'trap "echo bye >said; exit 3" TERM; touch ready; while :; do sleep 0.05; done' 3>&- &
	local pid=$! code=0

	wait_until test -e ready
	same "$S" "$(ralph stop "$S")"
	wait "$pid" || code=$?
	same 3 "$code"
	same bye "$(cat said)"
	rm ready said
}

@test "shell runs a shell of the sandbox with the PATH of run; without a name, this project's" {
	same "$(ralph exec "$S" sh -c 'echo "$PATH"')" "$(echo 'echo "$PATH"' | ralph shell "$S")"
	same "$WS" "$(echo pwd | ralph shell)"
	same "$WS $(ralph exec "$S" id -u)" "$(printf 'pwd\nid -u\n' | ralph shell "$S" | xargs)"
	must_exit 5 ralph shell "$S" <<<'exit 5'
	(cd "$T" && mkdir elsewhere && cd elsewhere && must_exit 2 ralph shell)
}

@test "a command joins a live sandbox that has more than it asks for, and is told what" {
	local S=wider-$S

	ralph run -d -n "$S" --allow more.example --allow first.example
	run --separate-stderr ralph run -n "$S" -- echo joined
	same "0 joined" "$status $output"
	has "$stderr" "sandbox '$S' is live with more than this command asks for: network rule more.example, network rule first.example"
	same 1 "$(wc -l <<<"$stderr")"
	# The order of hosts means nothing, and nothing is beyond.
	run --separate-stderr ralph run -n "$S" --allow first.example --allow more.example -- echo joined
	same "0 joined " "$status $output $stderr"
	# Neither a host that it lacks nor a wall that the command asks for is lost.
	must_exit 2 ralph run -n "$S" --allow other.example -- true
	must_exit 2 ralph run -n "$S" --net none -- true
	must_exit 2 ralph run -n "$S" --net filtered -- true
	must_exit 2 ralph run -n "$S" --deny more.example -- true
	echo secret >notes.txt
	must_exit 2 ralph run -n "$S" --mask 'notes*' -- cat notes.txt
	ralph stop "$S"
}
