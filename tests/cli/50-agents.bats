#!/usr/bin/env bats
# runs: user
# Agents by their names: how they are found, run and set up. The agents here are scripts; tests/agents has
# the real ones.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load helpers
load sandbox

# agent NAME [SCRIPT]: a program of that name in ~/.local/bin, which is not on PATH.
agent() {
	mkdir -p "$HOME/.local/bin"
	printf '#!/bin/sh\n%s\n' "${2:-echo \"\$0\" \"\$@\"}" >"$HOME/.local/bin/$1"
	chmod 755 "$HOME/.local/bin/$1"
}

@test "ralph run claude runs the agent, and passes on what stands behind --" {
	agent claude
	same "$HOME/.local/bin/claude --dangerously-skip-permissions" "$(ralph run claude)"
	same "$HOME/.local/bin/claude --dangerously-skip-permissions -p two words --resume" \
		"$(ralph run claude . -- -p 'two words' --resume)"
	has "$(sandbox)" "agent-loop-claude-"
}

@test "ralph claude and a dclaude link are the same" {
	agent claude
	same "$(ralph run claude . -- -p x)" "$(ralph claude . -- -p x)"
	same "$(ralph run claude)" "$(ralph claude)"
	ln -s "$RALPH" "$T/dclaude"
	same "$(ralph run claude . -- -p x)" "$("$T/dclaude" . -- -p x)"
	same "$(ralph run claude "$WS")" "$("$T/dclaude" "$WS")"
	# A word that is a command of ralph's is a directory to it.
	mkdir exec
	has "$(cd exec && git init -q . && cd .. && "$T/dclaude" exec)" "--dangerously-skip-permissions"
}

@test "a directory with an agent's name is written with a slash" {
	agent claude
	mkdir "$WS/claude" && git -C "$WS/claude" init -q -b x
	same "$WS/claude" "$(ralph run ./claude -- pwd)"
	has "$(ralph run claude ./claude)" "--dangerously-skip-permissions"
}

@test "with --agent a command runs in that agent's sandbox" {
	agent claude
	same "1" "$(ralph run --agent claude -- sh -c 'echo $IS_SANDBOX')"
	has "$(sandbox)" "agent-loop-claude-"
	same "" "$(ralph run -- sh -c 'echo $IS_SANDBOX')"
	# and without one, the agent itself
	has "$(ralph run --agent claude)" "--dangerously-skip-permissions"
	must_exit 2 ralph run claude --agent codex
}

@test "the agent of the settings is run where there is no command" {
	agent codex
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	echo 'agent: codex' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	has "$(ralph run)" "--dangerously-bypass-approvals-and-sandbox"
	same "hello" "$(ralph run -- echo hello)"
}

@test "an agent that is not installed: what to type, and nothing started" {
	run --separate-stderr env PATH=/usr/bin:/bin "$RALPH" run gemini
	same 125 "$status"
	has "$stderr" "npm install -g @google/gemini-cli"
	same "" "$(ralph ls -q)"
}

@test "an agent outside of what a sandbox shows: says where it is, and mounting it helps" {
	mkdir -p "$T/elsewhere"
	printf '#!/bin/sh\necho here\n' >"$T/elsewhere/claude" && chmod 755 "$T/elsewhere/claude"
	PATH=$T/elsewhere:$PATH run --separate-stderr "$RALPH" run claude
	same 125 "$status"
	has "$stderr" "$T/elsewhere/claude"
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	echo "mounts: [{path: $T/elsewhere}]" >"$XDG_CONFIG_HOME/ralph/config.yaml"
	same "here" "$(PATH=$T/elsewhere:$PATH ralph run claude)"
}

@test "an agent that is not known: 2, with those that are" {
	run --separate-stderr "$RALPH" run --agent nobody -- true
	same 2 "$status"
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	echo 'agent: nobody' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	run --separate-stderr "$RALPH" run -- true
	same 2 "$status"
	has "$stderr" "claude, codex, gemini"
}

@test "an agent without a network: 2, and what to do" {
	agent claude
	run --separate-stderr "$RALPH" run --net none claude
	same 2 "$status"
	has "$stderr" "--net allowlist"
	same "" "$(ralph ls -q)"
	must_exit 0 ralph run --net none --agent claude -- true
}

@test "the files of a first start are there, and what the agent makes of them stays" {
	local home

	agent claude 'cat ~/.claude.json; echo mine >~/.claude.json'
	has "$(ralph run claude)" "\"$WS\":{\"hasTrustDialogAccepted\":true}"
	same "mine" "$(ralph run claude)"
	home=$XDG_STATE_HOME/ralph/sandboxes/$(sandbox)/home
	same "mine" "$(cat "$home/.claude.json")"
	[ ! -e "$HOME/.claude.json" ]
}

@test "settings that are ralph's are written anew at each start" {
	agent codex 'cat ~/.codex/config.toml; echo "model_provider = \"evil\"" >~/.codex/config.toml'
	export OPENAI_API_KEY=some-key
	has "$(ralph run codex)" '[model_providers.ralph]'
	has "$(ralph run codex)" '[model_providers.ralph]'
}

@test "a link in place of a settings file is not followed" {
	local home

	agent codex true
	ralph run codex
	home=$XDG_STATE_HOME/ralph/sandboxes/$(sandbox)/home
	echo host >"$T/target"
	ln -sf "$T/target" "$home/.codex/config.toml"
	ralph run codex
	same host "$(cat "$T/target")"
	rm -r "$home/.codex" && mkdir "$T/dir" && ln -s "$T/dir" "$home/.codex"
	must_exit 125 ralph run codex
	same "" "$(ls "$T/dir")"
}

