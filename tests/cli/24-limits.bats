#!/usr/bin/env bats
# runs: root user
# What a sandbox may use up. Root gets cgroups where the machine has them; rlimits do the rest.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # text for shells inside; tests are subshells; bats sets stderr
load helpers
load sandbox

setup() {
	ralph_setup
	S=t-${WS##*/ws-}
}

method() {
	ralph inspect "$S" --json | get 'j["limits"]["method"]'
}

by_cgroup() {
	[[ $(method) == *cgroup* ]]
}

@test "inspect says what enforces the limits" {
	ralph run -n "$S" --memory 128M --pids 64 -- true
	same "134217728 64" "$(ralph inspect "$S" --json | get 'str(j["limits"]["memory"]) + " " + str(j["limits"]["pids"])')"
	has "$(ralph inspect "$S")" "limits by $(method)"
	[[ $(method) =~ cgroup|rlimits ]] || fail "$(method)"
}

@test "root on a machine with cgroups gets them, and they hold the numbers" {
	only_root
	ralph run -d -n "$S" --memory 128M --pids 64
	by_cgroup || not_here "no cgroups: $(method)"
	local dir

	dir=$(find /sys/fs/cgroup -type d -name "*$S*" -path '*pids*' | head -1)
	[ -n "$dir" ] || dir=$(find /sys/fs/cgroup -type d -name "*$S*" | head -1)
	same 64 "$(cat "$dir/pids.max")"
	grep -qx "$(field "$S" init)" <(find /sys/fs/cgroup -path "*$S*" -name cgroup.procs -exec cat {} +)
	ralph rm -f "$S"
	same "" "$(find /sys/fs/cgroup -type d -name "*$S*")"
}

# The kernel does not count root's processes by rlimit, and inspect says so.
bounded() {
	ralph run -n "$S" -- true
	[[ $(ralph inspect "$S") != *"not counted"* ]] || not_here "root without cgroups has no limit of processes"
}

# Processes of the sandbox, as the host sees them: those whose mounts are its own.
bombs() {
	grep -lsF -- " $WS rw" /proc/[0-9]*/mountinfo | wc -l
}

bomb_is_full() {
	[ "$(bombs)" -ge 40 ]
}

@test "a fork bomb is bounded, the host answers, and the bomb is cleared away" {
	bounded
	ralph run -d -n "$S" --pids 64
	"$RALPH" exec "$S" bash -c 'b() { b | b & b; }; b' 3>&- >/dev/null 2>&1 &
	local pid=$! n

	wait_until bomb_is_full
	n=$(bombs)
	[ "$n" -le 64 ] || fail "$n processes"
	kill -9 "$pid"
	ralph rm -f "$S"
	nothing_left
}

@test "no more processes than the limit" {
	local n

	bounded

	n=$(ralph run -n "$S" --pids 32 -- bash -c 'n=0; for i in {1..100}; do sleep 60 & n=$((n + 1)); done 2>/dev/null; jobs -r | wc -l' 2>/dev/null || :)
	[ "${n:-0}" -lt 32 ] || fail "$n processes"
}

balloon='
import sys
chunks = []
try:
    for i in range(512):
        chunks.append(bytearray(b"x" * (1 << 20)))
except MemoryError:
    print("refused", len(chunks))
    sys.exit(1)
print("got", len(chunks))'

@test "a memory balloon is bounded" {
	need python3
	run ralph run -n "$S" --memory 128M -- python3 -c "$balloon"
	[ "$status" -eq 137 ] || [ "$status" -eq 1 ] || fail "exit $status: $output"
	lacks "$output" "got"
	# The sandbox and the host go on.
	same ok "$(ralph run -n "$S" --memory 128M -- echo ok)"
}

@test "a balloon of many processes is bounded where cgroups bound the sum" {
	need python3
	only_root
	ralph run -d -n "$S" --memory 128M
	by_cgroup || not_here "no cgroups: $(method)"
	run ralph exec "$S" bash -c 'for i in 1 2 3 4; do python3 -c "
import time
b = bytearray(b\"x\" * (64 << 20))
open(\"/tmp/held$i\", \"w\").close()
time.sleep(60)" & done; wait -n; exit 9'
	same 9 "$status"
}

limit() {
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	printf 'limits:\n  %s\n' "$1" >"$XDG_CONFIG_HOME/ralph/config.yaml"
}

# What no process owns: a file in memory, filled by writing, and a mapping that is shared.
# shellcheck disable=SC2034 # for a shell inside
shared='import mmap, os
fd, block = os.memfd_create("x"), b"x" * 1048576
for i in range(96):
    os.write(fd, block)
m = mmap.mmap(-1, 96 << 20)
for at in range(0, 96 << 20, 4096):
    m[at] = 1
print("96 + 96 MiB")'

@test "shared memory counts where cgroups bound the sum; where they do not the audit says so" {
	need python3
	run ralph run -n "$S" --memory 128M -- python3 -c "$shared"
	if by_cgroup; then
		[ "$status" -ne 0 ] || fail "192 MiB in a sandbox of 128: $output"
		lacks "$(ralph audit --memory 128M "$WS")" "not held"
	else
		same 0 "$status"
		has "$(ralph audit --memory 128M "$WS" | tr -s ' \n' ' ')" "not held without a cgroup: the sum of memory (each process has the limit, for its private data), shared memory, memory files"
	fi
}

@test "files in memory of /dev/shm end at their limit" {
	export RALPH_LIMITS_TMP=64M
	must_fail ralph run -n "$S" -- dd if=/dev/zero of=/dev/shm/x bs=1M count=80 2>"$T/said"
	has "$(cat "$T/said")" "No space left"
}

@test "a full /tmp is an error inside and not the host's memory" {
	limit 'tmp: 16M'
	run --separate-stderr ralph run -n "$S" -- sh -c 'head -c 32M /dev/zero >/tmp/x'
	same 1 "$status"
	has "$stderr" "No space left"
	run --separate-stderr ralph run -n "$S" -- sh -c 'head -c 32M /dev/zero >/dev/shm/x'
	same 1 "$status"
	has "$stderr" "No space left"
	must_fail ralph run -n "$S" -- sh -c 'head -c 65M /dev/zero >/run/user/$(id -u)/x'
}

# only_v2 COMMAND…: where the mounts show the second version of cgroups alone, as on most distributions.
only_v2() {
	# shellcheck disable=SC2016 # for that shell
	unshare -m sh -c 'mount --make-rprivate / && umount -R -l /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && exec "$@"' sh "$@"
}

no_leaf() {
	[ -z "$(find /sys/fs/cgroup -type d -name 'ralph-ahead-*')" ]
}

@test "with the second version of cgroups alone a sandbox starts, and no cgroup of it stays" {
	only_root
	need unshare
	only_v2 true || not_here "cgroups cannot be mounted"
	same inside "$(only_v2 "$RALPH" run --rm -- echo inside)"
	must_exit 2 only_v2 "$RALPH" run --nonsense
	wait_until no_leaf
}

@test "open files have a limit that cannot be raised" {
	limit 'open_files: 100'
	same "100 100" "$(ralph run -n "$S" -- bash -c 'ulimit -n; ulimit -Hn' | xargs)"
	must_fail ralph run -n "$S" -- bash -c 'ulimit -n 200'
}

@test "there are no core files" {
	same "0 0" "$(ralph run -n "$S" -- bash -c 'ulimit -c; ulimit -Hc' | xargs)"
	must_exit 134 ralph run -n "$S" -- sh -c 'ulimit -c unlimited 2>/dev/null; kill -ABRT $$'
	same $'.git\nfile' "$(ls -A)"
}

@test "limits that no sandbox could live with are refused" {
	must_exit 2 ralph run --memory 1M -- true
	must_exit 2 ralph run --pids 2 -- true
	must_exit 2 ralph run --memory lots -- true
	must_exit 2 ralph run --pids -5 -- true
	same "" "$(ralph ls -q)"
}

@test "a processor limit is in force" {
	only_root
	ralph run -d -n "$S" --cpu 20
	by_cgroup || not_here "no cgroups: $(method)"
	local quota

	quota=$(find /sys/fs/cgroup -path "*$S*" \( -name cpu.cfs_quota_us -o -name cpu.max \) -exec cat {} + | awk '{ print $1 }' | head -1)
	[ "$quota" -gt 0 ] && [ "$quota" -le 100000 ] || fail "quota '$quota'"
}
