# runs: user
# seconds: 25
# Names and addresses: nothing is reached, and nothing asked for, that no rule names.
load ../cli/helpers
load ../lib/netbed

setup() {
	netbed_setup
}

teardown() {
	netbed_teardown
}

LOOPBACK=(127.0.0.1 127.1 127.0.1 2130706433 017700000001 0x7f000001 0x7f.1 0177.0.0.1 127.0.0.1. 127.255.255.254 0 0.0.0.0
	::1 0:0:0:0:0:0:0:1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::127.0.0.1 64:ff9b::127.0.0.1 64:ff9b::7f00:1 2002:7f00:1:: ::
	localhost LOCALHOST localhost. localhost.localdomain ip6-localhost foo.localhost)
METADATA=(169.254.169.254 2852039166 0xa9fea9fe 0251.0376.0251.0376 169.254.43518 ::ffff:169.254.169.254
	64:ff9b::169.254.169.254 2002:a9fe:a9fe:: fd00:ec2::254 100.100.100.200 metadata.google.internal METADATA.google.internal.)
PRIVATE=(10.1.2.3 167838211 0x0a010203 012.1.2.3 10.66051 ::ffff:10.1.2.3 64:ff9b::10.1.2.3 2002:a01:203:: 192.168.77.1 172.16.5.5
	100.64.1.1 fd12::1 'fe80::1%lo' 'fe80::1%25lo')
PUBLIC=(8.8.4.2 134743042 0x08080402 010.8.4.2 8.8.1026 ::ffff:8.8.4.2 64:ff9b::8.8.4.2 2001:4860::2 2001:4860:0:0:0:0:0:2)
NAMES=(other.test OTHER.TEST other.test. other.test.. .other.test 'other.test\x00.allowed.test' 'allowed.test\x00.other.test'
	'allowed.test\x0d\x0aX: y' 'allowed.test@other.test' 'other.test#allowed.test' 'other.test/allowed.test' 'allowed.test.other.test'
	xn--alloed-yib.test '\xd0\xb0llowed.test' 'allowed\xe3\x80\x82test' '\xef\xbd\x81llowed.test' 'al\xc2\xadlowed.test' 'notallowed.test'
	'x.allowed.test' ' allowed.test' 'allowed.test ' 'allowed..test' 'allowed.test%2eother.test' 'allowed_test')

@test 'no spelling of a loopback, metadata, private or public address passes an allowlist' {
	all_refused "$(attack spellings 80,443,8080 "${LOOPBACK[@]}")"
	all_refused "$(attack spellings 80 "${METADATA[@]}" "${PRIVATE[@]}" "${PUBLIC[@]}")"
	settle
	same "" "$(saw conns)"
	same "" "$(saw dns)"
}

@test 'no spelling of another name passes for an allowed one' {
	all_refused "$(attack spellings 80,443 "${NAMES[@]}")"
	settle
	same "" "$(saw conns)"
	same "" "$(saw dns)"
}

@test 'upper case and one trailing dot of an allowed name are that name, resolved and shown as such' {
	local out

	out=$(attack raw 'GET http://ALLOWED.Test./x HTTP/1.1\r\nHost: ALLOWED.Test.\r\nConnection: close\r\n\r\n')
	has "$out" "REACHED"
	settle
	same "allowed.test" "$(saw dns | cut -d' ' -f1 | sort -u)"
	same "allowed.test" "$(saw requests | cut -d' ' -f4)"
}

@test 'no spelling of a loopback, metadata or private address passes tier inet' {
	net '{tier: inet}'
	all_refused "$(attack spellings 80,8080 "${LOOPBACK[@]}")"
	all_refused "$(attack spellings 80 "${METADATA[@]}" "${PRIVATE[@]}")"
	settle
	same "" "$(saw conns)"
}

@test 'metadata services and the loopback of the host are refused under tier full as well' {
	net '{tier: full}'
	all_refused "$(attack spellings 80,8080 "${LOOPBACK[@]}")"
	all_refused "$(attack spellings 80 "${METADATA[@]}")"
	denied 169.254.169.254
	settle
	same "" "$(saw conns)"
}

