#!/usr/bin/env bats
# runs: user
# What of the host's agents, keys and tools is seen in an agent's sandbox: nothing, and nothing comes back.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../cli/helpers
load ../cli/sandbox

AGENTS=(claude codex gemini opencode copilot)

# Everything below is the host's, and has this in it.
MARK=host-only-$SRANDOM

plant() {
	mkdir -p "$(dirname "$HOME/$1")"
	printf '%s\n' "${2:-$MARK}" >"$HOME/$1"
	chmod 600 "$HOME/$1"
}

setup() {
	local later=$((($(date +%s) + 7200) * 1000))

	ralph_setup || return
	plant .claude/projects/-work/session.jsonl
	plant .claude/settings.json "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"$MARK\"}]}]}}"
	plant .claude/history.jsonl
	plant .claude/CLAUDE.md
	plant .claude.json "{\"oauthAccount\":{\"emailAddress\":\"$MARK@example.invalid\"},\"mcpServers\":{\"$MARK\":{}}}"
	plant .claude/.credentials.json "{\"claudeAiOauth\":{\"accessToken\":\"$MARK\",\"expiresAt\":$later,\"scopes\":[]}}"
	plant .codex/sessions/2026/01/01/rollout.jsonl
	plant .codex/history.jsonl
	plant .gemini/tmp/project/chats/session.jsonl
	plant .copilot/session-state/1/events.jsonl
	plant .local/share/opencode/auth.json
	plant .ssh/id_ed25519
	plant .ssh/config
	plant .config/linear/token
	plant .config/gh/hosts.yml
	plant .config/opencode/opencode.json
	plant .gitconfig
	plant .npmrc
	plant .aws/credentials
	export SSH_AUTH_SOCK=$HOME/$MARK.sock SSH_AGENT_PID=1 GITHUB_TOKEN=$MARK LINEAR_API_KEY=$MARK
	python3 -c 'import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1])' "$SSH_AUTH_SOCK"
	cp "$BATS_TEST_DIRNAME/../agents/search.py" "$WS/search.py"
}

# bats test_tags=root
@test "nothing of the host's agents, keys and tools is in any agent's sandbox" {
	local agent

	for agent in "${AGENTS[@]}"; do
		same "found nothing" "$(ralph run --agent "$agent" -- python3 search.py files "$(rev <<<"$MARK")")" ||
			fail "in the sandbox of $agent" || return
	done
}

@test "not even their names are seen, and no agent of ssh can be asked" {
	local agent

	for agent in "${AGENTS[@]}"; do
		same "" "$(ralph run --agent "$agent" -- sh -c 'cd && ls -d .ssh .aws .gitconfig .npmrc .config/gh .config/linear \
			.claude/projects .claude/settings.json .codex/sessions .gemini/tmp *.sock 2>/dev/null
			echo "${SSH_AUTH_SOCK-}${SSH_AGENT_PID-}"')" || fail "in the sandbox of $agent" || return
	done
}

@test "what an agent writes to its settings, hooks and memory stays in its own home" {
	local before after

	before=$(find "$HOME" -path "$WS" -prune -o -type f -print0 | sort -z | xargs -0 md5sum)
	ralph run --agent claude -- sh -c 'mkdir -p ~/.claude ~/.codex ~/.ssh ~/.config/autostart
		for f in .claude/settings.json .claude/CLAUDE.md .claude.json .codex/config.toml .ssh/authorized_keys \
			.bashrc .profile .gitconfig .config/autostart/x.desktop; do echo evil >~/$f; done'
	after=$(find "$HOME" -path "$WS" -prune -o -type f -print0 | sort -z | xargs -0 md5sum)
	same "$before" "$after"
	same evil "$(cat "$XDG_STATE_HOME/ralph/sandboxes/$(sandbox)/home/.claude/settings.json")"
}

@test "a phantom in a message of the audit, the plan or the record is none: there is no value yet" {
	ralph run --agent claude -- true
	lacks "$(ralph audit --agent claude; ralph --dry-run run --agent claude -- true; ralph inspect "$(sandbox)" --json)" "$MARK\""
	has "$(cat "$XDG_STATE_HOME/ralph/sandboxes/$(sandbox)/spec.json")" "{phantom}"
}
