#!/bin/bash
# Which lines of src/ the unit tests and the fuzz corpora run: a table of directories, the files of tests/coverage.txt that
# must have most of theirs, and pages to click through in build-cov/html. The last line is `N passed, N failed`.
# What runs locked up (the gateway, confined readers) cannot write down what it ran, so those that only run whole programs
# are left out.
set -euo pipefail
cd "$(dirname "$0")/.."

CC=gcc scripts/build.sh build-cov --buildtype=debug -Db_coverage=true
find build-cov -name '*.gcda' -delete
mapfile -t tests < <(meson test -C build-cov --list 2>/dev/null | awk '{ print $NF }' |
	grep -vxE 'gateway-(credential|http|live|load)|guest-(run|walls)|transcript-confine')
log=build-cov/tests.log
meson test -C build-cov --no-rebuild --num-processes "$(nproc)" --timeout-multiplier 5 "${tests[@]}" >"$log" 2>&1 || {
	grep -E 'FAIL|TIMEOUT|ERROR' "$log"
	echo "coverage: a test failed: $log"
	echo "0 passed, 1 failed"
	exit 1
}
mkdir -p build-cov/html
gcovr --root . --filter src/ --gcov-ignore-parse-errors --exclude-throw-branches -j "$(nproc)" \
	--json build-cov/coverage.json --html-details build-cov/html/index.html build-cov >build-cov/gcovr.log 2>&1 || {
	tail -n 20 build-cov/gcovr.log
	exit 1
}
python3 tests/lib/coverage.py build-cov/coverage.json tests/coverage.txt
