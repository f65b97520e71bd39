#!/bin/bash
# tests/package/run.sh [deb|tarball]: builds the package and the tarball, and tries each in a fresh system of its
# own (scripts/bare.sh), of this machine's release, since its libraries are what they are built for. Needs root. The last line is `N passed, N failed`.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

release=$(sed -n s/^VERSION_CODENAME=//p /etc/os-release)
passed=0
failed=0
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

# in_fresh_system SCRIPT FILE…: its promises are counted here.
in_fresh_system() {
	local last

	scripts/bare.sh --script "$release" "tests/package/$1" tests/package/promises.bash "${@:2}" | tee "$log"
	last=$(tail -n 1 "$log")
	if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
		passed=$((passed + BASH_REMATCH[1]))
		failed=$((failed + BASH_REMATCH[2]))
	else
		echo "not ok $1 did not come to its counts"
		failed=$((failed + 1))
	fi
}

# only_claude DIR: of scripts/agents.sh; the others are large.
only_claude() {
	local from part=lib/node_modules/@anthropic-ai/claude-code

	from=$(scripts/agents.sh) || return
	mkdir -p "$1/bin" "$1/$part"
	cp -r "$from/$part/bin" "$from/$part/package.json" "$1/$part/"
	cp -P "$from/bin/claude" "$1/bin/"
	cp "$from/.installed" "$1/"
}

# built WHAT COMMAND…: what it prints is the file; in $file.
built() {
	local start=$SECONDS

	if file=$("${@:2}"); then
		passed=$((passed + 1))
		printf 'ok %s is built (%d s)\n' "$1" $((SECONDS - start))
		return 0
	fi
	failed=$((failed + 1))
	printf 'not ok %s is built\n' "$1"
	return 1
}

if [ "${1:-deb}" = deb ] && built 'the package, which lintian has nothing to say about,' scripts/deb.sh; then
	# What the package's own tests and the manual's need of the sources, and the agent that the manual speaks of.
	rm -rf build-deb/source build-deb/agents
	mkdir -p build-deb/source
	cp -r debian tests man docs build-deb/source/
	only_claude build-deb/agents
	in_fresh_system deb.sh "$file" build-deb/source build-deb/agents
	rm -rf build-deb/agents
fi
if [ "${1:-tarball}" = tarball ] && built 'the tarball' scripts/dist.sh; then
	in_fresh_system tarball.sh "$file"
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
