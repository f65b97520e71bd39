# Looking at sandboxes, for the files that start some: `load sandbox` after `load helpers`.
#
# A command that is to be killed or signalled is started as "$RALPH" … 3>&- &: the function `ralph`
# would put a shell in between, and bats waits for whoever holds its descriptor 3.
# shellcheck shell=bash

# The name of this test's only sandbox.
sandbox() {
	ralph ls -q
}

# field NAME KEY: of a row of `ralph ls`.
field() {
	ralph ls --json | python3 -c '
import json, sys
for row in json.load(sys.stdin):
    if row["name"] == sys.argv[1]:
        print(row.get(sys.argv[2], ""))' "$1" "$2"
}

# is NAME KEY VALUE, for wait_until
is() {
	[ "$(field "$1" "$2")" = "$3" ]
}

# runs N: so many commands run in this test's only sandbox.
runs() {
	local name

	name=$(sandbox)
	[ -n "$name" ] && is "$name" commands "$1"
}

# up: commands can be run in this test's only sandbox; down: it is there and nothing of it runs.
up() {
	is "$(sandbox)" state running
}

down() {
	is "$(sandbox)" state stopped
}

# sleepers NAME: how many processes named sleep are inside.
sleepers() {
	ralph exec "$1" sh -c 'cat /proc/[0-9]*/comm 2>/dev/null | grep -c "^sleep$" || :'
}

no_sleepers() {
	[ "$(sleepers "$1")" = 0 ]
}

# get EXPRESSION: of the JSON document on stdin, as `j`.
get() {
	python3 -c 'import json, sys; j = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"
}
