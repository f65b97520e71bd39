# The engines, one row each: `load engine` after the helpers. Every file of tests/engines runs unchanged
# for each of them; RALPH_TEST_ENGINE names the row. tests/run.sh goes through `engine_rows`.
#
# A row WORD is four things:
#   WORD_start    once for a file: starts what the engine needs, with all it keeps below $ENGINE_DIR
#   WORD_end      ends it, by pid
#   WORD_lacks    words for what the engine honestly has not; a test asks with `with WORD…`, or has what ralph
#                 says of it instead: `holds`, `bounds`
#   WORD_env      printed as NAME=VALUE: what ralph is called with
#
# Words: plan (--dry-run prints one), terminal, limits (a bound on all processes together), bed (it can be started in the
# network of lib/netbed, which for a plain user is another user namespace), ports, walls (mounts of ralph's), loop, selftest
# (ralph's own program runs inside), facts (its /proc tells of the host's kernel: mounts, sockets, who may look at pid 1).
#
# Of these the audit says what is not so (WORD_says), and a test checks that it does: fresh (of one that is started again
# only the home is as it was), transparent (programs that ignore the proxy's variables have a network), record (what was
# denied is in ralph's log), loopback (there is no other interface), pins (what holds something protected cannot be put
# aside), root (nothing else can be written). And these the tests know another answer for: masks (files are hidden),
# host-edits (the host's changes of what is protected are told from the agent's), again (a protected file that the host
# replaces is protected again while the sandbox runs), pids, memory, limits.open_files, fast (it is not an emulation).
# shellcheck shell=bash disable=SC2154 # bats sets status and stderr

ENGINES_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ENGINE=${RALPH_TEST_ENGINE:-native}

# engine_rows UID: the rows that this user goes through, each with the kind of user that has it (tests/lib/jobs.sh). Root has
# an unprivileged user go through those that differ without root.
engine_rows() {
	if [ "$1" -eq 0 ]; then
		echo root:native root:docker root:docker-remote root:podman root:sbx root:docker-sandbox user:podman user:gvisor user:vm:emulated
	else
		echo user:native user:gvisor user:podman user:sbx user:docker-sandbox user:vm:emulated
	fi
}

# ---- native ----
native_start() {
	:
}
native_end() {
	:
}
native_lacks() {
	:
}
native_env() {
	echo RALPH_ENGINE=native
}

# ---- a machine of QEMU's, which is emulated: what is slow in it has the word fast ----
vm:emulated_start() {
	need qemu-system-x86_64 apt-get dpkg-deb
	export LEAST_MEMORY=512 # the machine has 256
	MACHINE=$RALPH_TEST_CACHE/machine
	export MACHINE
	[ ! -d "$MACHINE/ralph/vm/modules" ] || return 0
	MACHINE=$ENGINE_DIR/machine
	! XDG_CACHE_HOME=$MACHINE "$RALPH" engine setup vm:emulated >"$ENGINE_DIR/setup" 2>&1 || return 0
	! grep -q "'apt-get download' failed" "$ENGINE_DIR/setup" || {
		export ENGINE_ABSENT="the distribution's kernel cannot be fetched here"
		return 0
	}
	fail "$(cat "$ENGINE_DIR/setup")"
}
vm:emulated_end() {
	:
}
vm:emulated_lacks() {
	echo fast
}
vm:emulated_env() {
	echo RALPH_ENGINE=vm:emulated
	echo "XDG_CACHE_HOME=$MACHINE"
}

# ---- gvisor: Debian's runsc, from a directory of the tests' own (scripts/runsc.sh) ----
gvisor_start() {
	[ -x "${RALPH_TEST_RUNSC:-}" ] || need runsc
	[ ! -O "$RALPH_TEST_RUNSC" ] || [ "$(id -u)" -eq 0 ] || not_here "a runsc that only root can change is needed"
	need python3
}
gvisor_end() {
	:
}
gvisor_lacks() {
	echo facts
	[ "$(id -u)" -eq 0 ] || echo limits
}
gvisor_env() {
	echo RALPH_ENGINE=gvisor
	[ ! -x "${RALPH_TEST_RUNSC:-}" ] || echo "RALPH_RUNSC=$RALPH_TEST_RUNSC"
}

