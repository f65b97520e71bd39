#!/usr/bin/env bats
# runs: user
# seconds: 14
# The event log: what is in it, that its chain proves it whole, and what explains it: ralph events, why, status.
# shellcheck disable=SC2154 # stderr comes from bats
# shellcheck disable=SC2016 # what is in single quotes is for the shell inside
load helpers
load sandbox

log_py() {
	python3 "$BATS_TEST_DIRNAME/../lib/eventlog.py" "$@"
}

# record: the directory of this test's only sandbox.
record() {
	echo "$XDG_STATE_HOME/ralph/sandboxes/$(sandbox)"
}

# refuse HOST…: something inside asks for them and is refused.
refuse() {
	local host

	for host; do
		ralph run -- curl -sS -m 10 "http://$host/" >/dev/null || :
	done
}

@test 'every record is chained to the one before, as another program computes it' {
	ralph run -- true
	refuse a.test
	ralph run -- sh -c 'exit 3' || :
	n=$(log_py check "$(record)")
	has "$(ralph events verify)" "whole, $n records"
	same "$n" "$(ralph events --json | wc -l)"
	same "$n" "$(ralph events | wc -l)"
}

@test 'verify finds every record that was changed, dropped, repeated, forged or moved, and names it' {
	ralph run -- true
	dir=$(record)
	n=$(log_py check "$dir")
	cp "$dir/events.jsonl" "$T/good"
	for kind in changes drops repeats forges moves; do
		for ((i = 0; i < n; i++)); do
			log_py harm "$dir" $kind "$i"
			must_exit 1 ralph events verify >"$T/out"
			at=$((i + 1))
			case $kind in
			# A copy of a record stands behind it; a moved one is missed where it was, or stands too early.
			repeats) at=$((i + 1)) ;;
			moves) [ "$i" -eq 0 ] || at=$i ;;
			esac
			has "$(cat "$T/out")" "broken at record $at (" || fail "$kind $i"
			cp "$T/good" "$dir/events.jsonl"
		done
	done
	ralph events verify
}

@test 'an end that was cut off is found, before the next start and after it' {
	ralph run -- true
	dir=$(record)
	n=$(log_py check "$dir")
	log_py cut "$dir" 2
	must_exit 1 ralph events verify >"$T/out"
	has "$(cat "$T/out")" "records $((n - 1)) to $n are missing"
	ralph run -- true
	must_exit 1 ralph events verify >"$T/out"
	has "$(cat "$T/out")" "records $((n - 1)) to $n are missing"
	same False "$(ralph events verify --json | get 'j["whole"]')"
}

@test 'a log without its head, and a head without its log, are not whole' {
	ralph run -- true
	dir=$(record)
	mv "$dir/events.head" "$T/head"
	must_exit 1 ralph events verify
	mv "$T/head" "$dir/events.head"
	ralph events verify
	mv "$dir/events.jsonl" "$T/log"
	must_exit 1 ralph events verify
}

@test 'half a line that a crash left is no breach, and the next start says so' {
	ralph run -- true
	dir=$(record)
	printf '{"seq":99,"time":"20' >>"$dir/events.jsonl"
	has "$(ralph events verify)" 'note: half a line'
	ralph run -- true
	has "$(ralph events verify)" 'left by a crash; record'
	has "$(ralph events)" 'half a line was left by a crash'
	# Whoever changes that half is found all the same.
	sed -i 's/^{"seq":99,"time":"20$/{"seq":98,"time":"20/' "$dir/events.jsonl"
	must_exit 1 ralph events verify
}

@test 'a supervisor that was killed: the log goes on and says so' {
	ralph run --detach
	name=$(sandbox)
	kill -9 "$(ralph inspect "$name" --json | get 'j["live"]["supervisor"]')"
	wait_until down
	ralph run -- true
	has "$(ralph events --type sandbox)" sandbox-killed
	ralph events verify
}

@test 'old files of the log count: whole, summed, and a missing one is found' {
	ralph run -- true
	dir=$(record)
	for files in 0 1 7 12; do
		log_py write "$dir" $files 20
		log_py check "$dir"
		ralph events verify
		same $((20 * (files + 1))) "$(ralph usage --json | get 'sum(r["requests"] for r in j)')"
		same $((20 * (files + 1))) "$(ralph usage --json | get 'round(sum(r["usd"] for r in j) * 1000)')"
	done
	has "$(ralph events verify)" 'were dropped when the log had grown'
	for i in 1 4 7; do
		mv "$dir/events.$i.jsonl" "$T/gone"
		must_exit 1 ralph events verify
		mv "$T/gone" "$dir/events.$i.jsonl"
	done
	# And it goes on from there.
	ralph run -- true
	ralph events verify
	same 260 "$(ralph usage --json | get 'sum(r["requests"] for r in j)')"
}

