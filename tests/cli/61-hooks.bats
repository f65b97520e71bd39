#!/usr/bin/env bats
# runs: user
# seconds: 13
# The hooks as an agent calls them. What is refused and what not is in tests/hook; here is how it is said,
# and when a hook has nothing to say.
# shellcheck disable=SC2016,SC2154
load helpers
load sandbox

setup() {
	ralph_setup
	unset RALPH_LOOP RALPH_CONTEXT_TOKENS CLAUDE_PROJECT_DIR
	SESSION=s-$SRANDOM$SRANDOM
	export SESSION
}

teardown() {
	rm -f "/tmp/ralph-hook-$(id -u)/$SESSION"
	ralph_teardown
}

# asks HOOK KEY=VALUE…: the question as JSON; tool_input.X goes into tool_input. Answer in $output, $stderr, $status.
asks() {
	local hook=$1
	shift

	python3 - "$@" >"$T/question" <<'PYTHON'
import json, os, sys
q = {"session_id": os.environ["SESSION"], "cwd": os.getcwd(), "tool_input": {}}
for arg in sys.argv[1:]:
    key, value = arg.split("=", 1)
    value = {"true": True, "false": False}.get(value, value)
    if key.startswith("tool_input."):
        q["tool_input"][key[11:]] = value
    else:
        q[key] = value
json.dump(q, sys.stdout)
PYTHON
	run --separate-stderr "$RALPH" hook "$hook" <"$T/question"
}

bash_asks() {
	asks pre-tool-use tool_name=Bash tool_input.command="$1"
}

# The loop is this test: its process, its start.
in_a_loop() {
	local start

	start=$(sed 's/.*) //' "/proc/$$/stat" | cut -d ' ' -f 20)
	mkdir -p .ralph
	echo '*' >.ralph/.gitignore
	printf '{"pid":%d,"start":%d}\n' $$ "$start" >.ralph/active
	export RALPH_LOOP=$$-$start
}

# transcript TOKENS [MODEL]: the last answer used so many.
transcript() {
	local n

	for n in 1000 "$1"; do
		printf '{"type":"user","message":{"content":"x"}}\n{"type":"assistant","message":{"model":"%s","usage":{"input_tokens":3,"cache_read_input_tokens":%d,"cache_creation_input_tokens":0,"output_tokens":0}}}\n' \
			"${2:-claude-sonnet}" $((n - 3))
	done >"$T/transcript.jsonl"
	printf '{"type":"user","toolUseResult":"torn' >>"$T/transcript.jsonl"
}

@test 'a script that lies in the workspace is judged by what it does' {
	mkdir scripts
	printf '#!/bin/sh\nrm -rf ~\n' >scripts/x.sh
	chmod +x scripts/x.sh
	for command in 'bash scripts/x.sh' ./scripts/x.sh 'cd scripts && . ./x.sh'; do
		bash_asks "$command"
		[ "$status" -eq 2 ] || fail "$command: $status"
		has "$stderr" 'x.sh: rm -rf'
	done
	# To read it is not to run it.
	bash_asks 'cat scripts/x.sh'
	[ "$status" -eq 0 ]
	echo 'make -C build' >scripts/x.sh
	bash_asks 'bash scripts/x.sh'
	[ "$status" -eq 0 ] && [ -z "$stderr" ]
	mkfifo pipe.sh
	bash_asks 'bash pipe.sh'
	[ "$status" -eq 0 ]
	has "$stderr" careful
}

@test 'a refused command: exit 2, and stderr names category, text, reason and remedy' {
	bash_asks 'x=rm; $x -rf /'
	[ "$status" -eq 2 ]
	[ -z "$output" ]
	[[ $stderr == *'blocked (files: '*': rm -rf /'* ]]
	[[ $stderr == *"$XDG_CONFIG_HOME/ralph/hook-allow: files rm -rf /"* ]]
}

@test 'what is only pointed out runs, with a line on stderr; what is harmless, without' {
	bash_asks 'pkill node'
	[ "$status" -eq 0 ]
	[[ $stderr == *'careful (traces: '* ]]
	bash_asks 'git commit -m "rm -rf /"'
	[ "$status" -eq 0 ]
	[ -z "$stderr$output" ]
}

@test 'the allow file takes back exactly what it says' {
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	printf '# mine\ngit git push --force origin *\n' >"$XDG_CONFIG_HOME/ralph/hook-allow"
	bash_asks 'git push --force origin topic'
	[ "$status" -eq 0 ]
	bash_asks 'git push --force upstream topic'
	[ "$status" -eq 2 ]
	bash_asks 'git push --force origin topic; rm -rf /'
	[ "$status" -eq 2 ]
}

