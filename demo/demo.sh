#!/bin/bash
# demo/demo.sh STAGE: a command in a sandbox that tries to read the user's keys, write outside, see the
# host's processes and reach the network; then a table of what it got. Exits 1 when anything got out.
# All of it happens in a directory of its own, with a made-up home and made-up keys.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
ralph=$1/bin/ralph
printf -v marker 'demo-secret-%05d%05d' "$RANDOM" "$RANDOM"
T=$(mktemp -d /tmp/ralph-demo.XXXXXX)
pids=()

finish() {
	local pid

	for pid in "${pids[@]}"; do
		kill "$pid" 2>/dev/null || true
	done
	rm -rf "$T"
}
trap finish EXIT

export HOME=$T/home XDG_CONFIG_HOME=$T/config XDG_STATE_HOME=$T/state XDG_RUNTIME_DIR=$T/run
export DEMO_API_KEY=$marker SSH_AUTH_SOCK=$T/home/agent.sock
project=$HOME/project

prepare() {
	mkdir -m 0700 "$HOME" "$T/config" "$T/state" "$T/run" "$T/outside" "$HOME/.ssh" "$HOME/.aws"
	printf 'made-up key %s\n' "$marker" >"$HOME/.ssh/id_ed25519"
	printf '[default]\naws_secret_access_key = made-up-%s\n' "$marker" >"$HOME/.aws/credentials"
	echo 'this line must stay' >"$T/stdin"
	cp "$T/stdin" "$T/stdin.before"
	git init -q -b main "$project"
	git -C "$project" config user.name demo
	git -C "$project" config user.email demo@example.invalid
	cp "$here/inside.py" "$project/"

	/usr/bin/python3 "$here/host.py" "$SSH_AUTH_SOCK" "$marker" "$T/port" "$T/visitors" &
	pids+=($!)
	# A process whose arguments nobody else should read.
	bash -c 'read -r -u 9' "--password=$marker" 9<> <(:) &
	pids+=($!)
	until [ -e "$T/port" ]; do
		kill -0 "${pids[0]}" || exit 1
		sleep 0.02
	done
}

row() {
	local wanted=$1 got=$2 what=$3 detail=$4 colour='' plain='' verdict=$2

	if [ "$wanted" != "$got" ]; then
		verdict="$got (!)"
		bad=$((bad + 1))
	fi
	if [ -t 1 ]; then
		plain=$'\e[0m'
		colour=$'\e[32m'
		[ "$wanted" = "$got" ] || colour=$'\e[1;31m'
	fi
	printf '  %-38s %s%-12s%s %s\n' "$what" "$colour" "$verdict" "$plain" "$detail"
}

# evidence WHAT COMMAND…: seen from the host; it must hold.
evidence() {
	local what=$1
	shift
	if "$@"; then
		row held held "$what" ''
	else
		row held broken "$what" ''
	fi
}

nothing_lingers() {
	for _ in {1..100}; do
		# In brackets, so that the search does not find itself.
		grep -qszx "[3]33${marker: -6}" /proc/[0-9]*/cmdline || return 0
		sleep 0.02
	done
	return 1
}

prepare
bad=0
rows=0
code=0
"$ralph" run --rm "$project" -- /usr/bin/python3 inside.py "$HOME" "$T/outside" "$(cat "$T/port")" \
	"$SSH_AUTH_SOCK" "$marker" 9 "$marker" \
	<"$T/stdin" 9<"$HOME/.ssh/id_ed25519" >"$T/table" || code=$?
if [ $code -ne 0 ]; then
	echo "demo: ralph run ended with $code"
	exit 1
fi

echo
echo "A command in a sandbox tried to:"
while IFS=$'\t' read -r wanted got what detail; do
	row "$wanted" "$got" "$what" "$detail"
	rows=$((rows + 1))
done <"$T/table"
echo
echo "Seen from the host afterwards:"
evidence "no server was reached" test ! -e "$T/visitors"
evidence "nothing was written outside" test ! -e "$T/outside/from-inside"
evidence "the file given as stdin is unchanged" cmp -s "$T/stdin" "$T/stdin.before"
evidence "the project has the result" test -s "$project/result.txt"
evidence "no process was left running" nothing_lingers
evidence "the sandbox is gone" test -z "$("$ralph" ls 2>/dev/null | grep -F "$project" || true)"
echo

if [ "$rows" -lt 20 ]; then
	echo "demo: only $rows of 20 attempts were reported"
	exit 1
fi
if [ $bad -gt 0 ]; then
	echo "$bad of these are not as they should be."
	exit 1
fi
echo "Everything was as it should be."
