#!/usr/bin/env bats
# runs: user
# What the user sees before anything starts, and that it is what starts.
# shellcheck disable=SC2016,SC2030,SC2031 # text for shells inside; tests are subshells
load helpers
load sandbox

setup() {
	ralph_setup
	need python3
	export TERM=xterm
	unset NO_COLOR
}

# on_terminal STEP… -- CMD…: see terminal.py; $T/out has what came.
on_terminal() {
	python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" "$@"
}

out() {
	tr -d '\r' <"$T/out"
}

# facts OPTION…: what a sandbox that was started with these options has, for audit-check.py.
facts() {
	mkdir -p "$T/facts"
	# shellcheck disable=SC2086 # empty where the sandbox is to stay
	ralph run ${RM---rm} "$@" -- sh -c 'cd /proc/self && head -c 999999 mountinfo environ net/tcp net/tcp6 net/udp net/dev' >"$T/facts/all"
	python3 - "$T/facts" <<-'END'
		import os, re, sys
		text = open(os.path.join(sys.argv[1], "all")).read()
		for name, body in re.findall(r"==> (\S+) <==\n(.*?)(?=\n==> |\Z)", text, re.S):
		    open(os.path.join(sys.argv[1], os.path.basename(name)), "w").write(body)
	END
}

# compare OPTION…: the audit and the sandbox with these options.
compare() {
	ralph audit --json "$@" -- sh >"$T/audit.json"
	facts "$@"
	python3 "$BATS_TEST_DIRNAME/../lib/audit-check.py" "$T/audit.json" "$T/facts"
}

# bats test_tags=root
@test 'the audit is what is inside: mounts, environment, network' {
	compare
}

# bats test_tags=root
@test 'the audit is what is inside, with everything that can be asked for' {
	mkdir "$HOME/shared" "$HOME/read only"
	cat >"$XDG_CONFIG_HOME/ralph.yaml" <<-END
		mounts:
		  - {path: ~/shared, mode: rw}
		  - {path: "~/read only", target: /mnt/there}
		network:
		  rules:
		    - {host: api.example, methods: [GET]}
	END
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	mv "$XDG_CONFIG_HOME/ralph.yaml" "$XDG_CONFIG_HOME/ralph/config.yaml"
	export MY_TOKEN=0123456789abcdef SHORT_KEY=hunter2 PLAIN=$'two\nlines'
	compare --pass MY_TOKEN --pass SHORT_KEY --pass PLAIN --pass UNSET -e CI=1 \
		--allow db.example:5432 --allow localhost:5433 --allow '*.example.org:8443' --allow ssh.example:22
	has "$(get '[e["value"] for e in j["env"] if e["name"] == "MY_TOKEN"]' <"$T/audit.json")" "'0123…'"
	has "$(get '[e["value"] for e in j["env"] if e["name"] == "SHORT_KEY"]' <"$T/audit.json")" "'***'"
}

# bats test_tags=root
@test 'the audit is what is inside: protected and hidden files of the workspace, and a worktree' {
	mkdir -p .claude/hooks .vscode .ralph sub
	echo '{}' >.claude/settings.json
	echo SECRET=1 >.env
	echo key >sub/id.pem
	echo 'network: {tier: none}' >.ralph/config.yaml
	compare
	ralph audit | grep -E "^  hidden +$WS/.env"
	ralph audit | grep -E "$WS/.ralph"
	git worktree add -q "$HOME/tree"
	cd "$HOME/tree"
	compare
}

# bats test_tags=root
@test 'the audit is what is inside: a clone' {
	RM='' compare --clone
}

@test 'the audit is what is inside: no network' {
	compare --net none
	same '[]' "$(get 'j["network"]["sockets"]' <"$T/audit.json")"
}

