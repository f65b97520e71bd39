#!/usr/bin/env bats
# runs: user
# What was said in sandboxes, as files.
# shellcheck disable=SC2030,SC2031 # each test has its own environment
load helpers
load sandbox

# said AGENT-DIR FILE SAMPLE: an agent's conversation in the home of this test's sandbox.
said() {
	local home

	ralph run -- true
	home=$XDG_STATE_HOME/ralph/sandboxes/$(sandbox)/home
	mkdir -p "$home/$1"
	cp "$BATS_TEST_DIRNAME/../golden/transcripts/$3" "$home/$1/$2"
}

@test 'a conversation becomes a file with front matter, named after its time and first words' {
	said .claude/projects/-p s1.jsonl claude-tools-run.jsonl
	has "$(ralph export -o "$HOME/inbox")" '1 written'
	has "$(cat "$HOME"/inbox/conversations/2026-11-15T17-54-01Z/do-it.md)" 'agent: "claude"'
	has "$(cat "$HOME"/inbox/conversations/*/do-it.md)" '<details><summary>Write: /home/user/project/hello.txt</summary>'
}

@test "export . has this project's conversations alone, export those of all" {
	said .claude/projects/-p s1.jsonl claude-tools-run.jsonl
	mkdir "$HOME/other-${WS##*-}"
	has "$(cd "$HOME/other-${WS##*-}" && ralph export -o "$HOME/none" .)" '0 written'
	has "$(ralph export -o "$HOME/one" .)" '1 written'
	has "$(cd "$HOME/other-${WS##*-}" && ralph export -o "$HOME/all")" '1 written'
}

@test 'what has not changed is left alone, what has grown is written in the same place' {
	local home file

	said .claude/projects/-p s1.jsonl claude-tools-run.jsonl
	export RALPH_INBOX_DIR=$HOME/inbox
	ralph export
	has "$(ralph export)" '0 written, 1 unchanged'
	home=$XDG_STATE_HOME/ralph/sandboxes/$(sandbox)/home
	echo '{"type":"user","message":{"content":"one more thing"}}' >>"$home/.claude/projects/-p/s1.jsonl"
	has "$(ralph export)" '1 written, 0 unchanged'
	file=$(find "$HOME/inbox" -name '*.md')
	same 1 "$(wc -l <<<"$file")"
	has "$(cat "$file")" 'one more thing'
}

@test 'subagents lie beside the conversation they belong to, which links to them' {
	local home

	said .claude/projects/-p x.jsonl claude-tools-run.jsonl
	home=$XDG_STATE_HOME/ralph/sandboxes/$(sandbox)/home
	rm "$home/.claude/projects/-p/x.jsonl"
	cp -r "$BATS_TEST_DIRNAME"/../golden/transcripts/claude-subagent/* "$home/.claude/projects/-p/"
	has "$(ralph export -o "$HOME/inbox")" '2 written'
	has "$(cat "$HOME"/inbox/conversations/*/delegate.md)" '(delegate-agent-abac12d2ff6a23736.md)'
	ls "$HOME"/inbox/conversations/*/delegate-agent-abac12d2ff6a23736.md
}

@test 'links in a home are not followed, and no link is written through' {
	local home

	said .claude/projects/-p s1.jsonl claude-tools-run.jsonl
	home=$XDG_STATE_HOME/ralph/sandboxes/$(sandbox)/home
	mkdir "$HOME/host" "$HOME/victim"
	cp "$home/.claude/projects/-p/s1.jsonl" "$HOME/host/secret.jsonl"
	ln -s "$HOME/host/secret.jsonl" "$home/.claude/projects/-p/link.jsonl"
	ln -s "$HOME/host" "$home/.claude/projects/-q"
	has "$(ralph export -o "$HOME/inbox")" '1 written'
	rm -r "$HOME/inbox/conversations"
	ln -s "$HOME/victim" "$HOME/inbox/conversations"
	must_exit 1 ralph export -o "$HOME/inbox"
	same '' "$(ls -A "$HOME/victim")"
}

@test 'with an inbox in the workspace, no link of the agent is followed' {
	said .claude/projects/-p s1.jsonl claude-tools-run.jsonl
	mkdir "$HOME/victim"
	ln -s "$HOME/victim" "$PWD/out"
	must_exit 1 ralph export -o "$PWD/out"
	must_exit 1 ralph export -o out/deeper
	RALPH_INBOX_DIR=$PWD/out must_exit 1 ralph export
	same '' "$(ls -A "$HOME/victim")"
	has "$(ralph export -o "$PWD/mine/deeper")" '1 written'
	[ -d mine/deeper/conversations ]
}

@test 'JSON and HTML are written as well; the page needs nothing but itself' {
	said .codex/sessions/2026/11/15 rollout-1.jsonl codex-rollout.jsonl
	ralph export -o "$HOME/inbox" --format json
	ralph export -o "$HOME/inbox" --format html
	python3 -m json.tool "$HOME"/inbox/conversations/*/*.json >/dev/null
	lacks "$(cat "$HOME"/inbox/conversations/*/*.html)" 'src='
	has "$(cat "$HOME"/inbox/conversations/*/*.html)" "default-src 'none'"
}

@test 'a value that was passed in as a secret is not in what is exported' {
	local home

	export MY_TOKEN=correct-horse-battery-staple
	ralph run --pass MY_TOKEN -- true
	home=$XDG_STATE_HOME/ralph/sandboxes/$(sandbox)/home
	mkdir -p "$home/.claude/projects/-p"
	echo '{"type":"user","timestamp":"2026-01-01T00:00:00Z","message":{"content":"it is correct-horse-battery-staple, yes"}}' >"$home/.claude/projects/-p/s.jsonl"
	has "$(ralph export -o "$HOME/inbox")" '1 secrets removed'
	lacks "$(cat "$HOME"/inbox/conversations/*/*.md)" battery
}

# spoke TEXT: a conversation of one message in the home of this test's sandbox.
spoke() {
	local home

	home=$XDG_STATE_HOME/ralph/sandboxes/$(sandbox)/home
	mkdir -p "$home/.claude/projects/-p"
	python3 - "$1" >"$home/.claude/projects/-p/s.jsonl" <<-'END'
		import json, sys
		print(json.dumps({"type": "user", "timestamp": "2026-01-01T00:00:00Z", "message": {"content": sys.argv[1]}}))
	END
}

@test 'the name of a file is made of the first words without their secrets' {
	local key

	key=$(printf 'gh%s_%s' p 0123456789abcdefghijABCDEFGHIJ012345)
	MY_TOKEN=correct-horse-battery ralph run --pass MY_TOKEN -- true
	spoke "$key and correct-horse-battery"
	for format in md json html; do
		ralph export -o "$HOME/inbox" --format "$format"
	done
	same "secret-removed-and-secret-removed.html secret-removed-and-secret-removed.json secret-removed-and-secret-removed.md" \
		"$(cd "$HOME"/inbox/conversations/* && echo *)"
	lacks "$(cat "$HOME"/inbox/conversations/*/*)" battery
	lacks "$(cat "$HOME"/inbox/conversations/*/*)" 0123456789abcdef
}

@test 'a private key without its end hides nothing of what follows, in any format' {
	ralph run -- true
	spoke "$(printf -- '-----BEGIN %s KEY-----' 'OPENSSH PRIVATE') and then"
	echo '{"type":"assistant","message":{"content":[{"type":"text","text":"I did it"}]}}' >>"$(find "$XDG_STATE_HOME" -name s.jsonl)"
	for format in md json html; do
		ralph export -o "$HOME/inbox" --format "$format"
		has "$(cat "$HOME"/inbox/conversations/*/*."$format")" 'and then'
		has "$(cat "$HOME"/inbox/conversations/*/*."$format")" 'I did it'
	done
}

@test 'a key at the beginning of a line is taken out of JSON too, which stays JSON' {
	local key

	key=$(printf 'gh%s_%s' p 0123456789abcdefghijABCDEFGHIJ012345)
	ralph run -- true
	spoke "it is
$key
\"$key\" \\$key"
	for format in md json html; do
		ralph export -o "$HOME/inbox" --format "$format"
		lacks "$(cat "$HOME"/inbox/conversations/*/*."$format")" 0123456789abcdef
	done
	python3 -m json.tool "$HOME"/inbox/conversations/*/*.json >/dev/null
}

@test 'an export knows the values of every command before it, and no file has them' {
	MY_TOKEN=correct-horse-battery ralph run -d --pass MY_TOKEN
	ralph exec -e PASSPHRASE='one two! three' "$(sandbox)" true
	ralph stop "$(sandbox)"
	ralph run -- true
	spoke 'it was correct-horse-battery and one two! three'
	has "$(ralph export -o "$HOME/inbox")" '2 secrets removed'
	lacks "$(cat "$HOME"/inbox/conversations/*/*)" battery
	lacks "$(cat "$HOME"/inbox/conversations/*/*)" three
	same 600 "$(stat -c %a "$XDG_STATE_HOME/ralph/sandboxes/$(sandbox)/values")"
	same "" "$(grep -rlE 'horse|two!' "$XDG_STATE_HOME/ralph/sandboxes/$(sandbox)" --exclude=s.jsonl || :)"
}

