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
    steal            the same with the lease of another node's task, once it knows that
    bad-sum, bad-pack, no-pack    packs that are not what they should be
    secret=TEXT      commits this text; protected: commits .git hooks' neighbour, .vscode/tasks.json; list: marks tasks done
    author           commits as somebody else
    usage            claims absurd numbers and times
    skew=MS          its clock is so far ahead
    code=N           its verdict
    ask=NAME+NAME    asks for these credentials, for a request to api.example.com
    question=HOST+HOST   asks a person for these; many: more than it may, and text for terminals
    events           sends events that it may not
    open=TARGET+…    asks home for tunnels to these: HOST@PORT, or endpoints; `opened` has what home says to each. Through
                     one that stands it sends send=TEXT or, with hello=NAME, a ClientHello for that name, and notes the answer
    hold=FILE        waits for this file before its verdict; told to end after its iteration, it does
    limited=S        the first worker of US-1 says that the provider's limit ends in so many seconds
    unusable         no sandbox can run here
    why=TEXT         the reason of unusable, or of a verdict without commits
    late             after a loss: first sends the verdict of the lease that it had before
    twice            sends checkpoints and its verdict twice
    reorder=HOW      checkpoint-first, verdict-first, cut-by-line, pack-behind
    head=WHAT        its commit is parent, orphan, blob, or merge
    nothing          a verdict without commits and records, with code=N
    no-records       checkpoints without a word about iterations
    mortal=N         ends without a word after N checkpoints, each time
    flood=WHAT       without an end: stderr, checkpoints, pings, asks, lines, records, packs
    line=TEXT        says this; escapes of Python count
    pong=N           the time that it answers pings with
    large=N          its work has so many bytes
    bomb=WHAT        commits zeros, trees, deltas, names
