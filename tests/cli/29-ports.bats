#!/usr/bin/env bats
# runs: root user
# Ports of a sandbox on the host's loopback.
# shellcheck disable=SC2016,SC2154 # text for shells inside; bats sets stderr
load helpers
load sandbox

setup() {
	ralph_setup
	need python3 curl
	S=p-${WS##*/ws-}
	ralph run -d -n "$S"
}

# serve PORT [ADDRESS]: a server inside, which answers every request with the path.
serve() {
	"$RALPH" exec "$S" python3 -c '
import http.server, socket, sys
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"got " + self.path.encode())
    def do_POST(self):
        n = int(self.headers["Content-Length"]); data = self.rfile.read(n)
        self.send_response(200); self.end_headers(); self.wfile.write(data[::-1])
    def log_message(self, *a): pass
class S(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6 if ":" in sys.argv[2] else socket.AF_INET
S((sys.argv[2], int(sys.argv[1])), H).serve_forever()' "$1" "${2:-127.0.0.1}" >/dev/null 2>&1 3>&- &
}

# published INSIDE: publishes it at a free port, which is printed.
published() {
	ralph ports "$S" publish "0:$1" --json | get '[p["host"] for p in j if p["inside"] == '"$1"'][-1]'
}

answers() {
	[ "$(curl -s --noproxy '*' -m 5 "http://127.0.0.1:$1/x")" = "got /x" ]
}

@test "a published port leads to the server inside, also one that is started later, and on ::1" {
	local port six

	port=$(published 3000)
	must_fail curl -s --noproxy '*' -m 5 "http://127.0.0.1:$port/x"
	serve 3000
	wait_until answers "$port"
	six=$(published 3001)
	serve 3001 ::1
	wait_until answers "$six"
	has "$(ralph ports "$S")" "$(url_of "$port")"
}

# url_of PORT: where it is published, at the sandbox's own address.
url_of() {
	ralph ports "$S" --json | get '[p["url"] for p in j if p["host"] == '"$1"'][-1]'
}

@test "a port is published at the sandbox's own loopback address, where cookies of 127.0.0.1 do not go" {
	local port url other=${S}-2

	port=$(published 3000)
	url=$(url_of "$port")
	[[ $url =~ ^http://127\.(6[4-9]|[7-9][0-9]|1[01][0-9]|12[0-7])\.[0-9]+\.[0-9]+:$port/$ ]] || fail "$url"
	serve 3000
	wait_until answers "$port"
	same "got /x" "$(curl -s --noproxy '*' -m 5 "${url}x")"
	# Another sandbox has another one.
	ralph run -d -n "$other"
	lacks "$(ralph ports "$other" publish 0:3000 2>/dev/null)" "${url%:*}:"
	ralph stop --time 0 "$other"
	# A cookie of 127.0.0.1 is not sent there.
	printf '127.0.0.1\tFALSE\t/\tFALSE\t0\tname\tsecret\n' >"$T/cookies"
	lacks "$(curl -sv --noproxy '*' -m 5 -b "$T/cookies" "${url}x" 2>&1)" secret
	has "$(curl -sv --noproxy '*' -m 5 -b "$T/cookies" "http://127.0.0.1:$port/x" 2>&1)" secret
}

@test "127.0.0.1 leads there too, with a warning, unless ports.shared is off or somebody has the port" {
	local port

	run --separate-stderr ralph ports "$S" publish 0:3000
	has "$stderr" "ports.shared: off"
	port=$(ralph ports "$S" --json | get 'j[-1]["host"]')
	is_listening "127.0.0.1:$port"
	ralph ports "$S" unpublish "$port"
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	echo 'ports: {shared: off}' >>"$XDG_CONFIG_HOME/ralph/config.yaml"
	run --separate-stderr ralph ports "$S" publish "$port:3000"
	same "" "$stderr"
	must_fail is_listening "127.0.0.1:$port"
	is_listening "$(url_of "$port" | tr -d / | sed s/http://)"
	ralph ports "$S" unpublish "$port"
	: >"$XDG_CONFIG_HOME/ralph/config.yaml"
	python3 -c 'import socket, sys, time
s = socket.create_server(("127.0.0.1", int(sys.argv[1]))); print("up", flush=True); time.sleep(600)' "$port" >"$T/taken" 3>&- &
	wait_until grep -q up "$T/taken"
	run --separate-stderr ralph ports "$S" publish "$port:3000"
	kill "$!"
	has "$stderr" "belongs to another program"
}

is_listening() {
	need ss
	ss -Hltn | awk '{ print $4 }' | grep -qxF "$1"
}

@test "large bodies pass whole both ways, many at once" {
	local port i pids=()

	port=$(published 3000)
	serve 3000
	wait_until answers "$port"
	head -c 3000000 /dev/urandom >"$T/data"
	python3 -c 'import sys; sys.stdout.buffer.write(open(sys.argv[1], "rb").read()[::-1])' "$T/data" >"$T/back"
	for i in 1 2 3 4 5 6; do
		curl -s --noproxy '*' -m 60 --data-binary "@$T/data" "http://127.0.0.1:$port/" -o "$T/out$i" 3>&- &
		pids+=($!)
	done
	for i in 1 2 3 4 5 6; do
		wait "${pids[i - 1]}"
		cmp "$T/back" "$T/out$i"
	done
}

@test "unpublish takes nothing new; a stopped sandbox publishes nothing, and its port is free" {
	local port other

	port=$(published 3000)
	other=$(published 3002)
	serve 3000
	wait_until answers "$port"
	ralph ports "$S" unpublish "$port" >/dev/null
	must_fail curl -s --noproxy '*' -m 5 "http://127.0.0.1:$port/x"
	lacks "$(ralph ports "$S" ls)" ":$port/"
	has "$(ralph ports "$S" ls)" ":$other/"
	must_exit 1 ralph ports "$S" unpublish "$port"
	ralph stop --time 0 "$S"
	must_exit 1 ralph ports "$S"
	python3 -c 'import socket, sys; socket.create_server(("127.0.0.1", int(sys.argv[1])))' "$other"
}

@test "a port that is taken, or none, is refused; so is a sandbox that is not there" {
	local port

	port=$(published 3000)
	must_exit 1 ralph ports "$S" publish "$port:3001"
	for bad in x 65536 -1 0 80:0 80:x 1:2:3 ''; do
		must_exit 2 ralph ports "$S" publish "$bad"
	done
	must_exit 2 ralph ports "$S" publish
	must_exit 2 ralph ports "$S" nonsense 80
	must_exit 1 ralph ports no-such ls
}

@test "only the loopback of the host is listened on, and nothing inside has a socket of it" {
	local port

	port=$(published 3000)
	need ss
	same "$(printf '127.0.0.1:%s\n%s' "$port" "$(url_of "$port" | sed 's,http://,,; s,/,,')" | sort)" \
		"$(ss -Hltn "sport = :$port" | awk '{ print $4 }' | sort)"
	# From inside the port of the host is not there.
	must_fail ralph exec "$S" python3 -c 'import socket, sys; socket.create_connection(("127.0.0.1", int(sys.argv[1])), 3)' "$port"
	ralph exec "$S" "${RALPH%/bin/ralph}/libexec/ralph/probe" only-stdio 2>/dev/null || ralph selftest "$S" >"$T/out" || fail "$(cat "$T/out")"
}
