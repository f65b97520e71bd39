# runs: root user
# Other processes, the sandbox's own guards, privileges, system calls.
# shellcheck disable=SC2016,SC2154 # text for shells; bats sets stderr
load attack

@test 'processes of the host are not seen, read, traced or signalled' {
	local pid at

	helper victim
	read -r pid at <<<"$SAID"
	inside other-processes "$pid" "$at"
	kill -0 "$pid"
}

@test 'pid 1 and the minder show nothing and cannot be traced' {
	inside guards
}

@test 'no signal harms pid 1' {
	inside kill-init
}

@test 'a killed minder takes its command along and leaves the sandbox usable' {
	ralph run -d -n "guarded-${WS##*-}" -- true
	# 125 when the minder is killed before it could say that the command runs.
	run ralph exec "guarded-${WS##*-}" "$PROBE" kill-minder
	[ "$status" = 137 ] || [ "$status" = 125 ]
	same 0 "$(ralph exec "guarded-${WS##*-}" sh -c 'grep -ls [k]ill-minder /proc/[0-9]*/cmdline | grep -vc "/$$/"')"
}

@test 'capabilities are gone, bounding set included, and no_new_privs is set' {
	inside capabilities
}

@test 'one user is mapped, who is not root and cannot become another' {
	inside identity
}

@test 'a set-uid program gives nothing' {
	chmod u+s "$PROBE"
	inside set-uid "$PROBE"
	chmod g+s "$PROBE"
	inside set-uid "$PROBE"
}

@test 'file capabilities give nothing' {
	only_root
	need setcap
	setcap all=ep "$PROBE"
	inside capabilities
}

@test 'a crash starts no core handler on the host and leaves no file' {
	[ "$(ulimit -Hc)" != 0 ] || not_here "the hard limit is 0 already and cannot be raised to 1"
	inside crash
	inside crash lowered
	same "?? probe" "$(git status --porcelain)"
}

@test 'programs that forbid cores for themselves start all the same' {
	ralph run --rm -- bash -c 'ulimit -c 0'
}

@test 'dangerous system calls are refused' {
	inside refused-calls
}

@test 'no new namespaces' {
	inside namespaces
}

@test 'nothing is typed into a terminal, whatever the upper bits of the request' {
	inside typing
}

@test 'calls through a foreign ABI end the process' {
	inside foreign-abis
}

@test 'a sandbox takes no more than its share of the inotify instances of the user, and others start beside it' {
	need python3
	cat >takes.py <<-'P'
		import ctypes, sys, time
		libc, n = ctypes.CDLL(None), 0
		while libc.inotify_init1(0) >= 0:
		    n += 1
		open(sys.argv[1], "w").write(str(n))
		time.sleep(int(sys.argv[2]))
	P
	"$RALPH" run -n "many-${WS##*-}" -- python3 takes.py taken 1000 </dev/null >/dev/null 2>&1 3>&- &
	wait_until test -s taken
	same 32 "$(cat taken)"
	ralph run -n "more-${WS##*-}" -- python3 takes.py too 0
	same 32 "$(cat too)"
	ralph stop "many-${WS##*-}"
	wait $! || :
}

# bats test_tags=user
@test 'where all inotify instances are taken, a start says so and what to do' {
	need unshare
	only_user
	run --separate-stderr unshare -r sh -c 'echo 0 >/proc/sys/user/max_inotify_instances && exec "$0" run -- true' "$RALPH"
	same 125 "$status"
	has "$stderr" "sysctl -w fs.inotify.max_user_instances"
}
