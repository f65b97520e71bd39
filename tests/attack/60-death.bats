# runs: root user runtime
# seconds: 18
# Whoever is killed, and whenever: nothing of the sandbox is left.
# What is in single quotes is for the shell inside.
# shellcheck disable=SC2016
load attack

ROUNDS=13

# The one process of this test's sandbox that plays this part; fails when there is none (yet).
part() {
	local pid

	case $1 in
	cli) pid=$CLI ;;
	supervisor) pid=$(pgrep -o -f "ralph/supervisor death-${WS##*-}\$") ;;
	front) pid=$(pgrep -P "$(part supervisor)" -x front 2>/dev/null) ;;
	guest) pid=$(pgrep -P "$(part supervisor)" -x guest 2>/dev/null) ;;
	esac
	[ -n "$pid" ] && printf '%s\n' "$pid"
}

cgroups_of() {
	find /sys/fs/cgroup -name "*death-${WS##*-}*" 2>/dev/null
}

# die PART: rounds of killing it at a moment of its own.
die() {
	local round pid

	rm probe
	for ((round = 0; round < ROUNDS; round++)); do
		"$RALPH" run -n "death-${WS##*-}" -- sh -c 'sleep 1000 & setsid sleep 1000 & (setsid sleep 1000 &) ; : >"$HOME/up"; wait' \
			</dev/null >/dev/null 2>&1 3>&- &
		CLI=$!
		# From before the supervisor is there to after the command runs.
		sleep "0.0$((RANDOM % 70 + 10))"
		wait_until -t 2 part "$1" >/dev/null 2>&1 || true
		pid=$(part "$1") || pid=$CLI
		kill -9 "$pid" 2>/dev/null || true
		kill -9 $CLI 2>/dev/null || true
		wait $CLI 2>/dev/null || true
		wait_until nothing_left || fail "round $round: $(left_behind)"
	done
	same "" "$(git status --porcelain)"
	ralph run -n "death-${WS##*-}" -- true
	ralph rm -f "death-${WS##*-}"
	same "" "$(cgroups_of)"
	same "" "$(ls "$XDG_STATE_HOME/ralph/sandboxes")"
}

@test 'a killed command line leaves nothing' {
	die cli
}

@test 'a killed supervisor leaves nothing' {
	die supervisor
}

@test 'a killed front of the supervisor leaves nothing' {
	die front
}

@test 'a killed guest leaves nothing' {
	die guest
}
