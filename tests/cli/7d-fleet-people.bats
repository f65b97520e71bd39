#!/usr/bin/env bats
# runs: user
# seconds: 60
# People and placed workers: rules that change meanwhile, questions of agents, what was refused, with `ralph worker` itself.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034
load helpers
load loop
load fleet
load sandbox

setup() {
	ralph_setup
	need python3 curl
}

teardown() {
	[ -z "${LOOP:-}" ] || kill -9 "$LOOP" 2>/dev/null || true
	ralph_teardown
}

# agent_says LINE…: an agent whose work on US-1 begins with these lines of a shell.
agent_says() {
	cp agent.py honest.py
	printf '%s\n' '#!/bin/bash' 'get() { curl -sS -m 20 -x http://127.0.0.1:3128 "http://$1/" 2>&1; }' "$@" \
		'git add told; git commit -qm told' 'exec ./honest.py honest' >asker.sh
	chmod +x asker.sh honest.py
	git add -A
	git commit -qm asker
}

# begin_placed [OPTION…]: the loop with that agent, in the background.
begin_placed() {
	"$RALPH" build --place here "$@" -- ./asker.sh >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
}

open_ask() {
	ralph ask ls --json | get 'j[0]["id"]' 2>/dev/null
}

# record: the sandbox that stands for the worker here.
record() {
	ralph ls -q | grep -- -us-1
}

has_refusal() {
	[ -n "$(record)" ] && ralph net log "$(record)" --denied | grep -q docs.example.test
}

@test 'an agent of a placed worker asks for a host: a person at home allows it once, the agent hears it and is not refused, the task is done' {
	local id box

	loop_workspace 1
	at_worker
	agent_says 'cat >/dev/null; "$RALPH_ASK" host docs.example.test:80 "the reference" >told; echo "code $?" >>told' \
		'get docs.example.test | grep -c "refused by ralph" >>told; get other.example.test | grep -c "refused by ralph" >>told'
	begin_placed --idle-time 10s
	wait_until -t 90 open_ask >/dev/null
	id=$(open_ask)
	box=$(record)
	same "host docs.example.test:80 the reference $box" \
		"$(ralph ask show "$id" --json | get '" ".join((j["kind"], j["what"], j["why"], j["sandbox"]))')"
	has "$(cat "$T/err")" "asks (host) docs.example.test:80: the reference; see: ralph ask show $id"
	has "$(ralph answer)" 'docs.example.test:80'
	has "$(ralph status . --json)" "$box"
	has "$(ralph events "$box")" 'US-1 on '
	must_exit 2 ralph run -n "$box" -- true
	ralph ask allow "$id" 'only the docs'
	has "$(ralph net ls --sandbox "$box")" docs.example.test
	ends 0
	same 'only the docs
code 0
0
1' "$(git show ralph/demo:told)"
	merged US-1
	# The record is gone, its log is kept as that of a worker of this machine, and says who said what.
	same '' "$(ralph ls -q)"
	has "$(cat .ralph/logs/events/"$box"/events.jsonl)" '"type":"ask-answer"'
	has "$(cat .ralph/logs/events/"$box"/events.jsonl)" '"by":"node"'
}

@test 'a decision, a denial, and an answer that comes when nobody waits any more reach the agent elsewhere' {
	local id

	loop_workspace 1
	at_worker
	agent_says 'cat >prompt; if [ ! -e asked ]; then' '"$RALPH_ASK" decide "SQLite or Postgres?" --choice SQLite --choice Postgres >>asked' \
		'"$RALPH_ASK" host no.example.test why >>asked 2>&1; echo "code $?" >>asked' \
		'"$RALPH_ASK" --wait 0 decide "Which port?" >>asked 2>&1; echo "code $?" >>asked' \
		'while get wait.example.test | grep -q "refused by ralph"; do sleep 0.2; done; echo waited; exit 1; fi' \
		'cat asked prompt >told; rm asked prompt'
	begin_placed
	wait_until -t 90 open_ask >/dev/null
	same "['SQLite', 'Postgres']" "$(ralph ask ls --json | get 'j[0]["choices"]')"
	must_exit 2 ralph ask allow "$(open_ask)"
	ralph ask allow "$(open_ask)" 'SQLite, one user'
	wait_until -t 60 asks_for no.example.test:443
	ralph ask deny "$(open_ask)" 'use the mirror'
	wait_until -t 60 asks_for 'Which port?'
	ralph ask allow "$(open_ask)" 8080
	ralph net allow wait.example.test:80
	ends 0
	git show ralph/demo:told >"$T/told"
	has "$(cat "$T/told")" 'SQLite, one user'
	has "$(cat "$T/told")" 'use the mirror'
	has "$(cat "$T/told")" 'code 3'
	has "$(cat "$T/told")" 'code 4'
	has "$(cat "$T/told")" 'You asked (decide): Which port?'
	has "$(cat "$T/told")" 'The user has allowed it: 8080'
}

# asks_for TEXT: that is what is open.
asks_for() {
	ralph ask ls --json | get 'j[0]["what"] + j[0]["why"]' 2>/dev/null | grep -qF -- "$1"
}

