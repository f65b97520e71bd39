# runs: root user
# seconds: 25
# What a sandbox with one allowed host reaches, and with which programs: by the proxy variables or,
# for those that know nothing of proxies, by name alone.
load helpers
load ../lib/netbed

setup() {
	netbed_setup
}

teardown() {
	netbed_teardown
}

# Both were tried, one was reached; the other is on record and no packet went to it.
only_allowed() {
	denied other.test
	has "$(ralph net log --denied "$BOX")" other.test
	lacks "$(ralph net log --denied "$BOX")" allowed.test
	has "$(saw conns)" 443
	nothing_for other.test
	no_packet_to 8.8.4.2
	no_packet_to 2001:4860::2
}

@test 'curl reaches the allowed host and nothing else' {
	need curl
	has "$(box curl -sS https://allowed.test/a)" "GET /a at "
	has "$(box curl -sS http://allowed.test/b)" "GET /b at "
	must_fail box curl -sS https://other.test/
	denied other.test '"port":443'
	has "$(box curl -sS http://other.test/)" '"allow":"ralph net allow other.test"'
	denied other.test '"port":80'
	only_allowed
}

@test 'curl without proxy settings reaches the allowed host and nothing else' {
	need curl
	has "$(direct curl -sS https://allowed.test/a)" "GET /a at "
	has "$(direct curl -4 -sS http://allowed.test/b)" "GET /b at "
	has "$(direct curl -6 -sS http://allowed.test/b)" "GET /b at "
	must_fail direct curl -sS https://other.test/
	only_allowed
}

@test 'curl through SOCKS5, with names resolved outside, reaches the allowed host and nothing else' {
	need curl
	has "$(direct curl -sS -x socks5h://127.0.0.1:3128 https://allowed.test/a)" "GET /a at "
	must_fail direct curl -sS -x socks5h://127.0.0.1:3128 https://other.test/
	only_allowed
}

@test 'wget reaches the allowed host and nothing else' {
	need wget
	has "$(box wget -qO- https://allowed.test/a)" "GET /a at "
	has "$(direct wget -qO- https://allowed.test/a)" "GET /a at "
	must_fail box wget -t 1 -qO- https://other.test/
	must_fail direct wget -t 1 -qO- https://other.test/
	only_allowed
}

make_repo() {
	mkdir -p "$BED/git/me"
	git clone -q --bare "$WS" "$BED/git/me/$1.git"
	git -C "$BED/git/me/$1.git" config http.receivepack true
}

@test 'git clones over https from the allowed host and nothing else' {
	make_repo one
	box git clone -q https://allowed.test/git/me/one.git got
	same content "$(cat got/file)"
	direct git clone -q https://allowed.test/git/me/one.git again
	same content "$(cat again/file)"
	must_exit 128 box git clone -q https://other.test/git/me/one.git no
	must_exit 128 direct git clone -q https://other.test/git/me/one.git no
	only_allowed
}

fetch_with_node() {
	printf '%s\n' "fetch('https://$1/a').then(r => r.text()).then(t => console.log(t))" \
		".catch(e => { console.log('failed', e.cause); process.exit(1) })" >fetch.mjs
}

@test 'node fetch without proxy settings reaches the allowed host and nothing else' {
	need node
	fetch_with_node allowed.test
	has "$(direct env NODE_EXTRA_CA_CERTS="$WS/ca.crt" node fetch.mjs)" "GET /a at "
	fetch_with_node other.test
	must_fail direct env NODE_EXTRA_CA_CERTS="$WS/ca.crt" node fetch.mjs
	only_allowed
}

@test 'node fetch with the proxy settings of a sandbox reaches the allowed host and nothing else' {
	need node
	fetch_with_node allowed.test
	has "$(box env NODE_EXTRA_CA_CERTS="$WS/ca.crt" node fetch.mjs)" "GET /a at "
	fetch_with_node other.test
	must_fail box env NODE_EXTRA_CA_CERTS="$WS/ca.crt" node fetch.mjs
	only_allowed
}

@test 'python urllib reaches the allowed host and nothing else' {
	local get='import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read())'

	has "$(box env SSL_CERT_FILE="$WS/ca.crt" python3 -c "$get" https://allowed.test/a)" "GET /a at "
	has "$(direct env SSL_CERT_FILE="$WS/ca.crt" python3 -c "$get" https://allowed.test/a)" "GET /a at "
	must_fail box python3 -c "$get" https://other.test/
	must_fail direct python3 -c "$get" https://other.test/
	only_allowed
}

