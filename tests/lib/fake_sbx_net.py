"""The network of one machine of fake-sbx: `python3 fake_sbx_net.py BASE NAME PID sbx|docker`.

The machine has a network namespace with nothing but loopback in it. This program opens sockets in there
and serves them from out here, in the network of whoever called the fake:

    3128 of gateway.docker.internal (sbx) or host.docker.internal (docker): a proxy for HTTP and CONNECT
    sbx alone: names are answered with an address each, whose ports 80 and 443 are passed on, so that programs
    which ignore the proxy work (`transparent`). Other ports, UDP and ICMP lead nowhere.

Rules are read for each connection, names are looked up only when they are allowed. Besides, of an sbx
machine with a bound on its memory, the largest process is killed when all of them have more than that.
"""
import array
import asyncio
import ctypes
import hashlib
import os
import signal
import socket
import struct
import sys

from fake_sbx_rules import DNS, INSIDE, Rules, split

NAMES = "198.18.0.0"  # /15: an address for each name
HEAD_MAX = 65536


# ---- sockets of the machine ----

def enter(pid):
    libc = ctypes.CDLL(None, use_errno=True)
    fds = [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY) for kind in ("user", "net")]
    for fd in fds:
        if libc.setns(fd, 0) != 0:
            raise OSError(ctypes.get_errno(), "setns")


def add_route():
    """local 198.18.0.0/15 dev lo: all of them are this machine."""
    message = struct.pack("=BBBBBBBBI", socket.AF_INET, 15, 0, 0, 255, 3, 254, 2, 0)
    message += struct.pack("=HH4s", 8, 1, socket.inet_aton(NAMES)) + struct.pack("=HHI", 8, 4, 1)
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    s.send(struct.pack("=IHHII", 16 + len(message), 24, 0x405, 1, 0) + message)
    error = struct.unpack("=i", s.recv(4096)[16:20])[0]
    if error:
        raise OSError(-error, "route")


def tcp(address, port):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((address, port))
    s.listen(128)
    return s


def open_inside(pid, transparent):
    """The sockets, made by a child that entered the machine's namespaces."""
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        try:
            enter(pid)
            made = [tcp(INSIDE, 3128)]
            if transparent:
                add_route()
                names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                names.bind((DNS, 53))
                made += [tcp("0.0.0.0", 80), tcp("0.0.0.0", 443), names]
            fds = array.array("i", [s.fileno() for s in made])
            theirs.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        finally:
            os._exit(0)
    theirs.close()
    _, fds, _, _ = socket.recv_fds(ours, 1, 8)
    os.wait()
    if not fds:
        raise OSError("no sockets inside")
    return [socket.socket(fileno=fd) for fd in fds]


# ---- serving them ----

async def pour(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.close()


async def dial(rules, host, port):
    """A connection to what is allowed; None: it is not. The name is looked up only then."""
    host = host.lower().rstrip(".").strip("[]")
    if host in ("host.docker.internal", "gateway.docker.internal"):
        host = "localhost"  # the machine's host is this one
    if not rules.allows(host, port):
        return None
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    if not rules.allows(host, port, [f[4][0] for f in found]):
        return None
    for f in found:
        try:
            return await asyncio.open_connection(f[4][0], port)
        except OSError:
            continue
    raise OSError("no answer")


async def join(reader, writer, far, first=b""):
    far_reader, far_writer = far
    far_writer.write(first)
    await asyncio.gather(pour(reader, far_writer), pour(far_reader, writer))
    for w in (writer, far_writer):
        w.close()


def origin_form(head):
    """A request to a proxy as the server wants it; one for each connection."""
    lines = head.decode("latin-1").split("\r\n")
    method, target, version = lines[0].split(" ")
    if not target.startswith("http://"):
        raise ValueError(target)
    authority, slash, path = target[7:].partition("/")
    host, port = split(authority)
    keep = [x for x in lines[1:] if x and not x.lower().startswith(("proxy-", "connection:"))]
    text = "\r\n".join([f"{method} /{path} {version}"] + keep + ["Connection: close", "", ""])
    return host, int(port or 80), text.encode("latin-1")


class Server:
    def __init__(self, rules):
        self.rules, self.names = rules, {}

    async def guarded(self, work, writer):
        try:
            await work
        except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.close()

    async def proxy(self, reader, writer):
        await self.guarded(self.proxy_one(reader, writer), writer)

    async def proxy_one(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        if head.startswith(b"CONNECT "):
            host, port = split(head.split(b" ")[1].decode("latin-1"))
            far, first = await dial(self.rules, host, int(port)), b""
            ready = b"HTTP/1.1 200 Connection established\r\n\r\n"
        else:
            host, port, first = origin_form(head)
            far, ready = await dial(self.rules, host, port), b""
        writer.write(ready if far else self.rules.refusal(host))
        if far:
            await join(reader, writer, far, first)
        else:
            await writer.drain()
            writer.close()

    async def passed_on(self, reader, writer):
        await self.guarded(self.passed_one(reader, writer), writer)

    async def passed_one(self, reader, writer):
        address, port = writer.get_extra_info("sockname")[:2]
        far = await dial(self.rules, self.names.get(address, address), port)
        if far:
            await join(reader, writer, far)
        else:
            writer.close()

    def answer(self, sock):
        """An address for each name, whether it is allowed or not; the same one each time."""
        data, peer = sock.recvfrom(4096)
        labels, i = [], 12
        while data[i]:
            labels.append(data[i + 1:i + 1 + data[i]].decode("latin-1"))
            i += 1 + data[i]
        qtype, question = struct.unpack(">H", data[i + 1:i + 3])[0], data[12:i + 5]
        name = ".".join(labels).lower()
        number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % (1 << 17)
        raw = struct.pack(">I", struct.unpack(">I", socket.inet_aton(NAMES))[0] + number)
        self.names[socket.inet_ntoa(raw)] = name
        found = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + raw if qtype == 1 else b""
        sock.sendto(data[:2] + struct.pack(">HHHHH", 0x8180, 1, bool(found), 0, 0) + question + found, peer)


# ---- memory ----

def tree(pid):
    """Everything in the machine: its first process has a pid namespace of its own."""
    own, found = os.readlink(f"/proc/{pid}/ns/pid"), []
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{p}/ns/pid") == own and int(p) != pid:
                with open(f"/proc/{p}/statm", encoding="utf-8") as f:
                    found.append((int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"), int(p)))
        except OSError:
            continue
    return sorted(found)


async def hold_memory(pid, limit):
    while True:
        await asyncio.sleep(0.02)
        try:
            rows = tree(pid)
        except OSError:
            return
        if sum(size for size, _ in rows) > limit:
            os.kill(rows[-1][1], signal.SIGKILL)


async def serve(base, name, pid, kind):
    rules, loop = Rules(base, name, kind), asyncio.get_running_loop()
    server, end = Server(rules), loop.create_future()
    watch = os.pidfd_open(pid)
    sockets = open_inside(pid, rules.sbx)
    loop.add_reader(watch, lambda: end.done() or end.set_result(None))
    await asyncio.start_server(server.proxy, sock=sockets[0], limit=HEAD_MAX)
    if rules.sbx:
        for s in sockets[1:3]:
            await asyncio.start_server(server.passed_on, sock=s, limit=HEAD_MAX)
        loop.add_reader(sockets[3], server.answer, sockets[3])
        keeper = asyncio.ensure_future(hold_memory(pid, rules.vm()["bytes"]))
    os.write(1, b"ready\n")
    os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
    await end
    if rules.sbx:
        keeper.cancel()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]))
