#!/usr/bin/env bats
# runs: user
# seconds: 60
# --place with `ralph worker` itself, as a process of this machine.
# shellcheck disable=SC2016,SC2030,SC2031
load helpers
load loop
load fleet

@test 'four tasks of an agent at ralph worker: each is merged once' {
	loop_workspace 4
	at_worker
	placed 0 --parallel 4
	merged US-1 US-2 US-3 US-4
	same 'done done done done' "$(verdicts)"
	same '' "$(ralph ls -q)"
}
