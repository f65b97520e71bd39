#!/usr/bin/env bats
# runs: user:gvisor
# seconds: 20
# What holds of an engine whose commands run on a kernel of their own, beside the contract of all.
# shellcheck disable=SC2016,SC2154
load ../cli/helpers
load ../cli/sandbox
load engine

# status_of PROGRAM WORD: this line of /proc/PID/status, of the program that the sandbox's first process has adopted.
status_of() {
	local p

	for p in /proc/[0-9]*; do
		[ "$(sed -n 's/^PPid:[[:space:]]*//p' "$p/status" 2>/dev/null)" = "$INIT" ] || continue
		[[ $(tr '\0' ' ' <"$p/cmdline" 2>/dev/null) != "$1 "* ]] || sed -n "s/^$2:[[:space:]]*//p" "$p/status"
	done
}

@test "own kernel: commands do not meet the host's, and the audit names the wall" {
	lacks "$(ralph run -- cat /proc/version)" "$(uname -r)"
	has "$(ralph audit "$WS")" "the wall: gVisor's kernel, in user space"
	# Without the programs of other engines, which may keep processes of their own.
	env PATH=/nonexistent "$RALPH" engine ls --json | python3 -c 'import json, sys
row = next(r for r in json.load(sys.stdin) if r["name"] == "gvisor")
assert row["usable"] and row["holds"] and row["costs"] and "why" not in row, row'
}

@test "own kernel: its program has no capability, no new privileges and ralph's filters" {
	local INIT n=0 line

	ralph run -d -n "$S"
	INIT=$(ralph inspect --json "$S" | python3 -c 'import json, sys; print(json.load(sys.stdin)["live"]["init"])')
	while read -r line; do
		same 0000000000000000 "$line"
		n=$((n + 1))
	done < <(status_of runsc-sandbox CapEff; status_of runsc-sandbox CapBnd)
	[ "$n" -ge 2 ] || fail "the sentry was not found"
	while read -r line; do
		same 1 "$line"
	done < <(status_of runsc-sandbox NoNewPrivs)
	while read -r line; do
		[ "$line" -ge 3 ] || fail "$line filters"
	done < <(status_of runsc-sandbox Seccomp_filters)
}

@test "own kernel: files handed in and out keep their content and their end" {
	printf 'one\n' >"$T/log"
	printf 'from the host\n' >"$T/in"
	"$RALPH" run -- sh -c 'cat; echo two; echo three >&2; ! (echo evil >/proc/self/fd/0) 2>/dev/null' <"$T/in" >>"$T/log" 2>>"$T/log"
	same "one
from the host
two
three" "$(cat "$T/log")"
	same "from the host" "$(cat "$T/in")"
}

@test "own kernel: a terminal follows the size of the user's" {
	ralph run -d -n "$S"
	python3 "$ENGINES_DIR/../cli/terminal.py" "$T/out" expect:go size:33x101 'expect:got 33 101' -- \
		"$RALPH" exec -t "$S" bash -c 'trap "echo got \$(stty size); exit 0" WINCH; echo go; while :; do sleep 0.1; done'
}

@test "own kernel: what the host changes is seen inside at once, and the other way round" {
	ralph run -d -n "$S"
	echo first >shared
	same first "$(ralph exec "$S" cat shared)"
	echo longer than before >shared
	same "longer than before" "$(ralph exec "$S" cat shared)"
	ralph exec "$S" sh -c 'echo inside >shared; mkdir -p new/dir'
	same inside "$(cat shared)"
	test -d new/dir
	rm -r shared new
}

# bats test_tags=user:vm:emulated
@test "own kernel: files are copied into a live sandbox and out of it" {
	echo from the host >"$T/in"
	ralph run -d -n "$S"
	ralph cp "$T/in" "$S:$HOME/there"
	same "from the host" "$(ralph exec "$S" sh -c 'cat ~/there; echo from inside >~/back')"
	ralph cp "$S:$HOME/back" "$T/out"
	same "from inside" "$(cat "$T/out")"
}

