#!/usr/bin/env bats
# runs: user
# seconds: 30
# What a sandbox might do with the host's logins at providers other than Anthropic.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154
load ../cli/helpers
load ../cli/sandbox
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

@test 'Bedrock: no secret of AWS is inside, nor in what ralph keeps' {
	bedrock_on
	aws_host AKIDHOST very-secret-key-of-aws very-secret-token-of-aws
	ralph run -d --agent claude -- true
	name=$(sandbox)
	same 200 "$(ralph exec "$name" sh -c "$BEDROCK_ASK \$ANTHROPIC_BEDROCK_BASE_URL/model/$MODEL/invoke")"
	assert_secret_nowhere "$name" very-secret-key-of-aws very-secret-token-of-aws
	run -0 ralph exec "$name" env
	lacks "$output" AKIDHOST
	has "$output" CLAUDE_CODE_SKIP_BEDROCK_AUTH=1
	has "$output" AWS_REGION=eu-west-3
}

@test 'Bedrock: what a client signs itself does not reach the provider' {
	bedrock_on
	aws_host AKIDHOST real-secret
	same 200 "$(inside "$BEDROCK_ASK -H 'Authorization: AWS4-HMAC-SHA256 Credential=AKIDEVIL/20260101/us-east-1/bedrock/aws4_request' \
		-H 'X-Amz-Date: 20260101T000000Z' -H 'X-Amz-Security-Token: evil' -H 'X-Amz-Content-Sha256: UNSIGNED-PAYLOAD' \
		\$ANTHROPIC_BEDROCK_BASE_URL/model/$MODEL/invoke")"
	seen 'r["signed"] is True and "AKIDEVIL" not in json.dumps(r["headers"]) and not field("x-amz-security-token")'
}