@test "managed settings are there, and cannot be changed from inside" {
	agent claude 'cat /etc/claude-code/managed-settings.json; echo x >/etc/claude-code/managed-settings.json'
	run ralph run claude
	[ "$status" -ne 0 ]
	has "$output" '"skipWebFetchPreflight":true'
}

@test "no login on the host: the agent may reach its login hosts; with one, it may not" {
	agent claude true
	has "$(ralph audit claude)" "platform.claude.com"
	export ANTHROPIC_API_KEY=some-key
	lacks "$(ralph audit claude)" "platform.claude.com"
	has "$(ralph audit claude)" "anthropic-key"
	lacks "$(ralph run --agent claude -- env)" some-key
	has "$(ralph run --agent claude -- sh -c 'echo $ANTHROPIC_API_KEY')" "ralph-phantom"
}

@test "completion offers the agents, beside directories" {
	complete() {
		bash -c 'source <("$RALPH" completion bash); COMP_WORDS=(ralph "$@"); COMP_CWORD=$#; _ralph; echo "${COMPREPLY[*]}"' \
			bash "$@"
	}
	mkdir "$WS/clouds"
	same "claude clouds" "$(complete run cl)"
	has "$(complete run --agent '')" "claude codex gemini opencode copilot command"
	has "$(complete run --n)" "--net"
	# What stands behind the agent is the agent's.
	same "" "$(complete claude --n)"
}

@test "ralph net check knows what the agent may reach" {
	export RALPH_AGENT=claude
	must_exit 0 ralph net check platform.claude.com
	export ANTHROPIC_API_KEY=some-key
	must_fail ralph net check platform.claude.com
	must_fail ralph net check api.anthropic.com
}

@test "the user's own value of an agent's variable holds" {
	same "0" "$(ralph run --agent claude -e DISABLE_AUTOUPDATER=0 -- sh -c 'echo $DISABLE_AUTOUPDATER')"
}

# ---- variables that are refused, logins that are somebody else's ----

refused() {
	run --separate-stderr "$@"
	same 64 "$status"
	same "" "$(ralph ls -q)"
}

@test "RALPH_DOCKER_ENV passes names that are set, and skips those that are not" {
	export RALPH_DOCKER_ENV=SOME_REGION,NOT_SET SOME_REGION=here
	same "here" "$(ralph run -- sh -c 'echo $SOME_REGION${NOT_SET-}')"
}

@test "GITHUB_TOKEN and the like: 64, before anything starts" {
	refused ralph run --pass GITHUB_TOKEN -- true
	has "$stderr" "GITHUB_TOKEN"
	refused ralph run -e GH_ENTERPRISE_TOKEN=x -- true
	refused env RALPH_DOCKER_ENV=GITHUB_TOKEN "$RALPH" run -- true
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	echo 'env: {pass: [GITHUB_TOKEN]}' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	refused ralph run -- true
	has "$stderr" "config.yaml:1"
}

@test "values that look like keys, and what the user's patterns match: 64, without showing them" {
	local key

	key=$(printf 'sk-%s-%s' ant 0123456789abcdefghij)
	refused env MY_VALUE="$key" "$RALPH" run --pass MY_VALUE -- true
	lacks "$stderr" "$key"
	refused ralph run -e "X=$key" -- true
	refused env SANDBOX_REFUSE_PATTERNS='*_CORP,acme.example' "$RALPH" run -e URL_CORP=1 -- true
	refused env SANDBOX_REFUSE_PATTERNS='*_CORP,acme.example' "$RALPH" run -e MAIL=me@acme.example -- true
	must_exit 0 env SANDBOX_REFUSE_PATTERNS='*_CORP' "$RALPH" run -e OTHER=1 -- true
}

@test "a login of somebody else's: 78, before anything starts" {
	local later=$((($(date +%s) + 7200) * 1000))

	agent claude
	mkdir -p "$HOME/.claude"
	echo "{\"claudeAiOauth\":{\"accessToken\":\"a-token\",\"expiresAt\":$later,\"scopes\":[]}}" >"$HOME/.claude/.credentials.json"
	chmod 600 "$HOME/.claude/.credentials.json"
	echo '{"oauthAccount":{"emailAddress":"work@corp.example"}}' >"$HOME/.claude.json"
	run --separate-stderr env RALPH_IDENTITY='*@home.example' "$RALPH" run claude
	same 78 "$status"
	has "$stderr" "work@corp.example"
	has "$stderr" "@home.example"
	same "" "$(ralph ls -q)"
	must_exit 0 env RALPH_IDENTITY='*@home.example,*@corp.example' "$RALPH" run claude
}

@test "an agent on a terminal whose output goes to a file finds its input empty: it waits for nobody" {
	agent claude 'readlink /proc/self/fd/0; wc -c'
	python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" -- sh -c "$RALPH --yes run claude . -- -p x >$T/said"
	same '/dev/null 0' "$(xargs <"$T/said")"
	# A command is not an agent: what is typed is its input.
	python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" 'send:typed\n\x04' -- sh -c "$RALPH --yes run -- cat >$T/said"
	same typed "$(cat "$T/said")"
}

@test "Gemini CLI is told that it is in a sandbox" {
	agent gemini 'echo "$SANDBOX"'
	same ralph "$(ralph run gemini)"
}
