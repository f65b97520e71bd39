#!/usr/bin/env bats
# runs: user
# seconds: 120
# kill -9 of a worker's programs, wherever they change something: the loop at home goes on with another worker.
# RALPH_TEST_ROUNDS: how many random points; 12 where it is not set.
# shellcheck disable=SC2016
load helpers
load loop
load fleet
load dying

# One task of two iterations at `ralph worker`. $T/trace has the points of a worker that was not killed, $T/count how many
# its loop has.
prepare() {
	loop_workspace 1
	dying_libexec
	dying_worker
	at_worker
	sed -i 's/pass: \[/pass: [TMPDIR, /' "$XDG_CONFIG_HOME/ralph/config.yaml"
	mkdir "$T/n"
	cp -a "$WS" "$T/before"
	printf '%s\n' RALPH_TEST_DIE_AT=0 "RALPH_TEST_TRACE=$T/trace" "RALPH_TEST_COUNT=$T/count-main" >"$T/die-main"
	printf '%s\n' RALPH_TEST_DIE_AT=0 "RALPH_TEST_COUNT=$T/count-loop" >"$T/die-loop"
	runs
	RANDOM=${RALPH_TEST_SEED:-13}
}

# runs: the loop at home, to its end; what of the node is left is nothing that runs.
runs() {
	fresh
	TMPDIR=$T/n RALPH_LIBEXEC=$T/libexec timeout 200 "$RALPH" build --place here --net none -- ./agent.py slow >"$T/out" 2>"$T/err" ||
		fail "exit $?: $(cat "$T/err" "$T/out")"
	merged US-1
	wait_until -t 30 eval '[ -z "$(node_processes)" ]'
}

node_processes() {
	local p

	for p in /proc/[0-9]*; do
		! grep -q "$T/n/rw-" "$p/environ" 2>/dev/null || echo "${p#/proc/}"
	done
}

# killed ROLE [SETTING…]: the first program of that role, with these settings; without any it dies at once.
killed() {
	local role=$1
	shift

	rm -f "$T"/died-*
	printf '%s\n' "${@:-DIE_NOW=1}" >"$T/die-$role"
	runs
	[ -e "$T/died-$role" ] || fail "no program was $role"
}

@test 'a worker killed before and after each of its messages: the task is merged once, by the next one' {
	local name

	prepare
	# 10 HELLO, 13 RECORD, 14 CHECKPOINT, 15 VERDICT, 19 PACK: what a write begins with. A loop prints lines between.
	has "$(cat "$T/trace")" message-10
	while read -r name; do
		killed main RALPH_TEST_DIE_AT=1 "RALPH_TEST_DIE_NAME=$name"
	done < <(grep -E 'write:message-|renameat:' "$T/trace" | sort -u)
}

@test 'the programs of a worker that take and make packs, and its loop, killed: the task is merged once' {
	prepare
	killed unpack
	killed pack
	killed loop
	killed main
}

@test 'a worker and its loop killed at random points: the task is merged once' {
	local i role total

	prepare
	for ((i = 0; i < ${RALPH_TEST_ROUNDS:-12}; i++)); do
		role=$([ $((RANDOM % 2)) = 0 ] && echo main || echo loop)
		total=$(cat "$T/count-$role")
		killed "$role" RALPH_TEST_DIE_AT=$((RANDOM % total + 1)) RALPH_TEST_DIE_WHO=loop
	done
}
