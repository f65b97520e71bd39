#!/usr/bin/env bats
# runs: root
# seconds: 15
# Values of credentials are in cred and in the gateway, and in no other program of ralph.
# shellcheck disable=SC2016,SC2030,SC2031 # every test is a process of its own
load ../cli/helpers
load ../cli/sandbox
load ../lib/cred

setup() {
	ralph_setup
	provider_start
	# Long, so that a part of it outlasts what is written over a buffer's beginning.
	KEY=sk-ant-api03-$(printf 'value-of-the-test-%.0s' {1..100})
	provider_takes "$KEY"
	export ANTHROPIC_API_KEY=$KEY
}

teardown() {
	provider_stop
	ralph_teardown
}

# of NAME SANDBOX: pids of that program of ralph's for the sandbox, its supervisor or a child of that.
of() {
	local p top

	for p in /proc/[0-9]*; do
		[ "$(cat "$p/comm" 2>/dev/null)" = "$1" ] || continue
		top=$p
		[ "$1" = supervisor ] || top=/proc/$(awk '{ print $4 }' "$p/stat")
		[ "$(tr '\0' ' ' <"$top/cmdline" 2>/dev/null | cut -d' ' -f2)" != "$2" ] || echo "${p#/proc/}"
	done
}

# holds PID: how often a part of the key is in all that the process has mapped.
holds() {
	python3 - "$1" <<-'PY'
		import sys
		pid, needle, n = sys.argv[1], b"value-of-the-test-" * 3, 0
		with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem:
		    for line in maps:
		        span, mode, *_ = line.split()
		        if "r" not in mode or "[v" in line:
		            continue
		        start, end = (int(x, 16) for x in span.split("-"))
		        try:
		            mem.seek(start)
		            n += mem.read(end - start).count(needle)
		        except OSError:
		            pass
		print(n)
	PY
}

@test 'no value of a credential enters the supervisor' {
	ralph run -d -- true
	box=$(sandbox)
	for _ in 1 2 3 4 5; do
		same 200 "$(ralph exec "$box" sh -c "$ASK")"
	done
	# With a 401 as well: the value is asked for once more.
	provider_takes another
	same 401 "$(ralph exec "$box" sh -c "$ASK")"
	same "$KEY" "$(sent x-api-key)"
	# The search finds it where it has to be.
	[ "$(holds "$(of cred "$box")")" -gt 0 ]
	same 0 "$(holds "$(of supervisor "$box")")"
}

@test 'a credential helper that is killed is started again with the next request' {
	ralph run -d -- true
	box=$(sandbox)
	same 200 "$(ralph exec "$box" sh -c "$ASK")"
	old=$(of cred "$box")
	kill -KILL "$old"
	wait_until test ! -e "/proc/$old"
	again() { [ "$(ralph exec "$box" sh -c "$ASK")" = 200 ]; }
	wait_until again
	[ "$(of cred "$box")" != "$old" ]
	same 0 "$(holds "$(of supervisor "$box")")"
}

@test 'a sandbox that asks for no credential has no helper' {
	ralph run -d -- true
	box=$(sandbox)
	# The gateway runs, and has its end of the line.
	ralph exec "$box" sh -c 'curl -sS -o /dev/null "$ANTHROPIC_BASE_URL/v1/messages" -H "x-api-key: wrong"; true'
	[ -n "$(of gateway "$box")" ]
	same '' "$(of cred "$box")"
}
