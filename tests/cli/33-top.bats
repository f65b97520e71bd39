#!/usr/bin/env bats
# runs: user
# ralph top, in a real terminal: tmux.
# shellcheck disable=SC2154 # stderr comes from bats
# shellcheck disable=SC2016 # what is in single quotes is for another shell
load helpers
load sandbox

setup() {
	need tmux python3
	ralph_setup
}

teardown() {
	mux kill-server 2>/dev/null || :
	ralph_teardown
}

mux() {
	TMUX='' tmux -u -S "$T/tmux" -f /dev/null "$@"
}

# terminal COLUMNS ROWS COMMAND…: a shell of the test's own that runs it, and then stays.
terminal() {
	local columns=$1 rows=$2
	shift 2

	printf -v TOP '%q ' "$@"
	mux new-session -d -s t -x "$columns" -y "$rows" "env TERM=screen-256color PS1='ready$ ' bash --norc --noprofile -i"
	wait_until shows 'ready\$'
	mux send-keys -t t -l "$TOP; echo \"ended \$?\""
	mux send-keys -t t Enter
}

screen() {
	mux capture-pane -p -t t
}

shows() {
	screen | grep -q -- "$1"
}

lacks_shown() {
	! shows "$1"
}

keys() {
	mux send-keys -t t "$@"
}

# How the terminal is: "echo icanon" and so on as they were, its own screen, a cursor.
state_of_terminal() {
	stty -a -F "$(mux display-message -p -t t '#{pane_tty}')" | grep -oE -- '-?(echo|icanon|isig|ixon|icrnl)\b' | tr '\n' ' '
	mux display-message -p -t t '#{alternate_on} #{cursor_flag}'
}

# top_pid: of the program itself, which the shell of the terminal has started.
top_pid() {
	pgrep -P "$(mux display-message -p -t t '#{pane_pid}')" | head -n 1
}

@test 'sandboxes that run are shown with what they do, at 80x24' {
	ralph run --detach
	name=$(sandbox)
	"$RALPH" exec "$name" sleep 1000 3>&- &
	ralph exec "$name" curl -sS -m 10 http://refused.test/ || :
	wait_until runs 1
	terminal 80 24 "$RALPH" top
	wait_until shows 'q quit'
	wait_until shows 'sleep 1000'
	wait_until shows 'deny http refused.test:80 GET /'
	same 24 "$(screen | wc -l)"
	# The selected one's processes and memory are those of its tree.
	screen | grep -E 'running +sleep 1000 .* 0\.00 +1 +[0-9.-]+ +[0-9]+M'
	keys q
	wait_until shows 'ended 0'
}

@test 'keys select, show the log and the help, and lead back' {
	ralph run --detach --name one-"${WS##*-}"
	ralph run --detach --name two-"${WS##*-}"
	terminal 80 24 "$RALPH" top
	wait_until shows "last events of one-"
	keys j
	wait_until shows "last events of two-"
	keys Up
	wait_until shows "last events of one-"
	keys G
	wait_until shows "last events of two-"
	keys l
	wait_until shows "ralph events two-"
	wait_until shows 'q back'
	keys q
	wait_until shows 'last events of two-'
	keys '?'
	wait_until shows 'any key leads back'
	keys x
	wait_until shows 'last events of two-'
	keys C-c
	wait_until shows 'ended 0'
}

@test 'the screen follows the size of the terminal' {
	ralph run --detach
	terminal 80 24 "$RALPH" top
	wait_until shows 'q quit'
	lacks_shown PROCS
	mux resize-window -t t -x 160 -y 40
	wait_until shows PROCS
	wait_until shows 'q quit'
	same 40 "$(screen | wc -l)"
	mux resize-window -t t -x 40 -y 10
	wait_until lacks_shown PROCS
	wait_until shows 'p pause'
	mux resize-window -t t -x 7 -y 2
	mux resize-window -t t -x 80 -y 24
	wait_until shows 'q quit'
	keys q
	wait_until shows 'ended 0'
}