@test 'an allow file that others may write, or that lies in the project, is not used' {
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	echo 'git git push *' >"$XDG_CONFIG_HOME/ralph/hook-allow"
	chmod 666 "$XDG_CONFIG_HOME/ralph/hook-allow"
	bash_asks 'git push --force'
	[ "$status" -eq 2 ]
	[[ $stderr == *'others may write it'* ]]
	mkdir -p ralph
	echo 'git git push *' >ralph/hook-allow
	XDG_CONFIG_HOME=$PWD bash_asks 'git push --force'
	[ "$status" -eq 2 ]
	[[ $stderr == *'in the project'* ]]
}

@test 'the agent cannot write its own allow file, nor switch the hooks off' {
	local file

	for file in "$HOME/.config/ralph/hook-allow" .claude/settings.json .claude/settings.local.json "$HOME/.claude/settings.json" .git/hooks/pre-commit; do
		asks pre-tool-use tool_name=Write tool_input.file_path="$file" tool_input.content=x
		[ "$status" -eq 2 ] || fail "$file may be written"
	done
	asks pre-tool-use tool_name=Write tool_input.file_path="$PWD/src/a.c" tool_input.content='rm -rf /'
	[ "$status" -eq 0 ]
	asks pre-tool-use tool_name=Read tool_input.file_path="$HOME/.ssh/id_rsa"
	[ "$status" -eq 2 ]
	asks pre-tool-use tool_name=Read tool_input.file_path="$PWD/file"
	[ "$status" -eq 0 ]
}

@test 'pre-tool-use refuses what it does not understand; the others let it pass and say so' {
	local bad hook

	for bad in '' '{' '[]' '{"tool_name":"Bash"}' '{"tool_name":"Bash","tool_input":{}}' '{"tool_name":"Bash","tool_input":{"command":"a\u0000b"}}' \
		'{"tool_name":"Bash","tool_input":{"command":"echo \"open"}}'; do
		run --separate-stderr "$RALPH" hook pre-tool-use <<<"$bad"
		[ "$status" -eq 2 ] || fail "exit $status for $bad"
		[ -n "$stderr" ]
	done
	for hook in post-tool-use stop pre-compact; do
		run --separate-stderr "$RALPH" hook $hook <<<'{'
		[ "$status" -eq 0 ]
		[[ $stderr == *'ignoring it'* ]]
	done
}

@test 'a command longer than the limit is refused, one that is long is judged' {
	python3 -c 'import json; print(json.dumps({"tool_name":"Bash","tool_input":{"command":"echo " + "a" * 300000}}))' >"$T/q"
	run --separate-stderr "$RALPH" hook pre-tool-use <"$T/q"
	[ "$status" -eq 2 ]
	[[ $stderr == *'too long'* ]]
	python3 -c 'import json; print(json.dumps({"tool_name":"Bash","tool_input":{"command":"echo " + "a" * 100000}}))' >"$T/q"
	run --separate-stderr "$RALPH" hook pre-tool-use <"$T/q"
	[ "$status" -eq 0 ]
	python3 -c 'import json; print(json.dumps({"tool_name":"Write","tool_input":{"content":"a" * 9000000,"file_path":"x"}}))' >"$T/q"
	run --separate-stderr "$RALPH" hook pre-tool-use <"$T/q"
	[ "$status" -eq 0 ]
}

@test 'tools of other agents are judged by what they are given' {
	run "$RALPH" hook pre-tool-use <<<'{"tool_name":"run_shell_command","tool_input":{"command":"sudo ls"}}'
	[ "$status" -eq 2 ]
	run "$RALPH" hook pre-tool-use <<<'{"tool_name":"shell","tool_input":{"command":["bash","-lc","rm -rf /"]}}'
	[ "$status" -eq 2 ]
	run "$RALPH" hook pre-tool-use <<<'{"toolName":"bash","toolArgs":"{\"command\":\"sudo ls\"}"}'
	[ "$status" -eq 2 ]
	run "$RALPH" hook pre-tool-use <<<'{"tool_name":"apply_patch","tool_input":{"input":"*** Begin Patch\n*** Add File: .git/hooks/x\n+a\n"}}'
	[ "$status" -eq 2 ]
	run "$RALPH" hook pre-tool-use <<<'{"tool_name":"mcp__x__run","tool_input":{"cmd":"rm -rf ~"}}'
	[ "$status" -eq 2 ]
}

