#!/usr/bin/env bats
# runs: user
# seconds: 60
# What a loop can do it can do for a task elsewhere too: reviews, other agents, setup, budgets and limits, with `ralph worker`.
# shellcheck disable=SC2016,SC2030,SC2031,SC2153
load helpers
load loop
load fleet
load ../lib/cred

setup() {
	ralph_setup
	provider_start
	provider_takes key-of-the-host
	export ANTHROPIC_API_KEY=key-of-the-host OPENAI_API_KEY=sk-of-the-host
	unset RALPH_AGENT
	loop_workspace 1
	# The node trusts the provider as this machine does; its answers end the test, not its key.
	export SSL_CERT_FILE=$PROV/ca.pem
	mkdir "$T/opt"
	printf '%s\n' '#!/bin/sh' "exec unshare --user --map-current-user --keep-caps --mount sh -c 'mount --bind \"$T/opt\" /opt &&
		PATH=/opt:\$PATH exec setpriv --inh-caps=-all --ambient-caps=-all \"$RALPH\" worker'" >"$T/node"
	chmod +x "$T/node"
	{
		printf '%s\n' 'fleet:' '  pass: [RALPH_LIBEXEC, XDG_RUNTIME_DIR, SSL_CERT_FILE]' '  places:' \
			"    here: {dial: relay, command: [\"$T/node\"]}"
		printf '%s\n' 'credentials: [{name: anthropic, source: "env:ANTHROPIC_API_KEY"}, {name: openai, source: "env:OPENAI_API_KEY"}]' 'prices: ["claude-test=1000/2000"]' \
			'providers: {anthropic: {origin: "https://localhost:'"$PROV_PORT"'"}}'
	} >"$XDG_CONFIG_HOME/ralph/config.yaml"
}

teardown() {
	provider_stop
	ralph_teardown
}

# program NAME TEXT: an agent's program of this machine, and of the node, which has it in /opt.
program() {
	mkdir -p "$HOME/.local/bin"
	printf '%s\n' "$2" >"$HOME/.local/bin/$1"
	chmod 755 "$HOME/.local/bin/$1"
	cp "$HOME/.local/bin/$1" "$T/opt/"
	export PATH=$HOME/.local/bin:$PATH
}

# at_node CODE HOW [OPTION…]: `ralph build` there ends with that code.
at_node() {
	local code=$1 how=$2
	shift 2

	loop_exits "$code" build --place here "$@" -- ./agent.py "$how"
}

@test '--review: a second agent judges the task where it was made, and what it asks for reaches the author' {
	program claude '#!/usr/bin/python3
import json, re, sys
if sys.argv[1:2] == ["--version"]:
    print("2.1.325")
    sys.exit()
p = sys.stdin.read()
key = re.search(r"lines that begin with ([0-9a-f]{32})", p).group(1)
diff = p.split(f"\n{key} BEGIN the diff\n")[1].split(f"\n{key} END the diff\n")[0]
fine = "heeded" in diff
text = json.dumps({"review": key, "verdict": "approve" if fine else "changes", "reasons": [] if fine else ["write heeded"]})
print(json.dumps({"type": "system", "subtype": "init", "session_id": "fake", "model": "fake-1"}))
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": text, "num_turns": 1, "session_id": "fake",
                  "total_cost_usd": 0.01, "usage": {}}))'
	at_node 0 heeds-review --review claude --max-attempts 1 --max-stuck 1
	merged US-1
	same 'changes done' "$(verdicts)"
	same 'approved 1' "$(python3 -c '
import json
s = json.load(open(".ralph/prd.json"))["userStories"][0]
print(s["reviewStatus"], s["reviewCount"])')"
	same 1 "$(summary 'j["tasks"][0]["attempts"]')"
}

@test '--fallback: another agent goes on at the node, and the records say who worked' {
	program codex '#!/bin/sh
./agent.py honest >/dev/null
echo "{\"type\":\"thread.started\",\"thread_id\":\"t\"}"
echo "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}"'
	at_node 0 limited-for-an-hour --fallback codex
	merged US-1
	same 'command codex' "$(summary '" ".join(r["agent"] for r in j["records"])')"
	has "$(cat "$T/err")" 'codex goes on'
}

@test 'loop.setup runs at the node, and what it cannot do is said at home' {
	echo 1 >package.json
	git add -A
	git commit -qm 'a package'
	at_node 0 honest --setup 'cp package.json ~/installed' --verify 'test -e ~/installed'
	merged US-1
	[ ! -e ~/installed ]
	rm -rf "$WS" && make_workspace "$WS" t-again && cd "$WS"
	loop_workspace 1
	at_node 1 honest --setup 'echo no such package; exit 5'
	has "$(cat "$T/err" "$T/out")" 'echo no such package; exit 5'
}

# spender 'SHELL': an agent that asks its provider until it is refused, and then does that.
spender() {
	printf '%s\n' '#!/bin/sh' "while code=\$($ASK) && [ \"\$code\" = 200 ]; do echo \"asked \$code\"; done" 'echo "refused $code"' "$1" >agent.sh
	chmod +x agent.sh
	git add -A
	git commit -qm agent
}

@test 'budgets: what a task may spend is closed to it at the node, and what it spent is counted at home' {
	spender 'exit 1'
	loop_exits 3 build --place here --max-cost 0.03 -n 9 -- ./agent.sh
	same 39000 "$(requests /v1/messages | awk '{ print $1 * 13000 }')"
	# Home believes no more than the share.
	same 30000 "$(summary 'j["micro_usd"]')"
	has "$(cat "$T/out")" 'a cost of $0.03'
	has "$(cat .ralph/logs/iteration-001.jsonl)" 'refused 402'
	loop_exits 3 resume
	same 3 "$(requests /v1/messages)"
}

@test 'limits: iterations, attempts and the time of an iteration hold for a task elsewhere' {
	at_node 3 no-commit -n 2 --max-attempts 9
	same 2 "$(summary 'len(j["records"])')"
	rm -rf "$WS" && make_workspace "$WS" t-more && cd "$WS"
	loop_workspace 1
	at_node 4 silent --idle-time 1s --max-attempts 1
	same 1 "$(summary 'len(j["records"])')"
	has "$(summary 'j["records"][0]["why"]')" 'said nothing for too long'
	rm -rf "$WS" && make_workspace "$WS" t-time && cd "$WS"
	loop_workspace 1
	at_node 3 silent --max-duration 3s --iteration-time 1s --max-attempts 90 -n 50
	has "$(cat "$T/out")" 'the limit of 3 s of work is reached'
}
