#!/usr/bin/env bats
# runs: user
# What sandboxes use at providers is on record, has a price, and may have an end.
load helpers
load sandbox
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

ask() {
	ralph run "$@" -- sh -c "$ASK"
}

# of_supervisor PROGRAM: the process that the supervisor of $box started.
of_supervisor() {
	pgrep -x -P "$(ralph inspect --json "$box" | get 'j["live"]["supervisor"]')" "$1"
}

gateway_ended() {
	[ -n "$(ralph events --type gateway-end "$box")" ]
}

# field NAME [ROW]: of a row of ralph usage --json.
field() {
	ralph usage --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[int(sys.argv[2])][sys.argv[1]])' \
		"$1" "${2:-0}"
}

@test 'what an answer says it used is counted by sandbox, day and model' {
	same 200 "$(ask)"
	same 200 "$(ask)"
	same "$(sandbox)" "$(field sandbox)"
	same claude-test "$(field model)"
	same "$(date -u +%F)" "$(field day)"
	same 2 "$(field requests)"
	same 6 "$(field input)"
	same 10 "$(field output)"
	# A Claude nobody knows costs 15 and 75 dollars.
	same 0.00084 "$(field usd)"
	run -0 ralph usage "$(sandbox)"
	has "$output" claude-test
	has "$output" 0.0008
}

@test 'usage survives rm and run --rm, and is counted once' {
	local box

	same 200 "$(ask)"
	box=$(sandbox)
	ralph rm "$box"
	same 200 "$(ask --rm)"
	same "$box" "$(field sandbox)"
	same '[2, 6, 10]' "$(ralph usage --json | get '[sum(r[k] for r in j) for k in ("requests", "input", "output")]')"
	has "$(ralph usage "$box")" claude-test
	same 200 "$(ask)"
	same 3 "$(ralph usage --json "$box" | get 'sum(r["requests"] for r in j)')"
	same '[]' "$(ralph usage --json --since 2999-01-01)"
}

@test 'usage from before --since is left out' {
	same 200 "$(ask)"
	same '[]' "$(ralph usage --json --since 2999-01-01)"
	same 1 "$(ralph usage --json --since 1h | grep -c '"model"')"
	run -2 ralph usage --since yesterday
	has "$output" 'is no time'
	run -1 ralph usage no-such-sandbox
}

@test 'prices are what the user says' {
	config 'prices: ["claude-test=1000/2000"]'
	same 200 "$(ask)"
	same 0.013 "$(field usd)"
	run -2 ralph run --budget 5euro -- true
	has "$output" 'is not an amount'
	config 'prices: ["claude-test=cheap"]'
	run -2 ralph run -- true
	has "$output" 'is no price'
}

@test 'a request beyond the budget is answered with 402, once and for all, and does not leave' {
	same 200 "$(ask --budget-tokens 10)"
	same 200 "$(ask --budget-tokens 10)"
	same 2 "$(requests)"
	# 16 of 10 are used, also after the sandbox was stopped and started again.
	same 402 "$(OUT=$WS/answer ask --pass OUT --budget-tokens 10)"
	has "$(cat "$WS/answer")" 'used up: 16 of 10 tokens'
	same 2 "$(requests)"
	run -0 ralph net log --denied
	has "$output" 'used up: 16 of 10 tokens'
	same 200 "$(ask --budget-tokens 17)"
}

@test 'what a login was used for, and a budget that is used up, are events that ralph why explains' {
	same '200 200 402 402' "$(ralph run --budget-tokens 10 -- sh -c "
		for i in 1 2 3 4; do $ASK; done" | tr '\n' ' ' | sed 's/ $//')"
	run -0 ralph events --type credential
	has "$output" 'anthropic used for POST'
	# Told once, however often it refuses.
	same 1 "$(ralph events --type budget --json | wc -l)"
	id=$(ralph events --type budget | awk '{ print $1 }')
	run -1 ralph why "$id"
	has "$output" 'used up: 16 of 10 tokens'
	has "$output" 'setting   budget.tokens'
	has "$output" 'ralph run --budget-tokens 32'
	ralph events verify
}

@test 'a gateway that was killed takes neither the budget nor the login along' {
	ralph run -d --budget-tokens 10 -- true
	box=$(sandbox)
	same 200 "$(ralph exec "$box" sh -c "$ASK")"
	helper=$(of_supervisor cred)
	kill -9 "$(of_supervisor gateway)"
	wait_until gateway_ended
	same 200 "$(ralph exec "$box" sh -c "$ASK")"
	# The one that counts renewals and holds the login is the same.
	same "$helper" "$(of_supervisor cred)"
	kill -9 "$(of_supervisor gateway)"
	same 402 "$(ralph exec "$box" sh -c "$ASK")"
	same 2 "$(requests)"
}

@test 'within one life of a sandbox every request is checked against the budget' {
	same '200 200 402 402' "$(ralph run --budget 0.0005 -- sh -c "
		for i in 1 2 3 4; do $ASK; done" | tr '\n' ' ' | sed 's/ $//')"
	same 2 "$(requests)"
}

@test 'a live sandbox does not take a command with another budget' {
	ralph run -d --budget 1 -- true
	run -2 ralph run --budget 2 -- true
	has "$output" budget
}
