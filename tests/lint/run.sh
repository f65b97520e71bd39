#!/bin/bash
# Checks that read the source and run nothing of it: the quick ones, or with --deep those that take minutes. Each prints
# what it found; the last line is `N passed, N failed`, one per check.
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

# clang-tidy reads gcc's command lines: what only gcc knows, and what only clang minds, is no finding. A file that clang
# does not compile is one. The guest is not in the list of those lines, as musl-gcc builds it: hence the -I and -D.
run_tidy() {
	find src -name '*.c' -print0 | xargs -0 -P "$(nproc)" -n 4 clang-tidy --quiet -p $dir "$@" \
		--extra-arg=-I"$PWD/src" --extra-arg=-I"$PWD/$dir/src/guest" \
		--extra-arg=-D_GNU_SOURCE --extra-arg=-Wno-error --extra-arg=-Wno-unknown-warning-option \
		--extra-arg=-Wno-format-nonliteral --extra-arg=-Wno-unused-parameter --extra-arg=-Wno-missing-field-initializers 2>&1 |
		grep -vE '^[0-9]+ warnings? generated\.$|^$' >&2
	return "${PIPESTATUS[1]}"
}

# unix.Malloc and valist.Uninitialized are off: LLVM 14 does not see the cleanup attribute and invents leaks, and takes a
# va_list parameter for an uninitialised one. Off too are the checks of values that come back through pointers: functions here
# return 0 or -errno, which it cannot see across files, so it follows a path with r > 0 on which nothing was written. gcc and
# the sanitizers find the real ones.
clang_analyzer() {
	local off

	printf -v off ',-clang-analyzer-%s' unix.Malloc valist.Uninitialized core.CallAndMessage core.DivideZero \
		core.NonNullParamChecker core.NullDereference core.UndefinedBinaryOperatorResult 'core.uninitialized.*' \
		security.insecureAPI.DeprecatedOrUnsafeBufferHandling
	run_tidy --checks="-*,clang-analyzer-*$off"
}

# clang compiles and links everything, tests included. Its warnings are clang-tidy's business.
clang_build() {
	CI='' CC=clang scripts/build.sh build-clang
}

check_cpp() {
	cppcheck --quiet --std=c11 --inline-suppr --error-exitcode=1 -j "$(nproc)" -D_GNU_SOURCE -Isrc \
		--enable=warning,portability --suppress=missingInclude --suppress=unknownMacro \
		--suppress=normalCheckLevelMaxBranches --suppressions-list=tests/lint/cppcheck.txt src
}

# gcc's own analyzer, which sees what happens along a path through several functions; see tests/lint/analyze.txt. Two minutes of
# processor time the first time; then only for what has changed.
analyzer() {
	python3 tests/lint/analyze.py $dir
}

docs() {
	python3 tests/lint/docs.py && python3 scripts/diagrams.py --check
}

# The compilation database, and what ralph's own build warns of, taken as errors. In CI that is the build of the tests.
dir=build-lint
[ -z "${CI:-}" ] || dir=build
build() {
	CI=true scripts/build.sh $dir --prefix=/usr/local
}

shallow() {
	check format format
	check source python3 tests/lint/source.py
	check links python3 tests/lint/links.py
	check layers tests/layers.sh
	check benchmarks bench/render --check
	check docs docs
	check shell shell
	check build build
	check installed python3 tests/lint/installed.py $dir
	check programs python3 tests/lint/programs.py $dir
	check clang-tidy run_tidy
	check cppcheck check_cpp
	check analyzer analyzer
}

deep() {
	check build build
	check clang-build clang_build
	check clang-analyzer clang_analyzer
}

if [ "${1:-}" = --deep ]; then
	deep
else
	shallow
fi

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
