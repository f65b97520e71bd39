#!/usr/bin/env bats
# runs: user
# opencode and GitHub Copilot CLI with a key of Anthropic's.
# shellcheck disable=SC2154
load agents

@test "opencode with the host's API key edits a file, and the key was never inside" {
	login opencode key
	steps '[{"say": "I write it.", "call": ["write", {"filePath": "'"$WS"'/hello.txt", "content": "hello from the model\n"}]},
		{"call": ["bash", {"command": "'"$(search)"'", "description": "wait", "timeout": 100000}]},
		{"say": "It is done."}]'
	turn opencode run -m anthropic/claude-sonnet-4-5 'edit the file'
	same "hello from the model" "$(cat "$WS/hello.txt")"
	seen 'r.field("x-api-key") == [real] and not r.field("authorization")'
	# It would install a package for plugins, and goes on without.
	only_the_provider "$(npm_host)"
}

npm_host() {
	events | grep -o '"verdict":"deny","phase":"end","host":"[^"]*"' | cut -d'"' -f12 | sort -u
}

@test "copilot with the host's API key edits a file, and the key was never inside" {
	login copilot key
	steps '[{"say": "I write it.", "call": ["create", {"path": "'"$WS"'/hello.txt", "file_text": "hello from the model\n"}]},
		{"call": ["bash", {"command": "'"$(search)"'", "description": "wait", "initial_wait": 100}]},
		{"say": "It is done."}]'
	turn copilot -p 'edit the file'
	same "hello from the model" "$(cat "$WS/hello.txt")"
	seen 'r.field("x-api-key") == [real] and not r.field("authorization")'
	only_the_provider
}
