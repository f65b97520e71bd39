#!/usr/bin/env bats
# runs: user
# ralph net: what a sandbox may reach, what it was refused, and how that is changed while it runs.
# shellcheck disable=SC2154 # stderr comes from bats
# shellcheck disable=SC2016 # what is in single quotes is for the shell inside
load helpers

# world FUNCTION: runs it in a network of the test's own, in which 8.1.1.1 is allowed.test and serves
# "welcome" on port 80, 10.9.9.9 is inner.test, and questions to the name server are put down in
# $T/questions. Nothing of it leaves the machine.
world() {
	local flags=(-n -m)

	need python3 ip unshare curl
	[ "$(id -u)" -eq 0 ] || flags+=(-U -r)
	unshare "${flags[@]}" true 2>/dev/null || not_here "namespaces"
	# Inside, the unprivileged user is root: the directory of sockets must not be the real root's.
	XDG_RUNTIME_DIR=$T/run unshare "${flags[@]}" bash -c "set -eu
		$(declare -f ralph fail has lacks same must_exit must_fail wait_until world_up fetch "$1")
		world_up
		trap 'ralph rm --all --force >/dev/null; kill \$servers' EXIT
		$1"
}

world_up() {
	ip link set lo up
	ip addr add 8.1.1.1/32 dev lo
	ip addr add 10.9.9.9/32 dev lo
	printf '127.0.0.1 localhost\n8.1.1.1 allowed.test\n10.9.9.9 inner.test\n' >"$T/hosts"
	echo 'nameserver 127.0.0.1' >"$T/resolv"
	echo 'hosts: files dns' >"$T/nsswitch"
	mount --bind "$T/hosts" /etc/hosts
	mount --bind "$T/resolv" /etc/resolv.conf
	mount --bind "$T/nsswitch" /etc/nsswitch.conf
	mkdir "$T/www"
	echo welcome >"$T/www/index.html"
	python3 -m http.server --bind 8.1.1.1 --directory "$T/www" 80 >"$T/www.log" 2>&1 &
	servers=$!
	: >"$T/questions"
	python3 -c '
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 53))
while True:
    q, peer = s.recvfrom(4096)
    with open(sys.argv[1], "ab") as f:
        f.write(q[12:] + b"\n")
    s.sendto(q[:2] + b"\x81\x83" + q[4:6] + bytes(6) + q[12:], peer)
' "$T/questions" &
	servers="$servers $!"
	wait_until bash -c 'exec 3<>/dev/tcp/8.1.1.1/80' 2>/dev/null
}

# fetch WHAT URL: a request from inside ends so: "yes", or "no".
fetch() {
	local got=no

	ralph exec "$name" curl -sS -m 10 "$2" >"$T/body" 2>&1 && grep -q '^welcome$' "$T/body" && got=yes
	same "$1" "$got"
}

first_name() {
	ralph ls --quiet | head -n 1
}

# json EXPRESSION [FILE]: of the document j on stdin.
json() {
	python3 -c 'import json, sys; j = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"
}

live_change() {
	name=$(ralph run --detach && ralph ls --quiet)
	# The gateway has not started yet when this rule comes.
	has "$(ralph net allow allowed.test)" "in force in $name"
	fetch yes http://allowed.test/
	# And now it has.
	ralph net deny allowed.test
	fetch no http://allowed.test/
	ralph net rm allowed.test
	fetch no http://allowed.test/
	ralph net allow allowed.test
	fetch yes http://allowed.test/
	ralph exec "$name" curl -sS --noproxy '*' http://allowed.test/ >"$T/plain"
	same welcome "$(cat "$T/plain")"
	# A run beside it would make the same rules, and joins.
	same welcome "$(ralph run -- curl -sS http://allowed.test/)"
	ralph stop "$name"
	same welcome "$(ralph run -- curl -sS http://allowed.test/)"
	ralph rm --force "$name"
	same welcome "$(ralph run -- curl -sS http://allowed.test/)"
}

# bats test_tags=root
@test 'a rule holds in a live sandbox at once, in runs beside it, and after a restart' {
	world live_change
}

own_options() {
	name=$(ralph run --detach --allow first.test && ralph ls --quiet)
	ralph net allow allowed.test
	ralph run --allow first.test -- true
	fetch yes http://allowed.test/
	has "$(ralph net ls)" first.test
	must_exit 2 ralph run --allow second.test -- true
}

@test 'what a live sandbox was started with stays when rules change' {
	world own_options
}