@test 'every refused spelling is on record' {
	local h

	for h in 127.0.0.1 169.254.169.254 10.1.2.3 8.8.4.2 2001:4860::2 other.test; do
		attack spellings 80 "$h" >/dev/null
		denied "$h" '"verb":"connect"'
		denied "$h" '"verb":"http"'
		denied "$h" '"verb":"socks"'
	done
	attack spellings 80 0x7f000001 'allowed.test@other.test' >/dev/null
	denied 0x7f000001 '"verb":"connect"'
	denied 0x7f000001 '"verb":"http"'
	denied 0x7f000001 '"verb":"socks"'
	denied 'allowed.test@other.test'
}

@test 'an allowed name that leads to a loopback, private, link-local or metadata address is not dialled' {
	local a n=0

	net '{allow: ["*.wild.test"]}'
	for a in 127.0.0.1 10.1.2.3 192.168.77.1 172.16.5.5 100.64.1.1 169.254.169.254 100.100.100.200 0.0.0.0 198.18.0.1 \
		::1 :: fd12::1 fd00:ec2::254 fe80::1 ::ffff:10.1.2.3 64:ff9b::a01:203 2002:7f00:1::; do
		n=$((n + 1))
		zone "{\"n$n.wild.test\": {\"$([[ $a == *:* ]] && echo AAAA || echo A)\": [\"$a\"]}}"
		all_refused "$(attack raw "GET http://n$n.wild.test/x HTTP/1.1\r\nHost: n$n.wild.test\r\n\r\n")"
		all_refused "$(attack connect "n$n.wild.test:443")"
		denied "n$n.wild.test" is refused
	done
	settle
	same "" "$(saw conns)"
}

@test 'of several addresses of a name only public ones are dialled' {
	zone '{"allowed.test": {"A": ["10.1.2.3", "169.254.169.254", "8.8.4.1", "127.0.0.1"]}}'
	has "$(attack raw 'GET http://allowed.test/x HTTP/1.1\r\nHost: allowed.test\r\nConnection: close\r\n\r\n')" "REACHED"
	settle
	same "8.8.4.1 80" "$(saw conns)"
}

connect_is_refused() {
	grep -q 'refused 403' <<<"$(attack connect allowed.test:443)"
}

# The answer to a look-up is kept for some seconds.
@test 'a name that leads elsewhere with its next look-up is refused there' {
	zone '{"allowed.test": {"A": [["8.8.4.1"], ["127.0.0.1"], ["10.1.2.3"], ["169.254.169.254"]]}}'
	has "$(attack connect allowed.test:443)" GRANTED
	wait_until -t 20 connect_is_refused
	denied allowed.test '(127.0.0.1)'
	has "$(saw packets)" " 8.8.4.1:443"
	no_packet_to 127.0.0.1:443
	no_packet_to 10.1.2.3
	no_packet_to 169.254.169.254
}

@test 'data in refused names never leaves: no question, no packet' {
	local secret=s3cr3tpayloads3cr3tpayload label

	printf -v label '%s.%s.%s' "$secret" "$(printf 'a%.0s' {1..60})" "$(printf 'b%.0s' {1..60})"
	all_refused "$(attack spellings 80,443 "$secret.other.test" "$label.other.test" "$secret.allowed.test" "$secret-allowed.test" \
		"$(printf "$secret.%.0s" {1..8})other.test")"
	for t in 1 2 5 6 12 15 16 28 33 43 48 64 65 255 252; do
		all_refused "$(attack dns "$secret.other.test" $t udp)"
		all_refused "$(attack dns "$secret.other.test" $t tcp)"
	done
	must_fail direct curl -sS -m 5 "http://$secret.other.test/"
	nothing_for "$secret"
	denied "$secret.other.test" '"verb":"dns"'
}

@test 'below an allowed wildcard a label does leave, to the servers of that domain: the limit of names' {
	net '{allow: ["*.wild.test"]}'
	has "$(attack raw 'GET http://payload.wild.test/x HTTP/1.1\r\nHost: payload.wild.test\r\nConnection: close\r\n\r\n')" REACHED
	all_refused "$(attack spellings 80 wild.test payload.other.test)"
	settle
	has "$(saw dns)" payload.wild.test
	lacks "$(saw dns)" other.test
}

