# The real agents, from scripts/agents.sh, in a native sandbox against scripted providers: `load agents`.
# Everything runs in a network of the test's own (lib/netbed.bash); the agents are npm's global packages
# in the user's home.
#
#   login AGENT KIND      the host has this login; $REAL is the secret in it
#   steps 'JSON'          what the model does, see lib/upstream-llm.py
#   search                a command for the model: looks for $REAL in all that the agent can see, then waits
#   turn AGENT ARG…       runs the agent; while that command waits, the memory of all in there is searched
#   seen EXPRESSION       of the requests `r` that the provider saw, as Python; all of them must hold
# shellcheck shell=bash
load ../cli/helpers
load ../cli/sandbox
load ../lib/netbed

agents_setup() {
	AGENTS_DIR=$BATS_TEST_DIRNAME
	if [ ! -e "${RALPH_AGENTS:-/nonexistent}/.installed" ]; then
		case " ${RALPH_TEST_REQUIRE:-} " in
		*" all "* | *" agents "*) fail "the agents are not installed; run: scripts/agents.sh" || return ;;
		*) skip "the agents are not installed; run: scripts/agents.sh" ;;
		esac
	fi
	BED_TOOLS=$RALPH_AGENTS netbed_setup || return
	zone '{"llm.test": {"A": ["8.8.4.4"]}}'
	certificate upstream DNS:llm.test -CA "$BED/ca.pem" -CAkey "$BED/authority.key" -addext basicConstraints=CA:FALSE
	echo '[]' >"$BED/steps.json"
	bed python3 "$NETBED/upstream-llm.py" "$BED" 8.8.4.4 9543 >"$BED/upstream.out" 2>&1 3>&- &
	wait_until -t 60 test -e "$BED/upstream.ready" || fail "$(cat "$BED/upstream.out")"
	settings ''
	export PATH=$HOME/.npm-global/bin:$PATH
	cp "$AGENTS_DIR/search.py" "$WS/search.py"
	stamped
}

# The sandbox is there and counts as tested: a self-test for each of them would be most of the time here.
stamped() {
	bed "$RALPH" run -n "$BOX" -- true || return
	[ ! -f "${RALPH_TEST_STAMP:-}" ] || cp "$RALPH_TEST_STAMP" "$XDG_STATE_HOME/ralph/sandboxes/$BOX/selftest"
}

agents_teardown() {
	[ ! -e "${BED:-}/upstream.ready" ] || kill "$(cut -d ' ' -f 2 "$BED/upstream.ready")"
	netbed_teardown
}

setup() {
	agents_setup
}

teardown() {
	agents_teardown
}

# settings YAML: every provider is the scripted one, trusted by its own authority.
settings() {
	local p
	{
		echo "providers:"
		for p in anthropic bedrock openai gemini; do
			echo "  $p: {origin: 'https://llm.test:9543', ca_file: '$BED/ca.pem'}"
		done
		printf '%s\n' "$1"
	} >"$XDG_CONFIG_HOME/ralph/config.yaml"
}

# Of a secret's own kind, and found nowhere else.
secret() {
	printf '%s%s%s' "$1" "real-$SRANDOM$SRANDOM" "-$SRANDOM"
}

# jwt CLAIMS: a token that says so.
jwt() {
	python3 -c 'import base64, sys
b = lambda s: base64.urlsafe_b64encode(s.encode()).decode().rstrip("=")
print(".".join([b("{\"alg\":\"none\"}"), b(sys.argv[1]), b(sys.argv[2])]))' "$1" "real-$SRANDOM$SRANDOM"
}

# put FILE: stdin, readable by its owner alone.
put() {
	mkdir -p "$(dirname "$1")"
	(umask 077 && cat >"$1")
}

