# runs: user
# seconds: 45
# The self-test: it passes, and where a wall is taken away it says which.
# shellcheck disable=SC2016,SC2154 # text for shells inside; bats sets stderr
load ../cli/helpers
load ../cli/sandbox
load weak

setup() {
	ralph_setup || return
	echo a secret of the host >"$HOME/.netrc"
}

mounts_with() {
	guest_without nothing X=1 "$@"
}

not_held() {
	get '[r for r in j["rows"] if r["result"] != "held"]' <"$T/report"
}

# falls WHAT…: the self-test fails, and in these rows at least.
falls() {
	local what

	must_exit 1 ralph selftest --json >"$T/report" 2>"$T/err" || fail "$(cat "$T/err") $(not_held)"
	[ -s "$T/report" ] || fail "$(cat "$T/err")"
	for what; do
		get '[r for r in j["rows"] if r["what"].startswith('"'$what'"') and r["result"] == "failed"] != []' <"$T/report" >"$T/found"
		same True "$(cat "$T/found")" || fail "'$what' held: $(not_held)"
	done
}

# bats test_tags=root
@test 'the self-test passes, all rows, in a sandbox of its own start and in a live one' {
	ralph selftest >"$T/out" || fail "$(cat "$T/out")"
	has "$(cat "$T/out")" "as expected"
	lacks "$(cat "$T/out")" "NOT TESTED"
	wait_until down
	ralph run -d -- true
	ralph selftest "$(sandbox)" --json >"$T/report"
	same True "$(get 'j["passed"] and all(r["result"] in ("held", "not-installed") for r in j["rows"]) and len(j["rows"]) > 40' <"$T/report")"
	up
	same "" "$(git status --porcelain --ignored)"
	same "" "$(find "$XDG_STATE_HOME/ralph/sandboxes/$(sandbox)/home/" -name '*probe*')"
}

# refusals NAME marked|other [HOST]: how many are on record, by the self-test or not.
refusals() {
	cat "$XDG_STATE_HOME/ralph/sandboxes/$1"/events*.jsonl | python3 -c '
import json, sys
events = [json.loads(line) for line in sys.stdin]
print(sum(e["count"] for e in events if e["type"] == "net" and e["verdict"] == "deny"
          and (len(sys.argv) < 3 or e["host"] == sys.argv[2]) and e.get("selftest", False) == (sys.argv[1] == "marked")))' "${@:2}"
}