A word with a task's id before it, ID/WORD, counts for that task alone.
T: where it writes what it was told, from its arguments: HOW:DIR."""
import errno
import hashlib
import json
import os
import select
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

(START, TASK, GO, ANSWER, ACK, STOP, LIMIT, RULES, REPLY, HELLO, LINE, EVENT, RECORD, CHECKPOINT, VERDICT, ASK, LOG, QUESTION,
 PACK, PING, PONG, OPEN, OPENED, DATA, CLOSE, WINDOW) = range(1, 27)
MORE = 0x80000000
MESSAGE = 65536
GW_HEADER = 85  # of wire/gateway-proto.h; tests/unit/test-wire-fleet.c holds it

how, told = (sys.argv[1].rsplit(":", 1) + [""])[:2]
HOW = {}
for word in how.split(","):
    if "/" not in word.split("=")[0]:
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
            note("pings", "")
            note("pinged", HOW.get("me", "-"))
            at = int(HOW["pong"]) if "pong" in HOW else int(time.time() * 1000) + int(HOW.get("skew", "0"))
            send(PONG, body[:8] + struct.pack("<Q", at))
            if PING not in wanted:
                continue
        if kind == LIMIT:
            note("limits", "%s %d %d" % (task["list"]["userStories"][0]["id"], task["epoch"], json.loads(body)["for_ms"]))
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


def raw_pack(objects):
    """A pack of (type, bytes): 1 commit, 2 tree, 3 blob, or 7 and (name of the base, delta)."""
    data = struct.pack(">4sII", b"PACK", 2, len(objects))
    for kind, body in objects:
        base, size = b"", len(body)
        if kind == 7:
            base, body = body
            size = len(body)
        head, byte = b"", (kind << 4) | (size & 15)
        size >>= 4
        while size:
            head += bytes([byte | 128])
            byte, size = size & 127, size >> 7
        data += head + bytes([byte]) + base + zlib.compress(body)
    return data + hashlib.sha1(data).digest()


def name_of(kind, body):
    return hashlib.sha1({1: b"commit", 2: b"tree", 3: b"blob"}[kind] + b" %d\0" % len(body) + body).digest()


def commit_of(tree):
    who = f"{task['author_name']} <{task['author_email']}> {int(time.time())} +0000"
    return f"tree {tree.hex()}\nparent {BASE}\nauthor {who}\ncommitter {who}\n\nbomb\n".encode()


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def copies(size, n):
    """A delta that has its base of this size n times."""
    out, left = varint(size) + varint(size * n), size * n
    while left:
        piece = min(left, size, 0xffffff)
        out += bytes([0x80 | 0x10 | 0x20 | 0x40]) + struct.pack("<I", piece)[:3]
        left -= piece
    return out


def bomb_of(what):
    """Few bytes that are many when they are looked at: (commit, pack)."""
    objects = []
    if what == "zeros":
        body = bytes(300 << 20)
        objects.append((3, body))
        tree = b"100644 zeros\0" + name_of(3, body)
    elif what == "deltas":
        body = os.urandom(1 << 20)
        objects.append((3, body))
        base, size = name_of(3, body), len(body)
        for _ in range(4):
            # Each is 8 times its base, the last one 4 GiB. Their names are of no use, so the tree has the first one's.
            objects.append((7, (base, copies(size, 8))))
            size *= 8
            base = hashlib.sha1(b"blob %d\0" % size + body * (size // len(body))).digest() if size <= 64 << 20 else os.urandom(20)
        tree = b"100644 deltas\0" + name_of(3, body)
    elif what == "trees":
        body = b"x\n"
        objects.append((3, body))
        tree = b"".join(b"100644 f%d\0" % i + name_of(3, body) for i in range(10))
        for _ in range(9):
            objects.append((2, tree))
            tree = b"".join(b"40000 d%d\0" % i + name_of(2, tree) for i in range(10))
    else:
        body = b"x\n"
        objects.append((3, body))
        tree = b"".join(b"100644 " + name + b"\0" + name_of(3, body) for name in sorted([b"\x1b[31mred", b"a\nb", "\u202egpj.exe".encode(), b"-rf"]))
    objects.append((2, tree))
    head = commit_of(name_of(2, tree))
    objects.append((1, head))
    return name_of(1, head).hex(), raw_pack(objects)


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
         "why": HOW.get("why", "no user namespaces").encode().decode("unicode_escape") if "unusable" in HOW else "", "agents": [], "slots": 1, "pid": os.getpid(),
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
for word in how.split(","):
    if word.startswith(STORY + "/"):
        key, _, value = word.partition("/")[2].partition("=")
        HOW[key] = value or "1"
HOW["me"] = STORY
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

if "line" in HOW:
    send(LINE, HOW["line"].encode().decode("unicode_escape").encode())
if "late" in HOW and task["epoch"] > 1:
    with open(os.path.join(told, "tasks"), encoding="utf-8") as f:
        before = [t["lease"] for t in map(json.loads, f) if t["list"] == task["list"]][0]
    assert before != LEASE
    send(RECORD, {"lease": before, "summary": summary(1, True, STORY)})
    send(CHECKPOINT, end_of(before, BASE, BASE, b""))
    send(VERDICT, dict(end_of(before, BASE, BASE, b""), code=4, why="", summary=summary(1, True, STORY)))
if "nothing" in HOW:
    send(VERDICT, dict(end_of(LEASE, BASE, BASE, b""), code=int(HOW.get("code", "0")), why=HOW.get("why", "")))
    receive(ACK)
    sys.exit(0)


def flood(what):
    ends = time.monotonic() + 60
    if what == "stderr":
        with open("/dev/zero", "rb") as f:
            while time.monotonic() < ends:
                os.write(2, f.read(1 << 16))
    while time.monotonic() < ends:
        if what == "checkpoints":
            send(CHECKPOINT, end_of(LEASE, BASE, BASE, b""))
        elif what == "pings":
            send(PING, bytes(8))
        elif what == "lines":
            send(LINE, b"x" * 60000)
        elif what == "records":
            send(RECORD, {"lease": LEASE, "summary": {"records": [{"why": "x" * 5000, "waited": True}] * 400}})
        elif what == "packs":
            send(PACK, os.urandom(MESSAGE), more=True)
        elif what == "asks":
            send(ASK, struct.pack("<III", 1, 1, 0))


if "flood" in HOW:
    threading.Thread(target=flood, args=(HOW["flood"],), daemon=True).start()
    if HOW["flood"] != "stderr":
        time.sleep(3600)
if "bomb" in HOW:
    head, pack = bomb_of(HOW["bomb"])
    send_pack(pack)
    send(VERDICT, dict(end_of(LEASE, BASE, head, pack), code=0, why="", summary=summary(1, True, STORY)))
    receive(ACK)
    sys.exit(0)
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
    if "no-records" not in HOW:
        send(RECORD, {"lease": LEASE, "summary": summary(i + 1 - before, False, STORY)})
    if HOW.get("reorder") == "checkpoint-first":
        send(CHECKPOINT, end_of(LEASE, since, head, pack))
    if HOW.get("reorder") == "cut-by-line":
        os.write(1, struct.pack("<III", RECORD | MORE, 0, 1) + b"{\n")
        send(LINE, b"in between")
    send_pack(pack)
    send(CHECKPOINT, end_of(LEASE, since, head, pack))
    if "twice" in HOW:
        send(CHECKPOINT, end_of(LEASE, since, head, pack))
        send_pack(pack)
        send(CHECKPOINT, end_of(LEASE, since, head, pack))
        receive(ACK)
        receive(ACK)
    _, body, _ = receive(ACK, STOP)
    ack = json.loads(body)
    if "when" in ack:
        sys.exit(9)
    assert ack["head"] == head and not ack["verdict"], ack
    since = head
    if i + 1 - before == int(HOW.get("mortal", "0")):
        os._exit(0)
if "limited" in HOW and STORY == "US-1" and task["epoch"] == 1:
    record = dict(summary(1, False, STORY), resets_at=int(time.time()) + int(HOW["limited"]))
    record["records"][0].update(verdict="rate limit", waited=True)
    send(RECORD, {"lease": LEASE, "summary": record})
if "hold" in HOW:
    note("holds", STORY)
    while not os.path.exists(HOW["hold"]) or ("limited" in HOW and select.select([0], [], [], 0)[0]):
        if select.select([0], [], [], 0.05)[0]:
            got, body, _ = receive(PONG, PING, STOP, LIMIT)
            if got == STOP and json.loads(body)["when"] == "after":
                send(VERDICT, dict(end_of(LEASE, since, since, b""), code=9, why=""))
                receive(ACK)
                sys.exit(0)
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


def hello(name):
    """The bytes of a TLS client that asks for that server."""
    out = ssl.MemoryBIO()
    try:
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        return out.read()


def tunnel(channel, target):
    """OPEN, what home says to it, and what comes back of the first bytes."""
    kind = 1 if target == "endpoints" else 0
    send(OPEN, struct.pack("<II", channel, kind) + target.replace("@", ":").encode())
    _, body, _ = receive(OPENED)
    told_channel, eno = struct.unpack("<II", body)
    assert told_channel == channel, body
    note("opened", f"{target} {errno.errorcode.get(eno, 'open') if eno else 'open'}")
    if eno:
        return
    first = hello(HOW["hello"]) if "hello" in HOW else HOW.get("send", "").replace("~", "\r\n").encode()
    if first:
        send(DATA, struct.pack("<I", channel) + first)
        got = b""
        while True:
            kind, body, _ = receive(DATA, CLOSE)
            if kind == CLOSE:
                break
            got += body[4:]
            send(WINDOW, struct.pack("<II", channel, len(body) - 4))
            if got[:2] == b"\x16\x03" or b"HTTP/1." in got:
                break
        note("got", f"{target} {got!r}")
    if HOW.get("half"):
        return
    send(CLOSE, struct.pack("<II", channel, 104))


for n, target in enumerate(HOW["open"].split("+") if "open" in HOW else []):
    tunnel(n + 1, target)
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
write(STORY, os.urandom(int(HOW["large"]) // 2).hex() if "large" in HOW else "work\n")
head = commit(f"{STORY}: {STORY}")
pack = pack_since(since, head)
verdict = dict(end_of(LEASE, since, head, pack), code=int(HOW.get("code", "0")), why="",
               summary=summary(steps - before, True, STORY))
if "head" in HOW:
    what = HOW["head"]
    if what == "parent":
        head = git("rev-parse", BASE + "~1").decode().strip()
    elif what == "blob":
        head = git("rev-parse", f"{head}:{STORY}").decode().strip()
    elif what == "orphan":
        head = git("commit-tree", "-m", f"{STORY}: {STORY}", head + "^{tree}").decode().strip()
    else:
        head = git("commit-tree", "-m", f"{STORY}: {STORY}", "-p", head, "-p", BASE, head + "^{tree}").decode().strip()
    pack = git("pack-objects", "--stdout", "--revs", "-q", input=f"{head}\n".encode()) if what == "orphan" else pack
    if what == "merge":
        pack = pack_since(since, head)
    verdict.update(end_of(LEASE, since, head, pack))
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
if "steal" in HOW:
    others = []
    while not others:
        with open(os.path.join(told, "tasks"), encoding="utf-8") as f:
            others = [t for t in map(json.loads, filter(lambda line: line.endswith("\n"), f)) if t["lease"] != LEASE]
    send(VERDICT, dict(verdict, lease=others[0]["lease"], code=4))
if "other-lease" in HOW:
    sys.exit(0)
if HOW.get("reorder") == "verdict-first":
    send(VERDICT, verdict)
send_pack(pack)
send(VERDICT, verdict)
if HOW.get("reorder") == "pack-behind":
    send_pack(pack)
    send(CHECKPOINT, end_of(LEASE, since, head, pack))
if "twice" in HOW:
    send(VERDICT, verdict)
    send_pack(pack)
    send(VERDICT, dict(verdict, code=4))
_, body, _ = receive(ACK)
assert json.loads(body)["verdict"], body
note("acks", STORY)
subprocess.run(["rm", "-rf", top], check=True)