login() {
	local later=$((($(date +%s) + 7200) * 1000))

	case $1-$2 in
	claude-oauth)
		REAL=$(secret "sk-ant-")
		put "$HOME/.claude/.credentials.json" <<<"{\"claudeAiOauth\":{\"accessToken\":\"$REAL\",
			\"refreshToken\":\"refresh-$REAL\",\"expiresAt\":$later,\"scopes\":[\"user:inference\"],
			\"subscriptionType\":\"max\"}}"
		;;
	*-key)
		REAL=$(secret "key-")
		case $1 in
		codex) export OPENAI_API_KEY=$REAL ;;
		gemini) export GEMINI_API_KEY=$REAL ;;
		*) export ANTHROPIC_API_KEY=$REAL ;;
		esac
		;;
	codex-chatgpt)
		REAL=$(jwt "{\"exp\":$((later / 1000))}")
		put "$HOME/.codex/auth.json" <<<"{\"auth_mode\":\"chatgpt\",\"OPENAI_API_KEY\":null,\"tokens\":{
			\"id_token\":\"$(jwt '{"email":"me@example.invalid"}')\",\"access_token\":\"$REAL\",
			\"refresh_token\":\"refresh-$REAL\",\"account_id\":\"account-1\"},
			\"last_refresh\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\"}"
		;;
	gemini-oauth)
		REAL=$(secret "ya29.")
		put "$HOME/.gemini/oauth_creds.json" <<<"{\"access_token\":\"$REAL\",\"refresh_token\":\"refresh-$REAL\",
			\"scope\":\"https://www.googleapis.com/auth/cloud-platform\",\"token_type\":\"Bearer\",
			\"expiry_date\":$later}"
		;;
	esac
}

# The program has the secret backwards, or it would find itself.
search() {
	printf '%s' "python3 search.py files $(rev <<<"$REAL") >searched 2>&1; touch paused; " \
		'until [ -e go ]; do sleep 0.05; done'
}

steps() {
	printf '%s\n' "$1" >"$BED/steps.json"
}

paused_or_over() {
	[ -e "$WS/paused" ] || ! kill -0 "$1" 2>/dev/null
}

# What the agent printed is in $T/out and $T/err.
turn() {
	local agent=$1 pid code=0
	shift

	bed "$RALPH" run -n "$BOX" "$agent" . -- "$@" >"$T/out" 2>"$T/err" </dev/null 3>&- &
	pid=$!
	wait_until -t 60 paused_or_over $pid
	if [ -e "$WS/paused" ]; then
		holds_nothing
		touch "$WS/go"
	fi
	wait $pid || code=$?
	[ $code -eq 0 ] || fail "exit $code: $(tail -c 2000 "$T/err" "$T/out"; cat "$BED/upstream.out")"
	[ -e "$WS/paused" ] || fail "the agent did not run the model's command: $(tail -c 3000 "$T/out")"
	left_nothing
}

# The sandbox lives: the secret is in no variable, no argument, no file, no memory of a process in it.
holds_nothing() {
	same "found nothing" "$(cat "$WS/searched")" || return
	python3 "$AGENTS_DIR/search.py" memory "$(rev <<<"$REAL")" "$BOX" >"$T/search" 2>&1
	same "found nothing" "$(cat "$T/search")"
}

# Afterwards: not in the sandbox's home, its transcripts, its record and events, nor in the workspace.
left_nothing() {
	! grep -rlF -- "$REAL" "$XDG_STATE_HOME" "$WS" || fail "the secret was left behind"
}

seen() {
	python3 - "$BED/upstream.log" "$REAL" "$1" <<'PYTHON'
import json, sys
class Request(dict):
    def field(self, name):
        return [v for k, v in self["headers"] if k == name]
log, real, expression = sys.argv[1:]
rows = [Request(json.loads(line)) for line in open(log)]
assert rows, "the provider saw nothing"
for r in rows:
    assert eval(expression), (expression, r)
PYTHON
}

# talk STEP… -- AGENT [ARG…]: the agent on a terminal; see cli/terminal.py.
talk() {
	local steps=() ENTER code=0

	while [ "$1" != -- ]; do
		steps+=("$1")
		shift
	done
	shift
	enter
	TERM=xterm-256color python3 "$AGENTS_DIR/../cli/terminal.py" "$T/screen" size:40x120 "${steps[@]}" -- \
		"${ENTER[@]}" "$RALPH" --yes run -n "$BOX" "$@" 3>&- || code=$?
	# Steps end with ^C: an agent that is leaving its terminal already may be interrupted by it.
	[ $code -eq 0 ] || [ $code -eq 130 ] || fail "exit $code"
}

# only_the_provider [HOST]: no other host was reached, and none was tried but this one.
only_the_provider() {
	local other

	settle
	other=$(saw dns | grep -v '^llm\.test ' || :)
	[ -z "$other" ] || fail "other names were looked up: $other" || return
	# Without a host: what the gateway itself has refused. The self-test of a first use asks for what is refused.
	other=$(events | grep '"type":"net"' | grep -v '"selftest":true' | grep -vE '"host":"(llm.test)?"' || :)
	[ -z "${1:-}" ] || other=$(grep -vF "\"verdict\":\"deny\",\"phase\":\"end\",\"host\":\"$1\"" <<<"$other" || :)
	[ -z "$other" ] || fail "other hosts were asked for: ${other:0:2000}"
}
