# runs: root user runtime
# seconds: 12
# What the host's side of ralph takes from elsewhere: names, records, homes to remove, frames, clients.
# What is in single quotes is for the shell inside; every test has an environment of its own.
# shellcheck disable=SC2016,SC2030,SC2031
load attack

@test 'names with path parts are refused' {
	local name

	mkdir -p "$XDG_STATE_HOME/ralph/sandboxes" "$XDG_STATE_HOME/victim"
	for name in .. . ../victim ../../victim /etc '' a/b '.hidden' '-x' 'a b' $'a\nb' A "$(printf 'a%.0s' {1..64})"; do
		must_exit 2 ralph exec -- "$name" true
		must_exit 2 ralph rm -f -- "$name"
		must_exit 2 ralph stop -- "$name"
		must_exit 2 ralph inspect -- "$name"
		must_exit 2 ralph run --name="$name" -- true
	done
	[ -d "$XDG_STATE_HOME/victim" ]
}

@test 'a hostile home is removed, and nothing of the host with it' {
	mkdir -p "$T/precious/dir"
	echo precious >"$T/precious/dir/file"
	need python3
	ralph run -n "rm-${WS##*-}" -- /usr/bin/python3 -c '
import os, sys
home = os.environ["HOME"]
os.chdir(home)
os.symlink(sys.argv[1], "to-precious")
os.symlink(sys.argv[1] + "/dir", "to-dir")
os.symlink("/", "to-root")
os.symlink("..", "to-parent")
os.mkdir("locked"); os.mkdir("locked/inner"); open("locked/inner/f", "w").close()
os.chmod("locked/inner", 0); os.chmod("locked", 0)
os.mkfifo("fifo")
open("new\nline \x1b[31m", "w").close()
for i in range(6000):
    os.mkdir("d"); os.chdir("d")
' "$T/precious"
	(ulimit -n 128 && ralph rm -f "rm-${WS##*-}")
	same precious "$(cat "$T/precious/dir/file")"
	same "" "$(ls -A "$XDG_STATE_HOME/ralph/sandboxes")"
}

@test 'damaged and hostile records neither crash ls and rm nor lead anywhere' {
	local dir=$XDG_STATE_HOME/ralph/sandboxes spec

	mkdir -p "$dir" "$T/precious"
	echo precious >"$T/precious/file"
	ln -s "$T/precious" "$dir/linked"
	mkdir "$dir/..bad" "$dir/-x" "$dir/\$(id)" "$dir/Upper"
	for spec in '' '{' '[]' 'null' '{"name": 5}' '{"name":"../../x","workspace":"/"}' "$(printf '[%.0s' {1..5000})"; do
		mkdir -p "$dir/rec"
		printf '%s' "$spec" >"$dir/rec/spec.json"
		: >"$dir/rec/running"
		run ralph ls
		[ "$status" -lt 128 ]
		run ralph ls --json
		[ "$status" -lt 128 ]
		run ralph inspect rec --json
		[ "$status" -lt 128 ]
		ralph rm -f rec
		[ ! -e "$dir/rec" ]
	done
	run ralph rm -f linked
	[ "$status" -lt 128 ]
	same precious "$(cat "$T/precious/file")"
	rm -rf "$dir"
}

