#!/usr/bin/env bats
# runs: user
# The host's logins work inside, and are not there.
# shellcheck disable=SC2030,SC2031 # every test is a process of its own
load helpers
load sandbox
load ../lib/cred

setup() {
	ralph_setup
	provider_start
}

teardown() {
	provider_stop
	ralph_teardown
}

# ask: one request of a client inside; prints its status.
ask() {
	ralph run -- sh -c "$ASK"
}

# bats test_tags=root
@test 'a key of the environment works inside, and the sandbox has another one' {
	provider_takes key-of-the-host
	export ANTHROPIC_API_KEY=key-of-the-host
	same 200 "$(ask)"
	same key-of-the-host "$(sent x-api-key)"
	# shellcheck disable=SC2016
	run -0 ralph run -- sh -c 'echo "$ANTHROPIC_API_KEY"'
	has "$output" sk-ant-api03-
	lacks "$output" key-of-the-host
}

@test 'each start of a sandbox has a phantom of its own' {
	export ANTHROPIC_API_KEY=key-of-the-host
	# shellcheck disable=SC2016
	one=$(ralph run -- sh -c 'echo "$ANTHROPIC_API_KEY"')
	# shellcheck disable=SC2016
	two=$(ralph run -- sh -c 'echo "$ANTHROPIC_API_KEY"')
	has "$one" sk-ant-api03-
	[ "$one" != "$two" ] || fail "both are $one"
}

@test 'commands of one live sandbox share its phantom' {
	export ANTHROPIC_API_KEY=key-of-the-host
	ralph run -d -- true
	# shellcheck disable=SC2016
	one=$(ralph exec "$(sandbox)" sh -c 'echo "$ANTHROPIC_API_KEY"')
	# shellcheck disable=SC2016
	two=$(ralph run -- sh -c 'echo "$ANTHROPIC_API_KEY"')
	has "$one" sk-ant-api03-
	same "$one" "$two"
}

@test 'the login of Claude Code works inside as a bearer token' {
	provider_takes sk-ant-oat01-real
	login sk-ant-oat01-real sk-ant-ort01-real
	same 200 "$(ask)"
	same 'Bearer sk-ant-oat01-real' "$(sent authorization)"
	same '' "$(sent x-api-key)"
	has "$(sent anthropic-beta)" oauth-2025-04-20
	same sk-ant-oat01-real "$(saved accessToken)"
	same 0 "$(requests /oauth/token)"
}

@test 'CLAUDE_CODE_OAUTH_TOKEN of the host works inside' {
	provider_takes sk-ant-oat01-env
	export CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-env
	login sk-ant-oat01-other sk-ant-ort01-other
	same 200 "$(ask)"
	same 'Bearer sk-ant-oat01-env' "$(sent authorization)"
}

@test 'apiKeyHelper of the Claude settings gives the key, on the host' {
	provider_takes key-of-a-helper
	mkdir -p "$HOME/.claude"
	# shellcheck disable=SC2016
	echo '{"apiKeyHelper": "echo key-of-a-helper; id -u >\"$HOME/ran\""}' >"$HOME/.claude/settings.json"
	same 200 "$(ask)"
	same key-of-a-helper "$(sent x-api-key)"
	[ -e "$HOME/ran" ]
}

@test 'a project cannot say where a credential goes, nor name one' {
	mkdir .ralph
	echo 'providers: {anthropic: {origin: "https://evil.example"}}' >.ralph/config.yaml
	run -2 ralph run -- true
	has "$output" 'providers.anthropic'
	echo 'credentials: [{name: anthropic, way: mount}]' >.ralph/config.yaml
	run -2 ralph run -- true
	has "$output" 'credentials'
}

@test 'a login that is about to expire is renewed on the host, once, and saved' {
	provider_refresh sk-ant-ort01-real sk-ant-oat01-real
	login sk-ant-oat01-real sk-ant-ort01-real "$(($(now_ms) + 60000))"
	same 200 "$(ask)"
	same 'Bearer sk-ant-oat01-fresh-2' "$(sent authorization)"
	same 1 "$(requests /oauth/token)"
	same sk-ant-oat01-fresh-2 "$(saved accessToken)"
	same sk-ant-ort01-fresh-2 "$(saved refreshToken)"
	[ "$(saved expiresAt)" -gt "$(($(now_ms) + 20000000))" ]
	# What was not ours to change is as it was.
	has "$(cat "$HOME/.claude/.credentials.json")" '"mcpOAuth"'
	same max "$(saved subscriptionType)"
	same 600 "$(stat -c %a "$HOME/.claude/.credentials.json")"
	[ ! -e "$HOME/.claude/.oauth_refresh.lock" ]
	[ ! -e "$HOME/.claude/.storage-write.lock" ]
	[ ! -e "$HOME/.claude.lock" ]
}

