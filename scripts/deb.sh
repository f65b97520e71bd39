#!/bin/bash
# scripts/deb.sh: builds the Debian package of this checkout, as it is now, and checks it with lintian. Prints
# where it is. The sources lie in build-deb, always at the same place, so that a compiler cache helps.
set -euo pipefail
cd "$(dirname "$0")/.."

out=$PWD/build-deb
src=$out/ralph
log=$out/log
rm -rf "$src" "$out"/*.deb
mkdir -p "$src"
# What is in the index and was removed is not there to be copied.
comm -z -23 <(git ls-files -z --cached --others --exclude-standard | sort -z) <(git ls-files -z --deleted | sort -z) |
	tar --null --files-from=- --create | tar --extract --directory="$src"
(cd "$src" && DEB_BUILD_OPTIONS="parallel=$(nproc) nocheck" dpkg-buildpackage --build=binary --no-sign) >"$log" 2>&1 || {
	tail -n 40 "$log" >&2
	exit 1
}
package=$(find "$out" -maxdepth 1 -name 'ralph_*.deb')
# shellcheck disable=SC2046 # root has to say that it is meant
lintian --fail-on error,warning,info --display-info --tag-display-limit 0 $([ "$(id -u)" -ne 0 ] || echo --allow-root) "$out"/ralph_*.changes >&2
echo "$package"
