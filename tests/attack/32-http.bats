# runs: user
# seconds: 15
# HTTP, SOCKS and CONNECT: what two servers could read in two ways reaches neither, and no trick of one
# protocol turns an allowed target into another.
load ../cli/helpers
load ../lib/netbed

setup() {
	netbed_setup
}

teardown() {
	netbed_teardown
}

H='Host: allowed.test\r\n'
GET="GET http://allowed.test/x HTTP/1.1\r\n$H"
POST="POST http://allowed.test/x HTTP/1.1\r\n$H"

# bad STATUS REQUEST…: each is answered with this status and the connection closed; no server hears of it.
bad() {
	local status=$1 out line
	shift

	out=$(attack raw "$@")
	same $# "$(wc -l <<<"$out")"
	while read -r line; do
		[[ $line == "refused $status" ]] || fail "'$line', wanted refused $status, for one of: $*" || return
	done <<<"$out"
	settle
	same "" "$(saw requests)"
}

@test 'a request whose end two servers would see differently is 400 and reaches none' {
	bad 400 \
		"${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG" \
		"${POST}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\nG" \
		"${POST}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello" \
		"${POST}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello" \
		"${POST}Content-Length: 5, 5\r\n\r\nhello" \
		"${POST}Content-Length: +5\r\n\r\nhello" \
		"${POST}Content-Length: 0x5\r\n\r\nhello" \
		"${POST}Content-Length: 5 5\r\n\r\nhello" \
		"${POST}Content-Length: -1\r\n\r\nhello" \
		"${POST}Content-Length: 18446744073709551621\r\n\r\nhello" \
		"${POST}Content-Length : 5\r\n\r\nhello" \
		"${POST}Content-Length\r\n\r\nhello" \
		"${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" \
		"${POST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" \
		"${POST}Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n" \
		"${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" \
		"${POST}Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n" \
		"${POST}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" \
		"${POST}Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n" \
		"POST http://allowed.test/x HTTP/1.0\r\n${H}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
	denied '' '"verb":"http"'
}

@test 'folded, bare and odd lines of a head are 400 and reach no server' {
	bad 400 \
		"${GET}X: a\r\n b\r\n\r\n" \
		"${GET}Transfer-Encoding:\r\n chunked\r\n\r\n" \
		"GET http://allowed.test/x HTTP/1.1\nHost: allowed.test\n\n" \
		"${GET}X: a\nY: b\r\n\r\n" \
		"${GET}X: a\rY: b\r\n\r\n" \
		"${GET}X: a\x00b\r\n\r\n" \
		"${GET}X\x00: a\r\n\r\n" \
		"GET http://allowed.test/\x01 HTTP/1.1\r\n$H\r\n" \
		"GET http://allowed.test/x HTTP/1.1\r\n X: y\r\n$H\r\n" \
		"G\x0bET http://allowed.test/x HTTP/1.1\r\n$H\r\n" \
		"${GET}: a\r\n\r\n" \
		"${GET}X y: a\r\n\r\n"
	all_refused "$(attack raw "GET http://allowed.test/x\r\n$H\r\n" "GET  http://allowed.test/x HTTP/1.1\r\n$H\r\n" \
		"GET http://allowed.test/x HTTP/1.1 \r\n$H\r\n" "GET http://allowed.test/x http/1.1\r\n$H\r\n" \
		" ${GET}\r\n" "\r\n\r\n\r\n")"
	same "" "$(saw requests)"
}

@test 'a request without a host, with two or with another than its target is 400 and reaches no server' {
	bad 400 \
		"GET http://allowed.test/x HTTP/1.1\r\n\r\n" \
		"${GET}Host: allowed.test\r\n\r\n" \
		"${GET}Host: other.test\r\n\r\n" \
		"GET http://allowed.test/x HTTP/1.1\r\nHost: other.test\r\n\r\n" \
		"GET http://allowed.test:80/x HTTP/1.1\r\nHost: allowed.test:8080\r\n\r\n" \
		"GET http://allowed.test/x HTTP/1.1\r\nHost: allowed.test, other.test\r\n\r\n" \
		"GET http://allowed.test/x HTTP/1.1\r\nHost: allowed.test@other.test\r\n\r\n" \
		"GET http://other.test@allowed.test/x HTTP/1.1\r\n$H\r\n" \
		"GET /x HTTP/1.1\r\n$H\r\n" \
		"GET https://allowed.test/x HTTP/1.1\r\n$H\r\n"
}

