#!/usr/bin/env bats
# runs: user
# seconds: 40
# `ralph web` against other pages, other programs of the machine, and a part of it that was taken over.
# shellcheck disable=SC2030,SC2031 # each test has a server of its own
load ../cli/helpers
load ../cli/loop
load ../lib/web

teardown() {
	web_stop
	ralph_teardown
}

# head LINE…: a request with these lines; prints the status.
head_of() {
	printf '%s\r\n' "$@" '' | raw send
}

@test 'a request for another name, as after DNS rebinding, is misdirected' {
	web_start
	same 421 "$(head_of 'GET / HTTP/1.1' 'Host: evil.test:PORT' 'Connection: close')"
	same 421 "$(head_of 'GET / HTTP/1.1' 'Host: 127.0.0.1.evil.test' 'Connection: close')"
	same 421 "$(head_of 'GET /api/overview HTTP/1.1' 'Host: 0.0.0.0:PORT' 'Connection: close')"
	same 200 "$(head_of 'GET / HTTP/1.1' 'Host: localhost:1' 'Connection: close')"
}

@test 'a page of another port or site cannot log in, act or read' {
	local post=('POST /api/act HTTP/1.1' 'Host: 127.0.0.1:PORT' 'Connection: close' 'Content-Length: 0')

	web_start
	web_login "$LINK"
	same 403 "$(head_of "${post[@]}" 'Origin: http://127.0.0.1:1' 'Content-Type: application/json' "Cookie: ralph=$COOKIE" "X-Ralph-Key: $KEY")"
	same 403 "$(head_of "${post[@]}" 'Content-Type: application/json' "Cookie: ralph=$COOKIE" "X-Ralph-Key: $KEY")"
	same 403 "$(head_of "${post[@]}" 'Origin: null' 'Content-Type: application/json' "Cookie: ralph=$COOKIE" "X-Ralph-Key: $KEY")"
	same 415 "$(head_of "${post[@]}" 'Origin: http://127.0.0.1:PORT' 'Content-Type: text/plain' "Cookie: ralph=$COOKIE" "X-Ralph-Key: $KEY")"
	same 403 "$(head_of "${post[@]}" 'Origin: http://127.0.0.1:PORT' 'Sec-Fetch-Site: same-site' 'Content-Type: application/json' "Cookie: ralph=$COOKIE" "X-Ralph-Key: $KEY")"
	same 403 "$(head_of 'GET /api/overview HTTP/1.1' 'Host: 127.0.0.1:PORT' 'Connection: close' 'Sec-Fetch-Site: cross-site' "Cookie: ralph=$COOKIE" "X-Ralph-Key: $KEY")"
	same 405 "$(head_of 'OPTIONS /api/act HTTP/1.1' 'Host: 127.0.0.1:PORT' 'Origin: http://evil.test' 'Connection: close')"
}

@test 'a cookie that a neighbour has read is worth nothing without the key, and the key nothing without the cookie' {
	web_start
	web_login "$LINK"
	has "$(api /api/overview)" '200 {'
	has "$(raw get /api/overview "$COOKIE" "")" '401 '
	has "$(raw get /api/overview "$COOKIE" "$COOKIE")" '401 '
	has "$(raw get /api/overview "$KEY" "$KEY")" '401 '
	has "$(raw act "$COOKIE" "$COOKIE" pause x y)" '401 '
}

