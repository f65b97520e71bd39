#!/usr/bin/env bats
# runs: user
# seconds: 15
# A sandbox uses the host's login and gets nothing of it.
# shellcheck disable=SC2030,SC2031 # every test is a process of its own
load ../cli/helpers
load ../cli/sandbox
load ../lib/cred
load ../lib/memory

setup() {
	ralph_setup
	provider_start
}

teardown() {
	provider_stop
	ralph_teardown
}

# The phantom of a start, as its commands have it.
# shellcheck disable=SC2016
PHANTOM='echo "$ANTHROPIC_API_KEY$CLAUDE_CODE_OAUTH_TOKEN"'

# try TOKEN: a request with that token instead of the sandbox's own; prints the status.
try() {
	# shellcheck disable=SC2016
	ralph run -- sh -c 'curl -sS -o /dev/null -w "%{http_code}" -X POST -H "x-api-key: $1" \
		-H "authorization: Bearer $1" -d "{}" "$ANTHROPIC_BASE_URL/v1/messages"' sh "$1"
}

# bats test_tags=root
@test 'the key of the host is nowhere inside, nor in what a run leaves' {
	provider_takes sk-ant-api03-the-real-key
	export ANTHROPIC_API_KEY=sk-ant-api03-the-real-key
	"$RALPH" run -- sleep 1000 </dev/null >/dev/null 2>&1 3>&- &
	wait_until runs 1
	box=$(sandbox)
	same 200 "$(ralph exec "$box" sh -c "$ASK")"
	assert_secret_nowhere "$box" sk-ant-api03-the-real-key
}

@test 'a login and what renewed it are nowhere inside, nor in what a run leaves' {
	provider_refresh sk-ant-ort01-the-old-one sk-ant-oat01-the-old-one
	login sk-ant-oat01-the-old-one sk-ant-ort01-the-old-one 1000
	ralph run -d -- true
	box=$(sandbox)
	same 200 "$(ralph exec "$box" sh -c "$ASK")"
	same sk-ant-ort01-fresh-2 "$(saved refreshToken)"
	assert_secret_nowhere "$box" sk-ant-oat01-the-old-one sk-ant-ort01-the-old-one \
		sk-ant-oat01-fresh-2 sk-ant-ort01-fresh-2
}

@test 'the search finds what is there' {
	export ANTHROPIC_API_KEY=sk-ant-api03-the-real-key
	"$RALPH" run -- sleep 1000 </dev/null >/dev/null 2>&1 3>&- &
	wait_until runs 1
	box=$(sandbox)
	ralph exec "$box" sh -c 'echo planted-secret-value >/tmp/f'
	must_fail assert_secret_nowhere "$box" planted-secret-value
	phantom=$(ralph exec "$box" sh -c "$PHANTOM")
	must_fail assert_secret_nowhere "$box" "$phantom"
}

@test 'a phantom is worth nothing after its run' {
	provider_takes key-of-the-host
	export ANTHROPIC_API_KEY=key-of-the-host
	old=$(ralph run -- sh -c "$PHANTOM")
	same 401 "$(try "$old")"
	same 0 "$(requests)"
}

@test 'a phantom is worth nothing in another sandbox' {
	provider_takes key-of-the-host
	export ANTHROPIC_API_KEY=key-of-the-host
	ralph run -d -n "one-${WS##*-}" -- true
	theirs=$(ralph exec "one-${WS##*-}" sh -c "$PHANTOM")
	same 401 "$(try "$theirs")"
	same 0 "$(requests)"
}

@test 'a key of the client itself does not reach the provider' {
	provider_takes key-of-the-host key-of-an-attacker
	export ANTHROPIC_API_KEY=key-of-the-host
	same 401 "$(try key-of-an-attacker)"
	same 0 "$(requests)"
	# Beside the phantom it is dropped.
	# shellcheck disable=SC2016
	same 200 "$(ralph run -- sh -c 'curl -sS -o /dev/null -w "%{http_code}" -X POST -d "{}" \
		-H "x-api-key: $ANTHROPIC_API_KEY" -H "Authorization: Bearer key-of-an-attacker" \
		"$ANTHROPIC_BASE_URL/v1/messages"')"
	same '' "$(sent authorization)"
	same key-of-the-host "$(sent x-api-key)"
}

