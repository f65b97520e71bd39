# shellcheck shell=bash

# unit_tests BUILD COUNTS: the unit tests and fuzz corpora of that build directory, and a line of counts for each.
unit_tests() {
	rm -f "$1/meson-logs/testlog.json"
	meson test -C "$1" --no-rebuild --print-errorlogs --num-processes "$(nproc)" |
		grep -E '^ *[0-9]+/[0-9]+ |^[^:]*$' | grep -v '^$'
	python3 tests/lib/count-meson.py "$1/meson-logs/testlog.json" >"$2"
}
