#!/bin/bash
# All checks that read the source and run nothing of it. Each prints what it found; the last line is
# `N passed, N failed`, one per check.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

passed=0
failed=0
check() {
	local name=$1 start=$SECONDS
	shift

	if "$@"; then
		passed=$((passed + 1))
		printf 'lint: %-14s ok      %3d s\n' "$name" $((SECONDS - start))
	else
		failed=$((failed + 1))
		printf 'lint: %-14s FAILED  %3d s\n' "$name" $((SECONDS - start))
	fi
}

format() {
	git ls-files -z '*.c' '*.h' | xargs -0 clang-format --dry-run --Werror
}

shell() {
	{
		git ls-files '*.sh' '*.bash' '*.bats'
		git ls-files bench demo scripts .ci | xargs grep -lE '^#!.*\b(ba)?sh' --
	} | sort -u | xargs shellcheck -x -P SCRIPTDIR
}

tidy() {
	# clang-tidy reads gcc's command lines: what only gcc knows, and what only clang minds, is no finding.
	# The guest is not in the list of those lines, as musl-gcc builds it: hence the -I and -D.
	find src -name '*.c' -print0 | xargs -0 -P "$(nproc)" -n 4 clang-tidy --quiet -p build-lint \
		--extra-arg=-I"$PWD/src" --extra-arg=-I"$PWD/build-lint/src/guest" \
		--extra-arg=-D_GNU_SOURCE --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-format-nonliteral 2>&1 |
		grep -vE '^[0-9]+ warnings? generated\.$|^$' >&2
	return "${PIPESTATUS[1]}"
}

check_cpp() {
	cppcheck --quiet --std=c11 --inline-suppr --error-exitcode=1 -j "$(nproc)" -D_GNU_SOURCE -Isrc \
		--enable=warning,portability --suppress=missingInclude --suppress=unknownMacro \
		--suppress=normalCheckLevelMaxBranches --suppressions-list=tests/lint/cppcheck.txt src
}

# gcc's own analyzer, which sees what happens along a path through several functions; see tests/lint/analyze.txt. Two minutes of
# processor time the first time; then only for what has changed.
analyzer() {
	python3 tests/lint/analyze.py build-lint
}

docs() {
	python3 tests/lint/docs.py && python3 scripts/diagrams.py --check
}

# The compilation database, and what ralph's own build warns of, taken as errors.
build() {
	scripts/build.sh build-lint --werror
}

check format format
check source python3 tests/lint/source.py
check layers tests/layers.sh
check benchmarks bench/render --check
check docs docs
check shell shell
check build build
check installed python3 tests/lint/installed.py build-lint
check programs python3 tests/lint/programs.py build-lint
check clang-tidy tidy
check cppcheck check_cpp
check analyzer analyzer

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
