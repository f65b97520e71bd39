#!/usr/bin/env bats
# runs: user
# seconds: 30
# Workers of `ralph build --place` on machines that ssh reaches: a real sshd, on this one.
load ../cli/helpers
load ../cli/loop
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

@test 'tasks on two hosts that ssh reaches: each is merged once, and nothing is left there' {
	loop_workspace 4
	mkdir "$XDG_CONFIG_HOME/ralph"
	# The placement that ships, but for where ralph is.
	sed "s|\"{host}\", ralph|\"{host}\", $RALPH|" "${RALPH%/bin/ralph}/share/ralph/fleet/ssh.yaml" >"$XDG_CONFIG_HOME/ralph/config.yaml"
	build 0 honest --place ssh --parallel 4 --net none
	same 'done done done done' "$(verdicts)"
	same 4 "$(git log --format=%s | grep -cE '^US-[1-4]: US-[1-4]$')"
	same '2 2' "$(grep -c one.example.com "$T/ssh/asked") $(grep -c two.example.com "$T/ssh/asked")"
}
