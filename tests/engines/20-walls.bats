#!/usr/bin/env bats
# runs: engines
# seconds: 40
# The walls of each engine, tried from inside, and what its own programs can see from outside.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # text for shells inside; tests are subshells; bats sets stderr
load ../cli/helpers
load ../cli/sandbox
load ../lib/cred
load engine

teardown() {
	local bad=0

	ralph rm --all --force >/dev/null 2>&1 || :
	engine volume rm "$(id -un)-llm" >/dev/null 2>&1 || :
	ralph_teardown || bad=1
	return $bad
}

@test "the self-test passes, every row of it" {
	with walls fast
	ralph run -d -n "$S"
	run -0 ralph selftest "$S"
	[[ ${lines[-1]} =~ ([0-9]+)\ of\ ([0-9]+)\ as\ expected ]] || fail "${lines[-1]}"
	same "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
	[ "${BASH_REMATCH[1]}" -ge 50 ]
	lacks "$output" "GOT OUT"
}

@test "the self-test passes but for programs that are too slow" {
	! lacks_word selftest && lacks_word fast || not_here "$ENGINE is fast"
	ralph run -d -n "$S"
	run ralph selftest "$S"
	lacks "$output" "GOT OUT"
	same "" "$(grep -v '^work ' <<<"$output" | grep refused | grep -vE 'refused +refused$' || :)"
	[ "$(grep -cE 'refused +refused$' <<<"$output")" -ge 35 ]
	has "$output" "the gateway"
}

@test "a git directory that appears is moved away, and is in its place inside again" {
	with walls
	ralph run --rm -- sh -c 'mkdir -p x/.git/objects; echo ref: refs/heads/main >x/.git/HEAD; echo theirs >x/.git/word'
	[ ! -e x/.git ]
	same theirs "$(ralph run --rm -- sh -c 'cat x/.git/word; echo more >x/.git/more')"
	[ ! -e x/.git ]
	same more "$(ralph run --rm -- cat x/.git/more)"
	[ ! -e x/.git ]
}

@test "the audit is what is inside: mounts, environment, network" {
	with walls facts
	mkdir "$T/facts"
	echo KEY=secret >.env
	ralph audit --json -- sh >"$T/audit.json"
	ralph run --rm -- sh -c 'cd /proc/self && head -c 999999 mountinfo environ net/tcp net/tcp6 net/udp net/dev' >"$T/facts/all"
	python3 - "$T/facts" <<-'END'
		import os, re, sys
		text = open(os.path.join(sys.argv[1], "all")).read()
		for name, body in re.findall(r"==> (\S+) <==\n(.*?)(?=\n==> |\Z)", text, re.S):
		    open(os.path.join(sys.argv[1], os.path.basename(name)), "w").write(body)
	END
	python3 "$ENGINES_DIR/../lib/audit-check.py" "$T/audit.json" "$T/facts"
	# The check can fail: with one mount more, or one that can be written.
	sed -i '$a 999 1 9:9 /x /x ro - ext4 /dev/x rw' "$T/facts/mountinfo"
	must_fail python3 "$ENGINES_DIR/../lib/audit-check.py" "$T/audit.json" "$T/facts"
	rm .env
}

