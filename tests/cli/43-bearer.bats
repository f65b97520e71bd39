#!/usr/bin/env bats
# runs: user
# seconds: 12
# Tokens for hosts that are no providers of models: rules put them on requests.
# shellcheck disable=SC2016
load helpers
load sandbox
load ../lib/netbed

setup() {
	export BED_NAMES=DNS:github.com,DNS:api.github.com
	netbed_setup
	zone '{"allowed.test": {"A": ["8.8.4.1"]}, "other.test": {"A": ["8.8.4.2"]},
	       "github.com": {"A": ["8.8.4.3"]}, "api.github.com": {"A": ["8.8.4.3"]}}'
}

teardown() {
	netbed_teardown
}

# settings 'YAML'
settings() {
	printf '%s\n' "$1" >"$XDG_CONFIG_HOME/ralph/config.yaml"
}

# What the servers were given: host, method, path, Authorization.
given() {
	cat "$BED/auth.log"
}

# The host's real gh is logged in.
gh_login() {
	need gh
	mkdir -p "$XDG_CONFIG_HOME/gh"
	printf 'github.com:\n    oauth_token: %s\n    user: tester\n    git_protocol: https\n' "$1" >"$XDG_CONFIG_HOME/gh/hosts.yml"
	chmod 600 "$XDG_CONFIG_HOME/gh/hosts.yml"
	{
		echo "Bearer $1"
		echo "Basic $(printf 'x-access-token:%s' "$1" | base64 -w 0)"
	} >"$BED/takes"
}

basic() {
	printf 'Basic %s' "$(printf 'x-access-token:%s' "$1" | base64 -w 0)"
}

@test "GitHub: gh inside works with the host's login, and has none" {
	gh_login gho_real-token-of-the-host
	settings '{network: {rules: [{host: api.github.com, credential: github}]}}'
	run -0 box gh api user
	has "$output" 'GET /user'
	same 'api.github.com GET /user Bearer gho_real-token-of-the-host' "$(given)"
	run -0 box env
	has "$output" GH_TOKEN=ghp_
	lacks "$output" gho_real-token-of-the-host
}

@test "GitHub: git clones and pushes over https with the host's login" {
	gh_login gho_real-token-of-the-host
	mkdir -p "$BED/git/me"
	git clone -q --bare "$WS" "$BED/git/me/one.git"
	git -C "$BED/git/me/one.git" config http.receivepack true
	settings '{network: {rules: [{host: github.com, git: [fetch, push me/one], credential: github}]}}'
	box git clone -q https://github.com/me/one.git got
	box sh -c 'cd got && git -c user.name=t -c user.email=t@example.invalid commit -q --allow-empty -m pushed && git push -q'
	same pushed "$(git -C "$BED/git/me/one.git" log -1 --format=%s)"
	lacks "$(given | grep -v "$(basic gho_real-token-of-the-host)\$" || :)" github.com
	must_fail box grep -rF gho_real-token-of-the-host got
}

@test "GitHub: another host never sees the host's login, nor does plain http" {
	gh_login gho_real-token-of-the-host
	rm "$BED/takes"
	settings '{network: {allow: [other.test, "github.com:80"], rules: [{host: api.github.com, credential: github}]}}'
	box curl -sS -o /dev/null https://api.github.com/redirect
	box curl -sSL -o /dev/null https://api.github.com/redirect
	box curl -sS -o /dev/null https://other.test/
	box curl -sS -o /dev/null http://github.com/ || :
	box curl -sS -o /dev/null https://other.test/ -H 'Host: api.github.com' || :
	lacks "$(given | grep -v '^api.github.com ')" gho_real
	has "$(given)" 'Bearer gho_real-token-of-the-host'
}

