#!/usr/bin/python3
"""A scripted home for `ralph worker`: speaks wire/fleet.h over a worker's standard input and output.

fleet-home.py [OPTION=VALUE…] REPO -- PLACEMENT…

Places one task of REPO's HEAD, writes what comes back into the directory of out= and prints one line of JSON. Options say
where this home misbehaves.
"""
import hashlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time

NAMES = """NONE START TASK GO ANSWER ACK STOP LIMIT RULES REPLY HELLO LINE EVENT RECORD CHECKPOINT VERDICT ASK LOG QUESTION
PACK PING PONG OPEN OPENED DATA CLOSE WINDOW""".split()
T = {n: i for i, n in enumerate(NAMES)}
MORE = 1 << 31
MAX = 65536
HEAD = struct.Struct("<III")
GW_HEADER, GW_HEADER_IS = 85, 86  # enum gw_type; tests/unit/test-wire-fleet.c holds them


dialled = {}  # channel: socket


class Stream:
    def __init__(self, argv, env=None, stderr=None):
        self.p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=env, bufsize=0)
        self.buf = b""
        self.parts = {}

    def raw(self, data):
        try:
            while data:
                data = data[self.p.stdin.write(data):]
        except (OSError, ValueError):
            pass  # the worker, or this end of the stream, is gone

    def put(self, name, body=b"", slot=0, more=False):
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
        while len(body) > MAX:
            self.raw(HEAD.pack(T[name] | MORE, slot, MAX) + body[:MAX] + b"\n")
            body = body[MAX:]
        self.raw(HEAD.pack(T[name] | (MORE if more else 0), slot, len(body)) + body + b"\n")

    def pack(self, data, slot=0):
        for at in range(0, len(data), MAX):
            self.put("PACK", data[at:at + MAX], slot, more=True)
        self.put("PACK", b"", slot)

    def get(self, timeout):
        """(name, slot, body, more), None at the end of the stream, "late" after the time."""
        end = time.monotonic() + timeout
        while True:
            if len(self.buf) >= HEAD.size:
                t, slot, n = HEAD.unpack_from(self.buf)
                if len(self.buf) >= HEAD.size + n + 1:
                    body = self.buf[HEAD.size:HEAD.size + n]
                    assert self.buf[HEAD.size + n:HEAD.size + n + 1] == b"\n", "a frame without its newline"
                    self.buf = self.buf[HEAD.size + n + 1:]
                    name, more = NAMES[t & ~MORE], bool(t & MORE)
                    if name in ("PACK", "LOG"):
                        return name, slot, body, more
                    self.parts[slot] = self.parts.get(slot, b"") + body
                    if more:
                        continue
                    return name, slot, self.parts.pop(slot), False
            left = end - time.monotonic()
            ready = select.select([self.p.stdout, *dialled.values()], [], [], left)[0] if left > 0 else []
            if not ready:
                return "late"
            for channel, sock in list(dialled.items()):
                if sock in ready:
                    data = sock.recv(32768)
                    if data:
                        self.put("DATA", struct.pack("<I", channel) + data)
                    else:
                        self.put("CLOSE", struct.pack("<II", channel, 0))
                        dialled.pop(channel).close()
            if self.p.stdout not in ready:
                continue
            data = os.read(self.p.stdout.fileno(), 1 << 16)
            if not data:
                return None
            self.buf += data


def git(repo, *args, **kw):
    return subprocess.run(["git", "-C", repo, *args], check=True, stdout=subprocess.PIPE, **kw).stdout


def version(ralph):
    return subprocess.run([ralph, "--version"], check=True, stdout=subprocess.PIPE).stdout.decode().split()[-1]


def task(repo, opts, slot=0):
    base = opts.get("base") or git(repo, "rev-parse", "HEAD").decode().strip()
    prd = json.load(open(os.path.join(repo, ".ralph/prd.json")))
    stories = [s for s in prd["userStories"] if s["id"] == opts.get("task", "US-1")]
    prd["userStories"] = stories
    branch = prd["branchName"] = "ralph/demo-" + stories[0]["id"]
    prompt = os.path.join(repo, ".ralph/prompt.md")
    return {
        "lease": opts.get("lease") or os.urandom(16).hex(), "epoch": 1, "loop": "demo", "task": stories[0]["id"],
        "base": base, "start": opts.get("start") or base, "branch": branch,
        "author_name": "A U Thor", "author_email": "author@example.org",
        "config": opts.get("config", "agent: command\nnetwork:\n  tier: none\nworkspace:\n  quarantine: all\n"),
        "flags": opts.get("flags", "loop.max_iterations=3").split(","),
        "list": prd, "prompt": open(prompt).read() if os.path.exists(prompt) else "do it",
        "request": {"version": 1, "mode": "build", "command": opts.get("argv", "./agent.py honest").split(),
                    **json.loads(opts.get("request", "{}"))},
        "credentials": json.loads(opts.get("credentials", "[]")), "egress": opts.get("egress", "node"),
    }


