#!/usr/bin/env bats
# runs: user
# seconds: 40
# Endpoints of Bedrock, Vertex, Foundry, OpenAI and Gemini over HTTP/2 on both sides. Those of Anthropic are in 39-providers.bats.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154
load ../cli/helpers
load ../cli/sandbox
load ../lib/cred
load ../lib/providers

setup() {
	ralph_setup
	UP_H2=1
	providers_start
}

teardown() {
	providers_stop
	ralph_teardown
}

# Protocol and status of one request over HTTP/2. What is refused has no body: curl 7.88 gives up on an answer that comes before it was sent.
H2='curl -sS -o /dev/null -w "%{http_version} %{http_code}\n" --http2-prior-knowledge --path-as-is -H "content-type: application/json"'

# metered N OUTPUT: that many answers were counted, each with so many tokens.
metered() {
	same "$1 $2" "$(ralph usage --json | python3 -c 'import json, sys
rows = [r for r in json.load(sys.stdin) if r["output"]]
print(sum(r["requests"] for r in rows), sum(r["output"] for r in rows) // max(1, sum(r["requests"] for r in rows)))')"
}

@test 'Bedrock over HTTP/2: each stream is signed on the host, as botocore signs it, and metered; only models are asked for' {
	local MODEL=eu.anthropic.claude-sonnet-5-5-v1:0

	aws_program
	export CLAUDE_CODE_USE_BEDROCK=1 AWS_REGION=eu-west-3
	aws_host AKIDHOST real-secret/of+aws real-token==
	run -0 inside "$H2 -d '{}' \$ANTHROPIC_BEDROCK_BASE_URL/model/$MODEL/invoke
		$H2 -d '{}' \$ANTHROPIC_BEDROCK_BASE_URL/model/${MODEL/:/%3A}/invoke-with-response-stream
		$H2 -d '{}' -H 'Authorization: AWS4-HMAC-SHA256 Credential=AKIDEVIL/20260101/us-east-1/bedrock/aws4_request' \
			-H 'X-Amz-Date: 20260101T000000Z' -H 'X-Amz-Security-Token: evil' -H 'X-Amz-Content-Sha256: UNSIGNED-PAYLOAD' \
			\$ANTHROPIC_BEDROCK_BASE_URL/model/$MODEL/invoke
		$H2 \"\$ANTHROPIC_BEDROCK_BASE_URL/inference-profiles?type=SYSTEM_DEFINED&maxResults=7\"
		$H2 -X POST \$ANTHROPIC_BEDROCK_BASE_URL/model-invocation-job
		$H2 -X POST \$ANTHROPIC_BEDROCK_BASE_URL/model/../custom-models
		$H2 -X POST \${ANTHROPIC_BEDROCK_BASE_URL%/*}/model/x/invoke"
	same $'2 200\n2 200\n2 200\n2 200\n2 403\n2 403\n2 401' "$output"
	same 4 "$(wc -l <"$UP/upstream.log")"
	seen 'r["h2"] and r["signed"] is True and len(field("authorization")) == 1 and "AKIDEVIL" not in json.dumps(r["headers"])'
	seen 'field("x-amz-security-token") == ["real-token=="] and "/eu-west-3/bedrock/" in field("authorization")[0]'
	botocore_agrees real-secret/of+aws real-token==
	metered 3 50
}

@test 'Vertex over HTTP/2: the token of the host goes with each stream of the own project, which is metered' {
	export CLAUDE_CODE_USE_VERTEX=1 ANTHROPIC_VERTEX_PROJECT_ID=proj-1 CLOUD_ML_REGION=europe-west1
	mkdir -p "$HOME/.config/gcloud"
	echo '{"type":"authorized_user","client_id":"c.example","client_secret":"client-secret","refresh_token":"google-refresh"}' \
		>"$HOME/.config/gcloud/application_default_credentials.json"
	chmod 600 "$HOME/.config/gcloud/application_default_credentials.json"
	renewal 200 '{"access_token":"ya29.real","expires_in":3600,"token_type":"Bearer"}'
	ask="$H2 -H 'authorization: Bearer mine' \$BODY \"\$ANTHROPIC_VERTEX_BASE_URL/projects/\$P/locations/\$CLOUD_ML_REGION/publishers/anthropic/models/m:streamRawPredict\""
	run -0 inside "P=proj-1; BODY='-d {}'; $ask; $ask; P=other; BODY='-X POST'; $ask"
	same $'2 200\n2 200\n2 403' "$output"
	seen 'r["h2"] and field("authorization") == ["Bearer ya29.real"]'
	same 1 "$(renewals)"
	metered 2 50
}

@test 'Foundry over HTTP/2: the key of the host is set, for the phantom alone' {
	export CLAUDE_CODE_USE_FOUNDRY=1 ANTHROPIC_FOUNDRY_RESOURCE=corp ANTHROPIC_FOUNDRY_API_KEY=foundry-real-key
	run -0 inside "$H2 -H \"x-api-key: \$ANTHROPIC_FOUNDRY_API_KEY\" -d '{\"stream\":true}' \"\$ANTHROPIC_FOUNDRY_BASE_URL/v1/messages?beta=true\"
		$H2 -H 'x-api-key: guessed' -X POST \$ANTHROPIC_FOUNDRY_BASE_URL/v1/messages
		$H2 -H \"x-api-key: \$ANTHROPIC_FOUNDRY_API_KEY\" -X POST \$ANTHROPIC_FOUNDRY_BASE_URL/v1/files"
	same $'2 200\n2 401\n2 403' "$output"
	seen 'r["h2"] and field("x-api-key") == ["foundry-real-key"] and not field("authorization")'
	metered 1 50
}

@test 'OpenAI over HTTP/2: a key, or a ChatGPT login with its own account, is set for the phantom alone; files and keys are refused' {
	local ask later=$(($(date +%s) + 7200))

	AGENT=codex
	ask="base=\$(sed -n 's/^base_url = \"\\(.*\\)\"/\\1/p' ~/.codex/config.toml)
		$H2 -H \"authorization: Bearer \$RALPH_PHANTOM\" -H 'chatgpt-account-id: somebody-else' -d '{\"stream\":true}' \$base/responses
		$H2 -H 'authorization: Bearer guessed' -X POST \$base/responses
		$H2 -H \"authorization: Bearer \$RALPH_PHANTOM\" -X POST \$base/files"
	export OPENAI_API_KEY=sk-real-key
	same $'2 200\n2 401\n2 403' "$(inside "$ask")"
	seen 'r["h2"] and r["path"] == "/v1/responses" and field("authorization") == ["Bearer sk-real-key"]'
	metered 1 50
	unset OPENAI_API_KEY
	rm "$UP/upstream.log"
	mkdir -p "$HOME/.codex"
	printf '{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"tokens":{"id_token":"i","access_token":"e30.%s.x","refresh_token":"r","account_id":"account-1"}}' \
		"$(printf '{"exp":%s}' "$later" | base64 -w 0 | tr -d =)" >"$HOME/.codex/auth.json"
	chmod 600 "$HOME/.codex/auth.json"
	same $'2 200\n2 401\n2 403' "$(inside "$ask")"
	seen 'r["h2"] and field("authorization")[0].startswith("Bearer e30.") and field("chatgpt-account-id") == ["account-1"]'
	metered 2 50
}

@test 'Gemini over HTTP/2: a key, or a login at Code Assist, is set for the phantom alone; settings and tunings are refused' {
	AGENT=gemini
	export GEMINI_API_KEY=AIza-real-key
	same $'2 200\n2 200\n2 401\n2 403' "$(inside "for what in streamGenerateContent?alt=sse generateContent; do
			$H2 -H \"x-goog-api-key: \$GEMINI_API_KEY\" -d '{}' \"\$GOOGLE_GEMINI_BASE_URL/v1beta/models/m:\$what\"
		done
		$H2 -X POST \"\$GOOGLE_GEMINI_BASE_URL/v1beta/models/m:generateContent?key=AIza-evil\"
		$H2 -H \"x-goog-api-key: \$GEMINI_API_KEY\" -X POST \$GOOGLE_GEMINI_BASE_URL/v1beta/tunedModels")"
	seen 'r["h2"] and field("x-goog-api-key") == ["AIza-real-key"] and "evil" not in r["path"]'
	metered 2 50
	unset GEMINI_API_KEY
	rm "$UP/upstream.log"
	mkdir -p "$HOME/.gemini"
	printf '{"access_token":"ya29.real","refresh_token":"google-refresh","expiry_date":%s,"scope":"s"}' "$((($(date +%s) + 7200) * 1000))" \
		>"$HOME/.gemini/oauth_creds.json"
	chmod 600 "$HOME/.gemini/oauth_creds.json"
	ask="$H2 -H \"authorization: Bearer \$GOOGLE_CLOUD_ACCESS_TOKEN\" \$BODY \$CODE_ASSIST_ENDPOINT/v1internal:"
	same $'2 200\n2 200\n2 403' "$(inside "BODY='-d {}'; ${ask}streamGenerateContent?alt=sse; ${ask}loadCodeAssist; BODY='-X POST'; ${ask}setCodeAssistGlobalUserSetting")"
	seen 'r["h2"] and field("authorization") == ["Bearer ya29.real"]'
	metered 3 50
}
