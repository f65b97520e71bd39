# runs: user
# seconds: 90
# HTTP/2 and gRPC: each stream is judged, given its credential and searched like a request of HTTP/1.
# shellcheck disable=SC2016
load ../cli/helpers
load ../lib/netbed

A=tok-Zz0PqL3v9XkR7mW2nB4cD6eF8gH1jK5xYw_A
B=tok-a8Hy5TgB6rFv4EdC3wSx2Qaz1NhY7uJmI9_k

setup() {
	netbed_setup
	export TOKEN_A=$A TOKEN_B=$B
	SERVERS=()
}

teardown() {
	local pid

	for pid in "${SERVERS[@]}"; do
		kill "$pid" 2>/dev/null
	done
	netbed_teardown
}

settings() {
	printf '%s\n' "$1" >"$XDG_CONFIG_HOME/ralph/config.yaml"
}

# start NAME CMD…: a server, outside.
start() {
	local ENTER name=$1
	shift

	enter
	"${ENTER[@]}" "$@" >"$BED/server-$name.log" 2>&1 3>&- &
	SERVERS+=($!)
}

# server PORT KIND: h2bed.py, outside.
server() {
	start "$1" /usr/bin/python3 "$NETBED/h2bed.py" "$BED" "$1" "$2"
	wait_until -t 30 test -e "$BED/h2-ready-$1" || fail "$(cat "$BED/server-$1.log")"
}

h2() {
	box curl -sS --http2 "$@"
}

@test 'a host whose server speaks HTTP/2 is offered it, and the token is set and removed from head, body and trailers' {
	server 9001 tls
	settings '{credentials: [{name: a, source: "env:TOKEN_A"}], network: {rules: [{host: "allowed.test:9001", credential: a}]}}'
	out=$(h2 -i https://allowed.test:9001/secret)
	has "$out" 'HTTP/2 200'
	has "$out" 'you sent Bearer ***'
	has "$out" 'x-shown-last: Bearer ***'
	lacks "$out" "$A"
	lacks "$out" alt-svc
	has "$(cat "$BED/h2-requests.log")" "authorization=Bearer $A"
}


# raw: the cases of h2raw.py, inside.
raw() {
	cp "$NETBED/../attack/h2raw.py" "$WS"
	box env "${H2_ENV[@]}" /usr/bin/python3 h2raw.py "$@"
}

# cancelled N: as many calls were, says the server.
cancelled() {
	[ "$1" = "$(grep -c 'cancelled Slow' "$BED/grpc.log")" ]
}

@test 'grpcio: unary, streams of either side and of both, deadlines, cancelling, errors; a method that no rule allows is PERMISSION_DENIED' {
	start grpc /usr/bin/python3 "$NETBED/grpcbed.py" server "$BED" 9003
	wait_until -t 30 test -e "$BED/grpc-ready" || fail "$(cat "$BED/server-grpc.log")"
	settings '{credentials: [{name: a, source: "env:TOKEN_A"}], network: {rules: [{host: "allowed.test:9003", methods: [POST], credential: a,
		paths: [/bed.Echo/Unary, /bed.Echo/Token, /bed.Echo/Failing, /bed.Echo/Slow, /bed.Echo/ServerStream, /bed.Echo/ClientStream, /bed.Echo/Bidi]}]}}'
	cp "$NETBED/grpcbed.py" "$WS"
	out=$(box /usr/bin/python3 grpcbed.py client allowed.test:9003 Unary ServerStream ClientStream Bidi Denied Failing Token Deadline Cancel Unary)
	has "$out" 'Unary: echo x x-last=yes'
	has "$out" 'ServerStream: 0 x,1 x,2 x,3 x,4 x'
	has "$out" 'ClientStream: 1000000'
	has "$out" 'Bidi: echo m0,echo m1,echo m2,echo m3,echo m4'
	has "$out" 'Denied: PERMISSION_DENIED ralph:'
	has "$out" 'Failing: NOT_FOUND no such thing'
	has "$out" 'Token: Bearer ********'
	has "$out" 'Deadline: DEADLINE_EXCEEDED'
	lacks "$out" "$A"
	same 2 "$(grep -c '^Unary: echo' <<<"$out")"
	has "$(cat "$BED/grpc.log")" "Unary Bearer $A"
	lacks "$(cat "$BED/grpc.log")" 'Denied'
	wait_until cancelled 2
	event '"path":"/bed.Echo/Denied"' '"deny"'
}

