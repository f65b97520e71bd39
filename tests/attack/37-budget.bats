#!/usr/bin/env bats
# runs: user
# seconds: 40
# What a sandbox might do to spend more than its budget.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154
load ../cli/helpers
load ../cli/sandbox
load ../lib/cred
load ../lib/memory

setup() {
	ralph_setup
	provider_start
	provider_takes key-of-the-host
	export ANTHROPIC_API_KEY=key-of-the-host
	# A token in or out costs a thousandth of a dollar.
	config 'prices: ["dear=1000/1000/1000/1000", "claude-opus-5-5=4/20"]'
}

teardown() {
	[ ! -e "$PROV" ] || touch "$PROV/go"
	provider_stop
	ralph_teardown
}

# post HOW MODEL MAX: a command that asks for the answer HOW and prints the status.
post() {
	printf 'curl -sS -o /dev/null -w "%%{http_code}\\n" -H "content-type: application/json" -H "x-api-key: $ANTHROPIC_API_KEY" -d %s "$ANTHROPIC_BASE_URL/v1/messages?as=%s"' \
		"'{\"model\":\"$2\",\"max_tokens\":$3}'" "$1"
}

# spent: in thousandths of a dollar.
spent() {
	ralph usage --json | python3 -c 'import json, sys; print(round(sum(r["usd"] for r in json.load(sys.stdin)) * 1000))'
}

# between LOW HIGH VALUE
between() {
	if [ "$3" -lt "$1" ] || [ "$3" -gt "$2" ]; then
		fail "$3 is not within $1 and $2"
	fi
}

@test '60 requests at once spend no more than the budget and one request' {
	# Each can cost 3.75 dollars, and does.
	ralph run --budget 4 -- sh -c "
		for i in \$(seq 60); do $(post held claude-opus-5-5 187500) & done
		: >started; wait" >"$T/statuses" 3>&- &
	pid=$!
	wait_until test -e "$WS/started"
	wait_until test -s "$PROV/requests.jsonl"
	touch "$PROV/go"
	wait "$pid"
	same 60 "$(wc -l <"$T/statuses")"
	same '200 402 ' "$(sort -u "$T/statuses" | tr '\n' ' ')"
	between 4000 7760 "$(spent)"
	# The next life of the sandbox finds it used up.
	same 402 "$(ralph run --budget 4 -- sh -c "$(post whole claude-opus-5-5 1)")"
}

@test 'a request that finds the rest of the budget reserved waits, and goes on when it is not used' {
	# Each reserves more than 6 dollars, and costs 2.
	same '200 200 200 ' "$(ralph run --budget 7 -- sh -c "
		for i in 1 2 3; do $(post whole dear 2000) & done; wait" | tr '\n' ' ')"
	between 6000 6100 "$(spent)"
	same 3 "$(requests)"
}

@test 'an answer that is cut, without usage or of another type costs what was reserved' {
	before=0
	for how in cut silent text; do
		ralph run --budget 1000 -- sh -c "$(post "$how" dear 2000) || :" >/dev/null 2>&1 || :
		now=$(spent)
		# The body, what a provider may add to it, and the answer's most.
		between 6000 6300 $((now - before))
		before=$now
	done
	ralph run --budget 1000 -- sh -c "$(post whole dear 2000)"
	same 2001 $(($(spent) - before))
	run -0 ralph events --type usage
	has "$output" 'reserved: the answer did not say'
}

@test 'a request under way costs what was reserved when the gateway is killed, also after the next start' {
	touch "$PROV/keep"
	name=budget-${WS##*-}
	ralph run -d -n "$name" --budget 1000 -- true
	ralph exec "$name" sh -c "$(post cut dear 2000)" >/dev/null 2>&1 3>&- &
	pid=$!
	wait_until eval '[ "$(requests)" = 1 ]'
	kill -KILL "$(helper_of gateway "$name")"
	wait "$pid" || :
	wait_until eval '[ "$(spent)" -ge 6000 ]'
	ralph stop "$name"
	same 402 "$(ralph run -n "$name" --budget 6 -- sh -c "$(post whole dear 1)")"
}

@test 'a request under way costs what was reserved when the supervisor is killed' {
	touch "$PROV/keep"
	name=budget-${WS##*-}
	ralph run -d -n "$name" --budget 1000 -- true
	ralph exec "$name" sh -c "$(post cut dear 2000)" >/dev/null 2>&1 3>&- &
	pid=$!
	wait_until eval '[ "$(requests)" = 1 ]'
	# shellcheck disable=SC2046 # both of its halves
	kill -KILL $(helper_of supervisor "$name")
	wait "$pid" || :
	same 402 "$(ralph run -n "$name" --budget 6 -- sh -c "$(post whole dear 1)")"
	between 6000 6300 "$(spent)"
	# It is settled once.
	same 402 "$(ralph run -n "$name" --budget 6 -- sh -c "$(post whole dear 1)")"
	between 6000 6300 "$(spent)"
}

@test 'an error of the provider, and a request that was never sent, cost nothing' {
	same 529 "$(ralph run --budget 1000 -- sh -c "$(post error dear 2000)")"
	same 0 "$(spent)"
	same 403 "$(ralph run --budget 1000 -- sh -c "$(post whole dear 2000) -H 'content-encoding: gzip'")"
	same 403 "$(ralph run --budget 1000 -- sh -c "$(post whole dear '1,"service_tier":"priority"')")"
	same 403 "$(ralph run --budget 1000 -- sh -c "$(post whole dear '1,"model":"cheap"')")"
	same 403 "$(ralph run --budget 1000 -- sh -c "$(post whole dear '"1"')")"
	same 0 "$(spent)"
}

@test 'what ralph cannot meter is refused while there is a budget' {
	for path in /v1/messages/batches /v1/messages/batches/1/cancel /v1/messages/new; do
		ask='curl -sS -w "%{http_code}" -H "content-type: application/json" -H "x-api-key: $ANTHROPIC_API_KEY" -d "{}" "$ANTHROPIC_BASE_URL'$path'"'
		run -0 ralph run --budget 4 -- sh -c "$ask"
		has "$output" 403
		has "$output" 'this sandbox has a budget'
	done
	same 0 "$(requests)"
	run -0 ralph run --provider-tools all -- sh -c "$ask"
	has "$output" not_found_error
}
