# Logins of the host and a provider they are for: `load ../lib/cred` after the helpers.
#
#   provider_start              the scripted provider of lib/anthropic.py in $PROV, trusted by $PROV/ca.pem,
#                               and a configuration that points providers.anthropic at it; PROV_H2=1: it
#                               speaks HTTP/2
#   provider_takes KEY…         what it accepts; provider_refresh TOKEN: the refresh token it knows
#   login ACCESS REFRESH [EXPIRES_MS]   the host's ~/.claude/.credentials.json
#   requests [PATH]             how many it has seen;  sent FIELD: that field of the last one
#   assert_secret_nowhere NAME SECRET…   inside the live sandbox NAME: environment, files, /proc, memory of
#                               processes; and on the host its record and events
# shellcheck shell=bash

CRED_LIB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# test_authority DIR NAMES: an authority in DIR/ca.pem and a leaf for these names in DIR/leaf.pem.
test_authority() {
	local dir=$1 names=$2

	mkdir -p "$dir"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority \
		-addext keyUsage=critical,keyCertSign -keyout "$dir/ca.key" -out "$dir/ca.pem" 2>"$dir/openssl.log" &&
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=leaf \
			-addext "subjectAltName=$names" -addext basicConstraints=CA:FALSE -CA "$dir/ca.pem" \
			-CAkey "$dir/ca.key" -keyout "$dir/leaf.key" -out "$dir/leaf.crt" 2>>"$dir/openssl.log" ||
		fail "$(cat "$dir/openssl.log")" || return
	cat "$dir/leaf.key" "$dir/leaf.crt" >"$dir/leaf.pem"
}

provider_start() {
	need openssl python3 curl
	PROV=$T/provider
	export PROV
	test_authority "$PROV" "DNS:localhost,IP:127.0.0.1" || return
	provider_takes none
	[ -z "${PROV_H2:-}" ] || touch "$PROV/h2"
	/usr/bin/python3 "$CRED_LIB/anthropic.py" "$PROV" >"$PROV/log" 2>&1 3>&- &
	PROV_PID=$!
	wait_until -t 60 test -e "$PROV/port" || fail "$(cat "$PROV/log")" || return
	PROV_PORT=$(cat "$PROV/port")
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	config ''
	export RALPH_AGENT=claude
}

provider_stop() {
	[ -z "${PROV_PID:-}" ] || kill "$PROV_PID" 2>/dev/null
}

# config 'YAML': the user's configuration besides the provider's address.
config() {
	cat >"$XDG_CONFIG_HOME/ralph/config.yaml" <<-YAML
		providers:
		  anthropic:
		    origin: https://localhost:$PROV_PORT
		    ca_file: $PROV/ca.pem
		    token_url: https://localhost:$PROV_PORT/v1/oauth/token
		$1
	YAML
}

provider_state() {
	python3 - "$PROV/state.json" "$@" <<-'PY'
		import json, os, sys
		path, refresh, *access = sys.argv[1:]
		with open(path + ".new", "w") as f:
		    json.dump({"access": access, "refresh": refresh}, f)
		os.rename(path + ".new", path)
	PY
}

provider_takes() {
	provider_state "${PROV_REFRESH:-}" "$@"
}

# The refresh token it knows; access tokens are those given behind it.
provider_refresh() {
	PROV_REFRESH=$1
	provider_state "$@"
}

now_ms() {
	date +%s%3N
}

login() {
	mkdir -p "$HOME/.claude"
	printf '{"claudeAiOauth":{"accessToken":"%s","refreshToken":"%s","expiresAt":%s,"scopes":["user:inference","user:profile"],"subscriptionType":"max","rateLimitTier":"default_claude_max_5x"},"mcpOAuth":{"kept":{"x":1}}}' \
		"$1" "$2" "${3:-$(($(now_ms) + 3600000))}" >"$HOME/.claude/.credentials.json"
	chmod 600 "$HOME/.claude/.credentials.json"
}

# saved KEY: of the host's login as it is now.
saved() {
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["claudeAiOauth"][sys.argv[2]])' \
		"$HOME/.claude/.credentials.json" "$1"
}

