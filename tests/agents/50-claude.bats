#!/usr/bin/env bats
# runs: user
# seconds: 25
# Claude Code with each login of the host.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load agents

edits() {
	steps '[{"say": "I write it.", "call": ["Write", {"file_path": "'"$WS"'/hello.txt", "content": "hello from the model\n"}]},
		{"call": ["Bash", {"command": "'"$(search)"'", "description": "wait"}]},
		{"call": ["Edit", {"file_path": "'"$WS"'/hello.txt", "old_string": "hello", "new_string": "goodbye"}]},
		{"say": "It is done."}]'
}

edited() {
	same "goodbye from the model" "$(cat "$WS/hello.txt")"
	has "$(cat "$T/out")" "It is done."
}

# bats test_tags=root
@test "claude with the host's login edits a file, and the login was never inside" {
	login claude oauth
	edits
	turn claude -p 'edit the file'
	edited
	seen 'r.field("authorization") == ["Bearer " + real] and not r.field("x-api-key")'
	seen '"oauth-2025-04-20" in r.field("anthropic-beta")[0]'
	only_the_provider
}

@test "claude with the host's API key edits a file, and the key was never inside" {
	login claude key
	edits
	turn claude -p 'edit the file'
	edited
	seen 'r.field("x-api-key") == [real] and not r.field("authorization")'
	only_the_provider
}

@test "claude on Bedrock: every request is signed on the host, and no AWS key was inside" {
	local id=AKIA${SRANDOM}EXAMPLE

	REAL=$(secret "aws-")
	echo "{\"id\": \"$id\", \"secret\": \"$REAL\", \"token\": \"token-$REAL\"}" >"$BED/aws.json"
	export CLAUDE_CODE_USE_BEDROCK=1 AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=$id AWS_SECRET_ACCESS_KEY=$REAL \
		AWS_SESSION_TOKEN=token-$REAL
	edits
	turn claude -p 'edit the file'
	edited
	seen 'r["signed"] is True'
	only_the_provider
}

@test "the first start of claude on a terminal asks nothing, and a turn works" {
	login claude oauth
	talk 'expect:bypass permissions on' 'send:greetings' 'expect:greetings' 'send:\r' expect:finished \
		'send:\x03' 'expect:again to exit' 'send:\x03' -- claude
	seen 'r.field("authorization") == ["Bearer " + real]'
	only_the_provider
}

@test "claude with a key starts without asking whether to use it" {
	login claude key
	talk 'expect:bypass permissions on' 'send:greetings' 'expect:greetings' 'send:\r' expect:finished \
		'send:\x03' 'expect:again to exit' 'send:\x03' -- claude
	lacks "$(cat "$T/screen")" "Do you want to use this API key"
	only_the_provider
}

@test "the search finds a login that is inside" {
	login claude oauth
	settings "credentials: [{name: anthropic, way: mount}]"
	has "$(bed "$RALPH" run -n "$BOX" --agent claude -- python3 search.py files "$(rev <<<"$REAL")")" .credentials.json
}

@test "hooks and settings of the workspace cannot take back what is managed" {
	login claude oauth
	mkdir "$WS/.claude"
	echo '{"skipWebFetchPreflight": false}' >"$WS/.claude/settings.json"
	steps '[{"call": ["WebFetch", {"url": "https://llm.test:9543/", "prompt": "what is there?"}]}, {"say": "It is done."}]'
	bed "$RALPH" run -n "$BOX" claude . -- -p 'fetch it' >"$T/out" 2>"$T/err" </dev/null 3>&-
	has "$(cat "$T/out")" "It is done."
	# It would ask api.anthropic.com about the host first.
	lacks "$(events)" '"host":"api.anthropic.com"'
	event '"verdict":"deny"' '"host":"llm.test"'
}
