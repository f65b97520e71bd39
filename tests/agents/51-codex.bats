#!/usr/bin/env bats
# runs: user
# Codex with each login of the host.
# shellcheck disable=SC2154
load agents

# The default model has tools of another kind.
edits() {
	steps '[{"say": "I write it.", "custom": ["apply_patch", "*** Begin Patch\n*** Add File: hello.txt\n+hello from the model\n*** End Patch\n"]},
		{"call": ["exec_command", {"cmd": "'"$(search)"'", "yield_time_ms": 60000}]},
		{"custom": ["apply_patch", "*** Begin Patch\n*** Update File: hello.txt\n@@\n-hello from the model\n+goodbye from the model\n*** End Patch\n"]},
		{"say": "It is done."}]'
}

edited() {
	same "goodbye from the model" "$(cat "$WS/hello.txt")"
	has "$(cat "$T/out")" "It is done."
}

@test "codex with the host's API key edits a file, and the key was never inside" {
	login codex key
	edits
	turn codex exec -m gpt-5.5-codex 'edit the file'
	edited
	seen 'r.field("authorization") == ["Bearer " + real] and r["path"] == "/v1/responses"'
	only_the_provider
}

@test "codex with the host's ChatGPT login edits a file, and the login was never inside" {
	login codex chatgpt
	edits
	turn codex exec -m gpt-5.5-codex 'edit the file'
	edited
	seen 'r.field("authorization") == ["Bearer " + real] and r.field("chatgpt-account-id") == ["account-1"]'
	only_the_provider
}

@test "the first start of codex on a terminal asks nothing, and a turn works" {
	login codex key
	# One letter: many at once are a paste, in which the return key is a line's end.
	talk 'expect:Ask Codex' 'send:Z' 'expect:Z' 'send:\r' 'expect:finished|understood' 'expect:Worked for' \
		'send:\x03' 'send:\x03' -- codex
	seen 'r.field("authorization") == ["Bearer " + real]'
	only_the_provider raw.githubusercontent.com
}
