#!/bin/bash
# Runs the tests and counts them; the last line is `N passed, N failed`.
#   tests/run.sh              unit tests and fuzz corpora, then tests/cli, tests/attack and tests/agents
#                             with the staged ralph: as this user and, for root, as an unprivileged one too;
#                             then tests/engines, once for each engine
#   tests/run.sh --sanitize   unit tests and fuzz corpora alone, built with ASan and UBSan
#   tests/run.sh FILE.bats…   these files alone, as this user; those of tests/engines with the engine that
#                             RALPH_TEST_ENGINE names
# RALPH_TEST_REQUIRE: tools (or `all`) whose absence is a failure and not a skip.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/lib/halves.sh
. tests/lib/halves.sh

export RALPH_TEST_REQUIRE=${RALPH_TEST_REQUIRE:-}
[ -z "${CI:-}" ] || RALPH_TEST_REQUIRE=all
RALPH_AGENTS=$(scripts/agents.sh --path)
export RALPH_TEST_CACHE=${RALPH_TEST_CACHE:-$PWD/build/engines}
results=$(mktemp -d /tmp/ralph-results.XXXXXX) || exit 1
trap 'rm -rf "$results"' EXIT
# The unprivileged half writes here as well.
chmod 1777 "$results"

meson_tests() {
	local dir=$1

	rm -f "$dir/meson-logs/testlog.json"
	meson test -C "$dir" --no-rebuild --print-errorlogs --num-processes "$(nproc)" |
		grep -E '^ *[0-9]+/[0-9]+ |^[^:]*$' | grep -v '^$'
	python3 tests/lib/count-meson.py "$dir/meson-logs/testlog.json" >"$results/$dir.counts"
}

case ${1:-} in
--sanitize)
	scripts/build.sh build-san -Db_sanitize=address,undefined -Db_lundef=false || exit 1
	export ASAN_OPTIONS=abort_on_error=1:detect_stack_use_after_return=1
	export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
	meson_tests build-san
	;;
'')
	meson_tests build
	RALPH_AGENTS=$(scripts/agents.sh) || exit 1
	all_halves "$results" tests/cli/*.bats tests/attack/*.bats tests/agents/*.bats tests/upgrade/*.bats
	all_engines "$results" tests/engines/*.bats
	;;
*)
	one_half here "$results" "$@"
	;;
esac

python3 tests/lib/total.py "$results"
