#!/usr/bin/env bats
# runs: user
# seconds: 90
# A node that wants to harm home: with a scripted worker in place of `ralph worker`.
# shellcheck disable=SC2016,SC2030,SC2031
load helpers
load loop
load fleet

# hostile HOW [OPTION…]: a loop over one story at a node that behaves so; its exit code is in $CODE.
hostile() {
	local how=$1
	shift

	loop_workspace "${STORIES:-1}"
	at_place "$how"
	CODE=0
	timeout 100 "$RALPH" build --place here --net none "$@" -- ./agent.py honest >"$T/out" 2>"$T/err" || CODE=$?
	[ $CODE -ne 124 ] || fail "the loop hangs: $(tail -5 "$T/err")"
}

# goes_on: a node that behaves ends the loop, and each task is merged once.
goes_on() {
	at_place steps=1
	timeout 100 "$RALPH" resume >"$T/out" 2>"$T/err" || fail "exit $?: $(cat "$T/err" "$T/out")"
	merged "$@"
}

again() {
	rm -rf "$WS" "$T/told" && make_workspace "$WS" "t-$1" && cd "$WS" || return
}

# pinged ID N: home asked the worker of this task N times whether it lives.
pinged() {
	[ "$(grep -c "^$1$" "$T/told/pinged")" -ge "$2" ]
}

answered() {
	[ -s "$T/told/answers" ]
}

@test 'commits that take long to look at do not keep the loop from other workers' {
	local lock

	loop_workspace 2
	at_place "US-1/steps=2,US-2/hold=$T/go,US-2/ask=demo" 'lease: 5s'
	exec {lock}<.git
	flock "$lock"
	"$RALPH" build --place here --net none --parallel 2 -- ./agent.py honest >"$T/out" 2>"$T/err" 3>&- {lock}<&- &
	LOOP=$!
	wait_until -t 60 grep -q 'US-1 1' "$T/told/steps"
	# An import waits for the lock of the repository, and home answers US-2.
	wait_until -t 60 pgrep -f "repo import $(pwd -P)"
	# For longer than the lease, of which a third is between two pings.
	wait_until -t 60 pinged US-1 5
	wait_until -t 60 pinged US-2 5
	touch "$T/go"
	wait_until -t 30 answered
	flock -u "$lock"
	exec {lock}<&-
	ends 0
	merged US-1 US-2
	lacks "$(cat "$T/err")" 'was lost'
}

@test 'what a node writes to stderr without an end does not keep the loop from anything' {
	STORIES=2 hostile US-1/flood=stderr,US-1/steps=3 --parallel 2
	same 0 "$CODE" || fail "$(cat "$T/err")"
	merged US-1 US-2
}

@test 'checkpoints, pings, questions, lines, records and packs without an end: another task is merged meanwhile' {
	local what

	for what in checkpoints pings asks lines records packs; do
		again $what
		loop_workspace 2
		at_place "US-1/flood=$what"
		"$RALPH" build --place here --net none --parallel 2 -- ./agent.py honest >"$T/out" 2>"$T/err" 3>&- &
		LOOP=$!
		wait_until -t 60 eval '[ "$(passes US-2)" = true ]' || fail "$what: $(cat "$T/err")"
		kill -TERM "$LOOP" 2>/dev/null || true
		wait "$LOOP" || true
		# The terminal and the state got a bounded part of it.
		[ "$(stat -c %s "$T/err")" -lt 30000000 ]
		[ "$(stat -c %s .ralph/state/loop.json)" -lt 30000000 ]
		goes_on US-1 US-2
	done
}

@test 'checkpoints that no record belongs to count as iterations' {
	hostile steps=20,no-records,mortal=2 -n 4
	same 3 "$CODE" || fail "$(cat "$T/err")"
	[ "$(state 'j["iterations"]')" -ge 4 ]
	same false "$(passes US-1)"
}

@test 'a verdict that says the share is used up, of a worker that did nothing, is a loss, and no endless row of workers' {
	hostile nothing,code=3
	same 1 "$CODE"
	same 3 "$(wc -l <"$T/told/starts")"
	goes_on US-1
}

@test 'codes that no loop of a worker ends with do not end the loop of home' {
	local code

	for code in 9 42 200; do
		again $code
		STORIES=2 hostile US-1/nothing,US-1/code=$code --parallel 2
		same 1 "$CODE" || fail "$code: $(cat "$T/err")"
		same true "$(passes US-2)"
		same 3 "$(jq -r '.list.userStories[0].id' "$T/told/tasks" | grep -c US-1)"
		goes_on US-1 US-2
	done
}

@test 'commits that are not what they should be: an ancestor, a root, a blob, a merge' {
	local what

	for what in parent orphan blob merge; do
		again $what
		git commit -q --allow-empty -m before
		hostile head=$what -n 10 --max-attempts 2
		[ $CODE -ne 0 ] || fail "$what was taken"
		same false "$(passes US-1)"
		same '' "$(git for-each-ref --format='%(refname)' refs/ralph)"
		[ ! -e US-1 ]
	done
}

@test 'few bytes that would be many files, or large ones, or files with odd names: refused in time, with harmless words' {
	local what

	for what in zeros trees deltas names; do
		again $what
		hostile bomb=$what -n 10 --max-attempts 2
		[ $CODE -ne 0 ] || fail "$what was taken"
		same false "$(passes US-1)"
		same '' "$(git for-each-ref --format='%(refname)' refs/ralph)"
		same '' "$(ls .ralph/state/spool)"
		lacks "$(cat "$T/err" "$T/out")" $'\e'
		lacks "$(cat "$T/err" "$T/out")" $'\u202e'
	done
}

@test 'what a node says is harmless on the terminal, in the state and in the status' {
	hostile 'steps=1,line=\\x1b[2J\\x9b31m\\r\\u202eevil\\x00\\x07 and a NUL'
	same 0 "$CODE"
	has "$(cat "$T/err")" evil
	again why
	hostile 'unusable,why=no \\u009b31msandbox\\u202e here'
	same 1 "$CODE"
	for file in "$T/err" "$T/out"; do
		LC_ALL=C must_fail grep -aqP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae' "$file"
	done
}

@test 'times that no clock has are no times' {
	local at

	for at in 0 9223372036854775807 18446744073709551615; do
		again "$at"
		hostile steps=2,pong="$at"
		same 0 "$CODE"
		same True "$(summary 'all(abs(r["time"] - __import__("time").time()) < 3600 for r in j["records"])')"
	done
}

@test 'a pack beyond all that may be taken over is not stored' {
	hostile flood=packs
	same 1 "$CODE"
	has "$(cat "$T/err")" 'it sends more than is taken over'
	[ "$(du -sm .ralph/state | cut -f1)" -lt 10 ]
	goes_on US-1
}
