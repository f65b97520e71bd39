#!/usr/bin/env bats
# runs: user
# A real loop, as ralph status, events and top show it.
# shellcheck disable=SC2030,SC2031 # each test has its own LOOP
load helpers
load sandbox
load loop

teardown() {
	[ -z "${LOOP:-}" ] || kill -9 "$LOOP" 2>/dev/null || :
	TMUX='' tmux -S "$T/tmux" kill-server 2>/dev/null || :
	ralph_teardown
}

# begin HOW: a loop in the background; its process is $LOOP.
begin() {
	"$RALPH" build --net none -- ./agent.py "$1" >"$T/out" 2>"$T/err" 3>&- &
	wait_until test -e waiting
	LOOP=$(python3 -c 'import json; print(json.load(open(".ralph/active"))["pid"])')
}

of_loop() {
	ralph status --json | get "j[\"loops\"][0]$1"
}

@test 'a loop is seen at work, as crashed when it was killed, and as done after resume' {
	loop_workspace 2
	begin waits
	same iterating "$(of_loop '["state"]')"
	same US-1 "$(of_loop '["task"]["id"]')"
	name=$(of_loop '["sandbox"]')
	same iterating "$(ralph status --json | get "[b for b in j['sandboxes'] if b['name'] == '$name'][0]['loop']")"
	has "$(ralph status .)" 'iteration  1 of 10'
	kill -9 "$LOOP"
	wait_until [ ! -e "/proc/$LOOP" ]
	LOOP=
	same crashed "$(of_loop '["state"]')"
	has "$(ralph status)" "ralph resume $WS"
	touch go-on
	# What it says is what helps.
	loop_exits 0 resume "$WS"
	same 'done' "$(of_loop '["state"]')"
	lacks "$(ralph status)" 'ralph resume'
	# Every verdict is in the log, which is whole over the crash.
	has "$(ralph events --type loop ".ralph/logs/events/$name")" 'done, task US-2'
	has "$(ralph events verify ".ralph/logs/events/$name")" whole
}

@test 'p in ralph top pauses the loop after its iteration' {
	need tmux
	loop_workspace 2
	begin waits
	TMUX='' tmux -u -S "$T/tmux" -f /dev/null new-session -d -s t -x 80 -y 24 "$RALPH top"
	shows() {
		TMUX='' tmux -S "$T/tmux" capture-pane -p -t t | grep -q -- "$1"
	}
	wait_until shows iterating
	TMUX='' tmux -S "$T/tmux" send-keys -t t p
	wait_until shows 'pauses after this iteration'
	touch go-on
	wait_until -t 30 [ ! -e "/proc/$LOOP" ]
	LOOP=
	same paused "$(of_loop '["state"]')"
	has "$(ralph status)" 'is paused; go on with: ralph resume'
	TMUX='' tmux -S "$T/tmux" send-keys -t t q
}

@test 'loops of two worktrees of one repository are both seen' {
	loop_workspace 1
	git worktree add -q "$T/second" -b other
	loop_exits 0 build --branch ralph/one -- ./agent.py honest
	loop_exits 0 build --branch ralph/two "$T/second" -- ./agent.py honest
	same 2 "$(ralph status --json | get 'len(j["loops"])')"
	has "$(ralph status "$T/second")" 'state      done'
	has "$(ralph status .)" 'state      done'
}

@test 'workers of a parallel loop are seen while they work' {
	loop_workspace 2
	"$RALPH" build --net none --parallel 2 -- ./agent.py waits >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	both_wait() {
		[ "$(find "$WS-worktrees" -name waiting 2>/dev/null | wc -l)" -eq 2 ]
	}
	wait_until -t 60 both_wait
	same 3 "$(ralph status --json | get 'sum(l["running"] for l in j["loops"])')"
	find "$WS-worktrees" -name waiting -execdir touch go-on ';'
	wait "$LOOP"
	LOOP=
	same 1 "$(ralph status --json | get 'len(j["loops"])')"
}

@test 'a loop that asks a person comes first, with its question and what to type' {
	loop_workspace 1
	cp -r . "$T/home/aaa"
	loop_exits 0 build "$T/home/aaa" -- ./agent.py honest
	loop_exits 6 build --max-cost 9 -- ./agent.py decides
	same question "$(of_loop '["state"]')"
	same 'US-1 SQLite or Postgres? 9000000' "$(of_loop '["asks"][0]["task"] + " " + j["loops"][0]["asks"][0]["question"] + " " + str(j["loops"][0]["max_micro_usd"])')"
	same "question: the loop in '$WS' asks: SQLite or Postgres?; next: ralph answer -C $WS" "$(ralph status | head -n 1)"
	ralph answer -C "$WS" SQLite
	loop_exits 0 resume
	lacks "$(ralph status)" 'asks:'
}

@test 'only a failure is called one: a limit, a stuck task and an outage have their own words, with the reason' {
	loop_workspace 2
	loop_exits 3 build -n 1 -- ./agent.py honest
	same limit "$(of_loop '["state"]')"
	has "$(ralph status)" "limit: the loop in '$WS' waits for you: the limit of 1 iteration is reached, and there is work left; next: ralph resume -n 11 $WS"
	loop_exits 4 resume -n 5 --max-stuck 1 -- ./agent.py no-commit
	same stuck "$(of_loop '["state"]')"
	has "$(ralph status .)" "next: ralph logs -C $WS 2"
	ralph task reopen US-2
	loop_exits 7 resume -n 5 --no-wait -- ./agent.py overloaded
	same provider "$(of_loop '["state"]')"
}

@test 'ralph top shows a loop that asks, without --all' {
	need tmux
	loop_workspace 1
	loop_exits 6 build -- ./agent.py decides
	TMUX='' tmux -u -S "$T/tmux" -f /dev/null new-session -d -s t -x 120 -y 24 "$RALPH top"
	asks() {
		TMUX='' tmux -S "$T/tmux" capture-pane -p -t t | grep -q -- "$1"
	}
	wait_until asks 'SQLite or Postgres'
	TMUX='' tmux -S "$T/tmux" send-keys -t t q
}

@test 'ralph answer without arguments shows the questions and asks for each on a terminal' {
	loop_workspace 2
	loop_exits 6 build -- ./agent.py decides
	python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" 'expect:US-1, your answer: ' 'send:SQLite\n' \
		'expect:US-2, your answer: ' 'send:SQLite\n' -- "$RALPH" answer
	loop_exits 0 resume
}
