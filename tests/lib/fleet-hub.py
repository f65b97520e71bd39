#!/usr/bin/env python3
"""A scripted hub for the tests of placements with slots: takes the tasks that it gets and does none of them.
usage: fleet-hub.py HOW:DIR. What it was told is appended to DIR/hub.

HOW is what it does when it has as many tasks as slots=, by default 2:
    no-slot      sends a line of a slot that it does not have
    free-slot    sends a line of a slot without a task
    swap         sends a verdict of slot 0 with the lease of slot 1
    mute         says nothing more, and does not answer a ping
    few          greets with one slot
    wait         waits for the end of the stream, and answers pings
    refuse=N     sends a checkpoint of slot 0 with a pack of N wrong bytes, and then waits as above
"""
import hashlib
import json
import os
import struct
import sys
import time

(START, TASK, GO, ANSWER, ACK, STOP, LIMIT, RULES, REPLY, HELLO, LINE, EVENT, RECORD, CHECKPOINT, VERDICT, ASK, LOG, QUESTION,
 PACK, PING, PONG, OPEN, OPENED, DATA, CLOSE, WINDOW) = range(1, 27)
MORE = 0x80000000

how, told = sys.argv[1].split(":", 1)
HOW = dict(word.partition("=")[::2] for word in how.split(","))


def note(text):
    with open(os.path.join(told, "hub"), "a", encoding="utf-8") as f:
        f.write(text + "\n")


def send(kind, slot, body=b""):
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    data = struct.pack("<III", kind, slot, len(data)) + data + b"\n"
    while data:
        data = data[os.write(1, data):]


def read(n):
    data = b""
    while len(data) < n:
        piece = os.read(0, n - len(data))
        if not piece:
            note("end")
            sys.exit(0)
        data += piece
    return data


def end(kind, slot, lease, pack=b"", **more):
    if pack:
        send(PACK, slot, pack)
    send(kind, slot, {"lease": lease, "head": "1" * 40, "since": "", "sha256": hashlib.sha256(pack).hexdigest(), "bytes": len(pack), **more})


def verdict(slot, lease):
    end(VERDICT, slot, lease, code=0, why="")


def act(leases):
    if "no-slot" in HOW:
        send(LINE, int(HOW["slots"]), b"here")
    elif "free-slot" in HOW:
        send(LINE, len(leases), b"here")
    elif "swap" in HOW:
        verdict(0, leases[1])
    elif "refuse" in HOW:
        end(CHECKPOINT, 0, leases[0], os.urandom(int(HOW["refuse"])))
    elif "mute" in HOW:
        while read(1):
            pass


def main():
    leases, parts, wanted = {}, {}, int(HOW.get("tasks", "2"))
    while True:
        kind, slot, n = struct.unpack("<III", read(12))
        body = parts.pop(slot, b"") + read(n)
        assert read(1) == b"\n"
        if kind & MORE and kind & ~MORE != PACK:
            parts[slot] = body
            continue
        kind &= ~MORE
        if kind == START:
            start = json.loads(body)
            note("start %d" % start["slots"])
            send(HELLO, 0, {"protocol": start["protocol"], "version": start["version"], "node": "hub", "job": "", "engine": "native",
                            "usable": True, "why": "", "agents": [], "slots": 1 if "few" in HOW else start["slots"],
                            "pid": os.getpid(), "time_ms": int(time.time() * 1000)})
        elif kind == TASK:
            leases[slot] = json.loads(body)["lease"]
        elif kind == PING:
            send(PONG, 0, body[:8] + struct.pack("<Q", int(time.time() * 1000)))
        elif kind == STOP:
            # It gives up the task: the slot is free again.
            note("stop %d" % slot)
            verdict(slot, leases[slot])
        elif kind == ACK:
            note("ack %d" % slot)
        elif kind == GO:
            note("go %d" % slot)
            if len(leases) == wanted:
                act(leases)
                wanted = 0


main()