# ---- docker: a daemon of the test's own ----
docker_start() {
	need dockerd docker python3
	local dir=$ENGINE_DIR

	mkdir "$dir/docker"
	dockerd --data-root "$dir/docker/data" --exec-root "$dir/docker/exec" -H "unix://$dir/docker/socket" \
		--pidfile "$dir/docker/pid" --iptables=false --ip6tables=false --ip-forward=false --bridge=none \
		>"$dir/docker/log" 2>&1 3>&- &
	echo $! >"$dir/daemon"
	export DOCKER_HOST=unix://$dir/docker/socket
	wait_until -t 60 docker info >/dev/null 2>&1 || fail "$(tail -5 "$dir/docker/log")" || return
	docker import "$(engine_image)" ralph-test:image >"$dir/import" 2>&1 || fail "$(cat "$dir/import")"
}
docker_end() {
	local pid

	pid=$(cat "$ENGINE_DIR/daemon")
	kill "$pid"
	wait_until -t 30 not_running "$pid"
}
docker_lacks() {
	:
}
docker_env() {
	echo RALPH_ENGINE=docker
	echo RALPH_IMAGE_NAME=ralph-test:image
	echo "DOCKER_HOST=unix://$ENGINE_DIR/docker/socket"
}

# ---- docker on another machine: a daemon with a network of its own, reached by TCP alone. The files are the same. ----

# far_link NETNS-PID NAME ADDRESS-HERE ADDRESS-THERE: a wire between the network of that process (0: of the test
# itself) and the engine's.
far_link() {
	local machine

	machine=$(cat "$ENGINE_DIR/machine")
	ip link add "$2h" type veth peer name "$2e" netns "$machine" || return
	if [ "$1" -ne 0 ]; then
		ip link set "$2h" netns "$1"
		nsenter -t "$1" -n ip address add "$3/30" dev "$2h"
		nsenter -t "$1" -n ip link set "$2h" up
	else
		ip address add "$3/30" dev "$2h"
		ip link set "$2h" up
	fi
	nsenter -t "$machine" -n ip address add "$4/30" dev "$2e"
	nsenter -t "$machine" -n ip link set "$2e" up
}
docker-remote_start() {
	need dockerd docker python3 ip iptables nsenter unshare
	local dir=$ENGINE_DIR n=$((BASHPID % 60000))

	# The daemon's machine: a network namespace that this process keeps.
	unshare --net sleep infinity 3>&- &
	echo $! >"$dir/machine"
	wait_until far_machine_apart "$!"
	nsenter -t "$!" -n ip link set lo up
	# Addresses that no other test of this machine has, whatever runs beside it.
	echo "10.$((100 + n / 15000)).$((n / 60 % 250)).$((n % 60 * 4))" >"$dir/net"
	FAR_HERE=$(far_address 1) FAR_THERE=$(far_address 2)
	far_link 0 "rfar$n" "$FAR_HERE" "$FAR_THERE" || return
	mkdir "$dir/docker"
	nsenter -t "$(cat "$dir/machine")" -n dockerd --data-root "$dir/docker/data" --exec-root "$dir/docker/exec" \
		-H tcp://0.0.0.0:2375 --tls=false --pidfile "$dir/docker/pid" --ip6tables=false >"$dir/docker/log" 2>&1 3>&- &
	echo $! >"$dir/daemon"
	export DOCKER_HOST=tcp://$FAR_THERE:2375
	wait_until -t 60 docker info >/dev/null 2>&1 || fail "$(tail -5 "$dir/docker/log")" || return
	docker import "$(engine_image)" ralph-test:image >"$dir/import" 2>&1 || fail "$(cat "$dir/import")"
}
far_machine_apart() {
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}
# far_address N: the N-th address of the wire between the two machines.
far_address() {
	local net

	net=$(cat "$ENGINE_DIR/net")
	echo "${net%.*}.$((${net##*.} + $1))"
}
docker-remote_end() {
	docker_end || return
	kill "$(cat "$ENGINE_DIR/machine")" # and the wire with it
}
# A connection to a server inside, and a mount that is made later, would have to come from this machine.
docker-remote_lacks() {
	echo ports again
}
docker-remote_env() {
	echo RALPH_ENGINE=docker
	echo RALPH_IMAGE_NAME=ralph-test:image
	if [ -z "${BED_PID:-}" ]; then
		echo "DOCKER_HOST=tcp://$(far_address 2):2375"
		return
	fi
	# ralph is in another network then, which has a wire of its own.
	far_link "$BED_PID" "rfar$((BED_PID % 60000))" 172.30.255.253 172.30.255.254 >&2
	echo DOCKER_HOST=tcp://172.30.255.254:2375
}

