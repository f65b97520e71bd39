# runs: user
# seconds: 20
# TLS: the ClientHello must name the allowed server; where requests are inspected, they are decided one by
# one, and the server behind must prove its name.
load ../cli/helpers
load ../lib/netbed

setup() {
	netbed_setup
}

teardown() {
	netbed_teardown
}

@test 'the allowed name passes, in one record, in many, byte by byte' {
	has "$(attack tls allowed.test:443 allowed.test)" REACHED
	has "$(attack tls allowed.test:443 ALLOWED.test)" REACHED
	has "$(attack tls allowed.test:443 allowed.test records=7)" REACHED
	has "$(attack tls allowed.test:443 allowed.test segments=1)" REACHED
	has "$(attack tls allowed.test:443 allowed.test records=3 segments=2)" REACHED
}

@test 'another name in the ClientHello closes the tunnel, however it is split' {
	local how

	for how in segments=100000 records=7 records=1 segments=1 'records=3 segments=2'; do
		# shellcheck disable=SC2086
		all_refused "$(attack tls allowed.test:443 other.test $how)"
	done
	denied allowed.test "names another server"
	all_refused "$(attack tls-direct allowed.test 443 other.test)"
	all_refused "$(attack tls allowed.test:80 other.test)"
	settle
	lacks "$(saw sni)" other.test
}

@test 'a connection by address evades no rule by name' {
	net '{tier: inet, deny: [other.test]}'
	all_refused "$(attack tls 8.8.4.2:443 other.test)"
	all_refused "$(attack tls 8.8.4.2:443 OTHER.test. records=1)"
	denied other.test "deny rule"
	all_refused "$(attack tls 8.8.4.2:443 '')"
	all_refused "$(attack tls 8.8.4.2:443 8.8.4.2)"
	all_refused "$(attack connect 8.8.4.2:443 'SSH-2.0-x\r\n')"
	all_refused "$(attack connect 8.8.4.2:8080 'GET / HTTP/1.1\r\nHost: other.test:8080\r\n\r\n')"
	denied 8.8.4.2 "could evade the rule 'other.test'"
	settle
	same "" "$(saw sni)"
	same "" "$(saw conns)"
}

@test 'a ClientHello without a name, with two, with an odd one or with an encrypted one closes the tunnel' {
	all_refused "$(attack tls allowed.test:443 '')"
	denied allowed.test "names no server"
	all_refused "$(attack tls allowed.test:443 allowed.test more=other.test)"
	all_refused "$(attack tls allowed.test:443 other.test more=allowed.test)"
	all_refused "$(attack tls allowed.test:443 allowed.test same=other.test)"
	all_refused "$(attack tls allowed.test:443 'allowed.test\x00.other.test')"
	all_refused "$(attack tls allowed.test:443 'x.allowed.test')"
	all_refused "$(attack tls allowed.test:443 '8.8.4.1')"
	all_refused "$(attack tls allowed.test:443 allowed.test ech=1)"
	denied allowed.test "Encrypted Client Hello (ECH)" "switch ECH off"
	settle
	same "" "$(saw sni)"
}

@test 'what is no ClientHello does not pass port 443' {
	all_refused "$(attack connect allowed.test:443 'GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n')"
	all_refused "$(attack connect allowed.test:443 'SSH-2.0-x\r\n')"
	all_refused "$(attack connect allowed.test:443 '\x16\x03\x01\x00\x02\x0e\x00')"
	all_refused "$(attack connect allowed.test:443 '\x80\x2e\x01\x03\x01')"
	all_refused "$(attack tls allowed.test:443 allowed.test 'before=\x15\x03\x01\x00\x02\x01\x00')"
	all_refused "$(attack to "$(box python3 -c 'import socket; print(socket.gethostbyname("allowed.test"))')" 443 'GET / HTTP/1.1\r\n\r\n')"
	denied allowed.test '"port":443'
	same "" "$(saw requests)"
}

