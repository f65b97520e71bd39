#!/usr/bin/python3 -I
"""Starts the guest as any user of the machine can: directly, with frames of our own. For each case one line: whether a program of
ours ran, and the capabilities that it had; or the guest's error.
  guest-frames.py GUEST [PROGRAM [CASE]]"""
import os
import select
import socket
import struct
import subprocess
import sys
import tempfile

SETUP, SPAWN, ENDED, ERROR, ROOT, BORN = 16, 17, 22, 24, 27, 35  # src/wire/wire.h
BIND_RO, TMPFS, PROC, SYMLINK = 0, 2, 3, 5  # src/wire/root-proto.h
MAGIC, WAIT = 0x52414C31, 60


def u32(*v):
    return struct.pack(f"={len(v)}I", *v)


def text(s):
    return u32(len(s) + 1) + s.encode() + b"\0"


def frame(kind, ident=0, body=b"", fds=0):
    return struct.pack("=6I", MAGIC, kind, ident, 0, len(body), fds) + body


def row(kind, source, target):
    return u32(kind) + text(source) + text(target) + u32(0o755) + struct.pack("=Q", 0)


SYSTEM = [row(BIND_RO, d, d) for d in ("/usr", "/bin", "/lib", "/lib64") if os.path.isdir(d)]


def root(*rows, uid=1000, inside=0, program=""):
    return frame(ROOT, 0, u32(2) + text("x") + u32(uid, uid, inside) + text(program) + u32(len(rows)) + b"".join(rows))


def setup():
    return frame(SETUP, 0, u32(2) + text("") + u32(0, 1, 0, 0, 1, 1) + text("/") + u32(0, 0))


def spawn(out):
    argv = ["/bin/sh", "-c", "grep -E '^(Cap|NoNewPrivs)' /proc/self/status || echo CapEff: unknown"]
    body = u32(0, 0, 0) + text("/") + u32(len(argv)) + b"".join(map(text, argv)) + u32(0)
    null = os.open("/dev/null", os.O_RDWR)
    return frame(SPAWN, 1, body, fds=3), [null, out, null]


OWN = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else "/bin/sh"
WHOLE = SYSTEM + [row(PROC, "", "/proc")]
CASES = {
    "spawn first": ["SPAWN"],
    "spawn before the set-up": [root(*WHOLE), "SPAWN"],
    "spawn between two roots": [root(*WHOLE), "SPAWN", root(*WHOLE), setup()],
    "the set-up without a root": [setup(), "SPAWN"],
    "the set-up twice": [root(*WHOLE), setup(), setup(), "SPAWN"],
    "a root without /proc": [root(*SYSTEM), setup(), "SPAWN"],
    "a /proc that is a directory of the host": [root(*SYSTEM, row(TMPFS, "", "/proc")), setup(), "SPAWN"],
    "root inside": [root(*WHOLE, uid=0), setup(), "SPAWN"],
    "no user at all": [root(*WHOLE, uid=0xFFFFFFFF), setup(), "SPAWN"],
    "the host's root": [root(row(BIND_RO, "/", "/host"), *WHOLE), setup(), "SPAWN"],
    "links to the host's root": [root(row(SYMLINK, "/host", "/usr"), *WHOLE), setup(), "SPAWN"],
    "another kernel": [root(*WHOLE, inside=1, program=OWN), setup(), "SPAWN"],
    "a kernel that there is not": [root(*WHOLE, inside=2, program="/bin/sh"), setup(), "SPAWN"],
    "as it should be": [root(*WHOLE), setup(), "SPAWN"],
}


def start(entry):
    """The guest's process, and our end of its line."""
    if entry != "container":
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        words = [entry] if entry else []
        guest = subprocess.Popen([sys.argv[1], *words, str(theirs.fileno())], pass_fds=[theirs.fileno()], env={})
        theirs.close()
        return guest, ours
    with tempfile.TemporaryDirectory() as place, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.bind(f"{place}/line")
        s.listen()
        s.settimeout(WAIT)
        guest = subprocess.Popen([sys.argv[1], f"{place}/line"], env={})
        return guest, s.accept()[0]


def play(entry, frames):
    """What programs of ours have written, and the guest's error."""
    guest, line = start(entry)
    error = ""
    with tempfile.TemporaryFile() as out:
        try:
            for f in frames:
                data, fds = spawn(out.fileno()) if f == "SPAWN" else (f, [])
                socket.send_fds(line, [data], fds)
        except OSError:
            pass  # it has ended
        try:
            while select.select([line], [], [], WAIT)[0]:
                got = line.recv(65536)
                kind = struct.unpack("=I", got[4:8])[0] if got else 0
                if kind == ERROR:
                    error = ": " + got[32:].rstrip(b"\0").decode()
                if not got or kind in (ENDED, ERROR):
                    break
        except OSError:
            pass
        line.close()
        guest.wait(WAIT)
        out.seek(0)
        return out.read().decode().split(), error


for entry in ("launch", "inside", "", "container"):
    for name, frames in CASES.items():
        if sys.argv[3:] in ([], [name]):
            said, error = play(entry, frames)
            print(f"guest {entry or 'LINE'}, {name}: {' '.join(said) if said else 'nothing ran' + error}")
