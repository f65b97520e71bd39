#!/usr/bin/env bats
# runs: user
# seconds: 40
# docs/recipes.md, section by section, with the real agents and scripted servers. The commands and settings are the page's own.
# shellcheck disable=SC2016,SC2034,SC2154
load agents
load ../lib/providers
load agents # its `seen`
load ../lib/pages

setup() {
	# A real server takes the port of the bed's own.
	[[ $BATS_TEST_DESCRIPTION != *database* ]] || export BED_LINES='22 2222'
	BED_NAMES=DNS:example.com,DNS:github.com,DNS:api.github.com newcomer_setup || return
	UP=$BED
	git init -q -b main project
	cd project || return
	git config user.name You
	git config user.email you@example.invalid
	echo 'A project.' >README
	git add README
	git commit -q -m start
	# Whatever it is asked, the model says this; further steps are for sections that work.
	steps '[{"say": "hello"}, {"say": "hello"}, {"say": "hello"}]'
}

teardown() {
	[ ! -e "${T:-}/pg/postmaster.pid" ] || kill -INT "$(head -1 "$T/pg/postmaster.pid")"
	[ ! -e "${BED:-}/packages.ready" ] || kill "$(cut -d ' ' -f 2 "$BED/packages.ready")"
	agents_teardown
}

# section TITLE: of the page, in the project.
section() {
	page_holds recipes.md --section "$1"
}

@test 'recipe: Claude on a subscription' {
	login claude oauth
	(umask 077 && secret sk-ant-oat01- >token.txt)
	section 'Claude on a subscription'
}

@test 'recipe: Claude on Bedrock' {
	rm -r "$HOME/.claude"
	aws_program
	REAL=$(secret aws)
	aws_host AKIDONE "$REAL" "token-of-$REAL"
	sed -i 's/default/work/' "$HOME/.aws/credentials"
	export AWS_EC2_METADATA_DISABLED=true
	section 'Claude on Bedrock'
	seen 'r["signed"] is True and "/eu-west-3/bedrock/" in r.field("authorization")[0]'
	left_nothing
}

@test 'recipe: Codex' {
	login codex chatgpt
	section 'Codex'
	left_nothing
}

@test 'recipe: Gemini' {
	login gemini key
	section 'Gemini'
	left_nothing
}

@test 'recipe: a private registry' {
	rm README .git -rf
	echo npm_0123456789 >"$BED/packages.token"
	(umask 077 && echo npm_0123456789 >"$HOME/.wheels-token")
	certificate packages DNS:packages.example.com,DNS:wheels.example.com -CA "$BED/ca.pem" -CAkey "$BED/authority.key" \
		-addext basicConstraints=CA:FALSE
	bed python3 "$NETBED/packages.py" "$BED" 8.8.4.4 4873 >"$BED/packages.out" 2>&1 3>&- &
	wait_until test -s "$BED/packages.ready" || fail "$(cat "$BED/packages.out")"
	section 'A private registry'
	lacks "$(cat "$BED/packages.log")" False
	REAL=npm_0123456789 left_nothing
}

# postgres_start: a real PostgreSQL at the loopback, with a user app whose password is dev.
postgres_start() {
	local bin

	only_user
	need psql
	bin=$(find /usr/lib/postgresql -name initdb -printf '%h\n' 2>/dev/null | sort -V | tail -1)
	[ -n "$bin" ] || need initdb
	echo dev >"$T/password"
	"$bin/initdb" -D "$T/pg" -U app -A scram-sha-256 --pwfile="$T/password" >"$T/initdb" 2>&1 || fail "$(cat "$T/initdb")" || return
	bed "$bin/postgres" -D "$T/pg" -h 127.0.0.1 -p 5432 -k "$T" >"$T/postgres" 2>&1 3>&- &
	wait_until -t 60 env PGPASSWORD=dev psql -h "$T" -U app -d postgres -qc 'create database app' || fail "$(cat "$T/postgres")"
}

@test 'recipe: a database of the host' {
	postgres_start
	section 'A database of the host'
}

@test 'recipe: pushing, and gh' {
	need gh
	export GH_TOKEN=gho_real-token-of-the-host
	{
		echo "Bearer $GH_TOKEN"
		echo "Basic $(printf 'x-access-token:%s' "$GH_TOKEN" | base64 -w 0)"
	} >"$BED/takes"
	mkdir -p "$BED/git/me"
	git clone -q --bare . "$BED/git/me/one.git"
	git -C "$BED/git/me/one.git" config http.receivepack true
	git commit -q --allow-empty -m pushed
	zone '{"llm.test": {"A": ["8.8.4.4"]}, "github.com": {"A": ["8.8.4.3"]}, "api.github.com": {"A": ["8.8.4.3"]}}'
	section 'Pushing, and gh'
	same pushed "$(git -C "$BED/git/me/one.git" log -1 --format=%s)"
	REAL=$GH_TOKEN left_nothing
}

