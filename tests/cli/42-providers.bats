#!/usr/bin/env bats
# runs: user
# seconds: 50
# Bedrock, Vertex, Foundry, Codex and Gemini: the host's logins work inside, and are not there.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154
load helpers
load sandbox
load ../lib/cred
load ../lib/providers

setup() {
	ralph_setup
	providers_start
}

teardown() {
	providers_stop
	ralph_teardown
}

bedrock_on() {
	aws_program
	export CLAUDE_CODE_USE_BEDROCK=1 AWS_REGION=eu-west-3
}

# What Claude Code asks of Bedrock; prints the status.
BEDROCK_ASK='curl -sS -o /dev/null -w "%{http_code}\n" -H "content-type: application/json" -d "{\"anthropic_version\":\"bedrock-2023-05-31\"}"'
MODEL=eu.anthropic.claude-sonnet-5-5-v1:0

@test 'Bedrock: every request is signed on the host, and botocore agrees' {
	bedrock_on
	aws_host AKIDHOST real-secret/of+aws real-token==
	run -0 inside "$BEDROCK_ASK \$ANTHROPIC_BEDROCK_BASE_URL/model/$MODEL/invoke
		$BEDROCK_ASK \$ANTHROPIC_BEDROCK_BASE_URL/model/${MODEL/:/%3A}/invoke-with-response-stream
		curl -sS -o /dev/null -w '%{http_code}\n' \"\$ANTHROPIC_BEDROCK_BASE_URL/inference-profiles?type=SYSTEM_DEFINED&maxResults=7\"
		curl -sS -o /dev/null -w '%{http_code}\n' \"\$ANTHROPIC_BEDROCK_BASE_URL/inference-profiles/arn%3Aaws%3Abedrock%3Aeu-west-3%3A1%3Ainference-profile%2Fx\""
	same $'200\n200\n200\n404' "$output"
	seen 'r["signed"] is True and len(field("authorization")) == 1'
	seen 'field("x-amz-security-token") == ["real-token=="] and "/eu-west-3/bedrock/" in field("authorization")[0]'
	botocore_agrees real-secret/of+aws real-token==
}

