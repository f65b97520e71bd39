#!/usr/bin/env bats
# runs: user
# seconds: 40
# --place: tasks on other machines, with a scripted worker in place of `ralph worker`.
# shellcheck disable=SC2016,SC2030,SC2031
load helpers
load loop
load fleet

@test 'four tasks at a placement: each is merged once, and nothing is left' {
	loop_workspace 4
	at_place steps=1
	placed 0 --parallel 4
	merged US-1 US-2 US-3 US-4
	same 'done done done done' "$(verdicts)"
	same ralph/demo "$(git branch --show-current)"
	has "$(cat "$T/err")" '[US-2] on node-1 (test 4711)'
	same 4 "$(wc -l <"$T/told/acks")"
	same '' "$(ralph ls -q)"
}

@test 'one task alone is placed too, and the placement of the settings is used' {
	loop_workspace 1
	at_place steps=2 'place: here'
	loop_exits 0 build --net none -- ./agent.py honest
	merged US-1
	same 2 "$(summary 'len(j["records"])')"
	same '20000 254' "$(summary 'str(j["micro_usd"]) + " " + str(j["tokens"])')"
}

@test 'a command gets a clean environment, and what the user passes' {
	loop_workspace 1
	at_place steps=1 'pass: [PASSED]'
	SECRET_TOKEN=abc PASSED=1 SLURM_CONF=/x placed 0
	same 'HOME LANG PASSED PATH SLURM_CONF USER' "$(tr ' ' '\n' <"$T/told/environment" | grep -vE '^(LC_CTYPE|LANG|USER)$' |
		cat - <(echo LANG; echo USER) | sort | xargs)"
}

@test 'a task says nothing of this machine: no path, no source of a credential' {
	loop_workspace 1
	at_place steps=1
	HOME_ONLY=here placed 0 --env PLAIN=words --pass HOME_ONLY
	lacks "$(cat "$T/told/tasks")" "$HOME"
	lacks "$(cat "$T/told/tasks")" HOME_ONLY
	has "$(cat "$T/told/tasks")" PLAIN=words
	lacks "$(cat "$T/told/tasks")" '"source"'
	has "$(cat "$T/told/tasks")" 'Do the task below.'
}

@test 'a placement that is not described, or cannot be started: said, and nothing is lost' {
	loop_workspace 2
	at_place steps=1
	loop_exits 2 build --place there --net none --parallel 2 -- ./agent.py honest
	has "$(cat "$T/err")" "there is no placement 'there'"
	printf 'fleet: {places: {here: {command: [/nonexistent/worker]}}}\n' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	placed 1 --parallel 2
	has "$(cat "$T/err")$(cat "$T/out")" "the placement 'here' cannot be used"
	printf 'fleet: {places: {here: {command: [sh, -c, "echo no such partition >&2; exit 3"]}}}\n' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	loop_exits 1 resume
	has "$(cat "$T/err")" 'its stream has ended; it says: no such partition'
	at_place steps=1
	loop_exits 0 resume
	merged US-1 US-2
}

@test 'another version is refused, with both versions; so is a node without sandboxes' {
	loop_workspace 1
	at_place version=9.9.9
	placed 1
	has "$(cat "$T/err")" 9.9.9
	has "$(cat "$T/err")" "$("$RALPH" --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -1)"
	at_place unusable
	loop_exits 1 resume
	has "$(cat "$T/err")$(cat "$T/out")" 'no user namespaces'
	same 0 "$(state 'j["iterations"]')"
}

@test 'frames that are none, cut off, too long or too early: the worker is lost, and the loop says so' {
	local how

	for how in garbage cut huge early bad-sum bad-pack no-pack other-lease; do
		rm -rf "$WS" && make_workspace "$WS" "t-$how" && cd "$WS"
		loop_workspace 1
		at_place $how
		placed 1 || fail "$how"
		has "$(cat "$T/err")" 'was lost' || fail "$how"
		same false "$(passes US-1)"
		same '' "$(git for-each-ref --format='%(refname)' refs/ralph)"
		# It was lost three times, no attempt was counted, and a worker that behaves ends it.
		same 0 "$(state 'j["iterations"]')"
		at_place steps=1
		loop_exits 0 resume
		merged US-1
		same 1 "$(summary 'j["tasks"][0]["attempts"]')"
	done
}