requests() {
	python3 - "$PROV/requests.jsonl" "${1:-}" <<-'PY'
		import json, os, sys
		path, part = sys.argv[1:]
		lines = open(path).read().splitlines() if os.path.exists(path) else []
		print(sum(1 for line in lines if part in json.loads(line)["path"]))
	PY
}

# sent FIELD [PATH]: that header of the last request to PATH.
sent() {
	python3 - "$PROV/requests.jsonl" "$1" "${2:-/v1/messages}" <<-'PY'
		import json, sys
		path, field, part = sys.argv[1:]
		last = [json.loads(line) for line in open(path)]
		last = [r for r in last if part in r["path"]]
		print(last[-1]["headers"].get(field, ""))
	PY
}

# What a client inside does; the phantom is where the client expects its key.
# shellcheck disable=SC2016,SC2034
ASK='curl -sS -o "${OUT:-/dev/null}" -w "%{http_code}\n" -X POST -H "anthropic-beta: oauth-2025-04-20" \
	${ANTHROPIC_API_KEY:+-H "x-api-key: $ANTHROPIC_API_KEY"} \
	${CLAUDE_CODE_OAUTH_TOKEN:+-H "authorization: Bearer $CLAUDE_CODE_OAUTH_TOKEN"} \
	-d "{}" "$ANTHROPIC_BASE_URL/v1/messages"'

# assert_secret_nowhere NAME SECRET…: looks for each in the live sandbox NAME and in what it leaves.
assert_secret_nowhere() {
	local name=$1 secret bad=0 out
	shift

	for secret; do
		# The pattern must not find itself: it is handed in as a file that is excluded.
		printf '%s' "$secret" >"$T/needle"
		out=$("$RALPH" exec "$name" python3 -c "$SECRET_SEARCH" <"$T/needle" 2>&1) ||
			fail "'$secret' is inside: $out" || bad=1
		out=$(grep -rlaF -e "$secret" "$XDG_STATE_HOME/ralph" "${XDG_RUNTIME_DIR:-/nonexistent}" 2>/dev/null) || true
		[ -z "$out" ] || fail "'$secret' is in ralph's own files: $out" || bad=1
	done
	rm -f "$T/needle"
	return $bad
}

# Everything a program inside can read: its own environment, every file, /proc of every process
# with its memory where that can be read. Plain, base64 and hexadecimal.
SECRET_SEARCH=$(
	cat <<'PY'
import base64, os, sys

secret = sys.stdin.buffer.read()
forms = [secret, secret.hex().encode(), base64.b64encode(secret).rstrip(b"=")]
found, me = [], os.getpid()
SKIP = ("/proc/", "/sys/", "/dev/", "/usr/", "/lib", "/bin/", "/sbin/")


def look(path, limit=1 << 26):
    try:
        with open(path, "rb") as f:
            data = f.read(limit)
    except OSError:
        return
    if any(form in data for form in forms):
        found.append(path)


def memory(pid):
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8") as m, open(f"/proc/{pid}/mem", "rb", 0) as f:
            for line in m:
                span, mode = line.split()[:2]
                start, end = (int(x, 16) for x in span.split("-"))
                if mode[0] != "r" or end - start > 1 << 27 or "[v" in line:
                    continue
                f.seek(start)
                if any(form in f.read(end - start) for form in forms):
                    found.append(f"/proc/{pid}/mem")
                    return
    except (OSError, ValueError, OverflowError):
        pass


for top, dirs, files in os.walk("/", followlinks=False):
    if (top + "/").startswith(SKIP):
        dirs[:] = []
        continue
    for name in files:
        path = os.path.join(top, name)
        if os.path.isfile(path) and not os.path.islink(path):
            look(path)
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline", "maps", "mountinfo", "status"):
        look(f"/proc/{pid}/{name}")
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            if os.path.isfile(f"/proc/{pid}/fd/{fd}") and (int(pid), fd) != (me, "0"):
                look(f"/proc/{pid}/fd/{fd}")
    except OSError:
        pass
    if int(pid) != me:
        memory(pid)
print("\n".join(found))
sys.exit(1 if found else 0)
PY
)