@test 'a link works once, and a revoked session ends at once, its stream too' {
	web_start
	web_login "$LINK"
	same 403 "$(raw login "${LINK#*#k=}" || true)"
	same 403 "$(raw login 00000000000000000000000000000000 || true)"
	raw stream "$COOKIE" "$KEY" '{"overview": 0}' 100 >"$T/stream" &
	wait_until grep -q topic "$T/stream"
	ralph web revoke "$(ralph web sessions | awk 'NR == 2 { print $1 }')"
	wait_until grep -qx closed "$T/stream"
	has "$(api /api/overview)" '401 '
}

@test 'logins are tried five times a minute' {
	web_start
	for _ in 1 2 3 4 5; do
		raw login 00000000000000000000000000000000 || true
	done
	same 429 "$(raw login "${LINK#*#k=}" || true)"
}

@test 'a session to look cannot act, and --read-only caps every link' {
	loop_workspace 1
	build 6 decides
	web_start --read-only
	web_login "$(ralph web link grant | sed 's/.*http/http/')"
	answer_of
	has "$(act answer "$ID" "$SEEN" blue)" '403 '
	has "$(api /api/sessions)" '"level":"look"'
}

# answer_of: ID and SEEN of the act that answers the question of the only loop.
answer_of() {
	local key

	key=$(api /api/overview | sed 's/^200 //' | python3 -c 'import json, sys; print(json.load(sys.stdin)["loops"][0]["key"])')
	read -r ID SEEN < <(api "/api/loop/$key" | sed 's/^200 //' | python3 -c '
import json, sys
for t in json.load(sys.stdin)["tasks"]:
    for a in t["acts"]:
        if a["verb"] == "answer":
            print(a["id"], a["seen"])')
	[ -n "$SEEN" ]
}

@test 'an act on what has changed since it was shown is refused, and one that is sent again is done once' {
	loop_workspace 1
	build 6 decides
	web_start
	web_login "$LINK"
	answer_of
	has "$(act answer "$ID" "${SEEN/[0-9]/x}" blue)" '409 '
	same 0 "$(find .ralph/state/answers -type f 2>/dev/null | wc -l)"
	NONCE=0123456789abcdef act answer "$ID" "$SEEN" 'blue; touch pwned' >"$T/said"
	has "$(cat "$T/said")" '200 {"code":0'
	has "$(NONCE=0123456789abcdef act answer "$ID" "$SEEN" blue)" '409 '
	same 1 "$(find .ralph/state/answers -type f | wc -l)"
	has "$(cat .ralph/state/answers/*)" 'blue; touch pwned'
	[ ! -e pwned ]
	# The act is written down, with the session that did it.
	has "$(cat "$XDG_STATE_HOME/ralph/web/events.jsonl")" '"type":"web-act"'
}

@test 'no verb, id, path or text of a browser reaches anything but the table of commands' {
	web_start
	web_login "$LINK"
	has "$(act run x y)" '400 '
	has "$(act exec x y)" '400 '
	has "$(act pause ../../etc y)" '409 '
	has "$(act pause --all y)" '409 '
	has "$(act drop 00000000 y)" '409 '
	has "$(act allow-sandbox 'x/0123456789abcdef' y)" '409 '
	has "$(api '/api/events/../../../etc/passwd')" '404 '
	has "$(api '/api/loop/0123456789abcdef/iter/1/log?path=/etc/passwd')" '404 '
	has "$(api /api/quarantine/../../x)" '404 '
	has "$(api /etc/passwd)" '404 '
}

@test 'requests that two readers could frame differently are refused' {
	web_start
	same 400 "$(head_of 'POST /login HTTP/1.1' 'Host: 127.0.0.1:PORT' 'Content-Length: 3' 'Transfer-Encoding: chunked')"
	same 400 "$(head_of 'GET / HTTP/1.1' 'Host: 127.0.0.1:PORT' 'Host: evil.test')"
	same 411 "$(head_of 'POST /login HTTP/1.1' 'Host: 127.0.0.1:PORT' 'Transfer-Encoding: chunked')"
	same 413 "$(head_of 'POST /login HTTP/1.1' 'Host: 127.0.0.1:PORT' 'Content-Length: 99999999')"
	same 400 "$(head_of 'GET http://127.0.0.1/ HTTP/1.1' 'Host: 127.0.0.1')"
}

@test 'ten thousand sockets that say nothing, or read nothing, keep nobody out and cost no memory' {
	web_start
	before=$(field "$(part_of web)" VmRSS)
	same 200 "$(raw slow 10000)"
	same 200 "$(raw deaf 300)"
	[ $(($(field "$(part_of web)" VmRSS) - before)) -lt 8192 ] || fail "web grew from $before KiB to $(field "$(part_of web)" VmRSS)"
}

@test 'a unix socket is for its user alone, and a second server neither takes it nor removes it' {
	local sock

	"$RALPH" web --socket >"$T/web.out" 2>&1 3>&- 4>&- &
	WEB_PID=$!
	wait_until grep -q '#k=' "$T/web.out"
	sock=$(sed -n 's/.* -L 8400:\([^ ]*\) .*/\1/p' "$T/web.out")
	same 'socket 600' "$(stat -c '%F %a' "$sock")"
	same 700 "$(stat -c %a "${sock%/*}")"
	has "$(curl -sS -m 20 --unix-socket "$sock" http://127.0.0.1:8400/)" '<title>ralph'
	# No port is open.
	same '' "$(ss -Hltnp 2>/dev/null | grep "pid=$WEB_PID," || true)"
	must_exit 1 ralph web --socket 2>"$T/err"
	has "$(cat "$T/err")" 'a server runs already'
	must_exit 1 ralph web --port 0
	has "$(curl -sS -m 20 --unix-socket "$sock" http://127.0.0.1:8400/)" '<title>ralph'
	web_stop
	[ ! -e "$sock" ]
}

@test 'each process that is killed comes back, and sessions last' {
	web_start
	web_login "$LINK"
	has "$(api /api/overview)" '200 {'
	for name in desk web; do
		kill -9 "$(part_of "$name")"
		served() {
			[[ $(api /api/overview 2>/dev/null) == '200 {'* ]]
		}
		wait_until served
	done
	# Without the hand there is nothing.
	desk=$(part_of desk) web=$(part_of web)
	kill -9 "$WEB_PID"
	gone() {
		! kill -0 "$desk" 2>/dev/null && ! kill -0 "$web" 2>/dev/null
	}
	wait_until gone
	WEB_PID=
}

# key_of: the key of the only loop.
key_of() {
	api /api/overview | sed 's/^200 //' | python3 -c 'import json, sys; print(json.load(sys.stdin)["loops"][0]["key"])'
}

@test 'an agent that writes very much, or very many lines, makes no page unreadable and no reader large' {
	local key box=much-${WS##*-}

	loop_workspace 1
	cat >much.py <<-'END'
		#!/usr/bin/env python3
		import os, subprocess
		open("US-1", "w").write("\u0416" * 500000)
		subprocess.run("git add US-1; git commit -qm much", shell=True, check=True)
		os.execv("./agent.py", ["agent.py", "honest"])
	END
	chmod +x much.py
	git add much.py
	git commit -qm much
	loop_exits 0 build -- ./much.py
	ralph run -n "$box" -- true
	python3 - "$XDG_STATE_HOME/ralph/sandboxes/$box/events.jsonl" <<-'END'
		import json, sys
		much = "\u0416" * 4000
		with open(".ralph/logs/iteration-001.jsonl", "w") as f:
		    f.write("x\n" * 200000)
		with open(".ralph/logs/verify-001.jsonl", "w") as f:
		    for _ in range(100):
		        f.write(json.dumps({"command": much, "code": 0, "ms": 1, "bytes": 1, "output": "\u0416" * 8000}, ensure_ascii=False) + "\n")
		with open(".ralph/state/records.jsonl", "a") as f:
		    for n in range(2, 400):
		        f.write(json.dumps({"iteration": n, "verdict": "failed", "why": much[:1500]}, ensure_ascii=False) + "\n")
		with open(sys.argv[1], "a") as f:
		    for n in range(100, 600):
		        f.write(json.dumps({"seq": n, "time": "2026-01-31T12:00:00.000Z", "type": "net", "verdict": "deny", "host": "x.test", "port": 1, "reason": much}, ensure_ascii=False) + "\n")
	END
	web_start
	web_login "$LINK"
	key=$(key_of)
	for path in "/api/loop/$key/iter/1/log?at=end" "/api/loop/$key/iter/1/log?before=300000" "/api/loop/$key/iter/1/log?at=0" "/api/loop/$key/iter/1/verify" "/api/loop/$key" \
		"/api/events/$box" "/api/net/$box" /api/overview; do
		api "$path" >"$T/said"
		has "$(head -c 100 "$T/said")" '200 {'
	done
	same 200 "$(api "/api/loop/$key/iter/1/log?at=end" | sed 's/^200 //' | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["items"]))')"
	# A commit that no answer can hold is refused with the reason.
	has "$(api "/api/loop/$key/iter/1/diff")" 'too large for the page'
	raw stream "$COOKIE" "$KEY" "{\"loop/$key\": 0, \"events/$box\": 0, \"overview\": 0}" 3 >"$T/stream"
	same 3 "$(grep -c '^{' "$T/stream")"
	[ "$(field "$(part_of desk)" VmHWM)" -lt 32768 ] || fail "desk took $(field "$(part_of desk)" VmHWM) KiB"
}

# field PID NAME: of /proc/PID/status.
field() {
	awk -v k="$2:" '$1 == k { print $2 }' "/proc/$1/status"
}

@test 'web and desk have no capability, no new privileges, and a filter of system calls' {
	web_start
	for name in web desk; do
		pid=$(part_of "$name")
		same 2 "$(field "$pid" Seccomp)"
		same 1 "$(field "$pid" NoNewPrivs)"
		same 0000000000000000 "$(field "$pid" CapEff)"
	done
	# The environment of the user, where secrets may be, is not theirs.
	lacks "$(tr '\0' '\n' <"/proc/$(part_of desk)/environ" 2>/dev/null)" "PATH="
}

# bats test_tags=root
@test 'a taken-over web opens nothing at all, a taken-over desk reads its places and writes nothing' {
	local inject=$BATS_TEST_DIRNAME/inject

	[ "$(id -u)" -eq 0 ] || skip 'n/a: inject.c needs root'
	[ -e "$inject" ] || inject=$BATS_TEST_DIRNAME/../../build/tests/attack/inject
	[ "$(uname -m)" = x86_64 ] || skip 'inject.c knows the registers of x86-64'
	mkdir -p "$XDG_CONFIG_HOME/ralph" "$XDG_STATE_HOME/ralph/sandboxes" "$XDG_STATE_HOME/ralph/homes/key"
	echo token >"$XDG_STATE_HOME/ralph/homes/key/.credentials.json"
	echo secret >"$XDG_CONFIG_HOME/ralph/config.yaml.bak"
	echo mine | tee "$HOME/file" >"$WS/file"
	web_start
	desk=$(part_of desk)
	for path in "$HOME/file" "$XDG_CONFIG_HOME/ralph/config.yaml.bak" "$XDG_STATE_HOME/ralph/homes/key/.credentials.json" \
		"$XDG_STATE_HOME/ralph/web/events.jsonl" "$WS/file" /etc/shadow /etc/passwd "/proc/$$/mem"; do
		same refused "$("$inject" "$desk" read "$path")"
	done
	for path in "$HOME/file" "$XDG_STATE_HOME/ralph/sandboxes/new" "$T/new" "$WS/new"; do
		same refused "$("$inject" "$desk" write "$path")"
	done
	same refused "$("$inject" "$desk" remove "$HOME/file")"
	same refused "$("$inject" "$desk" execute /bin/true)"
	same refused "$("$inject" "$desk" socket)"
	same refused "$("$inject" "$desk" unix)"
	same refused "$("$inject" "$desk" signal "$$")"
	same mine "$(cat "$HOME/file")"
	# The kernel ends web at its first such call; the next one serves.
	for call in "read /etc/passwd" "write $T/new" "execute /bin/true" fork unix socket; do
		# shellcheck disable=SC2086 # a call and its argument
		same refused "$("$inject" "$(part_of web)" $call)"
		wait_until part_of web
	done
	[ ! -e "$T/new" ]
}