@test 'a question answered inside asks nobody outside until a connection is made' {
	has "$(attack dns allowed.test 1)" "NOERROR 1"
	has "$(attack dns allowed.test 28 tcp)" "NOERROR 1"
	settle
	same "" "$(saw dns)"
}

@test 'only addresses are answered: ANY, TXT, MX, SRV, HTTPS and AXFR bring nothing' {
	local t

	for t in 2 5 6 12 15 16 33 43 48 64 65 99 255; do
		has "$(attack dns allowed.test $t)" " 0"
	done
	attack dns allowed.test 252 tcp
	settle
	same "" "$(saw dns)"
}

@test 'malformed, compressed, truncated and huge questions harm nothing' {
	local p bad='\x12\x34\x01\x00'

	for p in '' '\x00' '\x12\x34' "$bad" \
		"$bad"'\x00\x01\x00\x00\x00\x00\x00\x00\xc0\x0c\x00\x01\x00\x01' \
		"$bad"'\x00\x01\x00\x00\x00\x00\x00\x00\x01a\xc0\x0c\x00\x01\x00\x01' \
		"$bad"'\x00\x01\x00\x00\x00\x00\x00\x00\x3fabc' \
		"$bad"'\x00\x02\x00\x00\x00\x00\x00\x00\x07allowed\x04test\x00\x00\x01\x00\x01\x05other\x04test\x00\x00\x01\x00\x01' \
		"$bad"'\xff\xff\xff\xff\xff\xff\xff\xff' \
		'\x12\x34\x81\x80\x00\x01\x00\x00\x00\x00\x00\x00\x07allowed\x04test\x00\x00\x01\x00\x01' \
		"$bad"'\x00\x01\x00\x00\x00\x00\x00\x00\x40allowed\x04test\x00\x00\x01\x00\x01' \
		"$bad$(printf '\\x01a%.0s' {1..300})"; do
		lacks "$(attack packet "$p")" "NOERROR 1"
		lacks "$(attack packet "$p" tcp)" "NOERROR 1"
	done
	has "$(attack dns allowed.test 1)" "NOERROR 1"
	settle
	same "" "$(saw dns)"
}

# bats test_tags=root
@test 'other name servers, QUIC and every other datagram go nowhere' {
	local a

	for a in 8.8.4.2 9.9.9.53 127.0.0.1 10.1.2.3; do
		lacks "$(attack dns other.test 1 udp "$a")" NOERROR
		lacks "$(attack dns other.test 1 tcp "$a")" NOERROR
	done
	# shellcheck disable=SC2016
	box python3 -c '
import socket, sys
for a in sys.argv[1:]:
    s = socket.socket(socket.AF_INET6 if ":" in a else socket.AF_INET, socket.SOCK_DGRAM)
    for port in (53, 123, 443, 4500):
        try:
            s.sendto(b"datagram-of-an-attack", (a, port))
        except OSError:
            pass' 8.8.4.1 8.8.4.2 9.9.9.53 10.1.2.3 2001:4860::1 2001:4860::2 169.254.169.254 255.255.255.255 224.0.0.1
	nothing_for datagram-of-an-attack
}

# bats test_tags=root
@test 'plain TCP to any address but a stand-in one goes nowhere' {
	local a

	for a in 8.8.4.1 8.8.4.2 10.1.2.3 169.254.169.254 127.0.0.1 127.0.0.2 0.0.0.0 2001:4860::1 ::1 ::ffff:8.8.4.1; do
		all_refused "$(attack to "$a" 80 'GET /x HTTP/1.1\r\nHost: allowed.test\r\n\r\n')"
		all_refused "$(attack to "$a" 8080 'GET /x HTTP/1.1\r\nHost: allowed.test\r\n\r\n')"
		all_refused "$(attack to "$a" 443 '\x16\x03\x01')"
	done
	settle
	same "" "$(saw conns)"
}

@test 'a stand-in address that stands for no name leads nowhere' {
	local a

	attack dns allowed.test 1
	for a in 198.18.0.0 198.18.0.77 198.19.255.254 fd00:7261:6c70::ffff; do
		all_refused "$(attack to "$a" 80 'GET /x HTTP/1.1\r\nHost: allowed.test\r\n\r\n')"
	done
	denied 198.18.0.77
	settle
	same "" "$(saw conns)"
}
