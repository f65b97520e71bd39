#!/bin/bash
# Runs the tests and counts them; the last line is `N passed, N failed`.
#   tests/run.sh              unit tests and fuzz corpora, then every shell test with the staged ralph, as the kinds of
#                             user that its file names: see tests/lib/jobs.sh
#   tests/run.sh FILE.bats…   these files alone, as this user; those of tests/engines with the engine that
#                             RALPH_TEST_ENGINE names
#   tests/run.sh --as KIND [FILE.bats…]
#                             what runs as that kind alone: root, user, runtime, root:docker…
# RALPH_TEST_REQUIRE: tools (or `all`) whose absence is a failure and not a skip.
# RALPH_TEST_SEED: a number, for other random points in the tests that kill a loop.
# RALPH_TEST_ROUNDS: how many random points the tests that kill a loop or a worker elsewhere try.
# RALPH_TEST_KEEP: a directory to be made, and not below /tmp, for what bats says of each file.
# RALPH_TESTS_IN_MEMORY=0: the tests use the machine's own /tmp; see tests/lib/in-memory.sh.
set -uo pipefail
shopt -s nullglob
cd "$(dirname "$0")/.." || exit 1
[ -n "${RALPH_TESTS_IN_MEMORY:-}" ] || exec tests/lib/in-memory.sh tests/run.sh "$@"
# shellcheck source=tests/lib/jobs.sh
. tests/lib/jobs.sh
# shellcheck source=tests/lib/unit.sh
. tests/lib/unit.sh

export RALPH_TEST_REQUIRE=${RALPH_TEST_REQUIRE:-}
[ -z "${CI:-}" ] || RALPH_TEST_REQUIRE=all
RALPH=$(scripts/stage.sh --path)/bin/ralph
RALPH_AGENTS=$(scripts/agents.sh --path)
RALPH_TEST_RUNSC=$(scripts/runsc.sh --path)
RALPH_TEST_APPARMOR=$(scripts/apparmor.sh --path)
# The tests run from a copy: an unprivileged user cannot read a checkout in a private home.
WORK=$(mktemp -d /tmp/ralph-tests.XXXXXX) || exit 1
export RALPH RALPH_AGENTS RALPH_TEST_RUNSC RALPH_TEST_APPARMOR WORK
trap 'rm -rf "$WORK"' EXIT
mkdir "$WORK/results" "$WORK/cache"
cp -r tests man demo docs "$WORK/"
cp build/tests/attack/{guest-weak,inject,taken-over.so} "$WORK/tests/attack/"
cp build/tests/unit/{loop-dies,worker-dies} "$WORK/tests/cli/"
cp build/tests/unit/migrate-dies "$WORK/tests/upgrade/"
python3 -m compileall -q "$WORK"/tests/lib/fake_sbx_*.py
chmod -R a+rX "$WORK"

as=
if [ "${1:-}" = --as ]; then
	as=${2:?tests/run.sh --as KIND}
	shift 2
fi
if [ $# -gt 0 ] && [ -z "$as" ]; then
	printf 'here %s\n' "$@" | run_jobs
else
	if [ -z "$as" ]; then
		scripts/agents.sh >/dev/null &
		unit_tests build "$WORK/results/unit.counts"
		wait $! || exit 1
		if [ "$(id -u)" -ne 0 ]; then
			echo "tests: not root, so nothing ran as root"
			[ -z "${CI:-}" ] || echo "0 1 0 root: needs root" >"$WORK/results/root.counts"
		fi
	fi
	[ $# -gt 0 ] || set -- tests/{cli,attack,agents,engines,upgrade,web,fleet}/*.bats
	list=$(jobs "$@") || exit 1
	grep -E "^${as:-[^ ]+}[/ ]" <<<"$list" | run_jobs
fi

[ -z "${RALPH_TEST_KEEP:-}" ] || cp -r "$WORK/results" "$RALPH_TEST_KEEP"
python3 tests/lib/total.py "$WORK/results"
