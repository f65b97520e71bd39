# Engines of a test file's own, for the tests of images: `load images`. images_start in setup_file,
# images_stop in teardown_file; in between DOCKER_HOST and podman's settings lead to them and to no other.
# shellcheck shell=bash

images_start() {
	local dir=$BATS_FILE_TMPDIR

	mkdir -p "$dir/podman" "$dir/tmp"
	cat >"$dir/podman/containers.conf" <<-END
		[engine]
		runtime = "runc"
		cgroup_manager = "cgroupfs"
		events_logger = "file"
		tmp_dir = "$dir/podman/tmp"
		[containers]
		default_ulimits = ["nofile=1024:20000", "nproc=4096:4096"]
	END
	cat >"$dir/podman/storage.conf" <<-END
		[storage]
		driver = "overlay"
		graphroot = "$dir/podman/root"
		runroot = "$dir/podman/run"
	END
	export DOCKER_HOST=unix://$dir/docker.sock DOCKER_BUILDKIT=0
	export CONTAINERS_CONF=$dir/podman/containers.conf CONTAINERS_STORAGE_CONF=$dir/podman/storage.conf
	export TMPDIR=$dir/tmp CONTAINERS_REGISTRIES_CONF=$dir/podman/registries.conf
	images_start_registry
	images_start_docker
}

# dockerd makes no bridge and no rule of a firewall: what is built here needs no network.
images_start_docker() {
	local dir=$BATS_FILE_TMPDIR

	/usr/sbin/dockerd --data-root "$dir/docker" --exec-root "$dir/docker-exec" -H "$DOCKER_HOST" \
		--pidfile "$dir/docker.pid" --iptables=false --ip6tables=false --ip-forward=false --bridge=none \
		>"$dir/docker.log" 2>&1 3>&- &
	echo $! >"$dir/docker.started"
	images_wait docker_answers || { tail "$dir/docker.log" >&2 && return 1; }
}

docker_answers() {
	docker version >/dev/null 2>&1
}

# A registry at a free port of the loopback: REGISTRY.
images_start_registry() {
	local dir=$BATS_FILE_TMPDIR

	mkdir -p "$dir/registry"
	printf 'version: 0.1\nlog: {level: info}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: "127.0.0.1:0"}\n' \
		"$dir/registry" >"$dir/registry.yml"
	docker-registry serve "$dir/registry.yml" >"$dir/registry.log" 2>&1 3>&- &
	echo $! >"$dir/registry.started"
	images_wait grep -q 'listening on' "$dir/registry.log" || { cat "$dir/registry.log" >&2 && return 1; }
	REGISTRY=$(sed -nE 's/.*listening on (127\.0\.0\.1:[0-9]+).*/\1/p' "$dir/registry.log" | head -n 1)
	export REGISTRY
	printf '[[registry]]\nlocation = "%s"\ninsecure = true\n' "$REGISTRY" >"$dir/podman/registries.conf"
}

images_wait() {
	local end=$((SECONDS + 60))

	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

images_stop() {
	local dir=$BATS_FILE_TMPDIR name pid

	for name in registry docker; do
		[ -f "$dir/$name.started" ] || continue
		pid=$(cat "$dir/$name.started")
		kill "$pid"
		images_wait gone "$pid" || kill -9 "$pid"
	done
	# What both keep mounted lies below their own directory.
	grep -oF " $dir/" /proc/self/mountinfo >/dev/null || return 0
	awk '{ print $5 }' /proc/self/mountinfo | grep -F "$dir/" | sort -r | xargs -r umount -l
}

gone() {
	! grep -qs '^State:.*[^Z]' <(grep -s '^State:' "/proc/$1/status" | grep -v 'Z (zombie)')
}
