#!/bin/bash
# scripts/build.sh DIR [MESON OPTION…]: configures DIR when it is new or its options changed, builds it, or of it only the
# target that TARGET names.
# Warnings are errors in CI alone: a user's compiler may know others.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$1
shift
if [ -n "${CI:-}" ]; then
	set -- "$@" -Dwerror=true
else
	set -- "$@" -Dwerror=false
fi
stamp=$dir/.options
asked="${CC:-} $*"

# What meson found is of interest when it did not find something.
configure() {
	local log

	log=$(meson setup "$@") || {
		printf '%s\n' "$log" >&2
		exit 1
	}
}

if [ ! -f "$dir/build.ninja" ]; then
	configure "$dir" "$@"
elif [ "$(cat "$stamp" 2>/dev/null)" != "$asked" ]; then
	configure --reconfigure "$dir" "$@"
fi
printf '%s\n' "$asked" >"$stamp"
log=$dir/.build.log
ninja -C "$dir" -j "$(nproc)" --quiet ${TARGET:+"$TARGET"} >"$log" 2>&1 || {
	cat "$log" >&2
	exit 1
}
grep -A 4 'warning:' "$log" >&2 || true
