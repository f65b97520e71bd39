#!/usr/bin/env bats
# runs: user
# seconds: 40
# A gateway that dies: what it carried ends, the next connection has another one, and nothing is wider than before.
# shellcheck disable=SC2030,SC2031,SC2154 # every test is a process of its own; bats sets stderr
load ../cli/helpers
load ../cli/sandbox
load ../lib/netbed

setup() {
	netbed_setup
}

teardown() {
	netbed_teardown
}

# kill_gateway [SIGNAL [PROGRAM]]: the one that runs now, or its edge; both are known to have ended when this returns.
kill_gateway() {
	local pid times

	pid=$(gateway_pid "${2:-gateway}") || :
	times=$(events | grep -c '"gateway-end"' || :)
	[ -n "$pid" ] || fail "there is no ${2:-gateway}"
	kill -"${1:-KILL}" "$pid"
	wait_until has_ended $((times + 1))
	same "" "$(gateway_pid)$(gateway_pid edge)"
}

has_ended() {
	[ "$(events | grep -c '"gateway-end"')" -ge "$1" ]
}

# address_of NAME: its stand-in.
address_of() {
	box python3 -c 'import socket, sys; print(socket.gethostbyname(sys.argv[1]))' "$1"
}

ends_and_starts_again() {
	net '{allow: [other.test, "localhost:5432"], rules: [{host: allowed.test, methods: [GET]}]}'
	has "$(direct timeout 5 bash -c 'exec 3<>/dev/tcp/127.0.0.1/5432; head -1 <&3')" "line server 5432"
	box curl -sS -m 30 -o /dev/null http://other.test/endless >"$T/out" 2>&1 3>&- &
	wait_until grep -q endless "$BED/requests.log"
	kill_gateway KILL "$1"
	wait $! && fail "the transfer went on"
	# Inspected TLS, by a certificate of the same authority; a tunnel; a service of the host; names and stand-in addresses.
	has "$(box curl -sS -m 20 https://allowed.test/a)" "GET /a"
	has "$(box curl -sS -m 20 https://other.test/b)" "GET /b"
	has "$(direct curl -sS -m 20 https://other.test/c)" "GET /c"
	has "$(direct timeout 20 bash -c 'exec 3<>/dev/tcp/127.0.0.1/5432; head -1 <&3')" "line server 5432"
	# And it decides as the one before.
	must_fail box curl -sS -m 5 https://wild.test/a
	has "$(box curl -sS -m 20 -d x https://allowed.test/a)" '"error":"refused by ralph"'
	all_refused "$(attack to 8.8.4.1 80 'GET / HTTP/1.1\r\n\r\n')"
}

# bats test_tags=root
@test 'a gateway killed in mid-transfer ends its connections, and the next one has another gateway' {
	ends_and_starts_again gateway
}

@test 'an edge killed in mid-transfer ends its connections, and the next one has another edge' {
	ends_and_starts_again edge
}

@test 'an edge that has ended takes its gateway with it, and the log has how it ended' {
	has "$(box curl -sS http://allowed.test/a)" "GET /a"
	old=$(gateway_pid)
	kill_gateway SEGV edge
	has "$(ralph events --type gateway-end "$BOX")" "killed by SIGSEGV"
	[ ! -e "/proc/$old" ]
	has "$(box curl -sS -m 20 http://allowed.test/a)" "GET /a"
}

@test 'ls, status and events say why a gateway ended, and how often' {
	has "$(box curl -sS http://allowed.test/a)" "GET /a"
	run --separate-stderr ralph ls
	lacks "$stderr" gateway
	kill_gateway KILL
	has "$(ralph events --type gateway-end "$BOX")" "killed by SIGKILL; the next connection starts it again"
	has "$(box curl -sS -m 20 http://allowed.test/a)" "GET /a"
	kill_gateway SEGV
	has "$(ralph events --type gateway-end "$BOX")" "killed by SIGSEGV, 2 times since the start"
	run --separate-stderr ralph ls
	has "$stderr" "the gateway of '$BOX' ended 2 times: killed by SIGSEGV"
	same 2 "$(field "$BOX" gateway_ends)"
	same "killed by SIGSEGV" "$(field "$BOX" gateway_why)"
	has "$(ralph status)" "the gateway of '$BOX' ended 2 times since its start: killed by SIGSEGV"
	same 2 "$(ralph status --json | get 'j["sandboxes"][0]["gateway_ends"]')"
	# A new start has a new count.
	ralph stop "$BOX"
	rm "$BED/up"
	has "$(box curl -sS http://allowed.test/a)" "GET /a"
	lacks "$(ralph status)" gateway
}

@test 'an address that stood for a name leads to no other name after the gateway has ended' {
	local before after

	net '{allow: ["allowed.test:22", "other.test:22", allowed.test, other.test]}'
	before=$(address_of allowed.test)
	has "$before" 198.18.
	has "$(attack to "$before" 22 '')" "line server"
	# Tunnels alone need no gateway.
	same "" "$(gateway_pid)"
	kill_gateway KILL edge
	# Nobody has asked for a name since: it stands for nothing.
	all_refused "$(attack to "$before" 22 '')"
	# Another name gets another address, which leads to it in every protocol; the old one still leads nowhere.
	after=$(address_of other.test)
	has "$after" 198.19.
	has "$(attack to "$after" 22 '')" "line server"
	all_refused "$(attack to "$before" 22 'SSH-2.0-x\r\n')"
	has "$(direct curl -sS -m 20 https://other.test/b)" "GET /b"
	must_fail direct curl -sS -m 20 --connect-to "allowed.test:443:$before:443" https://allowed.test/a
}

@test 'a gateway that ends again and again is waited for, and in the end is not started any more' {
	has "$(box curl -sS http://allowed.test/a)" "GET /a"
	kill_gateway
	# On a machine so busy that one lives for a minute, that one does not count.
	until event '"gateway-end"' '"over":true'; do
		has "$(box curl -sS -m 60 http://allowed.test/a)" "GET /a"
		kill_gateway
	done
	must_fail box curl -sS -m 5 http://allowed.test/a
	same "" "$(gateway_pid)$(gateway_pid edge)"
	has "$(ralph events --type gateway-end "$BOX" | tail -1)" "it is not started again"
	same alive "$(box echo alive)"
	[ "$(events | grep -c '"gateway-start"')" -ge 8 ]
}