@test 'the comparison of audit and sandbox sees what is missing on either side' {
	compare
	for what in mountinfo environ tcp; do
		cp "$T/facts/$what" "$T/kept"
		case $what in
		mountinfo) echo '900 44 0:99 / /mnt/evil rw - tmpfs tmpfs rw' >>"$T/facts/$what" ;;
		environ) printf 'EVIL=1\0' >>"$T/facts/$what" ;;
		tcp) echo '   9: 0100007F:1F90 00000000:0000 0A' >>"$T/facts/$what" ;;
		esac
		must_fail python3 "$BATS_TEST_DIRNAME/../lib/audit-check.py" "$T/audit.json" "$T/facts"
		case $what in
		mountinfo) grep -v ' /usr ' "$T/kept" >"$T/facts/$what" ;;
		environ) sed 's/USER=[^\x00]*\x00//' "$T/kept" >"$T/facts/$what" ;;
		tcp) head -2 "$T/kept" >"$T/facts/$what" ;;
		esac
		must_fail python3 "$BATS_TEST_DIRNAME/../lib/audit-check.py" "$T/audit.json" "$T/facts"
		cp "$T/kept" "$T/facts/$what"
	done
}

# bats test_tags=root
@test 'a mount below the workspace is in the audit, as it is inside' {
	only_root
	mkdir "$WS/data"
	unshare --mount --propagation private bash -c '
		mount -t tmpfs none "$WS/data" && "$RALPH" audit --json >"$T/audit.json" && "$RALPH" audit >"$T/screen" &&
		"$RALPH" run --rm -- grep -c " $WS/data " /proc/self/mountinfo' >"$T/count"
	same 1 "$(cat "$T/count")"
	has "$(get '[m["below"] for m in j["mounts"] if "below" in m]' <"$T/audit.json")" "$WS/data"
	has "$(cat "$T/screen")" "$WS/data (mounted there)"
}

@test 'nothing is started or made by an audit' {
	ralph audit >/dev/null
	ralph audit --json >/dev/null
	[ ! -e "$XDG_STATE_HOME/ralph/sandboxes" ]
	same '' "$(ralph ls -q)"
}

@test 'each variable has the mark of who decided it' {
	export LANG=C.UTF-8 MINE=1
	ralph audit --pass MINE -e ALSO=2 >"$T/screen"
	grep -Fx "[~] HOME=$HOME" "$T/screen"
	grep -Fx '[>] LANG=C.UTF-8' "$T/screen"
	grep -Fx '[+] MINE=***' "$T/screen"
	grep -Fx '[+] ALSO=***' "$T/screen"
	lacks "$(cat "$T/screen")" 'COLORTERM'
}

@test 'PATH has one entry a line' {
	ralph audit >"$T/screen"
	grep -Fx '[~] PATH=' "$T/screen"
	grep -Fx '      /usr/bin' "$T/screen"
}

@test 'the screen names mounts, network, credentials, limits and engine' {
	ralph audit --allow db.example:5432 --allow localhost:5433 --deny bad.example --memory 1G --timeout 90 >"$T/screen"
	for part in Environment Mounts Network Credentials Limits Engine; do
		grep -Fx "$part" "$T/screen"
	done
	grep -E "^  rw +$WS +the workspace$" "$T/screen"
	grep -E '^  service +localhost:5433 +of this machine' "$T/screen"
	grep -E '^  deny +bad.example' "$T/screen"
	# Such a port is a server's inside: the gateway has it on one address alone.
	grep -E '^    db.example:5432 at 198\.18\.0\.1$' "$T/screen"
	grep -E 'memory 1024 MiB, .*90 s a command' "$T/screen"
	grep -F '  native, ' "$T/screen"
}

