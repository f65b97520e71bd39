"""nodes.py SOCKET: any number of nodes in one process, for bench/fleet: each connection is a worker with as many slots as home asks for,
which takes its tasks and then works forever. The numbers of the messages are those of src/wire/fleet.h. Prints a line for each task that a worker has whole."""
import asyncio
import json
import os
import re
import struct
import sys
import time

HEAD = struct.Struct("<III")
MORE = 1 << 31


def types():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "wire", "fleet.h")
    with open(path, encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", re.search(r"enum fleet_type \{(.*?)\};", f.read(), re.S).group(1), flags=re.S)
    return {name: i for i, name in enumerate(re.findall(r"FLEET_(\w+)", text))}


T = types()


async def node(reader, writer):
    def put(name, body):
        writer.write(HEAD.pack(T[name], 0, len(body)) + body + b"\n")

    whole = b""  # the frames of a message follow each other
    try:
        while True:
            kind, _, n = HEAD.unpack(await reader.readexactly(HEAD.size))
            body = (await reader.readexactly(n + 1))[:-1]
            name = kind & ~MORE
            if name == T["PACK"]:
                continue
            whole += body
            if kind & MORE:
                continue
            if name == T["START"]:
                start = json.loads(whole)
                put("HELLO", json.dumps({
                    "protocol": start["protocol"], "version": start["version"], "node": "node", "job": "", "engine": "native", "usable": True,
                    "why": "", "agents": [], "slots": start["slots"], "pid": 1, "time_ms": int(time.time() * 1000)}).encode())
            elif name == T["GO"]:
                print("task", flush=True)
            elif name == T["PING"]:
                put("PONG", whole + struct.pack("<Q", int(time.time() * 1000)))
            whole = b""
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main():
    server = await asyncio.start_unix_server(node, sys.argv[1], backlog=2000)
    print("ready", flush=True)
    await server.serve_forever()


asyncio.run(main())
