# runs: root
# seconds: 20
# ralph in a container, with the profile that it ships: as a plain user, with no capability.
# shellcheck disable=SC2016,SC2154 # text for the shell inside; bats sets stderr
load helpers

# A root of this machine's own system, which holds nothing else.
setup() {
	ralph_setup || return
	need podman runc
	local dir

	mkdir -p "$T/root"/{usr,proc,sys,dev,etc,run,tmp,home/u/project}
	for dir in bin sbin lib lib32 lib64; do
		[ ! -L "/$dir" ] || cp -a "/$dir" "$T/root"
	done
	cp /etc/passwd /etc/group "$T/root/etc"
	chmod 755 "$T" "$T/root"
	chmod 1777 "$T/root/tmp"
	chown -R 1001:1001 "$T/root/home/u"
	PROFILE=${RALPH%/bin/ralph}/share/ralph/seccomp/ralph.json
}

# contained [OPTION…] -- ARG…: ralph ARG… in a container.
contained() {
	local options=()

	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	podman --root "$T/store" --runroot "$T/store-run" --runtime runc --cgroup-manager=cgroupfs --events-backend=file run --rm \
		--ulimit nofile=1024:20000 --ulimit nproc=4096:4096 --net none --user 1001:1001 --cap-drop ALL \
		--security-opt no-new-privileges "${options[@]}" -v /usr:/usr:ro \
		-v "${RALPH%/bin/ralph}:${RALPH%/bin/ralph}:ro" -w /home/u/project -e HOME=/home/u --rootfs "$T/root" \
		"$RALPH" "$@"
}

@test "in a container with ralph's profile and an unmasked /proc a plain user makes sandboxes without a capability" {
	run --separate-stderr contained --security-opt "seccomp=$PROFILE" --security-opt unmask=ALL -- \
		run --rm -- sh -c 'grep ^CapBnd /proc/self/status; echo inside'
	same 0 "$status" || fail "$stderr"
	same $'CapBnd:\t0000000000000000\ninside' "$output"
}

@test "in a container as runtimes make it, run names the cause and doctor the profile" {
	run --separate-stderr contained -- run --rm -- true
	same 125 "$status"
	has "$stderr" "not permitted"
	has "$stderr" "ralph doctor"
	lacks "$stderr" "Broken pipe"
	run --separate-stderr contained -- doctor
	same 1 "$status"
	has "$output" "seccomp profile"
	run --separate-stderr contained --security-opt "seccomp=$PROFILE" -- doctor
	same 1 "$status"
	has "$output" "cannot make '/proc'"
	has "$output" "unmasked /proc"
}
