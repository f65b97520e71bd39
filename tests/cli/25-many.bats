#!/usr/bin/env bats
# runs: root user
# Many sandboxes at once.
load helpers
load sandbox

N=100

names() {
	local i

	for ((i = 0; i < N; i++)); do
		echo "m${WS##*/ws-}-$i"
	done
}

# at_once CMD…: for each name, as the command's last argument, a few at a time.
each_name() {
	names | xargs -P 8 -I{} "$@"
}

@test "a hundred sandboxes live at once, each answers, and all go without a trace" {
	each_name "$RALPH" run -d -n {} >"$T/started" 2>&1
	same "" "$(cat "$T/started")"
	same "$N" "$(ralph ls --json | get 'sum(r["state"] == "running" for r in j)')"
	each_name "$RALPH" exec {} sh -c 'cat /etc/hostname' | sort >"$T/answers"
	names | sort | cmp - "$T/answers"

	same "$N" "$(ralph rm --all | wc -l)"
	same "" "$(ralph ls -q)"
	nothing_left
	same "" "$(ls -A "$XDG_STATE_HOME/ralph/sandboxes")"
	same "" "$(find "${XDG_RUNTIME_DIR:-/tmp/ralph-$(id -u)}" -name "m${WS##*/ws-}-*" 2>/dev/null)"
	same "" "$(find /sys/fs/cgroup -type d -name "*m${WS##*/ws-}-*" 2>/dev/null)"
	same 0 "$(grep -c "m${WS##*/ws-}-" /proc/self/mountinfo || :)"
	same "" "$(git status --porcelain --ignored)"
}

@test "a hundred runs of one sandbox leave as much as one" {
	local before after

	ralph run -- true
	before=$(find "$XDG_STATE_HOME" | wc -l)
	seq 100 | xargs -P 4 -I{} "$RALPH" run -- true
	after=$(find "$XDG_STATE_HOME" | wc -l)
	same "$before" "$after"
	nothing_left
}