@test 'a verdict of another lease is dropped, and the right one counts' {
	loop_workspace 2
	at_place stale
	placed 0 --parallel 2
	merged US-1 US-2
}

@test 'two nodes with the same lease: the one whose task has another is not listened to' {
	loop_workspace 2
	at_place steal
	placed 0 --parallel 2
	merged US-1 US-2
	same 'done done' "$(summary '" ".join(t["state"] for t in j["tasks"])')"
}

@test 'a lease that is shorter than the time between pings: a worker that says nothing is asked in time' {
	loop_workspace 1
	at_place "steps=2,hold=$T/go" 'lease: 5s'
	"$RALPH" build --place here --net none -- ./agent.py honest >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	wait_until -t 60 checkpoints 1
	# It has answered the second question after the lease of the first one.
	wait_until -t 60 eval '[ "$(wc -l <"$T/told/pings")" -ge 6 ]'
	touch "$T/go"
	ends 0
	merged US-1
	lacks "$(cat "$T/err")" 'was lost'
}

@test 'a worker that is lost goes on from its last checkpoint, without an attempt for that' {
	loop_workspace 1
	at_place steps=3,die=2
	placed 0
	merged US-1
	# The first step was made once; the second worker began behind it.
	same 'US-1 1 US-1 2' "$(xargs <"$T/told/steps")"
	same '1 2' "$(python3 -c '
import json, sys
print(*[json.loads(line)["epoch"] for line in open(sys.argv[1])])' "$T/told/tasks")"
	same 3 "$(summary 'len(j["records"])')"
	same 1 "$(git log --format=%s | grep -c 'US-1: step 1')"
}

@test 'silence ends the lease' {
	loop_workspace 1
	at_place hang 'lease: 5s'
	placed 1
	has "$(cat "$T/err")" 'nothing was heard of it for 5 s'
}

@test 'commits that must not come: a secret, a protected file, another author, the list itself' {
	local how

	for how in secret=sk-ant-api03-"$(printf 'aB3%.0s' {1..32})"AA protected author list; do
		rm -rf "$WS" && make_workspace "$WS" "t-${how%%=*}" && cd "$WS"
		loop_workspace 1
		at_place "$how"
		placed 4 -n 10 --max-attempts 2
		has "$(cat "$T/err" "$T/out")" 'was not taken over from the node' || fail "$how"
		same false "$(passes US-1)"
		[ ! -e US-1 ]
		same '' "$(git for-each-ref --format='%(refname)' refs/ralph)"
	done
}

@test 'numbers and times of a node are bounded by what it was given, and its text is harmless' {
	loop_workspace 1
	at_place steps=1,usage,skew=90000000
	placed 0 -n 5 --max-cost 2
	merged US-1
	python3 - <<-'EOF'
		import json, time
		j = json.load(open(".ralph/summary.json"))
		assert j["micro_usd"] <= 2000000, j["micro_usd"]
		assert len(j["records"]) <= 5, len(j["records"])
		assert all(abs(r["time"] - time.time()) < 3600 and r["ms"] < 3600000 for r in j["records"]), j["records"]
		assert all(r["task"] == "US-1" and "\x1b" not in r["why"] for r in j["records"]), j["records"]
	EOF
	lacks "$(cat "$T/err")" $'\e'
}

@test 'a clock that is a day ahead: times are those of this machine' {
	loop_workspace 1
	at_place steps=2,skew=86400000
	placed 0
	same True "$(summary 'all(abs(r["time"] - j["records"][0]["time"]) < 3600 for r in j["records"]) and j["records"][0]["time"] < __import__("time").time() + 60')"
}

@test 'the loop is killed while workers work: resume reaps, and goes on from the checkpoints' {
	loop_workspace 2
	at_place "steps=2,hold=$T/go"
	"$RALPH" build --place here --net none --parallel 2 -- ./agent.py honest >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	wait_until -t 60 checkpoints 2
	# `ralph status` has the names by which a cluster knows them.
	has "$(ralph status .)" 'US-2  on node-1, test 4711'
	has "$(ralph status . --json)" '"node": "node-1"'
	kill -9 "$LOOP"
	wait "$LOOP" || true
	touch "$T/go"
	loop_exits 0 resume
	merged US-1 US-2
	same 2 "$(find "$T/told" -name 'reaped-ralph-*' | wc -l)"
	same 'US-1 1 US-2 1' "$(sort "$T/told/steps" | xargs)"
}

