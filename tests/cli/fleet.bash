# A loop whose workers run at a placement: `load fleet` after `load loop`.
# shellcheck shell=bash

# at_place HOW [KEY…]: the placement `here`, whose worker is the scripted one of tests/lib and behaves so; KEY are further
# lines of fleet.
at_place() {
	local how=$1
	shift

	mkdir -p "$XDG_CONFIG_HOME/ralph" "$T/told"
	{
		echo 'fleet:'
		printf '  %s\n' "$@"
		echo '  places:'
		printf '    here: {command: ["%s", "%s"], reap: [touch, "%s/reaped-{name}"]}\n' \
			"$(realpath "$BATS_TEST_DIRNAME/../lib/fleet-worker.py")" "$how:$T/told" "$T/told"
	} >"$XDG_CONFIG_HOME/ralph/config.yaml"
}

# placed CODE [OPTION…]: `ralph build` there ends with that code.
placed() {
	local code=$1
	shift

	loop_exits "$code" build --place here --net none "$@" -- ./agent.py honest
}

# merged ID…: each of these was merged exactly once, and nothing is left of the workers.
merged() {
	local id log

	log=$(git log --format=%s)
	for id in "$@"; do
		same 1 "$(grep -cx "$id: $id" <<<"$log")" || return
		same true "$(passes "$id")" || return
	done
	same '' "$(git for-each-ref --format='%(refname)' refs/ralph 'refs/heads/ralph/demo-*')" || return
	same '' "$(ls .ralph/state/spool 2>/dev/null || true)" || return
	same '{}' "$(state 'j["workers"]')" || return
	same '' "$(git status --porcelain -- . ':(exclude).ralph')" || return
}

# at_worker [KEY…]: the placement `here`, which is `ralph worker` itself.
at_worker() {
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	{
		echo 'fleet:'
		printf '  %s\n' "$@"
		printf '  pass: [RALPH_LIBEXEC, XDG_RUNTIME_DIR]\n'
		printf '  places:\n    here: {command: ["%s", worker]}\n' "$RALPH"
	} >"$XDG_CONFIG_HOME/ralph/config.yaml"
}
