#!/bin/bash
# tests/lib/kubernetes.sh DIR PROGRAMS: a Kubernetes of one node, as the first process of a namespace: etcd, the control plane
# of PROGRAMS (scripts/kubernetes.sh), containerd and a kubelet. Everything lies in DIR but the control groups, and the only
# network is one of its own. tests/lib/kubernetes.bash starts it, and ends it with this process.
set -euo pipefail
dir=$1 programs=$2
address=10.79.0.1

daemon() {
	local name=$1
	shift

	setsid "$@" </dev/null >"$dir/log/$name" 2>&1 &
	echo $! >"$dir/$name.pid"
}

kubeconfig() {
	cat <<-EOF
		apiVersion: v1
		kind: Config
		clusters: [{name: bed, cluster: {server: "https://$address:6443", insecure-skip-tls-verify: true}}]
		users: [{name: me, user: {token: $1}}]
		contexts: [{name: bed, context: {cluster: bed, user: me}}]
		current-context: bed
	EOF
}

configure_containerd() {
	cat <<-EOF
		version = 2
		root = "$dir/containerd"
		state = "$dir/containerd-state"
		[grpc]
		address = "$dir/containerd.sock"
		[plugins."io.containerd.grpc.v1.cri"]
		sandbox_image = "docker.io/bed/pause:1"
		restrict_oom_score_adj = true
		stream_server_address = "127.0.0.1"
		[plugins."io.containerd.grpc.v1.cri".containerd]
		snapshotter = "overlayfs"
		[plugins."io.containerd.grpc.v1.cri".cni]
		bin_dir = "/usr/lib/cni"
		conf_dir = "$dir/cni"
	EOF
}

configure_kubelet() {
	cat <<-EOF
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		address: $address
		port: 10250
		authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
		authorization: {mode: AlwaysAllow}
		cgroupDriver: cgroupfs
		cgroupRoot: /
		enforceNodeAllocatable: []
		failSwapOn: false
		oomScoreAdj: 0
		makeIPTablesUtilChains: false
		resolvConf: ""
		evictionHard: {memory.available: "50Mi", nodefs.available: "1%", imagefs.available: "1%"}
		imageGCHighThresholdPercent: 100
		featureGates: {ProcMountType: true, LocalStorageCapacityIsolation: false}
		nodeStatusUpdateFrequency: 4s
	EOF
}

# kubelet: with mounts of its own. It would write settings for the whole machine; here it writes to files, which nobody else sees
# in the place of the settings: a /proc of which a part is hidden is none to make sandboxes in.
kubelet() {
	local name

	for name in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
		cat "/proc/sys/$name" >"$dir/sys/${name//\//.}"
		mount --bind "$dir/sys/${name//\//.}" "/proc/sys/$name"
	done
	exec "$programs/kubelet" --kubeconfig "$dir/admin.kubeconfig" --config "$dir/kubelet.yaml" --root-dir "$dir/kubelet" \
		--cert-dir "$dir/certs/kubelet" --container-runtime remote --container-runtime-endpoint "unix://$dir/containerd.sock" \
		--hostname-override node1 --node-ip $address --pod-infra-container-image docker.io/bed/pause:1 \
		--seccomp-profile-root "$dir/seccomp" --feature-gates ProcMountType=true --v 2
}

if [ "${3:-}" = kubelet ]; then
	kubelet
fi
umask 022
mkdir "$dir"/{log,cni,sys,certs,seccomp,token}
ip link set lo up
ip link add bed0 type bridge
ip address add $address/24 dev bed0
ip link set bed0 up
hostname localhost
for who in admin user; do
	(umask 077 && openssl rand -hex 16 >"$dir/token/$who")
	(umask 077 && kubeconfig "$(cat "$dir/token/$who")" >"$dir/$who.kubeconfig")
done
(umask 077 && printf '%s,admin,1,system:masters\n%s,you@example.com,2\n' "$(cat "$dir/token/admin")" "$(cat "$dir/token/user")" >"$dir/tokens")
openssl genrsa -out "$dir/certs/accounts.key" 2048 2>/dev/null
configure_containerd >"$dir/containerd.toml"
configure_kubelet >"$dir/kubelet.yaml"
echo '{"cniVersion": "0.4.0", "name": "bed", "plugins": [{"type": "bridge", "bridge": "bed0", "isGateway": false,
	"ipam": {"type": "host-local", "dataDir": "'"$dir"'/addresses", "subnet": "10.79.0.0/24", "rangeStart": "10.79.0.16",
	"gateway": "'$address'", "routes": [{"dst": "0.0.0.0/0"}]}}]}' >"$dir/cni/bed.conflist"

etcd="http://127.0.0.1:2379"
daemon etcd etcd --data-dir "$dir/etcd" --listen-client-urls $etcd --advertise-client-urls $etcd \
	--listen-peer-urls http://127.0.0.1:2380 --unsafe-no-fsync
daemon containerd containerd -c "$dir/containerd.toml"
daemon apiserver "$programs/kube-apiserver" --etcd-servers $etcd --secure-port 6443 --bind-address $address \
	--advertise-address $address --cert-dir "$dir/certs" --token-auth-file "$dir/tokens" --authorization-mode RBAC \
	--service-account-issuer https://bed --service-account-signing-key-file "$dir/certs/accounts.key" \
	--service-account-key-file "$dir/certs/accounts.key" --service-cluster-ip-range 10.78.0.0/24 --allow-privileged=true \
	--feature-gates ProcMountType=true --kubelet-preferred-address-types InternalIP --endpoint-reconciler-type none
# The controllers end at once where the API is not there yet.
until kubectl --kubeconfig "$dir/admin.kubeconfig" get --raw /healthz >/dev/null 2>&1; do
	sleep 0.5
done
daemon controllers "$programs/kube-controller-manager" --kubeconfig "$dir/admin.kubeconfig" \
	--service-account-private-key-file "$dir/certs/accounts.key" \
	--controllers job,namespace,nodelifecycle,garbagecollector,podgc,ttl-after-finished,serviceaccount,serviceaccount-token \
	--node-monitor-grace-period 20s --pod-eviction-timeout 5s --node-monitor-period 2s --leader-elect=false --port 0 \
	--feature-gates TTLAfterFinished=true
daemon scheduler "$programs/kube-scheduler" --kubeconfig "$dir/admin.kubeconfig" --leader-elect=false --port 0
daemon kubelet unshare --mount --propagation private "$0" "$dir" "$programs" kubelet
touch "$dir/started"
# What daemons leave behind is reaped here: bash waits for every child while it waits for one.
while :; do
	sleep 1000 &
	wait $! || true
done