@test 'the context is told of at each mark once, from the last answer of the transcript' {
	local tokens seen=''

	in_a_loop
	for tokens in 90000 101000 105000 125000 139000 141000 165000 181000 199000; do
		transcript $tokens
		asks post-tool-use transcript_path="$T/transcript.jsonl"
		[ "$status" -eq 0 ]
		[ -z "$output" ] || seen+=" $(python3 -c 'import json,sys; j=json.load(sys.stdin)["hookSpecificOutput"]; assert j["hookEventName"]=="PostToolUse"; print(j["additionalContext"].split()[1])' <<<"$output")"
	done
	same " 50 62 70 82 90" "$seen"
}

@test 'the size of the context is the model'\''s, or as RALPH_CONTEXT_TOKENS says' {
	in_a_loop
	transcript 150000 'claude-opus[1m]'
	asks post-tool-use transcript_path="$T/transcript.jsonl"
	[ -z "$output" ]
	export RALPH_CONTEXT_TOKENS=200000
	asks post-tool-use transcript_path="$T/transcript.jsonl"
	[[ $output == *'75 %'* ]]
}

@test 'a person'\''s own agent in the directory of a loop is left alone' {
	in_a_loop
	transcript 199000
	echo more >>file
	unset RALPH_LOOP
	local hook
	for hook in post-tool-use stop pre-compact; do
		asks $hook transcript_path="$T/transcript.jsonl"
		[ "$status" -eq 0 ]
		[ -z "$output$stderr" ]
	done
	# The marker of another loop, and one of a loop that is over.
	export RALPH_LOOP=1-1
	asks stop
	[ -z "$output$stderr" ]
	printf '{"pid":1,"start":1}\n' >.ralph/active
	asks stop
	[ -z "$output$stderr" ]
}

@test 'stop reminds once of what is not committed, and of a broken list of tasks' {
	in_a_loop
	asks stop stop_hook_active=false
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	echo more >>file
	asks stop stop_hook_active=false
	[ "$status" -eq 0 ]
	[[ $output == '{"decision":"block","reason":"'*'not committed'*' M file'* ]]
	python3 -m json.tool <<<"$output" >/dev/null
	asks stop stop_hook_active=true
	[ -z "$output" ]
	git checkout -q file
	echo '{"userStories":[{"id":"a","passes":"yes"}]}' >.ralph/prd.json
	asks stop stop_hook_active=false
	[[ $output == *'prd.json has a story'* ]]
	echo '{"userStories":[{"id":"a","passes":true}]}' >.ralph/prd.json
	asks stop stop_hook_active=false
	[ -z "$output" ]
}

@test 'settings of a repository run nothing when stop asks for its state' {
	in_a_loop
	git config core.fsmonitor "touch $T/ran; false"
	asks stop
	[ ! -e "$T/ran" ]
}

@test 'pre-compact refuses, and the next post-tool-use ends the iteration' {
	in_a_loop
	asks pre-compact trigger=auto
	[ "$status" -eq 2 ]
	[[ $stderr == *'iteration ends'* ]]
	asks post-tool-use
	[[ $output == '{"continue":false,'* ]]
	# It may stop as it is.
	echo more >>file
	asks stop
	[ -z "$output" ]
	asks pre-compact trigger=auto agent_id=sub
	[ "$status" -eq 0 ]
}

@test 'an unknown hook is a usage error' {
	run --separate-stderr "$RALPH" hook nonsense </dev/null
	[ "$status" -eq 2 ]
	[ -n "$stderr" ]
}

@test 'in a sandbox, where .ralph/active is hidden, the marker is enough; without it nothing is said' {
	local question

	question="{\"session_id\":\"$SESSION\",\"cwd\":\"$WS\",\"stop_hook_active\":false}"
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	echo "mounts: [{path: '$(realpath "${RALPH%/*}/../libexec/ralph/hook")', target: /run/ralph/hook}]" \
		>"$XDG_CONFIG_HOME/ralph/config.yaml"
	echo more >>file
	run --separate-stderr "$RALPH" run -- sh -c "echo '$question' | /run/ralph/hook stop"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	run --separate-stderr "$RALPH" run -- sh -c "echo '$question' | RALPH_LOOP=x /run/ralph/hook stop"
	[ "$status" -eq 0 ]
	[[ $output == *'not committed'* ]]
	run --separate-stderr "$RALPH" run -- sh -c "echo '$question' | RALPH_LOOP=x /run/ralph/hook pre-compact"
	[ "$status" -eq 2 ]
}