@test 'GitHub and npm: no request that makes or lists tokens, keys, hooks or secrets is made' {
	gh_login gho_real-token-of-the-host
	printf '//allowed.test/:_authToken=npm_real\n' >"$HOME/.npmrc"
	chmod 600 "$HOME/.npmrc"
	settings '{network: {rules: [{host: api.github.com, credential: github}, {host: allowed.test, credential: npm}]}}'
	same 200 "$(box curl -sS -o /dev/null -w '%{http_code}' https://api.github.com/repos/o/r/contents/.github/x)"
	for path in /user/keys /User/Keys /user/%6Beys //user/keys /x/../user/keys /x/%2e%2e/user/keys /repos/o/r/keys \
		/repos/o/r/hooks /repos/o/r/actions/secrets/X /orgs/o/hooks /applications/x/token /authorizations; do
		same 403 "$(box curl -sS --path-as-is -o /dev/null -w '%{http_code}' -X POST -d '{}' "https://api.github.com$path")"
	done
	same 403 "$(box curl -sS -o /dev/null -w '%{http_code}' -X POST -d '{}' https://allowed.test/-/npm/v1/tokens)"
	same 1 "$(given | wc -l)"
}

@test 'a login that gh does not have says what to run' {
	need gh
	settings '{network: {rules: [{host: api.github.com, credential: github}]}}'
	run -125 bed "$RALPH" run -- true
	has "$output" 'gh auth login'
}

@test 'npm: the token of the registry goes to that registry' {
	printf '//allowed.test/:_authToken=npm_real\n//elsewhere.test/:_authToken=npm_other\n' >"$HOME/.npmrc"
	chmod 600 "$HOME/.npmrc"
	settings '{network: {allow: [other.test], rules: [{host: allowed.test, credential: npm}]}}'
	box curl -sS -o /dev/null -H 'Authorization: Bearer npm_evil' https://allowed.test/left-pad
	box curl -sS -o /dev/null https://other.test/left-pad
	same $'allowed.test GET /left-pad Bearer npm_real\nother.test GET /left-pad -' "$(given)"
}

@test 'a token comes from a command, a file or a variable of the host' {
	export CORP_TOKEN=token-of-a-variable
	echo token-of-a-file >"$HOME/token"
	chmod 600 "$HOME/token"
	settings '{credentials: [{name: a, source: "env:CORP_TOKEN"}, {name: b, source: "file:~/token"},
		{name: c, source: "command:echo token-of-a-command"}],
		network: {rules: [{host: allowed.test, credential: a}, {host: other.test, credential: b}, {host: github.com, credential: c}]}}'
	for host in allowed.test other.test github.com; do
		box curl -sS -o /dev/null "https://$host/x"
	done
	same 'allowed.test GET /x Bearer token-of-a-variable
other.test GET /x Bearer token-of-a-file
github.com GET /x Bearer token-of-a-command' "$(given)"
	echo token-replaced >"$HOME/token"
	box curl -sS -o /dev/null https://other.test/y
	has "$(given)" 'other.test GET /y Bearer token-replaced'
	run -0 box env
	lacks "$output" token-of
}

@test 'a source that gives nothing is an error before anything starts' {
	settings '{credentials: [{name: a, source: "env:NOT_SET"}], network: {rules: [{host: allowed.test, credential: a}]}}'
	run -125 bed "$RALPH" run -- true
	has "$output" "the credential 'a': NOT_SET is not set"
	settings '{credentials: [{name: a, source: "file:~/nowhere"}], network: {rules: [{host: allowed.test, credential: a}]}}'
	run -125 bed "$RALPH" run -- true
	has "$output" 'nowhere'
	echo token >"$HOME/open"
	chmod 644 "$HOME/open"
	settings '{credentials: [{name: a, source: "file:~/open"}], network: {rules: [{host: allowed.test, credential: a}]}}'
	run -0 bed "$RALPH" run -- true
	has "$output" 'chmod 600'
}

@test 'a command that fails while the sandbox lives refuses the request and says so' {
	settings '{credentials: [{name: a, source: "command:exit 3"}], network: {rules: [{host: allowed.test, credential: a}]}}'
	run -0 box curl -sS https://allowed.test/x
	has "$output" 'exits with 3'
	[ ! -e "$BED/auth.log" ]
}
