#!/bin/bash
# Unpacks gVisor's runsc for the tests of `--engine gvisor` into a directory that every user can read: Debian's
# package of the release that first has one which is new enough, and nothing is installed in the system. One that is there is
# left as it is.
#   scripts/runsc.sh           fetch and unpack what is missing; print the program
#   scripts/runsc.sh --path    only print it
#   scripts/runsc.sh --remove  remove the directory
# RALPH_RUNSC_DIR is another place for it, to be kept from one run to the next.
set -euo pipefail
# shellcheck source=scripts/next-release.bash
. "$(dirname "$0")/next-release.bash"

tool=runsc
dir=${RALPH_RUNSC_DIR:-/var/tmp/ralph-runsc-$(id -u)}

# The package of Debian 12 has no --pass-fd.
unpack() {
	dpkg-deb --fsys-tarfile "$1"/runsc_*.deb | tar -x -C "$dir" --strip-components=3 ./usr/bin/runsc
}

with_program runsc unpack runsc -- "$@"
