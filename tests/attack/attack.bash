# What the attacks start from, on top of the shell tests' own helpers.
#
#   inside [OPTION… --] ATTACK ARG…   the probe's attack, in a sandbox of the workspace
#   outside ATTACK ARG…               the same on the host: for what a test sets up there
#
# ATTACK_OUTSIDE=1 runs on the host what is meant for a sandbox: a test that passes then does not
# look at the wall it speaks of.
# shellcheck shell=bash
load ../cli/helpers

attack_setup() {
	ralph_setup || return
	cp "${RALPH%/bin/ralph}/libexec/ralph/probe" "$WS/probe" || return
	PROBE=$WS/probe
	HELPERS=()
}

setup() {
	attack_setup
}

teardown() {
	stop_helpers
	ralph_teardown
}

inside() {
	if [ -n "${ATTACK_OUTSIDE:-}" ]; then
		"$PROBE" "$@"
	else
		"$RALPH" run --rm -- "$PROBE" "$@"
	fi
}

outside() {
	"$PROBE" "$@"
}

# helper ATTACK ARG…: runs on the host until the test ends; its first line is in $SAID.
helper() {
	local n=${#HELPERS[@]}

	mkfifo "$T/in$n" "$T/out$n"
	"$PROBE" "$@" <"$T/in$n" >"$T/out$n" 2>"$T/err$n" 3>&- &
	HELPERS+=($!)
	eval "exec $((20 + n))>\"\$T/in$n\""
	# shellcheck disable=SC2034 # for the test
	read -r -t 10 SAID <"$T/out$n" || fail "helper $1 says nothing: $(cat "$T/err$n")"
}

stop_helpers() {
	local n

	for n in "${!HELPERS[@]}"; do
		eval "exec $((20 + n))>&-"
		kill "${HELPERS[$n]}" 2>/dev/null
		wait "${HELPERS[$n]}" 2>/dev/null
	done
	HELPERS=()
}

# other_disk: disk/ of the workspace is on another file system than the state of ralph. A plain user cannot mount one, and gets
# a workspace that is. leave_disk: afterwards.
other_disk() {
	if [ "$(id -u)" -eq 0 ]; then
		mkdir "$WS/disk"
		mount -t tmpfs tmpfs "$WS/disk"
		return
	fi
	OTHER=$(mktemp -d /var/tmp/ralph-test.XXXXXX)
	cp -a "$WS/." "$OTHER"
	WS=$OTHER
	cd "$WS" || return
	mkdir disk
	[ "$(stat -c %d "$WS")" != "$(stat -c %d "$HOME")" ]
}

leave_disk() {
	if [ "$(id -u)" -eq 0 ]; then
		umount "$WS/disk"
	else
		cd / && rm -rf "$OTHER"
	fi
}
