# A network of the test's own, for the files that reach out of a sandbox: `load ../lib/netbed` after
# the helpers. Everything runs in a network and mount namespace made for one test: ralph, the
# sandbox's supervisor and gateway, and the servers of lib/netbed.py; no packet can leave it. An
# unprivileged user keeps his own uid in there, and ralph has no capability.
#
#   bed CMD…            runs CMD in that namespace, in the current directory
#   box CMD…            runs CMD in the test's sandbox, which stays up for the next one
#   net 'YAML'          the `network:` section of the user's configuration
#   zone 'JSON'         what the DNS server says
#   asked NAME, no_packet_to ADDRESS[:PORT], served …   what the world outside saw
#   denied HOST, event PATTERN…                          what the sandbox's log holds
#
# BED_NAMES, when set before, are further names of the servers' certificate ("DNS:x.test,…").
# BED_TOOLS, when set before, is a global prefix of npm that the user has in ~/.npm-global; the system then
# does not trust the test authority.
# $BED holds the logs and the test authority ($BED/ca.pem), which clients inside trust by $WS/ca.crt.
# shellcheck shell=bash

NETBED=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

netbed_setup() {
	need ip unshare nsenter openssl python3
	ralph_setup || return
	BED=$T/bed
	BOX=net-${WS##*-}
	mkdir "$BED"
	export BED
	bed_certificates
	zone '{"allowed.test": {"A": ["8.8.4.1"], "AAAA": ["2001:4860::1"]},
	       "other.test": {"A": ["8.8.4.2"], "AAAA": ["2001:4860::2"]},
	       "*.wild.test": {"A": ["8.8.4.3"]}}'
	net '{allow: [allowed.test]}'
	bed_start
}

netbed_teardown() {
	local bad=0

	[ -z "${BED_PID:-}" ] || kill "$BED_PID" 2>/dev/null
	ralph_teardown || bad=1
	return $bad
}

# certificate NAME SUBJECT-ALT-NAMES [OPENSSL OPTION…]: key and certificate in one file.
certificate() {
	local name=$1 san=$2
	shift 2

	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$name" \
		-addext "subjectAltName=$san" -keyout "$BED/$name.key" -out "$BED/$name.crt" "$@" 2>"$BED/openssl.log" ||
		fail "$(cat "$BED/openssl.log")"
	cat "$BED/$name.key" "$BED/$name.crt" >"$BED/$name.pem"
}

bed_certificates() {
	certificate authority DNS:authority.invalid -addext 'keyUsage=critical,keyCertSign'
	mv "$BED/authority.crt" "$BED/ca.pem"
	certificate leaf "DNS:allowed.test,DNS:other.test,DNS:*.wild.test,DNS:flip.test${BED_NAMES:+,$BED_NAMES}" \
		-CA "$BED/ca.pem" -CAkey "$BED/authority.key" -addext basicConstraints=CA:FALSE
	cp "$BED/ca.pem" "$WS/ca.crt"
}

bed_start() {
	local own=(--map-current-user --keep-caps)

	[ "$(id -u)" -ne 0 ] || own=()
	printf 'nameserver 9.9.9.53\noptions timeout:2 attempts:1\n' >"$BED/resolv.conf"
	printf 'hosts: files dns\n' >"$BED/nsswitch.conf"
	cat /etc/ssl/certs/ca-certificates.crt "$BED/ca.pem" >"$BED/bundle.pem" 2>/dev/null
	[ -z "${BED_TOOLS:-}" ] || mkdir -p "$HOME/.npm-global"
	# shellcheck disable=SC2016
	env -u T unshare "${own[@]}" --net --mount sh -c '
		mount --bind "$1/resolv.conf" "$(readlink -f /etc/resolv.conf)" &&
		mount --bind "$1/nsswitch.conf" "$(readlink -f /etc/nsswitch.conf)" &&
		if [ -n "$3" ]; then
			mount --bind "$3" "$HOME/.npm-global"
		else
			mount --bind "$1/bundle.pem" /etc/ssl/certs/ca-certificates.crt
		fi &&
		exec python3 "$2/netbed.py" "$1"' sh "$BED" "$NETBED" "${BED_TOOLS:-}" >"$BED/log" 2>&1 3>&- &
	BED_PID=$!
	wait_until -t 60 test -e "$BED/ready" || fail "$(cat "$BED/log")"
}

