#!/usr/bin/python3 -I
"""In the place of bwrap: a sandbox whose pid 1 was taken over and lies to the supervisor. What it says
is in the file `hostile-case` beside this one."""
import os
import socket
import struct
import sys
import time

UP, SPAWNED, ENDED, ERROR = 17, 18, 19, 20
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

if "--version" in sys.argv:
    print("bubblewrap 0.8.0")
    sys.exit(0)
with open(os.path.join(os.path.dirname(os.path.realpath(__file__)), "hostile-case")) as f:
    case = f.read().strip()
sock = socket.socket(fileno=int(sys.argv[-1]))
# Whoever does not listen any more must not keep us.
sock.setblocking(False)
CASES[case]()
time.sleep(0.1)
