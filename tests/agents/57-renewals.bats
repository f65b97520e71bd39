#!/usr/bin/env bats
# runs: user
# Codex and Gemini CLI with logins that have expired: renewed on the host, in the files of these programs.
# shellcheck disable=SC2016,SC2154,SC2034
load ../lib/providers
load agents # its `seen`

setup() {
	agents_setup
	UP=$BED
	{
		echo "providers:"
		for p in openai gemini; do
			echo "  $p: {origin: 'https://llm.test:9543', ca_file: '$BED/ca.pem', token_url: 'https://llm.test:9544/token'}"
		done
	} >"$XDG_CONFIG_HOME/ralph/config.yaml"
	bed python3 "$NETBED/upstream-accounts.py" "$BED" 8.8.4.4 9544 >"$BED/accounts.out" 2>&1 3>&- &
	wait_until test -s "$BED/accounts.ready" || fail "$(cat "$BED/accounts.out")"
}

teardown() {
	[ ! -s "${BED:-}/accounts.ready" ] || kill "$(cut -d ' ' -f 2 "$BED/accounts.ready")"
	agents_teardown
}

@test "gemini goes on with a login that is renewed with the client of its own package" {
	REAL=$(secret ya29.)
	put "$HOME/.gemini/oauth_creds.json" <<<'{"access_token":"ya29.old","refresh_token":"refresh-of-google","expiry_date":1000,"scope":"s"}'
	renewal 200 "{\"access_token\":\"$REAL\",\"expires_in\":3600,\"token_type\":\"Bearer\"}"
	steps '[{"call": ["run_shell_command", {"command": "'"$(search)"'", "description": "wait"}]}, {"say": "It is done."}]'
	turn gemini -p 'do it'
	has "$(cat "$T/out")" "It is done."
	seen 'r.field("authorization") == ["Bearer " + real]'
	same 1 "$(renewals)"
	all "$BED/accounts.log" '"client_id=681255809395-" in r["body"] and "refresh_token=refresh-of-google" in r["body"]'
	has "$(cat "$HOME/.gemini/oauth_creds.json")" "$REAL"
}

@test "codex goes on with a ChatGPT login that is renewed, and its file is whole" {
	REAL=$(jwt "{\"exp\":$(($(date +%s) + 7200))}")
	put "$HOME/.codex/auth.json" <<<"{\"auth_mode\":\"chatgpt\",\"OPENAI_API_KEY\":null,\"tokens\":{\"id_token\":\"$(jwt '{}')\",
		\"access_token\":\"$(jwt '{"exp":1000}')\",\"refresh_token\":\"refresh-of-openai\",\"account_id\":\"account-1\"}}"
	renewal 200 "{\"access_token\":\"$REAL\",\"refresh_token\":\"fresh-of-openai\"}"
	steps '[{"call": ["exec_command", {"cmd": "'"$(search)"'", "yield_time_ms": 60000}]}, {"say": "It is done."}]'
	turn codex exec -m gpt-5.5-codex 'do it'
	has "$(cat "$T/out")" "It is done."
	seen 'r.field("authorization") == ["Bearer " + real] and r.field("chatgpt-account-id") == ["account-1"]'
	same 1 "$(renewals)"
	same 'fresh-of-openai account-1' "$(python3 -c 'import json, sys; t = json.load(open(sys.argv[1]))["tokens"]
print(t["refresh_token"], t["account_id"])' "$HOME/.codex/auth.json")"
}
