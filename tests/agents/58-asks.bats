#!/usr/bin/env bats
# runs: user
# seconds: 30
# The real agents ask a person by the tools of ralph-ask, each by its own settings, driven by a scripted provider.
# shellcheck disable=SC2154
load agents
load ../cli/loop

# open_ask: the id of what is asked.
open_ask() {
	bed "$RALPH" ask ls --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["id"])' 2>/dev/null
}

# asks_by TOOL AGENT [OPTION…]: one iteration, in which the model calls the tool and gets what the person said.
asks_by() {
	local run code=0

	login "$2" key
	loop_workspace 1
	steps "[{\"call\": [\"$1\", {\"question\": \"Red or blue?\"}]}, {\"say\": \"It is blue.\"}]"
	bed timeout 300 "$RALPH" build --name "$BOX" --max-iterations 1 "${@:3}" "$2" >"$T/out" 2>"$T/err" 3>&- &
	run=$!
	wait_until -t 60 open_ask >/dev/null || fail "$(tail -c 3000 "$T/err" "$T/out" .ralph/logs/*)"
	bed "$RALPH" ask allow "$(open_ask)" 'blue, as the logo'
	wait "$run" || code=$?
	same 3 "$code"
	grep -qF 'allowed: blue, as the logo' .ralph/logs/iteration-001.jsonl || fail "$(tail -c 3000 .ralph/logs/*)"
}

@test 'Codex asks a person by a tool of MCP and gets the answer' {
	# The default model has tools of another kind.
	asks_by mcp__ralph/ask_person codex --model gpt-5.5-codex
}

@test 'Gemini CLI asks a person by a tool of MCP and gets the answer' {
	asks_by mcp_ralph_ask_person gemini
}

@test 'opencode asks a person by a tool of MCP and gets the answer' {
	asks_by ralph_ask_person opencode
}

@test 'Copilot CLI asks a person by a tool of MCP and gets the answer' {
	asks_by ralph-ask_person copilot
}
