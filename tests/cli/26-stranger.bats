#!/usr/bin/env bats
# runs: user
# seconds: 30
# A project that comes from a stranger: one line, once, names an engine with a kernel of its own.
# shellcheck disable=SC2030,SC2031,SC2154 # tests are subshells; bats sets status and stderr
load helpers
load sandbox

setup() {
	ralph_setup
	need python3 git
	export TERM=xterm
	git config --global user.name me
	git config --global user.email me@example.org
	git init -q -b main "$T/origin"
	commit_as somebody@example.net
	rm -rf "$WS/project"
	clone
}

# commit_as ADDRESS: one more commit of the project's author.
commit_as() {
	git -C "$T/origin" -c user.name=x -c "user.email=$1" commit -q --allow-empty -m x
}

clone() {
	git clone -q "$T/origin" "$WS/project"
}

# started ARG…: a first start on a terminal, in the project; $T/out has what came.
started() {
	python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" 'expect:Proceed' 'send:y\n' -- "$RALPH" "$@" || fail "$(cat "$T/out")"
}

hinted() {
	tr -d '\r' <"$T/out" | grep -q "none of its latest commits is yours"
}

teardown() {
	rm -rf "$WS/project"
	ralph_teardown
}

@test 'a cloned project without a commit of the user: one line names what to type, once' {
	started run -C "$WS/project" -t -- true
	hinted
	# What it names works here, or says what is missing.
	grep -qE "'(--engine (gvisor|vm)|ralph engine (ls|setup vm))'" "$T/out"
	started run -C "$WS/project" --net none -t -- true
	must_fail hinted
}

@test 'a project with a commit of the user, of either kind, is no stranger' {
	commit_as ME@example.org
	commit_as somebody@example.net
	git -C "$WS/project" pull -q
	started run -C "$WS/project" -t -- true
	must_fail hinted
}

@test 'an address that the project itself gives to the user counts for nothing' {
	git -C "$WS/project" config user.email somebody@example.net
	started run -C "$WS/project" -t -- true
	hinted
}

@test 'a repository that was not cloned is not spoken of' {
	rm -rf "$WS/project"
	git init -q "$WS/project"
	git -C "$WS/project" -c user.email=somebody@example.net -c user.name=x commit -q --allow-empty -m x
	started run -C "$WS/project" -t -- true
	must_fail hinted
}

@test 'a project whose settings were trusted is not spoken of' {
	mkdir "$WS/project/.ralph"
	printf 'network: {tier: inet}\n' >"$WS/project/.ralph/config.yaml"
	(cd "$WS/project" && ralph trust --yes 2>/dev/null)
	started run -C "$WS/project" -t -- true
	must_fail hinted
}

@test 'a user who has chosen an engine is not told of others' {
	started --engine native run -C "$WS/project" -t -- true
	must_fail hinted
}

@test 'unattended, with --yes or without a terminal, nothing is said and nothing is marked' {
	run --separate-stderr "$RALPH" run -C "$WS/project" -- true
	same 0 "$status"
	lacks "$stderr" "latest commits"
	python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" -- "$RALPH" --yes run -C "$WS/project" -t -- true
	must_fail hinted
	ralph rm --all --force
	started run -C "$WS/project" -t -- true
	hinted
}
