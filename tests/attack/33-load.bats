# runs: user
# seconds: 50
# Load: many, slow and endless peers cost a bounded amount of memory, and others are served meanwhile.
load ../cli/helpers
load ../lib/netbed

setup() {
	netbed_setup
	net '{allow: [allowed.test, "allowed.test:22"]}'
	cp "$BATS_TEST_DIRNAME/load.py" "$WS/load.py"
	touch "$BED/quiet"
	has "$(box curl -sS http://allowed.test/a)" "GET /a"
	EDGE=$(gateway_pid edge)
	GATEWAY=$(gateway_pid)
	IDLE=$(rss)
}

teardown() {
	stop_load
	netbed_teardown
}

# Resident memory of edge and gateway, KiB.
rss() {
	awk '/^VmRSS/ { sum += $2 } END { print sum }' "/proc/$EDGE/status" "/proc/$GATEWAY/status"
}

# grown_at_most KIB: since it was idle.
grown_at_most() {
	local now

	now=$(rss)
	echo "# edge and gateway: $IDLE KiB idle, $now KiB now" >&3
	[ $((now - IDLE)) -le "$1" ] || fail "they grew from $IDLE to $now KiB"
}

others_are_served() {
	has "$(box curl -sS -m 20 http://allowed.test/other)" "GET /other"
	has "$(box curl -sS -m 20 https://allowed.test/other)" "GET /other"
}

# load LOAD N: stands when this returns; stop_load ends it.
load_up() {
	mkfifo "$T/load"
	box python3 load.py "$@" <"$T/load" >"$T/load.out" 2>&1 3>&- &
	LOAD=$!
	exec 9>"$T/load"
	wait_until -t 50 grep -q . "$T/load.out"
	same up "$(cat "$T/load.out")"
}

stop_load() {
	[ -n "${LOAD:-}" ] || return 0
	exec 9>&-
	wait "$LOAD" 2>/dev/null || true
	LOAD=
}

# A machine with a low limit of open files has fewer: two descriptors per tunnel, one for the rest.
@test '10,000 idle connections cost little and others are served' {
	local n=10000 hard

	hard=$(awk '/Max open files/ { print $5 }' "/proc/$EDGE/limits")
	[ "$hard" -ge 13000 ] || n=$((hard * 7 / 10))
	load_up idle "$n"
	echo "# $n connections" >&3
	grown_at_most 40960
	others_are_served
}

@test '500 readers that do not read cost a bounded amount of memory and others are served' {
	load_up readers 500
	others_are_served
	grown_at_most $((500 * 400))
	others_are_served
}

@test 'one that reads nothing of an endless body holds a fixed amount' {
	load_up readers 1
	others_are_served
	grown_at_most 2048
}

@test '1,000 writers that do not finish their heads cost little and others are served' {
	load_up writers 1000
	others_are_served
	grown_at_most 20480
}

@test 'a head of 1 GB is refused at its limit, and 1 GB of heads leaves no memory behind' {
	has "$(box python3 load.py head 1000000000)" "HTTP/1.1 4"
	grown_at_most 4096
	has "$(box python3 load.py heads 1000000000)" sent
	grown_at_most 4096
	others_are_served
}

@test "a server's head without an end is refused at its limit" {
	has "$(box curl -sS -m 20 -w '%{http_code}' http://allowed.test/head-endless)" 502
	grown_at_most 4096
	others_are_served
}

@test 'an endless chunked body passes through a fixed amount of memory, and others are served meanwhile' {
	box python3 load.py chunks 300000000 >"$T/chunks" 2>&1 3>&- &
	others_are_served
	grown_at_most 4096
	others_are_served
	wait $!
	grown_at_most 4096
}

@test 'a flood of refusals makes a bounded log' {
	local before after

	before=$(events | wc -l)
	has "$(box python3 load.py refusals 8000)" up
	wait_until event '"host":"(many)"' '"verdict":"deny"'
	after=$(events | wc -l)
	[ $((after - before)) -lt 4000 ] || fail "$((after - before)) events for 8000 refusals"
	others_are_served
}
