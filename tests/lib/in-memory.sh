#!/bin/bash
# tests/lib/in-memory.sh COMMAND…: runs it with a /tmp of its own that lies in memory. The tests make and remove tens of
# thousands of small files, which takes a disk's file system a good part of the time of them all. Where this is not root,
# or memory is short, the command runs as it is. A checkout below /tmp stays where it is.
set -euo pipefail
least_kib=$((8 * 1024 * 1024))

if [ "${1:-}" = --inside ]; then
	kept=
	shift
	if [[ $PWD/ == /tmp/* ]]; then
		kept=/mnt
		mount --bind "$PWD" "$kept"
	fi
	mount -t tmpfs -o mode=1777 tmpfs /tmp
	if [ -n "$kept" ]; then
		mkdir -p "$PWD"
		mount --move "$kept" "$PWD"
		cd "$PWD"
	fi
	exec "$@"
fi

export RALPH_TESTS_IN_MEMORY=0
if [ "$(id -u)" -eq 0 ] && [ "$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)" -ge "$least_kib" ] && unshare --mount true; then
	RALPH_TESTS_IN_MEMORY=1
	exec unshare --mount --propagation private "$0" --inside "$@"
fi
exec "$@"
