#!/usr/bin/env bats
# runs: root user
# seconds: 60
# What home dials for nodes: `egress: home`, for machines without a network, and `dial: home`, for keys that do not leave home.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154
load helpers
load loop
load fleet
load ../lib/cred
load ../lib/memory
load ../lib/netbed

setup() {
	# Home's network is the bed's; a node has none.
	netbed_setup
	TMPDIR=$T/n
	export TMPDIR
	mkdir "$TMPDIR"
}

teardown() {
	[ -z "${PROV_PID:-}" ] || pkill -P "$PROV_PID" || true
	netbed_teardown
}

# at_node [LINE…]: the placement `here` is `ralph worker` in a network namespace of its own, without a route; further
# lines of the configuration.
at_node() {
	local own='' drop=''

	if [ "$(id -u)" -ne 0 ]; then
		own='--user --map-current-user --keep-caps'
		drop='setpriv --inh-caps=-all --ambient-caps=-all'
	fi
	cat >"$T/node" <<-SH
		#!/bin/sh
		echo \$\$ >"$T/worker"
		exec unshare $own --net sh -c 'ip link set lo up; ip route >>"$T/routes"; exec $drop "$RALPH" worker'
	SH
	chmod +x "$T/node"
	printf '%s\n' 'fleet:' '  pass: [RALPH_LIBEXEC, XDG_RUNTIME_DIR, TMPDIR, SSL_CERT_FILE]' '  places:' \
		"    here: {${PLACE:-egress: home}, command: [\"$T/node\"]}" "$@" >"$XDG_CONFIG_HOME/ralph/config.yaml"
}

# agent SCRIPT: an agent that does so, and leaves what it says as the task's file.
agent() {
	printf '#!/bin/bash\ncat >/dev/null\n{\n%s\n} >US-1 2>&1\n' "$1" >does.sh
	printf '%s\n' 'git add US-1' 'git commit -qm "US-1: US-1"' "echo '<promise>COMPLETE</promise>'" >>does.sh
	chmod +x does.sh
	git add -A
	git commit -qm agent
}

# places CODE [OPTION…]: the loop at home, in the bed.
places() {
	local code=0 want=$1
	shift

	bed timeout 120 "$RALPH" build --place here "$@" -- ./does.sh >"$T/out" 2>"$T/err" || code=$?
	[ $code -eq "$want" ] || fail "exit $code, wanted $want: $(cat "$T/err" "$T/out")"
}

@test 'a node without a route finishes a task: home dials what its rules allow' {
	loop_workspace 1
	at_node 'network: {allow: [allowed.test]}'
	agent 'curl -sS https://allowed.test/from-the-node; curl -sS -d some http://allowed.test/plain; curl -sS http://other.test/; curl -sS -o /dev/null -w "%{http_code}" https://other.test/'
	places 0
	merged US-1
	has "$(cat US-1)" 'GET /from-the-node at '
	same '' "$(cat "$T/routes")"
	has "$(saw requests)" '443 GET /from-the-node allowed.test allowed.test'
	has "$(saw requests)" '80 POST /plain allowed.test'
	nothing_for other.test
}

# asks TARGET… [LINE…]: a worker that asks home for these tunnels, and what home says to each.
asks() {
	local how=$1
	shift

	rm -rf "$T/told" "$WS"
	make_workspace "$WS" "t-$RANDOM"
	cd "$WS" || return
	loop_workspace 1
	at_place "$how"
	sed -i "s/here: {/here: {${PLACE:-egress: home}, /" "$XDG_CONFIG_HOME/ralph/config.yaml"
	printf '%s\n' "$@" >>"$XDG_CONFIG_HOME/ralph/config.yaml"
	bed timeout 120 "$RALPH" build --place here -- ./agent.py honest >"$T/out" 2>"$T/err" || fail "$(cat "$T/err" "$T/out")"
	cat "$T/told/opened"
}

@test 'home judges each host anew: no rule, an address class, a rebound name, a service of its own' {
	zone '{"allowed.test": {"A": ["8.8.4.1"]}, "other.test": {"A": ["8.8.4.2"]}, "flip.test": {"A": ["10.1.2.3"]},
	       "loop.test": {"A": ["127.0.0.1"]}, "link.test": {"A": ["169.254.169.254"]}}'
	same 'allowed.test@443 open