# allow HOST KEY: in ralph top, that key for the host, which is the one refused last.
allow() {
	keys a
	wait_until shows 'which host should it reach'
	keys Enter
	wait_until shows 'o l p adds that rule'
	keys "$2"
	wait_until shows "allowing $1: done"
}

@test 'a allows a refused host once, for this sandbox or for this project: each rule is shown first, and holds that long' {
	ralph run --detach
	name=$(sandbox)
	ralph exec "$name" curl -sS -m 10 http://first.test/ || :
	ralph exec "$name" curl -sS -m 10 http://second.test/ || :
	terminal 80 24 "$RALPH" top
	wait_until shows 'second.test'
	keys a
	wait_until shows 'which host should it reach'
	keys j Enter
	wait_until shows 'o l p adds that rule'
	# The whole rules can be read, over as many rows as it takes.
	shown=$(screen | tr -d '\n ')
	has "$shown" "oonce,untilthissandboxstops:ralphnetallow--once--sandbox$name--first.test"
	has "$shown" "lthissandbox:ralphnetallow--sandbox$name--first.test"
	has "$shown" "pthisproject:cd$WS&&ralphnetallow--project--first.test"
	# Any other key is no.
	keys n
	wait_until shows 'Enter choose for how long'
	lacks "$(ralph net ls "$name")" first.test
	keys q
	allow second.test o
	has "$(ralph net ls "$name")" 'ralph net --once'
	ralph exec "$name" curl -sS -m 10 http://third.test/ || :
	wait_until shows 'third.test'
	allow third.test l
	ralph exec "$name" curl -sS -m 10 http://fourth.test/ || :
	wait_until shows 'fourth.test'
	allow fourth.test p
	ralph net ls "$name" >"$T/rules"
	grep -E 'allow +second.test +.* ralph net --once' "$T/rules"
	grep -E 'allow +third.test +.* ralph net --sandbox' "$T/rules"
	grep -E 'allow +fourth.test +.* ralph net --project' "$T/rules"
	lacks "$(cat "$T/rules")" first.test
	keys q
	wait_until shows 'ended 0'
	# What was allowed once is gone with the sandbox's end, and nothing else is.
	ralph stop "$name"
	ralph run --detach
	ralph net ls "$name" >"$T/rules"
	lacks "$(cat "$T/rules")" second.test
	has "$(cat "$T/rules")" third.test
	has "$(cat "$T/rules")" fourth.test
	ralph stop "$name"
	must_exit 1 ralph net allow --once --sandbox "$name" -- fifth.test
	must_exit 2 ralph net allow --once -- fifth.test
}

@test 'a rule that was allowed once is not there after the supervisor was killed' {
	ralph run --detach
	name=$(sandbox)
	ralph net allow --once --sandbox "$name" -- once.test
	has "$(ralph net ls "$name")" once.test
	kill -9 "$(field "$name" supervisor)"
	wait_until down
	ralph run --detach
	lacks "$(ralph net ls "$name")" once.test
}

@test 'top and status name the project, and more only where there are several of it' {
	mkdir "$HOME/shop"
	(cd "$HOME/shop" && ralph run --detach --name first-"${WS##*-}")
	terminal 80 24 "$RALPH" top
	wait_until shows '^shop  *running'
	has "$(ralph status)" PROJECT
	ralph status | grep -E '^shop +running'
	(cd "$HOME/shop" && ralph run --detach --name second-"${WS##*-}")
	wait_until shows '^shop: first-'
	wait_until shows '^shop: second-'
	keys q
	wait_until shows 'ended 0'
}

# state LOOPS SANDBOXES: of a machine, for ralph top --from.
state() {
	printf '{"now": "2026-01-31T12:00:30.000Z", "loops": [%s], "sandboxes": [%s]}' "$1" "$2" >"$T/machine"
}