def send_task(s, repo, t, slot=0, damage=None):
    pack = git(repo, "pack-objects", "--stdout", "--revs", "-q", input=(t["start"] + "\n").encode())
    end = {"lease": t["lease"], "head": t["start"], "since": "", "sha256": hashlib.sha256(pack).hexdigest(), "bytes": len(pack)}
    if damage == "pack":
        pack = pack[:-30] + bytes(30)
        end["sha256"] = hashlib.sha256(pack).hexdigest()
    if damage == "sum":
        end["sha256"] = "0" * 64
    s.put("TASK", t, slot)
    s.pack(pack, slot)
    s.put("GO", end, slot)


def take(repo, got, end, slot):
    """A pack of the node's: whole, thin, and made a reference."""
    assert len(got) == end["bytes"] and hashlib.sha256(got).hexdigest() == end["sha256"], "the pack is not as its end says"
    if got:
        git(repo, "index-pack", "--strict", "--stdin", "--fix-thin", input=got)
    git(repo, "update-ref", f"refs/ralph/fleet/{slot or 'head'}", end["head"])


def main():
    cut = sys.argv.index("--")
    opts = dict(a.split("=", 1) for a in sys.argv[1:cut - 1])
    repo, argv = sys.argv[cut - 1], sys.argv[cut + 1:]
    out = opts.get("out", ".")
    bad = opts.get("bad", "")
    limit = float(opts.get("limit", "100"))
    res = {"frames": [], "lines": [], "heads": [], "records": [], "logs": {}, "asks": 0}
    s = Stream(argv, stderr=open(os.path.join(out, "worker.err"), "wb"))
    res["pid"] = s.p.pid
    silent = s.get(float(opts.get("first", "0.3")))
    res["silent"] = silent == "late"
    start = {"protocol": 1, "version": opts.get("version") or version(argv[0]), "engine": opts.get("engine", ""),
             "lease_ms": int(opts.get("lease_ms", "60000")), "slots": int(opts.get("slots", "1")), "probe": opts.get("probe") == "yes"}
    if bad == "garbage":
        s.raw(b"srun: error: Unable to allocate resources: Invalid account\n" * 3)
    elif bad == "oversized":
        s.raw(HEAD.pack(T["START"], 0, MAX + 1))
    elif bad == "direction":
        s.put("VERDICT", {})
    elif bad == "early":
        s.put("GO", {})
    elif bad == "truncated":
        s.raw(HEAD.pack(T["START"], 0, 500) + b"{")
        s.p.stdin.close()
    else:
        s.put("START", start)
    tasks, got, log, verdicts, ticks = {}, {}, {}, {}, 0
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        f = s.get(0.5)
        if f is None:
            break
        if f == "late":
            if opts.get("mute") != "yes":
                s.put("PING", struct.pack("<Q", ticks))
            ticks += 1
            continue
        name, slot, body, more = f
        if name not in ("LINE", "EVENT", "PACK", "LOG", "PONG", "PING"):
            res["frames"].append(name)
        if name == "HELLO":
            res["hello"] = json.loads(body)
            if bad == "hello":
                s.raw(b"\0" * 40)
            elif opts.get("version") is None and opts.get("task") != "none":
                for k in range(start["slots"]):
                    tasks[k] = task(repo, opts if start["slots"] == 1 else {**opts, "task": f"US-{k + 1}"})
                    send_task(s, repo, tasks[k], k, damage=bad)
            if opts.get("task") == "none":
                break
        elif name == "LINE":
            res["lines"].append(body.decode(errors="replace"))
            if "by another worker" in res["lines"][-1]:
                s.put("LIMIT", {"for_ms": 0})
            if opts.get("on") and opts["on"] in res["lines"][-1]:
                what, opts["on"] = opts.get("do"), None
                if what == "close":
                    s.p.stdin.close()
                    s.p.stdout.close()
                    break
                if what == "eof":
                    break
                if what == "term":
                    s.p.send_signal(signal.SIGTERM)
                elif what == "signal":
                    os.kill(int(opts["signal"]), signal.SIGTERM)
                elif what == "kill":
                    s.p.kill()
                elif what == "mute":
                    opts["mute"] = "yes"
                    deadline = time.monotonic() + limit
                elif what in ("now", "after"):
                    s.put("STOP", {"when": what})
                elif what == "limit":
                    s.put("LIMIT", {"for_ms": 3600000})
                elif what == "garbage":
                    s.raw(b"\xff" * 100)
                elif what == "hold":
                    open(os.path.join(out, "held"), "w").close()
        elif name == "PACK":
            got[slot] = got.get(slot, b"") + body
        elif name == "LOG":
            if log.get(slot) is None:
                log[slot] = body.decode()
                res["logs"][log[slot]] = 0
            else:
                res["logs"][log[slot]] += len(body)
                log[slot] = log[slot] if more else None
        elif name == "RECORD":
            res["records"].append(len(json.loads(body)["summary"]["records"]))
        elif name == "CHECKPOINT":
            end = json.loads(body)
            take(repo, got.pop(slot, b""), end, slot)
            res["heads"].append(end["head"])
            if not opts.get("no_ack"):
                s.put("ACK", {"lease": end["lease"], "head": end["head"], "verdict": False}, slot)
        elif name == "VERDICT":
            verdict = verdicts[slot] = json.loads(body)
            if verdict["bytes"] or got.get(slot):
                take(repo, got.pop(slot, b""), verdict, slot)
            if opts.get("no_ack") != "yes":
                s.put("ACK", {"lease": verdict["lease"], "head": verdict["head"], "verdict": True}, slot)
            if start["slots"] > 1 and len(verdicts) == start["slots"]:
                s.p.stdin.close()
        elif name == "ASK":
            res["asks"] += 1
            line, number, kind = struct.unpack_from("<III", body)
            answer(s, opts, line, number, kind, body[12:])
        elif name in ("OPEN", "DATA", "CLOSE", "WINDOW"):
            tunnel(s, opts, res, name, body)
        elif name == "PING":
            if opts.get("mute") != "yes":
                s.put("PONG", body + struct.pack("<Q", int(time.time() * 1000)))
    if opts.get("task") == "none" or opts.get("do") == "eof":
        s.p.stdin.close()
    try:
        res["exit"] = s.p.wait(limit)
    except subprocess.TimeoutExpired:
        res["exit"] = "hangs"
        s.p.kill()
    res["verdict"] = verdicts.get(0)
    res["verdicts"] = {k: v["code"] for k, v in verdicts.items()}
    res["leases"] = all(v["lease"] == tasks[k]["lease"] for k, v in verdicts.items())
    print(json.dumps(res))


