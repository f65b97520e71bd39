# The fake of Docker Sandboxes, for tests that drive it: `load ../lib/sbx` after helpers.
# shellcheck shell=bash

# fake_sbx_files LIB DIR NAME: the fake in DIR, under that name, with its modules as tests/run.sh has compiled them.
fake_sbx_files() {
	cp "$1/fake-sbx" "$2/$3"
	cp -rp "$1"/fake_sbx_*.py "$1/__pycache__" "$2"
}

# fake_sbx sbx|docker [KEY=VALUE…]: the command line is there, in the first directory of PATH.
fake_sbx() {
	FAKE=$T/fake-bin
	mkdir -p "$FAKE/fake"
	fake_sbx_files "$BATS_TEST_DIRNAME/../lib" "$FAKE" "$1"
	printf '%s\n' "${@:2}" >"$FAKE/fake/mode"
	export FAKE PATH=$FAKE:$PATH
}

# fake_docker_images: docker is there too, with its images; behind the plugin, or beside sbx.
fake_docker_images() {
	local name=docker

	[ ! -e "$FAKE/docker" ] || name=docker-engine
	cp "$BATS_TEST_DIRNAME/../lib/fake-docker-images" "$FAKE/$name"
}

# fake_sbx_end: what the fake still runs is ended.
fake_sbx_end() {
	local vm name

	for vm in "${FAKE:-/nonexistent}"/fake/vms/*.json; do
		[ -e "$vm" ] || continue
		name=${vm##*/}
		: >"$FAKE/fake/mode"
		if [ -e "$FAKE/sbx" ]; then
			"$FAKE/sbx" stop "${name%.json}"
		else
			"$FAKE/docker" sandbox stop "${name%.json}"
		fi >/dev/null
	done
}

# gone TEXT: no process of the machine has it among its arguments.
gone() {
	printf '%s' "$1" >"$T/needle" # the search must not find itself
	! grep -qsF -f "$T/needle" /proc/[0-9]*/cmdline
}

# mode KEY=VALUE…: from now on.
mode() {
	printf '%s\n' "$@" >"$FAKE/fake/mode"
}

# calls [TEXT]: the calls so far that hold TEXT, a word of them after the other.
calls() {
	[ -e "$FAKE/fake/calls" ] || return 0
	python3 -c '
import json, sys
for line in open(sys.argv[1]):
    text = " ".join(json.loads(line)[1:])
    if sys.argv[2] in text:
        print(text)' "$FAKE/fake/calls" "${1:-}"
}

# vm KEY: of the only sandbox that the fake has.
vm() {
	python3 -c '
import json, sys
print(json.load(open(sys.argv[1])).get(sys.argv[2]))' "$FAKE"/fake/vms/*.json "$1"
}
