# runs: user
# seconds: 15
# A host with a credential that says what the sandbox tells it to: what the sandbox sees of its answers tells nothing about
# the credential. tests/unit/test-gateway-oracle.c tries every cut of every beginning.
load ../cli/helpers
load ../lib/netbed

# Of one shape.
A=tok-Zz0PqL3v9XkR7mW2nB4cD6eF8gH1jK5xYw_A
B=tok-a8Hy5TgB6rFv4EdC3wSx2Qaz1NhY7uJmI9_k

setup() {
	netbed_setup
	printf '%s\n' '{credentials: [{name: a, source: "file:~/token"}], network: {rules: [{host: allowed.test, credential: a}]}}' \
		>"$XDG_CONFIG_HOME/ralph/config.yaml"
	cp "$NETBED/../attack/oracle.py" "$WS/oracle.py"
}

teardown() {
	netbed_teardown
}

# with SECRET ARG…: what a new sandbox sees while the host's token is SECRET.
with() {
	printf '%s' "$1" >"$HOME/token"
	chmod 600 "$HOME/token"
	shift
	bed "$RALPH" run -- python3 "$WS/oracle.py" allowed.test "$@"
}

@test 'every beginning of the secret is answered as any other text: lengths, chunks, TLS records, order, bytes' {
	with "$A" "$A" >"$T/a"
	with "$B" "$A" >"$T/b"
	same 81 "$(wc -l <"$T/a")"
	same 48 "$(grep -c '"HTTP/1.1 200 OK"' "$T/a")"
	same 32 "$(grep -c '^."gzip.* "HTTP/1.1 502 ' "$T/a")"
	same 1 "$(grep -c '^."websocket", "", "HTTP/1.1 426 ' "$T/a")"
	cmp "$T/a" "$T/b" || fail "$(diff "$T/a" "$T/b" | cut -c 1-500)"
}

@test 'a secret that comes back is gone in every form of an answer, and nothing else is different' {
	local form

	with "$A" - whole >"$T/a"
	with "$B" - whole >"$T/b"
	cmp "$T/a" "$T/b" || fail "$(diff "$T/a" "$T/b")"
	lacks "$(cat "$T/a")" tok-
	for form in length chunked sse; do
		has "$(grep "^.\"$form\"" "$T/a")" "<${A//?/\*}>"
	done
}