def tunnel(s, opts, res, name, body):
    """Dials everything at the port of this machine that dial= names."""
    channel = struct.unpack_from("<I", body)[0]
    if name == "OPEN":
        res.setdefault("opened", []).append(body[8:].decode())
        try:
            dialled[channel] = socket.create_connection(("127.0.0.1", int(opts["dial"])))
            s.put("OPENED", struct.pack("<II", channel, 0))
        except (OSError, KeyError):
            s.put("OPENED", struct.pack("<II", channel, 111))
    elif name == "DATA" and channel in dialled:
        dialled[channel].sendall(body[4:])
        s.put("WINDOW", struct.pack("<II", channel, len(body) - 4))
    elif name == "CLOSE" and channel in dialled:
        dialled[channel].shutdown(socket.SHUT_WR)


def text(s):
    s = s.encode() + b"\0"
    return struct.pack("<I", len(s)) + s


def strv(v):
    return struct.pack("<I", len(v)) + b"".join(text(x) for x in v)


def answer(s, opts, line, number, kind, body):
    """What home's credential helper would say: the key of key=, or a refusal."""
    assert kind == GW_HEADER, kind
    if opts.get("key"):
        head = struct.pack("<II", 0, 30000)
        rest = strv(["x-api-key: " + opts["key"]]) + strv(["x-api-key", "authorization"]) + strv([opts["key"]]) + struct.pack("<I", 0)
    else:
        head, rest = struct.pack("<II", 1, 0), strv([]) + strv([]) + strv([]) + struct.pack("<I", 1) + text("home refuses this")
    s.put("ANSWER", struct.pack("<III", line, number, GW_HEADER_IS) + head + rest)


if __name__ == "__main__":
    main()