@test 'grpc-js: the same calls' {
	modules=${RALPH_AGENTS:-/nonexistent}/lib/node_modules
	[ -e "$modules/@grpc/grpc-js" ] || case " ${RALPH_TEST_REQUIRE:-} " in
	*" all "* | *" agents "*) fail "grpc-js is not installed; run: scripts/agents.sh" ;;
	*) skip "grpc-js is not installed; run: scripts/agents.sh" ;;
	esac
	start grpc /usr/bin/python3 "$NETBED/grpcbed.py" server "$BED" 9003
	wait_until -t 30 test -e "$BED/grpc-ready" || fail "$(cat "$BED/server-grpc.log")"
	settings '{credentials: [{name: a, source: "env:TOKEN_A"}], network: {rules: [{host: "allowed.test:9003", methods: [POST], credential: a,
		paths: [/bed.Echo/Unary, /bed.Echo/Token, /bed.Echo/Slow, /bed.Echo/ServerStream, /bed.Echo/ClientStream, /bed.Echo/Bidi]}]}}'
	mkdir -p "$WS/node_modules/@grpc"
	cp -rL "$modules/@grpc/grpc-js" "$WS/node_modules/@grpc/"
	cp "$NETBED/grpcbed.js" "$WS"
	out=$(direct node grpcbed.js allowed.test:9003)
	same 2 "$(grep -c '^Unary: echo x$' <<<"$out")"
	has "$out" 'ServerStream: 0 x,1 x,2 x,3 x,4 x'
	has "$out" 'ClientStream: 1000000'
	has "$out" 'Bidi: echo m0,echo m1,echo m2,echo m3,echo m4'
	has "$out" 'Denied: PERMISSION_DENIED ralph:'
	has "$out" 'Token: Bearer ********'
	has "$out" 'Deadline: DEADLINE_EXCEEDED'
	has "$out" 'Cancel: CANCELLED'
	lacks "$out" "$A"
	has "$(cat "$BED/grpc.log")" "Unary Bearer $A"
	lacks "$(cat "$BED/grpc.log")" 'Denied'
	wait_until cancelled 2
}

@test 'curl, nghttp, Go, node and httpx speak HTTP/2 with an inspected host, and HTTP/1.1 as before' {
	server 9001 tls
	settings '{credentials: [{name: a, source: "env:TOKEN_A"}], network: {rules: [{host: "allowed.test:9001", credential: a}, {host: allowed.test, credential: a}]}}'
	same 'hello over h2' "$(h2 https://allowed.test:9001/x)"
	same '2 200' "$(h2 -o /dev/null -w '%{http_version} %{http_code}' https://allowed.test:9001/x)"
	same '1.1 200' "$(h2 -o /dev/null -w '%{http_version} %{http_code}' https://allowed.test/x)"
	# A client that speaks nothing else, with a server of either version.
	same '2 200' "$(box curl -sS --http2-prior-knowledge -o /dev/null -w '%{http_version} %{http_code}' https://allowed.test:9001/x)"
	has "$(direct nghttp -v https://allowed.test/only-2)" ':status: 200'
	has "$(cat "$BED/auth.log")" "/only-2 Bearer $A"
	same '2 200' "$(h2 -o /dev/null -w '%{http_version} %{http_code}' -T /etc/services https://allowed.test:9001/echo)"
	same "$(cat /etc/services)" "$(h2 -T /etc/services https://allowed.test:9001/echo)"
	same 'hello over h2' "$(direct nghttp https://allowed.test:9001/x)"
	mkdir -p "$T/go"
	cp "$NETBED/fetch.go" "$T/go/"
	(cd "$T/go" && GOCACHE=$T/go/cache GO111MODULE=off CGO_ENABLED=0 go build -o "$WS/gofetch" fetch.go)
	same 'hello over h2' "$(box ./gofetch https://allowed.test:9001/go)"
	cat >"$WS/h2.js" <<'EOF'
const c = require("http2").connect("https://allowed.test:9001", { ca: require("fs").readFileSync(process.env.SSL_CERT_FILE) });
c.on("error", (e) => { console.log("failed", e.message); process.exit(1); });
const r = c.request({ ":path": "/node", ":method": "POST" });
let body = "";
r.on("response", (h) => console.log(h[":status"]));
r.on("data", (d) => { body += d; });
r.on("end", () => { console.log(body.trim()); c.close(); });
r.end("some bytes");
EOF
	same $'200\nhello over h2' "$(direct node h2.js)"
	same 'HTTP/2 hello over h2' "$(box /usr/bin/python3 -c '
import httpx, os
with httpx.Client(http2=True, verify=os.environ["SSL_CERT_FILE"]) as c:
    r = c.get("https://allowed.test:9001/httpx")
    print(r.http_version, r.text.strip())')"
	same 0 "$(grep -vc "authorization=Bearer $A" "$BED/h2-requests.log")"
}

