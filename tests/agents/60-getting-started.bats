#!/usr/bin/env bats
# runs: user
# seconds: 15
# docs/getting-started.md, from top to bottom, with the real Claude Code and a provider that is a script. The commands are the page's own.
# shellcheck disable=SC2154
load agents
load ../lib/pages

setup() {
	newcomer_setup
}

@test 'the getting-started page does what it says, from top to bottom' {
	newcomer_model
	page_holds getting-started.md
	# Claude Code had no key, and the provider got the host's.
	seen 'r.field("x-api-key") == [sys.argv[2]] or r.field("authorization") == ["Bearer " + sys.argv[2]]'
	left_nothing
}

@test 'a page whose text is not what happens fails' {
	sed 's/^hello$/another directory/' "$PAGES/getting-started.md" >"$T/getting-started.md"
	! page "$T/getting-started.md" || fail "it passed"
	has "$(cat "$T/page")" 'the page says'
}
