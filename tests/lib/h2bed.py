#!/usr/bin/python3
"""h2bed.py DIR PORT KIND: a server of HTTP/2 for tests, beside those of netbed.py.

KIND: "tls" offers h2 and http/1.1 by ALPN and serves HTTP/2; "clear" serves it without TLS. DIR has leaf.pem.
Written there, as a line each:
    h2-requests.log   METHOD PATH AUTHORITY BODY-LENGTH FIELD=VALUE…, sorted; when the request has ended
    h2-resets.log     PATH CODE
    h2-conns.log      the number of the connection, per request: NUMBER PATH
    h2-ready-PORT     when it listens
Paths: /echo sends the body back as it comes, with the trailer x-sum; /secret shows the request's authorization in head,
body and trailer; /spelled the same in
several spellings; /early answers before the body; /cut resets in the middle of its answer; /slow sends a line now and
one when the body ends; /big/N sends N bytes; /wait never answers; anything else says hello.
"""
import asyncio
import base64
import ssl
import sys

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

DIR, PORT, KIND = sys.argv[1], int(sys.argv[2]), sys.argv[3]
count = 0


def log(name, text):
    with open(f"{DIR}/{name}", "a", encoding="utf-8") as f:
        f.write(text + "\n")


class Server(asyncio.Protocol):
    def connection_made(self, transport):
        global count
        count += 1
        self.number = count
        self.t = transport
        self.requests, self.pending = {}, {}
        self.c = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="latin-1"))
        self.c.initiate_connection()
        self.flush()

    def flush(self):
        self.t.write(self.c.data_to_send())

    def data_received(self, data):
        if KIND == "tls" and not self.requests and data[:4] in (b"GET ", b"POST"):
            self.t.close()
            return
        try:
            for e in self.c.receive_data(data):
                self.event(e)
        except h2.exceptions.ProtocolError:
            self.flush()
            self.t.close()
            return
        self.flush()

    def event(self, e):
        if isinstance(e, h2.events.RequestReceived):
            head = dict(e.headers)
            self.requests[e.stream_id] = [e.headers, b"", []]
            log("h2-conns.log", f"{self.number} {head[':path']}")
            self.begin(e.stream_id, head)
        elif isinstance(e, h2.events.DataReceived):
            self.c.acknowledge_received_data(e.flow_controlled_length, e.stream_id)
            r = self.requests.get(e.stream_id)
            if r:
                r[1] += e.data
                if dict(r[0])[":path"] == "/echo":
                    self.send(e.stream_id, e.data)
        elif isinstance(e, h2.events.TrailersReceived):
            self.requests[e.stream_id][2] = e.headers
        elif isinstance(e, h2.events.StreamEnded):
            self.end(e.stream_id)
        elif isinstance(e, h2.events.StreamReset):
            r = self.requests.pop(e.stream_id, None)
            self.pending.pop(e.stream_id, None)
            if r:
                log("h2-resets.log", f"{dict(r[0])[':path']} {int(e.error_code)}")
        elif isinstance(e, h2.events.WindowUpdated):
            for i in list(self.pending):
                self.send(i, b"")

    def begin(self, i, head):
        path = head[":path"]
        status = [(":status", "200"), ("content-type", "text/plain"), ("alt-svc", 'h3=":443"')]
        if path == "/early":
            self.c.send_headers(i, status)
            self.send(i, b"early\n", [])
        elif path == "/slow":
            self.c.send_headers(i, status)
            self.send(i, b"first\n")
        elif path == "/echo":
            self.c.send_headers(i, status)

    def end(self, i):
        fields, body, trailers = self.requests[i]
        head = dict(fields)
        path = head[":path"]
        shown = sorted(f"{k}={v}" for k, v in list(fields) + list(trailers) if not k.startswith(":"))
        log("h2-requests.log",
            f"{head[':method']} {path} {head.get(':authority')} {len(body)} " + " ".join(shown))
        ok = [(":status", "200"), ("content-type", "text/plain"), ("alt-svc", 'h3=":443"'), ("set-cookie", "a=b")]
        if path in ("/early", "/wait"):
            return
        if path == "/echo":
            self.send(i, b"", [("x-sum", str(len(body)))])
        elif path == "/secret":
            secret = head.get("authorization", "-")
            self.c.send_headers(i, ok + [("x-shown", secret)])
            self.send(i, f"you sent {secret} so\n".encode(), [("x-shown-last", secret)])
        elif path == "/spelled":
            secret = head.get("authorization", "-").removeprefix("Bearer ").encode()
            spelled = [secret.decode(), base64.b64encode(secret).decode(), secret.hex(), secret.decode().replace("-", "%2D")]
            fields = [(f"x-spelled-{n}", s) for n, s in enumerate(spelled)]
            self.c.send_headers(i, ok + fields)
            self.send(i, "\n".join(spelled + [""]).encode(), [(k + "-last", v) for k, v in fields])
        elif path == "/cut":
            self.c.send_headers(i, ok + [("content-length", "100")])
            self.c.send_data(i, b"half")
            self.flush()
            self.c.reset_stream(i, 2)
        elif path == "/slow":
            self.send(i, b"second\n", [])
        elif path.startswith("/big/"):
            self.c.send_headers(i, ok)
            self.send(i, b"x" * int(path[5:]), [])
        elif path == "/nothing":
            self.c.send_headers(i, [(":status", "204")], end_stream=True)
        else:
            text = b"hello over h2\n"
            self.c.send_headers(i, ok + [("content-length", str(len(text)))])
            self.send(i, b"" if head[":method"] == "HEAD" else text, [])

    def send(self, i, data, end=None):
        """As much as the windows let through; end: then trailers, [] for none, and the end of the stream."""
        waiting = self.pending.pop(i, (b"", None))
        data, end = waiting[0] + data, end if end is not None else waiting[1]
        try:
            while data:
                n = min(len(data), self.c.local_flow_control_window(i), self.c.max_outbound_frame_size)
                if n <= 0:
                    self.pending[i] = (data, end)
                    return
                self.c.send_data(i, data[:n])
                data = data[n:]
            if end:
                self.c.send_headers(i, end, end_stream=True)
            elif end is not None:
                self.c.end_stream(i)
        except h2.exceptions.ProtocolError:
            self.pending.pop(i, None)


async def main():
    tls = None
    if KIND == "tls":
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(f"{DIR}/leaf.pem")
        tls.set_alpn_protocols(["h2", "http/1.1"])
    loop = asyncio.get_running_loop()
    await loop.create_server(Server, "0.0.0.0", PORT, ssl=tls, backlog=1024)
    log(f"h2-ready-{PORT}", "yes")
    await asyncio.Event().wait()


asyncio.run(main())
