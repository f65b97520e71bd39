#!/usr/bin/env bats
# runs: user
# seconds: 20
# The model's API as a way out: what a provider would fetch or run for a sandbox.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154
load ../cli/helpers
load ../cli/sandbox
load ../lib/cred

setup() {
	ralph_setup
	provider_start
	provider_takes key-of-the-host
	export ANTHROPIC_API_KEY=key-of-the-host
}

teardown() {
	provider_stop
	ralph_teardown
}

# send [-o OPTIONS] BODY [CURL…]: its status and answer. The body comes from a file.
send() {
	local options=()
	[ "$1" != -o ] || { read -ra options <<<"$2"; shift 2; }
	printf '%s' "$1" >"$WS/body"
	shift
	ralph run "${options[@]}" -- sh -c 'url=$1; shift; curl -sS -w "%{http_code}" -H "x-api-key: $ANTHROPIC_API_KEY" "$@" "$ANTHROPIC_BASE_URL$url"' \
		sh "${URL:-/v1/messages}" -H 'content-type: application/json' --data-binary @body "$@"
}

FETCH='{"model":"m","max_tokens":1,"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]}'

@test 'a request for a tool of the provider is refused as the provider would, with the setting that allows it' {
	for body in "$FETCH" '{"mcp_servers":[{"type":"url","url":"https://evil.example","name":"x"}]}' \
		'{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://evil.example/secret"}}]}]}' \
		'{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"f"}}]}]}' \
		'{"\u0074ools":[{"t\u0079pe":"code_execution_20250825","name":"x"}]}' \
		'{"tools":[{"type":"custom","name":"x","input_schema":{}}],"tools":[{"type":"web_fetch_1"}]}'; do
		run -0 send "$body"
		has "$output" 403
		has "$output" '"type":"error"'
		has "$output" network.provider_tools
	done
	same 0 "$(requests)"
	run -0 ralph net log --denied
	has "$output" "the provider's tool 'web_fetch' is not allowed"
}

@test 'what cannot be read is refused, and never reaches the provider as a whole' {
	run -0 send "$FETCH" -H 'content-encoding: gzip'
	has "$output" 403
	run -0 send "$FETCH" -H 'content-type: multipart/form-data; boundary=x'
	has "$output" 403
	run -0 send "$FETCH" -H 'content-type: application/json; charset=utf-7'
	has "$output" 403
	for body in '[]' '{"a":1} {}' "{'tools':[]}" 'x' '{"a":'; do
		run -0 send "$body"
		has "$output" 403
	done
	# In chunks, the tool behind a megabyte that has left by then.
	run -0 send "{\"a\":\"$(head -c 1000000 /dev/zero | tr '\0' a)\",${FETCH#\{}" -H 'transfer-encoding: chunked'
	has "$output" 403
	same 0 "$(requests)"
}

@test 'tools of the client pass, and those that the agent needs, that the user names, or all' {
	run -0 send '{"tools":[{"name":"Bash","input_schema":{"properties":{"tools":[{"type":"web_fetch"}]}}}]}'
	has "$output" 200
	run -0 send '{"tools":[{"type":"web_search_20250305","name":"web_search"}]}'
	has "$output" 200
	run -0 send -o '--provider-tools none' '{"tools":[{"type":"web_search_20250305","name":"web_search"}]}'
	has "$output" 403
	run -0 send -o '--provider-tools web_fetch' "$FETCH"
	has "$output" 200
	run -0 send -o '--provider-tools all' "$FETCH"
	has "$output" 200
	config 'network: {provider_tools: [web_fetch, mcp_servers]}'
	run -0 send "$FETCH"
	has "$output" 200
	config 'network: {provider_tools: []}'
	run -0 send "$FETCH"
	has "$output" 403
}

@test 'batches need their name, also in another spelling' {
	for url in /v1/messages/batches /v1/messages/%62atches; do
		URL=$url run -0 send '{"requests":[]}'
		has "$output" 403
		has "$output" "'batches'"
	done
	URL=/v1/messages/batches run -0 send -o '--provider-tools batches' '{"requests":[]}'
	has "$output" not_found_error
	same 1 "$(requests)"
}

@test 'a project file may allow fewer tools and no more' {
	mkdir -p "$WS/.ralph"
	echo 'network: {provider_tools: none}' >"$WS/.ralph/config.yaml"
	run -0 send '{"tools":[{"type":"web_search_20250305","name":"web_search"}]}'
	has "$output" 403
	for more in all '[web_fetch]'; do
		echo "network: {provider_tools: $more}" >"$WS/.ralph/config.yaml"
		run -2 ralph run -- true
		has "$output" 'network.provider_tools'
		has "$output" 'ralph trust'
	done
}

@test 'the audit, net ls and inspect show the tools' {
	run -0 ralph audit -- true
	has "$output" 'tools that providers may run for requests: web_search'
	run -0 ralph audit --provider-tools none -- true
	has "$output" 'for requests: none'
	run -0 ralph net ls
	has "$output" 'provider tools: web_search'
	run -0 ralph net ls --json
	has "$output" '"provider_tools"'
	ralph run -- true
	run -0 ralph inspect --json "$(sandbox)"
	has "$output" '"provider_tools"'
	run -2 ralph run --provider-tools 'all,web_fetch' -- true
	has "$output" 'is no choice of provider tools'
}