inspecting() {
	net "{rules: [{host: allowed.test, methods: [GET, HEAD, POST], paths: [/ok/]}]}"
}

@test 'an inspected host: allowed requests pass, others are 403 with one line of JSON, and on record' {
	local out

	inspecting
	has "$(box curl -sS https://allowed.test/ok/a)" "GET /ok/a at "
	has "$(box curl -sS -d x https://allowed.test/ok/a)" "POST /ok/a at "
	out=$(box curl -sS -w '%{http_code}' https://allowed.test/no)
	has "$out" '"error":"refused by ralph"'
	has "$out" 403
	has "$(box curl -sS -X DELETE https://allowed.test/ok/a)" '"error":"refused by ralph"'
	denied allowed.test '"path":"/no"' '"method":"GET"'
	denied allowed.test '"path":"/ok/a"' '"method":"DELETE"'
	must_fail box curl -sS https://other.test/ok/a
	lacks "$(saw requests)" "/no"
	lacks "$(saw requests)" "DELETE"
}

@test 'an inspected host: ECH is ignored, because TLS ends at the gateway; a tunnel beside it still refuses it' {
	net "{allow: [other.test], rules: [{host: allowed.test, paths: [/ok/]}]}"
	has "$(attack tls allowed.test:443 allowed.test ech=1)" REACHED
	all_refused "$(attack tls allowed.test:443 other.test ech=1)"
	denied allowed.test "names another server"
	has "$(attack tls other.test:443 other.test)" REACHED
	all_refused "$(attack tls other.test:443 other.test ech=1)"
	denied other.test "(ECH)"
}

@test 'what switches ECH off cannot be changed from inside' {
	local f

	inspecting
	for f in /etc/{chromium,opt/chrome,opt/chrome_for_testing}/policies/managed/ralph.json; do
		has "$(box cat "$f")" '"EncryptedClientHelloEnabled":false'
		must_fail box sh -c "echo '{}' >$f || rm $f || mv ${f%/*} /tmp/x"
		must_fail box sh -c "echo '{\"EncryptedClientHelloEnabled\": true}' >${f%/*}/zzz.json"
	done
	has "$(box cat /etc/firefox/policies/policies.json)" '"DisableEncryptedClientHello":true'
	has "$(box cat /etc/firefox/defaults/pref/ralph.js)" '"security.tls.ech.grease_probability", 0, locked'
	must_fail box sh -c 'echo "{}" >/etc/firefox/policies/policies.json || rm /etc/firefox/defaults/pref/ralph.js'
	has "$(box openssl x509 -noout -ext basicConstraints -in /run/ralph/ca.pem)" CA:TRUE
}

@test "the sandbox's own authority is trusted by curl, wget, git, node and python without more ado" {
	inspecting
	has "$(box curl -sSv https://allowed.test/ok/a 2>&1)" "issuer: "
	lacks "$(box curl -sSv https://allowed.test/ok/a 2>&1 | grep issuer:)" authority
	has "$(direct curl -sS https://allowed.test/ok/a)" "GET /ok/a"
	has "$(box wget -qO- https://allowed.test/ok/a)" "GET /ok/a"
	has "$(box python3 -c 'import urllib.request as u; print(u.urlopen("https://allowed.test/ok/a").read())')" "GET /ok/a"
	echo "fetch('https://allowed.test/ok/a').then(r => r.text()).then(console.log)" >f.mjs
	has "$(direct node f.mjs)" "GET /ok/a"
	has "$(box node f.mjs)" "GET /ok/a"
}

@test 'no spelling of a path gets around a rule by path' {
	local p

	inspecting
	for p in /ok/../no /ok/%2e%2e/no /ok/.%2e/no /ok/..%2fno /ok/..%5cno '/ok/..\no' /ok/..\;/no /ok//../../no /okno /OK/no '/no?/ok/' \
		'/ok/%00/../no' //no /no/ok/ /./no '/ok/%252e%252e/no' /ok '*'; do
		has "$(box curl -sS --path-as-is --request-target "$p" https://allowed.test/)" '"error":'
	done
	lacks "$(saw requests)" GET
}

@test 'Host, ClientHello and target must agree where TLS is terminated' {
	inspecting
	has "$(box curl -sS -H 'Host: other.test' -w '%{http_code}' https://allowed.test/ok/a)" 403
	has "$(box curl -sS -H 'Host: allowed.test:8443' -w '%{http_code}' https://allowed.test/ok/a)" 403
	has "$(box curl -sS --request-target https://other.test/ok/a -w '%{http_code}' https://allowed.test/)" 400
	must_fail box curl -sS --connect-to other.test:443:allowed.test:443 https://other.test/ok/a
	same "" "$(saw requests)"
}

@test 'requests on one connection are decided one by one, also when they come at once' {
	local out

	inspecting
	out=$(box curl -sS https://allowed.test/ok/1 https://allowed.test/ok/2 https://allowed.test/no https://allowed.test/ok/3)
	has "$out" /ok/2
	has "$out" '"error":"refused by ralph"'
	has "$out" /ok/3
	out=$(box python3 -c '
import socket, ssl
s = socket.create_connection(("127.0.0.1", 3128))
s.sendall(b"CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n")
assert b" 200 " in s.recv(4096)
t = ssl.create_default_context().wrap_socket(s, server_hostname="allowed.test")
t.sendall(b"".join(b"GET %s HTTP/1.1\r\nHost: allowed.test\r\n\r\n" % p for p in (b"/ok/a", b"/ok/b", b"/no", b"/ok/never")))
out = b""
while data := t.recv(65536):
    out += data
print(out)')
	has "$out" "GET /ok/a at"
	has "$out" "GET /ok/b at"
	has "$out" "HTTP/1.1 403"
	lacks "$(saw requests)" /no
	lacks "$(saw requests)" never
}

@test 'a rule with a credential that nobody knows sends nothing, and says so' {
	local out

	net '{rules: [{host: allowed.test, credential: nobody}]}'
	out=$(box curl -sS -w '%{http_code}' https://allowed.test/ok/a)
	has "$out" '"error"'
	has "$out" "this sandbox has no credential of that name"
	same "" "$(saw requests)"
}

@test '100-continue, trailers and websockets pass an inspected host' {
	inspecting
	has "$(box curl -sSv -H 'Expect: 100-continue' -d hello https://allowed.test/ok/a 2>&1)" "HTTP/1.1 100 Continue"
	net '{rules: [{host: allowed.test, methods: [GET], paths: [/trailers, /chat]}]}'
	box true
	bed "$RALPH" rm -f "$BOX" && rm "$BED/up"
	has "$(box curl -sSi --raw -H 'TE: trailers' https://allowed.test/trailers)" "X-Sum: 42"
	has "$(box python3 -c '
import socket, ssl
s = socket.create_connection(("127.0.0.1", 3128))
s.sendall(b"CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n")
s.recv(4096)
t = ssl.create_default_context().wrap_socket(s, server_hostname="allowed.test")
t.sendall(b"GET /chat HTTP/1.1\r\nHost: allowed.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eHh4eHh4eHh4eHh4eHh4eA==\r\n\r\n")
print(t.recv(4096))
t.sendall(b"frames")
print(t.recv(4096))')" frames
}

@test 'an event of a stream arrives before the next one is sent' {
	net '{rules: [{host: allowed.test, methods: [GET]}]}'
	box true
	box curl -sSN https://allowed.test/sse >"$T/sse" 3>&- &
	wait_until grep -q first "$T/sse"
	lacks "$(cat "$T/sse")" second
	touch "$BED/go"
	wait_until grep -q second "$T/sse"
	wait $!
}

@test 'a git rule lets fetch through, and push to the one repository it names' {
	local r

	for r in one two; do
		mkdir -p "$BED/git/me"
		git clone -q --bare "$WS" "$BED/git/me/$r.git"
		git -C "$BED/git/me/$r.git" config http.receivepack true
	done
	net '{rules: [{host: allowed.test, git: [fetch, push me/one]}]}'
	box git clone -q https://allowed.test/me/one.git one
	box git clone -q https://allowed.test/me/two.git two
	box git -C one -c user.name=x -c user.email=x@x commit -q --allow-empty -m pushed
	box git -C one push -q origin HEAD
	same pushed "$(git -C "$BED/git/me/one.git" log -1 --format=%s)"
	must_exit 128 box git -C one push -q https://allowed.test/me/two.git HEAD
	same start "$(git -C "$BED/git/me/two.git" log -1 --format=%s)"
	denied allowed.test '"path":"/me/two.git/info/refs"'
}

# bad_server NAME PORT WHY: a server whose certificate does not prove its name.
bad_server() {
	local out

	out=$(box curl -sS -w '%{http_code}' "https://allowed.test:$2/ok/a")
	has "$out" 502
	has "$out" "$3"
	lacks "$(saw requests)" "$2 GET"
	wait_until event '"verdict":"error"' '"host":"allowed.test"' "\"port\":$2"
}

@test 'a server with a certificate of another name, an expired one or its own is not talked to' {
	kill "$BED_PID"
	wait "$BED_PID" || true
	rm "$BED/ready"
	certificate wrong DNS:wrong.test -CA "$BED/ca.pem" -CAkey "$BED/authority.key" -addext basicConstraints=CA:FALSE
	certificate selfsigned DNS:allowed.test
	expired_certificate
	bed_start
	net '{rules: [{host: "allowed.test:9441", paths: [/ok/]}, {host: "allowed.test:9442", paths: [/ok/]}, {host: "allowed.test:9443", paths: [/ok/]}]}'
	bad_server wrong 9441 "certificate"
	bad_server expired 9442 "certificate"
	bad_server selfsigned 9443 "certificate"
}

expired_certificate() {
	openssl req -new -key "$BED/leaf.key" -subj /CN=expired -addext subjectAltName=DNS:allowed.test -out "$BED/expired.csr"
	# openssl x509 of 3.5 takes no days before today, and that of 3.0 no dates.
	: >"$BED/index"
	printf '%s\n' '[ca]' 'default_ca=own' '[own]' "database=$BED/index" "new_certs_dir=$BED" 'rand_serial=yes' \
		'default_md=sha256' 'copy_extensions=copy' 'policy=any' '[any]' 'commonName=supplied' >"$BED/ca.cnf"
	openssl ca -batch -notext -config "$BED/ca.cnf" -in "$BED/expired.csr" -cert "$BED/ca.pem" -keyfile "$BED/authority.key" \
		-startdate 20200101000000Z -enddate 20200102000000Z -out "$BED/expired.crt" 2>/dev/null
	cat "$BED/leaf.key" "$BED/expired.crt" >"$BED/expired.pem"
}

# bats test_tags=root
@test "the authority's key is neither in the sandbox nor in a file" {
	inspecting
	has "$(box curl -sS https://allowed.test/ok/a)" "GET /ok/a"
	same "" "$(grep -rlE 'PRIVATE KEY' "$XDG_STATE_HOME" "$XDG_CONFIG_HOME" "${XDG_RUNTIME_DIR:-/tmp/ralph-$(id -u)}" 2>/dev/null)"
	same "" "$(box sh -c 'cat /proc/[0-9]*/environ /run/ralph/* /etc/ssl/certs/ca-certificates.crt 2>/dev/null | grep -a "PRIVATE KEY"')"
	same "" "$(box sh -c 'ls /proc/[0-9]*/fd -l 2>/dev/null | grep -i "key\|memfd"')"
}
