#!/bin/bash
# scripts/fuzz.sh SECONDS [NAME…]: every fuzz target, or those that are named, for that long, under ASan and UBSan, as many
# at once as there are cores (FUZZ_JOBS: as many as this). An input that breaks a target is kept under build-fuzz/found; put it
# in fuzz/corpus with the fix.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "fuzz: not a number of seconds: $seconds" >&2; exit 2; }
shift || true
TARGET=fuzzers CC=clang scripts/build.sh build-fuzz -Dfuzzers=true -Db_lundef=false -Db_sanitize=address,undefined
mkdir -p build-fuzz/found

mapfile -t targets < <(find build-fuzz/fuzz -maxdepth 1 -type f -executable -name 'fuzz-*' 2>/dev/null | sort)
if [ $# -gt 0 ]; then
	targets=()
	for name; do
		[ -x "build-fuzz/fuzz/fuzz-$name" ] || { echo "fuzz: no such target: $name" >&2; exit 2; }
		targets+=("build-fuzz/fuzz/fuzz-$name")
	done
fi
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
# A finding of UBSan is as good as a crash.
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
mkdir -p build-fuzz/work
printf '%s\0' "${targets[@]}" | xargs -0 -P "${FUZZ_JOBS:-$(nproc)}" -I{} bash -c "one {} $seconds"
