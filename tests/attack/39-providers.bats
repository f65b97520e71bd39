# runs: user
# seconds: 40
# Providers' endpoints over HTTP/2, on both sides: their clients use it where they stream.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154
load ../cli/helpers
load ../cli/sandbox
load ../lib/cred

KEY=key-of-the-host-0123456789
H2='curl -sS --http2-prior-knowledge -H "content-type: application/json" -H "x-api-key: $ANTHROPIC_API_KEY"'

setup() {
	ralph_setup
	PROV_H2=1
	provider_start
	provider_takes "$KEY"
	export ANTHROPIC_API_KEY=$KEY
	config 'prices: ["dear=1000/1000/1000/1000", "claude-opus-5-5=4/20"]'
}

teardown() {
	[ ! -e "$PROV" ] || touch "$PROV/go"
	provider_stop
	ralph_teardown
}

# spent: in thousandths of a dollar.
spent() {
	ralph usage --json | python3 -c 'import json, sys; print(round(sum(r["usd"] for r in json.load(sys.stdin)) * 1000))'
}

@test 'an endpoint speaks HTTP/2: the key is set, a stream is metered, what the phantom does not open is refused' {
	ralph run -d -- true
	box=$(sandbox)
	out=$(ralph exec "$box" sh -c "$H2 -w '\n%{http_version} %{http_code}' -d '{\"model\":\"m\",\"max_tokens\":9,\"stream\":true}' \$ANTHROPIC_BASE_URL/v1/messages")
	has "$out" 'event: message_stop'
	has "$out" '2 200'
	has "$(cat "$PROV/requests.jsonl")" "\"x-api-key\": \"$KEY\""
	has "$(cat "$PROV/requests.jsonl")" '"h2": 1'
	wait_until grep -q output "$XDG_STATE_HOME/ralph/sandboxes/$box/events.jsonl"
	same '3 5' "$(ralph usage --json | python3 -c 'import json, sys; r = json.load(sys.stdin)[0]; print(r["input"], r["output"])')"
	lacks "$(ralph exec "$box" sh -c "$H2 \"\$ANTHROPIC_BASE_URL/v1/messages?echo\"")" "$KEY"
	same '2 401' "$(ralph exec "$box" sh -c 'curl -sS -o /dev/null -w "%{http_version} %{http_code}" --http2-prior-knowledge -H "x-api-key: guessed" $ANTHROPIC_BASE_URL/v1/messages')"
	same '2 403' "$(ralph exec "$box" sh -c "$H2 -o /dev/null -w '%{http_version} %{http_code}' \$ANTHROPIC_BASE_URL/v1/organizations/api_keys")"
	# A proxy opens its tunnels over HTTP/1.1.
	same 400 "$(ralph exec "$box" /usr/bin/python3 - <<'PY'
import os, socket
import h2.config, h2.connection, h2.events
host, _, port = os.environ["ANTHROPIC_BASE_URL"].split("/")[2].partition(":")
s = socket.create_connection((host, int(port)), 20)
c = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="latin-1", validate_outbound_headers=False))
c.initiate_connection()
c.send_headers(1, [(":method", "CONNECT"), (":authority", "localhost:443")])
s.sendall(c.data_to_send())
status = None
while not status:
    for e in c.receive_data(s.recv(65536)):
        if isinstance(e, h2.events.ResponseReceived):
            status = dict(e.headers)[":status"]
print(status)
PY
	)"
}

@test '60 streams of one connection spend no more than the budget and one request' {
	# Each can cost 3.75 dollars, and does.
	cat >"$WS/many.py" <<'PY'
import os, socket
import h2.config, h2.connection, h2.events
host, _, port = os.environ["ANTHROPIC_BASE_URL"].split("/")[2].partition(":")
base = "/" + os.environ["ANTHROPIC_BASE_URL"].split("/", 3)[3]
s = socket.create_connection((host, int(port)), 60)
c = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="latin-1"))
c.initiate_connection()
for i in range(60):
    n = c.get_next_available_stream_id()
    c.send_headers(n, [(":method", "POST"), (":scheme", "http"), (":authority", f"{host}:{port}"), (":path", base + "/v1/messages?as=held"),
                       ("x-api-key", os.environ["ANTHROPIC_API_KEY"]), ("content-type", "application/json")])
    c.send_data(n, b'{"model":"claude-opus-5-5","max_tokens":187500}', end_stream=True)
s.sendall(c.data_to_send())
left = 60
while left:
    for e in c.receive_data(s.recv(65536)):
        if isinstance(e, h2.events.ResponseReceived):
            print(dict(e.headers)[":status"])
        left -= isinstance(e, (h2.events.StreamEnded, h2.events.StreamReset))
    s.sendall(c.data_to_send())
PY
	ralph run --budget 4 -- /usr/bin/python3 many.py >"$T/statuses" 3>&- &
	pid=$!
	wait_until test -s "$PROV/requests.jsonl"
	touch "$PROV/go"
	wait "$pid"
	same 60 "$(wc -l <"$T/statuses")"
	same '200 402 ' "$(sort -u "$T/statuses" | tr '\n' ' ')"
	now=$(spent)
	if [ "$now" -lt 3750 ] || [ "$now" -gt 7760 ]; then
		fail "spent $now"
	fi
}

@test 'a streamed answer over HTTP/2 that is reset costs what was reserved' {
	ralph run --budget 1000 -- sh -c "$H2 -o /dev/null -d '{\"model\":\"dear\",\"max_tokens\":2000}' \"\$ANTHROPIC_BASE_URL/v1/messages?as=cut\" || :"
	now=$(spent)
	if [ "$now" -lt 6000 ] || [ "$now" -gt 6300 ]; then
		fail "spent $now"
	fi
}
