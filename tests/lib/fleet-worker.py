#!/usr/bin/env python3
"""A scripted worker for the tests of loops on other machines: speaks the frames of src/wire/fleet.h on 0 and 1 and does a
task without an agent. usage: fleet-worker.py HOW. It makes a file of the task's name, as the fake agent does.

HOW is one or several words with commas between, each with =VALUE where it needs one:
    steps=N          N iterations before the verdict, each with a checkpoint
    die=N            ends without a word in its Nth iteration, the first time that this task comes here
    version=V        another version
    silent           never answers
    hang             answers, and then says nothing more
    garbage, cut, huge, early     frames that are none, are cut off, are too long, come before their time
    other-lease      its verdict is another worker's, and then it ends
    stale            sends a verdict of another lease before its own
    bad-sum, bad-pack, no-pack    packs that are not what they should be
    secret=TEXT      commits this text; protected: commits .git hooks' neighbour, .vscode/tasks.json; list: marks tasks done
    author           commits as somebody else
    usage            claims absurd numbers and times
    skew=MS          its clock is so far ahead
    code=N           its verdict
    ask=NAME+NAME    asks for these credentials, for a request to api.example.com
    question=HOST+HOST   asks a person for these; many: more than it may, and text for terminals
    events           sends events that it may not
    hold=FILE        waits for this file before its verdict
    unusable         no sandbox can run here
T: where it writes what it was told, from its arguments: HOW:DIR."""
import hashlib
import json
import os
import select
import struct
import subprocess
import sys
import tempfile
import time

(START, TASK, GO, ANSWER, ACK, STOP, LIMIT, RULES, REPLY, HELLO, LINE, EVENT, RECORD, CHECKPOINT, VERDICT, ASK, LOG, QUESTION,
 PACK, PING, PONG, OPEN, OPENED, DATA, CLOSE, WINDOW) = range(1, 27)
MORE = 0x80000000
MESSAGE = 65536
GW_HEADER = 85  # of wire/gateway-proto.h

how, _, told = sys.argv[1].rpartition(":") if ":" in sys.argv[1] else (sys.argv[1], "", "")
HOW = {}
for word in how.split(","):
    key, _, value = word.partition("=")
    HOW[key] = value or "1"


def note(name, text):
    if told:
        with open(os.path.join(told, name), "a", encoding="utf-8") as f:
            f.write(text + "\n")


def send(kind, body=b"", more=False):
    if isinstance(body, (dict, list)):
        body = json.dumps(body).encode()
    data = b""
    while len(body) > MESSAGE:
        data += struct.pack("<III", kind | MORE, 0, MESSAGE) + body[:MESSAGE] + b"\n"
        body = body[MESSAGE:]
    data += struct.pack("<III", kind | (MORE if more else 0), 0, len(body)) + body + b"\n"
    while data:
        data = data[os.write(1, data):]


def read(n):
    data = b""
    while len(data) < n:
        piece = os.read(0, n - len(data))
        if not piece:
            note("ends", "stream")
            sys.exit(3)
        data += piece
    return data


def frame():
    kind, _, n = struct.unpack("<III", read(12))
    body = read(n)
    assert read(1) == b"\n"
    return kind, body


def receive(*wanted):
    """The next message of these types; pings are answered."""
    whole = b""
    while True:
        kind, body = frame()
        more, kind = kind & MORE, kind & ~MORE
        if kind == PING:
            send(PONG, body[:8] + struct.pack("<Q", int(time.time() * 1000) + int(HOW.get("skew", "0"))))
            if PING not in wanted:
                continue
        if kind == RULES:
            note("rules", body.decode())
            if RULES not in wanted:
                continue
        if kind == STOP:
            note("stops", body.decode())
            if STOP not in wanted:
                continue
        whole += body
        if more and kind != PACK:
            continue
        if kind in wanted or not wanted:
            return kind, whole, bool(more)
        whole = b""


def git(*args, **more):
    return subprocess.run(["git", "-C", WS, *args], check=True, stdout=subprocess.PIPE, env=ENV, **more).stdout


def pack_since(since, head):
    if since == head:
        return b""
    return git("pack-objects", "--stdout", "--revs", "--thin", "-q", input=f"{head}\n^{since}\n".encode())


def send_pack(pack):
    for i in range(0, len(pack), 40000):
        send(PACK, pack[i:i + 40000], more=i + 40000 < len(pack))


