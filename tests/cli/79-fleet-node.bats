#!/usr/bin/env bats
# runs: user
# seconds: 60
# `ralph worker`, the node's end of a placement, with a home in Python (lib/fleet-home.py) that does as each test says.
# shellcheck disable=SC2016,SC2030,SC2031,SC2153
load helpers
load loop
load ../lib/cred
load ../lib/memory

setup() {
	ralph_setup
	# What a worker makes lies below; the path is short, as sockets need it.
	mkdir "$T/n"
	export TMPDIR=$T/n
	WORKER=()
}

teardown() {
	provider_stop
	ralph_teardown
}

# home [OPTION=VALUE…]: one worker with one task; what came of it is in $T/home.json, for `got`.
home() {
	timeout 240 python3 "$BATS_TEST_DIRNAME/../lib/fleet-home.py" out="$T" "$@" "$WS" -- "$RALPH" worker "${WORKER[@]}" >"$T/home.json" ||
		fail "the home failed: $(cat "$T/home.json" "$T/worker.err")"
}

# got EXPRESSION: of what came back, as `j`.
got() {
	python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$T/home.json" "$1"
}

said() {
	cat "$T/worker.err"
}

node_processes() {
	local p

	for p in /proc/[0-9]*; do
		! grep -q "$T/n/rw-" "$p/environ" 2>/dev/null || echo "${p#/proc/}"
	done
}

none_left() {
	[ -z "$(find "$T/n" -mindepth 1 -maxdepth 1)" ]
}

# The worker has ended, and nothing of it is left.
gone() {
	wait_until -t 20 none_left || fail "left: $(find "$T/n" | head -40)"
	same '' "$(node_processes)"
	! pgrep -f "agent-${T##*-}" || fail 'its agent runs'
}

