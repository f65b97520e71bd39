#!/usr/bin/env bats
# runs: user
# What real agents have left behind becomes the Markdown that it became when this was written: tests/golden/agents.
# An empty file .write there has them written anew.
# shellcheck disable=SC2154
load agents

EXPECTED=$BATS_TEST_DIRNAME/../golden/agents

# Times, ids, hashes and places are other ones each time.
normal() {
	sed -E -e "s#$WS#/workspace#g" -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/TIME/g' \
		-e 's/^(id|source|source_sha256|version): .*/\1: .../' \
		-e 's/^branch: .*/branch: .../' -e 's/^tokens: .*/tokens: .../' -e 's/^cost_usd: .*/cost_usd: .../'
}

# exported AGENT ARG…: it is run without anybody there, and what it left is exported.
exported() {
	local agent=$1 code=0 got
	shift

	login "$agent" key
	bed "$RALPH" run -n "$BOX" --agent "$agent" -- "$agent" "$@" >"$T/out" 2>"$T/err" 3>&- <<<"do as you are told" ||
		code=$?
	[ $code -eq 0 ] || fail "exit $code: $(tail -c 1000 "$T/err" "$T/out")"
	"$RALPH" export -o "$T/inbox" --agent "$agent" --thinking
	got=$(find "$T/inbox/conversations" -name '*.md' -exec cat {} + | normal)
	mkdir -p "$EXPECTED"
	[ ! -e "$EXPECTED/.write" ] || printf '%s\n' "$got" >"$EXPECTED/$agent.md"
	diff -u "$EXPECTED/$agent.md" - <<<"$got"
}

@test "what Claude Code said and did" {
	steps '[{"say": "I write it.", "call": ["Write", {"file_path": "'"$WS"'/hello.txt", "content": "hello from the model\n"}]},
		{"call": ["Bash", {"command": "cat hello.txt; exit 3", "description": "look"}]}, {"say": "It is done."}]'
	exported claude -p --output-format stream-json --verbose --dangerously-skip-permissions
}

@test "what Codex said and did" {
	steps '[{"say": "I write it.", "custom": ["apply_patch", "*** Begin Patch\n*** Add File: hello.txt\n+hello from the model\n*** End Patch\n"]},
		{"say": "It is done."}]'
	exported codex exec -m gpt-5.5-codex --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox -
}

@test "what Gemini CLI said and did" {
	steps '[{"say": "I write it.", "call": ["write_file", {"file_path": "'"$WS"'/hello.txt", "content": "hello from the model\n"}]},
		{"say": "It is done."}]'
	exported gemini --yolo --output-format stream-json
}

@test "what opencode said and did" {
	steps '[{"say": "I write it.", "call": ["write", {"filePath": "'"$WS"'/hello.txt", "content": "hello from the model\n"}]},
		{"say": "It is done."}]'
	exported opencode run --format json
}

@test "what Copilot CLI said and did" {
	steps '[{"say": "I write it.", "call": ["create", {"path": "'"$WS"'/hello.txt", "file_text": "hello from the model\n"}]},
		{"say": "It is done."}]'
	exported copilot --allow-all-tools --output-format json
}
