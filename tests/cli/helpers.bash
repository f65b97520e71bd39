# What every shell test starts from: `load helpers` (tests/attack: `load ../cli/helpers`).
#
#   RALPH       the installed ralph; `ralph` calls it
#   T           this test's own directory; everything below is inside
#   HOME, XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_RUNTIME_DIR   its own; the last is unset in the half
#               of the unprivileged user that has no runtime directory
#   WS          the workspace: a git repository in $HOME with one commit; tests start in it
#
# A file that has a setup or teardown of its own calls ralph_setup and ralph_teardown in it.
# shellcheck shell=bash
bats_require_minimum_version 1.5.0

ralph() {
	"$RALPH" "$@"
}

# make_workspace DIR BRANCH: a copy of the repository that the first test of a file made; five calls of git take longer.
make_workspace() {
	local first=$BATS_FILE_TMPDIR/workspace

	if [ ! -d "$first" ]; then
		git init -q -b first "$first"
		git -C "$first" config user.name test
		git -C "$first" config user.email test@example.invalid
		echo content >"$first/file"
		git -C "$first" add file
		git -C "$first" commit -q -m start
	fi
	cp -r "$first" "$1"
	mv "$1/.git/refs/heads/first" "$1/.git/refs/heads/$2"
	mv "$1/.git/logs/refs/heads/first" "$1/.git/logs/refs/heads/$2"
	echo "ref: refs/heads/$2" >"$1/.git/HEAD"
}

ralph_setup() {
	local id

	: "${RALPH:?RALPH is not set: run tests/run.sh FILE}"
	printf -v id '%08x' "$SRANDOM"
	T=/tmp/rt-$id
	mkdir -m 0700 "$T" "$T/home" "$T/config" "$T/state" "$T/run" || return
	[ ! -f "${RALPH_TEST_STAMP:-}" ] || {
		mkdir -m 0700 "$T/state/ralph"
		cp "$RALPH_TEST_STAMP" "$T/state/ralph/selftest-native"
	}
	export T HOME=$T/home XDG_CONFIG_HOME=$T/config XDG_STATE_HOME=$T/state
	if [ "${RALPH_TEST_KIND:-}" = user ]; then
		unset XDG_RUNTIME_DIR
	else
		export XDG_RUNTIME_DIR=$T/run
	fi
	# Where there is no runtime directory all tests of a user share one: names must not meet.
	WS=$HOME/ws-$id
	export WS
	make_workspace "$WS" "t-$id"
	cd "$WS" || return
}

# bats ignores a failure in the middle of a teardown, hence the sum.
ralph_teardown() {
	local bad=0

	cd / || return
	[ -n "${T:-}" ] || return 0
	timeout 60 "$RALPH" --yes rm --all --force --home >"$T/teardown" 2>&1 ||
		fail "ralph rm --all --force --home: exit $?: $(cat "$T/teardown")" || bad=1
	wait_until nothing_left || {
		bad=1
		left_behind | while read -r pid what; do
			fail "left behind: $pid $what"
			kill -9 "$pid"
		done
	}
	rm -rf "$T" || bad=1
	return $bad
}

setup() {
	ralph_setup
}

teardown() {
	ralph_teardown
}

# only_in_a_tree: an installed ralph takes no programs from elsewhere, so none can be put in their place.
only_in_a_tree() {
	case ${RALPH%/bin/ralph} in
	/usr | /usr/local) not_here "an installed ralph ignores RALPH_LIBEXEC" ;;
	esac
}

# own_guest TEXT: from now on that is the guest: a shell script, in which $guest is the real one.
own_guest() {
	only_in_a_tree
	rm -rf "$T/programs"
	cp -r "${RALPH%/bin/ralph}/libexec/ralph" "$T/programs"
	printf '#!/bin/bash\nguest=%q\n%s\n' "${RALPH%/bin/ralph}/libexec/ralph/guest" "$1" >"$T/programs/guest"
	export RALPH_LIBEXEC=$T/programs
}

# left_behind: pid and command of every process that carries this test's directory in its environment,
# its command line or its mounts.
left_behind() {
	local pid

	# The grep itself is found too and is gone by the time its name is asked for.
	while IFS=/ read -r _ _ pid _; do
		[ -z "$pid" ] || [ ! -r "/proc/$pid/cmdline" ] ||
			printf '%s %s\n' "$pid" "$(tr '\0' ' ' <"/proc/$pid/cmdline")"
	done <<<"$(grep -lsF -- "$T" /proc/[0-9]*/{environ,cmdline,mountinfo})" 2>/dev/null
}

nothing_left() {
	[ -z "$(left_behind)" ]
}

fail() {
	printf '%s\n' "$*" >&2
	return 1
}

# wait_until [-t SECONDS] CMD…: polls until CMD succeeds; fails at the deadline (10 s). The longer it takes the less often it
# looks: looking takes processor time from what is waited for.
wait_until() {
	local limit=10 end pause=0.02

	if [ "$1" = -t ]; then
		limit=$2
		shift 2
	fi
	end=$((SECONDS + limit))
	until "$@"; do
		if [ "$SECONDS" -ge "$end" ]; then
			printf 'after %s s still not: %s\n' "$limit" "$*" >&2
			return 1
		fi
		sleep $pause
		case $pause in
		0.02) pause=0.05 ;;
		0.05) pause=0.1 ;;
		*) pause=0.2 ;;
		esac
	done
}

# must_fail CMD…: fails in an orderly way; death by a signal is no such thing.
must_fail() {
	local code=0

	"$@" || code=$?
	[ $code -ne 0 ] || fail "succeeded, and should not have: $*" || return
	[ $code -lt 128 ] || fail "died (exit $code), and should have failed in order: $*"
}

# must_exit CODE CMD…: exits with exactly this code.
must_exit() {
	local want=$1 code=0
	shift

	"$@" || code=$?
	[ $code -eq "$want" ] || fail "exit $code, wanted $want: $*"
}

# same WANT GOT: both as text, shown when they differ.
same() {
	[ "$1" = "$2" ] || fail "wanted: '$1'
   got: '$2'"
}

# has TEXT PART, lacks TEXT PART
has() {
	[[ $1 == *"$2"* ]] || fail "'$2' is not in: $1"
}

lacks() {
	[[ $1 != *"$2"* ]] || fail "'$2' is in: $1"
}

# need TOOL…: a missing tool skips the test; where RALPH_TEST_REQUIRE names it, it fails.
need() {
	local tool

	for tool; do
		command -v "$tool" >/dev/null && continue
		case " ${RALPH_TEST_REQUIRE:-} " in
		*" all "* | *" $tool "*) fail "$tool is missing and required" || return ;;
		*) skip "$tool is missing" ;;
		esac
	done
}

# For a promise that has no meaning for this user or on this machine, whatever is installed.
not_here() {
	skip "n/a: $*"
}

only_root() {
	[ "$(id -u)" -eq 0 ] || not_here "for root"
}

only_user() {
	[ "$(id -u)" -ne 0 ] || not_here "for an unprivileged user"
}
