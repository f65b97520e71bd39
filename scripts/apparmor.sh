#!/bin/bash
# Unpacks AppArmor's parser, which the test of data/apparmor/ralph reads it with, into a directory that every user can read:
# Debian's package of the release that first knows the rule `userns`, with its libraries; nothing is installed in the system.
#   scripts/apparmor.sh           fetch and unpack what is missing; print a program that is called like apparmor_parser
#   scripts/apparmor.sh --path    only print it
#   scripts/apparmor.sh --remove  remove the directory
# RALPH_APPARMOR_DIR is another place for it, to be kept from one run to the next.
set -euo pipefail
# shellcheck source=scripts/next-release.bash
. "$(dirname "$0")/next-release.bash"

tool=apparmor
dir=${RALPH_APPARMOR_DIR:-/var/tmp/ralph-apparmor-$(id -u)}

# With that release's C library, which the parser is linked with.
unpack() {
	local deb

	for deb in "$1"/*.deb; do
		dpkg-deb -x "$deb" "$dir"
	done
	cat >"$dir/parser" <<'END'
#!/bin/bash
root=$(dirname "$(readlink -f "$0")")
lib=("$root"/usr/lib/*-linux-gnu*)
exec "${lib[0]}"/ld-linux-*.so.* --library-path "${lib[0]}" "$root/usr/sbin/apparmor_parser" --config-file /dev/null -I "$root/etc/apparmor.d" "$@"
END
	chmod 755 "$dir/parser"
}

with_program parser unpack apparmor libc6 libgcc-s1 libstdc++6 -- "$@"