# ---- podman: a storage of the test's own; of a plain user, rootless ----
podman_start() {
	need podman runc python3
	local dir=$ENGINE_DIR

	mkdir "$dir/podman"
	# A rootless one keeps a process and its state in there.
	mkdir -m 0700 "$dir/run"
	[ "$(id -u)" -eq 0 ] || export XDG_RUNTIME_DIR=$dir/run
	# Limits that every machine grants: those of podman 5 are higher than a root without all capabilities may set.
	cat >"$dir/podman/containers.conf" <<-END
		[containers]
		default_ulimits = ["nofile=1024:4096", "nproc=4096:4096"]
		[engine]
		runtime = "runc"
		cgroup_manager = "cgroupfs"
		events_logger = "file"
	END
	cat >"$dir/podman/storage.conf" <<-END
		[storage]
		driver = "overlay"
		graphroot = "$dir/podman/data"
		rootless_storage_path = "$dir/podman/data"
		runroot = "$dir/podman/run"
	END
	export CONTAINERS_CONF=$dir/podman/containers.conf CONTAINERS_STORAGE_CONF=$dir/podman/storage.conf
	podman import "$(engine_image)" localhost/ralph-test:image >"$dir/import" 2>&1 || fail "$(cat "$dir/import")"
}
podman_end() {
	if [ "$(id -u)" -eq 0 ]; then
		umount -R "$ENGINE_DIR/podman/data/overlay" 2>/dev/null || :
	else
		podman unshare rm -rf "$ENGINE_DIR"/podman/{data,vfs,vfs-run}
		podman system migrate # ends the process that keeps its user namespace
	fi
}
podman_lacks() {
	[ "$(id -u)" -eq 0 ] || echo limits bed
}
podman_env() {
	echo RALPH_ENGINE=podman
	echo RALPH_IMAGE_NAME=localhost/ralph-test:image
	echo "CONTAINERS_CONF=$ENGINE_DIR/podman/containers.conf"
	echo "CONTAINERS_STORAGE_CONF=$ENGINE_DIR/podman/storage.conf"
	[ "$(id -u)" -eq 0 ] || echo "XDG_RUNTIME_DIR=$ENGINE_DIR/run"
}

# ---- Docker Sandboxes, both command lines: a fake that refuses what they do not have ----
fake_row() {
	need bwrap nsenter python3
	mkdir "$ENGINE_DIR/bin"
	. "$ENGINES_DIR/../lib/sbx.bash"
	fake_sbx_files "$ENGINES_DIR/../lib" "$ENGINE_DIR/bin" "$1"
}
fake_env() {
	echo "RALPH_ENGINE=$ENGINE"
	echo "PATH=$ENGINE_DIR/bin:$PATH"
}
fake_lacks() {
	echo ports walls fresh selftest record loopback pins root masks host-edits pids limits.open_files
}
# What the audit says instead.
fake_says() {
	case $1 in
	fresh) echo "stays until ralph rm" ;;
	transparent) echo "programs that ignore HTTP_PROXY and HTTPS_PROXY reach nothing" ;;
	record) echo "on Docker's record alone" ;;
	loopback) echo "held by Docker's own proxy" ;;
	pins) echo "nothing of the workspace is read-only inside" ;;
	root) echo "the user inside may become root there" ;;
	esac
}
sbx_start() {
	export LEAST_MEMORY=1024
	fake_row sbx
}
sbx_end() {
	:
}
sbx_lacks() {
	fake_lacks
}
sbx_says() {
	fake_says "$1"
}
sbx_env() {
	fake_env
}
docker-sandbox_start() {
	fake_row docker
}
docker-sandbox_end() {
	:
}
docker-sandbox_lacks() {
	fake_lacks
	echo memory transparent
}
docker-sandbox_says() {
	fake_says "$1"
}
docker-sandbox_env() {
	fake_env
}

