#!/usr/bin/python3
"""packages.py DIR ADDRESS PORT: a private registry, over TLS: npm's left-pad and pip's tidy, for whoever has the token.

DIR has packages.pem (key and certificate) and packages.token: every request must say `Authorization: Bearer` and that token.
Written there: packages.log, METHOD PATH and whether the token was right, a line per request; and packages.ready.
"""
import base64
import hashlib
import http.server
import io
import json
import os
import ssl
import sys
import tarfile
import zipfile

DIR, ADDRESS, PORT = sys.argv[1], sys.argv[2], int(sys.argv[3])


def npm_tarball():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, text in (("package.json", json.dumps({"name": "left-pad", "version": "1.0.0"})), ("index.js", "")):
            info = tarfile.TarInfo(f"package/{name}")
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def wheel():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("tidy.py", "")
        z.writestr("tidy-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tidy\nVersion: 1.0\n")
        z.writestr("tidy-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr("tidy-1.0.dist-info/RECORD", "")
    return out.getvalue()


TARBALL, WHEEL = npm_tarball(), wheel()


def packument(host):
    sum_ = base64.b64encode(hashlib.sha512(TARBALL).digest()).decode()
    return json.dumps({"name": "left-pad", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
        "name": "left-pad", "version": "1.0.0",
        "dist": {"tarball": f"https://{host}/left-pad/-/left-pad-1.0.0.tgz", "integrity": f"sha512-{sum_}"}}}}).encode()


class Registry(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        with open(f"{DIR}/packages.token", encoding="utf-8") as f:
            right = self.headers.get("authorization") == f"Bearer {f.read().strip()}"
        with open(f"{DIR}/packages.log", "a", encoding="utf-8") as f:
            f.write(f"{self.command} {self.path} {right}\n")
        files = {"/left-pad": ("application/json", packument(self.headers.get("host", ""))),
                 "/left-pad/-/left-pad-1.0.0.tgz": ("application/octet-stream", TARBALL),
                 "/simple/tidy/": ("text/html", b'<a href="tidy-1.0-py3-none-any.whl">tidy</a>'),
                 "/simple/tidy/tidy-1.0-py3-none-any.whl": ("application/octet-stream", WHEEL)}
        kind, body = files.get(self.path, ("text/plain", b"no such thing\n"))
        self.send_response(401 if not right else 200 if self.path in files else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) if right else 0))
        self.end_headers()
        if right:
            self.wfile.write(body)

    do_PUT = do_POST = do_GET

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer((ADDRESS, PORT), Registry)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(f"{DIR}/packages.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
with open(f"{DIR}/packages.ready", "w", encoding="utf-8") as f:
    f.write(f"{server.server_address[1]} {os.getpid()}\n")
server.serve_forever()
