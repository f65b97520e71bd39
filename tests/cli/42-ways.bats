#!/usr/bin/env bats
# runs: user
# Ways to a credential that are not the default: the login itself is inside, because the user asked for it.
# shellcheck disable=SC2030,SC2031 # every test is a process of its own
load helpers
load sandbox
load ../lib/cred

setup() {
	ralph_setup
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	export RALPH_AGENT=claude
	login sk-ant-oat01-real sk-ant-ort01-real
	FILE=$HOME/.claude/.credentials.json
}

way() {
	echo "credentials: [{name: anthropic, way: $1}]" >"$XDG_CONFIG_HOME/ralph/config.yaml"
}

@test 'mount: the file of the host is inside, and what is written there stays on the host' {
	way mount
	run -0 ralph run -- cat "$FILE"
	has "$output" sk-ant-oat01-real
	# Only this file of the directory.
	echo secret >"$HOME/.claude/history.jsonl"
	must_fail ralph run -- cat "$HOME/.claude/history.jsonl"
	ralph run -- sh -c "echo '{\"changed\":1}' >'$FILE'"
	same '{"changed":1}' "$(cat "$FILE")"
}

@test 'mount: the user is told, and the audit says so' {
	way mount
	run -0 ralph run -- true
	has "$output" 'has the login of'
	run -0 ralph --dry-run run -- true
	has "$output" "$FILE"
}

@test 'mount and pipe: the audit shows when the login expires' {
	way mount
	ralph audit -- true | grep -E 'mounted: the real file is inside; expires in [0-9]+ '
	way pipe
	ralph audit -- true | grep -E 'piped: the real one is inside while a command runs; expires in [0-9]+ '
}

@test 'mount: no login on the host is no error' {
	way mount
	rm "$FILE"
	run -0 ralph run -- sh -c "[ ! -s '$FILE' ]"
}

@test 'mount: the file is there whatever key the environment has' {
	way mount
	export ANTHROPIC_API_KEY=key-of-the-host
	run -0 ralph run -- cat "$FILE"
	has "$output" sk-ant-oat01-real
}

@test 'pipe: a copy is where the agent looks, and the host has its own' {
	way pipe
	run -0 ralph run -- sh -c "cat '$FILE'; ls -A /tmp"
	has "$output" sk-ant-oat01-real
	lacks "$output" ralph-pipe
	same 600 "$(ralph run -- stat -c %a "$FILE")"
	# The host's own file is out of reach.
	ralph run -- sh -c "echo mine >'$FILE'"
	same sk-ant-oat01-real "$(saved accessToken)"
}

@test 'pipe: a login that is gone from the host is an error that says so, and the sandbox goes on' {
	way pipe
	ralph run -d -- true
	box=$(sandbox)
	rm "$FILE"
	run -125 ralph exec "$box" true
	has "$output" 'is gone; log in on the host'
	login sk-ant-oat01-again sk-ant-ort01-again
	has "$(ralph exec "$box" cat "$FILE")" sk-ant-oat01-again
}

@test 'pipe: what is copied in or out goes past the login' {
	way pipe
	ralph run -d -- true
	box=$(sandbox)
	run ! ralph cp "$box:$FILE" "$T/out"
	has "$output" 'in the memory of the sandbox'
	echo x >"$T/in"
	run ! ralph cp "$T/in" "$box:$FILE"
}

@test 'pipe: no argument, variable or record of ralph has the token' {
	way pipe
	ralph run -d -- true
	box=$(sandbox)
	lacks "$(ralph exec "$box" sh -c 'cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr "\0" "\n"')" sk-ant-oat01
	run ! grep -rF sk-ant-oat01 "$XDG_STATE_HOME/ralph/sandboxes/$box"/*.json*
}

@test 'pipe: a sandbox that lives gets the login that the host has now' {
	way pipe
	ralph run -d -- true
	login sk-ant-oat01-newer sk-ant-ort01-newer
	run -0 ralph run -- cat "$FILE"
	has "$output" sk-ant-oat01-newer
}

@test 'env: an engine without it says so, and nothing starts' {
	way env
	run -2 ralph run -- true
	has "$output" 'engine native'
	same '' "$(ralph ls -q)"
}

@test 'a credential without a login file can only be a phantom' {
	echo 'credentials: [{name: github, way: mount}]' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	run -2 ralph run -- true
	has "$output" 'its way is phantom'
}