@test 'a running sandbox turns to a new file when one is full, and followers go along' {
	ralph run -- true
	dir=$(record)
	log_py write "$dir" 2 20000
	env --default-signal=INT "$RALPH" events -f --type exec >"$T/out" 3>&- &
	pid=$!
	ralph run -- echo behind >/dev/null
	wait_until grep -q 'echo behind' "$T/out"
	[ -e "$dir/events.3.jsonl" ]
	has "$(head -n 1 "$dir/events.jsonl")" '"what":"continued","from":{"seq":60002,'
	log_py check "$dir"
	ralph events verify
	same 60000 "$(ralph usage --json | get 'sum(r["requests"] for r in j)')"
	# What the newest file knows of those before it is enough.
	same 60000 "$(ralph status --json | get 'j["sandboxes"][0]["tokens"]')"
	same 1 "$(grep -c 'echo behind' "$T/out")"
	kill -INT "$pid"
	wait "$pid" || :
}

@test 'a budget counts what is in old files of the log' {
	ralph run -- true
	log_py write "$(record)" 12 10
	same 130 "$(ralph status --json | get 'j["sandboxes"][0]["tokens"]')"
	same 130000 "$(ralph status --json | get 'j["sandboxes"][0]["micro_usd"]')"
}

@test 'events are filtered by type and time' {
	ralph run -- true
	refuse a.test
	ralph events --type exec --json >"$T/out"
	same 'exec exec-end' "$(python3 -c 'import json, sys
print(*sorted({json.loads(l)["type"] for l in sys.stdin}))' <"$T/out")"
	ralph events --type net --type sandbox >"$T/out"
	has "$(cat "$T/out")" 'deny http a.test:80 GET /'
	has "$(cat "$T/out")" sandbox-start
	lacks "$(cat "$T/out")" exec-end
	same 0 "$(ralph events --since 2100-01-01 | wc -l)"
	same "$(ralph events | wc -l)" "$(ralph events --since 1h | wc -l)"
	must_exit 2 ralph events --since yesterday
	must_exit 2 ralph events verify --type net
	must_exit 1 ralph events nobody
}

@test 'what a command was called cannot reach the terminal' {
	ralph run -- printf '%s' $'a\e]0;gotcha\ab\u202ec\u009b1m' >/dev/null
	ralph events --color never >"$T/out"
	has "$(cat "$T/out")" 'a\x1b]0;gotcha\x07b\u{202E}c'
	! grep -q -P '[\x00-\x08\x0b-\x1f\x7f]|\xc2\x9b|\xe2\x80\xae' "$T/out" || fail "raw bytes: $(cat -v "$T/out")"
	# Nor by printing the file.
	run ! grep -q -P '[^\x20-\x7e]' "$(record)/events.jsonl"
}

@test 'following goes over new starts and new files, and ends on SIGINT' {
	ralph run -- echo first >/dev/null
	dir=$(record)
	# The shell lets what it starts in the background ignore SIGINT.
	env --default-signal=INT "$RALPH" events -f --type exec >"$T/out" 3>&- &
	pid=$!
	wait_until grep -q 'echo first' "$T/out"
	ralph run -- echo second >/dev/null
	wait_until grep -q 'echo second' "$T/out"
	# As the supervisor turns to a new file.
	mv "$dir/events.jsonl" "$dir/events.1.jsonl"
	ralph run -- echo third >/dev/null
	wait_until grep -q 'echo third' "$T/out"
	same 1 "$(grep -c 'echo second' "$T/out")"
	ralph events verify
	kill -INT "$pid"
	code=0
	wait "$pid" || code=$?
	same 130 "$code"
}

@test 'what is taken out of quarantine is in the log, whether the sandbox runs or not' {
	ralph run --quarantine all -- mkdir .vscode
	id=$(ralph quarantine ls --json | get 'j[0]["id"]')
	has "$(ralph events --type surface)" "in quarantine as $id"
	ralph run --quarantine all --detach
	ralph quarantine release "$id"
	has "$(ralph events --type quarantine)" "quarantine=$id"
	ralph stop "$(sandbox)"
	ralph run --quarantine all -- sh -c 'rmdir .vscode; mkdir .vscode'
	id=$(ralph quarantine ls --json | get 'j[0]["id"]')
	ralph quarantine drop "$id"
	has "$(ralph events --type quarantine-drop)" "quarantine=$id"
	ralph events verify
}

