#!/usr/bin/env bats
# runs: user
# seconds: 30
# Credentials in Docker Sandboxes: phantoms by a port of the host, AWS's keys as variables.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # text for shells inside; tests are subshells; bats sets stderr
load helpers
load sandbox
load ../lib/cred
load ../lib/providers
load ../lib/sbx

setup() {
	ralph_setup
	provider_start
	fake_sbx sbx
}

teardown() {
	provider_stop
	fake_sbx_end
	ralph_teardown
}

sbx() {
	ralph --engine sbx "$@"
}

# The machine's only way out is the proxy of its variables, and curl takes none of that name for http.
INSIDE='export http_proxy="$HTTP_PROXY"; '

# port NAME: where its endpoints are.
port() {
	ralph inspect "$1" --json | get "j['port']"
}

@test 'a key of the host works inside by host.docker.internal, and the sandbox has another one' {
	provider_takes key-of-the-host
	export ANTHROPIC_API_KEY=key-of-the-host
	same 200 "$(sbx run -- sh -c "$INSIDE$ASK")"
	same key-of-the-host "$(sent x-api-key)"
	run -0 sbx run -- sh -c 'echo "$ANTHROPIC_API_KEY $ANTHROPIC_BASE_URL"'
	has "$output" sk-ant-api03-
	has "$output" "http://host.docker.internal:$(port "$(sandbox)")/"
	has "$(calls 'policy allow')" "localhost:$(port "$(sandbox)")"
	# Neither the key nor its phantom is in an argument list.
	lacks "$(calls)" key-of-the-host
	lacks "$(calls)" sk-ant-api03-
	has "$(calls 'exec -i')" "-e ANTHROPIC_API_KEY "
}

@test 'docker sandbox: the same' {
	rm "$FAKE/sbx"
	fake_sbx docker
	provider_takes sk-ant-oat01-real
	login sk-ant-oat01-real sk-ant-ort01-real
	same 200 "$(sbx run -- sh -c "$INSIDE$ASK")"
	same 'Bearer sk-ant-oat01-real' "$(sent authorization)"
	has "$(calls 'network proxy')" "--allow-host localhost:$(port "$(sandbox)")"
}

@test 'the port is that of the sandbox for good, and gone with it' {
	export ANTHROPIC_API_KEY=key-of-the-host
	must_exit 0 sbx run -- true
	one=$(port "$(sandbox)")
	must_exit 0 sbx run -- true
	same "$one" "$(port "$(sandbox)")"
	must_fail curl -sS "http://127.0.0.1:$one/_ralph/health"
	# What sbx had allowed is taken back.
	same "[]" "$(vm allow)"
}

@test 'a port that another program has: said, and nothing started' {
	export ANTHROPIC_API_KEY=key-of-the-host
	must_exit 0 sbx run -- true
	python3 -c '
import socket, sys, time
s = socket.socket()
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen()
open(sys.argv[2], "w").close()
time.sleep(100)' "$(port "$(sandbox)")" "$T/listens" 3>&- &
	pid=$!
	wait_until test -e "$T/listens"
	before=$(calls | wc -l)
	run --separate-stderr sbx run -- true
	kill $pid
	same 125 "$status"
	has "$stderr" "port $(port "$(sandbox)")"
	lacks "$(calls | tail -n +$((before + 1)))" exec
}

# without PHANTOM-LESS-CURL-ARGS…: the status it gets.
without() {
	curl -sS -o "$T/body" -w '%{http_code}\n' --max-time 10 "$@" || true
}

@test 'another program of this machine gets nothing at that port' {
	provider_takes key-of-the-host
	export ANTHROPIC_API_KEY=key-of-the-host
	must_exit 0 sbx run -d -n open -- true
	at=http://127.0.0.1:$(port open)
	for args in "$at/" "$at/_ralph/health" "$at/_ralph/anthropic/v1/messages" "$at/_ralph/nothing/v1" \
		"-H x-api-key:guess $at/_ralph/anthropic/v1/messages" \
		"-H authorization:guess $at/_ralph/anthropic/guess/v1/messages" \
		"-X POST -d {} $at/_ralph/anthropic/v1/messages" "-x $at http://127.0.0.1:$PROV_PORT/" \
		"-x $at http://localhost/_ralph/anthropic/v1/messages"; do
		# shellcheck disable=SC2086 # words
		same 401 "$(without $args)"
		lacks "$(cat "$T/body")" anthropic
	done
	# Neither a tunnel nor SOCKS nor anything that is no HTTP.
	has "$(without -x "$at" "https://localhost:$PROV_PORT/")" 000
	has "$(without --socks5-hostname "127.0.0.1:$(port open)" "https://localhost:$PROV_PORT/")" 000
	same 0 "$(requests)"
	# And who has the phantom is served.
	same 200 "$(ralph exec open sh -c "$INSIDE$ASK")"
	same 1 "$(requests)"
	# Nobody outside this machine is listened to.
	has "$(ss -Hltn "sport = :$(port open)")" "127.0.0.1:$(port open)"
}

