#!/usr/bin/env bats
# runs: user
# check-token, store-token and logout.
# shellcheck disable=SC2030,SC2031 # every test is a process of its own
load helpers
load sandbox
load ../lib/cred

setup() {
	ralph_setup
	provider_start
	TOKEN=sk-ant-oat01-$(printf 'x%.0s' {1..60})
	provider_takes "$TOKEN"
	FILE=$XDG_CONFIG_HOME/ralph/tokens/anthropic.json
}

teardown() {
	provider_stop
	ralph_teardown
}

# A stand-in for libsecret's program, as strict as it is: arguments in the form we use, the secret on
# stdin, nothing printed but what was stored. In $T/bin, in front of PATH.
secret_tool() {
	mkdir "$T/bin"
	cat >"$T/bin/secret-tool" <<-'SH'
		#!/bin/sh
		echo "$*" >>"$T/secret-tool.log"
		case "$*" in
		"store --label=ralph: anthropic application ralph service anthropic") cat >"$T/keyring" ;;
		"lookup application ralph service anthropic") test -e "$T/keyring" && cat "$T/keyring" ;;
		"clear application ralph service anthropic") rm -f "$T/keyring" ;;
		*) exit 2 ;;
		esac
	SH
	chmod +x "$T/bin/secret-tool"
	PATH=$T/bin:$PATH
}

no_secret_tool() {
	mkdir "$T/bin"
	printf '#!/bin/sh\nexit 1\n' >"$T/bin/secret-tool"
	chmod +x "$T/bin/secret-tool"
	PATH=$T/bin:$PATH
}

