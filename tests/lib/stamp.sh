#!/bin/bash
# stamp.sh: prints the mark of a sandbox of this user that passed its self-test. Without it every test would
# begin with one of its own.
set -euo pipefail

dir=$(mktemp -d /tmp/ralph-stamp.XXXXXX)
trap 'rm -rf "$dir"' EXIT
mkdir -m 0700 "$dir/home" "$dir/home/ws" "$dir/state" "$dir/run"
export HOME=$dir/home XDG_STATE_HOME=$dir/state XDG_CONFIG_HOME=$dir/none XDG_RUNTIME_DIR=$dir/run
cd "$HOME/ws"
"$RALPH" run -- true >&2
cat "$XDG_STATE_HOME/ralph/selftest-native"