@test 'the provider itself is out of reach but for its endpoint' {
	export ANTHROPIC_API_KEY=key-of-the-host
	# shellcheck disable=SC2016
	run ralph run -- sh -c 'curl -sSk -m 5 -o /dev/null -w "%{http_code}" "https://localhost:$1/v1/messages"; echo' sh "$PROV_PORT"
	lacks "$output" 200
	same 0 "$(requests)"
}

@test 'no path that makes, lists or changes credentials can be asked for' {
	provider_takes key-of-the-host
	export ANTHROPIC_API_KEY=key-of-the-host
	# shellcheck disable=SC2016
	run -0 ralph run -- sh -c 'for p in /v1/oauth/token /v1/organizations/api_keys /v1/messages/../oauth/token \
		/v1/messages/%2e%2e/oauth/token //v1/messages /v1/messages/..%2foauth/token /v1/files /api/oauth/profile / ""; do
		curl -sS --path-as-is -o /dev/null -w "%{http_code} $p\n" -X POST -d "{}" \
			-H "x-api-key: $ANTHROPIC_API_KEY" "$ANTHROPIC_BASE_URL$p"
	done'
	run ! grep -E '^(200|2..|401 /v1/oauth)' <<<"$output"
	same 0 "$(requests)"
}

# bats test_tags=root
@test 'what ralph starts for a sandbox has no key in its arguments or environment' {
	provider_takes sk-ant-api03-the-real-key
	export ANTHROPIC_API_KEY=sk-ant-api03-the-real-key
	ralph run -d -- true
	box=$(sandbox)
	same 200 "$(ralph exec "$box" sh -c "$ASK")"
	for name in supervisor gateway cred; do
		pids=$(helper_of "$name" "$box")
		[ -n "$pids" ] || fail "there is no $name"
		for pid in $pids; do
			lacks "$(tr '\0' '\n' <"/proc/$pid/cmdline")" the-real-key
			# Nobody else of this user can look into them; root can, and finds none.
			if [ "$(id -u)" -eq 0 ]; then
				lacks "$(tr '\0' '\n' <"/proc/$pid/environ")" the-real-key
			else
				run ! cat "/proc/$pid/environ" 2>/dev/null
				run ! ls "/proc/$pid/fd" 2>/dev/null
			fi
		done
	done
	grep -q 'Max core file size *0 *0' "/proc/$(helper_of cred "$box")/limits"
}

@test 'the helper does not run programs that the sandbox may have put into the workspace' {
	mkdir "$WS/bin" "$T/bin" "$XDG_CONFIG_HOME/ralph/tokens"
	# shellcheck disable=SC2016
	printf '#!/bin/sh\ntouch "%s/ran"\necho sk-ant-oat01-planted\n' "$T" >"$WS/bin/secret-tool"
	printf '#!/bin/sh\necho sk-ant-oat01-kept\n' >"$T/bin/secret-tool"
	chmod +x "$WS/bin/secret-tool" "$T/bin/secret-tool"
	printf '{"where":"secret-service","kind":"oauth","stored_ms":1,"expires_ms":0}' \
		>"$XDG_CONFIG_HOME/ralph/tokens/anthropic.json"
	chmod 700 "$XDG_CONFIG_HOME/ralph/tokens"
	chmod 600 "$XDG_CONFIG_HOME/ralph/tokens/anthropic.json"
	provider_takes sk-ant-oat01-kept
	PATH=$WS/bin:$T/bin:$PATH
	same 200 "$(ralph run -- sh -c "$ASK")"
	[ ! -e "$T/ran" ]
}

# bats test_tags=root
@test 'the login directory of the host is not inside' {
	login sk-ant-oat01-real sk-ant-ort01-real
	echo '{"hooks":{}}' >"$HOME/.claude/settings.json"
	mkdir "$HOME/.claude/projects"
	echo conversation-of-the-host >"$HOME/.claude/projects/one.jsonl"
	run -0 ralph run -- sh -c "cat '$HOME/.claude/.credentials.json' '$HOME'/.claude/projects/* 2>&1; true"
	lacks "$output" sk-ant
	lacks "$output" conversation-of-the-host
}

@test 'a login that is swapped for a pipe or a device does not hold a start' {
	mkdir -p "$HOME/.claude"
	mkfifo "$HOME/.claude/.credentials.json"
	run -125 timeout 20 "$RALPH" run -- true
	has "$output" 'not a regular file'
}