@test 'counts are of the whole loop, and a finished loop is none that runs' {
	state '{"workspace": "/w/shop", "sandbox": "main", "running": true, "phase": "iterating", "iteration": 7, "max_iterations": 40,
			"tasks": {"total": 12, "done": 5}, "micro_usd": 4500000},
		{"workspace": "/w/shop-worktrees/us-3", "parent": "/w/shop", "sandbox": "worker", "running": true, "phase": "iterating",
			"iteration": 1, "max_iterations": 4, "tasks": {"total": 1, "done": 0}, "micro_usd": 100000},
		{"workspace": "/w/old", "sandbox": "none", "running": false, "phase": "done", "tasks": {"total": 1, "done": 1}}' \
		'{"name": "worker", "state": "running", "workspace": "/w/shop-worktrees/us-3", "agent": "claude", "cpu": 0, "memory": 0,
			"processes": 1, "events": []}'
	terminal 160 24 "$RALPH" top --from "$T/machine"
	wait_until shows 'q quit'
	# The loop without a sandbox here has a row of its own.
	screen | grep -E '^shop: worker +iterating +claude +7/40 +5/12 .* 4\.50'
	screen | grep -F '1 running, 1 loop '
	keys q
	wait_until shows 'ended 0'
	state '{"workspace": "/w/old", "sandbox": "none", "running": false, "phase": "done", "tasks": {"total": 1, "done": 1}}' ''
	keys -R C-l
	mux send-keys -t t -l "clear; $TOP; echo \"ended \$?\""
	keys Enter
	wait_until shows '0 running, 0 loops'
	keys q
}

@test 'workers on other machines have a row each, with node and job, while their loop runs' {
	state '{"workspace": "/w/shop", "sandbox": "main", "running": true, "phase": "iterating", "iteration": 7, "max_iterations": 40,
			"tasks": {"total": 12, "done": 5}, "workers": [{"task": "US-3", "place": "slurm", "node": "n17", "job": "slurm 4711", "sandbox": "placed"}]}' \
		'{"name": "placed", "state": "stopped", "workspace": "/w/shop", "agent": "claude", "cpu": 0, "memory": 0, "processes": 0, "events": []},
		{"name": "other", "state": "stopped", "workspace": "/w/shop", "agent": "claude", "cpu": 0, "memory": 0, "processes": 0, "events": []}'
	terminal 160 24 "$RALPH" top --from "$T/machine"
	wait_until shows 'q quit'
	screen | grep -E '^shop +iterating +claude +7/40 +5/12 .*US-3 on n17, slurm 4711'
	! screen | grep -F other || fail 'a sandbox that is stopped has a row'
	keys q
}

@test 's stops what is selected, after it asked' {
	ralph run --detach
	name=$(sandbox)
	terminal 80 24 "$RALPH" top
	wait_until shows 'q quit'
	keys s
	wait_until shows 'end everything in'
	keys n
	wait_until shows 'q quit'
	up
	keys s
	wait_until shows 'end everything in'
	keys y
	wait_until -t 20 down
	wait_until shows 'nothing runs'
	keys q
	wait_until shows 'ended 0'
}

# loop PID: that process drives a loop here.
loop() {
	local start

	start=$(awk '{ print $22 }' "/proc/$1/stat")
	mkdir -p .ralph/state "$XDG_STATE_HOME/ralph/loops"
	printf '{"workspace":"%s"}' "$WS" >"$XDG_STATE_HOME/ralph/loops/0123.json"
	printf '{"pid":%s,"start":%s}' "$1" "$start" >.ralph/active
	printf '{"version":1,"workspace":"%s","pid":%s,"start":%s,"sandbox":"none","agent":"claude","phase":"iterating",
		"iteration":3,"max_iterations":10,"tasks":{"total":7,"done":2},"tool":"Bash: make test"}' "$WS" "$1" "$start" \
		>.ralph/state/status.json
}

@test 'refusals are counted over all iterations of a loop, each of which starts the sandbox afresh' {
	ralph run --detach
	name=$(sandbox)
	ralph exec "$name" curl -sS -m 10 http://before.test/ || :
	ralph stop "$name"
	sleep 1000 3>&- &
	loop $!
	python3 - "$name" <<-'END'
		import json, sys, time
		at = ".ralph/state/status.json"
		j = json.load(open(at))
		json.dump({**j, "sandbox": sys.argv[1], "started": int(time.time()) + 1}, open(at, "w"))
	END
	begins() {
		[ "$(date +%s)" -gt "$(get 'j["started"]' <.ralph/state/status.json)" ]
	}
	wait_until begins
	for host in one two; do
		ralph run --detach
		ralph exec "$name" curl -sS -m 10 "http://$host.test/" || :
		ralph stop "$name"
	done
	same 2 "$(ralph status --json | get "[b for b in j['sandboxes'] if b['name'] == '$name'][0]['refused']")"
	kill %1
}

