#!/usr/bin/env bats
# runs: engines
# seconds: 30
# The private git directory, in every engine that has mounts of ralph's; tests/attack/90-private-git.bats has the shapes.
load ../cli/helpers
load ../cli/sandbox
load engine

# What the user's git directory holds, but for what an import writes: objects, references with their logs, and the index.
print() {
	find "$1" \( -type f -exec sha256sum {} + \) -o -printf '%p %y %l\n' | sort |
		grep -Ev '/(objects|refs|logs)/|/(index|HEAD|packed-refs|ORIG_HEAD)$'
}

@test "git: commits are in the user's repository when the command has ended, and the user's are inside" {
	with walls fast # what is brought in is waited for only so long
	ralph run -d -n "$S"
	ralph exec "$S" sh -ec 'echo x >>file; git -c user.name=a -c user.email=a@example.invalid commit -qam inside' 2>"$T/err"
	same inside "$(git log -1 --format=%s)"
	has "$(cat "$T/err")" '1 commit imported'
	same "" "$(git status --porcelain)"
	git commit -q --allow-empty -m user
	same user "$(ralph exec "$S" git log -1 --format=%s)"
}

@test "git: it works inside, the objects are borrowed, and the settings of the user's git directory do not change" {
	with walls
	local was

	was=$(print .git)
	ralph run -d -n "$S"
	ralph exec "$S" sh -ec 'git status --short; git log -1 --format=%s | grep -qx start; echo x >>file
		git -c user.name=a -c user.email=a@example.invalid commit -qam inside; git gc -q; git fsck --no-progress --no-dangling
		printf "#!/bin/sh\n" >.git/hooks/pre-commit; git config core.fsmonitor /bin/false; ! touch /run/ralph/objects/x 2>/dev/null
		! mv .git x 2>/dev/null; rm -rf .git/config .git/refs'
	same "$was" "$(print .git)"
}

@test "git: a git directory that the host puts in its place is never written from inside" {
	with walls
	local marker=written-inside

	ralph run -d -n "$S"
	mv .git x
	git init -q || : # what came while the agent could write it is in quarantine
	wait_until -t 60 has_event protect-again
	git init -q
	if lacks_word again; then
		wait_until -t 60 down
	else
		ralph exec "$S" sh -c "echo $marker >.git/config; test -s .git/config"
	fi
	lacks "$(cat .git/config)" $marker
	ralph rm -f "$S"
	lacks "$(cat .git/config)" $marker
}

has_event() {
	grep -q "\"type\":\"$1\"" "$XDG_STATE_HOME/ralph/sandboxes/$S/events.jsonl"
}

down() {
	! ralph exec "$S" true 2>/dev/null
}