@test 'without a Secret Service a token is kept in a file for its owner alone' {
	no_secret_tool
	run -0 ralph store-token <<<"$TOKEN"
	has "$output" "$FILE"
	lacks "$output" "$TOKEN"
	same 600 "$(stat -c %a "$FILE")"
	same 700 "$(stat -c %a "${FILE%/*}")"
	run -0 ralph check-token
	has "$output" "$FILE"
	has "$output" '364 days left'
	lacks "$output" "$TOKEN"
}

@test 'with a Secret Service no file holds the token' {
	secret_tool
	run -0 ralph store-token <<<"$TOKEN"
	has "$output" 'Secret Service'
	same "$TOKEN" "$(cat "$T/keyring")"
	run ! grep -rF "$TOKEN" "$HOME" "$XDG_CONFIG_HOME" "$XDG_STATE_HOME" "$T/secret-tool.log"
	run -0 ralph check-token --json
	same True "$(get 'j["ok"]' <<<"$output")"
	has "$(get 'j["credentials"][0]["where"]' <<<"$output")" 'Secret Service'
	same 364 "$(get 'j["credentials"][0]["days_left"]' <<<"$output")"
}

@test 'a real Secret Service keeps the token, gives it to a sandbox and forgets it' {
	need dbus-run-session gnome-keyring-daemon secret-tool
	provider_takes "$TOKEN"
	export TOKEN ASK FILE
	# shellcheck disable=SC2016
	run -0 dbus-run-session -- bash -euc '
		printf test | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
		"$0" store-token <<<"$TOKEN"
		! grep -qF "$TOKEN" "$FILE"
		"$0" run -- sh -c "$ASK"
		"$0" check-token
		"$0" logout
		! secret-tool lookup application ralph service anthropic' "$RALPH"
	has "$output" 'stored in the Secret Service'
	has "$output" 200
	has "$output" 'in the Secret Service, by ralph store-token'
	lacks "$output" "$TOKEN"
	same "Bearer $TOKEN" "$(sent authorization)"
}

@test 'a stored token works inside, from the file and from the Secret Service' {
	provider_takes "$TOKEN"
	login sk-ant-oat01-other sk-ant-ort01-other
	no_secret_tool
	ralph store-token <<<"$TOKEN"
	same 200 "$(ralph run -- sh -c "$ASK")"
	same "Bearer $TOKEN" "$(sent authorization)"
	rm -r "${T:?}/bin"
	ralph logout
	secret_tool
	ralph store-token <<<"$TOKEN"
	same 200 "$(ralph run -- sh -c "$ASK")"
	same 4 "$(requests /v1/messages)" # with those of store-token
}

@test 'a stored API key is used as a key' {
	no_secret_tool
	provider_takes sk-ant-api03-stored-key
	ralph store-token <<<sk-ant-api03-stored-key
	same 200 "$(ralph run -- sh -c "$ASK")"
	same sk-ant-api03-stored-key "$(sent x-api-key)"
	run -0 ralph check-token
	has "$output" 'does not expire'
}

@test 'logout removes what was stored and nothing else' {
	secret_tool
	login sk-ant-oat01-real sk-ant-ort01-real
	ralph store-token <<<"$TOKEN"
	run -0 ralph logout
	[ ! -e "$T/keyring" ]
	[ ! -e "$FILE" ]
	same sk-ant-oat01-real "$(saved accessToken)"
	run -0 ralph logout
	has "$output" 'no token was stored'
}

@test 'what is no token is refused' {
	no_secret_tool
	for text in '' 'two words' $'two\nlines' ghp_0123456789 sk-ant-oat01-short 'sk-ant-oat01-0123456789"' sk-ant-ort01-0123456789; do
		run -2 ralph store-token <<<"$text"
		[ ! -e "$FILE" ]
	done
}

@test 'store-token asks the provider: a token that it refuses is not stored, nor shown' {
	no_secret_tool
	provider_takes another
	for text in "$TOKEN" "sk-ant-api03-$(printf 'y%.0s' {1..60})"; do
		run -1 ralph store-token <<<"$text"
		has "$output" 'the provider refuses it'
		lacks "$output" "$text"
		[ ! -e "$FILE" ]
	done
	provider_takes "$TOKEN"
	run -0 ralph store-token <<<"$TOKEN"
	has "$output" "checked: https://localhost:$PROV_PORT takes it"
	same "Bearer $TOKEN" "$(sent authorization)"
}

@test 'store-token without a network stores the token, and says that it is not checked' {
	no_secret_tool
	provider_stop
	run -0 ralph store-token <<<"$TOKEN"
	has "$output" 'not checked'
	[ -e "$FILE" ]
}

@test 'store-token on a terminal runs claude setup-token and takes what it gives' {
	no_secret_tool
	cat >"$T/bin/claude" <<-SH
		#!/bin/sh
		[ "\$*" = setup-token ] && [ -t 0 ] && [ -t 1 ] || exit 9
		printf 'Paste the code: '
		read -r code
		[ "\$code" = code-of-the-browser ] || exit 8
		printf '\033[2K\033[32mYour token:\033[0m\r\n\r\n\033[1m%s\033[22m\r\n' '$TOKEN'
	SH
	chmod +x "$T/bin/claude"
	run -0 python3 - "$RALPH" <<-'PY'
		import os, pty, sys
		pid, fd = pty.fork()
		if pid == 0:
		    os.execv(sys.argv[1], [sys.argv[1], "store-token"])
		seen = b""
		while True:
		    try:
		        data = os.read(fd, 4096)
		    except OSError:
		        break
		    if not data:
		        break
		    seen += data
		    if b"Paste the code" in seen and b"sent" not in globals().get("done", b""):
		        done = b"sent"
		        os.write(fd, b"code-of-the-browser\r")
		print(seen.decode())
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	PY
	has "$output" 'stored in'
	run -0 ralph check-token
	has "$output" "$FILE"
	has "$(cat "$FILE")" "$TOKEN"
}

@test 'check-token: nothing there is 8, with what to run' {
	run -8 ralph check-token
	has "$output" 'none found'
	has "$output" 'claude /login'
	run -8 ralph check-token --json
	same False "$(get 'j["ok"]' <<<"$output")"
	same missing "$(get 'j["credentials"][0]["state"]' <<<"$output")"
}

@test 'check-token: a login says how long it lasts and that it is renewed' {
	login sk-ant-oat01-real sk-ant-ort01-real "$(($(now_ms) + 3 * 86400000 + 60000))"
	run -0 ralph check-token --agent claude
	has "$output" "$HOME/.claude/.credentials.json"
	has "$output" '3 days left, renewed by ralph'
	lacks "$output" sk-ant-oat01
}

@test 'check-token: below two days it says hours; a time in the past is expired' {
	login sk-ant-oat01-real sk-ant-ort01-real "$(($(now_ms) + 30 * 3600000 + 60000))"
	run -0 ralph check-token
	has "$output" ', 30 hours left, renewed by ralph'
	login sk-ant-oat01-real sk-ant-ort01-real "$(($(now_ms) + 600000))"
	run -0 ralph check-token
	has "$output" ', less than an hour left, renewed by ralph'
	login sk-ant-oat01-real sk-ant-ort01-real "$(($(now_ms) - 600000))"
	run -0 ralph check-token
	has "$output" ', expired, renewed by ralph'
	run -0 ralph check-token --json
	same True "$(get 'j["credentials"][0]["expired"]' <<<"$output")"
	# One that nobody renews is no credential any more.
	no_secret_tool
	ralph store-token <<<"$TOKEN"
	sed -i 's/"expires_ms": *[0-9]*/"expires_ms": 1000/' "$FILE"
	run -8 ralph check-token
	has "$output" expired
}

@test 'check-token: a torn or expired login is 8, and is named' {
	login sk-ant-oat01-real '' 1000
	run -8 ralph check-token
	has "$output" "$HOME/.claude/.credentials.json"
	has "$output" 'has expired and cannot be renewed; run: claude /login'
	echo '{' >"$HOME/.claude/.credentials.json"
	run -8 ralph check-token --json
	same unusable "$(get 'j["credentials"][0]["state"]' <<<"$output")"
	mkdir -p "${FILE%/*}"
	printf '{"where"' >"$FILE"
	run -8 ralph check-token
	has "$output" "$FILE"
	has "$output" 'ralph store-token'
}

@test 'check-token: a file that others may read is used, with a warning' {
	login sk-ant-oat01-real sk-ant-ort01-real
	chmod 640 "$HOME/.claude/.credentials.json"
	run -0 ralph check-token
	has "$output" 'warning'
	has "$output" 'chmod 600'
}
