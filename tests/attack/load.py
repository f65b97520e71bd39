#!/usr/bin/python3
"""load.py LOAD ARG…: bounded floods from inside a sandbox. Prints `up` when the load stands, then holds it
until stdin ends; every load stops by itself after a minute."""
import os
import resource
import socket
import sys
import threading
import time

PROXY = ("127.0.0.1", 3128)
END = time.time() + 60


def dial():
    s = socket.create_connection(PROXY, 10)
    return s


def hold():
    print("up", flush=True)
    threading.Thread(target=lambda: (time.sleep(max(0, END - time.time())), os._exit(0)), daemon=True).start()
    sys.stdin.read()


def tunnel():
    s = dial()
    s.sendall(b"CONNECT allowed.test:22 HTTP/1.1\r\nHost: allowed.test:22\r\n\r\n")
    got = b""
    while b"line server" not in got:
        data = s.recv(4096)
        if not data:
            raise SystemExit("tunnel: %r" % got)
        got += data
    return s


def idle(n):
    """Tunnels that are open and silent; the rest connections that never say a word."""
    return [tunnel() if i % 10 == 0 else dial() for i in range(n)]


def slow_readers(n):
    out = []
    for _ in range(n):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect(PROXY)
        s.sendall(b"GET http://allowed.test/endless HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
        s.recv(1)
        out.append(s)
    return out


def slow_writers(n):
    out = []
    for _ in range(n):
        s = dial()
        s.sendall(b"POST http://allowed.test/x HTTP/1.1\r\nHost: allowed.test\r\nContent-Le")
        out.append(s)
    return out


def pour(first, block, total):
    """Sends `block` again and again until `total` bytes are out or the other side ends."""
    s = dial()
    sent = 0
    try:
        s.sendall(first)
        while sent < total and time.time() < END:
            s.sendall(block)
            sent += len(block)
    except OSError:
        pass
    s.settimeout(5)
    try:
        answer = s.recv(200)
    except OSError:
        answer = b""
    print("sent", sent, answer[:30], flush=True)


def heads(total):
    """Heads without an end: a connection that was ended is followed by the next."""
    sent, block = 0, b"X-Fill: " + b"y" * 8000 + b"\r\n"
    while sent < total and time.time() < END:
        s = dial()
        try:
            s.sendall(b"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n")
            for _ in range(512):
                s.sendall(block)
                sent += len(block)
        except OSError:
            pass
        s.close()
    print("sent", sent, flush=True)


def refusals(n):
    for i in range(n):
        s = dial()
        s.sendall(b"CONNECT refused%d.test:443 HTTP/1.1\r\nHost: refused%d.test:443\r\n\r\n" % (i % 1000, i % 1000))
        s.recv(4096)
        s.close()
    print("up", flush=True)


def main():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    what, n = sys.argv[1], int(sys.argv[2])
    if what == "idle":
        kept = idle(n)
        hold()
    elif what == "readers":
        kept = slow_readers(n)
        hold()
    elif what == "writers":
        kept = slow_writers(n)
        hold()
    elif what == "heads":
        heads(n)
    elif what == "head":
        pour(b"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nX: ", b"y" * 65536, n)
    elif what == "chunks":
        pour(b"POST http://allowed.test/x HTTP/1.1\r\nHost: allowed.test\r\nTransfer-Encoding: chunked\r\n\r\n",
             b"8000\r\n" + b"z" * 0x8000 + b"\r\n", n)
    elif what == "refusals":
        refusals(n)
    del soft


main()
