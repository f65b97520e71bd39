# runs: user
# seconds: 20
# What is read of a provider's answers: nothing of a credential gets into the log, and no form of a request is free.
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

# ask QUERY TIMES BODY [CURL OPTION…]
ask() {
	local q=$1 n=$2 body=$3
	shift 3

	"$RALPH" run --budget-tokens 10 -- sh -c "for i in \$(seq $n); do curl -sS -o /dev/null -w '%{http_code}\n' $* -X POST \
		-H 'x-api-key: '\$ANTHROPIC_API_KEY -d '$body' \$ANTHROPIC_BASE_URL/v1/messages?$q; done"
}

@test 'a key in the place of the name of a model does not get into the log' {
	ask model-is-key 1 '{}'
	lacks "$("$RALPH" usage --json)" key-of-the-host
	lacks "$(cat "$XDG_STATE_HOME"/ralph/sandboxes/*/events.jsonl)" key-of-the-host
}

@test 'answers that do not say what they used come to an end too' {
	has "$(ask no-usage 8 '{}')" 402
}

@test 'a client that hangs up before the end of a stream has used what it was told' {
	ask slow-end 1 '{"stream":true}' -N -m 0.5 || true
	same 5 "$("$RALPH" usage --json | python3 -c 'import json, sys; print(sum(r["output"] for r in json.load(sys.stdin)))')"
}
