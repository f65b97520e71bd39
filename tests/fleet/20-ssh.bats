#!/usr/bin/env bats
# runs: user
# seconds: 30
# Workers of `ralph build --place` on machines that ssh reaches: a real sshd, on this one.
load ../cli/helpers
load ../lib/ssh

setup() {
	ralph_setup || return
	ssh_up
}

@test 'a stream through ssh arrives as it was sent' {
	head -c 1000000 /dev/urandom >"$T/sent"
	ssh -T -oBatchMode=yes one.example.com cat <"$T/sent" >"$T/got" || fail "$(cat "$T/ssh/log")"
	cmp "$T/sent" "$T/got"
}