# ---- for all of them ----

# engine_image: an image of this machine's own packages, as a tar; made once and kept.
engine_image() {
	local cache=${RALPH_TEST_CACHE:-$ENGINE_DIR} image

	image=$cache/image-$(cksum <"$ENGINES_DIR/image.py" | cut -d' ' -f1).tar
	if [ ! -s "$image" ]; then
		mkdir -p "$cache"
		python3 "$ENGINES_DIR/image.py" "$image.$$" && mv "$image.$$" "$image"
	fi
	echo "$image"
}

not_running() {
	! kill -0 "$1" 2>/dev/null
}

# Calls ralph's engine by its own program, as a user would look at it.
engine() {
	case $ENGINE in
	docker | podman) "$ENGINE" "$@" ;;
	docker-remote) docker "$@" ;;
	esac
}

lacks_word() {
	[[ " $("${ENGINE}_lacks" | xargs) " == *" $1 "* ]]
}

# with WORD…: this test needs what the words stand for.
with() {
	local word

	for word; do
		! lacks_word "$word" || not_here "$ENGINE has no $word"
	done
}

# holds WORD COMMAND…: the command succeeds; where the engine has no WORD, ralph says so before anything is run.
holds() {
	local word=$1
	shift

	if ! lacks_word "$word"; then
		"$@"
	elif [ -n "${BED_PID:-}" ]; then
		has "$(bed "$RALPH" audit "$WS")" "$("${ENGINE}_says" "$word")"
	else
		has "$(ralph audit "$WS")" "$("${ENGINE}_says" "$word")"
	fi
}

# bounds WHAT ARG…: ralph with these arguments; where the engine has no such bound, it refuses, and names both. false then.
bounds() {
	local what=$1
	shift

	[ "$what" = limits.open_files ] || ! lacks_word limits || not_here "$ENGINE has no limits"
	if ! lacks_word "$what"; then
		ralph "$@"
		return
	fi
	run --separate-stderr ralph "$@"
	same 2 "$status" || exit 1
	has "$stderr" "engine $ENGINE" || exit 1
	has "$stderr" "$what" || exit 1
	return 1
}

# only ENGINE…: a promise about these alone.
only() {
	[[ " $* " == *" $ENGINE "* ]] || not_here "of $*"
}

setup_file() {
	ENGINE_DIR=$(mktemp -d "/tmp/re-XXXXXX") || return
	export ENGINE_DIR
	"${ENGINE}_start" && { [ -n "${ENGINE_ABSENT:-}" ] || engine_stamp; }
}

# The self-test of a first use once for a file, not in each test: they have a state of their own.
engine_stamp() {
	(
		engine_setup
		ralph run -- true
		[[ " $("${ENGINE}_lacks" | xargs) " == *" selftest "* ]] ||
			cp "$XDG_STATE_HOME/ralph/selftest-${ENGINE%-remote}" "$ENGINE_DIR/stamp" 2>/dev/null
		ralph_teardown
	)
}

teardown_file() {
	local bad=0

	"${ENGINE}_end" || bad=1
	rm -rf --one-file-system "$ENGINE_DIR" || bad=1
	return $bad
}

engine_env() {
	local line

	[ -z "${ENGINE_ABSENT:-}" ] || skip "$ENGINE_ABSENT"
	[ ! -f "$ENGINE_DIR/stamp" ] || {
		[ -d "$XDG_STATE_HOME/ralph" ] || mkdir -m 0700 "$XDG_STATE_HOME/ralph"
		cp "$ENGINE_DIR/stamp" "$XDG_STATE_HOME/ralph/selftest-${ENGINE%-remote}"
	}
	while read -r line; do
		export "${line?}"
	done < <("${ENGINE}_env")
}

engine_setup() {
	ralph_setup || return
	engine_env
	# shellcheck disable=SC2034 # a name for the test's sandbox
	S=t-${WS##*/ws-}
}

setup() {
	engine_setup
}
