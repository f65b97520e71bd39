#!/usr/bin/env bats
# runs: user
# up, preflight, gc: a sandbox as its user keeps it.
# shellcheck disable=SC2016,SC2154 # text for shells inside; bats sets stderr
load helpers
load sandbox

setup() {
	ralph_setup
	S=t-${WS##*/ws-}
}

# check NAME: a member of preflight's JSON, by what it is about.
check() {
	get '[(c["ok"], c["found"], c.get("remedy", "")) for c in j["checks"] if c["what"] == "'"$1"'"]' <"$T/checks"
}

@test "up -d tests the sandbox, starts it and leaves it running" {
	same "$S" "$(ralph up -d -n "$S")"
	up
	same 1 "$(grep -c '"ralph-probe","suite"' "$XDG_STATE_HOME/ralph/sandboxes/$S/events.jsonl" | awk '{ print ($1 >= 1) }')"
	[ -s "$XDG_STATE_HOME/ralph/sandboxes/$S/selftest" ]
	same hi "$(ralph exec "$S" echo hi)"
	# What was tested is not tested again; what runs is left alone.
	same "$S" "$(ralph up -d -n "$S")"
	same 2 "$(grep -c '"ralph-probe","tell"' "$XDG_STATE_HOME/ralph/sandboxes/$S/events.jsonl" | awk '{ print $1 + 1 }')"
}

@test "up opens a shell in the workspace, passes its exit code on, and the sandbox ends with it" {
	run --separate-stderr ralph up <<<'pwd; command -v git; git status --short; exit 7'
	same 7 "$status"
	same "$WS" "$(head -n 1 <<<"$output")"
	has "$output" "/git"
	wait_until down
}

@test "up with settings that are wrong, or a workspace that is refused, starts nothing" {
	must_exit 2 ralph up -d --net nonsense
	must_exit 2 ralph up -d /
	same "" "$(ralph ls -q)"
}

@test "preflight: all is well, nothing is sent, and nothing stays" {
	ralph preflight --agent command --json --allow example.com >"$T/checks" || fail "$(cat "$T/checks")"
	same True "$(get 'j["ok"]' <"$T/checks")"
	for what in credentials clock disk sandbox gateway 'a host without a rule' 'an allowed host'; do
		has "$(check "$what")" "True"
	done
	same "" "$(ralph ls -q)"
	wait_until nothing_left
	same "" "$(git status --porcelain --ignored)"
}

@test "preflight without --agent judges the agent that a loop would have, and says which" {
	must_exit 8 ralph preflight --json >"$T/checks" 2>"$T/err"
	has "$(check credentials)" "False, 'anthropic"
	has "$(cat "$T/err")" 'the agent is claude, as you name none; to have another: ralph preflight --agent AGENT'
	mkdir -p "$HOME/.local/bin"
	printf '#!/bin/sh\n' >"$HOME/.local/bin/codex"
	chmod 755 "$HOME/.local/bin/codex"
	OPENAI_API_KEY=sk-of-the-host ralph preflight --json >"$T/checks" 2>"$T/err"
	has "$(check credentials)" "True, 'openai"
	has "$(cat "$T/err")" 'the agent is codex, the only one that is installed and logged in'
	mkdir .ralph
	echo 'agent: command' >.ralph/config.yaml
	ralph preflight --json >"$T/checks" 2>"$T/err"
	has "$(check credentials)" 'none are needed'
	lacks "$(cat "$T/err")" 'the agent is'
}

@test "preflight lists all that is wrong at once, each with its remedy" {
	only_in_a_tree
	mkdir "$T/libexec"
	cp -r "${RALPH%/bin/ralph}/libexec/ralph/." "$T/libexec"
	printf '#!/bin/sh\nexit 1\n' >"$T/libexec/edge"
	RALPH_LIBEXEC=$T/libexec must_exit 1 ralph preflight --agent claude --json >"$T/checks"
	has "$(check credentials)" False
	has "$(check gateway)" False
	has "$(check gateway)" "ralph stop"
	same True "$(get 'all(c["ok"] or c["remedy"] for c in j["checks"])' <"$T/checks")"
	RALPH_LIBEXEC=$T/libexec must_exit 1 ralph preflight --agent claude >"$T/table"
	has "$(cat "$T/table")" "failed"
}

@test "preflight of a sandbox that cannot be started says so, and the other checks all the same" {
	own_guest 'exit 1'
	must_exit 1 ralph preflight --json >"$T/checks"
	has "$(check sandbox)" "False"
	has "$(check sandbox)" "ralph doctor"
	has "$(check clock)" "True"
}

@test "preflight beside a live sandbox asks that one and leaves it running" {
	ralph up -d -n "$S" --allow example.com
	ralph preflight --agent command --allow example.com >/dev/null
	ralph up -d
	same "running running" "$(ralph ls --json | get '" ".join(r["state"] for r in j)')"
}

# bats test_tags=root
@test "gc clears away what a killed supervisor left, once, and nothing else" {
	ralph run -d -n "$S" -- sh -c 'echo x >~/kept'
	ralph run -d -n "$S-live"
	kill -9 "$(field "$S" supervisor)"
	wait_until is "$S" state stopped
	has "$(ralph gc)" "$S"
	lacks "$(ralph gc)" "$S" # sandboxes of others may have left something meanwhile
	is "$S-live" state running
	same "" "$(find /sys/fs/cgroup -type d -name "ralph-$S-[0-9a-f]*" 2>/dev/null | grep -v live || :)"
	same x "$(ralph run -n "$S" -- sh -c 'cat ~/kept')"
}

@test "worktrees of one repository share what belongs to the project, and have a sandbox each" {
	git worktree add -q "$HOME/tree-$S" -b "tree-$S"
	ralph up -d
	(cd "$HOME/tree-$S" && ralph up -d)
	same 2 "$(ralph ls -q | wc -l)"
	same 1 "$(for n in $(ralph ls -q); do ralph inspect "$n" --json | get 'j["instance"]'; done | sort -u | wc -l)"
	same 2 "$(ralph ls --json | get 'len({r["supervisor"] for r in j})')"
	git worktree remove --force "$HOME/tree-$S"
}

@test "two agents on one workspace are told so" {
	mkdir "$HOME/bin"
	printf '#!/bin/sh\necho started\n' >"$HOME/bin/claude"
	chmod +x "$HOME/bin/claude"
	ralph up -d -n "$S"
	PATH=$HOME/bin:$PATH run --separate-stderr ralph run claude
	has "$stderr" "sandbox '$S' is live in the same workspace"
}
