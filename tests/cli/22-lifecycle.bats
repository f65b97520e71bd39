#!/usr/bin/env bats
# runs: root user runtime
# seconds: 25
# Sandboxes come, are looked at, and go.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # text for shells inside; tests are subshells; bats sets stderr
load helpers
load sandbox

setup() {
	ralph_setup
	S=t-${WS##*/ws-}
}

# repo DIR BRANCH: another workspace.
repo() {
	git init -q -b "$2" "$1"
	git -C "$1" -c user.name=t -c user.email=t@example.invalid commit -q --allow-empty -m x
}

@test "two runs at once for one workspace: one sandbox, two commands" {
	"$RALPH" run -- sh -c 'touch a; while [ ! -e go ]; do sleep 0.02; done; hostname; cat ~/b' >"$T/1" 3>&- &
	local one=$! two
	"$RALPH" run -- sh -c 'echo met >~/b; touch b; while [ ! -e go ]; do sleep 0.02; done; hostname' >"$T/2" 3>&- &
	two=$!

	wait_until test -e a -a -e b
	same 2 "$(field "$(sandbox)" commands)"
	touch go
	wait $one
	wait $two
	same "$(sandbox) met" "$(xargs <"$T/1")"
	same "$(sandbox)" "$(cat "$T/2")"
	wait_until nothing_left
	rm a b go
}

@test "many runs at once that start and end as they like: each gets its answer" {
	local i pids=()

	for i in {1..16}; do
		"$RALPH" run -- sh -c "echo $i" >"$T/o$i" 2>"$T/e$i" 3>&- &
		pids+=($!)
	done
	for i in {1..16}; do
		wait "${pids[i - 1]}" || fail "run $i: exit $?: $(cat "$T/e$i")"
		same "$i" "$(cat "$T/o$i")"
	done
	same 1 "$(ralph ls -q | wc -l)"
}

@test "many runs at once with --rm: each gets its answer, nothing stays" {
	local i pids=()

	for i in {1..12}; do
		"$RALPH" run --rm -- sh -c "echo $i" >"$T/o$i" 2>"$T/e$i" 3>&- &
		pids+=($!)
	done
	for i in {1..12}; do
		wait "${pids[i - 1]}" || fail "run $i: exit $?: $(cat "$T/e$i")"
		same "$i" "$(cat "$T/o$i")"
	done
	same "" "$(ralph ls -q)"
	same "" "$(ls -A "$XDG_STATE_HOME/ralph/sandboxes")"
}

@test "a sandbox is named after the branch, or the directory where there is none" {
	git -C "$WS" checkout -q -b "fix-$S-x"
	same "agent-loop-command-fix-$S-x" "$(ralph run -- hostname)"
	mkdir "$HOME/plain-$S-x"
	same "agent-loop-command-plain-$S-x" "$(ralph run "$HOME/plain-$S-x" -- hostname)"
}

@test "a name that had to be changed, or is another workspace's, gets a suffix" {
	local a b

	repo "$HOME/one" "Feature/$S-x"
	a=$(ralph run "$HOME/one" -- hostname)
	[[ $a =~ ^agent-loop-command-feature-$S-x-[0-9a-f]{8}$ ]] || fail "$a"
	repo "$HOME/two" "br-$S-x"
	repo "$HOME/three" "br-$S-x"
	a=$(ralph run "$HOME/two" -- hostname)
	b=$(ralph run "$HOME/three" -- hostname)
	same "agent-loop-command-br-$S-x" "$a"
	[[ $b =~ ^agent-loop-command-br-$S-x-[0-9a-f]{8}$ ]] || fail "$b"
	same "$b" "$(ralph run "$HOME/three" -- hostname)"
}

@test "--name gives the name; what is none is refused" {
	local bad

	same "$S" "$(ralph run -n "$S" -- hostname)"
	for bad in "" A a_b -a a- a/b .. . "$(printf 'x%.0s' {1..64})" 'a b' 'ä'; do
		must_exit 2 ralph run "--name=$bad" -- true
	done
	same "$S" "$(ralph ls -q)"
}

@test "ls: a table for people, names for scripts, JSON for programs" {
	same "" "$(ralph ls -q)"
	same "[]" "$(ralph ls --json)"
	ralph run -d -n "$S"
	ralph run -n "$S-off" -- true
	same "$S $S-off" "$(ralph ls --quiet | xargs)"
	has "$(ralph ls)" "NAME"
	same "$S running" "$(ralph ls | awk '$1 == "'"$S"'" { print $1, $4 }')"
	same "$S-off stopped" "$(ralph ls | awk '$1 == "'"$S-off"'" { print $1, $4 }')"
	same "running stopped $WS" "$(ralph ls --json | get '" ".join([r["state"] for r in j] + [j[0]["workspace"]])')"
}

@test "inspect --json is what is inside: mounts, environment, user, host name" {
	ralph run -d -n "$S" -e MARK=here
	ralph inspect "$S" --json >"$T/spec"
	ralph exec "$S" sh -c 'cat /proc/self/mountinfo' | awk '{ print $5 }' | sort -u >"$T/mounts"
	# Every bind and tmpfs of the spec is a mount inside.
	get '"\n".join(sorted({m["target"] for m in j["mounts"] if m["kind"] in ("ro", "rw", "tmpfs", "proc")}))' <"$T/spec" >"$T/told"
	same "" "$(comm -13 "$T/mounts" <(sort -u "$T/told"))"
	# Every mount inside is in the spec, but for the parts of /dev and what masks /proc.
	get '"\n".join(sorted({m["target"] for m in j["mounts"]}))' <"$T/spec" | sort -u >"$T/targets"
	same "" "$(comm -23 "$T/mounts" "$T/targets" | grep -v -e '^/dev/' -e '^/proc/' | xargs)"
	# The values that ralph sets are told, and only the names of others.
	same "$(get '"\n".join(sorted(e["name"] + "=" + e["value"] for e in j["env"] if e["origin"] == "set"))' <"$T/spec")" \
		"$(ralph exec "$S" env | LC_ALL=C sort | grep -vE "^($(get '"|".join(e["name"] for e in j["env"] if e["origin"] != "set")' <"$T/spec"))=")"
	same "MARK=***" "$(get '[e["name"] + "=" + e["value"] for e in j["env"] if e["name"] == "MARK"][0]' <"$T/spec")"
	same "$(get 'str(j["uid"]) + " " + str(j["gid"]) + " " + j["hostname"]' <"$T/spec")" \
		"$(ralph exec "$S" sh -c 'id -u; id -g; hostname' | xargs)"
}

@test "inspect for people names the limits' method; of a stopped sandbox too" {
	ralph run -n "$S" -- true
	has "$(ralph inspect "$S")" "stopped"
	has "$(ralph inspect "$S")" "limits by"
	same 125 "$(must_exit 1 ralph inspect no-such 2>/dev/null && echo 125)"
}

@test "stop ends the sandbox and keeps its home; it may be asked for twice" {
	ralph run -d -n "$S" -- sh -c 'echo x >~/kept'
	same "$S" "$(ralph stop "$S")"
	down
	nothing_left
	same "$S" "$(ralph stop "$S")"
	same x "$(ralph run -n "$S" -- sh -c 'cat ~/kept')"
	must_exit 1 ralph stop no-such
	same "$S" "$(ralph stop)"
	(mkdir "$T/elsewhere" && cd "$T/elsewhere" && must_exit 2 ralph stop)
	must_exit 2 ralph stop --all "$S"
}

@test "rm refuses a running sandbox, says how, and removes it with -f" {
	ralph run -d -n "$S"
	run --separate-stderr ralph rm "$S"
	same 1 "$status"
	has "$stderr" "ralph rm -f $S"
	up
	same "$S" "$(ralph rm -f "$S")"
	same "" "$(ralph ls -q)"
	nothing_left
	must_exit 1 ralph rm "$S"
}

@test "rm goes on with the others when one fails, and exits 1" {
	ralph run -n "$S-a" -- true
	ralph run -n "$S-b" -- true
	run --separate-stderr ralph rm "$S-a" no-such "$S-b"
	same 1 "$status"
	same "$S-a $S-b" "$(xargs <<<"$output")"
	same "" "$(ralph ls -q)"
}

@test "rm --all removes running and stopped ones; with none it is content" {
	ralph rm --all
	ralph run -d -n "$S-a"
	ralph run -n "$S-b" -- true
	same "$S-a $S-b" "$(ralph rm --all | xargs)"
	same "" "$(ls -A "$XDG_STATE_HOME/ralph/sandboxes")"
	nothing_left
}

@test "rm removes what the sandbox made hard to remove" {
	ralph run -n "$S" -- sh -c 'cd ~; mkdir -p a/b c; touch a/b/f c/g; chmod 000 a/b; chmod 555 c; ln -s / root; ln -s '"$WS"' ws; mkfifo p'
	ralph rm "$S"
	same "" "$(ls -A "$XDG_STATE_HOME/ralph/sandboxes")"
	[ -e "$WS/file" ]
}

@test "rm removes a tree that is deeper than paths and descriptors go" {
	ralph run -n "$S" -- python3 -c '
import os
os.chdir(os.environ["HOME"])
for i in range(2200):
    os.mkdir("d")
    os.chdir("d")
    open("f", "w").close()'
	ralph rm "$S"
	same "" "$(ls -A "$XDG_STATE_HOME/ralph/sandboxes")"
}

kill_supervisor() {
	local pid

	pid=$(field "$S" supervisor)
	kill -9 "$pid"
	wait_until nothing_left
}

cgroups_of() {
	find /sys/fs/cgroup -type d -name "*$S*" 2>/dev/null
}

@test "a killed supervisor: ls says stopped, the next run cleans up and works" {
	ralph run -d -n "$S" -- sh -c 'echo x >~/kept'
	kill_supervisor
	down
	must_exit 125 ralph exec "$S" true
	same x "$(ralph run -n "$S" -- sh -c 'cat ~/kept')"
	same "" "$(cgroups_of)"
}

@test "a killed supervisor: rm leaves no record, no socket, no cgroup" {
	ralph run -d -n "$S"
	kill_supervisor
	ralph rm "$S"
	same "" "$(ralph ls -q)"
	same "" "$(cgroups_of)"
	[ ! -e "${XDG_RUNTIME_DIR:-/tmp/ralph-$(id -u)}/${XDG_RUNTIME_DIR:+ralph/}$S" ]
}

@test "a killed supervisor: stop cleans up" {
	ralph run -d -n "$S"
	kill_supervisor
	ralph stop "$S"
	same "" "$(cgroups_of)"
	ralph run -n "$S" -- true
}

@test "a damaged record is listed, named in the error, and can be removed" {
	local text

	for text in '' '{' '[]' '{"name": 1}' 'null'; do
		ralph run -n "$S" -- true
		printf '%s' "$text" >"$XDG_STATE_HOME/ralph/sandboxes/$S/spec.json"
		is "$S" state damaged
		run --separate-stderr ralph inspect "$S"
		same 1 "$status"
		has "$stderr" "damaged"
		same "$S" "$(ralph rm "$S")"
	done
	same "" "$(ralph ls -q)"
}

@test "a damaged record does not keep the workspace from running" {
	ralph run -n "$S" -- true
	echo '{' >"$XDG_STATE_HOME/ralph/sandboxes/$S/spec.json"
	same ok "$(ralph run -n "$S" -- echo ok)"
}

@test "what is not a sandbox's directory in the state is left alone" {
	mkdir -p "$XDG_STATE_HOME/ralph/sandboxes/Not_One"
	same "" "$(ralph ls -q)"
	ralph rm --all
	rmdir "$XDG_STATE_HOME/ralph/sandboxes/Not_One"
}

@test "a state that cannot be written: 125 with the path" {
	only_user
	mkdir "$T/closed" && chmod 500 "$T/closed"
	XDG_STATE_HOME=$T/closed run --separate-stderr ralph run -- true
	same 125 "$status"
	has "$stderr" "$T/closed"
}

@test "a state that is a file: 125 with the path" {
	echo >"$T/f"
	XDG_STATE_HOME=$T/f run --separate-stderr ralph run -- true
	same 125 "$status"
	has "$stderr" "$T/f"
}

@test "a runtime directory that is open to others, a link, or a file is refused" {
	export XDG_RUNTIME_DIR=$T/r

	mkdir -p "$T/r/ralph" "$T/elsewhere"
	chmod 777 "$T/r/ralph"
	must_exit 125 ralph run -- true
	must_exit 125 ralph exec "$S" true
	rmdir "$T/r/ralph"
	chmod 700 "$T/elsewhere"
	ln -s "$T/elsewhere" "$T/r/ralph"
	must_exit 125 ralph run -- true
	must_exit 125 ralph exec "$S" true
	same "" "$(ls -A "$T/elsewhere")"
	rm "$T/r/ralph"
	echo >"$T/r/ralph"
	must_exit 125 ralph run -- true
	rm "$T/r/ralph"
	ralph rm --all
}

@test "a runtime directory of another user is refused, by run and by exec" {
	only_root
	export XDG_RUNTIME_DIR=$T/r
	ralph run -d -n "$S"
	must_exit 0 ralph exec "$S" true
	chown nobody "$T/r/ralph"
	run --separate-stderr ralph exec "$S" true
	same 125 "$status"
	has "$stderr" "of your own"
	must_exit 125 ralph run -n "$S" -- true
	chown root "$T/r/ralph"
	chown nobody "$T/r/ralph/$S"
	must_exit 125 ralph exec "$S" true
	chown root "$T/r/ralph/$S"
	ralph rm -f "$S"
}

@test "places with paths longer than a socket's name work" {
	local long

	long=$T/$(printf 'd%.0s' {1..120})
	mkdir -p "$long/run" "$long/state" "$long/home/ws"
	export XDG_RUNTIME_DIR=$long/run XDG_STATE_HOME=$long/state HOME=$long/home
	chmod 700 "$long/run"
	ralph run -d -n "$S" "$long/home/ws"
	same hi "$(ralph exec "$S" echo hi)"
	ralph rm -f "$S"
}

refused() {
	run --separate-stderr ralph run "$1" -- true
	same 2 "$status"
	has "$stderr" "$2"
	same "" "$(ralph ls -q | grep -v '^x$' || :)"
}

@test "workspaces that would give too much away are refused, with the reason" {
	ln -s / "$T/root"
	ln -s "$HOME" "$T/h"
	refused / "root of the file system"
	refused "$T/root" "root of the file system"
	refused "$HOME" "home directory"
	refused "$T/h/" "home directory"
	refused "$WS/.." "home directory"
	refused "$T" "home directory"
	refused /etc "/etc"
	refused /usr/lib "/usr"
	refused /proc "/proc"
	refused /tmp "/tmp"
	refused /dev/shm "/dev"
}

@test "ralph's own directories are no workspaces, nor what is in or above them" {
	ralph run -n "$S" -- true
	ralph rm "$S"
	mkdir -p "$XDG_CONFIG_HOME/ralph" "$XDG_STATE_HOME/ralph/sandboxes/x"
	export HOME=$T/home/inner
	mkdir "$HOME"
	refused "$XDG_STATE_HOME/ralph" "ralph's own"
	refused "$XDG_STATE_HOME" "ralph's own"
	refused "$XDG_STATE_HOME/ralph/sandboxes/x" "ralph's own"
	refused "$XDG_CONFIG_HOME" "ralph's own"
	rmdir "$XDG_STATE_HOME/ralph/sandboxes/x"
}

@test "a workspace that is missing or a file is refused" {
	refused "$T/not-there" "does not exist"
	refused "$WS/file" "not a directory"
	refused "$WS/file/x" "does not exist"
}

@test "a workspace whose path is not UTF-8 is refused, and not another one taken for it" {
	mkdir "$HOME/"$'w-\xff' "$HOME/"$'w-\xef\xbf\xbd'
	refused "$HOME/"$'w-\xff' "UTF-8"
	same ok "$(ralph run "$HOME/"$'w-\xef\xbf\xbd' -- echo ok)"
}

@test "another user's home is no workspace" {
	only_root
	refused /home/ralph-test "home directory"
}

@test "events are kept in order, with their chain unbroken over runs" {
	ralph run -n "$S" -- true
	must_exit 3 ralph run -n "$S" -- sh -c 'exit 3'
	python3 - "$XDG_STATE_HOME/ralph/sandboxes/$S/events.jsonl" <<-'END'
		import hashlib, json, sys
		chain, seq, types = "", 0, []
		for line in open(sys.argv[1], encoding="utf-8"):
		    text, _, mine = line.rstrip("\n").rpartition(',"chain":')
		    event = json.loads(line)
		    seq += 1
		    assert event["seq"] == seq, line
		    chain = hashlib.sha256((chain + text + "}").encode()).hexdigest()
		    assert event["chain"] == chain, line
		    types.append(event["type"])
		assert types.count("exec") == 2 and types.count("exec-end") == 2, types
		assert types[0] == "sandbox-start" and types[-1] == "sandbox-stop", types
	END
}

# own_programs: from now on ralph's programs are a copy of this test's own, to be told from those of others.
own_programs() {
	only_in_a_tree
	cp -r "${RALPH%/bin/ralph}/libexec/ralph" "$T/programs"
	export RALPH_LIBEXEC=$T/programs
}

none_runs() {
	! pgrep -f "$T/programs/" >/dev/null
}

# only_run PIDS: none of ralph's programs but these.
only_run() {
	[ -z "$(comm -13 <(sort <<<"$1") <(pgrep -f "$T/programs/" | sort))" ]
}

@test "what was started ahead of a mistake, of a live sandbox, or of a caller that was killed is gone" {
	local pid supervisor

	own_programs
	must_exit 2 ralph run --no-such-option -- true
	wait_until none_runs
	ralph run -d -n "$S" -- true
	supervisor=$(field "$S" supervisor)
	pid=$(pgrep -f "$T/programs/")
	ralph run -n "$S" -- true
	wait_until only_run "$pid"
	same "$supervisor" "$(field "$S" supervisor)"
	ralph rm -f "$S"
	wait_until none_runs
	# Killed at once, and wherever it has got to by then.
	for _ in 1 2 3 4 5; do
		"$RALPH" run -n "$S" -- true &
		kill -9 $!
		wait $! || :
	done
	wait_until none_runs
}

@test "a sandbox whose record another holds is planned and not started; with its caller it is gone" {
	local held pid

	own_programs
	ralph run -n "$S" -- true
	exec {held}<"$XDG_STATE_HOME/ralph/sandboxes/$S"
	flock "$held"
	"$RALPH" run -n "$S" -- touch ran 3>&- {held}<&- &
	pid=$!
	wait_until pgrep -f "$T/programs/supervisor $S\$"
	kill -9 $pid
	wait $pid || :
	wait_until none_runs
	[ ! -e ran ]
	exec {held}<&-
}

# bats test_tags=root
@test "on a host with cgroup v2 alone the supervisor is started ahead too, and goes where it is not needed" {
	only_root
	need unshare
	own_programs
	mv "$T/programs/cli" "$T/programs/whole"
	printf '#!/bin/sh\necho "$RALPH_PRESTART" >>%q\nexec %q "$@"\n' "$T/ahead" "$T/programs/whole" >"$T/programs/cli"
	chmod +x "$T/programs/cli"
	unified=(unshare -m sh -c 'umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup && exec "$@"' sh)
	same inside "$("${unified[@]}" "$RALPH" run --rm -- echo inside)"
	grep -qx "[0-9][0-9]*" "$T/ahead"
	must_exit 2 "${unified[@]}" "$RALPH" run --no-such-option -- true
	wait_until none_runs
}

# The command line and the supervisor to be, which is its child; the guest is that one's.
@test "whoever is killed while the guest makes its namespaces leaves no guest behind" {
	own_programs
	python3 - "$RALPH" "$S" <<-'END'
		import os, random, subprocess, sys, time
		random.seed(1)
		for _ in range(150):
		    run = subprocess.Popen([sys.argv[1], "run", "--rm", "-n", sys.argv[2], "--", "true"], stderr=subprocess.DEVNULL)
		    end = time.perf_counter() + random.uniform(0, 0.006)
		    while time.perf_counter() < end:
		        pass
		    try:
		        with open(f"/proc/{run.pid}/task/{run.pid}/children") as f:
		            children = f.read().split()
		    except OSError:
		        children = []
		    run.kill()
		    for pid in children:
		        try:
		            os.kill(int(pid), 9)
		        except OSError:
		            pass
		    run.wait()
	END
	wait_until none_runs
}

@test "a guest that does not answer dies with its supervisor" {
	local guest

	ralph run -d -n "$S" -- true
	guest=$(ralph inspect "$S" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["live"]["init"])')
	kill -STOP "$guest"
	kill -9 "$(field "$S" supervisor)"
	wait_until eval "! kill -0 $guest 2>/dev/null"
}

@test "stop and rm of a sandbox that fails just then wait for its end" {
	local dir=${XDG_RUNTIME_DIR:-$T/run}/ralph pid verb

	export XDG_RUNTIME_DIR=${dir%/ralph}
	mkdir -p "$XDG_RUNTIME_DIR"
	chmod 0700 "$XDG_RUNTIME_DIR"
	ralph run -n "$S" -- true
	# A supervisor that answers the question with why it ends: WIRE_FAILED, with the rest of the head as it came.
	for verb in stop "rm -f"; do
		(umask 077 && mkdir -p "$dir/$S")
		python3 - "$dir/$S/ctl" <<-'END' 3>&- &
			import socket, struct, sys
			s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
			s.bind(sys.argv[1])
			s.listen()
			c, _ = s.accept()
			frame = c.recv(65536)
			c.send(frame[:4] + struct.pack("=I", 12) + frame[8:])
		END
		pid=$!
		wait_until test -S "$dir/$S/ctl"
		# shellcheck disable=SC2086 # a verb and its option
		ralph $verb "$S"
		wait $pid
		rm -f "$dir/$S/ctl"
	done
}

@test "a variable alone does not make ralph tell somebody else what it starts" {
	python3 - "$RALPH" "$S" <<-'END'
		import os, socket, subprocess, sys
		ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		subprocess.run([sys.argv[1], "--log-format=text", "run", "-n", sys.argv[2], "--", "true"], check=True, timeout=60,
		               env=os.environ | {"RALPH_PRESTART": str(theirs.fileno())}, pass_fds=[theirs.fileno()])
		theirs.close()
		assert ours.recv(65536) == b""
	END
}

@test "a guest that ends before it is in its namespaces: 125, and nothing is left" {
	own_guest 'echo no namespaces here >&2; exit 1'
	run --separate-stderr ralph run -- true
	same 125 "$status"
	has "$stderr" "no namespaces here"
	wait_until nothing_left
}

# taken PID: it has taken what signals it was sent.
taken() {
	grep -q '^ShdPnd:.*0000000000000000$' "/proc/$1/status"
}

@test "a signal to a run whose sandbox is still being made reaches the command" {
	local pid code=0

	own_guest 'at=${0%/programs/guest}
		[ -e "$at/go" ] || touch "$at/held"
		until [ -e "$at/go" ]; do sleep 0.02; done
		exec "$guest" "$@"'
	# The first start with a guest is its self-test.
	touch "$T/go"
	ralph run -- true
	wait_until nothing_left
	rm "$T/go"
	"$RALPH" run -- sleep 1000 3>&- &
	pid=$!
	wait_until test -e "$T/held"
	wait_until grep -q '^SigBlk:.*4...$' "/proc/$pid/status"
	kill -TERM "$pid"
	wait_until taken "$pid"
	touch "$T/go"
	wait "$pid" || code=$?
	same 143 "$code"
}