@test 'a guest that lies is shown the door and the supervisor ends in order' {
	local case dir=$XDG_STATE_HOME/ralph/sandboxes/lies-${WS##*-}

	need python3
	only_in_a_tree
	cp -r "${RALPH%/bin/ralph}/libexec/ralph" "$T/fake"
	cp "$BATS_TEST_DIRNAME/hostile-guest.py" "$T/fake/guest"
	chmod +x "$T/fake/guest"
	for case in garbage empty short other-magic unknown-type clients-type oversized lying-length many-fds lying-fds lying-memfd \
		spawned-before-up wrong-ids ended-first up-twice error-without-end error-with-escapes terminal-unasked flood \
		code-out-of-range; do
		echo $case >"$T/fake/hostile-case"
		run env RALPH_LIBEXEC="$T/fake" timeout 20 "$RALPH" run --net none -n "lies-${WS##*-}" -- true
		[ "$status" -ge 1 ] && [ "$status" -ne 124 ] || fail "$case: exit $status: $output"
		lacks "$output" 'was killed'
		lacks "$output" $'\033]52'
		wait_until grep -q '"type":"sandbox-stop"' "$dir/events.jsonl"
		wait_until nothing_left
		ralph rm -f "lies-${WS##*-}"
	done
}

@test 'the guest, started by hand and told anything, runs nothing that has a capability' {
	need python3
	cp /bin/sh "$T/own"
	python3 "$BATS_TEST_DIRNAME/guest-frames.py" "${RALPH%/bin/ralph}/libexec/ralph/guest" "$T/own" >"$T/ran"
	has "$(cat "$T/ran")" "guest launch, as it should be: CapInh: 0000000000000000"
	has "$(cat "$T/ran")" "guest launch, spawn before the set-up: nothing ran"
	[ "$(id -u)" -eq 0 ] || has "$(cat "$T/ran")" "guest launch, another kernel: nothing ran: '$T/own' cannot run here"
	same "" "$(grep -E 'Cap[A-Za-z]*: (unknown|0*[1-9a-f])|NoNewPrivs: 0' "$T/ran")"
	wait_until nothing_left
}

@test 'a guest that waits to be told its mounts has six capabilities and can get no others' {
	need python3
	# SETPCAP, NET_BIND_SERVICE, NET_ADMIN, SYS_ADMIN, SYS_RESOURCE, SETFCAP
	python3 - "${RALPH%/bin/ralph}/libexec/ralph/guest" 81201500 <<-'P'
		import socket, struct, subprocess, sys, time
		ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		p = subprocess.Popen([sys.argv[1], "launch", str(theirs.fileno())], pass_fds=[theirs.fileno()])
		theirs.close()
		frame = ours.recv(4096)
		kind, pid = struct.unpack("=I", frame[4:8])[0], struct.unpack("=I", frame[24:28])[0]
		assert kind == 35, frame
		wanted = {"CapPrm": sys.argv[2], "CapEff": sys.argv[2], "CapBnd": sys.argv[2], "CapInh": "0", "CapAmb": "0", "NoNewPrivs": "1"}
		for _ in range(2000):
		    status = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status").read().splitlines())
		    got = {k: status[k].strip().lstrip("0") or "0" for k in wanted}
		    if got == wanted:
		        break
		    time.sleep(0.01)
		ours.close()
		p.wait()
		assert got == wanted, got
	P
	wait_until nothing_left
}

@test 'a file of root on a file system that a user has mounted does not become the kernel of a sandbox' {
	only_root
	need python3 unshare setpriv
	local kernel=(setpriv --reuid 65534 --regid 65534 --clear-groups python3 "$BATS_TEST_DIRNAME/guest-frames.py"
		"${RALPH%/bin/ralph}/libexec/ralph/guest" "$T/mounted/own" "another kernel")

	mkdir "$T/mounted"
	chmod 0755 "$T"
	# What FUSE and udisks mount for a user is nosuid, and its files say what they like of their owner.
	unshare -m sh -ec 'mount -t tmpfs -o "mode=0755,$1" none "$2" && cp "$3" "$2/own" && shift 3 && exec "$@"' sh \
		nosuid "$T/mounted" "${RALPH%/bin/ralph}/libexec/ralph/probe" "${kernel[@]}" >"$T/said"
	has "$(cat "$T/said")" "guest launch, another kernel: nothing ran: '$T/mounted/own' cannot run here"
	# On one of the system's it is started, and is none.
	unshare -m sh -ec 'mount -t tmpfs -o "mode=0755,$1" none "$2" && cp "$3" "$2/own" && shift 3 && exec "$@"' sh \
		suid "$T/mounted" "${RALPH%/bin/ralph}/libexec/ralph/probe" "${kernel[@]}" >"$T/said"
	has "$(cat "$T/said")" "guest launch, another kernel: nothing ran: the sandbox's own kernel did not start"
}

@test 'a socket in a directory that is not ours alone gets no command' {
	need python3
	export XDG_RUNTIME_DIR=$T/theirs
	mkdir -p "$XDG_RUNTIME_DIR/ralph/squat"
	chmod 0777 "$XDG_RUNTIME_DIR/ralph"
	python3 - "$XDG_RUNTIME_DIR/ralph/squat/ctl" "$T/caught" <<-'P' 3>&- &
		import socket, sys
		s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		s.bind(sys.argv[1])
		s.listen()
		c, _ = s.accept()
		open(sys.argv[2], "wb").write(c.recv(65536))
	P
	local pid=$!

	wait_until test -S "$XDG_RUNTIME_DIR/ralph/squat/ctl"
	must_fail ralph exec squat true
	must_fail ralph run -n squat -- true
	must_fail ralph rm -f squat
	kill $pid
	wait $pid || true
	[ ! -e "$T/caught" ]
	rm -rf "$XDG_RUNTIME_DIR/ralph"
}

@test 'another user cannot command a sandbox' {
	only_root
	need python3 setpriv
	export XDG_RUNTIME_DIR=$T/run
	ralph run -d -n "ctl-${WS##*-}" -- true
	chmod 0755 "$T" "$T/run" "$T/run/ralph" "$T/run/ralph/ctl-${WS##*-}"
	chmod 0777 "$T/run/ralph/ctl-${WS##*-}/ctl"
	setpriv --reuid 12345 --regid 12345 --clear-groups /usr/bin/python3 - "$T/run/ralph/ctl-${WS##*-}/ctl" <<-'P'
		import socket, struct, sys
		s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		s.settimeout(5)
		s.connect(sys.argv[1])
		try:
		    s.send(struct.pack("=6I", 0x52414C31, 6, 0, 0, 0, 0))
		    answer = s.recv(65536)
		except OSError:
		    answer = b""
		assert answer == b"", answer
	P
	chmod 0700 "$T" "$T/run" "$T/run/ralph" "$T/run/ralph/ctl-${WS##*-}"
}

@test 'hostile clients do not disturb a sandbox' {
	local ctl

	need python3
	ralph run -d -n "cl-${WS##*-}" -- true
	ctl=${XDG_RUNTIME_DIR:+$XDG_RUNTIME_DIR/ralph}
	ctl=${ctl:-/tmp/ralph-$(id -u)}/cl-${WS##*-}/ctl
	python3 - "$ctl" <<-'P'
		import os, socket, struct, sys
		def connect():
		    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		    s.connect(sys.argv[1])
		    return s
		def head(kind, length=0, fds=0, flags=0):
		    return struct.pack("=6I", 0x52414C31, kind, 0, flags, length, fds)
		null = os.open("/dev/null", os.O_RDONLY)
		for data in (os.urandom(300), b"x", head(1), head(99), head(2, 4) + b"\xff\xff\xff\xff", head(1, 1 << 31), head(16), head(1, 100) + b"\xff" * 100):
		    for fds in ([], [null] * 200):
		        s = connect()
		        try:
		            socket.send_fds(s, [data], fds) if fds else s.send(data)
		        except OSError:
		            pass
		        s.close()
		# Half a crowd that says nothing.
		crowd = []
		try:
		    for i in range(100):
		        crowd.append(connect())
		except OSError:
		    pass
	P
	same fine "$(ralph exec "cl-${WS##*-}" echo fine)"
}

@test "nothing of a sandbox's home is on the host's PATH" {
	local dir home

	ralph run -n "path-${WS##*-}" -- sh -c 'mkdir -p "$HOME/.local/bin" "$HOME/bin" && cp /bin/true "$HOME/.local/bin/git" && cp /bin/true "$HOME/bin/git"'
	home=$(readlink -f "$XDG_STATE_HOME/ralph/sandboxes/path-${WS##*-}/home")
	[ -x "$home/bin/git" ]
	[ ! -e "$HOME/bin/git" ] && [ ! -e "$HOME/.local/bin/git" ]
	while IFS= read -r -d: dir; do
		[[ $(readlink -f "$dir")/ != "$home"/* ]]
	done <<<"$PATH:"
}

@test 'a program that the agent put on the PATH is not run by ralph' {
	local name

	mkdir bin
	for name in systemd-run guest supervisor; do
		printf '#!/bin/sh\n: >"%s"\nexit 1\n' "$T/ran" >bin/$name
		chmod +x bin/$name
	done
	PATH=$WS/bin:bin:.:$PATH ralph run --rm -- true
	[ ! -e "$T/ran" ]
}

@test 'a link or a script in the workspace brings no file of the home in' {
	local command plan

	mkdir -p "$HOME/private/bin" "$HOME/bin"
	cp /bin/true "$HOME/private/bin/tool"
	cp /bin/true "$HOME/bin/named-tool"
	ln -s "$HOME/private/bin/tool" link
	ln -s "$HOME/private" dir
	printf '#!%s\n' "$HOME/private/bin/tool" >script
	printf '#!/usr/bin/env named-tool\n' >named
	chmod +x script named
	for command in ./link "$WS/link" ./dir/bin/tool ./script ./named; do
		plan=$(PATH=$HOME/bin:$PATH ralph --dry-run run -- "$command")
		lacks "$plan" "$HOME/private"
		lacks "$plan" "named-tool"
	done
	# The user's own word brings it in.
	has "$(PATH=$HOME/bin:$PATH ralph --dry-run run -- named-tool)" "$HOME/bin/named-tool"
}

@test 'what the agent makes of .git and .ralph neither hangs nor leads anywhere' {
	local case

	mkdir "$HOME/private"
	echo 'ref: refs/heads/leaked' >"$HOME/private/HEAD"
	for case in 'mkfifo .git' 'mkdir .git; mkfifo .git/HEAD' 'mkdir .git; ln -s ../../private/HEAD .git/HEAD' 'ln -s ../private .git' \
		"echo gitdir: $HOME/private >.git" 'mkdir .git; truncate -s 5G .git/HEAD' 'mkdir .git; ln -s /dev/zero .git/HEAD'; do
		rm -rf .git
		eval "$case"
		lacks "$(timeout 10 "$RALPH" --dry-run run -- true)" leaked
	done
	for case in 'mkdir .ralph; mkfifo .ralph/config.yaml' 'mkdir .ralph; ln -s /dev/zero .ralph/config.yaml' 'ln -s /dev .ralph' \
		'mkdir .ralph; printf "env:\n  pass: [SECRET]\n" >.ralph/config.yaml' \
		'mkdir .ralph; printf "mounts:\n  - path: /\n" >.ralph/config.yaml' \
		'mkdir .ralph; printf "network:\n  tier: full\n" >.ralph/config.yaml'; do
		rm -rf .ralph
		eval "$case"
		must_exit 2 timeout 10 "$RALPH" --dry-run run -- true
	done
}
