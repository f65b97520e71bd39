#!/bin/bash
# Makes the fixture of the tests here: the state that a released ralph leaves, for later versions to go on with.
#   RALPH=PREFIX/bin/ralph tests/upgrade/make-fixture.sh [DIR]     as root; DIR: tests/upgrade/fixture
# Strings in single quotes are for the shell inside; the sourced files use what seems unused.
# shellcheck disable=SC2016,SC2034
set -euo pipefail
: "${RALPH:?name the ralph whose state is to be kept}"
here=$(cd "$(dirname "$0")" && pwd)
FIXTURE=$(realpath -m "${1:-$here/fixture}")
BATS_TEST_DIRNAME=$here
bats_require_minimum_version() { :; }
# shellcheck source=tests/cli/helpers.bash
. "$here/../cli/helpers.bash"
# shellcheck source=tests/cli/loop.bash
. "$here/../cli/loop.bash"
# shellcheck source=tests/lib/cred.bash
. "$here/../lib/cred.bash"
# shellcheck source=tests/engines/engine.bash
. "$here/../engines/engine.bash"
# shellcheck source=tests/upgrade/place.bash
. "$here/place.bash"

clean_up() {
	provider_stop || :
	[ -z "${ENGINE_DIR:-}" ] || {
		podman_end
		rm -rf --one-file-system "$ENGINE_DIR"
	}
	[ -z "${T:-}" ] || rm -rf "$T"
}

# project NAME: a repository with one commit, and into it.
project() {
	mkdir "$HOME/$1"
	cd "$HOME/$1"
	git init -q -b main --template=
	git config user.name upgrade
	git config user.email upgrade@example.org
	echo content >file
	git add file
	git commit -qm start
}

sandboxes() {
	project app
	ralph run -n up-main -- sh -euc 'mkdir -p ~/.config/tool; echo main >~/.config/tool/kept; echo secret >~/private
		chmod 600 ~/private; ln -s private ~/link; head -c 20000 /dev/zero | tr "\0" x >~/large'
	git switch -qc up-feature
	ralph run -- sh -c 'echo feature >~/kept'
	git switch -q main
	ralph net allow --user user.example.org
	ralph net allow project.example.org
	ralph net deny --sandbox up-main sandbox.example.org
	ralph run -n up-main --quarantine all -- sh -c 'mkdir x; echo "{}" >x/tasks.json; mv x .vscode'
	ralph run -n up-main --quarantine all -- sh -c 'echo "use flake" >.envrc'
}

clone() {
	project cloned
	ralph run --clone -n up-clone -- sh -euc 'echo more >>file; git commit -qam more; echo new >new; git add new
		git commit -qm new; echo open >uncommitted'
}

usage() {
	project used
	provider_start
	provider_takes key-of-the-host
	export ANTHROPIC_API_KEY=key-of-the-host
	same 200 "$(ralph run -n up-used -- sh -c "$ASK")"
	same 200 "$(ralph run -n up-used -- sh -c "$ASK")"
	provider_stop
	rm -r "$PROV" "$XDG_CONFIG_HOME/ralph/config.yaml"
	unset RALPH_AGENT ANTHROPIC_API_KEY PROV_PID
}

# begin_loop NAME: two tasks, of which the agent has begun the first, in a tree with changes of the user.
begin_loop() {
	project "$1"
	loop_workspace 2
	sed -i "s|ralph/demo|ralph/up-$1|" .ralph/prd.json
	echo mine >notes
	git add notes
	git commit -qam notes
	echo 'changed by hand' >notes
	echo 'known to nobody' >unknown
	begin waits --stash --net none
	wait_until test -e waiting
}

# A pause gives the changes back. A loop that was killed has them stashed.
loops() {
	begin_loop paused
	ralph pause
	touch go-on
	ends 9
	begin_loop killed
	kill -KILL "$LOOP"
	wait "$LOOP" 2>/dev/null || :
	ralph stop --all >/dev/null
	touch go-on
}

container() {
	ENGINE_DIR=$(mktemp -d /tmp/re-XXXXXX)
	podman_start
	project boxed
	(
		while read -r line; do
			export "${line?}"
		done < <(podman_env)
		ralph run -n up-boxed --agent claude -- sh -euc 'mkdir ~/.claude/projects; echo "{}" >~/.claude/projects/note.json
			echo boxed >~/kept'
	)
}

# Last, as sandboxes are not to have these settings: they are kept as $T/every.
every_key() {
	project every
	mkdir -p .ralph "$T/every/ralph/profiles"
	cp "$here/every/config.yaml" "$T/every/ralph"
	cp "$here/every/profile.yaml" "$T/every/ralph/profiles/every.yaml"
	cp "$here/every/project.yaml" .ralph/config.yaml
	export XDG_CONFIG_HOME=$T/every
	ralph trust --yes 2>/dev/null
	ralph config show --json >"$FIXTURE/config.json"
	! grep -B 1 '"origin": "default"' "$FIXTURE/config.json" || fail "every/config.yaml lacks these keys"
	export XDG_CONFIG_HOME=$T/config
}

pack() {
	XZ_OPT=-9 tar -C "$T" --sort=name --owner=0 --group=0 --numeric-owner -cJf "$FIXTURE/$1.tar.xz" "${@:2}"
}

trap clean_up EXIT
place_take
mkdir -p "$FIXTURE" "$XDG_CONFIG_HOME/ralph"
sandboxes
clone
usage
loops
container
every_key
cd "$HOME/app"
"$RALPH" --version >"$FIXTURE/version"
ralph ls --json >"$FIXTURE/ls.json"
ralph usage --json >"$FIXTURE/usage.json"
ralph net ls --json up-main >"$FIXTURE/net.json"
ralph quarantine ls --json >"$FIXTURE/quarantine.json"
# The volume is named after the user who has it.
mv "$XDG_STATE_HOME/ralph/volumes/$(id -un)-llm" "$T/volume"
rm -r "$XDG_STATE_HOME/ralph/volumes"
place_listing home state/ralph/sandboxes state/ralph/quarantine volume >"$FIXTURE/files"
pack project home
pack state state
pack config config every
pack volume volume
