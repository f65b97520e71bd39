#!/usr/bin/env bats
# runs: user
# Claude Code through Bedrock, Vertex AI and Foundry, with the host's credentials for them.
# shellcheck disable=SC2016,SC2154,SC2034
load ../lib/providers
load agents # its `seen`

setup() {
	agents_setup
	UP=$BED
	export AWS_EC2_METADATA_DISABLED=true
}

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

# The agent waits: what is to happen meanwhile.
eval "$(declare -f holds_nothing | sed '1s/holds_nothing/held_nothing/')"
holds_nothing() {
	held_nothing
	[ -z "${MEANWHILE:-}" ] || $MEANWHILE
}

# provider NAME: is the scripted one, as the others are.
provider() {
	settings "  $1: {origin: 'https://llm.test:9543', ca_file: '$BED/ca.pem', token_url: 'https://llm.test:9544/token'}"
}

bedrock_on() {
	aws_program
	export CLAUDE_CODE_USE_BEDROCK=1 AWS_REGION=eu-west-3 ANTHROPIC_MODEL=eu.anthropic.claude-sonnet-5-5-v1:0
	REAL=$(secret aws)
	aws_host AKIDONE "$REAL" "token-of-$REAL"
}

@test "claude through Bedrock edits a file; every signature is computed anew and equal" {
	bedrock_on
	edits
	turn claude -p 'edit the file'
	edited
	seen 'r["signed"] is True and "/eu-west-3/bedrock/" in r.field("authorization")[0]'
	seen 'r["path"].startswith(("/model/", "/inference-profiles"))'
	ORIGIN=https://llm.test:9543 botocore_agrees "$REAL" "token-of-$REAL"
	only_the_provider
}

@test "claude through Bedrock goes on with credentials that are replaced on the host" {
	bedrock_on
	edits
	replaced() {
		aws_host AKIDTWO "second-$REAL"
		touch "$T/replaced"
	}
	MEANWHILE=replaced turn claude -p 'edit the file'
	edited
	[ -e "$T/replaced" ]
	seen 'r["signed"] is True'
	keys=$(python3 -c 'import json, sys
print(*[dict(json.loads(l)["headers"])["authorization"].split("Credential=")[1].split("/")[0] for l in open(sys.argv[1])])' "$BED/upstream.log")
	# The model's third and fourth turn at least.
	[[ $keys == AKIDONE*AKIDONE\ AKIDTWO\ AKIDTWO* ]] || fail "signed by $keys"
}

@test "claude through Vertex AI edits a file with a token of the host's login" {
	export CLAUDE_CODE_USE_VERTEX=1 ANTHROPIC_VERTEX_PROJECT_ID=proj-1 CLOUD_ML_REGION=europe-west1
	REAL=$(secret ya29.)
	put "$HOME/.config/gcloud/application_default_credentials.json" <<<'{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r"}'
	renewal 200 "{\"access_token\":\"$REAL\",\"expires_in\":3600}"
	provider vertex
	bed python3 "$NETBED/upstream-accounts.py" "$BED" 8.8.4.4 9544 >"$BED/accounts.out" 2>&1 3>&- &
	wait_until test -s "$BED/accounts.ready" || fail "$(cat "$BED/accounts.out")"
	edits
	turn claude -p 'edit the file'
	kill "$(cut -d ' ' -f 2 "$BED/accounts.ready")"
	edited
	seen 'r.field("authorization") == ["Bearer " + real] and "/projects/proj-1/locations/europe-west1/publishers/anthropic/models/" in r["path"]'
	only_the_provider
}

@test "claude through Foundry edits a file with the host's key" {
	export CLAUDE_CODE_USE_FOUNDRY=1 ANTHROPIC_FOUNDRY_RESOURCE=corp
	REAL=$(secret key-)
	export ANTHROPIC_FOUNDRY_API_KEY=$REAL
	provider foundry
	edits
	turn claude -p 'edit the file'
	edited
	seen 'r.field("x-api-key") == [real]'
	only_the_provider
}