@test 'p pauses a loop and s stops it' {
	# The shell lets what it starts in the background ignore SIGINT.
	env --default-signal=INT bash -c 'trap "echo pause >>\"$T/got\"" INT; trap "echo stop >>\"$T/got\"; exit" TERM; while :; do sleep 0.05; done' 3>&- &
	pid=$!
	loop "$pid"
	touch "$T/got"
	terminal 80 24 "$RALPH" top
	wait_until shows 'iterating'
	keys p
	wait_until grep -q pause "$T/got"
	wait_until shows 'pauses after this iteration'
	keys s
	wait_until shows 'stop the loop in'
	keys y
	wait_until grep -q stop "$T/got"
	wait "$pid" || :
	# It was at work, and is gone: that is said.
	wait_until shows crashed
	keys q
	wait_until shows 'ended 0'
}

@test 'the terminal is as it was, whatever ends it' {
	terminal 80 24 "$RALPH" top
	wait_until shows 'q quit'
	# While it runs, keys are not echoed and the screen is another one.
	has "$(state_of_terminal)" '-icanon'
	has "$(state_of_terminal)" '1 0'
	keys q
	wait_until shows 'ended 0'
	before=$(state_of_terminal)
	has "$before" 'icanon'
	has "$before" '0 1'
	for sig in TERM HUP INT SEGV ABRT; do
		keys -R C-l
		mux clear-history -t t
		mux send-keys -t t -l "clear; $TOP; echo \"ended \$?\""
		mux send-keys -t t Enter
		wait_until shows 'q quit'
		kill -$sig "$(top_pid)"
		wait_until shows "ended $((128 + $(kill -l $sig)))"
		wait_until shows 'ready\$'
		# readline has its own way while it waits for a line.
		same "${before##* 0 }" "$(state_of_terminal | sed 's/.* 0 //')"
		keys -l 'stty -a | grep -oE -- "-?\b(echo|icanon)\b" | xargs'
		keys Enter
		wait_until shows '^icanon echo'
	done
}

@test 'text from inside stays in its cell' {
	terminal 80 24 "$RALPH" top --from "$BATS_TEST_DIRNAME/../lib/top.json"
	wait_until shows 'q quit'
	wait_until shows 'last events of evil-'
	screen >"$T/out"
	has "$(cat "$T/out")" '\x1b[2J\x1b[999'
	has "$(cat "$T/out")" 'a\x1b[5mb\nc.test'
	same 24 "$(wc -l <"$T/out")"
	# No line is wider than the terminal, wide characters counted as two.
	python3 - "$T/out" <<-'END'
		import sys, unicodedata
		for line in open(sys.argv[1]):
		    line = line.rstrip("\n")
		    width = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
		    assert width <= 80, (width, line)
		    assert all(c >= " " and not "\x7f" <= c <= "\x9f" and c != "\u202e" for c in line), repr(line)
	END
	# The title of the window is nobody's to change.
	lacks "$(mux display-message -p -t t '#{pane_title}')" title
	# The first and the last row are ralph's.
	has "$(sed -n 1p "$T/out")" 'ralph top'
	has "$(sed -n 24p "$T/out")" 'p pause'
	keys j
	wait_until shows 'last events of plain'
	screen | grep -E 'plain +running .* 1\.2k +0\.12 +0 +0\.0 +5M'
	keys q
	wait_until shows 'ended 0'
}

@test 'without a terminal it says what to use instead' {
	run --separate-stderr ralph top
	same 1 "$status"
	has "$stderr" 'ralph status --json'
	same '' "$output"
	must_exit 2 ralph top --interval 1ms
	must_exit 1 ralph top --from "$T/nothing"
}
