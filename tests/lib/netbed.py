#!/usr/bin/python3
"""netbed.py DIR: the world outside a sandbox, in a network namespace that holds nothing else.

Public-looking addresses on its loopback, a DNS server, HTTP, HTTPS and plain servers, and a packet
log. DIR has ca.pem, leaf.pem (key and certificate) and zone.json; read anew for every look-up:
    {"allowed.test": {"A": ["8.8.4.1"], "AAAA": []}, "flip.test": {"A": [["8.8.4.1"], ["10.1.2.3"]]}}
where a list of lists gives one answer after the other. Written there:
    dns.log       NAME TYPE, a line per question
    conns.log     ADDRESS PORT, a line per TCP connection that a server accepted
    requests.log  PORT METHOD TARGET HOST SNI, a line per request
    auth.log      HOST METHOD PATH AUTHORIZATION, a line per request
    packets.log   PROTOCOL SOURCE DESTINATION, a line per packet;  packets.raw: their bytes
    ready         when all of this works
"""
import asyncio
import json
import os
import socket
import ssl
import struct
import subprocess
import sys
import zlib

DIR = sys.argv[1]
DNS = "9.9.9.53"
ADDRESSES = ["8.8.4.1", "8.8.4.2", "8.8.4.3", "8.8.4.4", DNS, "10.1.2.3", "192.168.77.1",
             "172.16.5.5", "100.64.1.1", "169.254.169.254", "100.100.100.200",
             "2001:4860::1", "2001:4860::2", "fd00:ec2::254", "fd12::1", "64:ff9b::a01:203"]
PLAIN, TLS = (80, 8080, 8888), (443, 8443)
LINES = [int(port) for port in os.environ.get("BED_LINES", "22 2222 5432").split()]


def log(name, text):
    with open(f"{DIR}/{name}", "a", encoding="utf-8") as f:
        f.write(text + "\n")


def addresses():
    rows = ["link set lo up"]
    for a in ADDRESSES:
        rows.append(f"addr add {a}/{128 if ':' in a else 32} dev lo" + (" nodad" if ":" in a else ""))
    subprocess.run(["ip", "-batch", "-"], input="\n".join(rows), text=True, check=True)


class Dns(asyncio.DatagramProtocol):
    turn = {}

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, addr):
        labels, i = [], 12
        while data[i]:
            labels.append(data[i + 1:i + 1 + data[i]].decode("latin-1"))
            i += 1 + data[i]
        qtype, question = struct.unpack(">H", data[i + 1:i + 3])[0], data[12:i + 5]
        name, kind = ".".join(labels), {1: "A", 28: "AAAA"}.get(qtype, str(qtype))
        log("dns.log", f"{name} {kind}")
        with open(f"{DIR}/zone.json", encoding="utf-8") as f:
            zone = json.load(f)
        row = zone.get(name.lower()) or zone.get("*." + name.lower().partition(".")[2])
        found = (row or {}).get(kind, [])
        if found and isinstance(found[0], list):
            n = self.turn.get((name, kind), 0)
            self.turn[name, kind] = n + 1
            found = found[min(n, len(found) - 1)]
        out = data[:2] + struct.pack(">HHHHH", 0x8180 if row else 0x8183, 1, len(found), 0, 0) + question
        for a in found:
            raw = socket.inet_pton(socket.AF_INET6 if ":" in a else socket.AF_INET, a)
            out += b"\xc0\x0c" + struct.pack(">HHIH", qtype, 1, 0, len(raw)) + raw
        self.transport.sendto(out, addr)


