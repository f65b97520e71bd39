#!/bin/bash
# Every benchmark of this directory, one after the other; exits 1 when one of them missed a bar.
set -uo pipefail
cd "$(dirname "$0")" || exit 1

missed=0
for bench in *; do
	if [ ! -x "$bench" ] || [ ! -f "$bench" ] || [ "$bench" = run.sh ]; then
		continue
	fi
	printf '== bench/%s\n' "$bench"
	"./$bench" || missed=$((missed + 1))
done
[ $missed -eq 0 ]