# An agent that commits half of its task in its first iteration, and hangs in the second.
hangs_later() {
	loop_workspace 1
	cat >hangs.sh <<-EOF
		#!/bin/bash
		if [ -e US-1.half ]; then
			exec -a agent-${T##*-} sleep 1000
		fi
		echo half >US-1.half
		git add US-1.half
		git commit -qm half
		echo 'half of it'
	EOF
	chmod +x hangs.sh
	git add -A
	git commit -qm agent
}

@test 'a task comes back as commits, with its record, its log and a verdict; the node keeps nothing' {
	local head

	loop_workspace 2
	home
	same True "$(got 'j["silent"]')"
	same 0 "$(got 'j["exit"]')"
	same "['HELLO', 'RECORD', 'CHECKPOINT', 'VERDICT']" "$(got 'j["frames"]')"
	same 'True 0' "$(got 'j["leases"], j["verdict"]["code"]' | tr -d '(,)')"
	head=$(got 'j["verdict"]["head"]')
	same "$head" "$(git rev-parse refs/ralph/fleet/head)"
	same US-1 "$(git diff --name-only HEAD "$head")"
	same 'A U Thor <author@example.org>' "$(git log -1 --format='%an <%ae>' "$head")"
	has "$(got 'j["lines"]')" 'iteration 1: done, verified and committed'
	same True "$(got 'j["logs"]["iteration-001.jsonl"] > 100')"
	same 'done' "$(got 'j["verdict"]["summary"]["tasks"][0]["state"]')"
	gone
	# Nothing of the node's user was used or written.
	same '' "$(find "$XDG_STATE_HOME" -type f ! -name selftest-native)"
	[ ! -e .ralph/state ]
}

@test 'two versions: refused, and each end names both' {
	loop_workspace 1
	home version=9.9.9
	same 2 "$(got 'j["exit"]')"
	same "['HELLO']" "$(got 'j["frames"]')"
	has "$(said)" "home has ralph 9.9.9 (protocol 1), and here is $(ralph --version | awk '{ print $NF }') (protocol 1)"
	gone
}

@test 'what is no stream of this protocol ends the worker: garbage, oversized, the wrong direction, too early, cut short' {
	local bad

	loop_workspace 1
	for bad in garbage oversized direction early truncated hello; do
		home bad=$bad task=US-1
		same 3 "$(got 'j["exit"]')" || fail "$bad: $(cat "$T/home.json")"
		same None "$(got 'j["verdict"]')"
		has "$(said)" 'stream'
		gone
	done
}

@test 'garbage while a task runs ends the task' {
	hangs_later
	home argv=./hangs.sh on='iteration 2' do=garbage
	same 3 "$(got 'j["exit"]')"
	has "$(said)" 'home sends what is no stream of this protocol'
	gone
}

@test 'a base commit that is damaged is a verdict with the reason' {
	loop_workspace 1
	home bad=pack
	same 1 "$(got 'j["verdict"]["code"]')"
	has "$(got 'j["verdict"]["why"]')" 'the pack of the base commit is damaged'
	home bad=sum
	has "$(got 'j["verdict"]["why"]')" 'the pack of the base commit is not whole'
	home base="$(printf '%040d' 7)" start="$(git rev-parse HEAD)"
	has "$(got 'j["verdict"]["why"]')" 'the pack does not have the base commit'
	gone
}

@test 'a request for no sandbox at all is not listened to' {
	loop_workspace 1
	home request='{"direct": true}'
	same 0 "$(got 'j["verdict"]["code"]')"
	lacks "$(got 'j["lines"]')" 'without a sandbox'
}

@test 'each iteration is a checkpoint, and a task goes on from one' {
	local first

	loop_workspace 1
	home argv='./agent.py slow'
	same '2 [1, 2]' "$(got 'len(j["heads"]), j["records"]' | sed 's/^(\(.\), \(.*\))$/\1 \2/')"
	first=$(got 'j["heads"][0]')
	same US-1.half "$(git diff --name-only HEAD "$first")"
	# Another worker begins where the first one was.
	home argv='./agent.py slow' start="$first"
	same '1 0' "$(got 'str(len(j["heads"])) + " " + str(j["verdict"]["code"])')"
	same "$first" "$(git rev-parse refs/ralph/fleet/head~1)"
	gone
}

@test 'a checkpoint that home does not acknowledge is in the next pack' {
	loop_workspace 1
	home argv='./agent.py slow' no_ack=checkpoint
	same True "$(got 'j["verdict"]["since"] not in j["heads"]')"
	same 0 "$(got 'j["exit"]')"
}

@test 'home falls silent: the worker ends with its lease, and its agent too' {
	hangs_later
	home argv=./hangs.sh lease_ms=2000 on='iteration 2' do=mute
	same 4 "$(got 'j["exit"]')"
	has "$(said)" 'nothing was heard of home for 2 s'
	gone
}

@test 'the stream ends: so does the worker' {
	hangs_later
	home argv=./hangs.sh on='iteration 2' do=close
	same 3 "$(got 'j["exit"]')"
	gone
}

@test 'SIGTERM: the agent ends, what is committed goes home, and the worker waits for the ACK' {
	hangs_later
	home argv=./hangs.sh on='iteration 2' do=term
	same 143 "$(got 'j["exit"]')"
	same 143 "$(got 'j["verdict"]["code"]')"
	same US-1.half "$(git diff --name-only HEAD "$(got 'j["verdict"]["head"]')")"
	gone
}

@test 'SIGTERM, and home takes nothing: the worker waits no longer than it must' {
	hangs_later
	home argv=./hangs.sh on='iteration 2' do=term no_ack=yes
	same 143 "$(got 'j["exit"]')"
	gone
}

@test 'a limit that another worker met: no iteration begins while it holds, and one does when home says that it is over' {
	local log

	loop_workspace 1
	home argv='./agent.py slow' on='iteration 1' do=limit
	same '0 0' "$(got 'str(j["exit"]) + " " + str(j["verdict"]["code"])')"
	log=$(got '"\n".join(j["lines"])')
	same 1 "$(grep -c "the provider's limit is reached by another worker: waiting until" <<<"$log")"
	same 'iteration 2' "$(sed "1,/by another worker/d" <<<"$log" | grep -o 'iteration 2' | head -1)"
	same '' "$(sed "/by another worker/q" <<<"$log" | grep 'iteration 2' || true)"
	gone
}

@test 'STOP now and after the iteration' {
	hangs_later
	home argv=./hangs.sh on='iteration 2' do=now
	same '0 143' "$(got 'str(j["exit"]) + " " + str(j["verdict"]["code"])')"
	gone
	home argv='./agent.py slow' on='iteration 1' do=after
	same '0 9' "$(got 'str(j["exit"]) + " " + str(j["verdict"]["code"])')"
	same 1 "$(got 'len(j["heads"])')"
	gone
}

@test 'a worker that was killed leaves no agent, and the next worker removes its directory' {
	hangs_later
	home argv=./hangs.sh on='iteration 2' do=kill
	same -9 "$(got 'j["exit"]')"
	wait_until -t 30 eval '! pgrep -f "agent-${T##*-}" >/dev/null'
	must_fail none_left
	home argv='./agent.py honest'
	same 0 "$(got 'j["exit"]')"
	wait_until -t 30 eval '[ -z "$(node_processes)" ]'
	gone
}

# provider_task: an agent that asks the provider once, and the rows of a task as home makes them.
provider_task() {
	provider_start
	loop_workspace 1
	cat >asks.sh <<-'EOF'
		#!/bin/bash
		cat >/dev/null
		code=$(curl -s -o /tmp/answer -w '%{http_code}' -H "x-api-key: $ANTHROPIC_API_KEY" -H 'content-type: application/json' \
			-d '{"model":"claude-test","max_tokens":1,"messages":[]}' "$ANTHROPIC_BASE_URL/v1/messages")
		env | grep -c key-of-home
		echo "it said $code" >US-1
		git add US-1
		git commit -qm "it said $code"
		echo '<promise>COMPLETE</promise>'
	EOF
	chmod +x asks.sh
	git add -A
	git commit -qm agent
	ROWS=$(python3 - "$PROV" <<-'EOF'
		import json, sys
		port = open(sys.argv[1] + "/port").read().strip()
		print(json.dumps([{"name": "anthropic", "provider": "anthropic-key", "way": "phantom", "source": "command:touch /tmp/never",
		    "origin": f"https://localhost:{port}", "endpoint": "anthropic", "phantom": "sk-ant-api03-", "private": True,
		    "requests": ["POST /v1/messages"], "ca": open(sys.argv[1] + "/ca.pem").read()}]))
	EOF
	)
	CONFIG='agent: command
credentials: [{name: anthropic}]
'
}

@test 'a credential of home: the question goes home, the provider sees the key, and the node has no source of it' {
	provider_task
	provider_takes key-of-home
	home argv=./asks.sh config="$CONFIG" credentials="$ROWS" key=key-of-home
	same 0 "$(got 'j["verdict"]["code"]')"
	same 'it said 200' "$(git log -1 --format=%s refs/ralph/fleet/head)" || fail "$(got 'j["lines"]') $(cat "$PROV/log")"
	same True "$(got 'j["asks"] > 0')"
	[ ! -e /tmp/never ]
	gone
}

@test 'home refuses a question: the sandbox is told, and nothing is sent' {
	provider_task
	provider_takes key-of-home
	home argv=./asks.sh config="$CONFIG" credentials="$ROWS"
	same 'it said 403' "$(git log -1 --format=%s refs/ralph/fleet/head)"
	same 0 "$(requests)"
}

@test 'egress: home: a node that reaches nothing finishes its task over the stream' {
	# A name that resolves nowhere: home dials.
	eval "own_$(declare -f test_authority)"
	test_authority() {
		own_test_authority "$1" "$2,DNS:provider.example"
	}
	provider_task
	provider_takes key-of-home
	ROWS=${ROWS//localhost:$PROV_PORT/provider.example}
	home argv=./asks.sh config="$CONFIG" credentials="$ROWS" key=key-of-home egress=home dial="$PROV_PORT"
	same 'it said 200' "$(git log -1 --format=%s refs/ralph/fleet/head)" || fail "$(got 'j["lines"]')"
	has "$(got 'j["opened"]')" 'provider.example:443'
	gone
}

@test 'a hub: several tasks over one stream, each with its own verdict; it ends when the stream does' {
	local k

	loop_workspace 4
	WORKER=(--slots 4)
	home slots=4
	same '0 {'"'0': 0, '1': 0, '2': 0, '3': 0}" "$(got 'str(j["exit"]) + " " + str(dict(sorted(j["verdicts"].items())))')"
	same True "$(got 'j["leases"]')"
	for k in 1 2 3; do
		same "US-$((k + 1))" "$(git diff --name-only HEAD "refs/ralph/fleet/$k")"
	done
	gone
}

@test 'a hub that is killed with its stream: no agent of it is left' {
	hangs_later
	WORKER=(--slots 3)
	home argv=./hangs.sh on='iteration 2' do=close
	same 3 "$(got 'j["exit"]')"
	gone
}

# under PID: the process and all that came of it.
under() {
	local child

	echo "$1"
	for child in $(pgrep -P "$1"); do
		under "$child"
	done
}

# bats test_tags=root
@test 'no process of the node but the gateway, which sends it, holds the key of a request' {
	local key=key-of-home-0123456789 home worker pid found n=0

	[ "$(id -u)" -eq 0 ] || skip 'n/a: only root can look into the programs that hold values'
	provider_task
	provider_takes "$key"
	sed -i "s,^env .*,exec -a agent-${T##*-} sleep 1000," asks.sh
	git commit -qam 'it stays'
	python3 "$BATS_TEST_DIRNAME/../lib/fleet-home.py" out="$T" argv=./asks.sh config="$CONFIG" credentials="$ROWS" \
		key="$key" "$WS" -- "$RALPH" worker >"$T/home.json" 3>&- &
	home=$!
	wait_until -t 60 pgrep -f "agent-${T##*-}"
	same 1 "$(requests)"
	worker=$(pgrep -P "$home")
	for pid in $(under "$worker"); do
		# One that has ended meanwhile holds nothing.
		found=$(memory_holds "$pid" "$key" 2>/dev/null) || continue
		n=$((n + 1))
		[ "$(cat "/proc/$pid/comm")" != gateway ] || continue
		same "0 of $(cat "/proc/$pid/comm")" "$found of $(cat "/proc/$pid/comm")"
	done
	[ $n -gt 5 ]
	kill "$worker"
	wait "$home"
	same 143 "$(got 'j["exit"]')"
	gone
}

@test 'the process of a pod: it prints what a worker says, and ends with its exit code' {
	local hold

	loop_workspace 1
	"$RALPH" worker --hold >"$T/hold" 2>&1 3>&- &
	hold=$!
	wait_until grep -q 'waits for a worker' "$T/hold"
	home
	same 0 "$(got 'j["exit"]')"
	must_exit 0 wait "$hold"
	has "$(cat "$T/hold")" '[US-1] '
	has "$(cat "$T/hold")" 'the worker is done'
	[ ! -e "$T/n/rw-hold" ]
}

@test 'a pod that is deleted: its worker is told, and sends what is committed' {
	local hold

	hangs_later
	"$RALPH" worker --hold >"$T/hold" 2>&1 3>&- &
	hold=$!
	wait_until grep -q 'waits for a worker' "$T/hold"
	home argv=./hangs.sh on='iteration 2' do=signal signal="$hold"
	same '143 143' "$(got 'str(j["exit"]) + " " + str(j["verdict"]["code"])')"
	must_exit 143 wait "$hold"
	gone
}
