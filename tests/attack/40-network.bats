# runs: root user runtime
# Networks, sockets and IPC of the host.
load attack

@test 'there is no interface but lo' {
	inside interfaces
}

@test 'services on the loopback of the host are out of reach' {
	helper serve
	inside reach "$SAID" 127.0.0.1 ::1 127.0.0.53
}

@test 'no address of the host or beyond it is reachable' {
	local addresses

	[ -z "${ATTACK_OUTSIDE:-}" ] || not_here "sends packets"
	mapfile -t addresses < <(hostname -I | tr ' ' '\n' | grep .)
	inside reach 80 192.0.2.1 198.51.100.1 10.0.0.1 169.254.169.254 2001:db8::1 "${addresses[@]}"
}

@test 'no socket but unix streams, TCP, UDP and route netlink' {
	inside families
}

@test 'abstract sockets of the host are out of reach' {
	helper listen "@ralph-attack-$$"
	inside unix "@ralph-attack-$$"
}

@test 'sockets of docker, D-Bus, ssh-agent, X11 and Wayland are out of reach' {
	mkdir -p "$T/agent" "$T/run-user"
	helper listen "$T/agent/ssh-agent.sock"
	helper listen "$HOME/docker.sock"
	helper listen "$T/run-user/bus"
	export SSH_AUTH_SOCK=$T/agent/ssh-agent.sock DOCKER_HOST=unix://$HOME/docker.sock DBUS_SESSION_BUS_ADDRESS=unix:path=$T/run-user/bus
	inside unix "$T/agent/ssh-agent.sock" "$HOME/docker.sock" "$T/run-user/bus" /run/docker.sock /var/run/docker.sock \
		/run/dbus/system_bus_socket /tmp/.X11-unix/X0 @/tmp/.X11-unix/X0 "/run/user/$(id -u)/bus" \
		"/run/user/$(id -u)/wayland-0" /run/containerd/containerd.sock /run/podman/podman.sock /dev/log /run/systemd/private
}

# The newest interface of Landlock that this kernel has.
landlock_abi() {
	python3 -c 'import ctypes; print(ctypes.CDLL(None).syscall(444, None, 0, 1))'
}

@test 'a unix socket that another sandbox or the host made in a shared workspace or home: refused from Linux 7.1, and doctor says where it is not' {
	local name=t-${WS##*-} path abi servers=()

	need python3
	abi=$(landlock_abi)
	cat >meet.py <<-'P'
		import os, socket, sys
		if sys.argv[1] == "serve":
		    s = socket.socket(socket.AF_UNIX)
		    s.bind(sys.argv[2])
		    s.listen()
		    open(sys.argv[3], "w").close()
		    while True:
		        c = s.accept()[0]
		        socket.send_fds(c, [b"x"], [os.open("/proc/self/ns/net", os.O_RDONLY)])
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[2])
		print("met", len(socket.recv_fds(s, 1, 1)[1]))
	P
	mkdir -p "$HOME/x"
	ralph run -d -n "$name-a" -- true
	for path in "$WS/workspace.sock" "$HOME/home.sock"; do
		"$RALPH" exec "$name-a" python3 "$WS/meet.py" serve "$path" "$WS/up-${path##*/}" </dev/null >/dev/null 2>&1 3>&- &
		servers+=($!)
		wait_until test -e "$WS/up-${path##*/}"
		# One's own, from another command, always.
		same "met 1" "$(ralph exec "$name-a" python3 "$WS/meet.py" meet "$path")"
		if [ "$abi" -ge 9 ]; then
			must_fail ralph run -n "$name-b" --net none -- python3 "$WS/meet.py" meet "$path" 2>"$T/said"
			has "$(cat "$T/said")" "Permission denied"
		else
			same "met 1" "$(ralph run -n "$name-b" --net none -- python3 "$WS/meet.py" meet "$path")"
		fi
	done
	helper listen "$WS/host.sock"
	if [ "$abi" -ge 9 ]; then
		inside unix "$WS/host.sock"
	else
		must_fail inside unix "$WS/host.sock"
		[ "$abi" -lt 1 ] || has "$(ralph doctor | tr -s ' \n' ' ')" "before ABI 9 (Linux 7.1)"
	fi
	ralph stop "$name-a"
	wait "${servers[@]}" || :
}

@test 'the socket that ralph is commanded by is not in the sandbox' {
	ralph run -d -n "ctl-${WS##*-}" -- true
	ralph exec "ctl-${WS##*-}" "$PROBE" absent "$T/run" "/tmp/ralph-$(id -u)" "$XDG_STATE_HOME"
}

@test 'no datagram reaches a socket in the workspace' {
	helper listen "$WS/datagram.sock" datagram
	inside datagram "$WS/datagram.sock"
}

@test 'System V and POSIX objects of the host are out of reach' {
	local key=$((0x52000000 + SRANDOM % 0xffffff)) name=ralph-attack-$SRANDOM bad=0

	outside ipc-make "$key" "$name"
	inside ipc "$key" "$name" || bad=1
	outside ipc-remove "$key" "$name"
	[ $bad = 0 ]
}
