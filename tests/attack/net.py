#!/usr/bin/python3
"""net.py ATTACK ARG…: what a hostile program inside a sandbox sends; prints what came of it.

Every attack prints one word per try and what it answered: `refused CODE`, `closed`, `reset`,
`error NAME`, `silent` (nothing within the time), or `REACHED` with the bytes of a server. Text
arguments may hold Python's backslash escapes.
"""
import errno
import socket
import ssl
import struct
import sys
import time

PROXY = ("127.0.0.1", 3128)
WAIT = 5


def raw(text):
    return text.encode("latin-1").decode("unicode_escape").encode("latin-1")


def dial(addr=PROXY, family=0):
    family = family or (socket.AF_INET6 if ":" in addr[0] else socket.AF_INET)
    s = socket.socket(family, socket.SOCK_STREAM)
    s.settimeout(WAIT)
    s.connect(addr)
    return s


def drain(s, limit=65536, wait=WAIT):
    """All bytes until the other side ends, and how it ended."""
    out, end = b"", time.time() + wait
    try:
        while len(out) < limit and time.time() < end:
            s.settimeout(max(0.01, end - time.time()))
            data = s.recv(65536)
            if not data:
                return out, "closed"
            out += data
    except ConnectionResetError:
        return out, "reset"
    except socket.timeout:
        pass
    return out, "open"


def verdict(out, how):
    if b" at " in out or b"line server" in out or out[:2] == b"\x16\x03":
        return "REACHED " + repr(out[:300])
    if out.startswith(b"HTTP/1.1 ") and b"x-should-retry" in out:
        return "refused " + out[9:12].decode()
    return (how if how != "open" else "silent") + (" " + repr(out[:200]) if out else "")


def attempt(fn, *args):
    try:
        return fn(*args)
    except socket.timeout:
        return "silent"
    except OSError as e:
        return "error " + errno.errorcode.get(e.errno, str(e))


def exchange(data, addr=PROXY, wait=WAIT):
    s = dial(addr)
    s.sendall(data)
    return verdict(*drain(s, wait=wait))


def connect_to(target, then=b"", wait=WAIT):
    """CONNECT, and what follows when it is granted."""
    s = dial()
    s.sendall(b"CONNECT " + target + b" HTTP/1.1\r\nHost: " + target + b"\r\n\r\n")
    return granted(s, then, wait)


def granted(s, then, wait=WAIT):
    out = b""
    s.settimeout(wait)
    while b"\r\n\r\n" not in out:
        data = s.recv(4096)
        if not data:
            return "closed"
        out += data
    if not out.startswith(b"HTTP/1.1 200"):
        return verdict(out, "closed")
    if not then:
        return "GRANTED"
    s.sendall(then)
    return verdict(*drain(s, wait=wait))


def get_absolute(host, port):
    at = host if port == 80 else host + b":%d" % port
    return exchange(b"GET http://" + at + b"/x HTTP/1.1\r\nHost: " + at + b"\r\nConnection: close\r\n\r\n")


