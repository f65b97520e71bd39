# A real Kubernetes of one node for tests/fleet-kubernetes, see kubernetes.sh: `load ../lib/kubernetes` after
# `load ../cli/helpers`.
# shellcheck shell=bash

# kube_up: starts it in $KUBE_DIR. It ends with the shell that called this, at the latest.
kube_up() {
	local cli=$BATS_TEST_DIRNAME/../lib

	need etcd containerd runc kubectl unshare nsenter openssl || return
	[ -x "${RALPH_KUBERNETES:-}/kubelet" ] || fail 'no control plane in RALPH_KUBERNETES; run: make test-kubernetes' || return
	KUBE_DIR=$(mktemp -d /tmp/rk-XXXXXXXX)
	chmod 0755 "$KUBE_DIR"
	setpriv --pdeathsig KILL unshare --net --uts --ipc --pid --fork --kill-child --mount-proc \
		"$cli/kubernetes.sh" "$KUBE_DIR" "$RALPH_KUBERNETES" </dev/null >"$KUBE_DIR/out" 2>&1 3>&- &
	KUBE_UNSHARE=$!
	export KUBE_DIR KUBE_UNSHARE
	wait_until -t 180 test -e "$KUBE_DIR/started" || fail "$(kube_says)" || return
	KUBE_INIT=$(pgrep -P "$KUBE_UNSHARE")
	export KUBE_INIT
	kube_images || return
	cp "${RALPH%/bin/ralph}/share/ralph/seccomp/ralph.json" "$KUBE_DIR/seccomp/"
	wait_until -t 120 kube_ready || fail "$(kube_says)"
	wait_until -t 60 kube_has_accounts || fail "$(kube_says)"
	kube apply -f "${RALPH%/bin/ralph}/share/ralph/fleet/rbac.yaml" >"$KUBE_DIR/rbac" 2>&1 || fail "$(cat "$KUBE_DIR/rbac")"
	wait_until -t 60 kube -n ralph get serviceaccount default >/dev/null 2>&1 || return
	chown ralph-test "$KUBE_DIR/user.kubeconfig"
}

kube_says() {
	tail -n 5 "$KUBE_DIR/out" "$KUBE_DIR"/log/*
}

kube_ready() {
	[ "$(kube get nodes -o 'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}' 2>/dev/null)" = True ]
}

kube_has_accounts() {
	kube -n default get serviceaccount default >/dev/null 2>&1
}

# kube_images: one for the network of a pod, and a root without a system, for what is mounted into it.
kube_images() {
	local root=$KUBE_DIR/root dir

	mkdir -p "$root/pause" "$root/node"/{usr,proc,sys,dev,etc,run,tmp,var/tmp,home/agent}
	echo 'int pause(void); int main(void) { for (;;) pause(); }' | gcc -static -x c -o "$root/pause/pause" - || return
	for dir in bin sbin lib lib32 lib64; do
		[ ! -L "/$dir" ] || cp -a "/$dir" "$root/node"
	done
	printf 'root:x:0:0::/root:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/bash\n' >"$root/node/etc/passwd"
	printf 'root:x:0:\nagent:x:1000:\n' >"$root/node/etc/group"
	chmod 1777 "$root/node/tmp" "$root/node/var/tmp"
	for dir in pause node; do
		python3 "$BATS_TEST_DIRNAME/../lib/image.py" "docker.io/bed/$dir:1" "$root/$dir" "$root/$dir.tar" || return
		wait_until -t 60 in_kube ctr -a "$KUBE_DIR/containerd.sock" -n k8s.io images import "$root/$dir.tar" >"$KUBE_DIR/import" 2>&1 ||
			fail "$(cat "$KUBE_DIR/import")" || return
	done
}

# kube_down: with its first process everything ends that was started in it. Mounts are its own.
kube_down() {
	local dir

	[ -n "${KUBE_UNSHARE:-}" ] || return 0
	kill -9 "${KUBE_INIT:-$KUBE_UNSHARE}" 2>/dev/null || true
	wait_until -t 60 kube_is_gone || return
	rm -rf "$KUBE_DIR"
	# The control groups of its pods are those of this machine.
	for dir in /sys/fs/cgroup/*/kubepods /sys/fs/cgroup/kubepods; do
		[ ! -d "$dir" ] || find "$dir" -depth -type d -exec rmdir {} + 2>/dev/null || true
	done
}

kube_is_gone() {
	! kill -0 "$KUBE_UNSHARE" 2>/dev/null
}

# in_kube COMMAND…: as root, on the node.
in_kube() {
	nsenter -t "$KUBE_INIT" --net --uts --ipc --pid --mount --wd="$PWD" "$@"
}

# kube ARG…: kubectl as the one who may do everything.
kube() {
	in_kube kubectl --kubeconfig "$KUBE_DIR/admin.kubeconfig" "$@"
}

# as_user COMMAND…: on the node, as the test user, who is the one of rbac.yaml in the cluster.
as_user() {
	in_kube setpriv --reuid ralph-test --regid ralph-test --clear-groups env KUBECONFIG="$KUBE_DIR/user.kubeconfig" "$@"
}

# kube_template OUT [COMMAND]: the template that ships, for this cluster: without the lines for later releases, and with this
# machine's system and ralph in the place of an image. COMMAND, a JSON list, is the Job's own process.
kube_template() {
	python3 - "${RALPH%/bin/ralph}" "$1" "${2:-}" <<-'EOF'
		import re, sys
		prefix, out, command = sys.argv[1:]
		with open(prefix + "/share/ralph/fleet/job.yaml") as f:
		    text = re.sub(r"^.*# 1\.\d\d.*\n", "", f.read(), flags=re.M)
		def put(old, new):
		    global text
		    assert text.count(old) == 1, old
		    text = text.replace(old, new)
		put("registry.example.com/ralph-worker:latest", "docker.io/bed/node:1\n          imagePullPolicy: Never")
		put('requests: { cpu: "2", memory: 4Gi }', "requests: { cpu: 50m, memory: 64Mi }")
		put("limits: { memory: 8Gi }", "limits: { memory: 1Gi }")
		put("          volumeMounts:\n", "          volumeMounts:\n            - { name: usr, mountPath: /usr, readOnly: true }\n"
		    "            - { name: ralph, mountPath: /usr/local, readOnly: true }\n")
		put("      volumes:\n", "      volumes:\n        - { name: usr, hostPath: { path: /usr } }\n"
		    f"        - {{ name: ralph, hostPath: {{ path: {prefix} }} }}\n")
		if command:
		    put("[ralph, worker, --hold]", command)
		with open(out, "w") as f:
		    f.write(text)
	EOF
}
