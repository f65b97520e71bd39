#!/usr/bin/python3
"""upstream-accounts.py DIR ADDRESS PORT: the place where logins are renewed, over TLS.

DIR has upstream.pem (key and certificate). What it answers is read from DIR/renewal.json for every request:
{"status": 200, "body": {…}}. Written there: accounts.log, a JSON object a request; accounts.ready with port and
process once it listens.
"""
import http.server
import json
import os
import socketserver
import ssl
import sys
import threading

DIR = sys.argv[1]
lock = threading.Lock()


class Accounts(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def handle_request(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        row = {"method": self.command, "path": self.path, "headers": [[k.lower(), v] for k, v in self.headers.items()],
               "body": body.decode("latin-1")}
        with lock, open(f"{DIR}/accounts.log", "a", encoding="utf-8") as f:
            f.write(json.dumps(row) + "\n")
        with open(f"{DIR}/renewal.json", encoding="utf-8") as f:
            said = json.load(f)
        data = json.dumps(said["body"]).encode()
        self.send_response(said["status"])
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = handle_request


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
