#!/bin/bash
# scripts/bare.sh [--user] RELEASE TARGET: `git clone` and `make TARGET` (demo, test …) on a fresh system that
# has make, git and nothing else, as root or as a plain user with sudo. RELEASE is a name that debootstrap
# knows (bookworm, trixie), or Debian's number for one (12, 13). Needs root and debootstrap. The fresh system is
# kept under /var/tmp/ralph-bare-RELEASE; what a run adds is thrown away, but for the packages that apt has loaded.
# scripts/bare.sh --script RELEASE FILE [GIVEN…]: runs that script there instead, in /given, where it and the others are.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)

if [ "${1:-}" = --inside ]; then
	# In its own mount and pid namespaces, with the fresh system at $2.
	cd "$2"
	mount --rbind "$2" "$2"
	cd "$2"
	mkdir -p .old
	mount -t proc proc proc
	mount --rbind /sys sys # with its cgroups, which containers need
	mount -t tmpfs -o mode=0755 dev dev
	mkdir dev/pts
	mkdir -m 1777 dev/shm
	mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
	ln -s pts/ptmx dev/ptmx
	ln -s /proc/self/fd dev/fd
	for node in null zero full random urandom tty fuse; do
		[ -e "/dev/$node" ] || continue
		: >"dev/$node"
		mount --bind "/dev/$node" "dev/$node"
	done
	pivot_root . .old
	umount -l /.old
	cd /
	export HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
	update-ca-certificates >/dev/null 2>&1
	if [ "$4" = script ]; then
		cd /given
		exec bash "./$3"
	fi
	if [ "$4" = user ]; then
		apt-get -q update && apt-get -qy install --no-install-recommends sudo
		useradd -m plain
		echo 'plain ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/plain
		exec setpriv --reuid plain --regid plain --init-groups env HOME=/home/plain \
			bash -c "git clone -q /checkout ~/ralph && cd ~/ralph && make $3"
	fi
	git clone -q /checkout "$HOME/ralph"
	cd "$HOME/ralph"
	exec make "$3"
fi

usage() {
	echo "usage: scripts/bare.sh [--user] RELEASE TARGET, or scripts/bare.sh --script RELEASE FILE [GIVEN…]" >&2
	exit 2
}

as=root
case ${1:-} in
--user | --script)
	as=${1#--}
	shift
	;;
esac
[ $# -eq 2 ] || { [ "$as" = script ] && [ $# -gt 2 ]; } || usage
case $1 in
12) release=bookworm ;;
13) release=trixie ;;
*) release=$1 ;;
esac
target=$2
given=("${@:2}")
[ "$as" != script ] || target=$(basename "$2")
base=/var/tmp/ralph-bare-$release
[ "$(id -u)" -eq 0 ] || { echo "bare: needs root" >&2 && exit 1; }

if [ ! -e "$base/usr/bin/git" ]; then
	rm -rf "$base" "$base.new"
	mkdir -m 0755 "$base.new"
	debootstrap --variant=minbase --include=make,git,ca-certificates "$release" "$base.new" >&2
	mv "$base.new" "$base"
fi
if [ ! -O "$base" ] || [ -L "$base" ]; then
	echo "bare: $base is not ours" >&2
	exit 1
fi

work=$(mktemp -d /var/tmp/ralph-bare.XXXXXX)
trap 'umount -Rl "$work/root" 2>/dev/null; rm -rf --one-file-system "$work"' EXIT
mkdir "$work/upper" "$work/work" "$work/root"
mount -t overlay overlay -o "lowerdir=$base,upperdir=$work/upper,workdir=$work/work" "$work/root"
# Containers have overlays of their own, which do not lie on another one.
mkdir "$work/tmp" "$work/var-tmp"
chmod 1777 "$work/tmp" "$work/var-tmp"
mount --bind "$work/tmp" "$work/root/tmp"
mount --bind "$work/var-tmp" "$work/root/var/tmp"
if [ "$as" = script ]; then
	mkdir "$work/root/given"
	cp -r "${given[@]}" "$work/root/given/"
	for part in cache/apt/archives lib/apt/lists; do
		mkdir -p "$base-apt/$part/partial"
		mount --bind "$base-apt/$part" "$work/root/var/$part"
	done
else
	git clone -q --bare "$here" "$work/root/checkout"
fi
cp -L /etc/resolv.conf "$work/root/etc/resolv.conf"
# A way out through a proxy may need a certificate that only this machine has.
if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
	mkdir -p "$work/root/usr/local/share/ca-certificates"
	awk -v dir="$work/root/usr/local/share/ca-certificates" '/BEGIN/ { close(file); file = dir "/machine-" ++n ".crt" } file { print >file }' \
		/etc/ssl/certs/ca-certificates.crt
fi
echo '127.0.0.1 localhost' >"$work/root/etc/hosts" # debootstrap leaves it to the installer
git config --file "$work/root/etc/gitconfig" safe.directory "*"
env -i PATH="$PATH" unshare --mount --pid --fork --kill-child --uts --ipc "$here/scripts/bare.sh" --inside "$work/root" "$target" "$as" </dev/null