@test 'nginx and nghttpd as servers: long answers arrive whole, at clients that are quicker and slower than the gateway' {
	mkdir "$BED/www"
	head -c 3000000 /dev/urandom >"$BED/www/big"
	cat >"$BED/nginx.conf" <<EOF
daemon off; master_process off; pid $BED/nginx.pid; error_log $BED/nginx.log;
events {}
http { access_log off; client_body_temp_path $BED/t1; proxy_temp_path $BED/t2; fastcgi_temp_path $BED/t3; uwsgi_temp_path $BED/t4; scgi_temp_path $BED/t5;
server { listen 9004 ssl http2; ssl_certificate $BED/leaf.crt; ssl_certificate_key $BED/leaf.key; root $BED/www;
	if (\$http_authorization != "Bearer $A") { return 401; } } }
EOF
	start nginx nginx -c "$BED/nginx.conf"
	start nghttpd nghttpd -v -d "$BED/www" 9005 "$BED/leaf.key" "$BED/leaf.crt"
	settings '{credentials: [{name: a, source: "env:TOKEN_A"}], network: {rules: [
		{host: "allowed.test:9004", paths: [/], credential: a}, {host: "allowed.test:9005", paths: [/], credential: a}]}}'
	sum=$(sha256sum <"$BED/www/big")
	for port in 9004 9005; do
		wait_until bed curl -sSk -o /dev/null "https://127.0.0.1:$port/big" 2>/dev/null
		same "$sum" "$(h2 "https://allowed.test:$port/big" | sha256sum)"
		same "$sum" "$(direct nghttp "https://allowed.test:$port/big" | sha256sum)"
		same '2 200' "$(h2 -o /dev/null -w '%{http_version} %{http_code}' "https://allowed.test:$port/big")"
	done
	same 3 "$(grep -c "authorization: Bearer $A" "$BED/server-nghttpd.log")"
}

@test 'HTTP/2 without TLS on a port that is read: to a server that speaks it, and translated to one that does not' {
	server 9006 clear
	settings '{network: {rules: [{host: "allowed.test:9006", methods: [GET], paths: [/]}, {host: "allowed.test:80", methods: [GET], paths: [/]}]}}'
	same 'hello over h2' "$(box curl -sS --proxytunnel --http2-prior-knowledge http://allowed.test:9006/x)"
	same '2 200' "$(box curl -sS --proxytunnel --http2-prior-knowledge -o /dev/null -w '%{http_version} %{http_code}' http://allowed.test/translated)"
	same '2 403' "$(box curl -sS --proxytunnel --http2-prior-knowledge -o /dev/null -w '%{http_version} %{http_code}' -X DELETE http://allowed.test/deleted)"
	has "$(cat "$BED/requests.log")" 'GET /translated allowed.test'
	lacks "$(cat "$BED/requests.log")" deleted
}

