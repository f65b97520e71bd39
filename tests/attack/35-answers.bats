# runs: user
# seconds: 60
# Answers that show what an earlier request was sent, or whose length depends on a secret; requests in another spelling; texts of errors.
# shellcheck disable=SC2016
load ../cli/helpers
load ../lib/netbed

A=tok-Zz0PqL3v9XkR7mW2nB4cD6eF8gH1jK5xYw_A
B=tok-a8Hy5TgB6rFv4EdC3wSx2Qaz1NhY7uJmI9_k

setup() {
	netbed_setup
	export TOKEN_A=$A TOKEN_B=$B
	printf '%s' "$A" >"$HOME/token"
	chmod 600 "$HOME/token"
	cp "$NETBED/../attack/raw.py" "$WS/raw.py"
}

teardown() {
	netbed_teardown
}

settings() {
	printf '%s\n' "$1" >"$XDG_CONFIG_HOME/ralph/config.yaml"
}

given() {
	cut -d' ' -f2- "$BED/auth.log"
}

@test 'a page that shows earlier requests does not show the token of another rule of that host' {
	settings '{credentials: [{name: a, source: "env:TOKEN_A"}, {name: b, source: "env:TOKEN_B"}], network: {rules: [
		{host: allowed.test, paths: [/a], credential: a}, {host: allowed.test, paths: [/b], credential: b}, {host: allowed.test, paths: [/open]}]}}'
	box curl -sS -o /dev/null https://allowed.test/a/x
	out=$(box curl -sS https://allowed.test/b/earlier)
	lacks "$out" "$B"
	lacks "$out" "$A"
}

@test 'a page that shows earlier requests does not show the token under a rule without a credential' {
	settings '{credentials: [{name: a, source: "env:TOKEN_A"}], network: {rules: [
		{host: allowed.test, paths: [/a], credential: a}, {host: allowed.test, paths: [/open]}]}}'
	box curl -sS -o /dev/null https://allowed.test/a/x
	lacks "$(box curl -sS https://allowed.test/open/earlier)" "$A"
}

@test 'a token that was replaced is still removed from answers' {
	settings '{credentials: [{name: a, source: "file:~/token"}], network: {rules: [{host: allowed.test, credential: a}]}}'
	box curl -sS -o /dev/null https://allowed.test/x
	printf '%s' "$B" >"$HOME/token"
	out=$(box curl -sS https://allowed.test/earlier)
	lacks "$out" "$B"
	lacks "$out" "$A"
}

@test 'a spelling of a narrower path does not get the token of the wider rule' {
	settings '{credentials: [{name: a, source: "env:TOKEN_A"}], network: {rules: [
		{host: allowed.test, paths: [/api], credential: a}, {host: allowed.test, paths: [/api/open]}]}}'
	box curl -sS -o /dev/null https://allowed.test/api/open/x
	same 'GET /api/open/x -' "$(given)"
	box curl -sS -o /dev/null --path-as-is 'https://allowed.test/api/open%2Fx'
	box curl -sS -o /dev/null --path-as-is 'https://allowed.test/api/open;v=1/x'
	lacks "$(given)" "$A"
}

@test 'a field that names another path does not reach the server with a token of a rule by path' {
	settings '{credentials: [{name: a, source: "env:TOKEN_A"}], network: {rules: [{host: allowed.test, paths: [/mine], credential: a}]}}'
	box curl -sS -o /dev/null -X COPY -H 'Destination: https://allowed.test/theirs/x' https://allowed.test/mine/trace-fields
	box curl -sS -o /dev/null -X PUT -H 'x-ms-copy-source: https://allowed.test/theirs/x' -H 'x-goog-copy-source: /theirs/x' https://allowed.test/mine/trace-fields
	lacks "$(cat "$BED/fields.log")" theirs
}

@test 'what a command or a file of the host says of a failure is not told inside' {
	settings '{credentials: [{name: a, source: "command:vault-get --address https://vault.corp.internal --token hvs.SECRETSECRET; exit 3"}],
		network: {rules: [{host: allowed.test, credential: a}]}}'
	out=$(box curl -sS https://allowed.test/x)
	lacks "$out" hvs.SECRET
	lacks "$out" vault.corp
}

