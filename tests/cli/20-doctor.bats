# runs: user
# seconds: 20
# What `ralph doctor` and `ralph run` say where a sandbox cannot be made: the cause, and the remedy.
# shellcheck disable=SC2016,SC2154 # text for shells that are started; bats sets stderr
load helpers

# doctor_in COMMAND…: its report, made by COMMAND… ralph doctor; the exit code must be 1.
doctor_in() {
	run --separate-stderr "$@" "$RALPH" doctor
	same 1 "$status"
	has "$output" "The native engine is not usable on this machine."
}

@test "doctor tries the namespaces with the guest, and nothing of it stays" {
	ralph doctor >"$T/out"
	has "$(cat "$T/out")" "user, mount, pid, ipc, uts and network; /proc can be mounted"
	has "$(cat "$T/out")" "The native engine is usable."
	wait_until nothing_left
}

@test "no user namespaces are allowed: doctor and run name the switch, and run the other engine to ask for" {
	need unshare
	none=(unshare -r sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' sh)
	doctor_in "${none[@]}"
	has "$output" "sysctl -w user.max_user_namespaces=15000"
	# Other engines that are there are named, and not used.
	for engine in podman docker; do
		printf '#!/bin/sh\necho "%s $*" >>%q\nexit 1\n' "$engine" "$T/called" >"$T/$engine"
		chmod +x "$T/$engine"
	done
	PATH=$T:$PATH run --separate-stderr "${none[@]}" "$RALPH" run -- true
	same 125 "$status"
	has "$stderr" "sysctl -w user.max_user_namespaces=15000"
	has "$stderr" "--engine podman"
	same "" "$(cat "$T/called" 2>/dev/null)"
}

@test "a masked /proc, as in a container: doctor says that sandboxes cannot be made, and run what to ask" {
	need unshare
	masked=(unshare -rm sh -c 'mount -t tmpfs none /proc/fs && exec "$@"' sh)
	doctor_in "${masked[@]}"
	has "$output" "cannot make '/proc'"
	has "$output" "unmasked /proc"
	run --separate-stderr "${masked[@]}" "$RALPH" run -- true
	same 125 "$status"
	has "$stderr" "cannot make '/proc'"
	has "$stderr" "ralph doctor"
}

@test "a container's system call filter: run and doctor name it, and the profile" {
	need python3
	filter=(python3 "$BATS_TEST_DIRNAME/../lib/no-namespaces.py")
	doctor_in "${filter[@]}"
	has "$output" "seccomp profile"
	run --separate-stderr "${filter[@]}" "$RALPH" run -- true
	same 125 "$status"
	has "$stderr" "cannot make the sandbox's namespaces: Operation not permitted"
	has "$stderr" "seccomp profile"
	lacks "$stderr" "Broken pipe"
}

@test "what every start needs is static, and no other program is needed: no library of the system, no bubblewrap" {
	local program

	for program in bin/ralph libexec/ralph/{cli,supervisor,guest,probe,outpost,vm}; do
		[ -x "${RALPH%/bin/ralph}/$program" ]
		! ldd "${RALPH%/bin/ralph}/$program" 2>/dev/null | grep '=>' || fail "$program"
	done
	same inside "$(env PATH=/nonexistent "$RALPH" run --rm -- /usr/bin/echo inside)"
}
