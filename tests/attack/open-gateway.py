#!/usr/bin/python3
"""Stands in for the edge and lets everything through: every request gets 200, every name an address."""
import selectors
import socket
import struct

HEAD = struct.Struct("=6I")
GW_CONFIG, GW_LISTEN, GW_START = 64, 65, 66

ctl = socket.socket(fileno=3)
listeners = []
while True:
    data, fds, _, _ = socket.recv_fds(ctl, 1 << 20, 33)
    if not data:
        raise SystemExit
    kind, flags = HEAD.unpack_from(data)[1], HEAD.unpack_from(data)[3]
    if kind == GW_LISTEN:
        listeners += [socket.socket(fileno=fd) for fd in (fds[1:] if flags else fds)]
    if kind == GW_START:
        break
sel = selectors.DefaultSelector()
sel.register(ctl, selectors.EVENT_READ)
for s in listeners:
    s.setblocking(True)
    sel.register(s, selectors.EVENT_READ)
while True:
    for key, _ in sel.select():
        s = key.fileobj
        if s is ctl:
            if not ctl.recv(1 << 20):
                raise SystemExit
        elif s.type == socket.SOCK_DGRAM:
            q, peer = s.recvfrom(512)
            answer = q[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + q[12:] + b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4\xc6\x12\0\1"
            s.sendto(answer, peer)
        else:
            c, _ = s.accept()
            c.settimeout(2)
            try:
                c.recv(4096)
                c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            except OSError:
                pass
            c.close()
