#!/usr/bin/env bats
# runs: root user
# seconds: 60
# Homes that 0.2.0 kept, one for each sandbox, become one home for each project: tests/upgrade/homes, made by make-homes.sh.
# Strings in single quotes are for the shell inside.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # bats sets stderr
load ../cli/helpers
load ../cli/sandbox
load place

setup() {
	need bwrap xz
	place_take || return
	restore || return
	DIES=$BATS_TEST_DIRNAME/migrate-dies
	[ -x "$DIES" ] || DIES=$BATS_TEST_DIRNAME/../../build/tests/unit/migrate-dies
}

# restore: the state as 0.2.0 left it.
restore() {
	cd / && rm -rf "${T:?}/state" "${T:?}/home" && tar -C "$T" -xJpf "$UPGRADE/homes/homes.tar.xz" || return
	[ ! -f "${RALPH_TEST_STAMP:-}" ] || cp "$RALPH_TEST_STAMP" "$XDG_STATE_HOME/ralph/selftest-native"
	H=$XDG_STATE_HOME/ralph/homes
	cd "$HOME/app" || return
}

# again: the same, quicker.
again() {
	rm -rf "$T/state" && cp -a "$T/before" "$T/state"
}

# project_home: of app.
project_home() {
	local found=("$H"/app-*[0-9a-f])

	[ "${#found[@]}" -eq 1 ] && [ -d "${found[0]}" ] && echo "${found[0]}"
}

# contents: the content of every file in any home of the project app, wherever it is; links by their text.
contents() {
	(cd "$T/state/ralph" && find homes/app-*[0-9a-f] homes/old sandboxes/{first,newest,tree,empty}/home -type f -exec cat {} + -o \
		-type l -path '*/.claude/*' -printf 'link %l\n' 2>/dev/null | grep -v '^{"hasC' | sort)
}

# whole: the homes are as they should be in the end.
whole() {
	local home

	home=$(project_home)
	same newest "$(cat "$home/tool")"
	same 'both.jsonl first.jsonl newest.jsonl tree.jsonl' "$(cd "$home/.claude/projects/-p" && echo *)"
	same '{"type":"user","message":{"content":"both"}}' "$(cat "$home/.claude/projects/-p/both.jsonl")"
	[ -e "$home/.claude/todos/x" ]
	[ ! -e "$home/.first-only" ]
	same 'first lasting' "$(cat "$H/old/first/tool" "$H/old/first/.first-only" | xargs)"
	same both.jsonl "$(cd "$H/old/first/.claude/projects/-p" && echo *)"
	# A link is no conversation.
	same /etc/passwd "$(readlink "$H/old/tree/.claude/projects/-q/x.jsonl")"
	[ ! -L "$home/.claude/projects/-q/x.jsonl" ]
	for name in first newest tree empty; do
		same "$(readlink -f "$home")" "$(readlink -f "$T/state/ralph/sandboxes/$name/home")"
	done
	# The other project has its own.
	[ -d "$T/state/ralph/sandboxes/other/home/.claude" ]
}

@test "the newest home is the project's, of the others only conversations that it lacks are taken, and the rest stays" {
	same newest "$(ralph run -n first -- cat "$HOME/tool")"
	whole
	same 4 "$(ralph run -n brand-new -- sh -c 'ls ~/.claude/projects/-p | wc -l')"
	(cd "$HOME/tree" && same newest "$(ralph run -n tree -- cat "$HOME/tool")")
}

@test 'gc -n lists the rest of old homes, gc leaves it, and rm --home removes it when asked' {
	ralph run -n first -- true
	has "$(ralph gc -n)" "keeps the rest of an old home: $H/old/first; to remove it: ralph rm --home old/first"
	ralph gc
	ralph prune
	ralph rm --all
	[ -e "$H/old/first/tool" ]
	[ -d "$(project_home)" ]
	must_exit 2 ralph rm --home old/first 2>/dev/null
	[ -e "$H/old/first/tool" ]
	ralph --yes rm --home old/first
	[ ! -e "$H/old/first" ]
	[ -e "$H/old/tree" ]
}

@test 'another project gets its own home, and nothing of this one' {
	ralph run -n first -- true
	cd "$HOME/other"
	same 'of-another.jsonl' "$(ralph run -n other -- sh -c 'ls ~/.claude/projects/-p')"
	same '' "$(ralph run -n other2 -- sh -c 'ls ~/tool ~/.first-only 2>/dev/null || :')"
}

@test 'all conversations are exported, from the home that they are in now' {
	ralph run -n first -- true
	ralph export -o "$HOME/inbox" first >/dev/null
	same 4 "$(find "$HOME/inbox" -name '*.md' | wc -l)"
}

@test 'gc -n lists what agents in containers remembered before each project had a home, and gc leaves it' {
	local v=$T/state/ralph/volumes/me-llm

	mkdir -p "$v/.claude" "$v/app-0123456789abcdef/.claude"
	touch "$v/.claude/x.jsonl" "$v/app-0123456789abcdef.exported.json"
	has "$(ralph gc -n)" "remembered: $v/.claude; to remove it: rm -r"
	lacks "$(ralph gc -n)" "$v/app-"
	lacks "$(ralph gc)" "$v"
	[ -e "$v/.claude/x.jsonl" ]
}

@test 'a sandbox that runs with its old home keeps the others waiting, and nothing is moved' {
	local before

	# The lock of a supervisor, held by somebody who answers.
	before=$(contents)
	exec {held}<>"$T/state/ralph/sandboxes/newest/lock"
	flock "$held"
	run --separate-stderr timeout 60 "$RALPH" run -n first -- true
	must_fail test "$status" -eq 0
	has "$stderr" newest
	same "$before" "$(contents)"
	exec {held}>&-
	ralph run -n first -- true
	whole
}

@test 'killed at every step, nothing is lost, and the next start goes on' {
	local before total point

	before=$(contents)
	cp -a "$T/state" "$T/before"
	RALPH_TEST_DIE_AT=0 RALPH_TEST_COUNT=$T/count "$DIES" first
	same "$before" "$(contents)"
	whole
	total=$(cat "$T/count")
	[ "$total" -ge 20 ]
	for point in $(seq 1 "$total"); do
		again
		RALPH_TEST_DIE_AT=$point "$DIES" first 2>/dev/null || :
		same "$before" "$(contents)" || fail "lost at point $point of $total"
		"$DIES" first
		same "$before" "$(contents)" || fail "lost after point $point of $total"
		whole || fail "not whole after point $point of $total"
	done
}

@test 'with a disk that fills up at any step, nothing is lost, and the next start goes on' {
	local before point

	before=$(contents)
	cp -a "$T/state" "$T/before"
	for point in $(seq 1 16); do
		again
		RALPH_TEST_FULL_AT=$point "$DIES" first 2>/dev/null || :
		same "$before" "$(contents)" || fail "lost at step $point"
		"$DIES" first
		whole || fail "not whole after step $point"
	done
}
