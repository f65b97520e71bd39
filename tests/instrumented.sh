#!/bin/bash
# The unit tests and the fuzz corpora in one build with ASan, UBSan and gcov. The last line is `N passed, N failed`.
#   tests/instrumented.sh              what the sanitizers find
#   tests/instrumented.sh --coverage   and which lines of src/ ran: a table of directories, the files of tests/coverage.txt that
#                                      must have most of theirs, and, but for CI, pages to click through in build-san/html
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
[ -n "${RALPH_TESTS_IN_MEMORY:-}" ] || exec tests/lib/in-memory.sh tests/instrumented.sh "$@"
# shellcheck source=tests/lib/unit.sh
. tests/lib/unit.sh

dir=build-san
results=$(mktemp -d /tmp/ralph-results.XXXXXX) || exit 1
trap 'rm -rf "$results"' EXIT

coverage() {
	local pages=()

	mkdir -p $dir/html
	[ -n "${CI:-}" ] || pages=(--html-details "$dir/html/index.html")
	gcovr --root . --filter src/ --gcov-ignore-parse-errors --exclude-throw-branches -j "$(nproc)" \
		--json $dir/coverage.json "${pages[@]}" $dir >$dir/gcovr.log 2>&1 || {
		tail -n 20 $dir/gcovr.log
		return 1
	}
	python3 tests/lib/coverage.py $dir/coverage.json tests/coverage.txt
}

# -Og: the tests of -O0 take long under ASan, -O1 takes the compiler half as long again, and -O2 leaves gcov fewer lines to
# count. Without CI: sanitizers let the compiler warn of what is nothing, and the build of the tests has found the rest.
CI='' CC="${CC:-gcc}" scripts/build.sh $dir -Doptimization=g -Db_sanitize=address,undefined -Db_lundef=false -Db_coverage=true || exit 1
find $dir -name '*.gcda' -delete
export ASAN_OPTIONS=abort_on_error=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
unit_tests $dir "$results/unit.counts"
if [ "${1:-}" = --coverage ]; then
	coverage >"$results/coverage.counts" || echo "0 1 0 coverage: gcovr failed" >"$results/coverage.counts"
fi
python3 tests/lib/total.py "$results"
