#!/usr/bin/python3
"""oracle.py HOST SECRET [whole]: what a program inside sees of the answers of a host with a credential.

The host says what it is told. It is told every beginning of SECRET, in every spelling, at the end of a piece; with `whole`
the secret that it was sent. Each answer is a line: form, spelling, status, the lengths of its TLS records and chunks in their
order, and its bytes.
"""
import base64
import json
import os
import socket
import ssl
import sys
import urllib.parse

HOST, SECRET = sys.argv[1:3]
SPELLINGS = {
    "plain": lambda s: s,
    "hex": lambda s: s.encode().hex(),
    "HEX": lambda s: s.encode().hex().upper(),
    "%XX": lambda s: "".join("%%%02X" % ord(c) for c in s),
    "\\uXXXX": lambda s: "".join("\\u%04x" % ord(c) for c in s),
    "\\xXX": lambda s: "".join("\\x%02x" % ord(c) for c in s),
    "&#N;": lambda s: "".join("&#%d;" % ord(c) for c in s),
    "&#xN;": lambda s: "".join("&#x%x;" % ord(c) for c in s),
    "UTF-16LE": lambda s: s.encode("utf-16-le").decode("latin-1"),
    "UTF-16BE": lambda s: s.encode("utf-16-be").decode("latin-1"),
    "base64": lambda s: base64.b64encode(s.encode()).decode().rstrip("="),
    "base64 behind 1": lambda s: base64.b64encode(b":" + s.encode()).decode().rstrip("="),
    "base64 behind 2": lambda s: base64.b64encode(b"x:" + s.encode()).decode().rstrip("="),
    "base64url": lambda s: base64.urlsafe_b64encode(s.encode()).decode().rstrip("="),
    "base64 twice": lambda s: base64.b64encode(base64.b64encode(s.encode())).decode().rstrip("="),
    "hex of %XX": lambda s: "".join("%%%02X" % ord(c) for c in s).encode().hex(),
}
FORMS = ["length", "chunked", "sse", "gzip", "gzip-sse"]


class Records:
    """TLS over a socket, with the length of each record that carries data."""

    def __init__(self, host):
        proxy = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"])
        self.sock = socket.create_connection((proxy.hostname, proxy.port), 60)
        self.sock.sendall(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.some(1)
        assert b" 200 " in head, head
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        self.inside, self.outside = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.inside, self.outside, server_hostname=host)
        self.raw, self.plain = b"", b""
        while True:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self.sock.sendall(self.outside.read())
                self.record()
        self.lengths = []

    def some(self, n):
        data = self.sock.recv(n)
        if not data:
            raise EOFError
        return data

    def record(self):
        """Gives TLS one record; its length."""
        while len(self.raw) < 5 or len(self.raw) < 5 + int.from_bytes(self.raw[3:5], "big"):
            self.raw += self.some(65536)
        n = 5 + int.from_bytes(self.raw[3:5], "big")
        self.inside.write(self.raw[:n])
        self.raw = self.raw[n:]
        return n

    def send(self, data):
        self.tls.write(data)
        self.sock.sendall(self.outside.read())

    def read(self, n):
        """The next n bytes."""
        while len(self.plain) < n:
            length = self.record()
            try:
                while data := self.tls.read(65536):
                    self.plain += data
                    if length:
                        self.lengths.append(length)
                    length = 0
            except ssl.SSLWantReadError:
                pass
        data, self.plain = self.plain[:n], self.plain[n:]
        return data

    def line(self):
        out = b""
        while not out.endswith(b"\n"):
            out += self.read(1)
        return out.decode("latin-1").rstrip("\r\n")


def ask(conn, fields, body):
    """status, lengths of chunks, bytes."""
    conn.lengths = []
    conn.send((f"POST /pieces HTTP/1.1\r\nHost: {HOST}\r\n{fields}Content-Length: {len(body)}\r\n\r\n").encode() + body)
    status, head = conn.line(), {}
    while field := conn.line():
        name, _, value = field.partition(": ")
        head[name.lower()] = value
    if "content-length" in head:
        return status, [], conn.read(int(head["content-length"]))
    chunks, data = [], b""
    while True:
        chunks.append(int(conn.line(), 16))
        data += conn.read(chunks[-1])
        if conn.line() == "" and chunks[-1] == 0:
            return status, chunks, data


def show(conn, form, name, status, chunks, data):
    print(json.dumps([form, name, status, conn.lengths, chunks, data.decode("latin-1")]))


def shown(conn, form, name, body):
    """The connection for what comes next: a refused answer ends the old one."""
    status, chunks, data = ask(conn, "", body)
    show(conn, form, name, status, chunks, data)
    return conn if " 200 " in status else Records(HOST)


def beginnings(spell):
    """Every beginning at the end of a piece; the next piece goes on otherwise."""
    for n in range(1, len(SECRET)):
        yield 'data: {"text": "' + spell(SECRET[:n])
        yield '!"}\n\n'


def main():
    conn = Records(HOST)
    for form in FORMS:
        if sys.argv[3:] == ["whole"]:
            body = json.dumps({"form": form, "pieces": ["<", "AUTH", ">\n\n"]}).encode()
            conn = shown(conn, form, "whole", body)
            continue
        for name, spell in SPELLINGS.items():
            body = json.dumps({"form": form, "pieces": list(beginnings(spell))}).encode()
            conn = shown(conn, form, name, body)
    fields = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n"
    show(conn, "websocket", "", *ask(conn, fields, b""))


main()
