#!/usr/bin/env bats
# runs: user
# The command lines of unattended runs, as the rows of src/agent have them: the prompt comes on stdin, and the
# last line says how it ended.
# shellcheck disable=SC2154
load agents

# unattended AGENT ARG…: what it printed is in $T/out.
unattended() {
	local agent=$1 code=0
	shift

	bed "$RALPH" run -n "$BOX" --agent "$agent" -- "$agent" "$@" >"$T/out" 2>"$T/err" 3>&- <<<"do as you are told" ||
		code=$?
	[ $code -eq 0 ] || fail "exit $code: $(tail -c 1000 "$T/err" "$T/out")"
}

# last EXPRESSION: of the last line, as `j`.
last() {
	tail -n 1 "$T/out" | get "$1"
}

@test "claude unattended" {
	login claude key
	unattended claude -p --output-format stream-json --verbose --dangerously-skip-permissions
	same "result False finished" "$(last '" ".join([j["type"], str(j["is_error"]), j["result"]])')"
}

@test "codex unattended" {
	login codex key
	unattended codex exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox -
	same "turn.completed 50" "$(last 'j["type"] + " " + str(j["usage"]["output_tokens"])')"
}

@test "gemini unattended" {
	login gemini key
	unattended gemini --yolo --output-format stream-json
	same "result success" "$(last 'j["type"] + " " + j["status"]')"
}

@test "opencode unattended" {
	login opencode key
	unattended opencode run --format json
	same "step_finish stop" "$(last 'j["type"] + " " + j["part"]["reason"]')"
}

@test "copilot unattended" {
	login copilot key
	unattended copilot --allow-all-tools --output-format json
	same "result 0" "$(last 'j["type"] + " " + str(j["exitCode"])')"
}
