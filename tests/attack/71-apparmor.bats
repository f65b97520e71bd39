#!/usr/bin/env bats
# runs: user
# Where AppArmor lets only programs with a profile make user namespaces: one file of ralph's is such a program.
# shellcheck disable=SC2016,SC2154 # text for shells that are started; bats sets status and output
load ../cli/helpers
load ../cli/sandbox

# The profile's lines, without comments.
rules() {
	sed 's/[[:space:]]*#.*//; /^[[:space:]]*$/d' "${RALPH%/bin/ralph}/share/ralph/apparmor/ralph"
}

@test 'AppArmor: the profile names one file, the guest, and nothing else of ralph'\''s may make user namespaces' {
	local attached

	same 1 "$(rules | grep -c '^profile ')"
	same 1 "$(rules | grep -cE '^[[:space:]]*(audit |allow )*userns')"
	attached=$(rules | sed -n 's/^profile ralph \([^ ]*\) flags=(unconfined) {$/\1/p')
	# No pattern but the two places that a package and `make install` have.
	same '/usr/{,local/}libexec/ralph/guest' "$attached"
	[ -x "${RALPH%/bin/ralph}/libexec/ralph/guest" ]
}

@test 'AppArmor: a parser that knows the rule reads the profile' {
	[ -x "${RALPH_TEST_APPARMOR:-}" ] || need apparmor_parser
	run "${RALPH_TEST_APPARMOR:-apparmor_parser}" -Q -K -N "${RALPH%/bin/ralph}/share/ralph/apparmor/ralph"
	same 0 "$status"
	same ralph "$(grep -v '^Cache ' <<<"$output")"
	# It is one that would say so.
	sed 's/userns,/usernames,/' "${RALPH%/bin/ralph}/share/ralph/apparmor/ralph" >"$T/other"
	run "${RALPH_TEST_APPARMOR:-apparmor_parser}" -Q -K "$T/other"
	same 1 "$status"
}

# A stand-in for the guest, which would have the rights that the profile gives.
stand_in() {
	mkdir "$T/libexec"
	cp -r "${RALPH%/bin/ralph}/libexec/ralph/." "$T/libexec"
	printf '#!/bin/sh\n: >"%s/ran-$$"\nexit 1\n' "$T" >"$T/libexec/guest"
}

@test 'RALPH_LIBEXEC names the guest of a build in a tree; an installed ralph runs its own' {
	local prefix=${RALPH%/bin/ralph}

	need unshare
	grep -qa /usr/local/libexec/ralph "$prefix/libexec/ralph/supervisor" || not_here "built for another prefix"
	stand_in
	RALPH_LIBEXEC=$T/libexec must_exit 125 ralph run --rm -- true
	compgen -G "$T/ran-*" >/dev/null || fail "the build's own guest was started"
	rm "$T"/ran-*
	# The same files where they were built for.
	run --separate-stderr unshare -r -m sh -c 'mount --bind "$1" /usr/local && RALPH_LIBEXEC=$2 exec /usr/local/bin/ralph run --rm -- echo inside' sh "$prefix" "$T/libexec"
	same 0 "$status"
	same inside "$output"
	! compgen -G "$T/ran-*" >/dev/null || fail "another guest was started"
}