@test 'why HOST names the setting and the command, and the command changes it' {
	ralph run --detach
	name=$(sandbox)
	ralph exec "$name" curl -sS -m 10 http://a.test/ || :
	wait_until grep -q a.test "$(record)/events.jsonl"
	must_exit 1 ralph why a.test:80 >"$T/out"
	has "$(cat "$T/out")" 'setting   network.tier'
	has "$(cat "$T/out")" 'to change ralph net allow a.test'
	has "$(cat "$T/out")" 'seen      refused 1 times'
	ralph net allow a.test
	ralph why a.test:80 >"$T/out"
	has "$(cat "$T/out")" 'setting   ralph net --project'
	has "$(cat "$T/out")" "network.rules:"
}

@test 'why names the file and line of the setting behind a refusal' {
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	printf 'network:\n  deny:\n    - first.test\n    - second.test\n' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	must_exit 1 ralph why second.test --json >"$T/out"
	same 'second.test' "$(get 'j["rule"]' <"$T/out")"
	same 'network.deny' "$(get 'j["setting"]' <"$T/out")"
	same "$XDG_CONFIG_HOME/ralph/config.yaml:4" "$(get 'j["origin"]' <"$T/out")"
	ralph net deny --user third.test
	must_exit 1 ralph why third.test --json >"$T/out"
	same 'ralph net rm --user third.test' "$(get 'j["remedy"]' <"$T/out")"
	ralph net rm --user third.test
	must_exit 1 ralph why third.test --json >"$T/out"
	same 'ralph net allow third.test' "$(get 'j["remedy"]' <"$T/out")"
}

@test 'why ID explains an event' {
	ralph run -- true
	refuse a.test
	id=$(ralph events --type net --json | grep a.test | get 'j["seq"]')
	must_exit 1 ralph why "$id" >"$T/out"
	has "$(cat "$T/out")" "event $id, net: deny http a.test:80 GET /"
	has "$(cat "$T/out")" 'to change ralph net allow a.test'
	ralph why 1 >"$T/out"
	has "$(cat "$T/out")" 'nothing was refused'
	run --separate-stderr ralph why 99999
	same 1 "$status"
	has "$stderr" 'there is no event 99999'
}

@test 'why PATH: masked, protected, absent, writable, in quarantine' {
	echo secret >.env
	must_exit 1 ralph why .env >"$T/out"
	has "$(cat "$T/out")" 'setting   workspace.mask'
	has "$(cat "$T/out")" "ralph run --mask '!.env'"
	same secret "$(ralph run --mask '!.env' -- cat .env)"
	must_exit 1 ralph why .git/hooks >"$T/out"
	has "$(cat "$T/out")" 'one of its own in its place'
	echo '{}' >.mcp.json
	must_exit 1 ralph why .mcp.json >"$T/out"
	has "$(cat "$T/out")" 'as the host would run it'
	must_exit 1 ralph why /etc/shadow >"$T/out"
	has "$(cat "$T/out")" 'it is not there inside'
	must_exit 1 ralph why ~/notes >"$T/out"
	has "$(cat "$T/out")" 'a home of its own'
	ralph why ./file
	ralph run --quarantine all -- mkdir .vscode
	id=$(ralph quarantine ls --json | get 'j[0]["id"]')
	must_exit 1 ralph why .vscode/tasks.json >"$T/out"
	has "$(cat "$T/out")" "to change ralph quarantine release $id"
}

@test 'why of a key or login explains the placeholder token, and never proposes to mount it' {
	local file

	mkdir -p "$HOME"/{.ssh,.claude,.aws,.config/gh,backup/.gnupg} "$XDG_CONFIG_HOME/ralph"
	touch "$HOME/.ssh/id_rsa" "$HOME/.claude/.credentials.json"
	for file in .ssh/id_rsa .ssh .claude/.credentials.json .aws/credentials .netrc .config/gh/hosts.yml backup/server.key backup/.gnupg/x; do
		must_exit 1 ralph why "$HOME/$file" >"$T/out"
		has "$(cat "$T/out")" 'placeholder token'
		lacks "$(cat "$T/out")" RALPH_MOUNTS
		must_exit 1 ralph why --json "$HOME/$file" >"$T/out"
		same None "$(get 'j["remedy"]' <"$T/out")"
	done
	must_exit 1 ralph why /home/somebody/.ssh/id_ed25519 >"$T/out"
	lacks "$(cat "$T/out")" RALPH_MOUNTS
	# Also not when the user has mounted the place: to write it would be more.
	echo 'mounts: [{path: ~/.ssh}]' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	must_exit 1 ralph why "$HOME/.ssh/id_rsa" >"$T/out"
	lacks "$(cat "$T/out")" RALPH_MOUNTS
}

