#!/bin/bash
# soak/build.sh: builds ralph with a wall clock that can be moved (clock.c) in build-soak, and installs it in build-soak/root.
# The small musl programs, `ralph` itself and the guest, have the machine's clock: neither asks what time it is.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$PWD/build-soak
mkdir -p "$dir.d"
head -c 8 /dev/zero >"$dir.d/clock"
gcc -O2 -Wall -fPIC -DCLOCK_FILE="\"$dir.d/clock\"" -c soak/clock.c -o "$dir.d/clock.o"
# A new clock.o is no reason for ninja to link again.
[ ! -d "$dir" ] || find "$dir/src" -maxdepth 2 -type f -executable -delete
scripts/build.sh build-soak --prefix=/usr/local -Dtests=false \
	"-Dc_link_args=$dir.d/clock.o -Wl,--wrap=clock_gettime -Wl,--wrap=time -Wl,--wrap=gettimeofday"
rm -rf "$dir.d/root"
umask 022
meson install -C build-soak --no-rebuild --quiet --destdir "$dir.d/root"
echo "$dir.d/root/usr/local"
