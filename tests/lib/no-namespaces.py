#!/usr/bin/python3 -I
"""Runs a program under a filter that forbids new namespaces, as the default one of a container does: no-namespaces.py COMMAND…"""
import ctypes
import os
import struct
import sys

CLONE, UNSHARE, CLONE3 = {"x86_64": (56, 272, 435)}.get(os.uname().machine, (220, 97, 435))
LD, JEQ, JSET, RET = 0x20, 0x15, 0x45, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
EPERM, ENOSYS = 1, 38
NAMESPACES = 0x7E020000
NO_NEW_PRIVS, SET_SECCOMP, FILTER = 38, 22, 2

code = [
    (LD, 0, 0, 0),
    (JEQ, 0, 1, CLONE3), (RET, 0, 0, ERRNO | ENOSYS),
    (JEQ, 1, 0, CLONE), (JEQ, 0, 3, UNSHARE),
    (LD, 0, 0, 16), (JSET, 0, 1, NAMESPACES), (RET, 0, 0, ERRNO | EPERM),
    (RET, 0, 0, ALLOW),
]
rows = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *row) for row in code))
prog = ctypes.create_string_buffer(struct.pack("@HP", len(code), ctypes.addressof(rows)))
libc = ctypes.CDLL(None, use_errno=True)
zero = ctypes.c_ulong(0)
if libc.prctl(NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero) or \
        libc.prctl(SET_SECCOMP, ctypes.c_ulong(FILTER), ctypes.byref(prog), zero, zero):
    sys.exit("no-namespaces: the filter is refused: " + os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[1], sys.argv[1:])
