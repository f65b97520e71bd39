#!/usr/bin/env python3
"""Event logs as another program reads, writes and harms them.

eventlog.py check DIR               follows the chain over all files; prints the number of records
eventlog.py write DIR FILES EACH    a log of so many full files and a newest one, EACH usage events in each
eventlog.py harm DIR KIND INDEX     changes | drops | repeats | forges | moves the record INDEX (from 0) of the newest file
eventlog.py cut DIR N               takes the last N records away
"""
import hashlib
import json
import os
import sys

TAIL = len(',"chain":""}') + 64


def path(d, i):
    return os.path.join(d, f"events.{i}.jsonl" if i else "events.jsonl")


def link(before, body):
    return hashlib.sha256((before + body + "}").encode()).hexdigest()


def check(d):
    lines = []
    for i in range(7, -1, -1):
        if os.path.exists(path(d, i)):
            lines += open(path(d, i)).read().splitlines()
    first = json.loads(lines[0])
    before = first["from"]["chain"] if first["type"] == "log" and "from" in first else ""
    seq = first["seq"]
    for line in lines:
        record = json.loads(line)
        assert record["seq"] == seq, record
        assert record["chain"] == link(before, line[:-TAIL]), record
        before, seq = record["chain"], seq + 1
    head = open(os.path.join(d, "events.head")).read().split()
    assert head[0] == str(seq - 1) and head[1] == before, head
    print(len(lines))


class Log:
    def __init__(self, d):
        self.d, self.seq, self.chain, self.first, self.usage = d, 0, "", 1, 0
        self.starts = []

    def add(self, f, kind, **more):
        self.seq += 1
        body = json.dumps({"seq": self.seq, "time": "2026-01-31T12:00:00.000Z", "type": kind, **more},
                          separators=(",", ":"))[:-1]
        self.chain = link(self.chain, body)
        f.write(f'{body},"chain":"{self.chain}"}}\n')

    def carried(self):
        return [{"day": "2026-01-31", "credential": "anthropic", "model": "claude-x", "requests": self.usage,
                 "input": self.usage, "output": 0, "cache_read": 0, "cache_write": 0, "micro_usd": 1000 * self.usage}]

    def write(self, files, each):
        names = []
        for i in range(files + 1):
            name = os.path.join(self.d, f"new.{i}")
            names.append(name)
            with open(name, "w") as f:
                self.starts.append(self.seq + 1)
                if i:
                    self.add(f, "log", what="continued", **{"from": {"seq": self.seq, "chain": self.chain}},
                             first=1, usage=self.carried())
                for _ in range(each):
                    self.usage += 1
                    self.add(f, "usage", credential="anthropic", model="claude-x", status=200, input=1, output=0,
                             cache_read=0, cache_write=0, micro_usd=1000)
        for i in range(8):
            if os.path.exists(path(self.d, i)):
                os.unlink(path(self.d, i))
        for i, name in enumerate(reversed(names)):
            if i > 7:
                os.unlink(name)
            else:
                os.rename(name, path(self.d, i))
                self.first = self.starts[len(names) - 1 - i]
        with open(os.path.join(self.d, "events.head"), "w") as f:
            f.write(f"{self.seq:<20} {self.chain} {self.first:<20}\n")


def harm(d, kind, index):
    lines = open(path(d, 0)).read().splitlines()
    record = lines[index]
    if kind == "changes":
        # The time, by one second: a well-formed record, and another one.
        at = record.index('"time":"') + len('"time":"2026-01-31T12:00:0')
        lines[index] = record[:at] + ("1" if record[at] != "1" else "2") + record[at + 1:]
    elif kind == "drops":
        del lines[index]
    elif kind == "repeats":
        lines.insert(index, record)
    elif kind == "forges":
        before = json.loads(lines[index - 1])["chain"] if index else ""
        body = '{"seq":%d,"time":"2026-01-31T12:00:00.000Z","type":"forged"' % (index + 1)
        lines.insert(index, f'{body},"chain":"{link(before, body)}"}}')
    elif kind == "moves":
        lines.insert(index - 1 if index else 1, lines.pop(index))
    open(path(d, 0), "w").write("\n".join(lines) + "\n")


def cut(d, n):
    lines = open(path(d, 0)).read().splitlines()
    open(path(d, 0), "w").write("".join(line + "\n" for line in lines[:-n]))


if sys.argv[1] == "check":
    check(sys.argv[2])
elif sys.argv[1] == "write":
    Log(sys.argv[2]).write(int(sys.argv[3]), int(sys.argv[4]))
elif sys.argv[1] == "harm":
    harm(sys.argv[2], sys.argv[3], int(sys.argv[4]))
elif sys.argv[1] == "cut":
    cut(sys.argv[2], int(sys.argv[3]))