@test 'broken chunks end the request: what follows is never read as a next one' {
	local c

	for c in 'Z\r\n' '-1\r\n' '0x5\r\nhello\r\n' '5 \r\nhello\r\n' '5\nhello\n0\n\n' '5\r\nhelloX\r\n' 'ffffffffffffffffff\r\n' '5;a\x00b\r\nhello\r\n' \
		'5\r\nhello\r\n0\r\nX: y\n\r\n' '\r\n' '5;\nhello\r\n0\r\n\r\n' '00000000000000000005\r\nhello\r\n0\r\n\r\n'; do
		lacks "$(attack raw "${POST}Transfer-Encoding: chunked\r\n\r\n${c}GET http://allowed.test/smuggled HTTP/1.1\r\n$H\r\n")" REACHED
	done
	settle
	lacks "$(saw requests)" smuggled
}

@test 'hop-by-hop fields, proxy credentials and fields that a Connection names stay behind' {
	has "$(attack raw "${GET}Proxy-Authorization: Basic c2VjcmV0\r\nProxy-Connection: keep-alive\r\nConnection: close, X-Hop\r\nX-Hop: c2VjcmV0\r\nTE: x\r\n\r\n")" REACHED
	nothing_for c2VjcmV0
	has "$(attack raw "${GET}Connection: close, Host\r\n\r\n")" ''
	lacks "$(saw requests)" None
}

@test 'CONNECT is granted for allowed ports of allowed hosts only, and its target injects nothing' {
	local t

	for t in allowed.test:22 allowed.test:25 allowed.test:8080 allowed.test:0 allowed.test:65536 allowed.test:443x allowed.test allowed.test: \
		'allowed.test:+443' 'allowed.test:0443' other.test:443 'http://allowed.test:443' 'allowed.test:443/x' 'x@allowed.test:443' \
		'allowed.test:443\r\nX-Injected: yes' 'allowed.test:443 HTTP/1.1\r\nX' 'allowed.test:443#' '[allowed.test]:443' 'allowed.test:443,other.test:443' ':443' ''; do
		lacks "$(attack connect "$t")" GRANTED
	done
	denied allowed.test '"port":22'
	denied allowed.test '"port":8080'
	settle
	same "" "$(saw conns)"
	same "" "$(saw dns)"
}

@test 'a CONNECT is not relayed through an allowed server, plainly or behind a first request' {
	all_refused "$(attack connect allowed.test:80 'CONNECT other.test:80 HTTP/1.1\r\nHost: other.test:80\r\n\r\nGET /x HTTP/1.1\r\nHost: x\r\n\r\n')"
	all_refused "$(attack connect allowed.test:80 'GET http://other.test/x HTTP/1.1\r\nHost: other.test\r\n\r\n')"
	all_refused "$(attack connect allowed.test:80 'GET /x HTTP/1.1\r\nHost: other.test\r\n\r\n')"
	has "$(attack connect allowed.test:80 'GET /x HTTP/1.1\r\nHost: allowed.test\r\n\r\nCONNECT other.test:80 HTTP/1.1\r\nHost: other.test:80\r\n\r\n')" REACHED
	all_refused "$(attack to "$(box python3 -c 'import socket; print(socket.gethostbyname("allowed.test"))')" 80 'CONNECT other.test:80 HTTP/1.1\r\nHost: other.test:80\r\n\r\n')"
	all_refused "$(attack to "$(box python3 -c 'import socket; print(socket.gethostbyname("allowed.test"))')" 80 'GET /x HTTP/1.1\r\nHost: other.test\r\n\r\n')"
	settle
	lacks "$(saw requests)" CONNECT
	lacks "$(saw requests)" other.test
	no_packet_to 8.8.4.2
}

