# The engines, one row each: `load engine` after the helpers. Every file of tests/engines runs unchanged
# for each of them; RALPH_TEST_ENGINE names the row. tests/run.sh goes through `engine_rows`.
#
# A row WORD is four things:
#   WORD_start    once for a file: starts what the engine needs, with all it keeps below $ENGINE_DIR
#   WORD_end      ends it, by pid
#   WORD_lacks    words for what the engine honestly has not; a test asks with `with WORD…`
#   WORD_env      printed as NAME=VALUE: what ralph is called with
#
# Words: plan (--dry-run prints one), terminal, limits (a bound on all processes together), network (names,
# and what is allowed and denied, are the gateway's), bed (it can be started in the network of lib/netbed, which for a
# plain user is another user namespace), ports, walls (protected paths, a root to be read only), loop, fresh (of one that
# is started again only the home is as it was), selftest (ralph's own program runs inside).
# shellcheck shell=bash

ENGINES_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ENGINE=${RALPH_TEST_ENGINE:-native}

# engine_rows WHO: the rows to go through for `root`, for a plain `user`, and what root has the plain user go
# through besides (`rootless`).
engine_rows() {
	case $1 in
	root) echo native docker podman sbx docker-sandbox ;;
	user) echo native podman sbx docker-sandbox ;;
	rootless) echo podman ;;
	esac
}

# ---- native ----
native_start() {
	need bwrap
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

# ---- podman: a storage of the test's own; of a plain user, rootless ----
podman_start() {
	need podman runc python3
	local dir=$ENGINE_DIR

	mkdir "$dir/podman"
	# A rootless one keeps a process and its state in there.
	mkdir -m 0700 "$dir/run"
	[ "$(id -u)" -eq 0 ] || export XDG_RUNTIME_DIR=$dir/run
	cat >"$dir/podman/containers.conf" <<-END
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
		podman unshare rm -rf "$ENGINE_DIR/podman/data"
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
	cp "$ENGINES_DIR/../lib/fake-sbx" "$ENGINE_DIR/bin/$1"
}
fake_env() {
	echo "RALPH_ENGINE=$ENGINE"
	echo "PATH=$ENGINE_DIR/bin:$PATH"
}
# Its machine is bounded by whoever runs it, its network is a proxy of its own, and what the host would run is
# found after each command; what was in /tmp is in the machine that is started again.
fake_lacks() {
	echo limits network ports walls fresh selftest # whose state cannot be hidden there
}
sbx_start() {
	fake_row sbx
}
sbx_end() {
	:
}
sbx_lacks() {
	fake_lacks
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
	esac
}

# with WORD…: this test needs what the words stand for.
with() {
	local word

	for word; do
		[[ " $("${ENGINE}_lacks" | xargs) " != *" $word "* ]] || not_here "$ENGINE has no $word"
	done
}

# only ENGINE…: a promise about these alone.
only() {
	[[ " $* " == *" $ENGINE "* ]] || not_here "of $*"
}

setup_file() {
	ENGINE_DIR=$(mktemp -d "/tmp/re-XXXXXX") || return
	export ENGINE_DIR
	"${ENGINE}_start" && engine_stamp
}

# The self-test of a first use once for a file, not in each test: they have a state of their own.
engine_stamp() {
	(
		engine_setup
		ralph run -- true
		[[ " $("${ENGINE}_lacks" | xargs) " == *" selftest "* ]] ||
			cp "$XDG_STATE_HOME/ralph/selftest-$ENGINE" "$ENGINE_DIR/stamp" 2>/dev/null
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

	[ ! -f "$ENGINE_DIR/stamp" ] || {
		[ -d "$XDG_STATE_HOME/ralph" ] || mkdir -m 0700 "$XDG_STATE_HOME/ralph"
		cp "$ENGINE_DIR/stamp" "$XDG_STATE_HOME/ralph/selftest-$ENGINE"
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