# pieces SECRET TYPE CUT: when the chunks of a compressed answer came and how long they were. It shows the token, a beginning of A, and noise.
pieces() {
	printf '%s' "$1" >"$HOME/token"
	python3 - "$2" "$3" "$A" >"$WS/request" <<-'PY'
		import json, random, sys, zlib
		kind, cut, secret = sys.argv[1], int(sys.argv[2]), sys.argv[3]
		noise = random.Random(1)
		text = "data: AUTH\n\n" + f"data: {secret[:24]}\n\n"
		while len(text) < 200000:
		    text += "data: " + "".join(noise.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(20)) + "\n\n"
		if cut == 0:  # where a piece of 64 KiB is full if the guess is right, and not quite full if it is wrong
		    z = zlib.compressobj(9, wbits=31)
		    data = z.compress(text.replace("AUTH", secret).encode()) + z.flush()
		    low, high = 0, len(data)
		    while low < high:
		        cut = (low + high) // 2
		        low, high = (low, cut) if len(zlib.decompressobj(31).decompress(data[:cut])) >= 65536 else (cut + 1, high)
		    cut = low
		head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Encoding: gzip\r\n\r\n"
		said = [head, {"gzip": text, "to": cut}, {"sleep": 1}, {"gzip": text, "from": cut}, {"close": 1}]
		body = json.dumps(said)
		sys.stdout.write(f"POST /raw HTTP/1.1\r\nHost: allowed.test\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}")
	PY
	bed "$RALPH" run -- /usr/bin/python3 - <<-'PY'
		import sys
		sys.argv = ["", "allowed.test", "@request"]
		sys.stdout.write("")
		import io, contextlib, re
		out = io.StringIO()
		with contextlib.redirect_stdout(out):
		    exec(open("raw.py").read())
		reads, _, answer = out.getvalue().partition("\n")
		body = answer.partition("\r\n\r\n")[2]
		at, chunks = 0, []
		while m := re.compile("([0-9a-f]+)\r\n").match(body, at):
		    chunks.append(int(m[1], 16))
		    at = m.end() + chunks[-1] + 2
		print(chunks, reads)
	PY
}

@test 'the pieces of a compressed event stream do not tell how much a guess is like the token' {
	settings '{credentials: [{name: a, source: "file:~/token"}], network: {rules: [{host: allowed.test, credential: a}]}}'
	a=$(pieces "$A" text/event-stream 20000 | cut -d] -f1)
	b=$(pieces "$B" text/event-stream 20000 | cut -d] -f1)
	same "$a" "$b"
}

@test 'when the pieces of a compressed answer come does not tell how much a guess is like the token' {
	settings '{credentials: [{name: a, source: "file:~/token"}], network: {rules: [{host: allowed.test, credential: a}]}}'
	a=$(pieces "$A" text/plain 0)
	b=$(pieces "$B" text/plain 0)
	echo "$a"
	echo "$b"
	# Tenths of a second until the first half of the body is there.
	early() { grep -o '([0-4], [0-9]*)' <<<"$1" | awk -F'[, )]+' '{ n += $2 } END { print (n > 30000 ? "early" : "late") }'; }
	same "$(early "$a")" "$(early "$b")"
}

@test "the password of the host's proxy is not told inside" {
	net '{allow: [allowed.test]}'
	export HTTP_PROXY=http://me:password-of-the-proxy@8.8.4.4:8888 http_proxy=http://me:password-of-the-proxy@8.8.4.4:8888
	out=$(box curl -sS -X TRACE -H 'Max-Forwards: 0' http://allowed.test/x)
	unset HTTP_PROXY http_proxy
	has "$out" TRACE
	lacks "$out" "$(printf me:password-of-the-proxy | base64)"
}

@test 'a token of the attacker in the target does not go along with that of a rule' {
	settings '{credentials: [{name: a, source: "file:~/token"}], network: {rules: [{host: allowed.test, credential: a}]}}'
	box curl -sS -o /dev/null 'https://allowed.test/x?a=1&access_token=of-the-attacker&%6Fauth_token=of-the-attacker&b=2'
	has "$(cat "$BED/requests.log")" '/x?a=1&b=2'
	lacks "$(cat "$BED/requests.log")" attacker
}
