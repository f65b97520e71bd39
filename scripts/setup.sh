#!/bin/bash
# Installs the packages one purpose needs, if any is missing: scripts/setup.sh PURPOSE, a word of those below.
# A run that finds everything in place only asks dpkg. RALPH_NO_SETUP=1 leaves the machine alone.
set -euo pipefail

build="gcc libc6-dev linux-libc-dev musl-tools meson ninja-build pkgconf scdoc git
	libjansson-dev libyaml-dev libmd-dev libcap-ng-dev libseccomp-dev libssl-dev libnghttp2-dev
	libidn2-dev libunistring-dev libcurl4-openssl-dev libgit2-dev libsqlite3-dev libcmocka-dev python3"
test="bats bubblewrap groff-base zsh fish tmux procps util-linux iproute2 openssl curl wget nodejs libcap2-bin socat strace
	python3-botocore gh dbus-daemon gnome-keyring libsecret-tools cargo golang-go rustc python3-pip python3-setuptools
	nghttp2 nginx-light python3-grpcio python3-h2 python3-httpx docker.io docker-registry podman nftables runc uidmap busybox-static xz-utils qemu-system-x86"
demo="openssl util-linux"
# Some packages of nodejs bring npm along, and exclude that of the distribution.
npm=
command -v npm >/dev/null || npm="nodejs npm"
test="$test $npm"
# Large, and for a few tests, which are skipped without them: CI has them.
[ -z "${CI:-}" ] || test="$test chromium default-jdk-headless"
# Services, which a machine of a person's is not made to run for tests/fleet: it skips where they are missing.
[ -z "${CI:-}" ] || test="$test slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge openssh-server"
# Not in every release: awscli has a stand-in, and docker-cli is the command that docker.io has brought before.
extra_test="awscli docker-cli"
lint="clang clang-format clang-tidy cppcheck shellcheck libclang-rt-dev"
soak="util-linux iproute2 openssl curl procps"
coverage="gcovr"
screenshots="tmux util-linux openssl iproute2 nodejs $npm"
kubernetes="$test golang-go dpkg-dev etcd-server containerd containernetworking-plugins runc"
# kubectl may have come from elsewhere, as the same file.
command -v kubectl >/dev/null || kubernetes="$kubernetes kubernetes-client"
package="debhelper dpkg-dev fakeroot lintian debootstrap patchelf xz-utils $npm"
bench="bubblewrap haproxy nghttp2 nginx-light tinyproxy squid podman docker.io runc uidmap busybox-static nodejs socat ripgrep iproute2 util-linux $npm"

die() {
	echo "setup: $*" >&2
	exit 1
}

extra=
case ${1:-} in
build) want=$build ;;
test)
	want="$build $test"
	extra=$extra_test
	;;
demo) want="$build $demo" ;;
lint) want="$build $lint" ;;
soak) want="$build $soak" ;;
coverage) want="$build $coverage" ;;
bench)
	want="$build $bench"
	extra=docker-cli
	;;
package) want="$build $package" ;;
screenshots) want="$build $screenshots" ;;
kubernetes) want="$build $kubernetes" ;;
*) die "usage: scripts/setup.sh build|demo|test|lint|soak|coverage|bench|package|screenshots|kubernetes" ;;
esac
[ -z "${RALPH_NO_SETUP:-}" ] || exit 0
read -ra want <<<"${want//[$'\n\t']/ }"
command -v dpkg-query >/dev/null ||
	die "no dpkg here; install the like of: ${want[*]}, then set RALPH_NO_SETUP=1"

missing=()
find_missing() {
	local have p

	# Exits 1 when a name is unknown to dpkg; the list of those that are known is what counts.
	have=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${want[@]}" 2>/dev/null) || true
	missing=()
	for p in "${want[@]}"; do
		[[ $'\n'$have$'\n' == *$'\n'"$p installed"$'\n'* ]] || missing+=("$p")
	done
}

# A package that this release does not have is not asked for.
add_extra() {
	local p

	for p in $extra; do
		dpkg-query -W "$p" >/dev/null 2>&1 || [ -z "$(apt-cache madison "$p" 2>/dev/null)" ] || missing+=("$p")
	done
}

find_missing
add_extra
[ ${#missing[@]} -gt 0 ] || exit 0
by_hand="run as root: apt-get update && apt-get install -y ${missing[*]}"

as_root=()
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || die "packages are missing and there is no sudo; $by_hand"
	as_root=(sudo)
	# Nobody is there to type a password: fail at once instead of waiting for one.
	[ -t 0 ] || as_root+=(-n)
	"${as_root[@]}" true 2>/dev/null || die "packages are missing and sudo is refused; $by_hand"
fi

apt() {
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0 "$@" >&2
}

echo "setup: installing ${missing[*]}" >&2
apt update || apt update || die "apt-get update failed twice; $by_hand"
find_missing
add_extra
apt install -y --no-install-recommends "${missing[@]}" ||
	die "apt-get install failed; $by_hand"
find_missing
[ ${#missing[@]} -eq 0 ] || die "still missing after apt-get install: ${missing[*]}"
