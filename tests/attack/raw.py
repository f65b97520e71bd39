#!/usr/bin/python3
"""raw.py HOST REQUEST [SECONDS]: one request, with backslash escapes, over TLS to HOST through the gateway; prints when each read
came (tenths of a second), how long it was, and at the end all bytes."""
import socket
import ssl
import sys
import time

HOST, REQUEST = sys.argv[1], sys.argv[2]
WAIT = float(sys.argv[3]) if sys.argv[3:] else 10


def dial():
    s = socket.create_connection(("127.0.0.1", 3128), 20)
    s.sendall(f"CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}:443\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        head += s.recv(1)
    assert b" 200 " in head, head
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(s, server_hostname=HOST)


def main():
    data = open(REQUEST[1:], "rb").read() if REQUEST.startswith("@") else \
        REQUEST.encode("latin-1").decode("unicode_escape").encode("latin-1")
    t = dial()
    t.settimeout(WAIT)
    t.sendall(data)
    start, out, reads = time.time(), b"", []
    try:
        while got := t.recv(1 << 20):
            reads.append((int((time.time() - start) * 10), len(got)))
            out += got
    except (TimeoutError, OSError) as e:
        reads.append((int((time.time() - start) * 10), repr(e)))
    print("reads", reads)
    sys.stdout.write(out.decode("latin-1"))
    print()


main()
