#!/usr/bin/env bats
# runs: user
# seconds: 120
# kill -9 of a loop whose workers run at a placement, wherever it changes something; then `ralph resume`. Where the points
# have names, a number in $T/trace says how often one is passed. RALPH_TEST_ROUNDS: how many random points; 12 where it is
# not set.
load helpers
load loop
load fleet
load dying

# What a loop does for workers elsewhere, as tests/unit/die-at.c names it. A write is named by the type of its first message in
# wire/fleet.h: 1 START, 5 ACK, 20 the first PING with the TASK behind it. "#N (deleted)" is the stream to the import.
SPOOL=(write:H.pack fsync:H.pack fsync:H.json.tmp renameat:H.json)
TAKE=('write:#N (deleted)' renameat:loop.json)
MERGE=(renameat:repo-move.json unlinkat:repo-move.json renameat:prd.json renameat:tasks.json fsync:records.jsonl)
CLEAR=(unlinkat:H.json unlinkat:H.pack)

# Two tasks at a placement, and a loop that can be killed; $T/trace has the points of a loop that was not.
prepare() {
	loop_workspace 2
	at_place steps=2
	dying_libexec
	cp -a "$WS" "$T/before"
	RALPH_TEST_TRACE=$T/trace run_dying 0
	merged US-1 US-2 || fail "$(cat "$T/err" "$T/out")"
	total=$(cat "$T/count")
	RANDOM=${RALPH_TEST_SEED:-11}
}

# dies_at POINT [NAME] ARG…: a command of the loop that is killed there. bash reports each process that is killed.
dies_at() {
	local point=$1 name=$2
	shift 2

	{
		env RALPH_LIBEXEC="$T/libexec" RALPH_TEST_DIE_AT="$point" RALPH_TEST_DIE_WHO=loop ${name:+"RALPH_TEST_DIE_NAME=$name"} \
			RALPH_TEST_COUNT="$T/count" timeout 100 "$RALPH" "$@" >"$T/out" 2>"$T/err" || true
	} 2>/dev/null
}

# run_dying POINT [NAME]
run_dying() {
	dies_at "$1" "${2:-}" build --place here --parallel 2 --net none -- ./agent.py honest
}

# goes_on: resumed, or begun where nothing had begun.
goes_on() {
	if [ -e .ralph/state/loop.json ]; then
		[ "$(state 'j["exit_code"]')" = 0 ] || timeout 100 "$RALPH" resume >"$T/out" 2>"$T/err" || true
	else
		timeout 100 "$RALPH" build --place here --parallel 2 --net none -- ./agent.py honest >"$T/out" 2>"$T/err" || true
	fi
}

# times NAME: how often a loop passes this point; a number of them by chance is $point.
times() {
	local n

	n=$(grep -cxF "$1" "$T/trace") || fail "no loop passes the point $1: $(sort "$T/trace" | uniq -c)"
	point=$((RANDOM % n + 1))
}

# killed_at NAME…: at one of the times of each point, before and after it.
killed_at() {
	local name when point

	for name; do
		for when in before after; do
			times "$when-$name"
			fresh
			run_dying "$point" "$when-$name"
			goes_on
			merged US-1 US-2 || fail "$when-$name, number $point: $(cat "$T/err" "$T/out")"
		done
	done
}

@test 'the loop killed while it starts workers and stores, acknowledges and takes over what they send: each task is merged once' {
	prepare
	killed_at write:message-1 write:message-20 "${SPOOL[@]}" write:message-5 "${TAKE[@]}"
}

@test 'the loop killed while it merges and clears away: each task is merged once' {
	prepare
	killed_at "${MERGE[@]}" "${CLEAR[@]}"
}

@test 'the loop killed, and killed again while it resumes: each task is merged once' {
	local name when point

	prepare
	for name in "${TAKE[@]}" renameat:repo-move.json unlinkat:H.json write:message-20; do
		for when in before after; do
			fresh
			# The first verdict, or what comes before it, is acknowledged.
			run_dying $((RANDOM % 4 + 1)) after-write:message-5
			# The first or the second time: a resumed loop has less to do.
			dies_at $((RANDOM % 2 + 1)) "$when-$name" resume
			goes_on
			merged US-1 US-2 || fail "$when-$name: $(cat "$T/err" "$T/out")"
		done
	done
}

@test 'the loop killed at random points and resumed: each task is merged once' {
	local i point total

	prepare
	for ((i = 0; i < ${RALPH_TEST_ROUNDS:-12}; i++)); do
		point=$((RANDOM % total + 1))
		fresh
		run_dying $point
		goes_on
		merged US-1 US-2 || fail "point $point of $total (seed ${RALPH_TEST_SEED:-11}): $(cat "$T/err" "$T/out")"
	done
}