other.test@443 EPERM
allowed.test@22 EPERM
flip.test@443 EPERM
loop.test@443 EPERM
link.test@443 EPERM
localhost@5432 EPERM
127.0.0.1@5432 EPERM
10.1.2.3@443 EPERM
169.254.169.254@80 EPERM
[::1]@5432 EPERM
nothing EHOSTUNREACH
endpoints EPERM' "$(asks 'open=allowed.test@443+other.test@443+allowed.test@22+flip.test@443+loop.test@443+link.test@443+localhost@5432+127.0.0.1@5432+10.1.2.3@443+169.254.169.254@80+[::1]@5432+nothing+endpoints' \
		'network: {allow: ["allowed.test:443", flip.test, loop.test, link.test, "localhost:5432"]}')"
	nothing_for other.test
	no_packet_to 10.1.2.3
	no_packet_to 169.254.169.254
	no_packet_to 127.0.0.1:5432
	has "$(cat "$T/err")" "home refuses other.test:443 for 'here'"
}

@test 'a placement without egress: home gets no tunnel at all' {
	PLACE='egress: node' run -0 asks open=allowed.test@443 'network: {allow: [allowed.test]}'
	same 'allowed.test@443 EPERM' "$output"
	no_packet_to 8.8.4.1
}

@test 'behind an allowed name there is no other server: TLS must name it, and plain bytes do not pass' {
	run -0 asks open=allowed.test@443,hello=allowed.test 'network: {allow: [allowed.test, other.test]}'
	has "$(cat "$T/told/got")" "b'\\x16\\x03"
	run -0 asks open=allowed.test@443,hello=other.test 'network: {allow: [allowed.test, other.test]}'
	lacks "$(cat "$T/told/got")" "b'\\x16\\x03"
	has "$(cat "$T/err")" 'the client names another server than the one allowed'
	run -0 asks 'open=allowed.test@443,send=GET / HTTP/1.1~Host: other.test~~' 'network: {allow: [allowed.test, other.test]}'
	lacks "$(cat "$T/told/got")" 'HTTP/1.1 200'
	has "$(cat "$T/err")" 'plain bytes on port 443'
}

# provider_at_home: the provider of lib/cred.bash in the bed, which a node does not reach, and a key that never expires.
provider_at_home() {
	local start

	start=$(declare -f provider_start)
	# Its network is home's, and so is its name.
	eval "${start/\/usr\/bin\/python3/bed \/usr\/bin\/python3}"
	eval "own_$(declare -f test_authority)"
	test_authority() {
		own_test_authority "$1" "$2,DNS:provider.test"
	}
	zone '{"provider.test": {"A": ["127.0.0.1"]}}'
	KEY=sk-ant-api03-lasting-key-of-home-0123456789
	provider_start
	provider_takes "$KEY"
	loop_workspace 1
	cat >"$T/ask" <<-'SH'
		curl -sS -o answer -w "it said %{http_code} " -H "x-api-key: $ANTHROPIC_API_KEY" -H 'content-type: application/json' \
			-d '{"model":"claude-test","max_tokens":1,"messages":[]}' "$ANTHROPIC_BASE_URL/v1/messages$1"
		cat answer
		rm answer
	SH
}

# with_provider: the configuration with it.
with_provider() {
	unset RALPH_AGENT
	at_node 'agent: command' 'credentials: [{name: anthropic}]' 'providers:' \
		"  anthropic: {origin: \"https://provider.test:$PROV_PORT\", ca_file: $PROV/ca.pem}"
	export ANTHROPIC_API_KEY=$KEY
}

@test 'dial: home: a key that never expires is used at home, the provider sees it, and the agent has its answer' {
	PLACE='egress: node'
	provider_at_home
	with_provider
	agent "$(cat "$T/ask")"
	places 0
	merged US-1
	has "$(cat US-1)" 'it said 200'
	has "$(cat US-1)" hello
	same "$KEY" "$(sent x-api-key)"
	has "$(cat "$T/err")" "the credential 'anthropic' is used at home for workers at 'here'"
	lacks "$(cat "$T/err" "$T/out" US-1)" "$KEY"
}

@test 'dial: home: what the provider does not have rows for is refused at home as well' {
	PLACE='egress: node'
	provider_at_home
	with_provider
	agent "$(cat "$T/ask")"
	provider_takes another
	places 0
	# Home has tried, and the node does not ask again.
	has "$(cat US-1)" 'it said 401'
	same 1 "$(requests)"
}