class Sniffer:
    """Every packet once: loopback shows each as sent and as received."""

    def __init__(self):
        self.raw = open(f"{DIR}/packets.raw", "ab", buffering=0)
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.sock.setblocking(False)

    def ready(self):
        try:
            data, (name, proto, kind, *_) = self.sock.recvfrom(65535)
        except BlockingIOError:
            return
        # The wire to an engine on another machine (engines/engine.bash) is how the sandbox reaches the gateway.
        if kind == 4 or name.startswith("rfar"):
            return
        if os.path.exists(f"{DIR}/quiet"):
            return
        self.raw.write(data)
        if proto == 0x0800:
            n, p = (data[0] & 15) * 4, data[9]
            src, dst = socket.inet_ntoa(data[12:16]), socket.inet_ntoa(data[16:20])
        elif proto == 0x86DD:
            n, p = 40, data[6]
            src, dst = (socket.inet_ntop(socket.AF_INET6, data[i:i + 16]) for i in (8, 24))
        else:
            return
        ports = struct.unpack(">HH", data[n:n + 4]) if p in (6, 17) else (0, 0)
        log("packets.log", f"{ {6: 'tcp', 17: 'udp'}.get(p, p)} {src}:{ports[0]} {dst}:{ports[1]}")


def git_backend(method, target, head, body):
    path, _, query = target.partition("?")
    env = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": f"{DIR}/git", "GIT_HTTP_EXPORT_ALL": "1",
           "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": method, "REMOTE_USER": "x",
           "CONTENT_TYPE": head.get("content-type", ""), "CONTENT_LENGTH": str(len(body)),
           "HTTP_CONTENT_ENCODING": head.get("content-encoding", ""),
           "GIT_PROTOCOL": head.get("git-protocol", ""), "HOME": DIR, "GIT_CONFIG_COUNT": "1",
           "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    out = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True).stdout
    top, _, rest = out.partition(b"\r\n\r\n")
    status = b"200 OK"
    for line in top.split(b"\r\n"):
        if line.lower().startswith(b"status: "):
            status = line[8:]
    return b"HTTP/1.1 " + status + b"\r\n" + top + b"\r\nContent-Length: %d\r\n\r\n" % len(rest) + rest


async def read_body(head, r, w):
    if head.get("expect"):
        w.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    if head.get("transfer-encoding") == "chunked":
        body = b""  # its end: an answer shows no more
        while True:
            n = int((await r.readline()).split(b";")[0], 16)
            if n == 0:
                break
            body = body[-99:] + await r.readexactly(n)
            await r.readline()
        while (line := await r.readline()).strip():
            body += b"trailer:" + line
        return body
    return await r.readexactly(int(head.get("content-length", 0)))


async def pump(r, w):
    try:
        while data := await r.read(65536):
            w.write(data)
            await w.drain()
    except OSError:
        pass
    finally:
        w.close()


async def say_pieces(body, head, w):
    """Says what it is told: {"form": …, "pieces": […]}, each piece in a TLS record and, but for a length, a chunk of its own.
    A piece "AUTH" is the credential that came with the request."""
    said = json.loads(body)
    form = said["form"]
    auth = head.get("authorization", "").removeprefix("Bearer ")
    pieces = [(auth if p == "AUTH" else p).encode("latin-1") for p in said["pieces"]]
    kind = b"Content-Type: text/event-stream\r\n" if form.endswith("sse") else b""
    if form == "length":
        w.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % sum(map(len, pieces)))
        for piece in pieces:
            w.write(piece)
        return
    zipped = zlib.compressobj(wbits=31) if form.startswith("gzip") else None
    kind += b"Content-Encoding: gzip\r\n" if zipped else b""
    w.write(b"HTTP/1.1 200 OK\r\n" + kind + b"Transfer-Encoding: chunked\r\n\r\n")
    for piece in pieces + ([b""] if zipped else []):
        last = zipped and not piece
        if zipped:
            piece = zipped.flush() if last else zipped.compress(piece) + zipped.flush(zlib.Z_SYNC_FLUSH)
        w.write(b"%x\r\n%s\r\n" % (len(piece), piece))
    w.write(b"0\r\n\r\n")


def takes(given):
    """Where DIR/takes is, every request must have one of its lines as its Authorization."""
    try:
        with open(f"{DIR}/takes", encoding="latin-1") as f:
            return given in f.read().split("\n")
    except FileNotFoundError:
        return True


