"""A client of HTTP/2 over the sandbox's proxy, for the tests of 39-http2.bats."""
import os
import socket
import ssl

import h2.config
import h2.connection

AUTHORITY = "allowed.test:9001"


def connect():
    """A socket of TLS and the connection over it."""
    host, _, port = os.environ["https_proxy"].split("//")[1].strip("/").rpartition(":")
    s = socket.create_connection((host.strip("[]"), int(port)), 60)
    s.sendall(f"CONNECT {AUTHORITY} HTTP/1.1\r\nHost: {AUTHORITY}\r\n\r\n".encode())
    while not s.recv(4096).endswith(b"\r\n\r\n"):
        pass
    tls = ssl.create_default_context()
    tls.set_alpn_protocols(["h2"])
    c = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    c.initiate_connection()
    return tls.wrap_socket(s, server_hostname=AUTHORITY.partition(":")[0]), c


def start(c, method, path, last):
    """The number of a new request's stream."""
    i = c.get_next_available_stream_id()
    c.send_headers(i, [(":method", method), (":scheme", "https"), (":authority", AUTHORITY), (":path", path)], end_stream=last)
    return i