@test 'no secret is shown, and one that goes in is called so' {
	export DB_PASSWORD=correct-horse-battery LINK=https://me:hunter2@git.example/x
	ralph audit --pass DB_PASSWORD --pass LINK >"$T/screen"
	ralph audit --json --pass DB_PASSWORD --pass LINK >"$T/json"
	for form in screen json; do
		lacks "$(cat "$T/$form")" correct-horse-battery
		lacks "$(cat "$T/$form")" hunter2
	done
	grep -Fx '[+] DB_PASSWORD=corr…' "$T/screen"
	OPENAIKEY=correct-horse-battery MYSECRETS=correct-horse-battery ralph audit --pass OPENAIKEY --pass MYSECRETS >"$T/more"
	grep -F 'OPENAIKEY: looks like a secret' "$T/more"
	grep -F 'MYSECRETS: looks like a secret' "$T/more"
	grep -F 'DB_PASSWORD: looks like a secret' "$T/screen"
}

@test 'a credential is named with its provider, way and expiry; its value is nowhere; inside is a phantom' {
	local soon=$((($(date +%s) + 18000) * 1000))

	mkdir -m 700 "$HOME/.claude"
	printf '{"claudeAiOauth":{"accessToken":"sk-ant-oat01-zzz-a","refreshToken":"sk-ant-ort01-zzz-r",
		"expiresAt":%s,"scopes":["user:inference"],"subscriptionType":"max"}}' "$soon" >"$HOME/.claude/.credentials.json"
	chmod 600 "$HOME/.claude/.credentials.json"
	ralph audit --agent claude -- sh >"$T/screen"
	compare --agent claude
	grep -F '  anthropic (anthropic-oauth)  phantom: the gateway sets the real one; expires in 4 h 59 min' "$T/screen"
	grep -F "from file:$HOME/.claude/.credentials.json, for https://api.anthropic.com only" "$T/screen"
	grep -F '[~] CLAUDE_CODE_OAUTH_TOKEN={phantom}' "$T/screen"
	lacks "$(cat "$T/screen" "$T/audit.json" "$T/facts/all")" 01-zzz
	# The summary has them too.
	NO_COLOR=1 on_terminal 'expect:agent +claude; login: anthropic \(phantom, expires in 4 h' 'expect:hosts +api\.anthropic\.com' 'expect:Proceed' 'send:y\n' -- \
		"$RALPH" run --agent claude -- true
}

@test 'a place that holds credentials is called so when it is mounted' {
	mkdir -p "$HOME/.ssh" "$XDG_CONFIG_HOME/ralph"
	echo 'mounts: [{path: ~/.ssh}]' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	COLUMNS=200 ralph audit | grep -E "$HOME/.ssh +asked for by you: such places hold$"
}

@test 'a variable of the host cannot act on the terminal' {
	export EVIL=$'a\033\u202e]52;c;aGk=\007b\033[2J'
	ralph audit --pass EVIL >"$T/screen"
	lacks "$(cat "$T/screen")" $'\033'
	lacks "$(cat "$T/screen")" $'\u202e'
	grep -F '[+] EVIL=a\x1b\u{202E}]…' "$T/screen"
}

@test 'colour is for terminals, and NO_COLOR is honoured; the marks say it all' {
	lacks "$(ralph audit)" $'\033'
	on_terminal -- "$RALPH" audit
	has "$(out)" $'\033[32m[~]\033[0m'
	has "$(out)" $'\033[33m[>]\033[0m'
	NO_COLOR=1 on_terminal -- "$RALPH" audit
	lacks "$(out)" $'\033'
	has "$(out)" '[~] HOME='
}

@test 'on a terminal a command runs only after the screen and a yes' {
	must_exit 7 on_terminal 'expect:engine' 'expect:Proceed\? \[Y/n, \? shows everything\] ' 'send:\n' 'expect:inside' -- \
		"$RALPH" run -- sh -c 'echo inside; exit 7'
	on_terminal 'expect:Proceed' 'send:maybe\n' 'expect:Proceed' 'send:y\n' 'expect:inside' -- "$RALPH" run -n other -- echo inside
}