@test 'rm waits until what was said is saved, and removes nothing that cannot be' {
	export RALPH_INBOX_DIR=$HOME/inbox
	local i

	for i in 1 2 3 4 5 6; do
		# shellcheck disable=SC2016
		ralph run -n "quick-$i" -- sh -c 'mkdir -p ~/.claude/projects/-p && echo "{\"type\":\"user\",\"timestamp\":\"2026-01-0'"$i"'T00:00:00Z\",\"message\":{\"content\":\"words\"}}" >~/.claude/projects/-p/s'"$i"'.jsonl'
		ralph rm "quick-$i"
		has "$(cat "$HOME/inbox/conversations/2026-01-0${i}T00-00-00Z/words.md")" words
	done
	ralph run -n kept -- true
	# The save at its end makes the inbox where there is none.
	wait_until nothing_left
	mkdir -p "$XDG_STATE_HOME/ralph/sandboxes/kept/home/.claude/projects/-p"
	echo '{"type":"user","timestamp":"2026-02-01T00:00:00Z","message":{"content":"words"}}' >"$XDG_STATE_HOME/ralph/sandboxes/kept/home/.claude/projects/-p/s.jsonl"
	mv "$HOME/inbox" "$HOME/away"
	mkdir "$HOME/inbox"
	echo >"$HOME/inbox/conversations"
	run --separate-stderr ralph rm kept
	same 1 "$status"
	# shellcheck disable=SC2154
	has "$stderr" 'ralph rm -f kept'
	ralph rm -f kept
	same "" "$(ralph ls --quiet)"
}

