#!/bin/bash
# run-bats.sh HALF RESULTS FILE: one bats file, at most ten minutes, its TAP into RESULTS. Prints what
# failed and one line of counts.
set -uo pipefail

half=$1
out=$2
file=$3
name=$(basename "$(dirname "$file")")/$(basename "$file" .bats)
tap=$out/$half.${name//\//.}.tap
limit=600

cd "$(dirname "$file")" || exit 0
timeout -k 10 $limit bats --formatter tap --timing "$file" >"$tap" 2>&1 </dev/null
code=$?
# A file that did not come to its end says so in its own results.
[ $code -lt 124 ] || echo "not ok 0 $name ended with $code (124: more than $limit s)" >>"$tap"
python3 "$(dirname "$0")/count-tap.py" "$half $name" "$code" "$tap" >"${tap%.tap}.counts"
# One write, so that two files at once do not mix their lines; a failing file is not an error of xargs.
text=$(awk '/^not ok/ { show = 1; print; next } /^ok/ { show = 0 } show && /^#/' "$tap"
	awk -v what="$half $name" '{ printf "%-44s %3d passed, %d failed, %d skipped\n", what, $1, $2, $3 }' \
		"${tap%.tap}.counts")
printf '%s\n' "$text"
exit 0
