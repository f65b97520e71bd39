#!/usr/bin/env bats
# runs: root user
# A conversation that takes its reader over: see taken-over.c.
# shellcheck disable=SC2030,SC2031 # each test has its own environment
load ../cli/helpers

setup() {
	ralph_setup || return
	EXPORT=${RALPH%/bin/ralph}/libexec/ralph/export
	MODULE=$BATS_TEST_DIRNAME/taken-over.so
	[ -e "$MODULE" ] || MODULE=$BATS_TEST_DIRNAME/../../build/tests/attack/taken-over.so
	[ -e "$MODULE" ] || skip 'not built with sanitizers'
	ldd "$EXPORT" | grep -qs libasan && skip 'sanitizers have calls of their own'
	mkdir -p "$T/home/.claude/projects/-p" "$T/out" "$T/record"
	cp "$BATS_TEST_DIRNAME/../golden/transcripts/claude-tools-run.jsonl" "$T/home/.claude/projects/-p/s.jsonl"
	echo secret >"$T/file"
	echo kept >"$T/record/spec.json"
}

teardown() {
	ralph_teardown
}

# taken_over WHAT [PATH]: the code it ends with.
taken_over() {
	local code=0

	rm -rf "$T/record/exported.json" "$T/out/conversations" # else there would be nothing to read

	(cd "$T/out" && LD_PRELOAD=$MODULE TAKEN_OVER=$1 TAKEN_OVER_PATH=${2:-} exec "$EXPORT" "$T/home" "$T/out" \
		"$T/record/exported.json" md 0 0 4096 '' claude </dev/null >"$T/said" 2>&1) || code=$?
	echo "$code"
}

@test 'a taken-over reader of conversations: the module acts, and what is allowed succeeds' {
	same 42 "$(taken_over read "$T/home/.claude/projects/-p/s.jsonl")"
	same 42 "$(taken_over write "$T/out/conversations/new")"
	same 0 "$(taken_over nothing)"
}

@test 'a taken-over reader of conversations reads nothing but the home' {
	same 0 "$(taken_over read "$T/file")"
	same 0 "$(taken_over read /etc/passwd)"
	same 0 "$(taken_over read "$T/record/spec.json")"
}

@test 'a taken-over reader of conversations writes nowhere but among them' {
	same 0 "$(taken_over write "$T/out/planted")"
	same 0 "$(taken_over write "$T/home/planted")"
	same 0 "$(taken_over write "$T/record/spec.json")"
	same 0 "$(taken_over remove "$T/record/spec.json")"
	same 0 "$(taken_over remove "$T/home/.claude/projects/-p/s.jsonl")"
	same kept "$(cat "$T/record/spec.json")"
	lacks "$(ls "$T/out" "$T/home")" planted
}

@test 'a taken-over reader of conversations has no network, program or process' {
	local what

	for what in socket execute fork signal; do
		same 1 "$(taken_over "$what" /bin/true)"
		has "$(cat "$T/said")" 'signal 31 ended the reader of conversations'
	done
}