@test 'streams of two credentials, and of none, do not share a connection to the server' {
	server 9001 tls
	settings '{credentials: [{name: a, source: "env:TOKEN_A"}, {name: b, source: "env:TOKEN_B"}], network: {rules: [
		{host: "allowed.test:9001", paths: [/a], credential: a}, {host: "allowed.test:9001", paths: [/b], credential: b},
		{host: "allowed.test:9001", paths: [/open]}]}}'
	out=$(h2 https://allowed.test:9001/a/1 https://allowed.test:9001/b/1 https://allowed.test:9001/open https://allowed.test:9001/a/2 https://allowed.test:9001/b/2)
	same 5 "$(grep -c 'hello over h2' <<<"$out")"
	same 3 "$(cut -d' ' -f1 "$BED/h2-conns.log" | sort -u | wc -l)"
	for part in /a /b /open; do
		same 1 "$(grep " $part" "$BED/h2-conns.log" | cut -d' ' -f1 | sort -u | wc -l)"
	done
	same 2 "$(grep -c "/a/. .*authorization=Bearer $A" "$BED/h2-requests.log")"
	same 2 "$(grep -c "/b/. .*authorization=Bearer $B" "$BED/h2-requests.log")"
	lacks "$(grep /open "$BED/h2-requests.log")" authorization
}