tunnel_ends() {
	name=$(ralph run --detach && ralph ls --quiet)
	ralph net allow allowed.test
	ralph exec "$name" bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128
		printf "CONNECT allowed.test:80 HTTP/1.1\r\nHost: allowed.test:80\r\n\r\n" >&3
		read -r line <&3; echo "$line" >granted; cat <&3 >/dev/null; echo over >ended' &
	wait_until test -s granted
	has "$(cat granted)" 200
	ralph net rm allowed.test
	wait_until test -s ended
	wait $!
}

@test 'a tunnel that a change no longer allows is ended' {
	world tunnel_ends
}

logged() {
	name=$(ralph run --detach --allow allowed.test && ralph ls --quiet)
	fetch yes http://allowed.test/
	fetch no http://refused.test/
	local all
	all=$(ralph net log --color never)
	has "$(grep allowed.test <<<"$all")" allow
	has "$(grep allowed.test <<<"$all")" 'GET /'
	has "$(grep refused.test <<<"$all")" 'deny '
	has "$(grep refused.test <<<"$all")" 'no rule allows it'
	lacks "$(ralph net log --denied)" allowed.test
	has "$(ralph net log --denied "$name")" refused.test
	ralph net log --json | python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
assert {r["type"] for r in rows} == {"net"}, rows
for key in ("time", "seq", "at_ms", "verb", "verdict", "phase", "host", "port", "method", "path",
            "rule", "reason", "flow", "count", "up", "down", "ms"):
    assert all(key in r for r in rows), key
assert {(r["host"], r["verdict"]) for r in rows} >= {("allowed.test", "allow"), ("refused.test", "deny")}
'
	same 1 "$(ralph net log --since 2999-01-01 | wc -l)"
	has "$(ralph net log --since 1h)" refused.test
	has "$(ralph net log --color always --denied)" $'\e[31mdeny'
	must_exit 2 ralph net log --since yesterday
	# No name that was refused has been asked for.
	lacks "$(tr -d '\0' <"$T/questions")" refused
}

@test 'every decision is in the log, with its reason' {
	world logged
}

hostile() {
	name=$(ralph run --detach && ralph ls --quiet)
	ralph exec "$name" bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128
		printf "CONNECT a\033]0;gotcha\007b.test:443 HTTP/1.1\r\nHost: x\r\n\r\n" >&3; cat <&3' || :
	ralph exec "$name" bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128
		printf "GET http://c.test/\033[2Jx HTTP/1.1\r\nHost: c.test\r\n\r\n" >&3; cat <&3' || :
	ralph exec "$name" curl -sS 'http://d.test/plain' || :
	wait_until grep -q d.test "$XDG_STATE_HOME/ralph/sandboxes/$name/events.jsonl"
	ralph stop "$name"
	# A gateway that was taken over could write this.
	printf '%s\n' '{"type":"net","at_ms":1,"verdict":"deny\u001b[1m","verb":"dns","host":"evil\u001b[31m\u202ename\n","port":1,"reason":"\u009b0m"}' \
		>>"$XDG_STATE_HOME/ralph/sandboxes/$name/events.jsonl"
	ralph net log --color never >"$T/log"
	has "$(cat "$T/log")" 'evil\x1b'
	! grep -q -P '[\x00-\x08\x0b-\x1f\x7f]|\xc2\x9b|\xe2\x80\xae' "$T/log" || fail "raw bytes: $(cat -v "$T/log")"
}

# The words of a line that begin a command of ralph, as a user would copy them.
copied() {
	grep -o 'ralph net allow [a-z0-9.:-]*' "$1" | head -n 1
}

@test 'a refusal explains itself to curl, and a run says at its end which hosts were refused' {
	need curl
	ralph run -- sh -c 'curl -sv https://one.example/; curl -s http://two.example/; curl -s https://one.example/; :' >"$T/out" 2>"$T/err"
	has "$(cat "$T/err")" "403 refused by ralph: one.example is not allowed; ralph net allow one.example"
	has "$(cat "$T/out")" '"reason":"two.example:80 is refused: no rule allows it"'
	has "$(cat "$T/err")" "ralph: warning: 2 hosts refused: one.example, two.example; see: ralph net log --denied $(first_name)"
	same 1 "$(grep -c 'hosts refused' "$T/err")"
	must_exit 1 ralph net check one.example >/dev/null
	# What the message says works when it is typed.
	same "ralph net allow one.example" "$(copied "$T/err")"
	# shellcheck disable=SC2046 # its words
	"$RALPH" $(copied "$T/err" | cut -d' ' -f2-)
	ralph net check one.example >/dev/null
	has "$(ralph net log --denied "$(first_name)")" two.example
}