# few: a live sandbox, $name, in which the self-test finds no programs to start.
few() {
	name=few-${WS##*-}
	ralph run -d -n "$name" -e PATH=/nowhere -- /bin/true
}

@test 'refusals that the self-test causes are marked and counted nowhere' {
	few
	ralph selftest "$name" >"$T/out" || fail "$(cat "$T/out")"
	[ "$(refusals "$name" marked)" -gt 50 ]
	same 0 "$(refusals "$name" other)"
	same 1 "$(ralph net log --denied "$name" | wc -l)"
	# Nor are they shown as the user's, or its program as a command of the user's.
	lacks "$(ralph net log "$name")" deny
	lacks "$(ralph events "$name")" deny
	lacks "$(ralph events "$name")" ralph-probe
	has "$(ralph net log --all "$name")" "self-test: "
	has "$(ralph events -a "$name")" "by the self-test"
	has "$(ralph events -a "$name")" ralph-probe
	same '[]' "$(ralph inspect --json "$name" | get 'j["live"]["refused"]')"
	ralph run -d -n "$name" -e PATH=/nowhere -- /bin/true 2>"$T/err"
	lacks "$(cat "$T/err")" refused
}

@test 'a program inside cannot hide its refusals among those of the self-test' {
	local before own

	few
	before=$(refusals "$name" marked ralph-selftest.invalid)
	ralph selftest "$name" >"$T/out" || fail "$(cat "$T/out")"
	own=$(($(refusals "$name" marked ralph-selftest.invalid) - before))
	[ "$own" -gt 0 ]
	ralph exec "$name" /bin/bash -c 'for i in {1..40}; do
		exec 3<>/dev/tcp/127.0.0.1/3128
		printf "CONNECT ralph-selftest.invalid:80 HTTP/1.1\r\nHost: ralph-selftest.invalid:80\r\n\r\n" >&3
		read -r answer <&3
	done' &
	# A process that ends beside it can leave its row about /proc untested; that is not at issue here.
	ralph selftest "$name" >"$T/out" || has "$(cat "$T/out")" "NOT TESTED"
	wait $!
	ralph stop "$name"
	same $((before + 2 * own)) "$(refusals "$name" marked ralph-selftest.invalid)"
	same 40 "$(refusals "$name" other ralph-selftest.invalid)"
}

# bats test_tags=root
@test 'what the host has mounted below a directory that is shown is no finding, and is read-only' {
	local own=(--map-current-user --keep-caps)

	[ "$(id -u)" -ne 0 ] || own=()
	mkdir below
	cat >"$T/with-mounts" <<-'SH'
		mount -t tmpfs none /usr/src && mount -t tmpfs none below &&
			exec setpriv --inh-caps=-all --ambient-caps=-all "$RALPH" "$@"
	SH
	unshare "${own[@]}" --mount sh "$T/with-mounts" selftest >"$T/out" || fail "$(cat "$T/out")"
	has "$(cat "$T/out")" "as expected"
	unshare "${own[@]}" --mount sh "$T/with-mounts" run --rm -- sh -c 'touch below/x && ! touch /usr/src/x'
}

# bats test_tags=root
@test 'a sandbox with services, mounts and variables that the user gave passes too' {
	mkdir -p "$HOME/given/sub" "$XDG_CONFIG_HOME/ralph"
	printf 'mounts:\n  - path: %s\n    mode: rw\nenv:\n  pass: [MY_TOKEN]\nnetwork:\n  allow: ["localhost:8123", "example.com", "10.1.2.3"]\n' \
		"$HOME/given" >"$XDG_CONFIG_HOME/ralph/config.yaml"
	export MY_TOKEN=given-by-the-user-himself
	ralph selftest >"$T/out" || fail "$(cat "$T/out")"
	has "$(cat "$T/out")" "an allowed name"
}

# bats test_tags=root
@test 'every tier of the network passes' {
	local tier

	mkdir -p "$XDG_CONFIG_HOME/ralph"
	for tier in none allowlist inet full; do
		printf 'network:\n  tier: %s\n' $tier >"$XDG_CONFIG_HOME/ralph/config.yaml"
		ralph selftest >"$T/out" || fail "$tier: $(cat "$T/out")"
		printf '  deny: [denied.example]\n' >>"$XDG_CONFIG_HOME/ralph/config.yaml"
		ralph selftest >"$T/out" || fail "$tier, with a rule by name: $(cat "$T/out")"
	done
}

@test 'what is not installed is said, and is no failure' {
	ralph run -d -n "few-${WS##*-}" -e PATH=/nowhere -- true || ralph run -d -n "few-${WS##*-}" -e PATH=/nowhere
	ralph selftest "few-${WS##*-}" >"$T/out" || fail "$(cat "$T/out")"
	same "not installed" "$(grep npm "$T/out" | grep -o 'not installed')"
}

@test 'a program that is broken inside fails the self-test' {
	# Only the copy inside is broken: /usr/bin is bound, so a file is put on top of it.
	echo exit 3 >"$T/broken"
	chmod +x "$T/broken"
	mounts_with "+bind-ro $T/broken $(readlink -f "$(command -v git)")"
	falls 'git commit' 'mounts other'
}

@test 'the stand-in for the guest takes nothing away by itself' {
	guest_without nothing
	ralph selftest >"$T/out" || fail "$(cat "$T/out")"
}

@test 'without the wall of mounts: the home of the host' {
	mounts_with "+bind $HOME $HOME"
	falls 'the home of the host' 'keys, sessions' 'mounts other' 'secrets of the host'
}

@test 'without the wall of mounts: the home to be read only' {
	mounts_with "+bind-ro $HOME $HOME"
	falls 'the home of the host'
}

@test 'without the wall of mounts: one file of the home' {
	mounts_with "+bind-ro $HOME/.netrc $HOME/.netrc"
	falls 'keys, sessions' 'mounts other'
}

@test 'without the wall of mounts: a neighbour, the state, the system' {
	mkdir "$HOME/neighbour"
	mounts_with "+bind $HOME/neighbour $HOME/neighbour"
	falls 'what lies beside the workspace'
	mounts_with "+bind $XDG_STATE_HOME/ralph $XDG_STATE_HOME/ralph"
	falls "ralph" 'mounts other'
	mounts_with '+bind-ro /var /var'
	falls 'directories of the host'
}

@test 'without the wall of mounts: the whole host somewhere' {
	mounts_with '+bind-ro / /elsewhere'
	falls 'mounts other'
}

@test 'without a read-only root or system' {
	mounts_with '-remount-ro /'
	falls 'mounts other'
	# Landlock holds where the mounts do not, and the other way round.
	guest_without landlock X=1 '-remount-ro /'
	falls 'writing outside' 'mounts other'
	mounts_with '-bind-ro /usr' '+bind /usr /usr'
	falls 'mounts other'
}

@test 'without the masks and the read-only settings of /proc' {
	mounts_with '-remount-ro /proc/sys'
	falls 'mounts other'
	mounts_with '-mask *'
	falls 'mounts other' 'covered files'
}

@test 'without the protection of what the host runs in the workspace' {
	mkdir -p .claude/hooks
	echo '{}' >.claude/settings.json
	mounts_with "-protect $WS/.claude/hooks"
	falls 'changing or moving protected' 'mounts other'
	mounts_with "-protect $WS/.claude/settings.json" "+bind $WS/.claude/settings.json $WS/.claude/settings.json"
	falls 'changing or moving protected' 'mounts other'
	mounts_with "-pin $WS/.claude"
	falls 'changing or moving protected'
}

@test 'without the private git directory over that of the user' {
	mounts_with "-bind $WS/.git"
	falls 'mounts other'
}

@test 'without a /dev of its own' {
	mounts_with '+bind /dev /dev'
	falls 'devices and terminals'
}

@test 'without a namespace of its own for processes nothing starts' {
	guest_without pid
	run --separate-stderr ralph selftest
	[ "$status" -ne 0 ]
	has "$stderr" "not in namespaces of its own"
}

@test 'without a namespace of its own for IPC, the host name, cgroups' {
	guest_without ipc
	falls 'namespaces of the host'
	guest_without uts,hostname
	falls 'namespaces of the host'
	guest_without cgroup
	falls 'namespaces of the host'
}

@test 'without a user of its own' {
	guest_without user
	falls 'another user'
}

@test 'without dropped capabilities' {
	guest_without capabilities
	falls capabilities
}

@test 'without no_new_privs nothing starts, and the probe sees it' {
	guest_without no-new-privs
	run --separate-stderr ralph selftest
	[ "$status" -ne 0 ]
	has "$stderr" "system call filter"
	must_exit 1 "${RALPH%/bin/ralph}/libexec/ralph/probe" no-new-privs
}

@test 'without the filter of system calls' {
	guest_without calls
	falls 'dangerous system calls'
}

@test 'without the filter of arguments' {
	guest_without arguments
	falls typing 'sockets of other kinds'
	guest_without arguments,userns
	falls 'new namespaces'
}

@test 'without Landlock, and without the pipes that take its place' {
	guest_without landlock,between
	falls 'more of a handed-in file'
}

@test 'without the network namespace' {
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	printf 'network:\n  tier: none\n' >"$XDG_CONFIG_HOME/ralph/config.yaml"
	guest_without network
	falls 'namespaces of the host' 'services on the loopback' 'interfaces' 'addresses around'
	# Abstract sockets are Landlock's too.
	guest_without network,landlock
	falls 'sockets of the host'
}

@test 'without closed descriptors' {
	guest_without descriptors
	falls 'descriptors that were not handed in'
}

@test 'without guards that cannot be traced' {
	guest_without dumpable,landlock
	falls 'the guards'
}

@test 'without limits and the limit of cores' {
	[ "$(ulimit -Hc)" != 0 ] || not_here "the hard limit is 0 already and cannot be raised to 1"
	guest_without limits
	falls 'more than the limits'
	guest_without core
	falls 'a core handler'
}

# bats test_tags=root
@test 'without mounts parted from those of the host' {
	only_root
	need unshare
	guest_without propagation
	export -f ralph must_exit fail get has same
	unshare -m --propagation shared bash -c 'ralph selftest --json >"$T/report"' || true
	same True "$(get '[r for r in j["rows"] if r["what"].startswith("mounts other") and "follows" in r.get("got", "")] != []' <"$T/report")"
}

@test 'without an environment of its own, and with a key of the host in it' {
	export HOST_TOKEN=a-secret-of-the-host-that-is-long
	ralph selftest >"$T/out" || fail "$(cat "$T/out")"
	guest_without variables "ANOTHER=$HOST_TOKEN"
	falls 'variables that' 'secrets of the host'
	lacks "$(cat "$T/report")" "$HOST_TOKEN"
}

@test 'without a gateway that refuses' {
	local libexec=$T/libexec

	cp -r "${RALPH%/bin/ralph}/libexec/ralph" "$libexec"
	cp "$BATS_TEST_DIRNAME/open-gateway.py" "$libexec/edge"
	export RALPH_LIBEXEC=$libexec
	falls 'the loopback of the host, however' 'metadata services' 'private networks' 'addresses without' 'names without' \
		'addresses of names'
}

@test 'a sandbox that does not pass is not used: nothing runs in it, it does not stay, and the error says why' {
	rm -f "$XDG_STATE_HOME/ralph/selftest-native"
	guest_without capabilities
	run --separate-stderr ralph run -- touch ran
	same 125 "$status"
	has "$stderr" "capabilities"
	has "$stderr" "ralph selftest --engine native"
	[ ! -e ran ]
	must_exit 125 ralph run -d -n "kept-${WS##*-}"
	wait_until is "kept-${WS##*-}" state stopped
	[ ! -e "$XDG_STATE_HOME/ralph/selftest-native" ]
}

@test 'the first sandbox that is kept is tested once for engine, version and kernel; one that is thrown away is not' {
	local stamp=$XDG_STATE_HOME/ralph/selftest-native

	rm -f "$stamp"
	ralph run --rm -- true
	[ ! -e "$stamp" ]
	ralph run -n "first-${WS##*-}" -- true
	has "$(cat "$stamp")" "$(uname -r)"
	same 1 "$(grep -c '"ralph-probe","suite"' "$XDG_STATE_HOME/ralph/sandboxes/first-${WS##*-}/events.jsonl")"
	ralph run -n "second-${WS##*-}" -- true
	same 0 "$(grep -c ralph-probe "$XDG_STATE_HOME/ralph/sandboxes/second-${WS##*-}/events.jsonl")"
	# What another kernel or version passed says nothing.
	sed -i 's/kernel/kernel 0/' "$stamp"
	ralph run -n "third-${WS##*-}" -- true
	same 1 "$(grep -c '"ralph-probe","suite"' "$XDG_STATE_HOME/ralph/sandboxes/third-${WS##*-}/events.jsonl")"
}

@test 'beside processes that come and go the self-test is whole' {
	ralph run -d
	ralph exec "$(sandbox)" sh -c 'touch busy; while [ ! -e stop ]; do /bin/true & /bin/true; done' &
	wait_until test -e busy
	for _ in 1 2 3 4 5; do
		ralph selftest "$(sandbox)" >"$T/out" || fail "$(cat "$T/out")"
		lacks "$(cat "$T/out")" 'NOT TESTED'
	done
	touch stop
	wait
}
