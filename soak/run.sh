#!/bin/bash
# soak/run.sh MINUTES: everything at once for so long; see soak.py. In namespaces of its own (processes, mounts, network), so
# that what is left behind cannot be another's, and nothing of the machine is touched. SEED=n takes the same choices once more;
# when things happen is up to the machine. Root, or any user who may make user namespaces.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

minutes=${1:-10}
[[ $minutes =~ ^[1-9][0-9]*$ ]] || { echo "soak: not a number of minutes: $minutes" >&2; exit 2; }
[[ ${SEED:-1} =~ ^[0-9]+$ ]] || { echo "soak: SEED is not a number: $SEED" >&2; exit 2; }
seed=${SEED:-$((SRANDOM % 1000000))}
# One at a time in a checkout: they have one clock.
mkdir -p "$here/../build-soak.d"
exec 9>"$here/../build-soak.d/lock"
flock -n 9 || { echo "soak: another one runs in this checkout" >&2; exit 1; }
stage=$("$here/build.sh" 9>&-)
dir=$(mktemp -d /tmp/ralph-soak.XXXXXX)
own=()
[ "$(id -u)" -eq 0 ] || own=(--user --map-root-user)

code=0
# The shell in there is the one that reaps what lost its parent.
# shellcheck disable=SC2016
env -i PATH="$PATH" LANG=C.UTF-8 unshare "${own[@]}" --mount --net --pid --fork --kill-child --mount-proc \
	bash -c 'python3 "$@"; exit $?' soak "$here/soak.py" --minutes "$minutes" --seed "$seed" --dir "$dir" \
	--stage "$stage" --clock "$here/../build-soak.d/clock" 9>&- || code=$?
if [ $code -eq 0 ]; then
	rm -rf "$dir"
else
	echo "soak: kept for you: $dir"
	echo "soak: once more: make soak M=$minutes SEED=$seed"
fi
exit $code