@test 'a refused stream has its own answer, and the connection lives on' {
	server 9001 tls
	settings '{network: {rules: [{host: "allowed.test:9001", methods: [GET], paths: [/open]}]}}'
	out=$(h2 -w '%{http_code} %{num_connects}\n' -o /dev/null https://allowed.test:9001/open/1 -o /dev/null https://allowed.test:9001/closed -o /dev/null https://allowed.test:9001/open/2)
	same $'200 1\n403 0\n200 0' "$out"
	lacks "$(cat "$BED/h2-requests.log")" closed
	event '"path":"/closed"' '"deny"'
}

@test 'a phantom, keys, cookies and fields that name another path do not reach the server, however often they are sent' {
	server 9001 tls
	settings '{credentials: [{name: a, source: "env:TOKEN_A"}], network: {rules: [{host: "allowed.test:9001", credential: a}]}}'
	h2 -o /dev/null -H 'authorization: Bearer mine' -H 'authorization: Bearer other' -H 'x-api-key: k' -H 'cookie: a=b' -H 'x-http-method-override: PUT' \
		-H 'x-original-url: /y' -H 'range: bytes=0-1' -H 'grpc-accept-encoding: gzip' https://allowed.test:9001/x
	same 1 "$(grep -o authorization= "$BED/h2-requests.log" | wc -l)"
	out=$(cat "$BED/h2-requests.log")
	for part in mine other x-api-key cookie override original range grpc-accept; do
		lacks "$out" "$part"
	done
}

@test 'a key, a session or a field that names another path does not reach the server as a trailer beside a credential' {
	server 9001 tls
	settings '{credentials: [{name: a, source: "env:TOKEN_A"}], network: {rules: [{host: "allowed.test:9001", credential: a}]}}'
	cp "$NETBED/../attack/h2client.py" "$WS"
	cat >"$WS/trailers.py" <<'EOF'
import h2.events
from h2client import connect, start
s, c = connect()
names = ["api-key", "x_api_key", "private-token", "x-auth-token", "cookie2", "x-amz-security-token", "accept_encoding", "destination", "x-copy-source", "x-own"]
i, over = start(c, "POST", "/x", False), False
c.send_data(i, b"body")
c.send_headers(i, [(n, "mine") for n in names], end_stream=True)
s.sendall(c.data_to_send())
while not over:
    for e in c.receive_data(s.recv(65536)):
        over |= isinstance(e, h2.events.StreamEnded)
    s.sendall(c.data_to_send())
EOF
	box /usr/bin/python3 trailers.py
	has "$(cat "$BED/h2-requests.log")" "authorization=Bearer $A"
	same 'x-own=mine' "$(grep -o '[^ ]*=mine' "$BED/h2-requests.log")"
}

@test 'a stream of text arrives piece by piece, an early answer before its request, and a cut answer is cut' {
	server 9001 tls
	settings '{credentials: [{name: a, source: "env:TOKEN_A"}], network: {rules: [{host: "allowed.test:9001", credential: a}]}}'
	# The second line comes only after the body has ended, and the body ends only after the first line came.
	mkfifo "$T/body"
	(
		exec 9>"$T/body"
		wait_until -t 20 grep -q first "$T/slow"
		printf end >&9
	) &
	h2 -N -T . https://allowed.test:9001/slow <"$T/body" >"$T/slow"
	wait $!
	same $'first\nsecond' "$(cat "$T/slow")"
	head -c 2000000 /dev/zero >"$WS/zeros"
	same early "$(direct nghttp -d zeros https://allowed.test:9001/early)"
	wait_until grep -q '^/early 8' "$BED/h2-resets.log"
	must_fail h2 https://allowed.test:9001/cut
	event '"path":"/cut"' '"error"'
}

@test 'conformance: frames, heads and HPACK that are wrong get the error that RFC 9113 and RFC 7541 have for them' {
	server 9001 tls
	settings '{network: {rules: [{host: "allowed.test:9001", paths: [/]}]}}'
	H2_ENV=()
	mapfile -t names < <(sed 's/: [a-z]*\( [0-9]*\)\?$//' "$NETBED/../attack/h2-cases.txt")
	same "$(cat "$NETBED/../attack/h2-cases.txt")" "$(raw "${names[@]}")"
	# What the server saw is what was judged: the good ones, and nothing else.
	same $'GET /x allowed.test:9001 0\nGET /x allowed.test:9001 0 accept=v x-aa=v\nGET /x allowed.test:9001 0 x-aa=0 x-aa=0 x-aa=v x-aa=v\nGET /x allowed.test:9001 0 x-aa=v x-aa=v x-aa=v x-bb=v x-te=2cs_cs' \
		"$(sort -u "$BED/h2-requests.log" | sed 's/ $//' | grep '^GET')"
	same $'POST /x allowed.test:9001 1\nPOST /x allowed.test:9001 1 x-t=1\nPOST /x allowed.test:9001 16384\nPOST /x allowed.test:9001 2\nPOST /x allowed.test:9001 5\nPOST /x allowed.test:9001 5 content-length=5' \
		"$(sort -u "$BED/h2-requests.log" | sed 's/ $//' | grep '^POST')"
}

@test 'the same odd requests without TLS, translated to a server of HTTP/1.1' {
	settings '{network: {rules: [{host: "allowed.test:8080", paths: [/]}]}}'
	H2_ENV=(H2_TLS=0 H2_PORT=8080)
	grep -v -e goaway -e closed "$NETBED/../attack/h2-cases.txt" >"$T/cases"
	mapfile -t names < <(sed 's/: [a-z]*\( [0-9]*\)\?$//' "$T/cases")
	same "$(cat "$T/cases")" "$(raw "${names[@]}")"
	# Once the server is asked whether it speaks HTTP/2.
	same '8080 PRI * None -' "$(grep -v -E '^8080 (GET|POST|HEAD) /x allowed.test:8080' "$BED/requests.log")"
}

@test 'floods of PING, SETTINGS, windows, priorities, empty frames, CONTINUATION and resets close the connection and are on record' {
	server 9001 tls
	settings '{network: {rules: [{host: "allowed.test:9001", paths: [/]}]}}'
	H2_ENV=()
	out=$(raw 'flood of PING' 'flood of SETTINGS' 'flood of WINDOW_UPDATE' 'flood of PRIORITY' 'flood of empty DATA' 'flood of CONTINUATION' 'flood of DATA that is padding' 'rapid reset')
	same 8 "$(grep -c -E 'goaway 11|closed' <<<"$out")"
	event 'too many control frames of HTTP/2'
	event 'resets too many streams'
	same 'hello over h2' "$(h2 https://allowed.test:9001/x)"
	has "$(raw '200 streams')" 'reset 7'
	# Of those that were taken, some may not have been sent on before the client left.
	[ "$(grep -c 'GET /wait' "$BED/h2-requests.log")" -le 100 ]
}

@test 'a thousand streams on ten connections whose readers are slow: memory stays, and others are served' {
	server 9001 tls
	settings '{network: {rules: [{host: "allowed.test:9001", paths: [/]}]}}'
	cp "$NETBED/../attack/h2client.py" "$WS"
	cat >"$WS/slow.py" <<'EOF'
import sys
import h2.events, h2.settings
from h2client import connect, start
conns = []
for i in range(10):
    s, c = connect()
    c.increment_flow_control_window(1 << 30)
    c.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 1000})
    for k in range(100):
        start(c, "GET", "/big/400000", True)
    s.sendall(c.data_to_send())
    conns.append((s, c, {}))
