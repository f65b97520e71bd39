#!/usr/bin/env bats
# runs: user
# seconds: 25
# A real agent on gVisor's kernel: the same provider, gateway and login as on the host's.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load agents

# On the host the memory of all of its processes is a file of gVisor's: the search is the agent's own, inside.
holds_nothing() {
	same "found nothing" "$(cat "$WS/searched")"
}

@test "claude edits a file in gvisor, and the login was never inside" {
	[ -x "${RALPH_TEST_RUNSC:-}" ] || need runsc
	[ ! -O "$RALPH_TEST_RUNSC" ] || not_here "a runsc that only root can change is needed"
	export RALPH_ENGINE=gvisor RALPH_RUNSC=$RALPH_TEST_RUNSC
	login claude oauth
	steps '[{"say": "I write it.", "call": ["Write", {"file_path": "'"$WS"'/hello.txt", "content": "hello from the model\n"}]},
		{"call": ["Bash", {"command": "'"$(search)"'", "description": "wait"}]},
		{"call": ["Edit", {"file_path": "'"$WS"'/hello.txt", "old_string": "hello", "new_string": "goodbye"}]},
		{"say": "It is done."}]'
	turn claude -p 'edit the file'
	same "goodbye from the model" "$(cat "$WS/hello.txt")"
	has "$(cat "$T/out")" "It is done."
	seen 'r.field("authorization") == ["Bearer " + real] and not r.field("x-api-key")'
	only_the_provider
}