async def answer(method, target, head, body, r, w, where):
    path = target.partition("?")[0]
    if not takes(head.get("authorization", "")):
        w.write(b'HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm="x"\r\nContent-Length: 0\r\n\r\n')
        await w.drain()
        return True
    if method == "CONNECT":
        host, _, port = target.rpartition(":")
        r2, w2 = await asyncio.open_connection(host, int(port))
        w.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(pump(r, w2), pump(r2, w))
        return False
    if head.get("upgrade", "").lower() == "websocket" and path != "/plain":
        w.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        await pump(r, w)
        return False
    if path.startswith(("/git/", "/me/")):
        w.write(await asyncio.to_thread(git_backend, method, target.removeprefix("/git"), head, body))
    elif path == "/pieces":
        await say_pieces(body, head, w)
    elif path == "/sse":
        w.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
                b"f\r\ndata: first\r\n\r\n\r\n")
        while not os.path.exists(f"{DIR}/go"):
            await asyncio.sleep(0.02)
        w.write(b"10\r\ndata: second\r\n\r\n\r\n0\r\n\r\n")
    elif path == "/endless":
        w.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            w.write(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
            await w.drain()
    elif path == "/head-endless":
        w.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            w.write(b"X-Fill: " + b"y" * 8000 + b"\r\n")
            await w.drain()
    elif path == "/trailers":
        w.write(b"HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n"
                b"5\r\nhello\r\n0\r\nX-Sum: 42\r\n\r\n")
    elif path == "/redirect":
        w.write(b"HTTP/1.1 302 Found\r\nLocation: http://other.test/\r\nContent-Length: 0\r\n\r\n")
    elif path == "/page":
        page = b"<!doctype html><script>document.write('rendered ' + 6 * 7)</script>"
        w.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(page), page))
    else:
        text = f"{method} {target} at {where} body={len(body)} {body[-40:].decode('latin-1')}\n".encode()
        w.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + (b"" if method == "HEAD" else text))
    await w.drain()
    return True


async def http(r, w):
    local = w.get_extra_info("sockname")
    sni = getattr(w.get_extra_info("ssl_object"), "seen", "-")
    log("conns.log", f"{local[0]} {local[1]}")
    try:
        while line := await r.readline():
            method, target, _ = line.decode("latin-1").split(" ", 2)
            head = {}
            while (field := (await r.readline()).decode("latin-1").strip()):
                k, _, v = field.partition(":")
                head[k.lower()] = v.strip()
            log("requests.log", f"{local[1]} {method} {target} {head.get('host')} {sni}")
            log("auth.log", f"{head.get('host')} {method} {target.partition('?')[0]} {head.get('authorization', '-')}")
            body = await read_body(head, r, w)
            if not await answer(method, target, head, body, r, w, local[0]):
                return
    except (OSError, ValueError, asyncio.IncompleteReadError, ssl.SSLError):
        pass
    finally:
        w.close()


async def lines(r, w):
    local = w.get_extra_info("sockname")
    log("conns.log", f"{local[0]} {local[1]}")
    w.write(f"line server {local[1]}\n".encode())
    await pump(r, w)


def tls_context(pem):
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    c.load_cert_chain(pem)

    def seen(obj, name, _):
        obj.seen = name or "-"
        log("sni.log", name or "-")
    c.sni_callback = seen
    return c


async def main():
    addresses()
    sniffer = Sniffer()
    loop = asyncio.get_running_loop()
    loop.add_reader(sniffer.sock, sniffer.ready)
    await loop.create_datagram_endpoint(Dns, local_addr=(DNS, 53))
    for port in PLAIN:
        await asyncio.start_server(http, ["0.0.0.0", "::"], port, limit=1 << 20, backlog=4096)
    for port in TLS:
        await asyncio.start_server(http, ["0.0.0.0", "::"], port, ssl=tls_context(f"{DIR}/leaf.pem"))
    for name, port in (("wrong", 9441), ("expired", 9442), ("selfsigned", 9443)):
        if os.path.exists(f"{DIR}/{name}.pem"):
            await asyncio.start_server(http, ["0.0.0.0"], port, ssl=tls_context(f"{DIR}/{name}.pem"))
    for port in LINES:
        await asyncio.start_server(lines, ["0.0.0.0", "::"], port, backlog=4096)
    log("ready", "yes")
    await asyncio.Event().wait()


asyncio.run(main())
