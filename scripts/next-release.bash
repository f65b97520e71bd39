# Packages of Debian's next release for tests that need a newer program than the machine's release has: nothing is installed
# in the system. For scripts that unpack them: `dir` is theirs, and `tool` the name that messages begin with.
#
# The mirror is the machine's own: its list of packages, with the name of the release replaced.
# shellcheck shell=bash disable=SC2154 # dir and tool are the caller's

SUITE=trixie # Debian 13

# /var/tmp is everyone's: a directory that somebody else has put there is not used.
check_owner() {
	[ ! -e "$dir" ] && [ ! -L "$dir" ] && return
	[ ! -L "$dir" ] && [ -d "$dir" ] && [ -O "$dir" ] && return
	echo "$tool: $dir is not a directory of ours; remove it" >&2
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

# download WORK PACKAGE…: the packages' files, in the directory WORK.
download() {
	local release work=$1 parts=$1/sources.list.d

	shift
	release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	mkdir -p "$parts" "$work/lists/partial" "$work/cache/archives/partial"
	sources "$release" "$parts/ralph"
	[ -s "$parts/ralph.sources" ] || [ -s "$parts/ralph.list" ] || {
		echo "$tool: no list of packages here names '$release'" >&2
		return 1
	}
	local apt=(apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$parts"
		-o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o Acquire::Languages=none
		-o APT::Sandbox::User= -o Acquire::Retries=3)
	if ! { "${apt[@]}" update && cd "$work" && "${apt[@]}" download "$@"; } >"$work/log" 2>&1; then
		cat "$work/log" >&2
		return 1
	fi
}

# fetch_into FUNCTION PACKAGE…: downloads, makes dir anew, and calls FUNCTION WORK, which unpacks into it.
fetch_into() (
	work=$(mktemp -d)
	unpack=$1

	shift
	trap 'rm -rf "$work"' EXIT
	download "$work" "$@" || exit 1
	rm -rf "$dir"
	umask 022
	mkdir -p "$dir"
	"$unpack" "$work"
)

# with_program PROGRAM FUNCTION PACKAGE… -- OPTION: what all these scripts do, for PROGRAM of dir.
with_program() {
	local program=$dir/$1 unpack=$2 packages=()

	shift 2
	while [ "$1" != -- ]; do
		packages+=("$1")
		shift
	done
	case ${2:-} in
	--path)
		echo "$program"
		return
		;;
	--remove)
		check_owner
		rm -rf "$dir"
		return
		;;
	esac
	check_owner
	[ -x "$program" ] || fetch_into "$unpack" "${packages[@]}"
	echo "$program"
}
