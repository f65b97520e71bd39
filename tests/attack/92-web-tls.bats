#!/usr/bin/env bats
# runs: root user
# The page of `ralph web` from another machine: TLS, which ends in a process of its own.
load ../cli/helpers
load ../lib/web

teardown() {
	web_stop
	ralph_teardown
}

# over_tls ARG…: curl, which trusts the certificate of ralph's own alone.
over_tls() {
	curl -sS --max-time 20 --cacert "$XDG_STATE_HOME/ralph/web/cert.pem" "$@"
}

# tls_start [OPTION…]: SITE of a server with TLS on 127.0.0.1.
tls_start() {
	web_start --listen 127.0.0.1 "$@"
	SITE=https://127.0.0.1:$PORT
}

# tls_login: COOKIE, as the browser sends it, and KEY.
tls_login() {
	over_tls -D "$T/head" -H "Origin: $SITE" -H 'Content-Type: application/json' -d "{\"key\":\"${LINK#*#k=}\"}" "$SITE/login" >"$T/body"
	COOKIE=$(sed -n 's/^Set-Cookie: \([^;]*\);.*/\1/p' "$T/head")
	KEY=$(sed -n 's/.*"key":"\([0-9a-f]*\)".*/\1/p' "$T/body")
}

serves() {
	has "$(over_tls -H "Cookie: $COOKIE" -H "X-Ralph-Key: $KEY" "$SITE/api/overview" 2>&1)" '"loops"' 2>/dev/null
}

@test 'with --listen the page is served by TLS alone, with a fingerprint that stays, to a session whose cookie is bound to it' {
	tls_start
	tls_login
	has "$(cat "$T/head")" '__Host-ralph='
	has "$(cat "$T/head")" '; Secure'
	serves
	print=$(openssl x509 -noout -fingerprint -sha256 -in "$XDG_STATE_HOME/ralph/web/cert.pem")
	has "$(cat "$T/web.out")" "certificate, SHA-256: ${print#*=}"
	same 600 "$(stat -c %a "$XDG_STATE_HOME/ralph/web/key.pem")"
	# Without TLS there is no answer; a page of the plain scheme, or another name, gets none.
	must_fail curl -sS --max-time 20 "http://127.0.0.1:$PORT/"
	has "$(over_tls -o /dev/null -w '%{http_code}' -H "Origin: http://127.0.0.1:$PORT" -H 'Content-Type: application/json' -d '{}' "$SITE/login")" 403
	has "$(over_tls -o /dev/null -w '%{http_code}' -H 'Host: evil.example' "$SITE/")" 421
	web_stop
	tls_start
	has "$(cat "$T/web.out")" "${print#*=}"
}

@test 'a large page comes whole by TLS, and a client that reads nothing holds nobody up' {
	tls_start
	tls_login
	same "$(cat "${RALPH%/bin/ralph}/share/ralph/web/app.js")" "$(over_tls "$SITE/app.js")"
	exec 7<>"/dev/tcp/127.0.0.1/$PORT"
	serves
	exec 7>&-
}

@test 'web and what ends TLS come back together when one of them is killed, and sessions last' {
	tls_start
	tls_login
	for name in web-tls web desk; do
		kill -9 "$(part_of "$name")"
		wait_until serves
	done
}

@test 'a certificate of the user is used as it is, and one without its key is refused with the reason' {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$T/key.pem" -out "$T/cert.pem" -days 2 -subj /CN=x \
		-addext 'subjectAltName=IP:127.0.0.1' 2>/dev/null
	tls_start --cert "$T/cert.pem" --key "$T/key.pem"
	has "$(curl -sS --max-time 20 --cacert "$T/cert.pem" "$SITE/")" '<title>ralph'
	[ ! -e "$XDG_STATE_HOME/ralph/web/key.pem" ]
	web_stop
	must_exit 1 ralph web --port 0 --listen 127.0.0.1 --cert "$T/key.pem" --key "$T/cert.pem"
	must_exit 2 ralph web --listen 127.0.0.1 --cert "$T/cert.pem"
	must_exit 2 ralph web --cert "$T/cert.pem" --key "$T/key.pem"
	must_exit 2 ralph web --listen a-name
	must_exit 2 ralph web --listen 127.0.0.1 --socket
}

# injected CALL…: $said is how it ended, in a process that lives: one that was ended by the call before is replaced.
injected() {
	said=$("$inject" "$(part_of web-tls)" "$@") && [ -n "$said" ]
}

# bats test_tags=root
@test 'what ends TLS opens nothing once it has read its key' {
	local inject=$BATS_TEST_DIRNAME/inject said

	[ "$(id -u)" -eq 0 ] || skip 'n/a: inject.c needs root'
	[ -e "$inject" ] || inject=$BATS_TEST_DIRNAME/../../build/tests/attack/inject
	[ "$(uname -m)" = x86_64 ] || skip 'inject.c knows the registers of x86-64'
	tls_start
	for call in "read $XDG_STATE_HOME/ralph/web/key.pem" "write $T/new" "execute /bin/true" fork unix socket; do
		# shellcheck disable=SC2086 # a call and its argument
		wait_until injected $call
		same refused "$said"
	done
	[ ! -e "$T/new" ]
}