@test 'a run in which nothing was refused says nothing, and hears nothing of the run before' {
	need curl
	ralph run -d -- sh -c 'curl -s https://one.example/; :' 2>"$T/err"
	has "$(cat "$T/err")" "1 host refused: one.example"
	ralph run -d -- true 2>"$T/err"
	lacks "$(cat "$T/err")" refused
	ralph run --rm -n "rm-${WS##*-}" -- sh -c 'curl -s https://three.example/; :' 2>"$T/err"
	same "ralph: warning: 1 host refused: three.example" "$(grep refused "$T/err")"
}

@test 'names in the line at the end are bounded, and cannot reach the terminal' {
	need python3
	cat >ask.py <<-'EOF'
		import socket
		for i in range(200):
		    s = socket.create_connection(("127.0.0.1", 3128))
		    s.sendall(b"CONNECT n%d.example:443 HTTP/1.1\r\nHost: n%d.example:443\r\n\r\n" % (i, i))
		    s.recv(4096)
		s = socket.create_connection(("127.0.0.1", 3128))
		s.sendall(b"\x05\x01\x00")
		s.recv(2)
		s.sendall(b"\x05\x01\x00\x03\x08\x1b[2J\x07\xff\xe2a\x01\xbb")
		s.recv(64)
	EOF
	ralph run -- python3 ask.py 2>"$T/err"
	has "$(cat "$T/err")" "more than 32 hosts refused: "
	has "$(cat "$T/err")" " and others"
	same 1 "$(wc -l <"$T/err")"
	[ "$(wc -c <"$T/err")" -lt 1200 ]
	lacks "$(cat "$T/err")" $'\033'
	lacks "$(cat "$T/err")" $'\a'
}

@test 'what a program inside puts into a name cannot reach the terminal' {
	world hostile
}

# record HOST: one more decision in the sandbox's record, as its supervisor writes it.
record() {
	printf '{"type":"net","at_ms":%s000,"verdict":"deny","verb":"dns","phase":"end","host":"%s","port":53}\n' \
		"$(date +%s)" "$1" >>"$events"
}

@test 'following shows what comes, through a new file, and ends on SIGINT' {
	ralph run -- true
	events=$XDG_STATE_HOME/ralph/sandboxes/$(first_name)/events.jsonl
	record before.test
	# The shell lets what it starts in the background ignore SIGINT.
	env --default-signal=INT "$RALPH" net log -f >"$T/out" 3>&- &
	pid=$!
	wait_until grep -q before.test "$T/out"
	record during.test
	wait_until grep -q during.test "$T/out"
	mv "$events" "$events.1"
	record after.test
	wait_until grep -q after.test "$T/out"
	: >"$events"
	record cut.test
	wait_until grep -q cut.test "$T/out"
	same 1 "$(grep -c during.test "$T/out")"
	# It waits, and does not spin: next to no processor time since its start.
	same 0 "$(awk '{ print int(($14 + $15) / 20) }' "/proc/$pid/stat")"
	kill -INT "$pid"
	code=0
	wait "$pid" || code=$?
	same 130 "$code"
}

# watches PID: it has begun to wait for changes.
watches() {
	grep -qs inotify "/proc/$1/fdinfo/"*
}

@test 'following ends when the sandbox is removed' {
	ralph run -- true
	"$RALPH" net log -f --json >"$T/out" 3>&- &
	pid=$!
	wait_until watches "$pid"
	ralph rm "$(first_name)"
	wait "$pid"
}

@test 'following ends when nobody reads any more' {
	ralph run -- true
	("$RALPH" net log -f 3>&- | head -n 1 >/dev/null; echo over >"$T/over") 3>&- &
	wait_until test -s "$T/over"
	wait
}

@test "without a name: the workspace's sandbox, the branch's of several, else an error that lists them" {
	run ralph net log
	same 2 "$status"
	ralph run -- true
	must_exit 0 ralph net log
	ralph run --name other-box -- true
	must_exit 0 ralph net log
	git checkout -q -b elsewhere
	run ralph net log
	same 2 "$status"
	has "$output" other-box
	must_exit 0 ralph net log other-box
	must_exit 1 ralph net log nowhere-box
	mkdir "$HOME/second" && cd "$HOME/second"
	run ralph net log
	same 2 "$status"
	has "$output" "no sandbox"
}

