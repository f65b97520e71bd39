#!/usr/bin/env bats
# runs: root
# seconds: 20
# Programs of a live sandbox that were taken over: inject.c has them make system calls.
# shellcheck disable=SC2016,SC2030,SC2031 # every test is a process of its own
load ../cli/helpers
load ../cli/sandbox
load ../lib/cred
load ../lib/memory

setup() {
	ralph_setup
	INJECT=$BATS_TEST_DIRNAME/inject
	[ -e "$INJECT" ] || INJECT=$BATS_TEST_DIRNAME/../../build/tests/attack/inject
	[ "$(uname -m)" = x86_64 ] || skip 'inject.c knows the registers of x86-64'
	ldd "${RALPH%/bin/ralph}/libexec/ralph/gateway" | grep -qs libasan && skip 'sanitizers have calls of their own'
	provider_start
	KEY=sk-ant-api03-of-the-test
	provider_takes "$KEY"
	export ANTHROPIC_API_KEY=$KEY
	ralph run -d -- true
	box=$(sandbox)
	same 200 "$(ralph exec "$box" sh -c "$ASK")"
	echo mine >"$T/file"
}

teardown() {
	provider_stop
	ralph_teardown
}

# front_of SANDBOX: the part of the supervisor that reads frames.
front_of() {
	local p

	for p in $(pgrep -P "$(helper_of supervisor "$1")"); do
		[ "$(cat "/proc/$p/comm")" != front ] || echo "$p"
	done
}

# refuses PID WHAT [ARGUMENT]
refuses() {
	same refused "$("$INJECT" "$@")" || {
		echo "$*: not refused" >&2
		return 1
	}
}

status() {
	awk -v k="$2:" '$1 == k { print $2 }' "/proc/$1/status"
}

confined() {
	same 2 "$(status "$1" Seccomp)"
	same 1 "$(status "$1" NoNewPrivs)"
	# The tool works, and what it interrupts goes on.
	same "done" "$("$INJECT" "$1" nothing)"
	refuses "$1" read "$T/file"
	refuses "$1" read /etc/shadow
	refuses "$1" read "/proc/$$/mem"
	refuses "$1" write "$T/new"
	refuses "$1" write "$T/file"
	refuses "$1" remove "$T/file"
	refuses "$1" execute /bin/true
	refuses "$1" fork
	refuses "$1" unix
	refuses "$1" netlink
	refuses "$1" signal "$$"
	refuses "$1" trace "$$"
	refuses "$1" memory "$$"
	refuses "$1" pidfd "$$"
	refuses "$1" code
	[ ! -e "$T/new" ]
	same mine "$(cat "$T/file")"
}

@test 'a taken-over supervisor has the record of its sandbox, and no other file, program, process or socket' {
	pid=$(front_of "$box")
	confined "$pid"
	refuses "$pid" socket
	same "done" "$("$INJECT" "$pid" read "$XDG_STATE_HOME/ralph/sandboxes/$box/spec.json")"
	# It goes on, and so does its broker.
	same 200 "$(ralph exec "$box" sh -c "$ASK")"
	ralph stop "$box"
}

@test 'a taken-over supervisor cannot read the environment with the keys of the user' {
	pid=$(front_of "$box")
	for fd in /proc/"$pid"/fd/*; do
		[ -f "$fd" ] || continue # nothing to be read from pipes and sockets
		! grep -qa "$KEY" "$fd" 2>/dev/null </dev/null || {
			echo "$fd: $(readlink "$fd")" >&2
			return 1
		}
	done
	same 0 "$(memory_holds "$pid" "$KEY")"
}

@test 'a taken-over credential helper has no file, program, process or socket' {
	pid=$(helper_of cred "$box")
	confined "$pid"
	refuses "$pid" socket
	same 200 "$(ralph exec "$box" sh -c "$ASK")"
	same "$pid" "$(helper_of cred "$box")"
}

@test 'a taken-over edge has the network of its sandbox, and no file, program, process or credential' {
	pid=$(helper_of edge "$box")
	same 2 "$(status "$pid" Seccomp)"
	same "done" "$("$INJECT" "$pid" nothing)"
	same "done" "$("$INJECT" "$pid" socket)"
	same 200 "$(ralph exec "$box" sh -c "$ASK")"
	same 0 "$(memory_holds "$pid" "$KEY")"
	# The filter ends it with the first call that is not in its table, opening any file among them.
	refuses "$pid" read /etc/hosts
	wait_until test ! -e "/proc/$pid"
	same 200 "$(ralph exec "$box" sh -c "$ASK")"
	refuses "$(helper_of edge "$box")" write "$T/file"
	same mine "$(cat "$T/file")"
}

@test 'a taken-over gateway has the connections it was given, and no other socket, file, program or process' {
	pid=$(helper_of gateway "$box")
	same 2 "$(status "$pid" Seccomp)"
	same "done" "$("$INJECT" "$pid" nothing)"
	refuses "$pid" read "$T/file"
	refuses "$pid" read /etc/shadow
	same 200 "$(ralph exec "$box" sh -c "$ASK")"
	for call in socket connect "write $T/file"; do
		# The filter ends it with the first call that is not in its table.
		# shellcheck disable=SC2086 # a call and its argument
		refuses "$(helper_of gateway "$box")" $call
		wait_until test ! -e "/proc/$pid"
		same 200 "$(ralph exec "$box" sh -c "$ASK")"
		pid=$(helper_of gateway "$box")
	done
	same mine "$(cat "$T/file")"
}

@test 'a taken-over reader has what requests and answers say, and no file, program, process, socket or credential' {
	pid=$(helper_of reader "$box")
	same 2 "$(status "$pid" Seccomp)"
	same 1 "$(status "$pid" NoNewPrivs)"
	same "done" "$("$INJECT" "$pid" nothing)"
	same 200 "$(ralph exec "$box" sh -c "$ASK")"
	same "$pid" "$(helper_of reader "$box")"
	same 0 "$(memory_holds "$pid" "$KEY")"
	for call in "read /etc/hosts" socket connect fork "write $T/file"; do
		# The filter ends it with the first call that is not in its table, and the next request has another one.
		# shellcheck disable=SC2086 # a call and its argument
		refuses "$(helper_of reader "$box")" $call
		wait_until test ! -e "/proc/$pid"
		same 200 "$(ralph exec "$box" sh -c "$ASK")"
		pid=$(helper_of reader "$box")
	done
	has "$(ralph events --type reader-end "$box")" code
	same mine "$(cat "$T/file")"
}