def socks(host, port, cmd=1, atyp=3):
    s = dial()
    s.sendall(b"\x05\x01\x00")
    if s.recv(2) != b"\x05\x00":
        return "closed"
    s.sendall(bytes([5, cmd, 0, atyp]) + (bytes([len(host)]) if atyp == 3 else b"") + host +
              struct.pack(">H", port))
    reply = s.recv(16)
    if reply[1:2] != b"\x00":
        return "refused socks %d" % reply[1] if reply else "closed"
    s.sendall(b"GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    return "GRANTED " + verdict(*drain(s))


def query(name, qtype=1, qid=0x4242):
    out = struct.pack(">HHHHHH", qid, 0x0100, 1, 0, 0, 0)
    for label in name.split(b".") if name else []:
        out += bytes([len(label)]) + label
    return out + b"\0" + struct.pack(">HH", qtype, 1)


RCODES = {0: "NOERROR", 1: "FORMERR", 2: "SERVFAIL", 3: "NXDOMAIN", 4: "NOTIMP", 5: "REFUSED"}


def ask(packet, tcp=False, addr=("127.0.0.53", 53), wait=2):
    s = socket.socket(socket.AF_INET6 if ":" in addr[0] else socket.AF_INET,
                      socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM)
    s.settimeout(wait)
    s.connect(addr)
    s.send(struct.pack(">H", len(packet)) + packet if tcp else packet)
    data = s.recv(65535)
    if tcp:
        data = data[2:] if len(data) > 2 else data + s.recv(65535)
    if not data:
        return "closed"
    code = RCODES.get(data[3] & 15, "?")
    return "%s %d" % (code, struct.unpack(">H", data[6:8])[0])


def hello(name, alpn=("http/1.1",)):
    """A ClientHello's record, made by OpenSSL."""
    ctx = ssl.create_default_context()
    ctx.check_hostname = False
    ctx.verify_mode = ssl.CERT_NONE
    ctx.set_alpn_protocols(list(alpn))
    inc, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    obj = ctx.wrap_bio(inc, out, server_hostname=name or None)
    try:
        obj.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def made_hello(names, extra=b""):
    """A ClientHello of our own: one server_name extension per list of `names`, then `extra`."""
    def ext(kind, body):
        return struct.pack(">HH", kind, len(body)) + body

    def vec(body):
        return struct.pack(">H", len(body)) + body

    exts = b""
    for entry in names:
        exts += ext(0, vec(b"".join(b"\0" + vec(n) for n in entry)))
    exts += ext(10, vec(b"\0\x17")) + ext(11, b"\1\0") + ext(13, vec(b"\x04\x03\x08\x04\x04\x01")) + extra
    body = b"\x03\x03" + b"r" * 32 + b"\0" + vec(b"\xc0\x2b\xc0\x2c") + b"\1\0" + vec(exts)
    msg = b"\x01" + struct.pack(">I", len(body))[1:] + body
    return b"\x16\x03\x01" + vec(msg)


def records(rec, size):
    """The same handshake message in records of `size` bytes."""
    body = rec[5:]
    return b"".join(rec[:3] + struct.pack(">H", len(body[i:i + size])) + body[i:i + size]
                    for i in range(0, len(body), size))


def spellings(hosts, ports):
    for h in hosts:
        for port in ports:
            at = b"[%s]" % raw(h) if ":" in h and not h.startswith("[") else raw(h)
            print(h, port, "connect", attempt(connect_to, at + b":%d" % port, b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"))
            print(h, port, "http", attempt(get_absolute, at, port))
            print(h, port, "socks", attempt(socks, raw(h), port))
        if ":" not in h:
            print(h, "dns", attempt(ask, query(raw(h))))


def main():
    what, args = sys.argv[1], sys.argv[2:]
    if what == "spellings":  # PORT,PORT HOST…
        spellings(args[1:], [int(p) for p in args[0].split(",")])
    elif what == "raw":  # BYTES…: each on a connection of its own to the proxy
        for a in args:
            print(attempt(exchange, raw(a)))
    elif what == "to":  # ADDRESS PORT BYTES: straight, without the gateway's port
        print(attempt(exchange, raw(args[2]), (args[0], int(args[1]))))
    elif what == "connect":  # TARGET [BYTES]
        print(attempt(connect_to, raw(args[0]), raw(args[1]) if args[1:] else b""))
    elif what == "socks":  # HOST PORT [COMMAND]
        print(attempt(socks, raw(args[0]), int(args[1]), *(int(a) for a in args[2:3])))
    elif what == "socks-ip":  # ADDRESS PORT
        six = ":" in args[0]
        print(attempt(socks, socket.inet_pton(socket.AF_INET6 if six else socket.AF_INET, args[0]),
                      int(args[1]), 1, 4 if six else 1))
    elif what == "dns":  # NAME TYPE [udp|tcp] [SERVER]
        print(attempt(ask, query(raw(args[0]), int(args[1])), args[2:3] == ["tcp"],
                      (args[3] if args[3:] else "127.0.0.53", 53)))
    elif what == "packet":  # BYTES [udp|tcp]: to the DNS server
        print(attempt(ask, raw(args[0]), args[1:2] == ["tcp"]))
    elif what == "tls":  # TARGET SNI [records=N] [segments=N] [more=SNI] [same=SNI] [ech=1] [before=BYTES]
        opts = dict(a.split("=", 1) for a in args[2:])
        names = [[raw(args[1])]] if args[1] else []
        if "same" in opts:
            names[0].append(raw(opts["same"]))
        if "more" in opts:
            names.append([raw(opts["more"])])
        rec = raw(opts.get("before", "")) + made_hello(names, b"\xfe\x0d\0\5hello" if "ech" in opts else b"")
        if "records" in opts:
            rec = records(rec, int(opts["records"]))
        print(attempt(tls, raw(args[0]), rec, int(opts.get("segments", 0))))
    elif what == "tls-direct":  # NAME PORT SNI: by the stand-in address
        print(attempt(exchange, hello(args[2]), (socket.gethostbyname(args[0]), int(args[1]))))
    else:
        sys.exit("net.py: no attack " + what)


def tls(target, rec, segments):
    s = dial()
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.sendall(b"CONNECT " + target + b" HTTP/1.1\r\nHost: " + target + b"\r\n\r\n")
    if not segments:
        return granted(s, rec, 3)
    head = s.recv(4096)
    if not head.startswith(b"HTTP/1.1 200"):
        return verdict(head, "closed")
    for i in range(0, len(rec), segments):
        s.sendall(rec[i:i + segments])
        time.sleep(0.001)
    return verdict(*drain(s, wait=3))


if __name__ == "__main__":
    main()