def read(n):
    """Reads n bytes of each stream, and nothing behind them."""
    for s, c, got in conns:
        s.settimeout(60)
        while any(got.get(i, 0) < n for i in range(1, 200, 2)):
            for e in c.receive_data(s.recv(65536)):
                if isinstance(e, h2.events.DataReceived):
                    got[e.stream_id] = got.get(e.stream_id, 0) + len(e.data)
            s.sendall(c.data_to_send())

read(1000)
print("stuck", flush=True)
# With each line, every stream is read 12,000 bytes further.
for n, _ in enumerate(sys.stdin, 1):
    for s, c, got in conns:
        for i in range(1, 200, 2):
            c.increment_flow_control_window(12000, i)
        s.sendall(c.data_to_send())
    read(1000 + 12000 * n)
    print("read", n, flush=True)
EOF
	mkfifo "$T/hold"
	box true
	box /usr/bin/python3 slow.py <"$T/hold" >"$T/slow.out" 2>&1 3>&- &
	slow=$!
	exec 9>"$T/hold"
	wait_until -t 60 grep -q stuck "$T/slow.out" || fail "$(cat "$T/slow.out")"
	same 'hello over h2' "$(h2 https://allowed.test:9001/x)"
	gateway=$(gateway_pid)
	[ -n "$gateway" ]
	# They are read slowly. A stream holds what its windows let through and no more, so once all of them do, memory stays.
	for n in 1 2 3 4 5 6 7 8; do
		echo >&9
		wait_until -t 60 grep -q "read $n" "$T/slow.out" || fail "$(cat "$T/slow.out")"
		same 'hello over h2' "$(h2 https://allowed.test:9001/x)"
		kib[n]=$(awk '/^VmRSS/ { print $2 }' "/proc/$gateway/status")
	done
	[ "${kib[8]}" -lt 320000 ] || fail "the gateway has ${kib[*]} KiB"
	[ $((kib[8] - kib[5])) -lt 16000 ] || fail "the gateway has ${kib[*]} KiB"
	exec 9>&-
	wait "$slow"
}

@test 'a WebSocket over HTTP/2 is judged and opened as one of HTTP/1.1' {
	settings '{credentials: [{name: a, source: "env:TOKEN_A"}], network: {rules: [{host: allowed.test, methods: [GET], paths: [/chat, /plain]},
		{host: other.test, methods: [GET], credential: a}]}}'
	cat >"$WS/socket.js" <<'EOF'
// socket.js HOST PATH: what came of it, and what is said to "frames".
const [host, path] = process.argv.slice(2);
const c = require("http2").connect("https://" + host, { ca: require("fs").readFileSync(process.env.SSL_CERT_FILE) });
c.on("error", (e) => { console.log("failed", e.message); process.exit(1); });
c.on("remoteSettings", (s) => {
	if (!s.enableConnectProtocol) { console.log("not offered"); process.exit(1); }
	const r = c.request({ ":method": "CONNECT", ":protocol": "websocket", ":path": path, "sec-websocket-version": "13", "sec-websocket-key": "mine" }, { endStream: false });
	r.on("response", (h) => {
		console.log(h[":status"], h["sec-websocket-accept"] || "", h.upgrade || "");
		if (h[":status"] === 200) r.write("frames");
	});
	r.on("data", (d) => { console.log(d.toString().slice(0, 40)); r.close(); });
	r.on("error", (e) => console.log(e.code));
	r.on("close", () => c.close());
});
EOF
	same $'200  \nframes' "$(direct node socket.js allowed.test /chat)"
	# The server goes on to speak HTTP, which is no agreement.
	has "$(direct node socket.js allowed.test /plain)" ERR_HTTP2_STREAM
	has "$(direct node socket.js allowed.test /other)" 403
	has "$(direct node socket.js other.test /chat)" 426
	has "$(cat "$BED/requests.log")" 'GET /chat allowed.test'
	lacks "$(cat "$BED/requests.log")" other
	event '"path":"/chat"' '"verdict":"allow"'
}