@test 'a static program that resolves by itself reaches the allowed host and nothing else' {
	need gcc
	gcc -static -O1 -o "$WS/resolves" "$NETBED/resolves.c"
	has "$(box ./resolves allowed.test 80)" "GET /self at "
	must_exit 3 box ./resolves other.test 80
	denied other.test '"verb":"dns"'
	nothing_for other.test
	no_packet_to 8.8.4.2
}

@test 'a Go program reaches the allowed host and nothing else' {
	command -v go >/dev/null || not_here "no Go compiler"
	mkdir "$T/go"
	cp "$NETBED/fetch.go" "$T/go/"
	(cd "$T/go" && GOCACHE=$T/go/cache GO111MODULE=off CGO_ENABLED=0 go build -o "$WS/gofetch" fetch.go)
	has "$(direct env SSL_CERT_FILE="$WS/ca.crt" ./gofetch https://allowed.test/a)" "GET /a at "
	has "$(box env SSL_CERT_FILE="$WS/ca.crt" ./gofetch https://allowed.test/a)" "GET /a at "
	must_fail direct ./gofetch https://other.test/a
	must_fail box ./gofetch https://other.test/a
	only_allowed
}

@test 'a port that a rule names is reached by name, and no other port of that host' {
	net '{allow: ["allowed.test:2222", "allowed.test:22"]}'
	has "$(direct timeout 5 bash -c 'exec 3<>/dev/tcp/allowed.test/2222; head -1 <&3')" "line server 2222"
	has "$(direct timeout 5 bash -c 'exec 3<>/dev/tcp/allowed.test/22; head -1 <&3')" "line server 22"
	must_fail direct timeout 5 bash -c 'exec 3<>/dev/tcp/allowed.test/5432; head -1 <&3'
	has "$(direct curl -sS -m 5 http://allowed.test/)" "allows port 2222 only"
	denied allowed.test '"port":80'
	lacks "$(saw conns)" 5432
	lacks "$(saw conns)" " 80"
}

@test 'a service of the host that a rule names is reached on that port, and no other port of the host' {
	net '{allow: ["localhost:5432"]}'
	has "$(direct timeout 5 bash -c 'exec 3<>/dev/tcp/127.0.0.1/5432; head -1 <&3')" "line server 5432"
	has "$(direct timeout 5 bash -c 'exec 3<>/dev/tcp/localhost/5432; head -1 <&3')" "line server 5432"
	must_fail direct timeout 5 bash -c 'exec 3<>/dev/tcp/127.0.0.1/2222; head -1 <&3'
	must_fail direct timeout 5 bash -c 'exec 3<>/dev/tcp/127.0.0.1/8080; head -1 <&3'
	lacks "$(saw conns)" 2222
	lacks "$(saw conns)" 8080
}

@test 'tier inet reaches public addresses only' {
	net '{tier: inet}'
	has "$(box curl -sS https://other.test/a)" "GET /a at "
	has "$(box curl -sS http://8.8.4.2/a)" "GET /a at 8.8.4.2"
	for a in 10.1.2.3 192.168.77.1 172.16.5.5 100.64.1.1 169.254.169.254 127.0.0.1:8080 '[fd12::1]' '[::1]:8080'; do
		has "$(box curl -sS --noproxy '' "http://$a/a")" '"error":"refused by ralph"'
	done
	for a in 10.1.2.3 192.168.77.1 172.16.5.5 100.64.1.1 169.254.169.254 fd12::1; do
		no_packet_to "$a"
	done
}

@test 'a rule given to a live sandbox holds at once, before its first connection and after' {
	box true
	ralph net allow other.test --sandbox "$BOX"
	has "$(box curl -sS http://other.test/a)" "GET /a at "
	ralph net deny other.test --sandbox "$BOX"
	has "$(box curl -sS http://other.test/a)" '"error":"refused by ralph"'
	has "$(box curl -sS http://allowed.test/a)" "GET /a at "
}

@test 'tier none has no network at all' {
	net '{tier: none, allow: [allowed.test]}'
	must_fail box curl -sS -m 5 https://allowed.test/
	must_fail box curl -sS -m 5 -x http://127.0.0.1:3128 https://allowed.test/
	nothing_for allowed.test
}
