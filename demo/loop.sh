#!/bin/bash
# demo/loop.sh STAGE: a whole loop on this machine: a small project with three stories, a scripted agent in a sandbox, a
# phantom where its key should be, a scripted provider, and a scripted reviewer that asks for changes once. Ends with verified
# commits for each story, the summary, and a table
# of what the agent tried and was refused. Exits 1 when anything is not as it should be.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
ralph=$1/bin/ralph
printf -v mark 'demo-key-%05d%05d' "$RANDOM" "$RANDOM"
T=$(mktemp -d /tmp/ralph-demo-loop.XXXXXX)
provider=

finish() {
	[ -z "$provider" ] || kill "$provider" 2>/dev/null || true
	rm -rf "$T"
}
trap finish EXIT

export HOME=$T/home XDG_CONFIG_HOME=$T/config XDG_STATE_HOME=$T/state XDG_RUNTIME_DIR=$T/run
export ANTHROPIC_API_KEY=$mark
project=$HOME/project

certificate() {
	local new=(openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2)

	if ! "${new[@]}" -subj /CN=authority -addext keyUsage=critical,keyCertSign \
		-keyout "$T/ca.key" -out "$T/ca.pem" 2>"$T/openssl.log" ||
		! "${new[@]}" -subj /CN=provider -addext subjectAltName=DNS:localhost -addext basicConstraints=CA:FALSE \
			-CA "$T/ca.pem" -CAkey "$T/ca.key" -keyout "$T/leaf.key" -out "$T/leaf.crt" 2>>"$T/openssl.log"; then
		cat "$T/openssl.log"
		exit 1
	fi
	cat "$T/leaf.key" "$T/leaf.crt" >"$T/leaf.pem"
}

story() {
	printf '{"id": "%s", "title": "%s", "description": "%s", "acceptanceCriteria": ["%s"], "priority": %s, "passes": false, "notes": "", "verifyCommands": ["%s"]}' \
		"$1" "$2" "$2" "$3" "$4" "$5"
}

prepare() {
	mkdir -m 0700 "$HOME" "$T/config" "$T/state" "$T/run" "$HOME/.ssh"
	printf 'made-up key %s\n' "$mark" >"$HOME/.ssh/id_ed25519"
	certificate
	/usr/bin/python3 "$here/upstream.py" "$T/leaf.pem" "$mark" "$T/port" "$T/seen" &
	provider=$!
	until [ -e "$T/port" ]; do
		kill -0 "$provider" || exit 1
		sleep 0.02
	done
	mkdir "$T/config/ralph"
	cat >"$T/config/ralph/config.yaml" <<-YAML
		providers: {anthropic: {origin: "https://localhost:$(cat "$T/port")", ca_file: $T/ca.pem}}
		credentials: [{name: anthropic, source: "env:ANTHROPIC_API_KEY"}]
		env: {set: ["DEMO_HOME=$HOME", "DEMO_MARK=$(rev <<<"$mark")"]}
	YAML

	git init -q -b main "$project"
	git -C "$project" config user.name demo
	git -C "$project" config user.email demo@example.invalid
	cp "$here/agent.py" "$project/"
	mkdir -p "$HOME/.local/bin"
	install "$here/reviewer.py" "$HOME/.local/bin/claude"
	export PATH=$HOME/.local/bin:$PATH
	mkdir "$project/.ralph"
	{
		printf '{"project": "greeting", "branchName": "ralph/greeting", "userStories": [\n'
		story US-1 "say hello" "greet.sh says hello" 1 "./greet.sh | grep -q hello"
		printf ',\n'
		story US-2 "greet by name" "greet.sh Ann says hello, Ann" 2 "./greet.sh Ann | grep -qx 'hello, Ann'"
		printf ',\n'
		story US-3 "a manual" "README tells how it is called" 3 "grep -q Usage README"
		printf ']}\n'
	} >"$project/.ralph/prd.json"
	git -C "$project" add -A
	git -C "$project" commit -q -m 'a project and what is to be done'
}

echo
echo "A loop: three stories, an agent in a sandbox, a reviewer in another, a provider that is a script."
prepare
cd "$project"
code=0
mkfifo "$T/said"
tee "$T/err" <"$T/said" >&2 &
said=$!
"$ralph" build --review claude -- /usr/bin/python3 agent.py 2>"$T/said" || code=$?
wait "$said"
echo
/usr/bin/python3 "$here/loop-table.py" "$project" "$T/err" "$T/seen" "$mark" "$code"
