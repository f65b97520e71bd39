"""server.py DIR: the world outside: allowed.test on 8.1.1.1 and denied.test on 8.1.1.2, ports 80 and 443.

    GET /data/N    N bytes that content() makes     GET /slow/N   the same, in drips
    GET /half/N    without a length: the end of the stream is its end, and the other side stays open
    GET /cut/N     promises N bytes, sends half of them, and resets
    POST /hash     the SHA-256 of what was sent
Whoever reaches denied.test is put down in DIR/denied: there must never be such a file.
"""
import asyncio
import hashlib
import socket
import ssl
import struct
import sys

DIR = sys.argv[1] if len(sys.argv) > 1 else ""


def content(n):
    return hashlib.shake_128(b"soak %d" % n).digest(n)


async def body_of(reader, head):
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            return await reader.readexactly(int(line.partition(b":")[2]))
    return b""


def reset(writer):
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def answer(reader, writer, kind, n):
    data = content(n)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
    if kind == "half":
        writer.write(head + b"Connection: close\r\n\r\n" + data)
        await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
            await reader.read(1)
        return False
    writer.write(head + b"Content-Length: %d\r\n\r\n" % n)
    if kind == "cut":
        writer.write(data[:n // 2])
        await writer.drain()
        reset(writer)
        return False
    step = max(1, n // 10) if kind == "slow" else max(1, n)
    for i in range(0, n, step):
        writer.write(data[i:i + step])
        await writer.drain()
        if kind == "slow":
            await asyncio.sleep(0.05)
    return True


async def serve(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            method, target = head.split(b" ", 2)[:2]
            if method == b"POST":
                said = hashlib.sha256(await body_of(reader, head)).hexdigest().encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n" + said)
                await writer.drain()
                continue
            _, kind, n = target.decode().rsplit("/", 2)
            if not await answer(reader, writer, kind, int(n)):
                break
    except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        pass
    finally:
        writer.close()


async def denied(reader, writer):
    with open(f"{DIR}/denied", "ab") as f:
        f.write(await reader.read(200) + b"\n")
    writer.close()


async def main():
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(f"{DIR}/leaf.pem")
    await asyncio.start_server(serve, "8.1.1.1", 80)
    await asyncio.start_server(serve, "8.1.1.1", 443, ssl=tls)
    await asyncio.start_server(denied, "8.1.1.2", 80)
    await asyncio.start_server(denied, "8.1.1.2", 443)
    with open(f"{DIR}/ready", "wb"):
        pass
    await asyncio.Event().wait()

if __name__ == "__main__":
    asyncio.run(main())
