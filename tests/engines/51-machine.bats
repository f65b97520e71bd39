#!/usr/bin/env bats
# runs: user:vm:emulated
# seconds: 60
# What holds of a machine of its own alone, beside the contract and the walls.
# shellcheck disable=SC2016,SC2154 # text for shells that are started; bats sets status and stderr
load ../cli/helpers
load ../cli/sandbox
load engine

@test "machine: its clock is the host's, and no two of them draw the same random numbers" {
	local before after inside

	before=$(date +%s)
	inside=$(ralph run --rm -- sh -c 'date +%s; head -c 32 /dev/urandom | od -An -tx1' | xargs)
	after=$(date +%s)
	# One that was kept is minutes or days behind when it goes on.
	[ "${inside%% *}" -ge "$before" ] && [ "${inside%% *}" -le "$after" ] || fail "$before $inside $after"
	[ "${inside#* }" != "$(ralph run --rm -- sh -c 'head -c 32 /dev/urandom | od -An -tx1' | xargs)" ]
}

@test "machine: one that was kept goes on, and one whose kernel is another file is not used" {
	has "$(ralph --dry-run run -- true)" "-incoming"
	cp -a "$MACHINE" "$T/copied"
	XDG_CACHE_HOME=$T/copied run --separate-stderr "$RALPH" run -- touch started
	same 125 "$status"
	has "$stderr" "no machine is prepared for this version of ralph; run: ralph engine setup vm:emulated"
	test ! -e started
	rm -rf "$T/copied"
}

@test "machine: without a KVM that runs code engine vm is refused, prepared or not, and the other one is named" {
	need unshare
	# Where there is one, a device in its place that opens and runs nothing.
	local without=(unshare -rm sh -c '[ ! -e /dev/kvm ] || mount --bind /dev/null /dev/kvm; exec "$@"' sh)

	RALPH_ENGINE=vm run --separate-stderr "${without[@]}" "$RALPH" run -- touch started
	same 125 "$status"
	has "$stderr" "engine vm needs KVM"
	has "$stderr" "vm:emulated does without, and is very slow"
	test ! -e started
	XDG_CACHE_HOME=$T/none run --separate-stderr "${without[@]}" "$RALPH" engine setup vm
	same 125 "$status"
	has "$stderr" "engine vm needs KVM"
	test ! -e "$T/none/ralph/vm/kernel"
}

@test "machine: its memory is what the limit leaves beside QEMU, and less than it needs is refused" {
	has "$(ralph --dry-run run --memory 500M -- true)" "-m 256"
	has "$(ralph --dry-run run --memory 700M -- true)" "-m 512"
	run --separate-stderr "$RALPH" run --memory 300M -- touch started
	same 125 "$status"
	has "$stderr" "at least 416M"
	test ! -e started
}

# line_in OPTION…: what `vm line` answers in a place of bwrap's that has these beside the system, and /t.
line_in() {
	python3 - "${RALPH%/bin/ralph}/libexec/ralph/vm" "$@" <<-'P'
		import socket, subprocess, sys
		ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		place = ["bwrap", "--unshare-user", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
		         "--proc", "/proc", "--dev", "/dev", "--ro-bind", sys.argv[1], "/vm", "--tmpfs", "/t"]
		p = subprocess.Popen(place + sys.argv[2:] + ["/vm", "line", "-", "0", "0", "/usr/bin/true"], stdin=theirs)
		theirs.close()
		print(ours.recv(4096)[32:].rstrip(b"\0").decode())
		p.wait()
	P
}

@test "machine: a tree with a file system of the kernel's in it is shown to no machine" {
	need bwrap python3
	local kernels="a file system of the kernel (proc, sys, dev) lies in the sandbox's tree"

	has "$(line_in --proc /t/proc)" "$kernels"
	has "$(line_in --dev /t/dev)" "$kernels"
	has "$(line_in --ro-bind /sys /t/x)" "$kernels"
	lacks "$(line_in --ro-bind /usr /t/usr)" "$kernels"
}
