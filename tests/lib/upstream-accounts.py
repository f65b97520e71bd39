#!/usr/bin/python3
"""upstream-accounts.py DIR ADDRESS PORT: what is not a model, over TLS: servers where logins are renewed, a forge
and a package registry.

DIR has upstream.pem (key and certificate). What it answers is read from DIR for every request:
    renewal.json   {"status": 200, "body": {…}}: to POST /oauth/token and /token
    takes          the value of Authorization that the forge and the registry take, a line each
    repos/         bare repositories below /git/, served by git's own program
Written there: accounts.log, a JSON object a request; accounts.ready with port and process once it listens.
"""
import http.server
import json
import os
import socketserver
import ssl
import subprocess
import sys
import threading

DIR = sys.argv[1]
lock = threading.Lock()


def read(name, otherwise):
    try:
        with open(f"{DIR}/{name}", encoding="utf-8") as f:
            return f.read()
    except FileNotFoundError:
        return otherwise


class Accounts(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def body(self):
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        data = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def reply(self, status, data, kind="application/json"):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def git(self, path, query, body):
        env = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": f"{DIR}/repos", "GIT_HTTP_EXPORT_ALL": "1",
               "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": self.command, "REMOTE_USER": "tester",
               "CONTENT_TYPE": self.headers.get("content-type", ""), "CONTENT_LENGTH": str(len(body)),
               "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
               "GIT_PROTOCOL": self.headers.get("git-protocol", ""), "HOME": DIR, "GIT_CONFIG_NOSYSTEM": "1",
               "GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "http.receivepack", "GIT_CONFIG_VALUE_0": "true",
               "GIT_CONFIG_KEY_1": "safe.directory", "GIT_CONFIG_VALUE_1": "*"}
        out = subprocess.run(["git", "http-backend"], env=env, input=body, stdout=subprocess.PIPE, check=False).stdout
        head, _, data = out.partition(b"\r\n\r\n")
        fields = dict(line.decode().split(": ", 1) for line in head.split(b"\r\n") if b": " in line)
        self.reply(int(fields.get("Status", "200").split()[0]), data, fields.get("Content-Type", "text/plain"))

    def handle_request(self):
        body = self.body()
        row = {"method": self.command, "path": self.path, "headers": [[k.lower(), v] for k, v in self.headers.items()],
               "body": body.decode("latin-1") if len(body) < 4096 else ""}
        with lock, open(f"{DIR}/accounts.log", "a", encoding="utf-8") as f:
            f.write(json.dumps(row) + "\n")
        path, _, query = self.path.partition("?")
        if path in ("/oauth/token", "/token"):
            said = json.loads(read("renewal.json", '{"status": 503, "body": {}}'))
            return self.reply(said["status"], json.dumps(said["body"]).encode())
        if self.headers.get("authorization", "") not in read("takes", "").split("\n"):
            self.send_response(401)
            self.send_header("www-authenticate", 'Basic realm="forge"')
            self.send_header("content-length", "0")
            return self.end_headers()
        if path.startswith("/git/"):
            return self.git(path[4:], query, body)
        return self.reply(200, b'{"login": "tester"}')

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = handle_request


class Server(http.server.ThreadingHTTPServer):
    def server_bind(self):
        # Without asking a DNS server what this address is called.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]


def main():
    server = Server((sys.argv[2], int(sys.argv[3])), Accounts)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{DIR}/upstream.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(f"{DIR}/accounts.new", "w", encoding="utf-8") as f:
        f.write(f"{server.server_address[1]} {os.getpid()}\n")
    os.rename(f"{DIR}/accounts.new", f"{DIR}/accounts.ready")
    server.serve_forever()


main()
