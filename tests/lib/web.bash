# A server of `ralph web` for tests: `load ../lib/web` after `load ../cli/helpers`.
# shellcheck shell=bash

# web_start [OPTION…]: PORT, LINK, WEB_PID (the hand). The link is good for one login.
web_start() {
	"$RALPH" web --port 0 "$@" >"$T/web.out" 2>"$T/web.err" 3>&- 4>&- &
	WEB_PID=$!
	wait_until grep -q '#k=' "$T/web.out" || fail "$(cat "$T/web.err")"
	LINK=$(sed -n 's/.*\(https\{0,1\}:[^ ]*\)$/\1/p' "$T/web.out")
	PORT=${LINK##*:}
	PORT=${PORT%%/*}
	export PORT LINK WEB_PID
}

web_stop() {
	[ -z "${WEB_PID:-}" ] || kill "$WEB_PID" 2>/dev/null || true
	[ -z "${WEB_PID:-}" ] || wait "$WEB_PID" 2>/dev/null || true
	WEB_PID=
}

# part_of NAME: the process of this server that is called so.
part_of() {
	pgrep -P "$WEB_PID" -x "$1"
}

# raw ARG…: tests/lib/web-client.py: see there.
raw() {
	python3 "$BATS_TEST_DIRNAME/../lib/web-client.py" "$PORT" "$@"
}

# web_login LINK: COOKIE and KEY.
web_login() {
	read -r COOKIE KEY < <(raw login "${1#*#k=}")
	export COOKIE KEY
}

# api PATH: an answer of the API, by both halves of the session.
api() {
	raw get "$1" "$COOKIE" "$KEY"
}

# act VERB ID SEEN [TEXT]: the status and the answer.
act() {
	raw act "$COOKIE" "$KEY" "$@"
}

# need_browser: skips without Debian's Chromium and what drives it.
need_browser() {
	need chromium
	need node
	[ -e "${RALPH_AGENTS:-/nonexistent}/lib/node_modules/axe-core" ] || case " ${RALPH_TEST_REQUIRE:-} " in
	*" all "* | *" agents "*) fail "axe-core is not installed; run: scripts/agents.sh" ;;
	*) skip "axe-core is not installed; run: scripts/agents.sh" ;;
	esac
}

with_node() {
	local node=node

	[ ! -x "$RALPH_AGENTS/bin/node" ] || node=$RALPH_AGENTS/bin/node
	timeout 300 "$node" "$@" 3>&- 4>&-
}

# browse FILE [ARG…]: runs FILE.mjs beside the test with the link of the server.
browse() {
	with_node "$BATS_TEST_DIRNAME/$1.mjs" "$LINK" "${@:2}"
}