def end_of(lease, since, head, pack):
    return {"lease": lease, "head": head, "since": since, "sha256": hashlib.sha256(pack).hexdigest(), "bytes": len(pack)}


def write(name, text):
    os.makedirs(os.path.dirname(os.path.join(WS, name)) or WS, exist_ok=True)
    with open(os.path.join(WS, name), "w", encoding="utf-8") as f:
        f.write(text)
    git("add", "-f", name)


def commit(message):
    git("commit", "-q", "-m", message)
    return git("rev-parse", "HEAD").decode().strip()


def summary(n, done, story):
    usd, tokens, ms, at = 10000, 127, 5, int(time.time()) + int(HOW.get("skew", "0")) // 1000
    if "usage" in HOW:
        usd, tokens, ms, at = 1 << 50, 1 << 60, 1 << 50, 1 << 40
    records = [{"iteration": i + 1, "agent": "claude", "task": "\x1b[31mother", "title": story, "ms": ms, "tokens": tokens,
                "micro_usd": usd, "verdict": "done" if done and i == n - 1 else "progress", "why": "as told\x1b[2J",
                "time": at, "waited": False} for i in range(n * (1000 if "usage" in HOW else 1))]
    return {"records": records, "micro_usd": usd * n, "tokens": tokens * n, "active_ms": ms * n, "reason": "all done",
            "tasks": [{"id": story, "attempts": n, "why": ""}]}


# ---- before the task

if "silent" in HOW:
    time.sleep(3600)
kind, body, _ = receive(START)
start = json.loads(body)
note("starts", json.dumps(start))
note("environment", " ".join(sorted(os.environ)))
hello = {"protocol": start["protocol"], "version": HOW.get("version", start["version"]), "node": os.environ.get("NODE_NAME", "node-1"),
         "job": "test 4711", "engine": "native", "usable": "unusable" not in HOW,
         "why": "no user namespaces" if "unusable" in HOW else "", "agents": [], "slots": 1, "pid": os.getpid(),
         "time_ms": int(time.time() * 1000)}
if "early" in HOW:
    send(VERDICT, {"lease": "0" * 32, "head": "", "since": "", "sha256": "0" * 64, "bytes": 0, "code": 0, "why": ""})
if "garbage" in HOW:
    os.write(1, b"Welcome to this machine!\n" * 100)
send(HELLO, hello)

_, body, _ = receive(TASK)
task = json.loads(body)
note("tasks", body.decode())
pack, more = b"", True
while more:
    _, piece, more = receive(PACK)
    pack += piece
_, body, _ = receive(GO)
go = json.loads(body)
assert go["bytes"] == len(pack) and go["sha256"] == hashlib.sha256(pack).hexdigest() and go["lease"] == task["lease"], go

# ---- the task

LEASE, BASE, STORY = task["lease"], task["start"], task["list"]["userStories"][0]["id"]
top = tempfile.mkdtemp(prefix="fleet-worker-")
WS = os.path.join(top, "ws")
os.mkdir(WS)
ENV = {"PATH": os.environ["PATH"], "HOME": top, "GIT_CONFIG_NOSYSTEM": "1"}
for who in ("AUTHOR", "COMMITTER"):
    ENV[f"GIT_{who}_NAME"] = "Mallory" if "author" in HOW else task["author_name"]
    ENV[f"GIT_{who}_EMAIL"] = task["author_email"]
git("init", "-q")
git("index-pack", "--strict", "--stdin", "--fix-thin", input=pack, stderr=subprocess.DEVNULL)
git("reset", "-q", "--hard", BASE)
send(LINE, f"iteration 1: {STORY}".encode())
if "hang" in HOW:
    time.sleep(3600)
if "cut" in HOW:
    os.write(1, struct.pack("<III", LINE, 0, 100) + b"too short")
    sys.exit(0)
if "huge" in HOW:
    os.write(1, struct.pack("<III", LINE, 0, 1 << 30))
    time.sleep(3600)

