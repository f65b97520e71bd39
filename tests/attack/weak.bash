# The guest with a wall left out: see weak-guest.c. `load weak` after the helpers.
# shellcheck shell=bash

# guest_without WALL[,WALL…] [VARIABLE [ROW…]]: from now on the guest leaves these out, and changes the list of mounts so.
guest_without() {
	local weak=$BATS_TEST_DIRNAME/guest-weak

	only_in_a_tree
	[ -x "$weak" ] || weak=$BATS_TEST_DIRNAME/../../build/tests/attack/guest-weak
	if [ ! -d "$T/weak" ]; then
		cp -r "${RALPH%/bin/ralph}/libexec/ralph" "$T/weak"
		cp "$weak" "$T/weak/guest-weak"
	fi
	{
		printf '#!/bin/bash\n'
		printf 'export RALPH_WEAK_WEAK=%q RALPH_WEAK_VARIABLE=%q RALPH_WEAK_MOUNTS=%q\n' ",$1," "${2:-X=1}" \
			"$([ $# -lt 3 ] || printf '%s\n' "${@:3}")"
		# shellcheck disable=SC2016 # for that shell
		printf 'exec %q "$@"\n' "$T/weak/guest-weak"
	} >"$T/weak/guest"
	chmod +x "$T/weak/guest"
	export RALPH_LIBEXEC=$T/weak
}
