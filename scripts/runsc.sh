#!/bin/bash
# Unpacks gVisor's runsc for the tests of `--engine gvisor` into a directory that every user can read: Debian's
# package of the release that first has one which is new enough, and nothing is installed in the system. One that is there is
# left as it is.
#   scripts/runsc.sh           fetch and unpack what is missing; print the program
#   scripts/runsc.sh --path    only print it
#   scripts/runsc.sh --remove  remove the directory
# RALPH_RUNSC_DIR is another place for it, to be kept from one run to the next.
#
# The mirror is the machine's own: its list of packages, with the name of the release replaced.
set -euo pipefail

SUITE=trixie # Debian 13; the package of Debian 12 has no --pass-fd
dir=${RALPH_RUNSC_DIR:-/var/tmp/ralph-runsc-$(id -u)}

# /var/tmp is everyone's: a directory that somebody else has put there is not used.
check_owner() {
	[ ! -e "$dir" ] && [ ! -L "$dir" ] && return
	[ ! -L "$dir" ] && [ -d "$dir" ] && [ -O "$dir" ] && return
	echo "runsc: $dir is not a directory of ours; remove it" >&2
	exit 1
}

# sources RELEASE: the stanzas and lines of the machine's lists that have this release, for $SUITE.
sources() {
	{ cat /etc/apt/sources.list.d/*.sources 2>/dev/null || true; } | awk -v RS= -v have="$1" -v want="$SUITE" '
		{
			found = 0; keep = ""
			n = split($0, line, "\n")
			for (i = 1; i <= n; i++) {
				if (line[i] ~ /^Suites:/ && (" " substr(line[i], 8) " ") ~ (" " have " ")) found = 1
				if (line[i] ~ /^(URIs|Signed-By):/ || (line[i] ~ /^ / && keep ~ /\n?Signed-By:[^\n]*\n( [^\n]*\n)*$/))
					keep = keep line[i] "\n"
			}
			if (found) printf "Types: deb\n%sSuites: %s\nComponents: main\n\n", keep, want
		}' >"$2.sources"
	{ cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null || true; } |
		sed -nE "s/^deb( +\[[^]]*\])? +([^ ]+) +$1 .*/deb\1 \2 $SUITE main/p" >"$2.list"
}

fetch() {
	local release work parts

	release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	work=$(mktemp -d)
	# shellcheck disable=SC2064 # the directory of now
	trap "rm -rf '$work'" EXIT
	parts=$work/sources.list.d
	mkdir -p "$parts" "$work/lists/partial" "$work/cache/archives/partial"
	sources "$release" "$parts/ralph"
	[ -s "$parts/ralph.sources" ] || [ -s "$parts/ralph.list" ] || {
		echo "runsc: no list of packages here names '$release'" >&2
		exit 1
	}
	local apt=(apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$parts"
		-o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o Acquire::Languages=none
		-o APT::Sandbox::User= -o Acquire::Retries=3)
	if ! { "${apt[@]}" update && cd "$work" && "${apt[@]}" download runsc; } >"$work/log" 2>&1; then
		cat "$work/log" >&2
		exit 1
	fi
	rm -rf "$dir"
	umask 022
	mkdir -p "$dir"
	dpkg-deb --fsys-tarfile "$work"/runsc_*.deb | tar -x -C "$dir" --strip-components=3 ./usr/bin/runsc
}

case ${1:-} in
--path)
	echo "$dir/runsc"
	exit
	;;
--remove)
	check_owner
	rm -rf "$dir"
	exit
	;;
esac

check_owner
[ -x "$dir/runsc" ] || fetch
echo "$dir/runsc"