@test 'a token that the provider refuses is renewed and the request is sent again' {
	provider_refresh sk-ant-ort01-real sk-ant-oat01-newer
	login sk-ant-oat01-revoked sk-ant-ort01-real
	same 200 "$(ask)"
	same 1 "$(requests /oauth/token)"
	same 2 "$(requests /v1/messages)"
}

@test 'an expired login whose renewal fails for now is tried as it is' {
	provider_refresh sk-ant-ort01-real sk-ant-oat01-old
	login sk-ant-oat01-old sk-ant-ort01-real 1000
	echo error >"$PROV/mode"
	same 200 "$(ask)"
	same 'Bearer sk-ant-oat01-old' "$(sent authorization)"
	same sk-ant-ort01-real "$(saved refreshToken)"
}

@test 'invalid_grant leaves the file as it is, and says what to run' {
	provider_refresh sk-ant-ort01-other sk-ant-oat01-none
	login sk-ant-oat01-old sk-ant-ort01-dead 1000
	before=$(cat "$HOME/.claude/.credentials.json")

	run -0 ralph run -- sh -c "OUT=/tmp/out; $ASK; cat /tmp/out"
	lacks "$output" 200
	has "$output" 'claude /login'
	same "$before" "$(cat "$HOME/.claude/.credentials.json")"
	same 1 "$(requests /oauth/token)"
	same 0 "$(requests /v1/messages)"
}

@test 'after invalid_grant check-token does not say ok, until there is another login' {
	provider_refresh sk-ant-ort01-other sk-ant-oat01-none
	login sk-ant-oat01-old sk-ant-ort01-dead 1000
	ralph check-token
	ralph run -- sh -c "$ASK" >/dev/null
	run -8 ralph check-token
	has "$output" 'anthropic: not usable'
	has "$output" 'has ended (invalid_grant); run: claude /login'
	same unusable "$(ralph check-token --json | get 'j["credentials"][0]["state"]' || :)"
	login sk-ant-oat01-new sk-ant-ort01-other
	run -0 ralph check-token
	has "$output" 'anthropic: ok'
}

@test 'torn, ended and expired logins are an error that says what to run' {
	file=$HOME/.claude/.credentials.json
	mkdir -p "$HOME/.claude"
	for text in '{"claudeAiOauth":{"accessToken":"sk-ant-oat01-to' '[1]' '{"claudeAiOauth":7}' \
		'{"claudeAiOauth":{"accessToken":"","refreshToken":"","expiresAt":0}}' \
		'{"claudeAiOauth":{"accessToken":"a\nb"}}' \
		'{"claudeAiOauth":{"accessToken":"sk-ant-oat01-x","expiresAt":1000}}'; do
		printf '%s' "$text" >"$file"
		chmod 600 "$file"
		run -125 ralph run -- true
		has "$output" "$file"
		has "$output" 'claude /login'
		lacks "$output" sk-ant-oat01
	done
	same 0 "$(requests)"
}

@test 'a login that may not be read is an error that says so' {
	only_user
	login sk-ant-oat01-real sk-ant-ort01-real
	chmod 000 "$HOME/.claude/.credentials.json"
	run -125 ralph run -- true
	has "$output" "$HOME/.claude/.credentials.json"
	has "$output" 'chmod 600'
}

@test 'a login that others may read is used, with a warning' {
	provider_takes sk-ant-oat01-real
	login sk-ant-oat01-real sk-ant-ort01-real
	chmod 644 "$HOME/.claude/.credentials.json"
	run -0 ralph run -- sh -c "$ASK"
	has "$output" 'has mode 0644'
	has "$output" 'chmod 600'
	has "$output" 200
}

@test 'no login at all is no error' {
	# shellcheck disable=SC2016
	run -0 ralph run -- sh -c 'echo "<${ANTHROPIC_API_KEY:-}${CLAUDE_CODE_OAUTH_TOKEN:-}>"'
	has "$output" '<>'
}

@test 'credentials off: the sandbox has none' {
	config 'credentials: [{name: anthropic, way: "off"}]'
	export ANTHROPIC_API_KEY=key-of-the-host
	# shellcheck disable=SC2016
	run -0 ralph run -- sh -c 'echo "<${ANTHROPIC_API_KEY:-}>"'
	has "$output" '<>'
}

@test 'a credential replaced on the host is the one the next request has' {
	provider_takes sk-ant-oat01-one sk-ant-oat01-two
	login sk-ant-oat01-one sk-ant-ort01-real "$(($(now_ms) + 310000))"
	ralph run -d -- true
	box=$(sandbox)
	same 200 "$(ralph exec "$box" sh -c "$ASK")"
	login sk-ant-oat01-two sk-ant-ort01-real
	same 200 "$(ralph exec "$box" sh -c "$ASK")"
	same 'Bearer sk-ant-oat01-two' "$(sent authorization)"
}
