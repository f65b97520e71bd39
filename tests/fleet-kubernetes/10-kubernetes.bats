#!/usr/bin/env bats
# runs: root
# Workers of `ralph build --place` in a real Kubernetes: a control plane, a kubelet and containerd, on this machine. Not part of
# `make test`, as its programs take long to build: `make test-kubernetes`. The cluster's user is the one of rbac.yaml.
# shellcheck disable=SC2016 # text for the shell in the pod
load ../cli/helpers
load ../lib/kubernetes

setup_file() {
	only_root
	kube_up
}

teardown_file() {
	kube_down
}

setup() {
	:
}

teardown() {
	:
}

may() {
	as_user kubectl auth can-i "$@" -q 2>/dev/null
}

# idle_pod NAME: a pod of the template that ships, in which nothing runs but a sleep; it is $POD.
idle_pod() {
	kube_template "$KUBE_DIR/idle.yaml" '[sleep, "600"]'
	sed -e "s/@NAME@/$1/; s/@LOOP@/l1/; s/@TASK@/us-1/" "$KUBE_DIR/idle.yaml" | as_user kubectl create -f -
	wait_until -t 60 as_user kubectl -n ralph wait pod -l "job-name=$1" --for=condition=Ready --timeout=60s ||
		fail "$(kube -n ralph describe pods)" || return
	POD=$(as_user kubectl -n ralph get pods -l "job-name=$1" -o name)
}

# in_pod COMMAND…
in_pod() {
	as_user kubectl -n ralph exec -i "$POD" -c worker -- "$@"
}

# in_sandbox COMMAND…: in a sandbox of ralph's in the pod.
in_sandbox() {
	in_pod sh -c 'mkdir -p /home/agent/work && cd /home/agent/work && exec ralph run --rm -- "$@"' in_sandbox "$@"
}

@test 'the user of rbac.yaml may make Jobs and reach their pods, in that namespace, and nothing else' {
	may create jobs -n ralph
	may delete jobs -n ralph
	may create pods --subresource=exec -n ralph
	must_fail may create jobs -n default
	must_fail may get secrets -n ralph
	must_fail may create pods -n ralph
	must_fail may list nodes
}

@test 'in a pod of the template a plain user without a capability makes sandboxes' {
	idle_pod walls
	same $'CapBnd:\t0000000000000000' "$(in_pod grep CapBnd /proc/self/status)"
	same 1 "$(in_pod sed -n 's/^NoNewPrivs:\t//p' /proc/self/status)"
	same 'inside as 1000' "$(in_sandbox sh -c 'echo inside as $(id -u)')"
	has "$(in_pod ralph doctor)" 'The native engine is usable.'
}

@test 'the API of the cluster answers the pod, and nothing in its sandbox' {
	local url=https://10.79.0.1:6443/healthz
	idle_pod api
	same ok "$(in_pod curl -sk "$url")"
	same failed "$(in_sandbox sh -c 'curl -sk --max-time 10 "$1" || echo failed' sh "$url")"
	same failed "$(in_sandbox sh -c 'curl -sk --max-time 10 --noproxy "*" "$1" || echo failed' sh "$url")"
	must_fail in_pod ls /var/run/secrets/kubernetes.io
	# Not by its environment either.
	has "$(in_pod env)" KUBERNETES_SERVICE_HOST
	lacks "$(in_sandbox env)" KUBERNETES
}
