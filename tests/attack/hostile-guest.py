#!/usr/bin/python3 -I
"""In the place of the guest: a sandbox whose pid 1 was taken over and lies to the supervisor. What it says
is in the file `hostile-case` beside this one."""
import ctypes
import os
import signal
import socket
import struct
import sys
import time

UP, SPAWNED, ENDED, ERROR, BORN = 20, 21, 22, 24, 35  # src/wire/wire.h
SYS_CLONE, CLONE_PARENT = {"x86_64": 56}.get(os.uname().machine, 220), 0x8000
MAGIC = 0x52414C31


def frame(kind, ident, body=b"", magic=MAGIC, flags=0, length=None, fds=0):
    return struct.pack("=6I", magic, kind, ident, flags, len(body) if length is None else length, fds) + body


def u32(v):
    return struct.pack("=I", v)


def text(s):
    return u32(len(s) + 1) + s + b"\0"


def send(data, fds=()):
    try:
        socket.send_fds(sock, [data], fds) if fds else sock.send(data)
    except OSError:
        pass


def up():
    send(frame(UP, 0, u32(7)))


def with_fds(n, kind, ident):
    null = os.open("/dev/null", os.O_RDONLY)
    send(frame(kind, ident, u32(1), fds=n), [null] * n)


def lying_memfd():
    fd = os.memfd_create("lie")
    os.truncate(fd, 100)
    send(frame(ERROR, 0, flags=1, length=4 << 20), [fd])


CASES = {
    "garbage": lambda: send(os.urandom(500)),
    "empty": lambda: send(b""),
    "short": lambda: send(b"RAL"),
    "other-magic": lambda: send(frame(UP, 0, u32(7), magic=1)),
    "unknown-type": lambda: (up(), send(frame(9999, 5, u32(1)))),
    "clients-type": lambda: (up(), send(frame(1, 5, u32(1)))),
    "oversized": lambda: (sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20), send(frame(UP, 0, b"x" * 200000))),
    "lying-length": lambda: send(frame(UP, 0, u32(7), length=3 << 30)),
    "many-fds": lambda: with_fds(250, UP, 0),
    "lying-fds": lambda: send(frame(UP, 0, u32(7), fds=31)),
    "lying-memfd": lying_memfd,
    "spawned-before-up": lambda: send(frame(SPAWNED, 1, u32(1))),
    "wrong-ids": lambda: (up(), [send(frame(k, i, u32(1))) for k in (SPAWNED, ENDED) for i in (0, 7, 0xFFFFFFFF)]),
    "ended-first": lambda: (up(), time.sleep(0.05), send(frame(ENDED, 1, u32(0)))),
    "up-twice": lambda: (up(), up()),
    "error-without-end": lambda: send(frame(ERROR, 0, u32(1) + u32(5) + b"abcde")),
    "error-with-escapes": lambda: send(frame(ERROR, 0, u32(1) + text(b"\x1b]52;c;eA==\x07\xff\xfe" + b"A" * 3000))),
    "terminal-unasked": lambda: (up(), time.sleep(0.05), with_fds(1, SPAWNED, 1)),
    "flood": lambda: (up(), [send(frame(ENDED, i, u32(0))) for i in range(20000)]),
    "code-out-of-range": lambda: (up(), time.sleep(0.05), send(frame(SPAWNED, 1, u32(1))), send(frame(ENDED, 1, u32(0xFFFFFFFF)))),
}

with open(os.path.join(os.path.dirname(os.path.realpath(__file__)), "hostile-case")) as f:
    case = f.read().strip()
assert sys.argv[1] == "launch"
sock = socket.socket(fileno=int(sys.argv[-1]))
if case == "not-born":
    send(frame(BORN, 0, u32(0)))
    sys.exit(0)
# A child of the supervisor's, as the guest is.
pid = ctypes.CDLL(None).syscall(SYS_CLONE, CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
if pid:
    send(frame(BORN, 0, u32(pid)))
    os._exit(0)
# Frames of ours follow that one; whoever does not listen any more must not keep us.
time.sleep(0.05)
sock.setblocking(False)
CASES[case]()
time.sleep(0.1)