# loop PHASE PID START: this workspace has a loop in that phase, driven by that process.
loop() {
	mkdir -p .ralph/state "$XDG_STATE_HOME/ralph/loops"
	printf '{"workspace":"%s"}' "$WS" >"$XDG_STATE_HOME/ralph/loops/0123.json"
	printf '{"version":1,"workspace":"%s","pid":%s,"start":%s,"sandbox":"%s","agent":"claude","phase":"%s",
		"iteration":3,"max_iterations":10,"task":{"id":"T1","title":"a \\u001b[31mred\\u202e task"},
		"tasks":{"total":7,"done":2,"blocked":1,"stuck":0},"tool":"Bash: make test","tokens":{"input":5,"output":6,
		"cache_read":7,"cache_write":8},"micro_usd":1500000,"until":0,"started":1,"updated":2,"exit_code":-1}' \
		"$WS" "$2" "$3" "${4:-box}" "$1" >.ralph/state/status.json
}

@test 'status: a loop whose process is gone has crashed, and says how to go on' {
	loop iterating 999999999 5
	ralph status --color never >"$T/out"
	has "$(cat "$T/out")" "$WS"
	has "$(cat "$T/out")" crashed
	has "$(cat "$T/out")" '2 of 7 done, 1 blocked'
	has "$(cat "$T/out")" "ralph resume $WS"
	! grep -q -P '[\x00-\x08\x0b-\x1f\x7f]|\xe2\x80\xae' "$T/out" || fail "raw bytes: $(cat -v "$T/out")"
	same crashed "$(ralph status --json | get 'j["loops"][0]["state"]')"
	# The number of the process alone proves nothing.
	loop iterating $$ 5
	same crashed "$(ralph status --json | get 'j["loops"][0]["state"]')"
	loop iterating $$ "$(awk '{ print $22 }' /proc/$$/stat)"
	same iterating "$(ralph status --json | get 'j["loops"][0]["state"]')"
	lacks "$(ralph status)" resume
	loop 'done' 999999999 5
	same 'done' "$(ralph status --json | get 'j["loops"][0]["state"]')"
}

@test 'status WORKSPACE shows its loop in detail' {
	loop waiting $$ "$(awk '{ print $22 }' /proc/$$/stat)"
	ralph status . >"$T/out"
	has "$(cat "$T/out")" 'iteration  3 of 10'
	has "$(cat "$T/out")" 'tool       Bash: make test'
	has "$(cat "$T/out")" 'usd        1.5000'
	same 1500000 "$(ralph status --json . | get 'j["micro_usd"]')"
	mkdir "$HOME/other"
	must_exit 1 ralph status "$HOME/other"
}

@test 'status: sandboxes with what runs in them and what was refused' {
	same 'no sandboxes and no loops' "$(ralph status)"
	ralph run --detach
	name=$(sandbox)
	"$RALPH" exec "$name" sleep 1000 3>&- &
	ralph exec "$name" curl -sS -m 10 http://a.test/ || :
	loop iterating 999999999 5 "$name"
	wait_until runs 1
	wait_until grep -q a.test "$(record)/events.jsonl"
	ralph status --json >"$T/out"
	same running "$(get 'j["sandboxes"][0]["state"]' <"$T/out")"
	same 'sleep 1000' "$(get 'j["sandboxes"][0]["doing"]' <"$T/out")"
	same 1 "$(get 'j["sandboxes"][0]["refused"]' <"$T/out")"
	same crashed "$(get 'j["sandboxes"][0]["loop"]' <"$T/out")"
	same True "$(get 'j["sandboxes"][0]["memory"] > 1000000' <"$T/out")"
	ralph stop "$name"
	same stopped "$(ralph status --json | get 'j["sandboxes"][0]["state"]')"
}

@test 'a state file that is a link, or no JSON, is no loop' {
	loop iterating 999999999 5
	mv .ralph/state/status.json "$T/elsewhere"
	ln -s "$T/elsewhere" .ralph/state/status.json
	same 0 "$(ralph status --json | get 'len(j["loops"])')"
	rm .ralph/state/status.json
	echo nonsense >.ralph/state/status.json
	same 0 "$(ralph status --json | get 'len(j["loops"])')"
}
