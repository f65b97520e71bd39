#!/usr/bin/env bats
# runs: user
# Sandboxes and the host's own Claude Code renew one login: the real program, at its real addresses, in a
# network of the test's own where those addresses are a scripted provider.
# shellcheck disable=SC2030,SC2031 # every test is a process of its own
load ../cli/helpers
load ../cli/sandbox
load ../lib/cred

setup() {
	ralph_setup
	need openssl python3 curl unshare nsenter ip
	if [ ! -x "${RALPH_AGENTS:-/nonexistent}/bin/claude" ]; then
		case " ${RALPH_TEST_REQUIRE:-} " in
		*" all "* | *" agents "*) fail "the agents are not installed; run: scripts/agents.sh" || return ;;
		*) skip "the agents are not installed; run: scripts/agents.sh" ;;
		esac
	fi
	PROV=$T/provider
	test_authority "$PROV" "DNS:api.anthropic.com,DNS:platform.claude.com"
	# The expired token is worth nothing: who goes on has the new one.
	provider_refresh sk-ant-ort01-first sk-ant-oat01-none
	login sk-ant-oat01-first sk-ant-ort01-first 1000
	world_start
	export RALPH_AGENT=claude
}

teardown() {
	touch "$PROV/watched"
	[ -z "${WORLD:-}" ] || kill "$WORLD" 2>/dev/null
	ralph_teardown
}

# A network where Anthropic's names are this machine, at an address that looks like any other.
world_start() {
	local own=(--map-current-user --keep-caps)

	[ "$(id -u)" -ne 0 ] || own=()
	echo '8.8.4.4 api.anthropic.com platform.claude.com' >"$PROV/hosts"
	printf 'hosts: files\n' >"$PROV/nsswitch.conf"
	# shellcheck disable=SC2016
	env -u T unshare "${own[@]}" --net --mount sh -c '
		mount --bind "$1/hosts" /etc/hosts &&
		mount --bind "$1/nsswitch.conf" "$(readlink -f /etc/nsswitch.conf)" &&
		ip link set lo up && ip addr add 8.8.4.4/32 dev lo &&
		exec python3 "$2/anthropic.py" "$1" 443 8.8.4.4' sh "$PROV" "$CRED_LIB" >"$PROV/log" 2>&1 3>&- &
	WORLD=$!
	wait_until test -e "$PROV/port" || fail "$(cat "$PROV/log")"
}

world() {
	local own=(--user --preserve-credentials)

	[ "$(id -u)" -ne 0 ] || own=()
	# shellcheck disable=SC2016
	SSL_CERT_FILE=$PROV/ca.pem NODE_EXTRA_CA_CERTS=$PROV/ca.pem CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 \
		nsenter -t "$WORLD" "${own[@]}" --net --mount sh -c 'cd "$0" && exec "$@"' "$PWD" "$@"
}

host_claude() {
	world timeout 120 "$RALPH_AGENTS/bin/claude" -p hi </dev/null >"$T/claude.out" 2>&1 3>&- &
	CLAUDE=$!
}

# sandbox_asks N: one request from sandbox N.
sandbox_asks() {
	world "$RALPH" run -n "box$1-${WS##*-}" -- sh -c "$ASK" </dev/null >"$T/box$1.out" 2>&1 3>&- &
	eval "BOX$1=\$!"
}

renewals() {
	[ "$(requests /oauth/token)" -ge "$1" ]
}

# Both sandboxes have asked for a credential.
both_asked() {
	[ "$(grep -l credential-start "$XDG_STATE_HOME"/ralph/sandboxes/*/events.jsonl 2>/dev/null | wc -l)" -eq 2 ]
}

# Every state of the file that there is to see holds a login.
watch_file() {
	python3 - "$HOME/.claude/.credentials.json" "$PROV/watched" "$T/wiped" <<-'PY' 3>&- &
		import json, os, sys, time
		path, over, wiped = sys.argv[1:]
		while not os.path.exists(over):
		    with open(path) as f:
		        text = f.read()
		    try:
		        login = json.loads(text)["claudeAiOauth"]
		        good = login["accessToken"] and login["refreshToken"] and login["expiresAt"]
		    except (ValueError, KeyError):
		        good = False
		    if not good:
		        with open(wiped, "w") as f:
		            f.write(text)
		    time.sleep(0.002)
	PY
}

all_went_on() {
	wait "$BOX1" || fail "$(cat "$T/box1.out")" || return
	wait "$BOX2" || fail "$(cat "$T/box2.out")" || return
	wait "$CLAUDE" || fail "claude: $(cat "$T/claude.out")"
	has "$(cat "$T/box1.out")" 200
	has "$(cat "$T/box2.out")" 200
	has "$(cat "$T/claude.out")" hello
	same 1 "$(requests /oauth/token)"
	same sk-ant-oat01-fresh-2 "$(saved accessToken)"
	same sk-ant-ort01-fresh-2 "$(saved refreshToken)"
	[ ! -e "$T/wiped" ] || fail "the file was: $(cat "$T/wiped")"
	has "$(cat "$HOME/.claude/.credentials.json")" mcpOAuth
}

@test 'two sandboxes come while the host renews: one renewal, all go on' {
	watch_file
	touch "$PROV/hold"
	host_claude
	wait_until -t 60 renewals 1
	sandbox_asks 1
	sandbox_asks 2
	wait_until -t 60 both_asked
	rm "$PROV/hold"
	all_went_on
}

@test 'the host and another sandbox come while a sandbox renews: one renewal, all go on' {
	watch_file
	touch "$PROV/hold"
	sandbox_asks 1
	wait_until -t 60 renewals 1
	[ -d "$HOME/.claude/.oauth_refresh.lock" ]
	host_claude
	sandbox_asks 2
	wait_until -t 60 both_asked
	wait_until -t 60 test -e "$HOME/.claude.json"
	rm "$PROV/hold"
	all_went_on
}
