#!/bin/bash
# Who may use whom (the table of the design), read from the #include lines of src/. A folder inside a room has a row of
# its own where less may enter it than the room; without one it is part of the room. Also: a .c includes its own header
# first, a room builds no file of another and says in one place what it is for, no file name stands in two rooms, and no
# folder holds more than 45 files. Prints every breach; exits 1 on any.
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A may=(
	[base]="" [confine]="base"
	[policy]="base"
	[wire]="base policy" [config]="base policy"
	[hook]="base policy"
	[ask]="base"
	[spec]="base config policy"
	[cred]="base config" [agent]="base config"
	[transcript]="base agent"
	[cred/hold]="base confine wire policy config cred"
	[http]="base"
	[flow]="base confine wire http policy"
	[edge/parse]="base http"
	[edge]="base confine wire http policy flow edge/parse"
	[gateway/parse]="base http"
	[gateway]="base confine wire http policy flow gateway/parse"
	[reader/parse]="base http"
	[reader]="base confine wire http policy flow reader/parse"
	[guest]="base wire"
	[git]="base policy"
	[ca]="base wire" [ports]="base wire"
	[probe]="base wire" [vm]="base wire"
	[engine]="base wire config spec agent"
	[record]="base spec engine"
	[events]="base wire"
	[netrules]="base wire policy spec record"
	[image]="base config record"
	[workspace]="base policy spec record"
	[compose]="base wire policy spec agent config cred engine hook record netrules image workspace"
	[live]="base wire spec agent config cred engine record events netrules workspace compose"
	[check]="base wire spec agent config cred engine record netrules compose live"
	[supervisor]="base confine wire spec engine record events netrules workspace compose live"
	[work]="base config spec record workspace"
	[repo]="base git workspace"
	[view]="base agent record events live"
	[web]="base confine wire http flow policy agent record events workspace live view"
	[loop]="base wire config spec agent transcript hook record events workspace compose live check work repo view"
	[worker]="base wire spec agent engine git view"
	[cli/frame]="base"
	[cli]="base wire policy config spec agent engine hook record events netrules image workspace compose live check view web cli/frame"
)
breaches=0

breach() {
	echo "layers: $*"
	breaches=$((breaches + 1))
}

# room_of PATH below src/: the longest row of the table that it lies under.
room_of() {
	local dir=${1%/*}

	while [ -z "${may[$dir]+known}" ] && [[ $dir == */* ]]; do
		dir=${dir%/*}
	done
	room=$dir
}

# allowed ROOM OTHER: a room may use what has a row of its own inside it.
allowed() {
	[ "$1" = "$2" ] || [[ " ${may[$1]} " == *" $2 "* ]]
}

# made ROOM FILE: it comes from the room's own build file.
made() {
	grep -qsF "'$2'" "src/$1/meson.build" "src/${1%%/*}/meson.build"
}

check_include() {
	local file=$1 layer=$2 line=$3 target=$4

	case $target in
	build-config.h) return ;;
	*..*) breach "$file:$line: \"$target\" climbs; write it from src/" ;;
	*/*)
		room_of "$target"
		if [ ! -e "src/$target" ] && ! made "${target%/*}" "${target##*/}"; then
			breach "$file:$line: \"$target\" is not in src/"
		elif ! allowed "$layer" "$room"; then
			breach "$file:$line: $layer may not use $room (\"$target\")"
		fi
		;;
	*)
		[ -e "${file%/*}/$target" ] || made "$layer" "$target" ||
			breach "$file:$line: \"$target\" is not beside it"
		;;
	esac
}

# One pass over all #include lines; nothing is started for any of them.
check_includes() {
	local file line text before="" own
	local quoted='"([^"]*)"'

	while IFS=: read -r file line text; do
		own=${file%.c}.h
		if [ "$file" != "$before" ] && [[ $file == *.c ]] && [ -e "$own" ]; then
			[[ $text == *"\"${own#src/}\""* || $text == *"\"${own##*/}\""* ]] ||
				breach "$file: its own header is not the first include"
		fi
		before=$file
		[[ $text =~ $quoted ]] || continue
		room_of "${file#src/}"
		check_include "$file" "$room" "$line" "${BASH_REMATCH[1]}"
	done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include' src --include='*.[ch]')
}

# A static program has its own libc, so it compiles the files of the rooms it may use once more; anywhere
# else a foreign source file is a breach.
check_build() {
	local file=$1 layer=$2 other

	while read -r other; do
		room_of "$other"
		[[ $room/ != "$layer"/* ]] || continue
		grep -q musl_gcc "$file" && allowed "$layer" "$room" && continue
		breach "$file: lists a file of $room"
	done < <(sed 's/#.*//' "$file" | grep -oE "\.\./[a-z/]+/[a-z0-9-]+\.[ch]" | sed 's,^\(\.\./\)*,,' | sort -u)
}

for dir in src/*/; do
	layer=$(basename "$dir")
	if [ -z "${may[$layer]+known}" ]; then
		breach "$dir: no such room in the table"
		continue
	fi
	while read -r file; do
		check_build "$file" "$layer"
	done < <(find "$dir" -name meson.build)
done
check_includes
for dir in "${!may[@]}"; do
	[ -d "src/$dir" ] || breach "src/$dir: in the table, and not there"
	[ "$(grep -lxsF " * ROOM: $dir" "src/$dir"/*.[ch] | wc -l)" -eq 1 ] ||
		breach "src/$dir: one file of it, and only one, says \"ROOM: $dir\" and what may not enter"
done
while read -r name; do
	breach "$name: this file name stands in two rooms"
done < <(find src -name '*.[ch]' -printf '%f\n' | sort | uniq -d)
while read -r number dir; do
	[ "$number" -le 45 ] || breach "$dir: $number files; a folder holds 45 at most"
done < <(find src -type f -printf '%h\n' | sort | uniq -c)
[ $breaches -eq 0 ]