@test 'recipe: your CLAUDE.md, skills and MCP servers' {
	mkdir -p "$HOME/.claude/skills/review"
	echo 'Answer in French.' >"$HOME/.claude/CLAUDE.md"
	mkdir "$HOME/.config/mcp"
	cat >"$HOME/.config/mcp/notes.py" <<-'END'
		import json, sys
		answers = {
		    "initialize": lambda p: {"protocolVersion": p["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "notes", "version": "1"}},
		    "tools/list": lambda p: {"tools": [{"name": "read", "description": "reads notes", "inputSchema": {"type": "object", "properties": {}}}]},
		    "tools/call": lambda p: {"content": [{"type": "text", "text": "buy milk"}]},
		}
		for line in sys.stdin:
		    asked = json.loads(line)
		    print(asked.get("method"), file=open("asked", "a"))
		    if asked.get("method") in answers:
		        is_ = answers[asked["method"]](asked.get("params"))
		        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": is_}), flush=True)
	END
	steps '[{"call": ["mcp__notes__read", {}]}, {"say": "They say: buy milk."}]'
	# The section writes the settings anew; the scripted provider is in a profile.
	mkdir -p "$HOME/.config/ralph/profiles"
	cp "$HOME/.config/ralph/config.yaml" "$HOME/.config/ralph/profiles/bed.yaml"
	export RALPH_PROFILE=bed
	section 'Your CLAUDE.md, skills and MCP servers'
	grep -qx tools/call asked || fail "the server was never asked"
}

@test 'recipe: notifications' {
	stories told 1
	section 'Notifications'
}

@test 'recipe: browsers and Playwright' {
	need chromium
	section 'Browsers and Playwright'
}

@test 'recipe: .env' {
	section '.env'
}

# stories NAME N: a list of so many stories, and a model that does whichever it is given.
stories() {
	ralph init >/dev/null
	python3 - "$1" "$2" <<-'PY'
		import json, sys
		name, n = sys.argv[1], int(sys.argv[2])
		json.dump({"project": name, "branchName": f"ralph/{name}", "description": "a recipe", "userStories": [
		    {"id": f"US-{i}", "title": f"story {i}", "description": f"make US-{i}", "acceptanceCriteria": [f"US-{i} exists"],
		     "priority": i, "passes": False, "notes": "", "verifyCommands": [f"test -f US-{i}"]} for i in range(1, n + 1)]},
		    open(".ralph/prd.json", "w"), indent=2)
	PY
	git add -A
	git commit -q -m 'what is to be done'
	steps "$(python3 -c 'import json
work = {"call": ["Bash", {"command": "echo work >$RALPH_TASK && git add $RALPH_TASK && git commit -qm $RALPH_TASK", "description": "work"}]}
print(json.dumps([{"turns": [work, {"say": "It is done.\n<promise>COMPLETE</promise>"}]}] * 40))')"
}

@test 'recipe: CI' {
	rm -r "$HOME/.claude"
	login claude key
	stories ci 1
	section 'CI'
	left_nothing
}

@test 'recipe: many branches' {
	stories two 2
	section 'Many branches'
}

@test 'recipe: many tasks at once' {
	stories two 2
	section 'Many tasks at once'
}

# There is nothing to run here in section 'Many machines': tests/fleet and tests/fleet-kubernetes run such placements with the real
# programs. Its settings are taken as they are.
@test 'recipe: many machines' {
	python3 - "$PAGES/recipes.md" "$T" <<-'PY'
		import re, sys
		text = open(sys.argv[1]).read().split("\n## Many machines\n")[1].split("\n## ")[0]
		for n, block in enumerate(re.findall(r"```yaml\n(.*?)```", text, re.S)):
		    open(f"{sys.argv[2]}/place-{n}.yaml", "w").write(block)
	PY
	for block in "$T"/place-*.yaml; do
		cp "$block" "$XDG_CONFIG_HOME/ralph/config.yaml"
		has "$(ralph config show)" 'ralph, worker'
	done
	[ -e "$T/place-1.yaml" ]
}

@test 'every section of the recipes has a test' {
	local title

	while IFS= read -r title; do
		grep -qF "section '$title'" "$BATS_TEST_FILENAME" || fail "'$title' has none"
	done < <(sed -n 's/^## //p' "$PAGES/recipes.md")
}