@test "no capability, no root, a filter of system calls, and no namespace to be made" {
	with walls
	local none=0000000000000000 privs="1 "

	# A kernel of its own may have no line for what it always enforces.
	! lacks_word facts || privs=
	ralph run -d -n "$S"
	same "$none $none $none ${privs}2" "$(ralph exec "$S" \
		sh -c 'grep -E "^(CapPrm|CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status | cut -f2 | xargs')"
	[ "$(ralph exec "$S" id -u)" -ne 0 ]
	must_fail ralph exec "$S" unshare --user true
	must_fail ralph exec "$S" unshare --mount true
	must_fail ralph exec "$S" mount -t tmpfs none /tmp
	must_fail ralph exec "$S" umount "$WS/.git"
	must_fail ralph exec "$S" sh -c 'echo 1 >/proc/sys/kernel/core_pattern'
}

@test "for a plain user of the daemon the container has no capability from the first, and the walls hold" {
	only docker
	only_root
	local dir

	dir=$(mktemp -d /tmp/ru-XXXXXX)
	mkdir -m 0700 "$dir"/{home,state,config,run} "$dir/home/ws"
	chown -R nobody "$dir"
	chmod o+rw "$ENGINE_DIR/docker/socket"
	chmod o+x "$ENGINE_DIR" "$ENGINE_DIR/docker"
	as_nobody() {
		(cd "$dir/home/ws" && setpriv --reuid nobody --regid nogroup --clear-groups env HOME="$dir/home" \
			XDG_STATE_HOME="$dir/state" XDG_CONFIG_HOME="$dir/config" XDG_RUNTIME_DIR="$dir/run" "$RALPH" "$@")
	}
	lacks "$(as_nobody --dry-run run -- true)" cap-add
	has "$(as_nobody --dry-run run -- true)" "--user $(id -u nobody):"
	as_nobody run -d -n "$S" -- sh -c 'echo mine >made'
	same nobody "$(stat -c %U "$dir/home/ws/made")"
	as_nobody selftest "$S" >"$T/table" || fail "$(cat "$T/table")"
	as_nobody rm -f "$S"
	rm -r "$dir"
}

@test "the first process cannot be traced, signalled to death or looked into" {
	with walls
	ralph run -d -n "$S"
	lacks_word facts || {
		must_fail ralph exec "$S" cat /proc/1/environ
		must_fail ralph exec "$S" ls /proc/1/root
		must_fail ralph exec "$S" readlink /proc/1/fd/3
	}
	must_fail ralph exec "$S" sh -c 'echo x >/proc/1/mem'
	ralph exec "$S" sh -c 'kill -9 1; kill -TERM 1' 2>/dev/null || :
	must_exit 0 ralph exec "$S" true
}

@test "where the host's directories lie in the container nobody inside gets to" {
	only docker docker-remote podman
	ralph run -d -n "$S"
	must_fail ralph exec "$S" ls /.ralph
	lacks "$(ralph exec "$S" cat /proc/self/mountinfo)" /.ralph
	# The guest's line is not there to be connected to, on either side.
	same "" "$(find "${XDG_RUNTIME_DIR:-/tmp}" -path "*/$S/line" 2>/dev/null)"
	same "" "$(ralph exec "$S" find /run /tmp -type s)"
}

@test "a link that an agent left where something is mounted leads nowhere" {
	with walls
	mkdir "$HOME/shared"
	export RALPH_MOUNTS=$HOME/shared:$WS/data:rw
	ralph run -n "$S" -- true
	rmdir "$WS/data" 2>/dev/null || :
	ln -s "$T" "$WS/data"
	run --separate-stderr ralph run -n "$S" -- true
	same 125 "$status"
	has "$stderr" "replaced by a link"
}

# Everything the engine's own program tells of a container, and what ps shows of it.
told() {
	engine inspect "$(engine ps -aq)"
	engine history --no-trunc "$RALPH_IMAGE_NAME"
	engine diff "$(engine ps -aq)"
	cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n'
}

@test "no variable of the sandbox is in the container's description, nor the proxy's address" {
	only docker podman
	ralph run -d -n "$S" -e MARKED=value-of-mine
	has "$(ralph exec "$S" env)" value-of-mine
	told >"$T/told"
	lacks "$(engine inspect "$(engine ps -aq)")" value-of-mine
	lacks "$(engine inspect "$(engine ps -aq)")" 127.0.0.1:3128
	has "$(cat "$T/told")" '"NetworkMode": "none"'
}

@test "pipe: the value is in no description, layer, volume, argument, variable or record; only where the agent looks" {
	only docker podman
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	echo 'credentials: [{name: anthropic, way: pipe}]' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	export RALPH_AGENT=claude
	login sk-ant-oat01-marked sk-ant-ort01-marked
	ralph run -d -n "$S" -- true
	has "$(ralph run -n "$S" -- cat "$HOME/.claude/.credentials.json")" sk-ant-oat01-marked
	told >"$T/told"
	# The test itself has it in no variable; what is found would be ralph's or the engine's doing.
	! grep -aF sk-ant-oat01-marked "$T/told" || fail "told"
	lacks "$(ralph exec "$S" sh -c 'cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr "\0" "\n"')" sk-ant-oat01
	run ! grep -rF sk-ant-oat01 "$XDG_STATE_HOME/ralph/sandboxes/$S"/*.json*
	run ! grep -raqF sk-ant-oat01-marked "$XDG_STATE_HOME"
	case $ENGINE in
	docker) run ! grep -raqF sk-ant-oat01-marked "$ENGINE_DIR/docker/data/overlay2" ;;
	podman) run ! grep -raqF sk-ant-oat01-marked "$ENGINE_DIR/podman/data/overlay" ;;
	esac
}

@test "mount: the file of the host is inside, alone, and what is written there stays on the host" {
	only docker docker-remote podman
	local file=$HOME/.claude/.credentials.json

	mkdir -p "$XDG_CONFIG_HOME/ralph"
	echo 'credentials: [{name: anthropic, way: mount}]' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	export RALPH_AGENT=claude
	login sk-ant-oat01-real sk-ant-ort01-real
	echo secret >"$HOME/.claude/history.jsonl"
	has "$(ralph run -n "$S" -- cat "$file" 2>/dev/null)" sk-ant-oat01-real
	must_fail ralph run -n "$S" -- cat "$HOME/.claude/history.jsonl" 2>/dev/null
	ralph run -n "$S" -- sh -c "echo '{\"changed\":1}' >'$file'" 2>/dev/null
	same '{"changed":1}' "$(cat "$file")"
}

@test "what an agent remembers is in the login's volume, and outlives the sandbox" {
	only docker podman
	local volume

	volume=$(id -un)-llm
	export RALPH_AGENT=claude
	ralph run -n "$S" -- sh -c 'mkdir -p ~/.claude/projects && echo kept >~/.claude/projects/x; echo too >~/y'
	has "$(engine volume ls -q)" "$volume"
	ralph rm -f "$S"
	same "kept too" "$(ralph run -n "$S" -- sh -c 'echo $(cat ~/.claude/projects/x ~/y)')"
	# What was said there is found, though the home never had it.
	ralph run -n "$S" -- sh -c 'mkdir -p ~/.claude/projects/-p && cat >~/.claude/projects/-p/s1.jsonl' \
		<"$ENGINES_DIR/../golden/transcripts/claude-tools-run.jsonl"
	ralph export -o "$T/inbox" "$S" >"$T/export"
	same 1 "$(find "$T/inbox" -name '*.md' | wc -l)"
	# Another project's sandbox does not have it, nor one with --rm, nor another agent.
	mkdir "$HOME/other"
	must_fail ralph run -n "o-$S" "$HOME/other" -- sh -c 'cat ~/.claude/projects/x' 2>/dev/null
	must_fail ralph run --rm -n "r-$S" -- sh -c 'cat ~/.claude/projects/x' 2>/dev/null
	must_fail env RALPH_AGENT=command "$RALPH" run -n "c-$S" -- sh -c 'cat ~/.claude/projects/x' 2>/dev/null
	# One of that name that is not ralph's is not used.
	ralph rm --all --force >/dev/null
	engine volume rm "$volume" >/dev/null
	engine volume create "$volume" >/dev/null
	run --separate-stderr ralph run -n "$S" -- true
	same 125 "$status"
	has "$stderr" "volume rm $volume"
}

@test "an image that is not there, a daemon that does not answer, one of another machine: said, and nothing starts" {
	only docker podman
	run --separate-stderr ralph run --image no-such:image -- true
	same 2 "$status"
	has "$stderr" "no-such:image"
	run --separate-stderr env RALPH_IMAGE_NAME= "$RALPH" audit
	must_fail test "$status" -eq 0
	has "$stderr" image
	mkdir "$T/bin"
	printf '#!/bin/sh\necho "Cannot connect to the daemon" >&2\nexit 1\n' >"$T/bin/$ENGINE"
	chmod +x "$T/bin/$ENGINE"
	run --separate-stderr env PATH="$T/bin:$PATH" "$RALPH" run -- true
	same 125 "$status"
	has "$stderr" "Cannot connect to the daemon"
	printf '#!/bin/sh\necho %s\n' "'$(printf '{"KernelVersion":"9.9","OSType":"linux","OperatingSystem":"Docker Desktop","host":{"kernel":"9.9","serviceIsRemote":true}}')'" >"$T/bin/$ENGINE"
	run --separate-stderr env PATH="$T/bin:$PATH" "$RALPH" run -- true
	same 125 "$status"
	has "$stderr" "elsewhere"
	same "" "$(ralph ls -q)"
}

@test "without an image of the user's the project's own is built at the first run, and is the sandbox's root" {
	only docker podman
	mkdir -p .ralph/image
	echo from-the-context >.ralph/image/said
	printf 'FROM %s\nCOPY said /opt/said\nENV WHO=project\n' "$RALPH_IMAGE_NAME" >.ralph/Dockerfile
	unset RALPH_IMAGE_NAME
	# Neither a plan nor an audit builds one.
	run --separate-stderr ralph --dry-run run -n "$S" -- true
	same 2 "$status"
	ralph trust --yes >/dev/null 2>&1
	run --separate-stderr ralph --dry-run run -n "$S" -- true
	same 2 "$status"
	has "$stderr" "image build"
	same "from-the-context project" "$(ralph run -n "$S" -- sh -c 'cat /opt/said; echo $WHO' 2>"$T/err" | xargs)" || fail "$(cat "$T/err")"
	has "$(ralph --dry-run run -n "$S" -- true)" agent-loop-sandbox-command:v
	# The second run builds nothing, and says nothing.
	ralph run -n "$S" -- true 2>"$T/err"
	same "" "$(cat "$T/err")"
}

@test "what an older ralph left in the volume for all projects stays there, and no sandbox sees it (tests/upgrade)" {
	only docker docker-remote podman
	local volumes=$XDG_STATE_HOME/ralph/volumes

	mkdir -p "$volumes"
	tar -C "$volumes" -xJpf "$BATS_TEST_DIRNAME/../upgrade/fixture/volume.tar.xz"
	mv "$volumes/volume" "$volumes/$(id -un)-llm"
	ralph run --agent claude -- sh -c '[ ! -e ~/.claude/projects/note.json ]; mkdir -p ~/.claude/projects; echo more >~/.claude/projects/more'
	ralph rm "$(sandbox)"
	same more "$(ralph run --agent claude -- sh -c 'echo $(ls ~/.claude/projects)')"
	same '{}' "$(cat "$volumes/$(id -un)-llm/.claude/projects/note.json")"
}

@test "a volume that the image asks for is not in the sandbox" {
	only docker podman
	local id

	id=$(engine create --network none "$RALPH_IMAGE_NAME" true)
	engine commit --change 'VOLUME /usr/share/data' --change 'ENV SAID=by-the-image' --change 'USER nobody' \
		--change 'ENTRYPOINT ["/bin/false"]' "$id" localhost/ralph-volume:test >/dev/null
	engine rm "$id" >/dev/null
	export RALPH_IMAGE_NAME=localhost/ralph-volume:test
	# The self-test of a new image knows every mount.
	same by-the-image "$(ralph run -n "$S" -- sh -c 'echo $SAID')"
	lacks "$(ralph run -n "$S" -- cat /proc/self/mountinfo)" " /usr/share/data "
	must_fail ralph run -n "$S" -- sh -c 'echo x >/usr/share/data/x' 2>/dev/null
	ralph rm -f "$S"
	# Nor does one stay behind.
	same "" "$(engine volume ls -q | grep -v -- -llm || :)"
}

@test "what was shown is what runs: the plan has every mount that the container has" {
	only docker podman
	ralph --dry-run run -n "$S" -- true >"$T/plan"
	ralph run -d -n "$S"
	engine inspect "$(engine ps -aq)" | get '"\n".join(m["Destination"] for m in j[0]["Mounts"])' >"$T/mounts"
	[ -s "$T/mounts" ]
	while read -r path; do
		has "$(cat "$T/plan")" "target=$path"
	done <"$T/mounts"
	same "false true none" "$(engine inspect "$(engine ps -aq)" | get '(str(j[0]["HostConfig"]["Privileged"]) + " " + str(j[0]["HostConfig"]["ReadonlyRootfs"]) + " " + j[0]["HostConfig"]["NetworkMode"]).lower()')"
}

# ---- an engine on another machine ----

# far_ports: the ports that ralph listens on for sandboxes there.
far_ports() {
	ss -Hltn "src $(far_address 1)" | awk '{ sub(/.*:/, "", $4); print $4 }'
}

# in_world CMD…: on the engine's machine.
in_world() {
	nsenter -t "$(cat "$ENGINE_DIR/machine")" -n "$@"
}

# What a program inside would try: every address and port given, by TCP, and a datagram to each name server. Prints
# what it reached.
tries() {
	cat <<-'END'
		import socket, sys
		for word in sys.argv[1:]:
		    kind, host, port = word.split("/")
		    try:
		        if kind == "tcp":
		            socket.create_connection((host, int(port)), 3).close()
		        else:
		            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		            s.settimeout(3)
		            s.sendto(b"exfil", (host, int(port)))
		            s.recvfrom(99)
		        print(word)
		    except OSError:
		        pass
	END
}

# world ADDRESS…: on the engine's machine, one server for TCP and one for datagrams at each; what came is in $T/world.
world() {
	cat >"$T/world.py" <<-'END'
		import socket, sys, threading
		log = open(sys.argv[1] + "/world", "a", buffering=1)
		def tcp(a):
		    s = socket.create_server((a, 80))
		    while True:
		        c, _ = s.accept(); log.write("tcp %s\n" % a); c.close()
		def udp(a):
		    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind((a, 53))
		    while True:
		        d, f = s.recvfrom(999); log.write("udp %s\n" % a); s.sendto(d, f)
		for a in sys.argv[2:]:
		    threading.Thread(target=tcp, args=(a,), daemon=True).start()
		    threading.Thread(target=udp, args=(a,), daemon=True).start()
		open(sys.argv[1] + "/world-up", "w").close()
		threading.Event().wait()
	END
	for address; do
		in_world ip address replace "$address/32" dev lo
	done
	nsenter -t "$(cat "$ENGINE_DIR/machine")" -n python3 "$T/world.py" "$T" "$@" 3>&- &
	WORLD=$!
	wait_until test -e "$T/world-up"
}

@test "elsewhere: nothing is reached from inside but the gateway: not this machine, the engine's, a container, the world" {
	only docker-remote
	local here there all=() ids=() outpost

	here=$(far_address 1)
	there=$(far_address 2)
	world 9.9.9.9
	python3 -m http.server --bind 127.0.0.1 0 >"$T/loop" 2>&1 3>&- &
	local loop=$!
	python3 -u -m http.server --bind "$here" 0 >"$T/own" 2>&1 3>&- &
	local own=$!
	wait_until grep -q port "$T/own"
	ralph run -d -n "$S"
	outpost=$(engine inspect -f '{{.NetworkSettings.IPAddress}}' "$(engine ps -q --filter name=-far)")
	all=("tcp/$here/$(grep -o 'port [0-9]*' "$T/own" | cut -d' ' -f2)" "tcp/$there/2375" tcp/9.9.9.9/80 udp/9.9.9.9/53
		"tcp/$here/$(far_ports | grep -v "$(grep -o 'port [0-9]*' "$T/own" | cut -d' ' -f2)" | head -1)"
		tcp/172.17.0.1/2375)
	tries >tries.py
	# All of it is there for a container with a network: the engine's own, and what the outpost has.
	same "$(printf '%s\n' "${all[@]}")" "$(engine run --rm --network bridge -v "$WS:$WS" "$RALPH_IMAGE_NAME" \
		python3 "$WS/tries.py" "${all[@]}")"
	: >"$T/world"
	same "" "$(ralph exec "$S" python3 "$WS/tries.py" "${all[@]}" "tcp/$outpost/3128" udp/127.0.0.11/53 udp/8.8.8.8/53)"
	same lo "$(ralph exec "$S" sh -c "tail -n +3 /proc/net/dev | cut -d: -f1 | xargs")"
	same "" "$(cat "$T/world")"
	mapfile -t ids < <(engine ps -q)
	same "bridge none" "$(engine inspect -f '{{.HostConfig.NetworkMode}}' "${ids[@]}" | sort | xargs)"
	# And the gateway is there, with its rules.
	has "$(ralph exec "$S" curl -sS -m 10 http://9.9.9.9/ 2>&1)" refused
	kill "$WORLD" "$own" "$loop"
}

@test "elsewhere: the gateway's port takes the sandbox's own token alone; all else is 407, and on record" {
	only docker-remote
	local here port other ids=()

	here=$(far_address 1)
	ralph run -d -n "$S"
	port=$(far_ports)
	same 407 "$(curl -s -o /dev/null -m 10 -w '%{http_code}' "http://$here:$port/")"
	same 407 "$(curl -s -o /dev/null -m 10 -w '%{http_connect}' -x "http://$here:$port" https://example.com/ || :)"
	same 407 "$(curl -s -o /dev/null -m 10 -w '%{http_code}' "http://$here:$port/_ralph/anthropic/v1/messages")"
	wait_until grep -q '"reason":"a connection to the gateway.s port without' "$XDG_STATE_HOME/ralph/sandboxes/$S/events.jsonl"
	mkdir "$HOME/second"
	ralph run -d -n "o-$S" "$HOME/second"
	# The bytes that another sandbox's outpost begins with, as the wire has them.
	python3 - "$(ip -o -4 address show to "$here" | awk '{ print $2 }')" "$T/hello" <<-'END' 3>&- &
		import os, socket, sys
		s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
		s.bind((sys.argv[1], 0))
		open(sys.argv[2] + ".up", "w").close()
		while not os.path.exists(sys.argv[2]):
		    d = s.recv(65535)
		    i = d.find(b"RALPHfar")
		    if i >= 0:
		        open(sys.argv[2], "wb").write(d[i:i + 93])
	END
	wait_until test -e "$T/hello.up"
	ralph exec "o-$S" curl -s -m 10 -o /dev/null http://example.com/ || :
	wait_until test -s "$T/hello"
	other=$(far_ports | grep -vx "$port")
	cat >"$T/ask.py" <<-'END'
		import socket, sys
		s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 10); s.settimeout(10)
		s.sendall(open(sys.argv[3], "rb").read() + b"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n")
		print(s.recv(999).split()[1].decode())
	END
	same 403 "$(python3 "$T/ask.py" "$here" "$other" "$T/hello")"
	same 407 "$(python3 "$T/ask.py" "$here" "$port" "$T/hello")"
	# Each start has another token.
	ralph stop "o-$S"
	ralph run -d -n "o-$S" "$HOME/second"
	ralph exec "o-$S" true
	same 407 "$(python3 "$T/ask.py" "$here" "$(far_ports | grep -vx "$port")" "$T/hello")"
	# Neither is in a description, an argument or a variable.
	dd if="$T/hello" bs=1 skip=8 count=64 of="$T/token" status=none
	mapfile -t ids < <(engine ps -aq)
	lacks "$(engine inspect "${ids[@]}"; cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n')" \
		"$(cat "$T/token")"
}

@test "elsewhere: a file that is not there as it is here is found out, and nothing starts" {
	only docker-remote
	mkdir "$HOME/mine"
	# The engine's machine has a directory of that name, and another one in it.
	run --separate-stderr unshare --mount sh -c 'mount -t tmpfs none "$1" && mkdir "$1/ws" && cd "$1/ws" &&
		"$2" run -n "$3" -- touch made' sh "$HOME/mine" "$RALPH" "$S"
	same 125 "$status"
	has "$stderr" "not the files that are here"
	mkdir "$HOME/mine/ws"
	run --separate-stderr unshare --mount sh -c 'mount -t tmpfs none "$1" && mkdir "$1/ws" && cd "$1/ws" &&
		"$2" run -n "$3" -- touch made' sh "$HOME/mine" "$RALPH" "$S"
	same 125 "$status"
	has "$stderr" "not the files that are here"
	same "" "$(find "$HOME/mine" -type f)"
	same "" "$(engine ps -aq)$(engine volume ls -q)"
	# What was tried leaves nothing where it works, either.
	ralph run -n "w-$S" -- true
	same "" "$(find "$WS" -name '.ralph-*')"
}

nothing_there() {
	[ -z "$(engine ps -aq)$(engine volume ls -q)" ]
}

@test "elsewhere: whichever of its processes is killed, everything ends and nothing is left" {
	only docker-remote
	local victim

	for victim in outpost far guest; do
		ralph run -d -n "$S"
		case $victim in
		outpost) kill -9 "$(engine inspect -f '{{.State.Pid}}' "$(engine ps -q --filter name=-far)")" ;;
		guest) kill -9 "$(engine inspect -f '{{.State.Pid}}' "$(engine ps -q | grep -v "$(engine ps -q --filter name=-far)")")" ;;
		far) kill -9 "$(pgrep -f "start --attach --interactive ralph-$S-" | head -1)" ;;
		esac
		wait_until -t 30 down
		wait_until -t 30 nothing_there
	done
}

@test "elsewhere: Docker Desktop is asked for this machine by its own name, and a machine of another kind is refused" {
	only docker-remote
	mkdir "$T/bin"
	cat >"$T/bin/docker" <<-'END'
		#!/bin/sh
		[ "$1" = info ] || exec /usr/bin/docker "$@"
		/usr/bin/docker "$@" | sed -f "${0%/*}/edits"
	END
	chmod +x "$T/bin/docker"
	echo 's/"OperatingSystem":"[^"]*"/"OperatingSystem":"Docker Desktop"/' >"$T/bin/edits"
	has "$(PATH="$T/bin:$PATH" ralph --dry-run run -- true)" "--add-host host.docker.internal:host-gateway"
	echo 's/"Architecture":"[^"]*"/"Architecture":"riscv64"/' >>"$T/bin/edits"
	run --separate-stderr env PATH="$T/bin:$PATH" "$RALPH" run -- true
	same 125 "$status"
	has "$stderr" riscv64
}

# bats test_tags=user:podman
@test 'a storage without overlay (vfs) passes the self-test' {
	[ "$ENGINE" = podman ] && [ "$(id -u)" -ne 0 ] || not_here 'for a rootless podman'
	sed 's/overlay/vfs/; s|podman/data|podman/vfs|; s|podman/run|podman/vfs-run|' "$CONTAINERS_STORAGE_CONF" >"$T/storage.conf"
	export CONTAINERS_STORAGE_CONF=$T/storage.conf
	podman import "$(engine_image)" localhost/ralph-test:image >"$T/import" 2>&1 || fail "$(cat "$T/import")"
	same vfs "$(podman info --format '{{.Store.GraphDriverName}}')"
	ralph selftest >"$T/table" 2>&1 || fail "$(cat "$T/table")"
	lacks "$(cat "$T/table")" 'GOT OUT'
}
