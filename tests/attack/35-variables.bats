#!/usr/bin/env bats
# runs: user
# seconds: 10
# Variables that a user gives to a sandbox: which are refused, and where their values are not.
# shellcheck disable=SC1003,SC2016,SC2030,SC2031,SC2154 # text for shells inside; tests are subshells; bats sets stderr
load ../cli/helpers
load ../cli/sandbox
load ../lib/sbx

setup() {
	ralph_setup
	S=t-${WS##*/ws-}
}

# refused CMD…: exit code 64, and no word of the value.
refused() {
	run --separate-stderr "$@"
	same 64 "$status"
	lacks "$stderr$output" 0123456789abcdefghij
}

@test 'exec -e refuses what run refuses: names, keys, patterns of the start and of today' {
	local key

	key=$(printf 'sk-%s-%s' ant 0123456789abcdefghij)
	RALPH_ENV_REFUSE='ACME_*' ralph run -d -n "$S"
	refused ralph exec -e GITHUB_TOKEN=x "$S" true
	has "$stderr" GITHUB_TOKEN
	refused ralph exec -e "X=$key" "$S" true
	refused ralph exec -e ACME_URL=1 "$S" true
	refused env SANDBOX_REFUSE_PATTERNS=VENDOR "$RALPH" exec -e VENDOR_URL=1 "$S" true
	refused ralph exec -i -eGITHUB_TOKEN=x "$S" true
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	echo 'env: {refuse: [OTHER]}' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	refused ralph exec --env OTHER=1 "$S" true
	same fine "$(ralph exec -e MINE=fine "$S" sh -c 'echo "$MINE"')"
	# A text that is no variable may be a value.
	run --separate-stderr ralph exec -e "$key" "$S" true
	same 2 "$status"
	lacks "$stderr" 0123456789abcdefghij
	run --separate-stderr ralph run -e "$key" -- true
	same 2 "$status"
	lacks "$stderr" 0123456789abcdefghij
}

@test 'SANDBOX_REFUSE_PATTERNS refuses as globs and as a regular expression; one that is none is exit 2' {
	for patterns in 'MYCORP|VENDOR' '^(MYCORP|VENDOR)_' 'OTHER,MYCORP|VENDOR' 'VENDOR_[A-Z]{1,3}' 'x,*VENDOR*' 'VEND.R' 'V*'; do
		refused env SANDBOX_REFUSE_PATTERNS="$patterns" "$RALPH" run -e VENDOR_URL=1 -- true
		must_exit 0 env SANDBOX_REFUSE_PATTERNS="$patterns" "$RALPH" --dry-run run -e MINE=1 -- true
	done
	for patterns in '(MYCORP' 'MYCORP|VENDOR)(' 'A\' 'a|[b'; do
		must_exit 2 env SANDBOX_REFUSE_PATTERNS="$patterns" "$RALPH" run -e MINE=1 -- true
	done
	same "" "$(ralph ls --quiet)"
}

@test 'no command prints a value that was passed, and no file of ralph has one' {
	export PLAIN=quiet-value-a OTHER=quiet-value-b
	RALPH_DOCKER_ENV=PLAIN ralph run -d -n "$S" --pass OTHER -e THIRD=quiet-value-c
	ralph net allow --sandbox "$S" example.com || ralph net allow example.com
	ralph exec -e FOURTH=quiet-value-d "$S" true
	same "quiet-value-a quiet-value-b quiet-value-c" "$(ralph exec "$S" sh -c 'echo $PLAIN $OTHER $THIRD')"
	{
		ralph inspect "$S"
		ralph inspect --json "$S"
		ralph status "$S" || :
		ralph ls --json
		ralph events "$S"
		RALPH_DOCKER_ENV=PLAIN ralph audit --pass OTHER -e THIRD=quiet-value-c
		RALPH_DOCKER_ENV=PLAIN ralph audit --json --pass OTHER -e THIRD=quiet-value-c
		RALPH_DOCKER_ENV=PLAIN ralph --dry-run run --pass OTHER -e THIRD=quiet-value-c -- true
	} >"$T/out" 2>&1
	has "$(cat "$T/out")" PLAIN
	lacks "$(cat "$T/out")" quiet-value
	same "" "$(grep -rl quiet-value "$XDG_STATE_HOME" "$XDG_RUNTIME_DIR" 2>/dev/null || :)"
	ralph stop "$S"
	same "" "$(grep -rl quiet-value "$XDG_STATE_HOME" 2>/dev/null || :)"
	has "$(ralph inspect --json "$S")" '"***"'
}

@test 'the plan of sbx names the variables that were passed, without their values' {
	fake_sbx sbx
	export PLAIN=quiet-value-a OTHER=quiet-value-b
	RALPH_DOCKER_ENV=PLAIN ralph --engine sbx --dry-run run --pass OTHER -e HTTPS_PROXY=http://quiet-value-c -e DOCKER_HOST=quiet-value-d -- true >"$T/out" 2>&1
	has "$(cat "$T/out")" "-e PLAIN "
	has "$(cat "$T/out")" "-e OTHER "
	lacks "$(cat "$T/out")" quiet-value
}

@test 'a sandbox that is started again has the values of that start' {
	first() {
		RALPH_DOCKER_ENV=PLAIN PLAIN=$1 ralph run -n "$S" -- sh -c 'echo "$PLAIN"'
	}
	same one "$(first one)"
	same two "$(first two)"
	same unset "$(ralph run -n "$S" -- sh -c 'echo "${PLAIN-unset}"')"
}
