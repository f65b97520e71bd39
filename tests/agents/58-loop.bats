#!/usr/bin/env bats
# runs: user
# seconds: 20
# The loop with the real Claude Code, driven by a scripted provider.
# shellcheck disable=SC2154
load agents
load ../cli/loop

# A list of two stories and a login; what the model does in each iteration is given by steps.
two_stories() {
	login claude "${1:-key}"
	loop_workspace 2
}

# loop_with CODE ARG…: ralph in the test's network, ends with that code.
loop_with() {
	local want=$1 code=0
	shift

	bed timeout 300 "$RALPH" "$@" >"$T/out" 2>"$T/err" 3>&- || code=$?
	[ $code -eq "$want" ] || fail "exit $code, wanted $want: $(tail -c 3000 "$T/err" "$T/out")"
}

# does ID: the model's part in one iteration: the work, a commit, a word to the list, and its last words.
does() {
	python3 - "$1" <<-'EOF'
		import json, sys
		id = sys.argv[1]
		mark = ("import json; p='.ralph/agent/prd.json'; d=json.load(open(p))\n"
		        f"for s in d['userStories']:\n  if s['id']=='{id}': s['passes']=True\n"
		        "json.dump(d,open(p,'w'),indent=2)")
		print(json.dumps([
		    {"say": "I begin.", "call": ["Bash", {"command": f"echo work >{id} && git add {id} && git commit -qm {id}",
		                                          "description": "work"}]},
		    {"call": ["Bash", {"command": f"python3 - <<'X'\n{mark}\nX", "description": "mark"}]},
		    {"say": f"{id} is done.\n<promise>COMPLETE</promise>"}])[1:-1])
	EOF
}

@test 'Claude Code completes a list of two stories: two verified commits, exit 0' {
	two_stories
	steps "[$(does US-1),$(does US-2)]"
	loop_with 0 build --name "$BOX" claude
	same 'done done' "$(verdicts)"
	same 'true true' "$(passes US-1) $(passes US-2)"
	same 'US-2 is done
US-2
US-1 is done
US-1' "$(git log -4 --format=%s)"
	# Its calls were shown, and the provider's count of tokens is the one that was taken.
	has "$(cat "$T/err")" 'Bash  echo work >US-1'
	same 6960 "$(summary 'j["tokens"]')"
	[ "$(summary 'j["micro_usd"]')" -gt 0 ]
	has "$(ralph logs 2)" '| US-2 is done.'
	# The key was nowhere but on the way.
	grep -rqF -- "$REAL" .ralph && fail "the key is in .ralph"
	seen '"x-api-key" in dict(r["headers"])'
}

# open_ask: the id of what is asked.
open_ask() {
	bed "$RALPH" ask ls --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["id"])' 2>/dev/null
}

@test 'Claude Code asks a person by a tool of MCP, waits, and goes on with the answer' {
	local run

	two_stories
	steps "[{\"call\": [\"mcp__ralph__ask_person\", {\"question\": \"Red or blue?\"}]},$(does US-1),$(does US-2)]"
	loop_with 0 build --name "$BOX" claude &
	run=$!
	wait_until -t 120 open_ask >/dev/null
	bed "$RALPH" ask allow "$(open_ask)" 'blue, as the logo'
	wait "$run"
	same 'done done' "$(verdicts)"
	grep -qF 'allowed: blue, as the logo' .ralph/logs/iteration-001.jsonl
}

@test 'Claude Code that only says it is done is not believed: exit 4' {
	two_stories
	steps '[{"say": "All done.\n<promise>COMPLETE</promise>"}, {"say": "All done.\n<promise>COMPLETE</promise>"}]'
	loop_with 4 build --name "$BOX" --max-stuck 1 claude
	same 'not-verified not-verified' "$(verdicts)"
}

@test 'a usage limit of the provider is known by its answer: exit 7 with --no-wait' {
	two_stories oauth
	steps "[{\"status\": 429, \"body\": {\"type\": \"error\", \"error\": {\"type\": \"rate_limit_error\", \"message\": \"limit\"}},
		\"headers\": {\"anthropic-ratelimit-unified-status\": \"rejected\", \"anthropic-ratelimit-unified-reset\": \"$(($(date +%s) + 3600))\",
		\"anthropic-ratelimit-unified-representative-claim\": \"five_hour\"}}]"
	loop_with 7 build --name "$BOX" --no-wait claude
	same rate-limit "$(verdicts)"
}

@test 'a key that the provider refuses: exit 8' {
	two_stories
	# It asks once more by itself.
	steps "$(python3 -c 'import json
print(json.dumps([{"status": 401, "body": {"type": "error", "error": {"type": "authentication_error", "message": "no"}}}] * 20))')"
	loop_with 8 build --name "$BOX" claude
	same credential "$(verdicts)"
}
