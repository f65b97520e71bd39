#!/usr/bin/env bats
# runs: user
# seconds: 40
# --place: tasks on other machines, with a scripted worker in place of `ralph worker`.
# shellcheck disable=SC2016,SC2030,SC2031
load helpers
load loop
load fleet

@test 'four tasks at a placement: each is merged once, and nothing is left' {
	loop_workspace 4
	at_place steps=1
	placed 0 --parallel 4
	merged US-1 US-2 US-3 US-4
	same 'done done done done' "$(verdicts)"
	same ralph/demo "$(git branch --show-current)"
	has "$(cat "$T/err")" '[US-2] on node-1 (test 4711)'
	same 4 "$(wc -l <"$T/told/acks")"
	same '' "$(ralph ls -q)"
}
