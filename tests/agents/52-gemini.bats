#!/usr/bin/env bats
# runs: user
# Gemini CLI with each login of the host.
# shellcheck disable=SC2154
load agents

edits() {
	steps '[{"say": "I write it.", "call": ["write_file", {"file_path": "'"$WS"'/hello.txt", "content": "hello from the model\n"}]},
		{"call": ["run_shell_command", {"command": "'"$(search)"'", "description": "wait"}]},
		{"call": ["replace", {"file_path": "'"$WS"'/hello.txt", "instruction": "say goodbye", "old_string": "hello", "new_string": "goodbye"}]},
		{"say": "It is done."}]'
}

edited() {
	same "goodbye from the model" "$(cat "$WS/hello.txt")"
	has "$(cat "$T/out")" "It is done."
}

@test "gemini with the host's API key edits a file, and the key was never inside" {
	login gemini key
	edits
	turn gemini -p 'edit the file'
	edited
	seen 'r.field("x-goog-api-key") == [real] and not r.field("authorization")'
	only_the_provider
}

@test "gemini with the host's login edits a file, and the login was never inside" {
	login gemini oauth
	edits
	turn gemini -p 'edit the file'
	edited
	seen 'r.field("authorization") == ["Bearer " + real] and not r.field("x-goog-api-key")'
	# Whose login it is it asks without being told, and need not know.
	only_the_provider www.googleapis.com
}

@test "the first start of gemini on a terminal asks nothing, and a turn works" {
	login gemini key
	talk 'expect:Type your message' 'send:greetings' 'expect:greetings' 'send:\r' expect:finished 'send:\x03' \
		'expect:again to exit' 'send:\x03' -- gemini
	seen 'r.field("x-goog-api-key") == [real]'
	only_the_provider
}
