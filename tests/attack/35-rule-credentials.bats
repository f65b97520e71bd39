#!/usr/bin/env bats
# runs: user
# seconds: 20
# A credential belongs to the rule that matched the request, and a server that refuses it costs the host nothing.
# shellcheck disable=SC2016
load ../cli/helpers
load ../cli/sandbox
load ../lib/netbed

setup() {
	netbed_setup
	export TOKEN_READ=token-for-reading TOKEN_WRITE=token-for-writing
}

teardown() {
	netbed_teardown
}

# settings 'YAML'
settings() {
	printf '%s\n' "$1" >"$XDG_CONFIG_HOME/ralph/config.yaml"
}

# What the servers were given: method, path, Authorization.
given() {
	cut -d' ' -f2- "$BED/auth.log"
}

@test 'of two rules on one host each gives its own token, and one without a credential gives none' {
	settings '{credentials: [{name: r, source: "env:TOKEN_READ"}, {name: w, source: "env:TOKEN_WRITE"}],
		network: {rules: [{host: allowed.test, paths: [/open]}, {host: allowed.test, methods: [GET], paths: [/api], credential: r},
			{host: allowed.test, methods: [POST], paths: [/api/write], credential: w}]}}'
	box sh -c 'for i in 1 2; do curl -sS -o /dev/null https://allowed.test/open/x
		curl -sS -o /dev/null https://allowed.test/api/x; curl -sS -o /dev/null -d x https://allowed.test/api/write; done
		# On one connection, where a header that was kept could be used again.
		curl -sS https://allowed.test/api/y https://allowed.test/open/y >/dev/null'
	same "$(for _ in 1 2; do
		echo 'GET /open/x -'
		echo 'GET /api/x Bearer token-for-reading'
		echo 'POST /api/write Bearer token-for-writing'
	done
	echo 'GET /api/y Bearer token-for-reading'
	echo 'GET /open/y -')" "$(given)"
	run -0 bed "$RALPH" events "$BOX" --type credential
	has "$output" 'r used for GET allowed.test by rule allowed.test GET /api'
	has "$output" 'w used for POST allowed.test by rule allowed.test POST /api/write'
}

@test 'a token of a rule by method or path is on no other request of that host, in no spelling' {
	settings '{credentials: [{name: r, source: "env:TOKEN_READ"}],
		network: {rules: [{host: allowed.test}, {host: allowed.test, methods: [GET, POST]},
			{host: allowed.test, methods: [GET], paths: [/api], credential: r}]}}'
	box sh -c 'curl -sS -o /dev/null -d x https://allowed.test/api/x; curl -sS -o /dev/null https://allowed.test/apix
		curl -sS -o /dev/null https://allowed.test/API/x; curl -sS -o /dev/null https://allowed.test/
		curl -sS -o /dev/null --path-as-is https://allowed.test/x/../api/x
		curl -sS -o /dev/null https://allowed.test/%61pi/x'
	same 1 "$(given | grep -c token-for-reading)"
	has "$(given)" 'GET /api/x Bearer token-for-reading'
}

@test 'rules that name two tokens for the same request refuse it and say so' {
	settings '{credentials: [{name: r, source: "env:TOKEN_READ"}, {name: w, source: "env:TOKEN_WRITE"}],
		network: {rules: [{host: allowed.test, paths: [/api], credential: r}, {host: allowed.test, paths: [/api], credential: w}]}}'
	run -0 box curl -sS https://allowed.test/api
	has "$output" 'different credentials'
	[ ! -e "$BED/auth.log" ]
}

@test 'rules that change while the sandbox lives change what is given, and nothing else' {
	settings '{credentials: [{name: r, source: "env:TOKEN_READ"}], network: {rules: [{host: allowed.test, paths: [/api], credential: r}]}}'
	box curl -sS -o /dev/null https://allowed.test/api/1
	bed "$RALPH" net allow other.test
	box sh -c 'curl -sS -o /dev/null https://allowed.test/api/2; curl -sS -o /dev/null https://other.test/api/3'
	bed "$RALPH" net deny allowed.test:443
	box sh -c 'curl -sS -o /dev/null https://allowed.test/api/4; true'
	same "GET /api/1 Bearer token-for-reading
GET /api/2 Bearer token-for-reading
GET /api/3 -" "$(given)"
}

@test '150 answers of 401 run the command that gives the token twice at most, and are what the sandbox sees' {
	echo nothing >"$BED/takes"
	settings "{credentials: [{name: c, source: \"command:echo x >>$T/runs; echo token-of-a-command\"}],
		network: {rules: [{host: allowed.test, credential: c}]}}"
	run -0 box sh -c 'for i in $(seq 150); do set -- "$@" https://allowed.test/$i; done
		curl -sS -o /dev/null -w "%{http_code}\n" "$@"'
	same 150 "$(grep -c '^401$' <<<"$output")"
	# The first value, and one look whether there is a newer one.
	[ "$(wc -l <"$T/runs")" -le 2 ]
	# A value that has not changed is not sent a second time.
	same 150 "$(given | grep -c token-of-a-command)"
}

@test "a provider's login on requests of a rule is for the allowed tools alone, and not past a budget" {
	export ANTHROPIC_API_KEY=key-of-the-host RALPH_AGENT=claude
	rules='{providers: {anthropic: {origin: "https://allowed.test", ca_file: "'$BED/ca.pem'"}},
		network: {rules: [{host: allowed.test, credential: anthropic}]}'
	settings "$rules}"
	ask='curl -sS -H "content-type: application/json" -d "$0" "https://allowed.test$1"'
	run -0 box sh -c "$ask" '{"tools":[{"type":"web_fetch_1","name":"x"}]}' /v1/messages
	has "$output" "tool 'web_fetch' is not allowed"
	run -0 box sh -c "$ask" '{"tools":[{"type":"web_fetch_1","name":"x"}]}' /v1/%6dessages
	has "$output" "tool 'web_fetch' is not allowed"
	run -0 box sh -c "$ask" '{}' /v1/files
	has "$output" "tool 'files' is not allowed"
	lacks "$(given)" files
	box sh -c "$ask" '{}' /v1/complete >/dev/null
	has "$(given)" 'POST /v1/complete'
	bed "$RALPH" rm -f "$BOX"
	rm "$BED/up"
	settings "$rules, budget: {usd: 1}}"
	run -0 box sh -c "$ask" '{}' /v1/complete
	has "$output" 'this sandbox has a budget'
}