@test 'Bedrock: nothing but models and their profiles can be asked for' {
	bedrock_on
	aws_host AKIDHOST real-secret
	for what in 'POST /model-invocation-job' 'GET /foundation-models' 'DELETE /model/x' 'PUT /inference-profiles' \
		'POST /inference-profiles' 'GET /model/../custom-models' 'POST /model/%2e%2e/api-keys' 'POST /?Action=CreateAccessKey'; do
		same 403 "$(inside "curl -sS --path-as-is -o /dev/null -w '%{http_code}' -X ${what% *} \"\$ANTHROPIC_BEDROCK_BASE_URL${what#* }\"")"
	done
	same 401 "$(inside 'curl -sS -o /dev/null -w "%{http_code}" -d "{}" "${ANTHROPIC_BEDROCK_BASE_URL%/*}/model/x/invoke"')"
	[ ! -e "$UP/upstream.log" ]
}

@test 'Codex: files, batches and keys of an organisation cannot be asked for' {
	AGENT=codex
	export OPENAI_API_KEY=sk-real-key
	for what in 'POST /v1/files' 'GET /v1/organization/admin_api_keys' 'POST /v1/batches' 'DELETE /v1/models/x' 'GET /v1/responses/1'; do
		same 403 "$(inside 'base=$(sed -n "s/^base_url = \"\(.*\)\/v1\"/\1/p" ~/.codex/config.toml)
			curl -sS -o /dev/null -w "%{http_code}" -H "authorization: Bearer $RALPH_PHANTOM" -X '"${what% *}"' "$base'"${what#* }"'"')"
	done
	[ ! -e "$UP/upstream.log" ]
}

@test 'Gemini and Vertex AI: settings, tunings and other projects cannot be asked for' {
	AGENT=gemini
	export GEMINI_API_KEY=AIza-real-key
	for what in 'POST /v1beta/tunedModels' 'POST /v1beta/files' 'GET /v1beta/cachedContents' 'DELETE /v1beta/models/x' 'GET /v1beta'; do
		same 403 "$(inside 'curl -sS -o /dev/null -w "%{http_code}" -H "x-goog-api-key: $GEMINI_API_KEY" -X '"${what% *}"' "$GOOGLE_GEMINI_BASE_URL'"${what#* }"'"')"
	done
	# As a parameter of the query a key of the client's is no better.
	same 401 "$(inside 'curl -sS -o /dev/null -w "%{http_code}" -d "{}" "$GOOGLE_GEMINI_BASE_URL/v1beta/models/m:generateContent?key=AIza-evil"')"
	AGENT=claude
	unset GEMINI_API_KEY
	export CLAUDE_CODE_USE_VERTEX=1 ANTHROPIC_VERTEX_PROJECT_ID=proj-1 CLOUD_ML_REGION=europe-west1
	mkdir -p "$HOME/.config/gcloud"
	echo '{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r"}' \
		>"$HOME/.config/gcloud/application_default_credentials.json"
	chmod 600 "$HOME/.config/gcloud/application_default_credentials.json"
	for path in /projects/proj-1/serviceAccounts /projects/proj-2/locations/europe-west1/publishers/anthropic/models/m:rawPredict \
		/projects/proj-1/locations/europe-west1/endpoints /projects/proj-1/locations/europe-west1/publishers/google/models/m:predict; do
		same 403 "$(inside "curl -sS -o /dev/null -w '%{http_code}' -d '{}' \"\$ANTHROPIC_VERTEX_BASE_URL$path\"")"
	done
	[ ! -e "$UP/upstream.log" ]
	[ ! -e "$UP/accounts.log" ]
}

# uses: how many answers of models were metered, in all sandboxes.
uses() {
	ralph usage --json | python3 -c 'import json, sys; print(sum(r["requests"] for r in json.load(sys.stdin) if r["output"] in (49, 50)))'
}

@test 'with a budget each provider is metered, and a request of unknown cost is refused' {
	export RALPH_BUDGET_USD=1000
	refused='this sandbox has a budget'
	bedrock_on
	aws_host AKIDHOST real-secret
	same 200 "$(inside "$BEDROCK_ASK \$ANTHROPIC_BEDROCK_BASE_URL/model/$MODEL/invoke")"
	has "$(inside "curl -sS -d '{}' \$ANTHROPIC_BEDROCK_BASE_URL/model/$MODEL/async-invoke")" "$refused"
	same 1 "$(uses)"
	unset CLAUDE_CODE_USE_BEDROCK
	AGENT=codex
	export OPENAI_API_KEY=sk-real-key
	openai='base=$(sed -n "s/^base_url = \"\(.*\)\/v1\"/\1/p" ~/.codex/config.toml); curl -sS -H "content-type: application/json" -H "authorization: Bearer $RALPH_PHANTOM"'
	has "$(inside "$openai -d '{\"model\":\"m\",\"stream\":true,\"input\":[]}' \$base/v1/responses")" response.completed
	same 2 "$(uses)"
	for path in /v1/responses/r_1/cancel /v1/chat/completions/c_1; do
		has "$(inside "$openai -d '{}' \$base$path")" "$refused"
	done
	AGENT=gemini
	export GEMINI_API_KEY=AIza-real-key
	gemini='curl -sS -H "content-type: application/json" -H "x-goog-api-key: $GEMINI_API_KEY" -d "{\"contents\":[]}" "$GOOGLE_GEMINI_BASE_URL/v1beta/models/'
	has "$(inside "${gemini}m:generateContent\"")" usageMetadata
	same 3 "$(uses)"
	for method in predict predictLongRunning batchGenerateContent embedContent; do
		run -0 inside "${gemini}imagen:$method\""
		has "$output" "$refused"
		has "$output" '"status":"PERMISSION_DENIED"'
	done
	run -0 inside "${gemini}m:generateContent?alt=json&%24req=x\""
	has "$output" 'cannot read the request'
	run -1 grep -E 'cancel|predict|async|batch|embed' "$UP/upstream.log"
}
