#!/usr/bin/env bats
# runs: user
# seconds: 90
# Placements with slots: several tasks over one stream, with `ralph worker --slots` itself, and with hubs that lie.
# shellcheck disable=SC2016,SC2030,SC2031
load helpers
load loop
load fleet
load dying

setup() {
	ralph_setup
	# What a worker makes lies below; the path is short, as sockets need it.
	mkdir "$T/n"
	export TMPDIR=$T/n
}

# at_hubs SLOTS [HOW]: the placement `here`, whose first hub is the scripted one that behaves so, and whose others are
# `ralph worker --slots SLOTS`. Their processes are in $T/hubs.
at_hubs() {
	mkdir -p "$XDG_CONFIG_HOME/ralph" "$T/told"
	cat >"$T/hub" <<-EOF
		#!/bin/sh
		echo \$\$ >>'$T/hubs'
		[ -z '${2-}' ] || [ -e '$T/lied' ] || { touch '$T/lied'; exec '$(realpath "$BATS_TEST_DIRNAME/../lib/fleet-hub.py")' '${2-},slots=$1:$T/told'; }
		exec '$RALPH' worker --slots $1
	EOF
	chmod +x "$T/hub"
	cat >"$XDG_CONFIG_HOME/ralph/config.yaml" <<-EOF
		fleet:
		  lease: ${LEASE:-1m}
		  pass: [RALPH_LIBEXEC, XDG_RUNTIME_DIR, TMPDIR]
		  places:
		    here: {command: ["$T/hub"], slots: $1, reap: [touch, "$T/told/reaped-{name}"]}
	EOF
}

hub_loop() {
	"$RALPH" build --place here --net none "$@" -- ./agent.sh >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
}

# begun N: so many agents are at work.
begun() {
	[ "$(find "$T/n" -path '*/ws/waiting' 2>/dev/null | wc -l)" -ge "$1" ]
}

# released: lets every agent go on that is there now, until the loop ends.
released() {
	local ws

	for ws in "$T"/n/rw-*/*/ws; do
		[ ! -d "$ws" ] || touch "$ws/go-on" 2>/dev/null || true
	done
	! kill -0 "$LOOP" 2>/dev/null
}

# agent [PATTERN]: it does its task at once; one of PATTERN waits until it is released.
agent() {
	quick_agent
	sed -i -e 's/commit -qm "/&$RALPH_TASK: /' -e '1s/sh$/bash/' \
		-e "1a case \$RALPH_TASK in ${1:--}) touch waiting; until [ -e go-on ]; do read -rt 0.1 <> <(:); done ;; esac" agent.sh
	git commit -qam agent
}

# hubs N: so many run.
hubs() {
	local pid n=0

	while read -r pid; do
		! kill -0 "$pid" 2>/dev/null || n=$((n + 1))
	done 2>/dev/null <"$T/hubs"
	[ $n -eq "$1" ]
}

@test '2 hubs with 16 slots each, one killed: each task is merged once' {
	local all

	loop_workspace 32
	agent 'US-*'
	at_hubs 16
	hub_loop --parallel 32 -n 100
	wait_until -t 150 begun 32 || fail "$(cat "$T/err")"
	same 2 "$(wc -l <"$T/hubs")"
	kill -9 "$(sed -n 1p "$T/hubs")"
	wait_until -t 60 eval '[ "$(grep -c "was lost: its stream has ended" "$T/err")" = 16 ]'
	wait_until -t 200 released || fail "$(cat "$T/err")"
	ends 0
	read -ra all < <(seq -f US-%g -s ' ' 32)
	merged "${all[@]}"
	# No attempt was counted for the lost ones.
	same '[1]' "$(summary 'sorted({t["attempts"] for t in j["tasks"]})')"
	hubs 0
}

@test 'slots are used again: six tasks by a hub of two, which is the only one, and which ends with the loop' {
	loop_workspace 6
	agent
	at_hubs 2
	hub_loop --parallel 2 -n 100
	ends 0
	merged US-1 US-2 US-3 US-4 US-5 US-6
	same 1 "$(wc -l <"$T/hubs")" || fail "$(cat "$T/err")"
	hubs 0
	same '' "$(find "$T/n" -mindepth 1 -maxdepth 1 -name 'rw-*')"
}

@test 'a hub that answers with a slot that it does not have, with one that is free, or with the lease of another one is dropped' {
	local how

	for how in no-slot free-slot swap; do
		rm -rf "$WS" "$T/told" "$T/hubs" "$T/lied" && make_workspace "$WS" "t-$how" && cd "$WS"
		loop_workspace 2
		agent
		at_hubs 3 "$how"
		hub_loop --parallel 2 -n 20
		ends 0 || fail "$how"
		merged US-1 US-2 || fail "$how"
		same 2 "$(grep -c 'was lost' "$T/err")" || fail "$how: $(cat "$T/err")"
		same 2 "$(wc -l <"$T/hubs")"
	done
}

@test 'a hub that falls silent: its tasks go on with another one' {
	loop_workspace 2
	agent
	LEASE=5s at_hubs 2 mute
	hub_loop --parallel 2 -n 20
	ends 0
	merged US-1 US-2
	same 2 "$(grep -c 'was lost: nothing was heard of it for 5 s' "$T/err")"
}

@test 'one task whose commits cannot be taken: its slot is given up, and the others of the hub work on' {
	loop_workspace 2
	agent
	at_hubs 2 refuse=100
	hub_loop --parallel 2 -n 20
	# It drains: it was told to stop, and its verdict was acknowledged.
	wait_until -t 60 eval 'grep -qx "ack 0" "$T/told/hub" 2>/dev/null && grep -q "US-1 on hub was lost" "$T/err"'
	has "$(cat "$T/told/hub")" 'stop 0'
	same 1 "$(grep -c 'was lost' "$T/err")"
	kill -0 "$(sed -n 1p "$T/hubs")"
	kill -TERM "$LOOP"
	ends 143
	loop_exits 0 resume
	merged US-1 US-2
	hubs 0
}

@test 'a hub with fewer slots than the placement says is refused, with what to write' {
	loop_workspace 1
	agent
	at_hubs 2 few
	hub_loop
	ends 1
	has "$(cat "$T/err")" "hub has 1 slots and the placement says 2; add '--slots 2' after 'worker' in its command"
}

@test 'a hub without a task is let go while another one works' {
	loop_workspace 4
	agent US-1
	LEASE=5s at_hubs 2
	hub_loop --parallel 4 -n 20
	wait_until -t 60 eval '[ "$(wc -l <"$T/hubs")" = 2 ]'
	wait_until -t 100 hubs 1
	begun 1
	lacks "$(cat "$T/err")" 'was lost'
	wait_until -t 60 released
	ends 0
	merged US-1 US-2 US-3 US-4
	hubs 0
}

@test 'the loop is killed: resume reaps each hub once by its name, and the next hub has another one' {
	loop_workspace 2
	agent 'US-*'
	at_hubs 2
	hub_loop --parallel 2
	wait_until -t 60 begun 2
	kill -9 "$LOOP"
	wait "$LOOP" || true
	wait_until -t 60 hubs 0
	"$RALPH" resume >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	wait_until -t 100 released
	ends 0
	merged US-1 US-2
	same 'reaped-ralph-ralph-demo-HASH-hub-1' "$(find "$T/told" -name 'reaped-*' -printf '%f\n' | sed -E 's/[0-9a-f]{6}/HASH/g')"
}