# checkpoints N: so many workers have one.
checkpoints() {
	[ -e .ralph/state/loop.json ] && [ "$(state 'sum("checkpoint" in w for w in j["workers"].values())')" = "$1" ]
}

@test 'a pause tells the workers, and resume goes on' {
	loop_workspace 1
	at_place "steps=2,hold=$T/go"
	"$RALPH" build --place here --net none -- ./agent.py honest >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	wait_until -t 60 checkpoints 1
	kill -TERM "$LOOP"
	wait_until -t 30 grep -q now "$T/told/stops"
	touch "$T/go"
	ends 143
	loop_exits 0 resume
	merged US-1
}

# credentials DIAL: a key that never expires and one that home does not have, for api.example.com.
credentials() {
	cat >>"$XDG_CONFIG_HOME/ralph/config.yaml" <<-EOF
		credentials: [{name: demo, source: "env:DEMO_TOKEN"}]
		network: {rules: [{host: api.example.com, methods: [GET], paths: [/v1/x], credential: demo}]}
	EOF
	sed -i "s/command: /dial: $1, command: /" "$XDG_CONFIG_HOME/ralph/config.yaml"
}

@test 'a key that never expires does not leave home, nor does what home does not have' {
	loop_workspace 1
	at_place ask=demo+other+anthropic
	credentials home
	DEMO_TOKEN=lasting-value-1234 loop_exits 0 build --place here -- ./agent.py honest
	merged US-1
	has "$(cat "$T/told/answers")" "demo b"
	has "$(cat "$T/told/answers")" "the credential 'demo' may never expire, so it does not leave home"
	has "$(cat "$T/told/answers")" 'home has no such credential'
	lacks "$(cat "$T/told/answers" "$T/told/tasks")" lasting-value-1234
	lacks "$(cat "$T/told/tasks")" DEMO_TOKEN
}

@test 'the user may let it be relayed, for one request each time' {
	loop_workspace 1
	at_place ask=demo
	credentials relay
	DEMO_TOKEN=lasting-value-1234 loop_exits 0 build --place here -- ./agent.py honest
	merged US-1
	has "$(cat "$T/told/answers")" lasting-value-1234
	has "$(cat "$T/err")" "the credential 'demo' is given to gateways at 'here'"
	lacks "$(cat "$T/told/tasks" "$T/err" "$T/out")" lasting-value-1234
}

@test 'a request that home has no rule for gets nothing, whatever the node says of it' {
	loop_workspace 1
	at_place ask=demo
	credentials relay
	sed -i 's,/v1/x,/v1/other,' "$XDG_CONFIG_HOME/ralph/config.yaml"
	DEMO_TOKEN=lasting-value-1234 loop_exits 0 build --place here -- ./agent.py honest
	has "$(cat "$T/told/answers")" demo
	lacks "$(cat "$T/told/answers" "$T/err")" lasting-value-1234
	lacks "$(cat "$T/err")" 'is given to gateways'
}

# lines N FILE: it has so many.
lines() {
	[ -e "$2" ] && [ "$(wc -l <"$2")" -ge "$1" ]
}

@test 'a limit of the provider that one worker meets: all are told, half of them go, and no further one begins beside those' {
	loop_workspace 4
	at_place "limited=3600,hold=$T/go"
	"$RALPH" build --place here --net none --parallel 4 -n 20 -- ./agent.py honest >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	wait_until -t 60 lines 2 "$T/told/stops"
	has "$(cat "$T/err")" "a worker met the provider's limit: from now on 2 at once"
	wait_until -t 60 lines 2 "$T/told/limits"
	touch "$T/go"
	ends 0
	merged US-1 US-2 US-3 US-4
	# Whoever began later was told as well, and none was lost or counted as a further attempt.
	python3 - "$T/told/limits" <<-'EOF'
		import sys
		rows = [line.split() for line in open(sys.argv[1])]
		assert all(3500000 < int(ms) <= 3700000 for _, _, ms in rows), rows
		assert {("US-3", "2"), ("US-4", "2")} <= {(task, epoch) for task, epoch, _ in rows}, rows
	EOF
	lacks "$(cat "$T/err")" 'was lost'
	same '[1]' "$(summary 'sorted({t["attempts"] for t in j["tasks"]})')"
}