# opencode_db FILE [SQL]: its database as opencode leaves it, and more in it.
opencode_db() {
	python3 - "$BATS_TEST_DIRNAME/../golden/transcripts/opencode.sql" "$1" "${2:-}" <<'END'
import sqlite3, sys
d = sqlite3.connect(sys.argv[2])
d.execute("PRAGMA journal_mode=WAL")
d.executescript(open(sys.argv[1]).read())
d.executescript(sys.argv[3])
END
}

# opencode_home: the directory in the sandbox's home where opencode keeps it.
opencode_home() {
	ralph run -- true
	OPENCODE=$XDG_STATE_HOME/ralph/sandboxes/$(sandbox)/home/.local/share/opencode
	mkdir -p "$OPENCODE"
}

@test "opencode's database is read, and what one session started lies beside it" {
	local said

	opencode_home
	opencode_db "$OPENCODE/opencode.db" "INSERT INTO session SELECT 'ses_child', id, directory, title, version, time_created, time_updated FROM session;
		INSERT INTO message VALUES ('msg_c', 'ses_child', 1794794105266, 1794794105266, '{\"role\":\"user\"}');
		INSERT INTO part VALUES ('prt_c', 'msg_c', 'ses_child', 1794794105266, 1794794105266, '{\"type\":\"text\",\"text\":\"look there\"}');"
	has "$(ralph export -o "$HOME/inbox")" '2 written'
	said=$(cat "$HOME"/inbox/conversations/*/edit-the-file.md)
	has "$said" '<summary>write: /home/user/project/hello.txt</summary>'
	has "$said" '(edit-the-file-agent-ses-child.md)'
	has "$(cat "$HOME"/inbox/conversations/*/edit-the-file-agent-ses-child.md)" 'look there'
	has "$(ralph export -o "$HOME/inbox")" '0 written'
	has "$(ralph export -o "$HOME/inbox" --format html)" '2 written'
	has "$(ralph export -o "$HOME/other")" '2 written'
}