@test 'check: 0 when allowed, 1 when denied, 2 when it is no question' {
	must_exit 1 ralph net check example.com
	ralph net allow example.com '*.example.org:8443' localhost:5432
	must_exit 0 ralph net check example.com
	must_exit 0 ralph net check EXAMPLE.com.:80
	must_exit 0 ralph net check https://example.com/some/path
	must_exit 1 ralph net check example.com:22
	must_exit 0 ralph net check a.example.org:8443
	must_exit 1 ralph net check example.org:8443
	must_exit 0 ralph net check localhost:5432
	must_exit 1 ralph net check localhost:5433
	must_exit 1 ralph net check 169.254.169.254
	must_exit 1 ralph net check 2001:db8::1
	must_exit 2 ralph net check 'exa mple.com'
	must_exit 2 ralph net check 127.1
	must_exit 2 ralph net check https://user@example.com/
	must_exit 2 ralph net check
	must_exit 2 ralph net check --sandbox 'No Name' example.com
	run ralph net check --sandbox nowhere-box example.com
	[ "$status" -eq 2 ] || fail "exit $status: a sandbox that is not there is no answer"
}

@test 'check says why, by which rule, and what would allow it' {
	ralph net allow example.com
	out=$(ralph net check --json example.com)
	same "allow rule example.com ralph net --project 443" \
		"$(json '" ".join([j["verdict"], j["reason"], j["rule"], j["source"], str(j["port"])])' <<<"$out")"
	out=$(ralph net check --json other.com) || :
	same "deny no-rule ralph net allow other.com" \
		"$(json '" ".join([j["verdict"], j["reason"], j["remedy"]])' <<<"$out")"
	out=$(ralph net check --json 10.0.0.1) || :
	same "a private address" "$(json 'j["class"]' <<<"$out")"
	has "$(ralph net check 100.64.0.1 || :)" "class"
	must_exit 1 ralph --profile offline net check example.com
}

@test 'check judges requests where a rule looks at them' {
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	cat >"$XDG_CONFIG_HOME/ralph/config.yaml" <<-'YAML'
		network:
		  rules:
		    - {host: api.example.com, methods: [GET], paths: [/v1/]}
	YAML
	must_exit 0 ralph net check api.example.com
	has "$(ralph net check api.example.com)" 'inspected'
	must_exit 0 ralph net check --path /v1/x api.example.com
	must_exit 0 ralph net check https://api.example.com/v1/x?y=z
	must_exit 1 ralph net check --method POST --path /v1/x api.example.com
	must_exit 1 ralph net check https://api.example.com/v2/
	must_exit 1 ralph net check https://api.example.com/v1/../v2/
	must_exit 2 ralph net check --path v1 api.example.com
}

resolving() {
	ralph net allow allowed.test inner.test unknown.test
	must_exit 1 ralph net check --resolve refused.test
	must_exit 0 ralph net check unknown.test
	same "" "$(cat "$T/questions")"
	has "$(ralph net check --resolve allowed.test)" '8.1.1.1 (allow)'
	ralph net check --resolve --json inner.test >"$T/inner" && fail "a private address was allowed"
	has "$(cat "$T/inner")" 'a private address'
	ralph net check --resolve unknown.test
	has "$(tr -d '\0' <"$T/questions")" unknown
}

@test 'check looks up allowed names only, when told to, and judges their addresses' {
	world resolving
}

@test 'a pattern that is too broad is refused with what to write, and nothing is kept' {
	for pattern in '*' '*.com' '0.0.0.0/0' '*.github.io'; do
		run ralph net allow good.example.com "$pattern"
		same 2 "$status"
		has "$output" "broad"
	done
	must_exit 2 ralph net allow 'http://example.com/'
	must_exit 2 ralph net allow $'a\nallow *.com'
	must_exit 2 ralph net allow 'a b'
	must_exit 2 ralph net allow @nosuchgroup
	must_exit 2 ralph net allow localhost:3128
	must_exit 2 ralph net allow
	same 0 "$(ralph net ls --json | json 'len(j["rules"])')"
	must_exit 0 ralph net deny '*.com'
}