# enter: the words that take a command line into the namespace, in $ENTER.
enter() {
	local own=(--user --preserve-credentials)

	[ "$(id -u)" -ne 0 ] || own=()
	# The host's own proxy settings are not the test's.
	# shellcheck disable=SC2016
	ENTER=(env SSL_CERT_FILE="$BED/ca.pem" nsenter -t "$BED_PID" "${own[@]}" --net --mount
		sh -c 'cd "$0" && exec "$@"' "$PWD")
}

bed() {
	local ENTER

	enter
	"${ENTER[@]}" "$@"
}

net() {
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	printf 'network: %s\n' "$1" >"$XDG_CONFIG_HOME/ralph/config.yaml"
}

zone() {
	printf '%s\n' "$1" >"$BED/zone.new"
	mv "$BED/zone.new" "$BED/zone.json"
}

box() {
	if [ ! -e "$BED/up" ]; then
		bed "$RALPH" run -d -n "$BOX" -- true || return
		touch "$BED/up"
	fi
	bed "$RALPH" exec "$BOX" "$@"
}

# direct CMD…: in the sandbox, without the proxy variables.
direct() {
	box env -u HTTP_PROXY -u http_proxy -u HTTPS_PROXY -u https_proxy -u ALL_PROXY -u all_proxy \
		-u NODE_USE_ENV_PROXY "$@"
}

# attack ARG…: the client of tests/attack/net.py, inside.
attack() {
	cp "$NETBED/../attack/net.py" "$WS/net.py"
	box python3 "$WS/net.py" "$@"
}

events() {
	cat "$XDG_STATE_HOME/ralph/sandboxes/$BOX/events.jsonl"
}

# event TEXT…: one event has all of these.
event() {
	local all part

	all=$(events)
	for part; do
		all=$(grep -F -- "$part" <<<"$all") || return 1
	done
}

# denied HOST [TEXT…]: its refusal is on record.
denied() {
	local host=$1
	shift

	wait_until event '"verdict":"deny"' "\"host\":\"$host\"" "$@"
}

# gateway_pid [PROGRAM]: of the gateway, or of the edge.
gateway_pid() {
	local p

	for p in /proc/[0-9]*; do
		[ "$(cat "$p/comm" 2>/dev/null)" = "${1:-gateway}" ] || continue
		[ "$(readlink "$p/ns/net")" = "$(readlink "/proc/$BED_PID/ns/net")" ] || continue
		# Its helpers have the same name and another parent.
		[ "$(cat "/proc/$(awk '{ print $4 }' "$p/stat")/comm")" = supervisor ] && echo "${p#/proc/}"
	done
}

# all_refused TEXT: every line of an attack is a refusal. That localhost resolves, to the sandbox itself,
# is none.
all_refused() {
	[ -n "$1" ] || fail "the attack said nothing" || return
	! grep -viE 'localhost.* dns NOERROR 1| (refused|closed|reset|NXDOMAIN 0|FORMERR 0|REFUSED 0|error E(CONNREFUSED|NETUNREACH|HOSTUNREACH|CONNRESET))' <<<" ${1//$'\n'/$'\n' }" ||
		fail "not all was refused"
}

# What was sent before this is in the logs after it.
settle() {
	local mark=mark-$SRANDOM

	# shellcheck disable=SC2016
	bed bash -c 'echo "$0" >/dev/udp/127.0.0.1/9' "$mark"
	wait_until grep -qaF "$mark" "$BED/packets.raw"
}

saw() {
	cat "$BED/$1.log" 2>/dev/null
}

# nothing_for TEXT: neither the DNS server nor any packet had it.
nothing_for() {
	settle
	lacks "$(saw dns)" "$1"
	! grep -qaiF -- "$1" "$BED/packets.raw" || fail "$1 left in a packet"
}

no_packet_to() {
	settle
	! saw packets | grep -wF -- "$1" || fail "packets went to $1"
}
