#!/bin/bash
# Builds the four programs of a Kubernetes control plane for tests/fleet-kubernetes, from the source package `kubernetes` of
# the distribution: its binary package has only the command kubectl. The first run takes about 20 minutes of two
# processors; later runs find the programs in the cache.
#   scripts/kubernetes.sh           build what is missing; print the directory of the programs
#   scripts/kubernetes.sh --path    only print that directory
#   scripts/kubernetes.sh --remove  remove the cache
# RALPH_KUBERNETES_DIR is another place for the cache. It takes 4 GB while it builds and 0.4 GB when it is done.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=${RALPH_KUBERNETES_DIR:-/var/tmp/ralph-kubernetes-$(id -u)}
# What the source package calls itself is asked of apt, and this is what the programs then say that they are.
programs="kubelet kube-apiserver kube-controller-manager kube-scheduler"

say() {
	echo "kubernetes: $*" >&2
}

# /var/tmp is everyone's: a directory that somebody else has put there is not used.
check_owner() {
	[ ! -e "$dir" ] && [ ! -L "$dir" ] && return
	[ ! -L "$dir" ] && [ -d "$dir" ] && [ -O "$dir" ] && return
	say "$dir is not a directory of ours; remove it"
	exit 1
}

# get_source: into $dir/source. The machine's own package lists are left alone: they rarely name source packages.
get_source() {
	local apt=$dir/apt mirror release options

	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/parts" "$dir/source"
	release=$(. /etc/os-release && echo "$VERSION_CODENAME")
	# The machine's own mirror.
	# shellcheck disable=SC2016 # the words are apt's
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $release" | head -n 1)
	[ -n "$mirror" ] || {
		say "no list of packages here names '$release'"
		exit 1
	}
	printf 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$mirror" "$release" >"$apt/list"
	options=(-q -o "Dir::Etc::SourceList=$apt/list" -o "Dir::Etc::SourceParts=$apt/parts" -o "Dir::State::Lists=$apt/lists"
		-o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root)
	apt-get "${options[@]}" update >&2
	(cd "$dir/source" && apt-get "${options[@]}" source --download-only kubernetes >&2)
}

# generate: a checkout lacks the description of the types that the API server publishes; the tree's own tool writes it.
generate() {
	local kube=k8s.io/kubernetes found

	go build -o "$dir/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
	found=$(grep -rl --include=*.go -E '^// ?\+k8s:openapi-gen=(true|package|x)?' pkg cmd vendor/k8s.io staging/src |
		xargs -n1 dirname | sed -e 's,^staging/src/,vendor/,' -e "s,^,$kube/," | sort -u | paste -sd,)
	"$dir/openapi-gen" --logtostderr -i "$found" -p $kube/pkg/generated/openapi -O zz_generated.openapi \
		-h hack/boilerplate/boilerplate.generatego.txt -r "$dir/violations" --output-base "$GOPATH/src"
}

build() {
	local version flags name

	export GOPATH=$dir/go GO111MODULE=off GOCACHE=$dir/go-cache CGO_ENABLED=0 GOFLAGS="" GOMAXPROCS=2
	mkdir -p "$GOPATH/src/k8s.io" "$dir/new"
	[ -e "$GOPATH/src/k8s.io/kubernetes/.unpacked" ] || {
		rm -rf "$GOPATH/src/k8s.io/kubernetes"
		dpkg-source --no-check -x "$dir"/source/kubernetes_*.dsc "$GOPATH/src/k8s.io/kubernetes" >&2
		touch "$GOPATH/src/k8s.io/kubernetes/.unpacked"
	}
	version=v$(sed -n 's/^Version: //p' "$dir"/source/kubernetes_*.dsc | head -n1 | sed -e 's/.*really//' -e 's/-.*//')
	flags="-s -w -X k8s.io/component-base/version.gitVersion=$version -X k8s.io/client-go/pkg/version.gitVersion=$version"
	flags+=" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$(cut -d. -f2 <<<"$version")"
	cd "$GOPATH/src/k8s.io/kubernetes"
	[ -e pkg/generated/openapi/zz_generated.openapi.go ] || generate >&2
	for name in $programs; do
		say "building $name $version ($(date +%H:%M:%S))"
		go build -p 2 -ldflags "$flags" -o "$dir/new/$name" "./cmd/$name" >&2
	done
}

case ${1:-} in
--path)
	echo "$dir/bin"
	exit
	;;
--remove)
	check_owner
	# Go makes what it unpacks read-only.
	[ ! -d "$dir" ] || chmod -R u+w "$dir"
	rm -rf "$dir"
	exit
	;;
esac

check_owner
if [ ! -d "$dir/bin" ]; then
	umask 022
	mkdir -p "$dir"
	ls "$dir"/source/kubernetes_*.dsc >/dev/null 2>&1 || get_source
	(build)
	chmod -R u+w "$dir/go" "$dir/go-cache"
	rm -rf "$dir/go" "$dir/go-cache" "$dir/apt" "$dir/openapi-gen"
	mv "$dir/new" "$dir/bin"
fi
echo "$dir/bin"