# before: the lines of ralph's own, before the command's first.
before() {
	out | sed -e '/^inside$/,$d' -e 's/\x1b\[[0-9;]*m//g'
}

@test 'the screen before a start has at most 12 lines of the terminal: workspace, engine, agent, hosts, what is unusual' {
	export DB_PASSWORD=correct-horse-battery
	local hosts=() i

	for i in {1..40}; do hosts+=(--allow "host$i.example"); done
	mkdir "$HOME/a" "$HOME/b" "$HOME/c" "$HOME/d" "$XDG_CONFIG_HOME/ralph"
	echo 'mounts: [{path: ~/a}, {path: ~/b}, {path: ~/c, mode: rw}, {path: ~/d}]' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	on_terminal 'expect:Proceed' 'send:y\n' 'expect:inside' -- "$RALPH" run "${hosts[@]}" --pass DB_PASSWORD --quarantine none -- echo inside
	[ "$(before | wc -l)" -le 12 ]
	# A line that is wider than the terminal would be two of them.
	[ "$(before | sed '$d' | wc -L)" -le 80 ]
	before | grep -E "^workspace +.*$WS"
	before | grep -E '^engine +native, user '
	before | grep -E '^agent +command; login: none'
	before | grep -E '^hosts +host1\.example, .*and [0-9]+ more'
	before | grep -E "^writable +.*$WS"
	before | grep -E '^unusual +.*DB_PASSWORD looks like a secret'
	has "$(before)" "mount $HOME/a: asked for by you"
	lacks "$(before)" correct-horse
}

@test 'a start like the one that the user agreed to shows nothing and asks nothing; a removed sandbox is new' {
	on_terminal 'expect:Proceed' 'send:y\n' 'expect:inside' -- "$RALPH" run -- echo inside
	on_terminal -- "$RALPH" run -- echo inside
	same inside "$(out)"
	# The content of the workspace is no setting, and the value of a variable of the host is none either.
	echo SECRET=1 >.env
	mkdir .vscode
	TERM=screen on_terminal -- "$RALPH" run -- echo inside
	same inside "$(out)"
	ralph rm "$(sandbox)"
	on_terminal 'expect:Proceed' 'send:y\n' 'expect:inside' -- "$RALPH" run -- echo inside
}

@test 'a start that differs from what the user agreed to says what changed, and asks' {
	mkdir -p "$HOME/data" "$HOME/read" "$XDG_CONFIG_HOME/ralph"
	on_terminal 'expect:Proceed' 'send:y\n' 'expect:inside' -- "$RALPH" run --allow old.example --memory 1G -- echo inside
	changes() {
		NO_COLOR=1 must_exit 125 on_terminal "expect:changed +$1" 'expect:Proceed' 'send:n\n' -- "$RALPH" run "${@:2}" -- echo inside
	}
	changes 'new: host new\.example' --allow old.example --memory 1G --allow new.example
	changes 'gone: host old\.example' --memory 1G
	changes 'changed: limits \(memory\)' --allow old.example --memory 2G
	changes 'changed: network tier \(allowlist, now inet\)' --allow old.example --memory 1G --net inet
	changes 'new: variable A' --allow old.example --memory 1G -e A=1
	echo 'mounts: [{path: ~/data, mode: rw}, {path: ~/read}]' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	changes "new: mount $HOME/data, writable" --allow old.example --memory 1G
	has "$(out)" "new: mount $HOME/read"
	rm "$XDG_CONFIG_HOME/ralph/config.yaml"
	# A no is no agreement, and a start without a terminal is none either.
	ralph run --allow new.example -- true
	on_terminal -- "$RALPH" run --allow old.example --memory 1G -- echo inside
	same inside "$(out)"
}

@test '? shows the whole audit, and the question comes again' {
	on_terminal 'expect:Proceed' 'send:?\n' 'expect:Environment' 'expect:Mounts' 'expect:Engine' 'expect:Proceed' 'send:y\n' 'expect:inside' -- \
		"$RALPH" run -- echo inside
}

