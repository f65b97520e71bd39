#!/bin/bash
# scripts/build.sh DIR [MESON OPTION…]: configures DIR when it is new or its options changed, builds it.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$1
shift
stamp=$dir/.options
asked="${CC:-} $*"

if [ ! -f "$dir/build.ninja" ]; then
	meson setup "$dir" "$@"
elif [ "$(cat "$stamp" 2>/dev/null)" != "$asked" ]; then
	meson setup --reconfigure "$dir" "$@"
fi
printf '%s\n' "$asked" >"$stamp"
ninja -C "$dir" -j "$(nproc)" | { grep -v -e '^ninja: ' -e '^\[[0-9]*/[0-9]*\] [A-Z]' || true; }
