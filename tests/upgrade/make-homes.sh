#!/bin/bash
# Makes the fixture of 30-homes.bats: homes as 0.2.0 kept them, one for each sandbox.
#   RALPH=PREFIX/bin/ralph tests/upgrade/make-homes.sh [DIR]     as root; DIR: tests/upgrade/homes
# Strings in single quotes are for the shell inside; the sourced files use what seems unused.
# shellcheck disable=SC2016,SC2034
set -euo pipefail
: "${RALPH:?name the ralph whose homes are to be kept}"
here=$(cd "$(dirname "$0")" && pwd)
HOMES=$(realpath -m "${1:-$here/homes}")
BATS_TEST_DIRNAME=$here
bats_require_minimum_version() { :; }
# shellcheck source=tests/cli/helpers.bash
. "$here/../cli/helpers.bash"
# shellcheck source=tests/upgrade/place.bash
. "$here/place.bash"

# said NAME: a conversation of that name, in the home of the sandbox that it is called in.
SAID='said() { mkdir -p ~/.claude/projects/-p; echo "{\"type\":\"user\",\"message\":{\"content\":\"$1\"}}" >~/.claude/projects/-p/$1.jsonl; }'

project() {
	mkdir "$HOME/$1"
	cd "$HOME/$1"
	git init -q -b main --template=
	git -c user.name=upgrade -c user.email=upgrade@example.org commit -q --allow-empty -m start
}

# old DAYS NAME: it was last used so many days before the others.
old() {
	touch -d "2026-11-0$((9 - $1))" "$T/state/ralph/sandboxes/$2/events.jsonl"
	touch -h -d 2026-11-01 "$T/state/ralph/sandboxes/$2/workspace"
}

trap 'rm -rf "$T"' EXIT
place_take
mkdir -p "$HOMES"
project other
ralph run -n other -- sh -euc "$SAID; said of-another"
project app
ralph run -n first -- sh -euc "$SAID; said first; said both; echo first >~/tool; echo lasting >~/.first-only"
git switch -qc feature
ralph run -n newest -- sh -euc "$SAID; said newest; said both; echo newest >~/tool; mkdir ~/.claude/todos; echo x >~/.claude/todos/x"
git worktree add -q "$HOME/tree" -b tree
(cd "$HOME/tree" && ralph run -n tree -- sh -euc "$SAID; said tree; mkdir -p ~/.claude/projects/-q; ln -s /etc/passwd ~/.claude/projects/-q/x.jsonl")
ralph run -n empty -- true
old 0 newest
old 1 tree
old 2 first
old 3 empty
"$RALPH" --version >"$HOMES/version"
cd "$T"
XZ_OPT=-9 tar -C "$T" --sort=name --owner=0 --group=0 --numeric-owner -cJf "$HOMES/homes.tar.xz" home state