@test "what is only in opencode's write-ahead log is read too" {
	opencode_home
	python3 - "$BATS_TEST_DIRNAME/../golden/transcripts/opencode.sql" "$OPENCODE/opencode.db" <<'END'
import os, sqlite3, sys
d = sqlite3.connect(sys.argv[2])
d.execute("PRAGMA journal_mode=WAL")
d.execute("PRAGMA wal_autocheckpoint=0")
d.executescript(open(sys.argv[1]).read())
d.commit()
os._exit(0)  # as if it had been killed: nothing is put into its place
END
	test -s "$OPENCODE/opencode.db-wal"
	has "$(ralph export -o "$HOME/inbox")" '1 written'
}

@test "a database that is damaged, endless or somebody else's does no harm" {
	local n size

	opencode_home
	opencode_db "$OPENCODE/opencode.db" "DROP TABLE session; CREATE VIEW session AS WITH RECURSIVE n(i) AS
		(SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 'ses_' || i AS id, NULL AS parent_id, 'd' AS directory,
		'v' AS version, 1 AS time_created, 1 AS time_updated FROM n;"
	must_exit 1 ralph export -o "$HOME/inbox"
	rm "$OPENCODE"/*
	opencode_db "$HOME/whole.db"
	size=$(stat -c %s "$HOME/whole.db")
	for ((n = 100; n < size; n += size / 9)); do
		head -c "$n" "$HOME/whole.db" >"$OPENCODE/opencode.db"
		ralph export -o "$HOME/inbox" || same 1 $?
		{ head -c "$n" "$HOME/whole.db" && head -c 2000 /dev/zero | tr '\0' '\377' && tail -c +"$((n + 2001))" "$HOME/whole.db"; } >"$OPENCODE/opencode.db"
		ralph export -o "$HOME/inbox" || same 1 $?
	done
	ln -sf "$HOME/whole.db" "$OPENCODE/opencode.db"
	rm -rf "$HOME/inbox"
	has "$(ralph export -o "$HOME/inbox")" '0 written'
	same '' "$(find "$XDG_STATE_HOME" -name '*.opencode')"
}

# one_said: what an agent in there would do, as a command of the sandbox.
one_said='mkdir -p ~/.claude/projects/-p && echo "{\"type\":\"user\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"message\":{\"content\":\"keep this\"}}" >~/.claude/projects/-p/s.jsonl'

kept() {
	[ -e "$HOME/kept/conversations/2026-01-01T00-00-00Z/keep-this.md" ]
}

@test 'what was said is saved when a sandbox ends, when it is removed with it, and not when that is off' {
	RALPH_INBOX_DIR=off ralph run -n quiet -- sh -c "$one_said"
	export RALPH_INBOX_DIR=$HOME/kept
	ralph run -- sh -c "$one_said"
	wait_until kept
	rm -r "$HOME/kept"
	ralph run --rm -n gone -- sh -c "$one_said"
	wait_until kept
	same "" "$(ls "$XDG_STATE_HOME/ralph/inbox" 2>/dev/null)"
}

@test 'what was said is saved while a sandbox runs' {
	local r

	export RALPH_INBOX_DIR=$HOME/kept RALPH_INBOX_EVERY=1s
	ralph run -- sh -c "$one_said; while [ ! -e end ]; do sleep 0.1; done" &
	r=$!
	wait_until kept
	touch end
	wait $r
}

@test 'what was said before a crash is saved by whoever clears away after it' {
	local pid

	export RALPH_INBOX_DIR=$HOME/kept
	ralph run -d -- sh -c "$one_said"
	pid=$(ralph inspect --json "$(sandbox)" | python3 -c 'import json, sys; print(json.load(sys.stdin)["live"]["supervisor"])')
	kill -9 "$pid"
	wait_until eval "! kill -0 $pid"
	[ ! -e "$HOME/kept/conversations" ]
	ralph gc
	wait_until kept
}

@test 'a save that cannot be made does not disturb the run' {
	touch "$HOME/file"
	export RALPH_INBOX_DIR=$HOME/file/below
	ralph run -- sh -c "$one_said"
	must_exit 2 env RALPH_INBOX_DIR=relative "$RALPH" run -- true
}

@test 'a sandbox that is removed while all are exported is no failure, one that was named is' {
	local f real=${RALPH%/bin/ralph}/libexec/ralph

	ralph run -n "e-${WS##*-}-a" -- true
	ralph run -n "e-${WS##*-}-b" -- true
	mkdir "$T/libexec"
	for f in "$real"/*; do
		ln -s "$f" "$T/libexec/"
	done
	rm "$T/libexec/export"
	printf '#!/bin/sh\nrm -rf %s/ralph/sandboxes/e-*\nexec %s/export "$@"\n' "$XDG_STATE_HOME" "$real" >"$T/libexec/export"
	chmod +x "$T/libexec/export"
	RALPH_LIBEXEC=$T/libexec ralph export -o "$HOME/inbox"
	RALPH_LIBEXEC=$T/libexec must_exit 1 ralph export -o "$HOME/inbox" "e-${WS##*-}-a"
}

@test 'a conversation that could not be written is written the next time, in each way it is kept' {
	opencode_home
	opencode_db "$OPENCODE/opencode.db"
	said .claude/projects/-p s1.jsonl claude-tools-run.jsonl
	mkdir -p "$HOME/inbox/conversations/kept"
	chmod 0555 "$HOME/inbox/conversations"
	must_exit 1 ralph export -o "$HOME/inbox"
	chmod 0755 "$HOME/inbox/conversations"
	has "$(ralph export -o "$HOME/inbox")" '2 written, 0 unchanged'
}

@test 'an export works under limits that are lower than its own' {
	said .claude/projects/-p s1.jsonl claude-tools-run.jsonl
	has "$(ulimit -f 1000000 && ulimit -t 60 && ralph export -o "$HOME/inbox")" '1 written'
}

@test 'an export with nothing to write leaves the directory that another one writes into' {
	local name

	said .claude/projects/-p s1.jsonl claude-tools-run.jsonl
	name=$(sandbox)
	ralph run -n "e-${WS##*-}" -- true
	# The other one has opened the directory, and waits for the lock of its sandbox.
	exec 8>"$XDG_STATE_HOME/ralph/sandboxes/$name/exported.json.lock"
	flock 8
	ralph export -o "$HOME/inbox" "$name" 8>&- >"$T/other" &
	wait_until test -d "$HOME/inbox/conversations"
	ralph export -o "$HOME/inbox" "e-${WS##*-}" 8>&-
	exec 8>&-
	wait $!
	has "$(cat "$T/other")" '1 written'
}

@test 'an export with nothing to write leaves no empty directory' {
	ralph run -- true
	has "$(ralph export -o "$HOME/inbox")" '0 written'
	same '' "$(ls "$HOME/inbox")"
}

@test 'an export that cannot begin says so, and not what a parser said of its silence' {
	local name

	ralph run -- true
	name=$(sandbox)
	rm -r "$(readlink -f "$XDG_STATE_HOME/ralph/sandboxes/$name/home")"
	must_exit 1 ralph export -o "$HOME/inbox" "$name" 2>"$T/said"
	has "$(cat "$T/said")" "not all conversations of '$name' could be exported"
	lacks "$(cat "$T/said")" 'line 1'
}

@test 'what is written while an export waits for another one gets the name of its own time' {
	local record=$T/record pid

	mkdir -p "$record" "$T/out" "$T/home/.claude/projects/-p"
	echo '1 loop/first' >"$record/names"
	exec 9>"$record/exported.json.lock"
	flock 9
	(cd "$T/out" && exec "${RALPH%/bin/ralph}/libexec/ralph/export" "$T/home" "$T/out" "$record/exported.json" md 0 0 4096 \
		"$record/names" claude </dev/null >"$T/said" 9>&-) &
	pid=$!
	wait_until sh -c "ls -l /proc/$pid/fd | grep -q exported.json.lock"
	echo "2 loop/second" >>"$record/names"
	cp "$BATS_TEST_DIRNAME/../golden/transcripts/claude-tools-run.jsonl" "$T/home/.claude/projects/-p/s.jsonl"
	exec 9>&-
	wait "$pid"
	[ -e "$T/out/conversations/loop/second.md" ]
}