@test 'Bedrock: the answer comes as an event stream, whole' {
	bedrock_on
	aws_host AKIDHOST real-secret
	run -0 inside "curl -sS -H 'content-type: application/json' -d '{}' \$ANTHROPIC_BEDROCK_BASE_URL/model/$MODEL/invoke-with-response-stream |
		python3 -c '
import base64, json, struct, sys, zlib
data, kinds = sys.stdin.buffer.read(), []
while data:
    total, fields = struct.unpack(\">II\", data[:8])
    assert zlib.crc32(data[:total - 4]) == struct.unpack(\">I\", data[total - 4:total])[0]
    kinds.append(json.loads(base64.b64decode(json.loads(data[12 + fields:total - 4])[\"bytes\"]))[\"type\"])
    data = data[total:]
print(kinds[0], kinds[-1])'"
	same 'message_start message_stop' "$output"
}

@test 'Bedrock: credentials replaced on the host sign the next request' {
	bedrock_on
	aws_host AKIDONE first-secret first-token
	ralph run -d --agent claude -- true
	ask="$BEDROCK_ASK \$ANTHROPIC_BEDROCK_BASE_URL/model/$MODEL/invoke"
	same 200 "$(ralph exec "$(sandbox)" sh -c "$ask")"
	aws_host AKIDTWO second-secret
	same 200 "$(ralph exec "$(sandbox)" sh -c "$ask")"
	same 200 "$(ralph exec "$(sandbox)" sh -c "$ask")"
	seen 'r["signed"] is True'
	same 'AKIDONE AKIDTWO AKIDTWO' "$(python3 -c 'import json, sys
print(*[dict(json.loads(l)["headers"])["authorization"].split("Credential=")[1].split("/")[0] for l in open(sys.argv[1])])' \
		"$UP/upstream.log")"
}

@test 'Bedrock is switched on by the settings of Claude Code, with region and profile' {
	aws_program
	aws_host AKIDHOST real-secret
	sed -i 's/default/work/' "$HOME/.aws/credentials"
	mkdir "$HOME/.claude"
	echo '{"env": {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "us-west-2", "ANTHROPIC_MODEL": "chosen-model"}}' \
		>"$HOME/.claude/settings.json"
	export AWS_PROFILE=work
	run -0 inside "$BEDROCK_ASK \$ANTHROPIC_BEDROCK_BASE_URL/model/$MODEL/invoke; echo \$ANTHROPIC_MODEL"
	same $'200\nchosen-model' "$output"
	seen 'r["signed"] is True and "/us-west-2/" in field("authorization")[0]'
}

@test 'the region comes from aws where the environment has none' {
	bedrock_on
	unset AWS_REGION
	aws_host AKIDHOST real-secret
	run -125 inside true
	has "$output" 'no AWS region is set'
	has "$output" 'aws configure set region'
	printf '[default]\nregion = ap-south-1\n' >"$HOME/.aws/config"
	same 200 "$(inside "$BEDROCK_ASK \$ANTHROPIC_BEDROCK_BASE_URL/model/$MODEL/invoke")"
	seen '"/ap-south-1/" in field("authorization")[0]'
}

@test 'Bedrock without aws, without credentials, with an expired login: each says what to do' {
	export CLAUDE_CODE_USE_BEDROCK=1 AWS_REGION=us-east-1
	mkdir "$T/empty"
	run -125 env PATH="$T/empty" "$RALPH" run --agent claude -- true
	has "$output" "no 'aws' on your PATH"
	printf '#!/bin/sh\nexit 2\n' >"$T/empty/aws"
	chmod 755 "$T/empty/aws"
	run -125 env PATH="$T/empty" "$RALPH" run --agent claude -- true
	has "$output" 'install AWS CLI 2.9'
	aws_program
	run -125 inside true
	has "$output" 'aws configure'
	mkdir -p "$HOME/.aws"
	printf '[default]\nsso_session = s\nsso_account_id = 1\nsso_role_name = r\n[sso-session s]\nsso_start_url = https://x.example/start\nsso_region = us-east-1\n' >"$HOME/.aws/config"
	run -125 inside true
	has "$output" 'has expired'
	has "$output" 'aws sso login'
	printf '#!/bin/sh\necho "{\\"Version\\": 1, \\"AccessKeyId\\": \\"A\\", \\"Secre"\n' >"$T/empty/aws"
	run -125 env PATH="$T/empty" "$RALPH" run --agent claude -- true
	has "$output" 'not a JSON object'
}

@test 'Vertex: a token of the login of Google Cloud goes with each request' {
	export CLAUDE_CODE_USE_VERTEX=1 ANTHROPIC_VERTEX_PROJECT_ID=proj-1 CLOUD_ML_REGION=europe-west1
	mkdir -p "$HOME/.config/gcloud"
	echo '{"type":"authorized_user","client_id":"c.example","client_secret":"client-secret","refresh_token":"google-refresh"}' \
		>"$HOME/.config/gcloud/application_default_credentials.json"
	chmod 600 "$HOME/.config/gcloud/application_default_credentials.json"
	renewal 200 '{"access_token":"ya29.real","expires_in":3600,"token_type":"Bearer"}'
	ask='curl -sS -o /dev/null -w "%{http_code}\n" -d "{}" "$ANTHROPIC_VERTEX_BASE_URL/projects/$P/locations/$CLOUD_ML_REGION/publishers/anthropic/models/m:streamRawPredict"'
	run -0 inside "P=proj-1; $ask; $ask; P=other; $ask"
	same $'200\n200\n403' "$output"
	seen 'field("authorization") == ["Bearer ya29.real"]'
	same 1 "$(renewals)"
	all "$UP/accounts.log" '"refresh_token=google-refresh" in r["body"]'
	rm "$HOME/.config/gcloud/application_default_credentials.json"
	run -125 inside true
	has "$output" 'gcloud auth application-default login'
}

@test 'Foundry: the key of the host goes with each request' {
	export CLAUDE_CODE_USE_FOUNDRY=1 ANTHROPIC_FOUNDRY_RESOURCE=corp ANTHROPIC_FOUNDRY_API_KEY=foundry-real-key
	run -0 inside 'curl -sS -o /dev/null -w "%{http_code}\n" -H "x-api-key: $ANTHROPIC_FOUNDRY_API_KEY" -d "{}" \
		"$ANTHROPIC_FOUNDRY_BASE_URL/v1/messages?beta=true"; echo "$ANTHROPIC_FOUNDRY_API_KEY"'
	has "$output" 200
	lacks "$output" foundry-real-key
	seen 'field("x-api-key") == ["foundry-real-key"]'
}

# codex_ask PATH…: what Codex asks; the endpoint is in the configuration that was made for it.
CODEX_ASK='base=$(sed -n "s/^base_url = \"\(.*\)\"/\1/p" ~/.codex/config.toml)
	curl -sS -o /dev/null -w "%{http_code}\n" -H "authorization: Bearer $RALPH_PHANTOM" -H "content-type: application/json" \
		-H "chatgpt-account-id: somebody-else" -d "{\"stream\":true}" "$base/responses"'

chatgpt_login() {
	mkdir -p "$HOME/.codex"
	printf '{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"tokens":{"id_token":"i","access_token":"%s","refresh_token":"%s","account_id":"account-1"},"kept":{"x":1}}' \
		"$1" "$2" >"$HOME/.codex/auth.json"
	chmod 600 "$HOME/.codex/auth.json"
}

@test 'Codex: the key in its file works inside' {
	AGENT=codex
	mkdir "$HOME/.codex"
	echo '{"auth_mode":"apikey","OPENAI_API_KEY":"sk-real-key"}' >"$HOME/.codex/auth.json"
	chmod 644 "$HOME/.codex/auth.json"
	run -0 --separate-stderr inside "$CODEX_ASK"
	same 200 "$output"
	seen 'r["path"] == "/v1/responses" and field("authorization") == ["Bearer sk-real-key"]'
	has "$stderr" 'chmod 600'
}

@test 'Codex: a ChatGPT login goes with its account, not with the one a client names' {
	AGENT=codex
	chatgpt_login chatgpt-real-access chatgpt-real-refresh
	same 200 "$(inside "$CODEX_ASK")"
	seen 'r["path"] == "/responses" and field("authorization") == ["Bearer chatgpt-real-access"]'
	seen 'field("chatgpt-account-id") == ["account-1"]'
}

@test 'Codex: an expired ChatGPT login is renewed once, and its file keeps the rest' {
	AGENT=codex
	chatgpt_login e30.eyJleHAiOjEwMDB9.x chatgpt-real-refresh # {"exp":1000}
	renewal 200 '{"access_token":"fresh-access","refresh_token":"fresh-refresh","expires_in":86400}'
	same $'200\n200' "$(inside "$CODEX_ASK; $CODEX_ASK")"
	seen 'field("authorization") == ["Bearer fresh-access"]'
	same 1 "$(renewals)"
	all "$UP/accounts.log" 'json.loads(r["body"])["refresh_token"] == "chatgpt-real-refresh"'
	same 'fresh-refresh account-1 1' "$(python3 -c 'import json, sys; j = json.load(open(sys.argv[1]))
print(j["tokens"]["refresh_token"], j["tokens"]["account_id"], j["kept"]["x"])' "$HOME/.codex/auth.json")"
	same 600 "$(stat -c %a "$HOME/.codex/auth.json")"
}

@test 'Codex: two sandboxes renew an expired login once' {
	AGENT=codex
	chatgpt_login e30.eyJleHAiOjEwMDB9.x chatgpt-real-refresh
	renewal 200 '{"access_token":"fresh-access","refresh_token":"fresh-refresh","expires_in":86400}'
	"$RALPH" run --name one-"${WS##*-}" --agent codex -- sh -c "$CODEX_ASK" >"$T/one" 3>&- &
	one=$!
	"$RALPH" run --name two-"${WS##*-}" --agent codex -- sh -c "$CODEX_ASK" >"$T/two" 3>&- &
	wait $one
	wait $!
	same $'200\n200' "$(cat "$T/one" "$T/two")"
	same 1 "$(renewals)"
}

@test 'Codex: a login that has ended says so inside, and its file stays' {
	AGENT=codex
	chatgpt_login e30.eyJleHAiOjEwMDB9.x chatgpt-real-refresh
	cp "$HOME/.codex/auth.json" "$T/before"
	renewal 400 '{"error":"invalid_grant"}'
	run -0 inside "${CODEX_ASK/-o \/dev\/null/}"
	has "$output" 'codex login'
	lacks "$output" chatgpt-real-refresh
	cmp "$T/before" "$HOME/.codex/auth.json"
	[ ! -e "$UP/upstream.log" ]
}

@test 'Codex: a file that is torn says what to run, and an empty one is none' {
	AGENT=codex
	mkdir "$HOME/.codex"
	: >"$HOME/.codex/auth.json"
	run -0 inside true
	echo '{"tokens": {"access_token": "real-sec' >"$HOME/.codex/auth.json"
	run -125 inside true
	has "$output" 'not a whole JSON document'
	lacks "$output" real-sec
}

@test 'Gemini: the key of the environment works inside' {
	AGENT=gemini
	export GEMINI_API_KEY=AIza-real-key
	run -0 inside 'curl -sS -o /dev/null -w "%{http_code}\n" -H "x-goog-api-key: $GEMINI_API_KEY" -d "{}" \
		"$GOOGLE_GEMINI_BASE_URL/v1beta/models/m:streamGenerateContent?alt=sse"; echo "$GEMINI_API_KEY"'
	has "$output" 200
	lacks "$output" AIza-real-key
	seen 'field("x-goog-api-key") == ["AIza-real-key"] and "alt=sse" in r["path"]'
}

GEMINI_ASK='curl -sS -o /dev/null -w "%{http_code}\n" -H "authorization: Bearer $GOOGLE_CLOUD_ACCESS_TOKEN" -d "{}" \
	"$CODE_ASSIST_ENDPOINT/v1internal:'

gemini_login() {
	mkdir -p "$HOME/.gemini" "$T/gemini"
	printf '{"access_token":"%s","refresh_token":"%s","expiry_date":%s,"scope":"s"}' "$1" "$2" "$3" >"$HOME/.gemini/oauth_creds.json"
	chmod 600 "$HOME/.gemini/oauth_creds.json"
	# The client is a constant of the program.
	printf '#!/bin/sh\n' >"$T/gemini/gemini"
	echo 'var OAUTH_CLIENT_ID = "1-a.example"; var OAUTH_CLIENT_SECRET = "constant";' >"$T/gemini/chunk.js"
	chmod 755 "$T/gemini/gemini"
	export PATH=$T/gemini:$PATH
}

@test 'Gemini: a login works inside at Code Assist, and is renewed on the host' {
	AGENT=gemini
	gemini_login ya29.old google-refresh 1000
	renewal 200 '{"access_token":"ya29.fresh","expires_in":3600}'
	run -0 inside "${GEMINI_ASK}streamGenerateContent?alt=sse\"; ${GEMINI_ASK}loadCodeAssist\"; ${GEMINI_ASK}setCodeAssistGlobalUserSetting\""
	same $'200\n200\n403' "$output"
	seen 'field("authorization") == ["Bearer ya29.fresh"]'
	same 1 "$(renewals)"
	all "$UP/accounts.log" '"client_id=1-a.example&client_secret=constant&refresh_token=google-refresh" in r["body"]'
	has "$(cat "$HOME/.gemini/oauth_creds.json")" ya29.fresh
	has "$(cat "$HOME/.gemini/oauth_creds.json")" google-refresh
}

@test 'Gemini: a login that has ended says so, and an expired one without a way to renew is no login' {
	AGENT=gemini
	gemini_login ya29.old google-refresh 1000
	renewal 400 '{"error":"invalid_grant"}'
	run -0 inside "${GEMINI_ASK/-o \/dev\/null/}generateContent\""
	has "$output" 'run: gemini'
	[ ! -e "$UP/upstream.log" ]
	echo '{"access_token":"ya29.old","expiry_date":1000}' >"$HOME/.gemini/oauth_creds.json"
	run -125 inside true
	has "$output" 'expired and cannot be renewed'
}