@test 'rules of home hold on the node from the start; a host allowed meanwhile holds at once, and what was refused is known at home' {
	loop_workspace 1
	at_worker
	ralph net allow early.example.test:80
	agent_says 'cat >/dev/null; get early.example.test | grep -c "refused by ralph" >told' \
		'while get docs.example.test | grep -q "refused by ralph"; do sleep 0.2; done; echo allowed >>told; "$RALPH_ASK" --wait 0 decide "Was it meant?"' \
		'until get docs.example.test | grep -q "refused by ralph"; do sleep 0.2; done; echo denied >>told'
	begin_placed
	wait_until -t 90 has_refusal
	ralph net allow docs.example.test:80
	wait_until -t 60 asks_for 'Was it meant?'
	ralph net rm docs.example.test:80
	ends 0
	same '0
allowed
denied' "$(git show ralph/demo:told)"
	merged US-1
	has "$(summary 'str(j["refused"])')" docs.example.test
	has "$(cat "$T/out" "$T/err")" docs.example.test
}

@test 'logs and conversations of a placed task come home after each iteration, named as those of a worker here; known secrets are not in them' {
	loop_workspace 1
	at_worker
	agent_says 'cat >/dev/null; d=$HOME/.claude/projects/-w; id=$(cat /proc/sys/kernel/random/uuid); mkdir -p "$d"' \
		'line() { printf "{\"type\":\"%s\",\"uuid\":\"%s\",\"sessionId\":\"$id\",\"timestamp\":\"2026-01-31T12:00:0%s.000Z\",\"cwd\":\"/w\",\"message\":{\"role\":\"%s\",\"content\":\"%s\"}}\n" "$1" "$2" "$2" "$1" "$3"; }' \
		'{ line user 1 "a question"; line assistant 2 "the word is lasting-value-12345678"; } >"$d/$id.jsonl"' \
		'echo "the output has lasting-value-12345678"; ln -s /etc/passwd "$d/x.jsonl"' \
		'if [ ! -e told ]; then echo one >told; git add told; git commit -qm half; exit 0; fi; echo two >>told'
	DEMO_TOKEN=lasting-value-12345678 "$RALPH" build --place here --net none --pass DEMO_TOKEN -- ./asker.sh >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	ends 0
	merged US-1
	same 2 "$(summary 'len(j["records"])')"
	has "$(cat .ralph/logs/iteration-001.jsonl)" 'the output has'
	[ -s .ralph/logs/iteration-002.jsonl ]
	[ -s .ralph/logs/verify-002.jsonl ]
	has "$(ralph logs 1)" 'the output has'
	[ ! -e .ralph/logs/placed ]
	find "$XDG_STATE_HOME/ralph/inbox" -name '*.md' >"$T/mds"
	has "$(cat "$T/mds")" us-1-iteration-001.md
	has "$(cat "$T/mds")" us-1-iteration-002.md
	lacks "$(cat .ralph/logs/*.jsonl .ralph/logs/*.stderr; xargs cat <"$T/mds")" lasting-value-12345678
	has "$(xargs cat <"$T/mds")" 'a question'
	same 2 "$(find "$XDG_STATE_HOME"/ralph/homes/*/.claude/projects -type f -name '*.jsonl' | wc -l)"
	same '' "$(find "$XDG_STATE_HOME"/ralph/homes/*/.claude -type l)"
	# A later sandbox of the project has them, and so has an export.
	ralph run -n later -- true
	same 2 "$(ralph export later --json --out "$T/exported" | get 'j["written"]')"
	has "$(find "$T/exported" -type f -exec cat {} +)" 'a question'
	lacks "$(find "$T/exported" -type f -exec cat {} +)" lasting-value-12345678
}

@test 'what a node asks is judged at home: no private address, no wildcard, no denied host, no more than a sandbox may' {
	loop_workspace 1
	ralph net deny denied.example.test
	at_place 'question=10.0.0.7:5432+*.example.test+169.254.169.254+localhost:80+denied.example.test:443'
	loop_exits 0 build --place here -- ./agent.py honest
	merged US-1
	same 5 "$(grep -c '"allow":false' "$T/told/replies")"
	same 5 "$(grep -cE 'not askable|command line' "$T/told/replies")"
	same 0 "$(ralph ask ls --all --json | get 'len(j)')"
	has "$(cat "$T/told/rules")" 'deny denied.example.test'
	# Too many, in bad form, and words for a terminal.
	rm -rf "$WS" && make_workspace "$WS" t-many && cd "$WS"
	loop_workspace 1
	at_place 'question=many'
	loop_exits 0 build --place here -- ./agent.py honest
	merged US-1
	has "$(cat "$T/told/replies")" 'too many asks'
	lacks "$(cat "$T/err")" $'\033'
}

@test 'events of a node are bounded and harmless: unknown types, times, costs and marks of the host are not taken' {
	local log

	loop_workspace 1
	at_place events
	loop_exits 0 build --place here --max-cost 2 -- ./agent.py honest
	merged US-1
	log=$(echo .ralph/logs/events/*us-1*/events.jsonl)
	python3 - "$log" <<-'END'
		import json, sys, time
		rows = [json.loads(line) for line in open(sys.argv[1])]
		node = [r for r in rows if r.get("by") == "node"]
		assert node and all(r["type"] in ("net", "usage", "error") for r in node), rows
		assert not any(r.get("by") == "host" and r["type"] in ("verdict", "release", "net") for r in rows), rows
		net = [r for r in node if r["type"] == "net"]
		assert all(abs(r["at_ms"] / 1000 - time.time()) < 600 for r in net if "at_ms" in r), net
		assert sum(r["micro_usd"] for r in node if r["type"] == "usage") <= 2000000, node
	END
	lacks "$(cat "$log")" $'\033'
	"$RALPH" events verify . 2>/dev/null || true
}
