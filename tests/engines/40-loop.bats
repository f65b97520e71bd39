#!/usr/bin/env bats
# runs: engines
# seconds: 30
# The loop in each engine, with an agent that does what its script says.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154,SC2317 # text for shells inside; tests are subshells; bats sets stderr; aws_host calls aws_takes
load ../cli/helpers
load ../cli/sandbox
load ../cli/loop
load ../lib/cred
load ../lib/memory
load ../lib/providers
load engine

teardown() {
	local bad=0

	ralph rm --all --force >/dev/null 2>&1 || :
	engine volume rm "$(id -un)-llm" >/dev/null 2>&1 || :
	ralph_teardown || bad=1
	return $bad
}

@test "ralph build: every story becomes one verified commit, and nothing runs afterwards" {
	with loop
	loop_workspace 2
	build 0 honest
	same 'done done' "$(verdicts)"
	same 'true true' "$(passes US-1) $(passes US-2)"
	same ralph/demo "$(git branch --show-current)"
	[ -f US-1 ] && [ -f US-2 ]
	# Its sandbox is gone with the work; the log of it is kept.
	same "" "$(ralph ls -q)"
	grep -rqF "\"engine\":\"$RALPH_ENGINE\"" .ralph/logs/events
	same "" "$(engine ps -aq)"
}

@test "ralph build: what the agent only claims is not done" {
	with loop
	loop_workspace 1
	build 4 claims-done --max-stuck 9 --max-attempts 2
	same 'not-verified not-verified' "$(verdicts)"
}

# An image with a program that the agent's row calls `claude`: it puts down what it was given, and works.
scripted_claude() {
	local id

	mkdir "$T/claude"
	cp "$ENGINES_DIR/../lib/fake-agent.py" "$T/claude/fake-agent.py"
	cat >"$T/claude/claude" <<-'END'
		#!/bin/sh
		env | grep -E '^(AWS_|CLAUDE_CODE_USE_BEDROCK|MY_|ANOTHER_|NOT_)' | sort >given
		tr '\0' '\n' </proc/self/cmdline >called
		exec python3 /usr/lib/fake-agent.py honest
	END
	chmod 755 "$T/claude/claude"
	id=$(engine create --network none "$RALPH_IMAGE_NAME" true)
	engine cp "$T/claude/claude" "$id:/usr/bin/claude"
	engine cp "$T/claude/fake-agent.py" "$id:/usr/lib/fake-agent.py"
	engine commit "$id" localhost/ralph-claude:test >/dev/null
	engine rm "$id" >/dev/null
	export RALPH_IMAGE_NAME=localhost/ralph-claude:test
}

@test "ralph --docker build: the credentials design, end to end: keys of AWS and named variables, with every command" {
	only docker
	scripted_claude
	loop_workspace 1
	printf 'given\ncalled\n' >>.git/info/exclude
	aws_program
	aws_takes() { :; }
	aws_host AKIDONE first-secret first-token
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	printf 'credentials:\n- name: anthropic\n  way: env\n' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	export CLAUDE_CODE_USE_BEDROCK=1 AWS_REGION=eu-west-3 MY_CUSTOM_VAR=mine ANOTHER_VAR=other
	export RALPH_DOCKER_ENV=MY_CUSTOM_VAR,ANOTHER_VAR,NOT_SET
	unset RALPH_ENGINE
	loop_exits 0 --docker build claude
	same "done" "$(verdicts)"
	same true "$(passes US-1)"
	has "$(cat "given")" "AWS_ACCESS_KEY_ID=AKIDONE"
	has "$(cat "given")" "AWS_SECRET_ACCESS_KEY=first-secret"
	has "$(cat "given")" "AWS_SESSION_TOKEN=first-token"
	has "$(cat "given")" "AWS_DEFAULT_REGION=eu-west-3"
	has "$(cat "given")" "CLAUDE_CODE_USE_BEDROCK=1"
	has "$(cat "given")" "MY_CUSTOM_VAR=mine"
	has "$(cat "given")" "ANOTHER_VAR=other"
	lacks "$(cat "given")" NOT_SET
	lacks "$(cat "called")" secret
	# Nowhere in ralph's records, nor in what docker keeps.
	rm "given"
	must_fail grep -rqF first-secret "$XDG_STATE_HOME/ralph"
	must_fail grep -rqaF first-secret "$ENGINE_DIR/docker/data/containers" "$ENGINE_DIR/docker/log"
}

@test "env: the keys are those of the host at that moment, and in no description" {
	only docker podman
	aws_program
	aws_takes() { :; }
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	printf 'credentials:\n- name: anthropic\n  way: env\n' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	export CLAUDE_CODE_USE_BEDROCK=1 AWS_REGION=eu-west-3 RALPH_AGENT=claude
	aws_host AKIDONE first-secret first-token
	ralph run -d -n "$S" -- true
	show='echo $AWS_ACCESS_KEY_ID $AWS_SECRET_ACCESS_KEY $AWS_SESSION_TOKEN $CLAUDE_CODE_USE_BEDROCK'
	same "AKIDONE first-secret first-token 1" "$(ralph exec "$S" sh -c "$show")"
	aws_host AKIDTWO second-secret second-token
	same "AKIDTWO second-secret second-token 1" "$(ralph exec "$S" sh -c "$show")"
	lacks "$(engine inspect "$(engine ps -aq)")" -secret
	# The supervisor passes the variables on unread; its memory can be read by root.
	[ "$(id -u)" -ne 0 ] || same 0 "$(memory_holds "$(helper_of supervisor "$S")" -secret)"
	must_fail grep -rq -e first-secret -e second-secret "$XDG_STATE_HOME/ralph"
}
