#!/usr/bin/env bats
# runs: user
# seconds: 30
# `ralph doctor --place` and `ralph preflight`: one worker is placed, and what its node offers is shown.
# shellcheck disable=SC2016,SC2030,SC2031
load helpers
load loop
load fleet

# answers CODE ARG…: ralph with these arguments ends with that code; its output is in $T/out.
answers() {
	loop_exits "$@"
}

# row WHAT: state and finding of that line.
row() {
	sed -nE "s/^$1 +(ok|failed) +(.*[^ ]) *$/\1 \2/p" "$T/out"
}

@test 'doctor --place: node, version, engine and agents of ralph worker itself; nothing stays' {
	mkdir "$T/bin" "$T/n"
	printf '#!/bin/sh\necho "2.1.7 (Claude Code)"\n' >"$T/bin/claude"
	chmod +x "$T/bin/claude"
	export TMPDIR=$T/n
	at_worker
	sed -i 's/XDG_RUNTIME_DIR/&, TMPDIR/' "$XDG_CONFIG_HOME/ralph/config.yaml"
	PATH=$T/bin:$PATH answers 0 doctor --place here
	same "ok $(uname -n)" "$(row node)"
	same "ok $("$RALPH" --version | awk '{ print $NF }')" "$(row ralph)"
	same "ok native" "$(row engine)"
	same "ok 2.1.7, $T/bin/claude" "$(row claude)"
	has "$(cat "$T/out")" 'Tasks can be placed at here.'
	same '' "$(ls "$T/n")"
	same '' "$(find "$XDG_STATE_HOME" -type f ! -name 'selftest-*')"
	# The columns begin where their titles do.
	same 1 "$(grep -nE '^(WHAT|node|ralph|engine|claude) ' "$T/out" | sed -E 's/^[0-9]+:([^ ]+ +)[^ ].*/\1/' | awk '{ print length }' | sort -u | wc -l)"
	PATH=$T/bin:$PATH answers 0 doctor --place here --json
	same 'True native [["claude", "2.1.7"]]' "$(python3 -c '
import json, sys
j = json.load(open(sys.argv[1]))
print(j["ok"], j["node"]["engine"], json.dumps([[a["name"], a["version"]] for a in j["node"]["agents"] if "/bin/claude" in a["path"]]))' "$T/out")"
}

@test 'doctor --place: no task is sent, and the placement is reaped' {
	at_place steps=1 && echo 'agent: claude' >>"$XDG_CONFIG_HOME/ralph/config.yaml"
	answers 1 doctor --place here
	same 'failed not on the PATH of the worker' "$(row claude)"
	[ ! -e "$T/told/tasks" ]
	same True "$(python3 -c 'import json, sys; print(json.loads(open(sys.argv[1]).readline())["probe"])' "$T/told/starts")"
	same 1 "$(find "$T/told" -name 'reaped-ralph-probe-*' | wc -l)"
}

@test 'doctor --place: what is wrong there is said, each with what to do, and the exit code is 1' {
	at_place unusable
	answers 1 doctor --place here
	same 'failed native: no user namespaces' "$(row engine)"
	has "$(cat "$T/out")" 'No task can be placed at here.'
	at_place version=9.9.9
	answers 1 doctor --place here
	has "$(row ralph)" 'failed'
	has "$(row ralph)" 9.9.9
	at_place garbage
	answers 1 doctor --place here
	has "$(row node)" "failed what the command prints is no worker's"
	printf 'fleet: {places: {here: {command: [sh, -c, "echo no such partition >&2; exit 3"]}}}\n' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	answers 1 doctor --place here
	same 'failed its stream has ended; it says: no such partition' "$(row node)"
	printf 'fleet: {places: {here: {command: [/nonexistent/worker]}}}\n' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	answers 1 doctor --place here
	has "$(row node)" 'failed'
	answers 2 doctor --place there
	has "$(cat "$T/err")" "there is no placement 'there'"
}

@test 'doctor --place: a hub with fewer slots than the placement says' {
	mkdir "$T/n"
	export TMPDIR=$T/n
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	printf 'agent: command\nfleet: {pass: [RALPH_LIBEXEC, TMPDIR], places: {here: {slots: 4, command: ["%s", worker, --slots, "2"]}}}\n' "$RALPH" >"$XDG_CONFIG_HOME/ralph/config.yaml"
	answers 1 doctor --place here
	same 'failed 2, and the placement says 4' "$(row slots)"
	has "$(cat "$T/out")" "add '--slots 4' after 'worker' in its command"
}

@test 'preflight places a worker where the loop would be placed, and says what is wrong with its node' {
	at_place steps=1 && echo 'agent: command' >>"$XDG_CONFIG_HOME/ralph/config.yaml"
	answers 0 preflight --net none
	lacks "$(cat "$T/out")" placement
	answers 0 preflight --net none --place here
	has "$(row placement)" 'ok here: node node-1 (test 4711), ralph'
	at_place unusable 'place: here' && echo 'agent: command' >>"$XDG_CONFIG_HOME/ralph/config.yaml"
	answers 1 preflight --net none
	same 'failed here: engine: native: no user namespaces' "$(row placement)"
}
