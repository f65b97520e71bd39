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
