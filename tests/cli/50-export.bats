#!/usr/bin/env bats
# What was said in sandboxes, as files.
load helpers
load sandbox

# said AGENT-DIR FILE SAMPLE: an agent's conversation in the home of this test's sandbox.
said() {
	local home

	ralph run -- true
	home=$XDG_STATE_HOME/ralph/sandboxes/$(sandbox)/home
	mkdir -p "$home/$1"
	cp "$BATS_TEST_DIRNAME/../golden/transcripts/$3" "$home/$1/$2"
}

@test 'a conversation becomes a file with front matter, named after its time and first words' {
	said .claude/projects/-p s1.jsonl claude-tools-run.jsonl
	has "$(ralph export -o "$HOME/inbox")" '1 written'
	has "$(cat "$HOME"/inbox/conversations/2026-11-15T17-54-01Z/do-it.md)" 'agent: "claude"'
	has "$(cat "$HOME"/inbox/conversations/*/do-it.md)" '<details><summary>Write: /home/user/project/hello.txt</summary>'
}

@test 'what has not changed is left alone, what has grown is written in the same place' {
	local home file

	said .claude/projects/-p s1.jsonl claude-tools-run.jsonl
	export RALPH_INBOX_DIR=$HOME/inbox
	ralph export
	has "$(ralph export)" '0 written, 1 unchanged'
	home=$XDG_STATE_HOME/ralph/sandboxes/$(sandbox)/home
	echo '{"type":"user","message":{"content":"one more thing"}}' >>"$home/.claude/projects/-p/s1.jsonl"
	has "$(ralph export)" '1 written, 0 unchanged'
	file=$(find "$HOME/inbox" -name '*.md')
	same 1 "$(wc -l <<<"$file")"
	has "$(cat "$file")" 'one more thing'
}

@test 'subagents lie beside the conversation they belong to, which links to them' {
	local home

	said .claude/projects/-p x.jsonl claude-tools-run.jsonl
	home=$XDG_STATE_HOME/ralph/sandboxes/$(sandbox)/home
	rm "$home/.claude/projects/-p/x.jsonl"
	cp -r "$BATS_TEST_DIRNAME"/../golden/transcripts/claude-subagent/* "$home/.claude/projects/-p/"
	has "$(ralph export -o "$HOME/inbox")" '2 written'
	has "$(cat "$HOME"/inbox/conversations/*/delegate.md)" '(delegate-agent-abac12d2ff6a23736.md)'
	ls "$HOME"/inbox/conversations/*/delegate-agent-abac12d2ff6a23736.md
}

@test 'links in a home are not followed, and no link is written through' {
	local home

	said .claude/projects/-p s1.jsonl claude-tools-run.jsonl
	home=$XDG_STATE_HOME/ralph/sandboxes/$(sandbox)/home
	mkdir "$HOME/host" "$HOME/victim"
	cp "$home/.claude/projects/-p/s1.jsonl" "$HOME/host/secret.jsonl"
	ln -s "$HOME/host/secret.jsonl" "$home/.claude/projects/-p/link.jsonl"
	ln -s "$HOME/host" "$home/.claude/projects/-q"
	has "$(ralph export -o "$HOME/inbox")" '1 written'
	rm -r "$HOME/inbox/conversations"
	ln -s "$HOME/victim" "$HOME/inbox/conversations"
	must_exit 1 ralph export -o "$HOME/inbox"
	same '' "$(ls -A "$HOME/victim")"
}

@test 'JSON and HTML are written as well; the page needs nothing but itself' {
	said .codex/sessions/2026/11/15 rollout-1.jsonl codex-rollout.jsonl
	ralph export -o "$HOME/inbox" --format json
	ralph export -o "$HOME/inbox" --format html
	python3 -m json.tool "$HOME"/inbox/conversations/*/*.json >/dev/null
	lacks "$(cat "$HOME"/inbox/conversations/*/*.html)" 'src='
	has "$(cat "$HOME"/inbox/conversations/*/*.html)" "default-src 'none'"
}

@test 'a value that was passed in as a secret is not in what is exported' {
	local home

	export MY_TOKEN=correct-horse-battery-staple
	ralph run --pass MY_TOKEN -- true
	home=$XDG_STATE_HOME/ralph/sandboxes/$(sandbox)/home
	mkdir -p "$home/.claude/projects/-p"
	echo '{"type":"user","timestamp":"2026-01-01T00:00:00Z","message":{"content":"it is correct-horse-battery-staple, yes"}}' >"$home/.claude/projects/-p/s.jsonl"
	has "$(ralph export -o "$HOME/inbox")" '1 secrets removed'
	lacks "$(cat "$HOME"/inbox/conversations/*/*.md)" battery
}
