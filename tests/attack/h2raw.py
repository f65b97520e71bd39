"""h2raw.py CASE…: frames of HTTP/2 that no library would send, from inside a sandbox.

Each case is a connection of its own to $H2_HOST:$H2_PORT (by the proxy, with TLS where $H2_TLS is not 0). Prints a line for each: its name and what
came of it: "status N", "reset CODE", "goaway CODE" or "closed"; where the case waits for it: "pong", "ack" of SETTINGS, "data N" of a frame, or "end" of
a stream.
"""
import os
import socket
import ssl
import struct
import sys

import hpack

HOST, PORT = os.environ.get("H2_HOST", "allowed.test"), int(os.environ.get("H2_PORT", "9001"))
TLS = os.environ.get("H2_TLS", "1") != "0"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END_STREAM, END_HEADERS, PADDED, PRIO = 1, 4, 8, 32
AUTHORITY = HOST if PORT in (80, 443) else f"{HOST}:{PORT}"


def frame(kind, flags=0, stream=0, payload=b"", length=None):
    n = len(payload) if length is None else length
    return struct.pack(">I", n)[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    """A field that is not indexed, with whatever bytes."""
    name, value = (x if isinstance(x, bytes) else x.encode("latin-1") for x in (name, value))
    out = b"\x00"
    for s in (name, value):
        out += bytes([len(s)]) if len(s) < 127 else b"\x7f" + varint(len(s) - 127)
        out += s
    return out


def varint(n):
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def pseudo(path="/x", method="GET", authority=AUTHORITY, scheme="https" if TLS else "http"):
    return b"".join(literal(k, v) for k, v in ((":method", method), (":scheme", scheme), (":authority", authority), (":path", path)))


def request(fields=b"", stream=1, flags=END_STREAM | END_HEADERS, **more):
    return frame(HEADERS, flags, stream, pseudo(**more) + fields)


def get(*fields, **more):
    return request(b"".join(literal(k, v) for k, v in fields), **more)


def post(body, *fields, length=None, **more):
    lengths = [] if length is None else [("content-length", str(length))]
    return get(*lengths, *fields, method="POST", flags=END_HEADERS, **more) + frame(DATA, END_STREAM, 1, body)


def window(stream, n):
    return frame(WINDOW, 0, stream, struct.pack(">I", n))


def initial(n):
    return frame(SETTINGS, 0, 0, struct.pack(">HI", 4, n))


many = 20000
# name: bytes behind the preface and SETTINGS; or a list of them with what is waited for between, and at the end
CASES = {
    # Generic: what every server must take.
    "get": get(),
    "get padded": frame(HEADERS, END_STREAM | END_HEADERS | PADDED, 1, b"\x04" + pseudo() + b"\0" * 4),
    "get with priority": frame(HEADERS, END_STREAM | END_HEADERS | PRIO, 1, b"\0\0\0\0\x10" + pseudo()),
    "get in continuation": frame(HEADERS, END_STREAM, 1, pseudo()[:9]) + frame(CONTINUATION, END_HEADERS, 1, pseudo()[9:]),
    "get in three continuations": frame(HEADERS, END_STREAM, 1, pseudo()[:9]) + frame(CONTINUATION, 0, 1, pseudo()[9:11]) +
                                  frame(CONTINUATION, 0, 1, pseudo()[11:12]) + frame(CONTINUATION, END_HEADERS, 1, pseudo()[12:]),
    "get with the weight of 1": frame(HEADERS, END_STREAM | END_HEADERS | PRIO, 1, b"\0\0\0\0\0" + pseudo()),
    "get with the weight of 256, exclusive": frame(HEADERS, END_STREAM | END_HEADERS | PRIO, 3, b"\x80\0\0\1\xff" + pseudo()),
    "post": post(b"hello", length=5),
    "post without length": post(b"hello"),
    "unknown frame": frame(77, 0, 0, b"x") + get(),
    "unknown setting": frame(SETTINGS, 0, 0, b"\x00\xff\0\0\0\1") + get(),
    "unknown flags": frame(PING, 0xfe, 0, b"\0" * 8) + frame(HEADERS, 0xd2 | END_STREAM | END_HEADERS, 1, pseudo()),
    "reserved bit": frame(HEADERS, END_STREAM | END_HEADERS, 0x80000001, pseudo()),
    "priority of an idle stream": frame(PRIORITY, 0, 1, b"\0\0\0\0\xff") + frame(PRIORITY, 0, 5, b"\x80\0\0\1\0") + get(),
    "window of a stream and of all": get(flags=END_HEADERS) + frame(WINDOW, 0, 0, b"\0\0\0\1") + frame(WINDOW, 0, 1, b"\0\0\0\1") + frame(DATA, 1, 1),
    "settings of nothing, twice one": frame(SETTINGS) + frame(SETTINGS, 0, 0, b"\0\4\0\0\0\1\0\4\0\0\xff\xff") + get(),
    "ack of a ping that was none": frame(PING, 1, 0, b"\0" * 8) + get(),
    "reset with an unknown code": get(flags=END_HEADERS) + frame(RST, 0, 1, b"\0\0\0\xff") + get(stream=3),
    "DATA of 16 KiB and padding": get(method="POST", flags=END_HEADERS) + frame(DATA, END_STREAM, 1, b"x" * 16384),
    "padded DATA in pieces": get(method="POST", flags=END_HEADERS) + frame(DATA, PADDED, 1, b"\3a\0\0\0") + frame(DATA, END_STREAM | PADDED, 1, b"\0b"),
    "fields of every kind": request(b"\x40\4x-aa\1v" + b"\xbe" + b"\x10\4x-bb\1v" + b"\x0f\x2f\1v" + b"\x00\x83\xf2\xb2\x4b\x84\x11\x11\x11\x11"),
    "table sizes ahead of fields": frame(HEADERS, 5, 1, b"\x20\x3f\x01" + pseudo()),
    "head": get(method="HEAD"),
    "PING is answered": [frame(PING, 0, 0, b"12345678"), "pong"],
    "SETTINGS are answered": [b"", "ack", frame(SETTINGS, 0, 0, b"\0\3\0\0\0\x64"), "ack"],
    "GOAWAY with an unknown code": get() + frame(GOAWAY, 0, 0, b"\0\0\0\0\0\0\0\xff"),
    "WINDOW_UPDATE behind the end": get() + window(1, 1) + get(stream=3),
    "PRIORITY behind the end": get() + frame(PRIORITY, 0, 1, b"\0\0\0\0\x10") + get(stream=3),
    "RST_STREAM behind the end": get() + frame(RST, 0, 1, b"\0\0\0\x08") + get(stream=3),
    "PRIORITY on a closed stream": [get(), "end", frame(PRIORITY, 0, 1, b"\0\0\0\0\x10") + get(stream=3), "status"],
    "WINDOW_UPDATE on a closed stream": [get(), "end", window(1, 1) + get(stream=3), "status"],
    "RST_STREAM on a closed stream": [get(), "end", frame(RST, 0, 1, b"\0\0\0\x08") + get(stream=3), "status"],
    "a window of 1": [initial(1) + get(), "data"],
    "a window of 1 that comes twice": [frame(SETTINGS, 0, 0, b"\0\4\0\0\0\x64\0\4\0\0\0\1") + get(), "data"],
    "a window of 0 that becomes 1": [initial(0) + get(), "status", initial(1), "data"],
    "a window that becomes negative": [initial(3) + get(), "data", initial(2) + window(1, 2), "data"],
    "indexed names, in Huffman, and of a head before": [
        request(b"\x53\1v" + b"\x40\4x-aa\1v"), "end",
        frame(HEADERS, 5, 3, pseudo() + b"\xbe" + b"\x7e\x81\x07" + b"\x1f\x30\1v" + b"\x0f\x30\x81\x07"), "status"],
    "trailers": get(method="POST", flags=END_HEADERS) + frame(DATA, 0, 1, b"a") +
                frame(HEADERS, END_STREAM | END_HEADERS, 1, literal("x-t", "1")),
    # The request, as HTTP/1.1 could read it differently.
    "upper-case name": get(("X-A", "1")),
    "name with a space": get(("x a", "1")),
    "name with a colon": get(("x:a", "1")),
    "empty name": get(("", "1")),
    "CR in a value": get(("x-a", "1\r")),
    "LF in a value": get(("x-a", "1\nx-b: 2")),
    "CRLF in a value": get(("x-a", "1\r\nGET /secret HTTP/1.1\r\nhost: allowed.test\r\n\r\n")),
    "NUL in a value": get(("x-a", "1\0")),
    "blank before a value": get(("x-a", " 1")),
    "CRLF in the path": get(path="/x HTTP/1.1\r\nhost: evil.test\r\n\r\n"),
    "space in the path": get(path="/x y"),
    "path without a slash": get(path="x"),
    "empty path": get(path=""),
    "absolute path": get(path="http://evil.test/"),
    "CRLF in the method": get(method="GET / HTTP/1.1\r\nx: "),
    "CRLF in the authority": get(authority=AUTHORITY + "\r\nx: y"),
    "userinfo in the authority": get(authority="a@" + AUTHORITY),
    "another authority": get(authority="other.test"),
    "another host": get(("host", "other.test")),
    "two hosts": get(("host", AUTHORITY), ("host", AUTHORITY)),
    "another scheme": get(scheme="http" if TLS else "https"),
    "no method": frame(HEADERS, 5, 1, literal(":scheme", "https") + literal(":path", "/x") + literal(":authority", AUTHORITY)),
    "no scheme": frame(HEADERS, 5, 1, literal(":method", "GET") + literal(":path", "/x") + literal(":authority", AUTHORITY)),
    "no path": frame(HEADERS, 5, 1, literal(":method", "GET") + literal(":scheme", "https" if TLS else "http") + literal(":authority", AUTHORITY)),
    "two methods": frame(HEADERS, 5, 1, pseudo() + literal(":method", "POST")),
    "two schemes": frame(HEADERS, 5, 1, pseudo() + literal(":scheme", "https")),
    "two authorities": frame(HEADERS, 5, 1, pseudo() + literal(":authority", AUTHORITY)),
    "upper-case pseudo-field": frame(HEADERS, 5, 1, literal(":Method", "GET") + pseudo()),
    "proxy-connection": get(("proxy-connection", "keep-alive")),
    "te in a list": get(("te", "trailers, gzip")),
    "two paths": frame(HEADERS, 5, 1, pseudo() + literal(":path", "/y")),
    "late pseudo-field": frame(HEADERS, 5, 1, literal("a", "b") + pseudo()),
    "unknown pseudo-field": frame(HEADERS, 5, 1, pseudo() + literal(":x", "y")),
    "status in a request": frame(HEADERS, 5, 1, pseudo() + literal(":status", "200")),
    "connection": get(("connection", "close")),
    "keep-alive": get(("keep-alive", "1")),
    "transfer-encoding": get(("transfer-encoding", "chunked")),
    "upgrade": get(("upgrade", "websocket")),
    "te": get(("te", "gzip")),
    "two lengths": post(b"hello", ("content-length", "5"), length=5),
    "length with a sign": post(b"hello", length="+5"),
    "length is a list": post(b"hello", length="5, 5"),
    "body is shorter": post(b"hell", length=5),
    "body is longer": post(b"hello!", length=5),
    "body in pieces is longer": get(("content-length", "5"), method="POST", flags=END_HEADERS) + frame(DATA, 0, 1, b"hel") + frame(DATA, 1, 1, b"lo!"),
    "body is shorter by its trailers": get(("content-length", "5"), method="POST", flags=END_HEADERS) + frame(DATA, 0, 1, b"hel") +
                                       frame(HEADERS, 5, 1, literal("x-t", "1")),
    "length without a body": get(("content-length", "5")),
    "pseudo-field in trailers": get(method="POST", flags=END_HEADERS) + frame(HEADERS, 5, 1, literal(":path", "/y")),
    "trailers that do not end": get(method="POST", flags=END_HEADERS) + frame(HEADERS, END_HEADERS, 1, literal("x-t", "1")) + frame(DATA, 1, 1, b"a"),
    "connection in trailers": get(method="POST", flags=END_HEADERS) + frame(HEADERS, 5, 1, literal("transfer-encoding", "chunked")),
    "CRLF in trailers": get(method="POST", flags=END_HEADERS) + frame(HEADERS, 5, 1, literal("x-t", "1\r\n\r\nGET /secret HTTP/1.1")),
    "length in trailers": get(method="POST", flags=END_HEADERS) + frame(HEADERS, 5, 1, literal("content-length", "9")),
    "override in trailers": get(method="POST", flags=END_HEADERS) + frame(DATA, 0, 1, b"a") +
                            frame(HEADERS, 5, 1, literal("x-http-method-override", "PUT")),
    "connect": frame(HEADERS, END_HEADERS, 1, literal(":method", "CONNECT") + literal(":authority", AUTHORITY)),
    "connect with a path": frame(HEADERS, END_HEADERS, 1, pseudo(method="CONNECT")),
    "websocket by get": frame(HEADERS, END_HEADERS, 1, pseudo() + literal(":protocol", "websocket")),
    "websocket that ends": frame(HEADERS, END_HEADERS | END_STREAM, 1, pseudo(method="CONNECT") + literal(":protocol", "websocket")),
    "websocket with a length": frame(HEADERS, END_HEADERS, 1, pseudo(method="CONNECT") + literal(":protocol", "websocket") + literal("content-length", "9")),
    "websocket without a path": frame(HEADERS, END_HEADERS, 1, literal(":method", "CONNECT") + literal(":protocol", "websocket") +
                                      literal(":authority", AUTHORITY)),
    "websocket with an upgrade": frame(HEADERS, END_HEADERS, 1, pseudo(method="CONNECT") + literal(":protocol", "websocket") + literal("upgrade", "x")),
    "another protocol": frame(HEADERS, END_HEADERS, 1, pseudo(method="CONNECT") + literal(":protocol", "connect-udp")),
    "trace": get(method="TRACE"),
    "head of 70 KiB": frame(HEADERS, 0, 1, pseudo() + literal("a", "x" * 16000)) +
                      b"".join(frame(CONTINUATION, 4 * (i == 4), 1, literal("a", "x" * 13000)) for i in range(5)),
    # Frames.
    "DATA on stream 0": frame(DATA, 0, 0, b"x"),
    "DATA on an idle stream": frame(DATA, 0, 1, b"x"),
    "HEADERS on stream 0": frame(HEADERS, 5, 0, pseudo()),
    "HEADERS on an even stream": get(stream=2),
    # As RFC 9113, 5.1, allows behind a reset: what belongs to no stream is left out, and HPACK stays in step.
    "HEADERS on a smaller stream": get(stream=5, flags=END_HEADERS) + get(stream=3, path="/secret") + frame(DATA, 1, 5),
    "DATA behind the end": get() + frame(DATA, 1, 1, b"x"),
    "HEADERS behind the end": get() + get(),
    "CONTINUATION behind the end": get() + frame(CONTINUATION, 4, 1, literal("a", "b")),
    # As above: a stream that has ended on both sides is not remembered.
    "DATA on a closed stream": [get(), "end", frame(DATA, 1, 1, b"x") + get(stream=3), "status"],
    "HEADERS on a closed stream": [get(), "end", get(path="/secret") + get(stream=3), "status"],
    "CONTINUATION on a closed stream": [get(), "end", frame(CONTINUATION, 4, 1, literal("a", "b")), "status"],
    "CONTINUATION behind the last one": frame(HEADERS, 1, 1, pseudo()[:5]) + frame(CONTINUATION, 4, 1, pseudo()[5:]) + frame(CONTINUATION, 4, 1, b""),
    "CONTINUATION behind DATA": get(method="POST", flags=END_HEADERS) + frame(DATA, 0, 1, b"x") + frame(CONTINUATION, 4, 1, literal("a", "b")),
    "HEADERS behind GOAWAY": frame(GOAWAY, 0, 0, b"\0" * 8) + get(),
    "DATA behind a reset": get(flags=END_HEADERS) + frame(RST, 0, 1, b"\0\0\0\x08") + frame(DATA, 1, 1, b"x") + get(stream=3),
    "HEADERS behind a reset": get(flags=END_HEADERS) + frame(RST, 0, 1, b"\0\0\0\x08") + get(path="/secret") + get(stream=3),
    "CONTINUATION behind a reset": get(flags=END_HEADERS) + frame(RST, 0, 1, b"\0\0\0\x08") + frame(CONTINUATION, 4, 1, literal("a", "b")),
    "padded DATA longer than the frame": get(method="POST", flags=END_HEADERS) + frame(DATA, PADDED, 1, b"\x05abc"),
    "padding longer than the frame": frame(HEADERS, 5 | PADDED, 1, b"\xff" + pseudo()),
    "SETTINGS on a stream": frame(SETTINGS, 0, 1),
    "SETTINGS of 5 bytes": frame(SETTINGS, 0, 0, b"\0" * 5),
    "SETTINGS ack with bytes": frame(SETTINGS, 1, 0, b"\0" * 6),
    "ENABLE_PUSH 2": frame(SETTINGS, 0, 0, b"\0\2\0\0\0\2"),
    "window above 2^31": frame(SETTINGS, 0, 0, b"\0\4\xff\xff\xff\xff"),
    "frame size of 1": frame(SETTINGS, 0, 0, b"\0\5\0\0\0\1"),
    "frame size of 2^24": frame(SETTINGS, 0, 0, b"\0\5\1\0\0\0"),
    "window that overflows a stream's": get(flags=END_HEADERS) + frame(WINDOW, 0, 1, b"\x7f\xff\0\0") + frame(SETTINGS, 0, 0, b"\0\4\x7f\xff\xff\xff"),
    "PRIORITY on stream 0": frame(PRIORITY, 0, 0, b"\0\0\0\1\x10"),
    "PRIORITY that depends on itself": frame(PRIORITY, 0, 1, b"\0\0\0\1\x10") + get(),
    "PRIORITY of 4 bytes": frame(PRIORITY, 0, 1, b"\0\0\0\0"),
    "GOAWAY on a stream": frame(GOAWAY, 0, 1, b"\0" * 8),
    "RST_STREAM on stream 0": frame(RST, 0, 0, b"\0\0\0\1"),
    "WINDOW_UPDATE on an idle stream": frame(WINDOW, 0, 1, b"\0\0\0\1"),
    "WINDOW_UPDATE of 3 bytes": frame(WINDOW, 0, 0, b"\0\0\1"),
    "WINDOW_UPDATE of 0 on a stream": get(flags=END_HEADERS) + frame(WINDOW, 0, 1, b"\0\0\0\0"),
    "WINDOW_UPDATE over 2^31 on a stream": get(flags=END_HEADERS) + frame(WINDOW, 0, 1, b"\x7f\xff\xff\xff") * 2,
    "PUSH_PROMISE on stream 0": frame(PUSH, 4, 0, b"\0\0\0\2" + pseudo()),
    "CONTINUATION on stream 0": frame(HEADERS, 1, 1, pseudo()[:5]) + frame(CONTINUATION, 4, 0, pseudo()[5:]),
    "PRIORITY within a head": frame(HEADERS, 1, 1, pseudo()[:5]) + frame(PRIORITY, 0, 1, b"\0\0\0\0\x10"),
    "another head within a head": frame(HEADERS, 1, 1, pseudo()[:5]) + get(stream=3),
    "unknown frame within a head": frame(HEADERS, 1, 1, pseudo()[:5]) + frame(77, 0, 0, b"x"),
    "a head of 17 KiB in a frame": frame(HEADERS, 5, 1, pseudo() + literal("a", "x" * 17000)),
    "SETTINGS of 17 KiB": frame(SETTINGS, 0, 0, b"\0\4\0\0\0\1" * 2900),
    "PING of 7 bytes": frame(PING, 0, 0, b"\0" * 7),
    "PING on a stream": frame(PING, 0, 1, b"\0" * 8),
    "WINDOW_UPDATE of 0": frame(WINDOW, 0, 0, b"\0\0\0\0"),
    "WINDOW_UPDATE over 2^31": frame(WINDOW, 0, 0, b"\x7f\xff\xff\xff") * 2,
    "RST_STREAM on an idle stream": frame(RST, 0, 1, b"\0\0\0\1"),
    "RST_STREAM of 3 bytes": get() + frame(RST, 0, 1, b"\0\0\1"),
    "PUSH_PROMISE of a client": get(flags=END_HEADERS) + frame(PUSH, 4, 1, b"\0\0\0\2" + pseudo()),
    "CONTINUATION without HEADERS": frame(CONTINUATION, 4, 1, pseudo()),
    "another frame within a head": frame(HEADERS, 1, 1, pseudo()[:5]) + frame(PING, 0, 0, b"\0" * 8),
    "a frame of 17 KiB": frame(DATA, 0, 1, b"x" * 17000),
    "HEADERS that depends on itself": frame(HEADERS, 5 | PRIO, 1, b"\0\0\0\1\x10" + pseudo()),
    # The preface, which is all that is sent.
    "another preface": PREFACE.replace(b"SM", b"MS") + frame(SETTINGS) + get(),
    "a preface of HTTP/1.1": b"GET / HTTP/1.1\r\nHost: " + AUTHORITY.encode() + b"\r\n\r\n",
    "no SETTINGS behind the preface": PREFACE + get(),
    # HPACK.
    "index 0": frame(HEADERS, 5, 1, b"\x80"),
    "index beyond the table": frame(HEADERS, 5, 1, b"\xff\x7f"),
    "name of an index beyond the table": frame(HEADERS, 5, 1, b"\x7f\x7f\1v"),
    "never indexed name beyond the table": frame(HEADERS, 5, 1, b"\x1f\x7f\1v"),
    "index of what was pushed out": frame(HEADERS, 5, 1, b"\x40\1a\1b\x20\xbe" + pseudo()),
    "head that ends in a field": frame(HEADERS, 5, 1, pseudo()[:-2]),
    "huffman padding of a byte": frame(HEADERS, 5, 1, b"\x00\x82\x1f\xff\1a"),
    "huffman padding of zeros": frame(HEADERS, 5, 1, b"\x00\x81\x18\1a"),
    "table size in three": frame(HEADERS, 5, 1, b"\x20\x21\x3f\xe1\x7f" + pseudo()),
    "integer without an end": frame(HEADERS, 5, 1, b"\xff" + b"\xff" * 12),
    "huffman with EOS": frame(HEADERS, 5, 1, b"\x00\x84\xff\xff\xff\xff\x01a"),
    "table size above ours": frame(HEADERS, 5, 1, b"\x3f\xff\xff\x7f" + pseudo()),
    "table size behind a field": frame(HEADERS, 5, 1, pseudo() + b"\x20"),
    "a thousand times the same long field": frame(HEADERS, END_STREAM, 1, pseudo() + b"\x40\x01a\x7f" + varint(4000 - 127) + b"x" * 4000) +
                                            frame(CONTINUATION, END_HEADERS, 1, b"\xbe" * 1000) + get(stream=3),
    "string beyond the block": frame(HEADERS, 5, 1, b"\x00\x7f\xff\x01a"),
    # Floods.
    "flood of PING": frame(PING, 0, 0, b"\0" * 8) * many,
    "flood of SETTINGS": frame(SETTINGS) * many,
    "flood of WINDOW_UPDATE": frame(WINDOW, 0, 0, b"\0\0\0\1") * many,
    "flood of PRIORITY": frame(PRIORITY, 0, 1, b"\0\0\0\0\x10") * many,
    "flood of empty DATA": get(method="POST", flags=END_HEADERS) + frame(DATA, 0, 1) * many,
    "flood of DATA that is padding": get(method="POST", flags=END_HEADERS) + frame(DATA, PADDED, 1, b"\x03\0\0\0") * many,
    "flood of CONTINUATION": frame(HEADERS, 1, 1, pseudo()) + frame(CONTINUATION, 0, 1) * many,
    "rapid reset": b"".join(get(stream=2 * i + 1) + frame(RST, 0, 2 * i + 1, b"\0\0\0\x08") for i in range(3000)),
    "200 streams": b"".join(get(stream=2 * i + 1, path="/wait") for i in range(200)),
}


def connect():
    proxy = (os.environ.get("https_proxy") or os.environ["HTTPS_PROXY"]).split("//")[1].strip("/")
    host, _, port = proxy.rpartition(":")
    s = socket.create_connection((host.strip("[]"), int(port)), 20)
    s.sendall(f"CONNECT {HOST}:{PORT} HTTP/1.1\r\nHost: {HOST}:{PORT}\r\n\r\n".encode())
    got = b""
    while b"\r\n\r\n" not in got:
        piece = s.recv(1)
        if not piece:
            raise OSError("the proxy closed")
        got += piece
    if not TLS:
        return s
    c = ssl.create_default_context()
    c.set_alpn_protocols(["h2"])
    return c.wrap_socket(s, server_hostname=HOST)


ACKS = {"pong": PING, "ack": SETTINGS}
WHOLE = ("another preface", "a preface of HTTP/1.1", "no SETTINGS behind the preface")


def said(kind, flags, payload, wanted, decoder):
    """What a frame says of the case; None: nothing."""
    fields = dict(decoder.decode(payload, raw=True)) if kind == HEADERS else {}
    if wanted == "end" and kind in (DATA, HEADERS) and flags & END_STREAM:
        return "end"
    if wanted == "status" and kind == HEADERS and not fields[b":status"].startswith(b"1"):
        return "status " + fields[b":status"].decode()
    if wanted == "data" and kind == DATA:
        return f"data {len(payload)}"
    if kind == ACKS.get(wanted) and flags & 1:
        return wanted
    if kind == RST:
        return f"reset {int.from_bytes(payload, 'big')}"
    if kind == GOAWAY:
        return f"goaway {int.from_bytes(payload[4:8], 'big')}"
    return None


class Answers:
    """The frames that come over a connection."""

    def __init__(self, s):
        self.s, self.data, self.decoder = s, b"", hpack.Decoder()

    def frame(self):
        while len(self.data) < 9 or len(self.data) < 9 + int.from_bytes(self.data[:3], "big"):
            piece = self.s.recv(65536)
            if not piece:
                return None
            self.data += piece
        n, kind, flags = int.from_bytes(self.data[:3], "big"), self.data[3], self.data[4]
        payload, self.data = self.data[9:9 + n], self.data[9 + n:]
        return kind, flags, payload

    def wait(self, wanted):
        """The first thing that says what became of the case."""
        while True:
            f = self.frame()
            if not f:
                return "closed"
            result = said(*f, wanted, self.decoder)
            if result:
                return result


def outcome(s):
    return Answers(s).wait("status")


def play(s, steps):
    """The last outcome, or the one that was not waited for."""
    answers, result = Answers(s), None
    for part, wanted in zip(steps[::2], steps[1::2]):
        try:
            s.sendall(part)
        except OSError:
            pass  # what the other side said before it closed is still there
        result = answers.wait(wanted)
        if not result.startswith(wanted):
            break
    return result


def run(name):
    s = connect()
    s.settimeout(20)
    case = CASES[name]
    steps = list(case) if isinstance(case, list) else [case, "status"]
    if name not in WHOLE:
        steps[0] = PREFACE + frame(SETTINGS) + steps[0]
    try:
        return play(s, steps)
    except ConnectionError:
        return "closed"
    except TimeoutError:
        return "silence"
    finally:
        s.close()


if __name__ == "__main__":
    for case in sys.argv[1:] or CASES:
        print(f"{case}: {run(case)}", flush=True)