@test 'audit: full shows everything at each start, off shows nothing' {
	RALPH_AUDIT=full on_terminal 'expect:Environment' 'expect:Proceed\? \[Y/n\] ' 'send:y\n' 'expect:inside' -- "$RALPH" run -- echo inside
	RALPH_AUDIT=full on_terminal 'expect:Environment' 'expect:Proceed' 'send:y\n' 'expect:inside' -- "$RALPH" run -- echo inside
	ralph rm "$(sandbox)"
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	echo 'audit: off' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	on_terminal -- "$RALPH" run -- echo inside
	same inside "$(out)"
	same 'exec off ' "$(audited)"
	# To see nothing is not to agree.
	rm "$XDG_CONFIG_HOME/ralph/config.yaml"
	on_terminal 'expect:Proceed' 'send:y\n' 'expect:inside' -- "$RALPH" run -- echo inside
}

@test 'a project file cannot set what the user is shown, not even a trusted one' {
	local word

	mkdir .ralph
	for word in off full changes; do
		echo "audit: $word" >.ralph/config.yaml
		must_exit 2 ralph run -- touch ran 2>"$T/err"
		has "$(cat "$T/err")" 'audit: a project file cannot set this'
		must_exit 2 ralph trust --yes 2>/dev/null
		must_exit 2 ralph run -- touch ran 2>/dev/null
	done
	[ ! -e ran ]
}

@test 'a no, or the end of the input, starts nothing' {
	local answer

	for answer in 'n\n' 'No\n' '\x04'; do
		must_exit 125 on_terminal 'expect:Proceed' "send:$answer" 'expect:nothing was started' -- "$RALPH" run -- touch ran
		[ ! -e ran ]
		[ ! -e "$XDG_STATE_HOME/ralph/sandboxes" ]
	done
}

@test '--yes shows the screen and asks nothing; -T and exec show none' {
	on_terminal -- "$RALPH" run --yes -- echo inside
	has "$(out)" 'workspace '
	has "$(out)" inside
	lacks "$(out)" Proceed
	# That was an agreement.
	on_terminal -- "$RALPH" run -- echo inside
	same inside "$(out)"
	on_terminal -- "$RALPH" run -T -- echo inside
	same inside "$(out)"
	ralph run -d -n "$(basename "$WS")"
	on_terminal -- "$RALPH" exec "$(basename "$WS")" echo inside
	same inside "$(out)"
}

@test 'with -t and nobody to ask: refused with 2, and --yes is the way' {
	must_exit 2 ralph run -t -- touch ran </dev/null 2>"$T/err"
	has "$(cat "$T/err")" --yes
	[ ! -e ran ]
	[ ! -e "$XDG_STATE_HOME/ralph/sandboxes" ]
	ralph run --yes -t -- touch ran </dev/null 2>/dev/null
	[ -e ran ]
}

# audited: how each command of this test's only sandbox was agreed to, as its events say.
audited() {
	python3 -c '
import json, sys
for line in open(sys.argv[1]):
    e = json.loads(line)
    if "audit" in e: print(e["type"], e["audit"], end=" ")' "$XDG_STATE_HOME"/ralph/sandboxes/*/events.jsonl
}

@test 'how a start was agreed to is recorded' {
	ralph run -- true
	same 'exec unattended ' "$(audited)"
	ralph run --yes -- true
	on_terminal 'expect:Proceed' 'send:y\n' -- "$RALPH" run -- true
	same 'exec unattended exec yes exec confirmed ' "$(audited)"
	on_terminal -- "$RALPH" run -- true
	same 'exec unattended exec yes exec confirmed exec unchanged ' "$(audited)"
	ralph run -d
	ralph exec "$(sandbox)" true
	same 'exec unattended exec yes exec confirmed exec unchanged keep unattended ' "$(audited)"
}