@test 'a request that is taken back at any point leaves nothing to the next one on the same connection to the server' {
	settings '{network: {rules: [{host: "allowed.test:8080", paths: [/]}]}}'
	cp "$NETBED/../attack/h2raw.py" "$WS"
	cat >"$WS/back.py" <<'EOF'
import os
os.environ.update(H2_TLS="0", H2_PORT="8080")
from h2raw import *
body = b"GET /smuggled HTTP/1.1\r\nhost: allowed.test:8080\r\n\r\n"
for n in range(0, len(body) + 1, 3):
    for length in (None, len(body), len(body) + 40):
        s = connect()
        s.settimeout(20)
        fields = b"" if length is None else literal("content-length", str(length))
        s.sendall(PREFACE + frame(SETTINGS) + request(fields, method="POST", flags=END_HEADERS) + (frame(DATA, 0, 1, body[:n]) if n else b"") +
                  frame(RST, 0, 1, b"\0\0\0\x08"))
        s.sendall(get(stream=3, path="/next"))
        print(outcome(s))
        s.close()
EOF
	out=$(box /usr/bin/python3 back.py)
	same 'status 200' "$(sort -u <<<"$out")"
	lacks "$(cat "$BED/requests.log")" smuggled
	same "$(wc -l <<<"$out")" "$(grep -c '^8080 GET /next' "$BED/requests.log")"
	same '' "$(grep -v -E '^8080 (GET /next|POST /x|PRI )' "$BED/requests.log")"
}

@test 'a secret in a field or a trailer is found in every spelling, and its lengths stay' {
	server 9001 tls
	settings '{credentials: [{name: a, source: "env:TOKEN_A"}], network: {rules: [{host: "allowed.test:9001", credential: a}]}}'
	out=$(h2 -i https://allowed.test:9001/spelled)
	for spelled in "$A" "$(printf %s "$A" | base64 -w 0)" "$(printf %s "$A" | od -An -tx1 | tr -d ' \n')" "${A//-/%2D}"; do
		lacks "$out" "$spelled"
	done
	# Four fields, four trailers, and a line of the body for each.
	same 12 "$(grep -c '\*\*\*\*\*\*\*\*' <<<"$out")"
}

@test 'every beginning of the secret is answered as any other text over HTTP/2: the lengths of frames, their order, bytes' {
	server 9001 tls
	settings '{credentials: [{name: a, source: "file:~/token"}], network: {rules: [{host: "allowed.test:9001", credential: a}]}}'
	cp "$NETBED/../attack/h2client.py" "$WS"
	# The server says what it is sent. The second piece goes when the first one, up to its last word, has come back.
	cat >"$WS/oracle.py" <<'EOF'
import sys
import h2.events
from h2client import connect, start
secret = sys.argv[1]
s, c = connect()
for n in range(len(secret)):
    i, seen, ended = start(c, "POST", "/echo", False), [], False
    c.send_data(i, b"x " + secret[:n].encode())
    s.sendall(c.data_to_send())
    while not ended:
        for e in c.receive_data(s.recv(65536)):
            if isinstance(e, h2.events.DataReceived) and e.data:
                if not seen:
                    c.send_data(i, b" and the end\n", end_stream=True)
                seen.append(e.data.decode())
                c.acknowledge_received_data(e.flow_controlled_length, i)
            ended |= isinstance(e, h2.events.StreamEnded)
        s.sendall(c.data_to_send())
    print(n, seen)
EOF
	for secret in "$A" "$B"; do
		printf '%s' "$secret" >"$HOME/token"
		chmod 600 "$HOME/token"
		bed "$RALPH" run -- /usr/bin/python3 oracle.py "$A" >"$T/$secret"
	done
	same 40 "$(wc -l <"$T/$A")"
	cmp "$T/$A" "$T/$B" || fail "$(diff "$T/$A" "$T/$B")"
	same 80 "$(grep -c 'POST /echo' "$BED/h2-requests.log")"
	same 40 "$(grep -c "POST /echo.*authorization=Bearer $B" "$BED/h2-requests.log")"
}
