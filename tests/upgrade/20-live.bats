#!/usr/bin/env bats
# runs: root user runtime
# A live sandbox that another version started: it is seen and ended, and nothing else is asked of it.
# shellcheck disable=SC2030,SC2031,SC2154 # bats sets stderr
load ../cli/helpers
load ../cli/sandbox

setup() {
	ralph_setup || return
	S=old-${WS##*-}
	VERSION=${XDG_RUNTIME_DIR:+$XDG_RUNTIME_DIR/ralph}
	VERSION=${VERSION:-/tmp/ralph-$(id -u)}/$S/version
	ralph run -d -n "$S"
}

# refused CMD…: with the words that say why, and what to do.
refused() {
	run --separate-stderr must_fail ralph "$@"
	[ "$status" -eq 0 ] || fail "$stderr"
	has "$stderr" "sandbox '$S' was started by version $STARTED_BY; run: ralph stop $S"
}

# seen_and_ended: by what has to work with every version.
seen_and_ended() {
	is "$S" state running
	has "$(ralph inspect "$S")" "$S  running"
	must_fail ralph rm "$S" 2>/dev/null
	timeout 60 "$RALPH" "$@" "$S"
}

refuses_all() {
	refused exec "$S" true
	refused shell "$S"
	refused run -n "$S" -- true
	refused run -d -n "$S"
	refused ports "$S" publish 0:3000
	refused net allow --sandbox "$S" new.example.org
	refused selftest "$S"
}

@test 'the version of this ralph lies beside the socket, and goes with it' {
	same "$(ralph --version)" "ralph $(readlink "$VERSION")"
	ralph exec "$S" true
	ralph stop "$S"
	[ ! -e "${VERSION%/*}" ]
}

@test 'a live sandbox of another version is refused with what to type, which works' {
	ln -sfn 0.1.9 "$VERSION"
	STARTED_BY=0.1.9
	refuses_all
	seen_and_ended stop
	[ ! -e "${VERSION%/*}" ]
	same again "$(ralph run -n "$S" -- echo again)"
}

@test 'one that does not say its version is of 0.1.0' {
	rm "$VERSION"
	STARTED_BY=0.1.0
	refuses_all
	seen_and_ended rm -f
	same '' "$(ralph ls -q)"
}
