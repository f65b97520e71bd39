#!/bin/bash
# scripts/dist.sh: a tarball with ralph that runs where it is unpacked, without root and without being installed.
# Prints where it is. Most programs are static; those that meet TLS, git or databases have the libraries that
# they need beside them, all but the C library's: the machine's own has to be at least as new as this one's.
# The same sources give the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."

build="build-dist"
version=$(sed -nE "s/^ *version: '([^']+)'.*/\1/p" meson.build | head -n 1)
name=ralph-$version-linux-$(uname -m)
root=$PWD/$build/root/$name
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}

scripts/build.sh $build --prefix=/ --libexecdir=libexec --datadir=share --mandir=share/man -Dtests=false -Dstrip=true
rm -rf "$build/root"
mkdir -p "$root/lib/ralph"
meson install -C $build --no-rebuild --quiet --destdir "$root"

# of_libc LIBRARY: it belongs to the C library, and must be the one of the machine.
of_libc() {
	case ${1##*/} in
	libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | libresolv.so.* | ld-linux*) return 0 ;;
	esac
	return 1
}

for program in "$root"/libexec/ralph/*; do
	patchelf --print-interpreter "$program" >/dev/null 2>&1 || continue
	while read -r library; do
		of_libc "$library" || cp --dereference "$library" "$root/lib/ralph/"
	done < <(ldd "$program" | sed -nE 's/.* => (\/[^ ]+) .*/\1/p')
	# A search path of the old kind: it holds for the libraries' own libraries as well.
	# shellcheck disable=SC2016 # for the loader
	patchelf --force-rpath --set-rpath '$ORIGIN/../../lib/ralph' "$program"
done
# Whose they are.
mkdir -p "$root/share/doc/ralph"
for library in "$root"/lib/ralph/*; do
	package=$(dpkg -S "*/${library##*/}" | head -n 1 | cut -d: -f1)
	cp "/usr/share/doc/$package/copyright" "$root/share/doc/ralph/$package.copyright"
done
cp README.md LICENSE "$root/"
tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u+w,go=rX \
	--directory="$build/root" "$name" | xz --threads=1 >"$build/$name.tar.xz"
echo "$PWD/$build/$name.tar.xz"