@test 'way env: the keys of AWS, fresh with each command, in no argument list' {
	aws_program
	export CLAUDE_CODE_USE_BEDROCK=1 AWS_REGION=eu-west-3
	config $'credentials:\n- name: anthropic\n  way: env'
	aws_takes() { :; }
	aws_host AKIDONE first-secret first-token
	must_exit 0 sbx run -d -n keys -- true
	show='echo $AWS_ACCESS_KEY_ID $AWS_SECRET_ACCESS_KEY $AWS_SESSION_TOKEN $AWS_DEFAULT_REGION $CLAUDE_CODE_USE_BEDROCK'
	same "AKIDONE first-secret first-token eu-west-3 1" "$(ralph exec keys sh -c "$show")"
	aws_host AKIDTWO second-secret second-token
	same "AKIDTWO second-secret second-token eu-west-3 1" "$(ralph exec keys sh -c "$show")"
	lacks "$(calls)" -secret
	lacks "$(calls)" -token
	has "$(calls 'policy allow')" bedrock-runtime.eu-west-3.amazonaws.com:443
	has "$(ralph --engine sbx audit 2>&1)" "variable: the real one is inside"
	has "$(ralph --engine sbx audit 2>&1)" "as AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_DEFAULT_REGION"
	must_fail grep -rq -e first-secret -e second-secret "$XDG_STATE_HOME/ralph"
}

@test 'way env is for AWS alone, and other ways of real logins are not there' {
	export ANTHROPIC_API_KEY=key-of-the-host
	for way in env mount pipe; do
		config "$(printf 'credentials:\n- name: anthropic\n  way: %s' $way)"
		run --separate-stderr sbx run -- true
		same 2 "$status"
		has "$stderr" "credentials"
	done
	lacks "$(calls)" create
}

@test 'CLAUDE_CODE_USE_BEDROCK is passed on' {
	export RALPH_AGENT=command CLAUDE_CODE_USE_BEDROCK=1
	same 1 "$(sbx run -- sh -c 'echo $CLAUDE_CODE_USE_BEDROCK')"
}

# row WHAT: of preflight's JSON in $T/checks.
row() {
	get '[(c["ok"], c["found"]) for c in j["checks"] if c["what"] == "'"$1"'"]' <"$T/checks"
}

@test 'preflight asks the gateway and for a host without a rule from inside, with either program' {
	export ANTHROPIC_API_KEY=key-of-the-host
	sbx preflight --agent claude --json >"$T/checks" || fail "$(cat "$T/checks")"
	same "[(True, 'works')]" "$(row gateway)"
	same "[(True, 'refused')]" "$(row 'a host without a rule')"
	rm "$FAKE/sbx"
	fake_sbx docker
	ralph --engine docker-sandbox preflight --agent claude --json >"$T/checks" || fail "$(cat "$T/checks")"
	same "[(True, 'works')]" "$(row gateway)"
	same "[(True, 'refused')]" "$(row 'a host without a rule')"
	unset ANTHROPIC_API_KEY
	ralph --engine docker-sandbox preflight --agent command --json >"$T/checks"
	has "$(row gateway)" 'none is needed'
}

@test 'preflight says when the gateway does not answer there, and when the sandbox reaches every host' {
	export ANTHROPIC_API_KEY=key-of-the-host
	mkdir "$T/libexec"
	cp -r "${RALPH%/bin/ralph}/libexec/ralph/." "$T/libexec"
	printf '#!/bin/sh\nexit 1\n' >"$T/libexec/edge"
	RALPH_LIBEXEC=$T/libexec must_exit 1 sbx preflight --agent claude --json >"$T/checks"
	same "[(False, 'it does not answer')]" "$(row gateway)"
	# A proxy that refuses nothing: its answer is not the policy's.
	sed -i "s/blocked by network policy/cannot be found/; s/Blocked by network policy/Not found/" "$FAKE"/fake_sbx_rules.py
	must_exit 1 sbx preflight --agent claude --json >"$T/checks"
	same "[(False, 'nothing refuses it')]" "$(row 'a host without a rule')"
}