@test 'scopes: the project by default, the user, one sandbox' {
	ralph run -- true
	name=$(first_name)
	ralph net allow project.example.com
	ralph net allow --user user.example.com
	ralph net deny --sandbox "$name" sandbox.example.com
	same "allow user.example.com ralph net --user
allow project.example.com ralph net --project
deny sandbox.example.com ralph net --sandbox" \
		"$(ralph net ls --json | json '"\n".join(" ".join([r["verdict"], r["pattern"], r["source"]]) for r in j["rules"])')"
	same "$(ralph net ls --json | json 'j["rules"]')" "$(ralph net ls --json "$name" | json 'j["rules"]')"
	mkdir "$HOME/second" && cd "$HOME/second"
	same "['user.example.com']" "$(ralph net ls --json | json '[r["pattern"] for r in j["rules"]]')"
	must_exit 2 ralph net allow --user --project x.example.com
	must_exit 1 ralph net allow --sandbox nowhere-box x.example.com
	cd /
	must_exit 2 ralph net allow x.example.com
	must_exit 0 ralph net allow --user x.example.com
}

@test 'rm takes a rule out again, however it was spelt; one that is not there: 1' {
	ralph net allow Example.COM bücher.example
	ralph net rm example.com BÜCHER.example
	same 0 "$(ralph net ls --json | json 'len(j["rules"])')"
	must_exit 1 ralph net rm example.com
	ralph net allow --user example.com
	run ralph net rm example.com
	same 1 "$status"
	has "$output" "ralph net rm --user"
	ralph net allow example.com
	ralph net deny example.com
	same "['deny']" "$(ralph net ls --json | json '[r["verdict"] for r in j["rules"] if "project" in r["source"]]')"
}

@test 'groups are patterns; ls shows the hosts and the group' {
	ralph net allow @github
	has "$(ralph net ls)" 'ralph net --project @github'
	must_exit 0 ralph net check github.com
	ralph net rm @github
	must_exit 1 ralph net check github.com
	has "$(ralph net groups)" @github
	ralph net groups --json | json 'all(set(g) >= {"name", "help"} and ("hosts" in g) != ("error" in g) for g in j)' |
		grep -qx True
}

@test 'a port that needs a new socket: said so, and there after the next start' {
	ralph run --detach
	run --separate-stderr ralph net allow db.example.com:5432 ssh.example.com:22 localhost:5433
	same 0 "$status"
	has "$stderr" "db.example.com:5432"
	has "$stderr" "port 22"
	has "$stderr" "localhost:5433"
	# Told once, and not with every later change.
	run --separate-stderr ralph net allow example.com
	lacks "$stderr" "5432"
	ralph stop "$(first_name)"
	ralph run --detach
	run --separate-stderr ralph net allow db.example.com:5432
	lacks "$stderr" "5432"
}

@test 'what only the proxy can reach is said, too' {
	run --separate-stderr ralph net allow '*.example.org:8443' 192.0.2.7 'any.example.com:*' '*.plain.example.org'
	same 0 "$status"
	same 3 "$(grep -c 'through the proxy' <<<"$stderr")"
	lacks "$stderr" plain
	run --separate-stderr ralph net deny '*.example.net:8443' 192.0.2.8
	same "" "$stderr"
}

@test 'a run beside a live sandbox brings it up to rules that were written by hand' {
	ralph run --detach
	ralph net allow first.example.com
	echo 'allow second.example.com' >>"$(find "$XDG_STATE_HOME" -name network.rules)"
	ralph run -- true
	has "$(ralph inspect --json "$(first_name)")" second.example.com
	echo 'nonsense' >>"$(find "$XDG_STATE_HOME" -name network.rules)"
	run ralph run -- true
	same 2 "$status"
	has "$output" network.rules:4
}

@test 'changes at the same time are all kept, and all in force' {
	ralph run --detach
	for i in 1 2 3 4 5 6 7 8; do
		ralph net allow "host$i.example.com" 3>&- >/dev/null &
		pids="${pids:-} $!"
	done
	for pid in $pids; do
		wait "$pid"
	done
	same 8 "$(ralph net ls --json | json 'len(j["rules"])')"
	same running "$(ralph net ls --json | json 'j["state"]')"
	ralph run -- true
	same 8 "$(ralph inspect --json "$(first_name)" | json 'len(j["network"]["rules"])')"
}

@test 'a sandbox without network says so, and has none whatever is allowed' {
	ralph run --detach --net none
	run --separate-stderr ralph net allow example.com
	has "$stderr" "no network"
	must_exit 1 ralph net check --sandbox "$(first_name)" example.com
	must_fail ralph exec "$(first_name)" curl -sS -m 5 http://example.com/
	must_exit 2 ralph run --name other-box --net everything -- true
	must_exit 2 ralph run --name other-box --allow '*' -- true
}
