#!/bin/bash
# Builds ralph and installs it in a directory of this checkout that every user can read, for the
# demo, the tests and the benchmarks: a checkout in a private home is out of an unprivileged test
# user's reach, and nothing has to be installed in the system.
#   scripts/stage.sh            build and install
#   scripts/stage.sh --path     print where: it holds bin/ralph and libexec/ralph
#   scripts/stage.sh --remove   remove it
set -euo pipefail
cd "$(dirname "$0")/.."

uid=$(id -u)
sum=$(pwd -P | cksum)
stage=/var/tmp/ralph-$uid-${sum%% *}

# /var/tmp is everyone's: a directory that somebody else has put there is not used.
check_owner() {
	[ ! -e "$stage" ] && [ ! -L "$stage" ] && return
	[ ! -L "$stage" ] && [ -d "$stage" ] && [ -O "$stage" ] && return
	echo "stage: $stage is not a directory of ours; remove it" >&2
	exit 1
}

case ${1:-} in
--path)
	echo "$stage/usr/local"
	;;
--remove)
	check_owner
	rm -rf "$stage"
	;;
*)
	scripts/build.sh build --prefix=/usr/local
	check_owner
	rm -rf "$stage"
	umask 022
	mkdir "$stage"
	meson install -C build --no-rebuild --quiet --destdir "$stage"
	;;
esac
