# runs: root user
# seconds: 10
# Everything at once, and killed at any moment: the state stays whole.
# shellcheck disable=SC2016 # text for shells inside
load ../cli/helpers
load ../cli/sandbox

setup() {
	ralph_setup
	S=storm-${WS##*-}
}

cgroups_of() {
	find /sys/fs/cgroup -type d -name "*$S*" 2>/dev/null
}

# One of everything that a user may do to the sandbox of a workspace; what fails does not end it.
gust() {
	local i

	set +e
	for i in 1 2 3; do
		"$RALPH" run -n "$S" -- true
		"$RALPH" run -d -n "$S"
		"$RALPH" exec "$S" true
		"$RALPH" ls --json >/dev/null
		"$RALPH" stop --time 0 "$S" >/dev/null
		"$RALPH" run -n "$S" -- sh -c 'exit 3'
		"$RALPH" rm "$S" >/dev/null
		"$RALPH" run --rm -n "$S" -- true
		"$RALPH" prune >/dev/null
		"$RALPH" gc >/dev/null
		"$RALPH" rm -f "$S" >/dev/null
	done
	echo calm
}

# What is removed has no name at once; its files go while others go on.
only_one() {
	[ -z "$(find "$XDG_STATE_HOME/ralph/sandboxes" -mindepth 1 -maxdepth 1 ! -name "$S")" ]
}

whole() {
	wait_until only_one || fail "$(find "$XDG_STATE_HOME/ralph/sandboxes" -mindepth 1 -maxdepth 1)"
	same "" "$(ralph ls --json | get '[r for r in j if r["state"] == "damaged"] or ""')"
	same ok "$(ralph run -n "$S" -- echo ok)"
	ralph rm -f "$S"
	wait_until nothing_left || fail "$(left_behind)"
	same "" "$(ls -A "$XDG_STATE_HOME/ralph/sandboxes")"
	same "" "$(cgroups_of)"
	same 0 "$(grep -c "$S" /proc/self/mountinfo || :)"
	same "" "$(git status --porcelain --ignored)"
}

@test 'ten storms of run, stop, rm and prune on one workspace at once leave a consistent state' {
	local i pids=()

	for i in {1..10}; do
		gust >"$T/gust$i" 2>&1 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || true
	done
	same 10 "$(cat "$T"/gust* | grep -c '^calm$')"
	# What failed did so because another was faster, and said that.
	same "" "$(cat "$T"/gust* | grep -v -e '^calm$' -e 'the sandbox ended' -e 'is running; stop it first' -e 'there is no sandbox' \
		-e 'is not running' -e 'was removed meanwhile' -e 'ended just now')"
	whole
}

@test 'two hundred runs killed at random points leave no mount, no process, no cgroup and a usable sandbox' {
	python3 - "$RALPH" "$S" "${RALPH_STORM_SEED:-1}" >"$T/out" 2>&1 3>&- <<-'P' || fail "$(tail -n 20 "$T/out")"
		import os, random, signal, subprocess, sys, time
		ralph, name, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
		rnd = random.Random(seed)

		def processes(parent):
		    """All that descend from it, whatever their part."""
		    children = {}
		    for pid in filter(str.isdigit, os.listdir("/proc")):
		        try:
		            stat = open(f"/proc/{pid}/stat").read()
		        except OSError:
		            continue
		        children.setdefault(int(stat[stat.rindex(")") + 2:].split()[1]), []).append(int(pid))
		    found, todo = [], [parent]
		    while todo:
		        todo += children.get(todo.pop(), [])
		        found = todo + found if todo else found
		    return found

		def supervisors():
		    found = []
		    for pid in filter(str.isdigit, os.listdir("/proc")):
		        try:
		            words = open(f"/proc/{pid}/cmdline").read().split("\0")
		        except OSError:
		            continue
		        if len(words) > 1 and words[0].endswith("/supervisor") and words[1] == name:
		            found.append(int(pid))
		    return found

		def kill(pid):
		    try:
		        os.kill(pid, signal.SIGKILL)
		    except ProcessLookupError:
		        pass

		for round in range(200):
		    p = subprocess.Popen([ralph, "run", "-n", name, "--", "sh", "-c", ":"],
		                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
		    time.sleep(rnd.random() * 0.025)
		    part = rnd.choice(["command line", "supervisor", "inside"])
		    if part == "command line":
		        kill(p.pid)
		    else:
		        for s in supervisors():
		            victims = [s] if part == "supervisor" else processes(s)
		            if victims:
		                kill(rnd.choice(victims))
		    p.wait()
		    # Usable, whatever is left; one in so many rounds, to be done in time.
		    if round % 10 == 9:
		        done = subprocess.run([ralph, "run", "-n", name, "--", "echo", "ok"], capture_output=True, timeout=60)
		        assert done.stdout == b"ok\n", (round, part, done)
	P
	whole
}
