"""hook-server.py DIR STATUS…: an HTTPS server with DIR/leaf.pem that writes each request to DIR/got and answers with
these statuses in their order, the last one for ever. Its port is in DIR/port."""

import http.server
import json
import os
import ssl
import sys

DIR, STATUSES = sys.argv[1], [int(s) for s in sys.argv[2:]]


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(f"{DIR}/got", "a") as f:
            f.write(json.dumps({"path": self.path, "body": json.loads(body)}) + "\n")
        self.send_response(STATUSES.pop(0) if len(STATUSES) > 1 else STATUSES[0])
        self.send_header("Content-Length", "0")
        self.end_headers()


server = http.server.HTTPServer(("127.0.0.1", 0), Hook)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(f"{DIR}/leaf.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
with open(f"{DIR}/port.new", "w") as f:
    f.write(str(server.server_address[1]))
os.rename(f"{DIR}/port.new", f"{DIR}/port")
server.serve_forever()