@test 'the next request of a connection is decided anew' {
	local out

	out=$(attack raw "${GET}\r\nGET http://other.test/x HTTP/1.1\r\nHost: other.test\r\n\r\nGET http://allowed.test/after HTTP/1.1\r\n$H\r\n")
	has "$out" REACHED
	denied other.test
	settle
	lacks "$(saw requests)" other.test
	lacks "$(saw requests)" after
}

@test 'a redirect to a refused host is followed nowhere' {
	has "$(box curl -sSL http://allowed.test/redirect)" '"error":"refused by ralph"'
	denied other.test
	nothing_for other.test.
	no_packet_to 8.8.4.2
}

@test 'a websocket to a refused host is refused' {
	bad 403 'GET http://other.test/x HTTP/1.1\r\nHost: other.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eHh4eHh4eHh4eHh4eHh4eA==\r\n\r\n'
	denied other.test
}

@test 'TRACE and Max-Forwards reveal nothing of the gateway' {
	lacks "$(attack raw "TRACE http://allowed.test/x HTTP/1.1\r\n${H}Max-Forwards: 0\r\nProxy-Authorization: c2VjcmV0\r\nConnection: close\r\n\r\n")" c2VjcmV0
	nothing_for c2VjcmV0
}

@test 'SOCKS: BIND, UDP and names with odd bytes are refused' {
	all_refused "$(attack socks allowed.test 80 2)"
	all_refused "$(attack socks allowed.test 80 3)"
	all_refused "$(attack socks allowed.test 80 9)"
	all_refused "$(attack socks 'allowed.test\r\nX: y' 80)"
	all_refused "$(attack socks 'allowed.test\x00' 80)"
	all_refused "$(attack socks '' 80)"
	all_refused "$(attack socks allowed.test 0)"
	all_refused "$(attack socks allowed.test 22)"
	all_refused "$(attack socks other.test 443)"
	all_refused "$(attack socks-ip 8.8.4.2 443)"
	all_refused "$(attack socks-ip 127.0.0.1 8080)"
	all_refused "$(attack socks-ip ::ffff:127.0.0.1 8080)"
	all_refused "$(attack socks-ip ::1 8080)"
	all_refused "$(attack socks-ip 0.0.0.0 8080)"
	all_refused "$(attack raw '\x04\x01\x00\x50\x08\x08\x04\x02x\x00' '\x05\x00' '\x05\x01\x02\x01\x00\x00')"
	denied other.test '"verb":"socks"'
	settle
	same "" "$(saw conns)"
}

# bats test_tags=root
@test "services of the host stay out of reach by the host's own addresses" {
	local a

	net '{tier: inet}'
	for a in 127.0.0.1 '[::1]' 0.0.0.0 '[::]' 10.1.2.3 192.168.77.1 localhost; do
		bad 403 "GET http://$a:8080/x HTTP/1.1\r\nHost: $a:8080\r\n\r\n"
	done
	settle
	same "" "$(saw conns)"
}

# bats test_tags=root
@test 'another sandbox and another user cannot use the gateway of this one' {
	local name=other-${WS##*-}

	has "$(box curl -sS http://allowed.test/a)" "GET /a"
	mkdir "$HOME/$name" && git -C "$HOME/$name" init -q
	# Its own policy speaks, whatever the first one allows.
	net '{allow: [third.test]}'
	has "$(cd "$HOME/$name" && bed "$RALPH" run --rm -n "$name" -- curl -sS http://allowed.test/a)" '"error":"refused by ralph"'
	# On the host nothing listens for a sandbox: the sockets are inside.
	must_fail bed curl -sS -m 5 http://127.0.0.1:3128/_ralph/health
	must_fail curl -sS -m 5 http://127.0.0.1:3128/_ralph/health
	[ "$(id -u)" -ne 0 ] || must_fail setpriv --reuid 65534 --regid 65534 --clear-groups "$RALPH" exec "$BOX" true
	same "" "$(bed sh -c 'cat /proc/net/unix' | grep -i 'ralph\|@' | grep -v "$T\|/tmp/ralph-$(id -u)\|$(id -u)" || true)"
	find "${XDG_RUNTIME_DIR:-/tmp/ralph-$(id -u)}" -type s ! -path '*/.*' -printf '%h %m\n' 2>/dev/null | while read -r dir _; do
		same 700 "$(stat -c %a "$dir")"
	done
}
