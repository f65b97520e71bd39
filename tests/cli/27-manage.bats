#!/usr/bin/env bats
# up, preflight, ls, prune, gc: a sandbox as its user keeps it.
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
	ralph preflight --json --allow example.com >"$T/checks" || fail "$(cat "$T/checks")"
	same True "$(get 'j["ok"]' <"$T/checks")"
	for what in credentials clock disk sandbox gateway 'a host without a rule' 'an allowed host'; do
		has "$(check "$what")" "True"
	done
	same "" "$(ralph ls -q)"
	wait_until nothing_left
	same "" "$(git status --porcelain --ignored)"
}

@test "preflight lists all that is wrong at once, each with its remedy" {
	mkdir "$T/libexec"
	cp -r "${RALPH%/bin/ralph}/libexec/ralph/." "$T/libexec"
	printf '#!/bin/sh\nexit 1\n' >"$T/libexec/gateway"
	RALPH_LIBEXEC=$T/libexec must_exit 1 ralph preflight --agent claude --json >"$T/checks"
	has "$(check credentials)" False
	has "$(check gateway)" False
	has "$(check gateway)" "ralph stop"
	same True "$(get 'all(c["ok"] or c["remedy"] for c in j["checks"])' <"$T/checks")"
	RALPH_LIBEXEC=$T/libexec must_exit 1 ralph preflight --agent claude >"$T/table"
	has "$(cat "$T/table")" "failed"
}

@test "preflight of a sandbox that cannot be started says so, and the other checks all the same" {
	mkdir "$T/bin"
	printf '#!/bin/sh\nexit 1\n' >"$T/bin/bwrap"
	chmod +x "$T/bin/bwrap"
	PATH=$T/bin:$PATH must_exit 1 ralph preflight --json >"$T/checks"
	has "$(check sandbox)" "False"
	has "$(check sandbox)" "ralph doctor"
	has "$(check clock)" "True"
}

@test "preflight beside a live sandbox asks that one and leaves it running" {
	ralph up -d -n "$S" --allow example.com
	ralph preflight --allow example.com >/dev/null
	ralph up -d
	same "running running" "$(ralph ls --json | get '" ".join(r["state"] for r in j)')"
}

@test "ls says age, size and last use" {
	ralph run -n "$S" -- sh -c 'head -c 3000000 /dev/urandom >~/big'
	same True "$(ralph ls --json | get '3000000 <= j[0]["size"] < 4000000 and 0 <= j[0]["used"] - j[0]["created"] < 100')"
	has "$(ralph ls)" "SIZE"
	# Links are not followed, devices and holes weigh nothing.
	ralph run -n "$S" -- sh -c 'rm ~/big; ln -s /usr ~/usr; truncate -s 900G ~/hole; mkfifo ~/fifo'
	same True "$(ralph ls --json | get 'j[0]["size"] < 1000000')"
}

@test "prune removes sandboxes whose workspace is gone, and says so; -n only says it" {
	mkdir "$HOME/gone" "$HOME/stays"
	ralph run -n "$S-a" "$HOME/gone" -- true
	ralph run -n "$S-b" "$HOME/stays" -- true
	ralph run -n "$S-c" "$HOME/gone" -- true
	rmdir "$HOME/gone"
	has "$(ralph prune -n)" "$S-a"
	same "$S-a $S-b $S-c" "$(ralph ls -q | xargs)"
	run --separate-stderr ralph prune
	same 0 "$status"
	has "$output" "$S-a"
	has "$output" "$HOME/gone is gone"
	lacks "$output" "$S-b"
	same "$S-b" "$(ralph ls -q)"
	same "" "$(ralph prune-sandboxes)"
}

@test "prune --older takes only what was not used for so long" {
	mkdir "$HOME/gone"
	ralph run -n "$S" "$HOME/gone" -- true
	rmdir "$HOME/gone"
	same "" "$(ralph prune --older 2d)"
	touch -d '3 days ago' "$XDG_STATE_HOME/ralph/sandboxes/$S/events.jsonl"
	has "$(ralph prune --older 2d)" "$S"
	same "" "$(ralph ls -q)"
}

@test "prune never touches a live sandbox, a workspace that cannot be looked at, or another tool's" {
	mkdir "$HOME/gone" "$HOME/closed" "$HOME/closed/ws"
	ralph run -d -n "$S-live" "$HOME/gone"
	rmdir "$HOME/gone"
	mkdir -p "$XDG_STATE_HOME/ralph/sandboxes/Others"
	if [ "$(id -u)" -ne 0 ]; then
		ralph run -n "$S-closed" "$HOME/closed/ws" -- true
		chmod 000 "$HOME/closed"
	fi
	same "" "$(ralph prune)"
	is "$S-live" state running
	[ -d "$XDG_STATE_HOME/ralph/sandboxes/Others" ]
	chmod 700 "$HOME/closed"
	rmdir "$XDG_STATE_HOME/ralph/sandboxes/Others"
}

@test "gc clears away what a killed supervisor left, once, and nothing else" {
	ralph run -d -n "$S" -- sh -c 'echo x >~/kept'
	ralph run -d -n "$S-live"
	kill -9 "$(field "$S" supervisor)"
	wait_until is "$S" state stopped
	has "$(ralph gc)" "$S"
	same "" "$(ralph gc)"
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
