#!/bin/bash
# scripts/fuzz.sh SECONDS: every fuzz target for that long, as many at once as there are cores. An
# input that breaks a target is kept under build-fuzz/found; put it in fuzz/corpus with the fix.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "fuzz: not a number of seconds: $seconds" >&2; exit 2; }
CC=clang scripts/build.sh build-fuzz -Dfuzzers=true -Db_lundef=false
mkdir -p build-fuzz/found

mapfile -t targets < <(find build-fuzz/fuzz -maxdepth 1 -type f -executable -name 'fuzz-*' 2>/dev/null | sort)
if [ ${#targets[@]} -eq 0 ]; then
	echo "fuzz: there is no fuzz target"
	exit 0
fi

one() {
	local exe=$1 name work

	name=$(basename "$exe")
	work=build-fuzz/work/${name#fuzz-}
	mkdir -p "$work"
	if "$exe" -max_total_time="$2" -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
		-artifact_prefix="build-fuzz/found/$name-" "$work" "fuzz/corpus/${name#fuzz-}" \
		>"$work.log" 2>&1; then
		printf '%-28s ok      %s runs\n' "$name" \
			"$(awk '/number_of_executed_units/ { print $2 }' "$work.log")"
	else
		printf '%-28s BROKEN  %s.log\n' "$name" "$work"
		return 1
	fi
}
export -f one
mkdir -p build-fuzz/work
printf '%s\0' "${targets[@]}" | xargs -0 -P "$(nproc)" -I{} bash -c "one {} $seconds"