# bats test_tags=user:vm:emulated
@test "a unix socket in the workspace or the home leads to no other sandbox and to no program of the host" {
	local path servers=()

	cat >meet.py <<-'P'
		import os, socket, sys
		s = socket.socket(socket.AF_UNIX)
		if sys.argv[1] == "serve":
		    s.bind(sys.argv[2])
		    s.listen()
		    open(sys.argv[3], "w").close()
		    while True:
		        s.accept()[0].sendall(b"x")
		s.connect(sys.argv[2])
		print("met", s.recv(1))
	P
	ralph run -d -n "$S"
	for path in "$WS/workspace.sock" "$HOME/home.sock"; do
		if [ "$ENGINE" = vm:emulated ]; then # 9p makes none
			must_fail ralph exec "$S" python3 "$WS/meet.py" serve "$path" "$T/up" 2>"$T/said"
			has "$(cat "$T/said")" "No such device"
			continue
		fi
		"$RALPH" exec "$S" python3 "$WS/meet.py" serve "$path" "$WS/up-${path##*/}" </dev/null >/dev/null 2>&1 3>&- &
		servers+=($!)
		wait_until -t 60 test -e "$WS/up-${path##*/}"
		same "met b'x'" "$(ralph exec "$S" python3 "$WS/meet.py" meet "$path")"
		must_fail ralph run -n "$S-b" -- python3 "$WS/meet.py" meet "$path" 2>/dev/null
		must_fail python3 "$WS/meet.py" meet "$path" 2>/dev/null
	done
	python3 "$WS/meet.py" serve "$WS/host.sock" "$WS/up-host" 3>&- &
	servers+=($!)
	wait_until test -e "$WS/up-host"
	must_fail ralph exec "$S" python3 "$WS/meet.py" meet "$WS/host.sock" 2>/dev/null
	same "met b'x'" "$(python3 "$WS/meet.py" meet "$WS/host.sock")"
	kill $!
	ralph stop "$S"
	wait "${servers[@]}" || :
	rm -f -- *.sock meet.py up-*
}

# Another sandbox of the workspace could put a link there, which the program would follow to its own /proc.
@test "own kernel: what is mounted where commands can write has a second name, which they cannot change, for its program" {
	local INIT apart

	mkdir "$HOME/shared" data
	echo shared >"$HOME/shared/file"
	RALPH_MOUNTS=$HOME/shared:$WS/data:rw ralph run -d -n "$S"
	INIT=$(ralph inspect --json "$S" | python3 -c 'import json, sys; print(json.load(sys.stdin)["live"]["init"])')
	# root of the mount, its place
	apart=$(awk '$5 ~ "^/private/apart/" {print $4}' "/proc/$INIT/mountinfo")
	grep -qxF "${HOME#/tmp}/shared" <<<"$apart" || grep -qxF "$HOME/shared" <<<"$apart" || fail "$apart"
	has "$(cat "/proc/$INIT/root/private/config.json")" "\"destination\":\"$WS/data\",\"source\":\"/private/apart/"
	lacks "$(cat "/proc/$INIT/root/private/config.json")" "\"source\":\"/tree$WS/"
	same shared "$(ralph exec "$S" cat data/file)"
	ralph exec "$S" sh -c 'echo inside >data/file'
	same inside "$(cat "$HOME/shared/file")"
	ralph rm -f "$S"
	rm -r data
}

@test "own kernel: git compares what both kernels see alike" {
	same minimal "$(ralph run -- git config core.checkStat)"
}

@test "own kernel: without a runsc, or with another program in its place, nothing is started and the remedy is named" {
	RALPH_RUNSC=runsc run --separate-stderr "$RALPH" run -- true
	same 2 "$status"
	has "$stderr" "absolute path"
	run --separate-stderr env -u RALPH_RUNSC PATH=/nonexistent "$RALPH" run -- touch started
	same 125 "$status"
	has "$stderr" "no runsc on PATH"
	has "$stderr" "apt install runsc"
	RALPH_RUNSC=/bin/false run --separate-stderr "$RALPH" run -- touch started
	same 125 "$status"
	has "$stderr" "kernel did not start"
	test ! -e started
}

@test "own kernel: a program that the user could change gets no capability, and nothing is started" {
	cp "$RALPH_RUNSC" "$T/runsc"
	RALPH_RUNSC=$T/runsc run --separate-stderr "$RALPH" run -- touch started
	same 125 "$status"
	has "$stderr" "only root can change"
	test ! -e started
	rm "$T/runsc"
}

@test "own kernel: runsc is not taken from the workspace" {
	printf '#!/bin/sh\ntouch %s/taken\n' "$T" >runsc
	chmod +x runsc
	run --separate-stderr env -u RALPH_RUNSC PATH="$WS:/nonexistent" "$RALPH" run -- true
	same 125 "$status"
	has "$stderr" "no runsc on PATH"
	test ! -e "$T/taken"
	rm runsc
}
