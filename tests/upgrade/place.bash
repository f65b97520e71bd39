# Where the fixture lies, for the script that makes it and the tests that use it: `load place` after the helpers.
#
# Paths are part of the state: keys of projects are sums of them, and events that hold them are chained. So the fixture is
# at home in one directory alone, which one test at a time has.
# shellcheck shell=bash

UPGRADE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
FIXTURE=${FIXTURE:-$UPGRADE/fixture}

# place_take: the directory, empty, and the environment that points into it.
place_take() {
	T=/var/tmp/ralph-upgrade
	wait_until -t 120 mkdir -m 0700 "$T" 2>/dev/null ||
		fail "$T belongs to $(stat -c %U "$T"), whose test runs or was killed; remove it" || { T='' && return 1; }
	mkdir -m 0700 "$T/home" "$T/run"
	export T HOME=$T/home XDG_CONFIG_HOME=$T/config XDG_STATE_HOME=$T/state
	if [ "${RALPH_TEST_KIND:-}" = user ]; then
		unset XDG_RUNTIME_DIR
	else
		export XDG_RUNTIME_DIR=$T/run
	fi
	cd "$T" || return
}

# place_listing DIR…: every file below with its mode, its size and the sum of its content. Of a git directory only the files
# of its work tree are told: git itself rewrites the others.
place_listing() {
	(cd "$T" && find "$@" -name .git -prune -o -type f -printf '%m %p\n' -o -type l -printf 'link %p %l\n' | sort -k 2 |
		while read -r mode path; do
			[ "$mode" = link ] && echo "$mode $path" && continue
			echo "$mode $path $(sha256sum <"$path" | cut -c 1-64)"
		done)
}
