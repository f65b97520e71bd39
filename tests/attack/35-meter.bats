# runs: user
# seconds: 20
# What is read of a provider's answers: nothing of a credential gets into the log.
# shellcheck disable=SC2016
load ../cli/helpers
load ../cli/sandbox
load ../lib/cred

setup() {
	ralph_setup
	provider_start
	provider_takes key-of-the-host-0123456789
	export ANTHROPIC_API_KEY=key-of-the-host-0123456789
}

teardown() {
	provider_stop
	ralph_teardown
}

@test 'a key in the place of the name of a model does not get into the log' {
	"$RALPH" run -- sh -c "curl -sS -o /dev/null -X POST -H 'content-type: application/json' -H 'x-api-key: '\$ANTHROPIC_API_KEY \
		-d '{\"model\":\"m\",\"max_tokens\":1}' \$ANTHROPIC_BASE_URL/v1/messages?as=key"
	has "$("$RALPH" usage --json)" '"*'
	lacks "$("$RALPH" usage --json)" key-of-the-host
	lacks "$(cat "$XDG_STATE_HOME"/ralph/sandboxes/*/events.jsonl)" key-of-the-host
}

@test 'a key of the attacker in another spelling of its field never reaches the provider' {
	"$RALPH" run -- sh -c 'curl -sS -o /dev/null -X POST -H "x-api-key: $ANTHROPIC_API_KEY" -H "X_Api_Key: of-the-attacker" \
		-d "{}" $ANTHROPIC_BASE_URL/v1/messages'
	lacks "$(cat "$PROV/requests.jsonl")" attacker
}