head = since = BASE
steps = int(HOW.get("steps", "1"))
before = len([n for n in git("ls-files").decode().split("\n") if n.startswith(f"step-{STORY}-")])
for i in range(before, steps - 1):
    if "die" in HOW and i + 1 == int(HOW["die"]) and not os.path.exists(os.path.join(told, f"died-{STORY}")):
        note(f"died-{STORY}", "here")
        os._exit(0)
    write(f"step-{STORY}-{i + 1}", "x\n")
    head = commit(f"{STORY}: step {i + 1}")
    pack = pack_since(since, head)
    note("steps", f"{STORY} {i + 1}")
    send(RECORD, {"lease": LEASE, "summary": summary(i + 1 - before, False, STORY)})
    send_pack(pack)
    send(CHECKPOINT, end_of(LEASE, since, head, pack))
    _, body, _ = receive(ACK, STOP)
    ack = json.loads(body)
    if "when" in ack:
        sys.exit(9)
    assert ack["head"] == head and not ack["verdict"], ack
    since = head
if "hold" in HOW:
    while not os.path.exists(HOW["hold"]):
        if select.select([0], [], [], 0.05)[0]:
            receive(PONG, PING, STOP)
for n, name in enumerate(HOW["ask"].split("+") if "ask" in HOW else []):
    body = struct.pack("<III", 1, n + 1, GW_HEADER)
    for text in (name, "api.example.com", 443, "GET", "/v1/x", "", "", 0):
        if isinstance(text, int):
            body += struct.pack("<I", text)
        else:
            body += struct.pack("<I", len(text) + 1) + text.encode() + b"\0"
    send(ASK, body)
    _, body, _ = receive(ANSWER)
    assert struct.unpack("<II", body[:8]) == (1, n + 1), body
    note("answers", name + " " + repr(body[12:]))
QUESTIONS = HOW.get("question", "")
if QUESTIONS == "many":
    for n in range(10):
        send(QUESTION, {"id": f"{n:08x}", "kind": "decide", "what": "", "why": f"\x1b[2Jnumber {n}?", "choices": [], "wait_s": 1 << 40})
    _, body, _ = receive(REPLY)
    note("replies", body.decode())
elif QUESTIONS:
    for n, name in enumerate(QUESTIONS.split("+")):
        send(QUESTION, {"id": f"{n:08x}", "kind": "host", "what": name, "why": "please", "choices": [], "wait_s": 1})
        _, body, _ = receive(REPLY)
        assert json.loads(body)["id"] == f"{n:08x}", body
        note("replies", body.decode())
if "events" in HOW:
    for event in ({"type": "verdict", "verdict": "done"}, {"type": "release", "by": "host"}, {"type": "ask-answer", "state": "allowed"},
                  {"type": "net", "by": "host", "verdict": "deny", "host": "a\x1b[2Jb.test", "at_ms": 1 << 60, "seq": 9, "chain": "x"},
                  {"type": "net", "verdict": "deny", "host": "c.test", "at_ms": -5, "deep": {"a": {"b": {"c": {"d": {"e": 1}}}}}},
                  {"type": "usage", "micro_usd": 1 << 50}, {"type": "usage", "micro_usd": -7}, {"type": "usage", "micro_usd": 1000}):
        send(EVENT, event)
if "secret" in HOW:
    write("notes.txt", HOW["secret"] + "\n")
if "protected" in HOW:
    write(".vscode/tasks.json", '{"version": "2.0.0", "tasks": []}\n')
if "list" in HOW:
    with open(os.path.join(WS, ".ralph/prd.json"), encoding="utf-8") as f:
        text = f.read()
    write(".ralph/prd.json", text.replace("false", "true"))
write(STORY, "work\n")
head = commit(f"{STORY}: {STORY}")
pack = pack_since(since, head)
verdict = dict(end_of(LEASE, since, head, pack), code=int(HOW.get("code", "0")), why="",
               summary=summary(steps - before, True, STORY))
if "no-pack" in HOW:
    pack = b""
    verdict.update(bytes=0, sha256=hashlib.sha256(b"").hexdigest(), head="1" * 40)
if "bad-pack" in HOW:
    pack = b"PACK" + os.urandom(2000)
    verdict.update(bytes=len(pack), sha256=hashlib.sha256(pack).hexdigest())
if "bad-sum" in HOW:
    verdict["sha256"] = "0" * 64
if "stale" in HOW or "other-lease" in HOW:
    send(VERDICT, dict(verdict, lease="f" * 32, code=4))
if "other-lease" in HOW:
    sys.exit(0)
send_pack(pack)
send(VERDICT, verdict)
_, body, _ = receive(ACK)
assert json.loads(body)["verdict"], body
note("acks", STORY)
subprocess.run(["rm", "-rf", top], check=True)
