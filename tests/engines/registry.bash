# A registry of a test file's own, at a free port of the loopback: `load registry` after `load engine`. Between
# registry_start and registry_end it is at $REGISTRY, for docker, which trusts the loopback, and for podman, which is
# told to.
# shellcheck shell=bash

registry_start() {
	local dir=$ENGINE_DIR/registry

	mkdir "$dir"
	printf 'version: 0.1\nlog: {level: info}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: "127.0.0.1:0"}\n' \
		"$dir/data" >"$dir/config.yml"
	docker-registry serve "$dir/config.yml" >"$dir/log" 2>&1 3>&- &
	echo $! >"$dir/pid"
	wait_until -t 60 grep -q 'listening on' "$dir/log" || fail "$(cat "$dir/log")" || return
	REGISTRY=$(sed -nE 's/.*listening on (127\.0\.0\.1:[0-9]+).*/\1/p' "$dir/log" | head -n 1)
	printf '[[registry]]\nlocation = "%s"\ninsecure = true\n' "$REGISTRY" >"$dir/registries.conf"
	export REGISTRY CONTAINERS_REGISTRIES_CONF=$dir/registries.conf
}

registry_end() {
	local pid

	pid=$(cat "$ENGINE_DIR/registry/pid")
	kill "$pid"
	wait_until -t 30 not_running "$pid"
}
