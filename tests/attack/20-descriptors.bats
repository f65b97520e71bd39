# runs: root user
# Descriptors: those that came along by accident, and those that were handed in.
# shellcheck disable=SC2016 # text for shells inside
load attack
load weak

@test 'a command has descriptors 0, 1 and 2 and no other' {
	local i

	for i in {30..50}; do
		eval "exec $i<\"\$WS/file\""
	done
	exec 51</ 52</etc 53<>"$T/rw" 54</proc/self/ns/mnt
	inside only-stdio
}

@test 'a directory as stdin, stdout or stderr is refused' {
	must_exit 125 ralph run --rm -- true </
	must_exit 125 ralph run --rm -- true <.
	inside escape-by-dir </dev/null
}

@test 'stdin from a read-only file is not opened for writing again' {
	echo precious >"$T/precious"
	inside reopen 0 <"$T/precious"
	same precious "$(cat "$T/precious")"
}

@test 'stdin from a file of the home is not opened for writing again' {
	echo precious >"$HOME/precious"
	inside reopen 0 <"$HOME/precious"
	same precious "$(cat "$HOME/precious")"
}

@test 'stdin from a file that was deleted is not opened for writing again' {
	echo precious >"$T/precious"
	exec 9<"$T/precious" 8<"$T/precious"
	rm "$T/precious"
	inside reopen 0 <&9 9<&- 8<&-
	same precious "$(cat <&8)"
}

@test 'stdin from a memory file is not opened for writing again' {
	need python3
	python3 - "$RALPH" "$PROBE" <<-'P'
		import os, subprocess, sys
		fd = os.memfd_create("precious")
		os.write(fd, b"precious")
		ro = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)
		subprocess.run([sys.argv[1], "run", "--rm", "--", sys.argv[2], "reopen", "0"], stdin=ro)
		assert os.pread(fd, 99, 0) == b"precious", os.pread(fd, 99, 0)
	P
}

@test 'stdout to a file is not opened for reading again' {
	inside read-back 1 >"$T/log" || fail "$(cat "$T/log")"
}

@test 'what >> appends to is neither truncated nor overwritten nor read' {
	echo precious >"$T/log"
	inside append-only 1 >>"$T/log" || true
	same precious "$(head -n 1 "$T/log")"
	ralph run --rm -- timeout 1 cat /proc/self/fd/1 >>"$T/log" || true
	same 1 "$(grep -c precious "$T/log")"
}

@test 'what >> appends to gets every byte' {
	echo precious >"$T/log"
	ralph run --rm -- head -c 3000000 /dev/zero >>"$T/log"
	same 3000009 "$(stat -c %s "$T/log")"
}

@test 'a device as stdin gives what it gave' {
	inside reopen 0 </dev/zero || true
	ralph run --rm -- head -c 3 </dev/zero | cmp - <(printf '\0\0\0')
}

@test "a socket of the host's network is refused as stdin" {
	local kind

	for kind in inet-stream inet-datagram unix-datagram unix-stream; do
		must_exit 125 "$PROBE" with-socket $kind "$RALPH" run --rm -- "$PROBE" stdin-socket
	done
	[ -z "${ATTACK_OUTSIDE:-}" ] || "$PROBE" with-socket inet-stream "$PROBE" stdin-socket
}

@test 'a pair of stream sockets as stdin works' {
	need python3
	same hello "$(python3 - "$RALPH" <<-'P'
		import socket, subprocess, sys
		a, b = socket.socketpair()
		a.sendall(b"hello")
		a.shutdown(socket.SHUT_WR)
		subprocess.run([sys.argv[1], "run", "--rm", "--", "cat"], stdin=b, check=True)
	P
	)"
}

@test 'variables of the host are not inherited' {
	export LD_PRELOAD='' LD_LIBRARY_PATH=/x LD_AUDIT='' NODE_OPTIONS=--x BUN_OPTIONS=--x GIT_DIR=/x GIT_SSH_COMMAND=x PYTHONPATH=/x \
		PYTHONSTARTUP=/x PERL5LIB=/x RUBYOPT=-x BASH_ENV=/x ENV=/x SSH_AUTH_SOCK=/x DBUS_SESSION_BUS_ADDRESS=x \
		DISPLAY=:0 WAYLAND_DISPLAY=x XAUTHORITY=/x AWS_SECRET_ACCESS_KEY=x ANTHROPIC_API_KEY=x GITHUB_TOKEN=x \
		DOCKER_HOST=x KUBECONFIG=x HTTPS_PROXY=http://x SUDO_USER=x MY_OWN_SECRET=x XDG_STATE_HOME XDG_CONFIG_HOME
	inside variables LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT NODE_OPTIONS BUN_OPTIONS GIT_DIR GIT_SSH_COMMAND PYTHONPATH \
		PYTHONSTARTUP PERL5LIB RUBYOPT BASH_ENV ENV SSH_AUTH_SOCK DBUS_SESSION_BUS_ADDRESS DISPLAY WAYLAND_DISPLAY \
		XAUTHORITY AWS_SECRET_ACCESS_KEY ANTHROPIC_API_KEY GITHUB_TOKEN DOCKER_HOST KUBECONFIG SUDO_USER \
		MY_OWN_SECRET XDG_STATE_HOME XDG_CONFIG_HOME
	# A proxy is ralph's own, or none.
	lacks "$(ralph run --rm -- env)" http://x
}

# old_kernel: the guest finds no Landlock from now on.
old_kernel() {
	guest_without landlock
	ralph run -d
	same 0 "$(ralph inspect "$(ralph ls -q)" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["live"]["landlock"])')"
}

@test 'without Landlock a file that is handed in is not opened again' {
	echo precious >"$T/precious"
	old_kernel
	ralph run -- sh -c 'test -p /proc/self/fd/0 && echo evil >/proc/self/fd/0' <"$T/precious"
	same precious "$(cat "$T/precious")"
	ralph run -- sh -c ': >/proc/self/fd/0; truncate -s 0 /proc/self/fd/0 || :' <"$T/precious"
	same precious "$(cat "$T/precious")"
	ralph run -- sh -c 'test -p /proc/self/fd/1 && : >/proc/self/fd/1; echo more' >>"$T/precious"
	same "precious more" "$(paste -sd ' ' "$T/precious")"
}

@test 'without Landlock files work as before: all of stdin, what is written last, and both streams in their order' {
	head -c 3000000 /dev/urandom >"$T/large"
	old_kernel
	ralph run -- cat <"$T/large" >"$T/copy"
	cmp "$T/large" "$T/copy"
	ralph run -- sh -c 'for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done' >"$T/both" 2>&1
	same "out 1 err 1 out 2 err 2 out 3 err 3 out 4 err 4 out 5 err 5" "$(paste -sd ' ' "$T/both")"
	ralph run -- sh -c 'head -c 200000 /dev/zero; exit 7' >"$T/zero" || same 7 $?
	same 200000 "$(stat -c %s "$T/zero")"
	# A command that reads nothing ends all the same, and one that closes its stdin too.
	ralph run -- true <"$T/large"
	ralph run -- sh -c 'exec <&-; sleep 0.1; echo done' <"$T/large" >"$T/out"
	same "done" "$(cat "$T/out")"
}