# under PID: the process and all that came of it.
under() {
	local child

	echo "$1"
	for child in $(pgrep -P "$1"); do
		under "$child"
	done
}

# node_side: every process of the node, also those that another one has left.
node_side() {
	local p

	{
		under "$(cat "$T/worker")"
		for p in /proc/[0-9]*; do
			! grep -q "$T/n/rw-" "$p/environ" 2>/dev/null || echo "${p#/proc/}"
		done
	} | sort -un
}

# holders TEXT: the programs of the node that have it in their memory, and how many were looked into in $T/looked.
holders() {
	local pid found n=0

	for pid in $(node_side); do
		# One that has ended meanwhile holds nothing.
		found=$(memory_holds "$pid" "$1" 2>/dev/null) || continue
		n=$((n + 1))
		[ "$found" -eq 0 ] || cat "/proc/$pid/comm"
	done
	echo $n >"$T/looked"
}

# held_request: a loop in the background whose request the provider has and does not answer yet.
held_request() {
	provider_at_home
	with_provider
	agent "set -- '?as=held'; $(cat "$T/ask"); while [ ! -e go-on ]; do sleep 0.1; done"
	bed timeout 120 "$RALPH" build --place here -- ./does.sh >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
	wait_until -t 60 eval '[ "$(requests)" -eq 1 ]' || fail "$(cat "$T/err")"
}

# The agent and its loop end.
goes_on() {
	touch "$(echo "$T"/n/rw-*/0/ws)/go-on"
	ends 0
}

answered() {
	grep -qs 'it said 200' "$T"/n/rw-*/0/ws/US-1
}

# bats test_tags=root
@test 'dial: home: the memory of no process of the node has the key, while a request runs and after it' {
	[ "$(id -u)" -eq 0 ] || skip 'n/a: only root can look into the programs that hold values'
	PLACE='egress: node' held_request
	same '' "$(holders "$KEY")"
	[ "$(cat "$T/looked")" -gt 5 ]
	touch "$PROV/go"
	wait_until -t 30 answered
	same '' "$(holders "$KEY")"
	[ "$(cat "$T/looked")" -gt 5 ]
	goes_on
	same "$KEY" "$(sent x-api-key)"
}

# bats test_tags=root
@test 'dial: relay: the gateway of the node has the key of a request, and no other process' {
	[ "$(id -u)" -eq 0 ] || skip 'n/a: only root can look into the programs that hold values'
	PLACE='egress: home, dial: relay' held_request
	same gateway "$(holders "$KEY")"
	touch "$PROV/go"
	wait_until -t 30 answered
	lacks "$(holders "$KEY" | grep -vx gateway)" .
	goes_on
	same "$KEY" "$(sent x-api-key)"
}

@test 'the audit says of each credential whether it is relayed, used at home or refused' {
	at_node 'credentials: [{name: anthropic}, {name: demo, source: "env:DEMO"}]' \
		'network: {rules: [{host: allowed.test, credential: demo}]}'
	sed -i 's/^fleet:/fleet:\n  place: here/' "$XDG_CONFIG_HOME/ralph/config.yaml"
	export ANTHROPIC_API_KEY=sk-ant-api03-lasting DEMO=lasting
	run -0 ralph audit -- true
	has "$output" 'here: connections are made by this machine, as its rules allow'
	has "$output" 'anthropic  is used at home, and does not leave it'
	has "$output" 'demo  may never expire and is used by rules, so it does not leave home'
	run -0 ralph audit --json -- true
	same "{'name': 'here', 'egress': 'home', 'credentials': {'anthropic': 'home', 'demo': 'refused'}}" \
		"$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])["placement"])' "$output")"
	sed -i 's/egress: home/dial: relay/' "$XDG_CONFIG_HOME/ralph/config.yaml"
	run -0 ralph audit -- true
	has "$output" "by the node's gateway"
	has "$output" "anthropic  is given to the node's gateway for one request each time"
	unset ANTHROPIC_API_KEY
	login sk-ant-oat01-access sk-ant-ort01-refresh
	sed -i 's/dial: relay/dial: home/' "$XDG_CONFIG_HOME/ralph/config.yaml"
	run -0 ralph audit -- true
	has "$output" "anthropic  is given to the node's gateway for one request each time"
}
