#!/usr/bin/env python3
"""image.py OUT.tar: an image made of this machine's own packages: the programs below, the libraries they are
linked with and what they read. No registry, no network; the same for every container engine."""
import glob
import os
import subprocess
import sys
import tarfile

PROGRAMS = """awk base64 basename bash cat chmod cmp cp curl cut date dd df diff dirname du echo env expr false find
    findmnt getent git grep gzip head hostname id kill ldd ln ls md5sum mkdir mkfifo mktemp mount mv nproc nsenter od
    printf ps pwd python3 readlink realpath rm rmdir script sed seq setpriv setsid sh sha256sum sleep sort stat stty
    tail tar tee test timeout touch tr true tty umount uname uniq unshare wc whoami xargs yes""".split()
TREES = [*glob.glob("/usr/lib/python3.*"), "/usr/lib/git-core", "/usr/share/git-core", "/etc/ssl/certs",
         "/usr/share/ca-certificates", "/usr/lib/locale/C.utf8", "/etc/alternatives"]
SKIPPED = {"__pycache__", "test", "tests", "dist-packages", "site-packages", "idlelib", "ensurepip", "lib2to3"}
LIBRARIES = ["libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2", "libgcc_s.so.1"]
LINKS = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"]
DIRS = ["dev", "etc", "home", "mnt", "opt", "proc", "root", "run", "srv", "sys", "tmp", "var", "var/lib"]


def canonical(path):
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def add(path, out):
    """The file, and every link on the way to it."""
    path = canonical(path)
    while path not in out:
        out.add(path)
        if not os.path.islink(path):
            return
        path = canonical(os.path.join(os.path.dirname(path), os.readlink(path)))


def linked_with(paths):
    text = subprocess.run(["ldd", *paths], capture_output=True, text=True, check=False).stdout
    return {w for line in text.splitlines() for w in line.split() if w.startswith("/") and os.path.exists(w)}


def collect():
    out = set()
    for name in PROGRAMS:
        for d in ("/usr/bin", "/usr/sbin"):
            if os.path.exists(os.path.join(d, name)):
                add(os.path.join(d, name), out)
    for tree in TREES:
        for base, dirs, names in os.walk(tree):
            dirs[:] = [d for d in dirs if d not in SKIPPED and not d.startswith("config-")]
            for name in names:
                out.add(canonical(os.path.join(base, name)))
    binary = []
    for path in sorted(out):
        if os.path.isfile(path) and not os.path.islink(path):
            with open(path, "rb") as f:
                if f.read(4) == b"\x7fELF":
                    binary.append(path)
    needed = linked_with(binary)
    for library in LIBRARIES:
        needed |= {os.path.join(os.path.dirname(n), library) for n in needed if "/libc.so" in n}
    for path in needed:
        if os.path.exists(path):
            add(path, out)
    return out


def main(target):
    with tarfile.open(target, "w") as tar:
        for name in DIRS:
            info = tarfile.TarInfo(name)
            info.type, info.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            tar.addfile(info)
        for link in LINKS:
            if os.path.islink(link):
                tar.add(link, link.lstrip("/"))
        for path in sorted(collect()):
            if os.path.lexists(path):
                tar.add(path, path.lstrip("/"), recursive=False)


main(sys.argv[1])
