#!/usr/bin/env python3
"""Speaks to `ralph web` byte by byte: web-client.py PORT VERB …

  login KEY                      prints the halves of the session; exit 1 and the status otherwise
  get PATH COOKIE KEY            prints "STATUS BODY"
  act COOKIE KEY VERB ID SEEN [TEXT]   the same
  send                           the request on stdin, as it is; prints the status, or "closed"
  slow N                         N connections that begin a request and stop; prints the status of one more that asks for the page
  deaf N                         the same by connections that ask for much and read nothing
  stream COOKIE KEY TOPICS N     prints N records of the stream
"""
import json
import os
import resource
import socket
import sys

PORT = int(sys.argv[1])
ORIGIN = f"127.0.0.1:{PORT}"


def connect():
    s = socket.create_connection(("127.0.0.1", PORT), timeout=20)
    return s


def read_all(s):
    data = b""
    while True:
        try:
            piece = s.recv(65536)
        except (ConnectionResetError, TimeoutError):
            break
        if not piece:
            break
        data += piece
    return data


def ask(request):
    s = connect()
    s.sendall(request)
    data = read_all(s)
    s.close()
    if not data:
        return 0, b"", {}
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    fields = {}
    for line in lines[1:]:
        name, _, value = line.partition(": ")
        fields[name.lower()] = value
    return int(lines[0].split(" ")[1]), body, fields


def head(method, path, cookie="", key="", **more):
    fields = {"Host": ORIGIN, "Connection": "close"}
    if cookie:
        fields["Cookie"] = f"ralph={cookie}"
    if key:
        fields["X-Ralph-Key"] = key
    fields.update(more)
    return f"{method} {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in fields.items()) + "\r\n"


def post(path, body, cookie="", key=""):
    text = json.dumps(body)
    more = {"Origin": f"http://{ORIGIN}", "Content-Type": "application/json", "Content-Length": str(len(text))}
    return ask((head("POST", path, cookie, key, **more) + text).encode())


def main():
    verb, args = sys.argv[2], sys.argv[3:]
    if verb == "login":
        status, body, fields = post("/login", {"key": args[0]})
        if status != 200:
            print(status)
            return 1
        cookie = fields["set-cookie"].split(";")[0].split("=")[1]
        print(cookie, json.loads(body)["key"])
    elif verb == "get":
        status, body, _ = ask(head("GET", args[0], args[1], args[2]).encode())
        print(status, body.decode())
    elif verb == "act":
        body = {"verb": args[2], "id": args[3], "seen": args[4], "nonce": os.environ.get("NONCE") or os.urandom(16).hex()}
        if len(args) > 5:
            body["text"] = args[5]
        status, answer, _ = post("/api/act", body, args[0], args[1])
        print(status, answer.decode())
    elif verb == "send":
        status, _, _ = ask(sys.stdin.buffer.read().replace(b"PORT", str(PORT).encode()))
        print(status or "closed")
    elif verb in ("slow", "deaf"):
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        held = []
        for _ in range(int(args[0])):
            held.append(connect())
            held[-1].send(b"G" if verb == "slow" else head("GET", "/app.js").encode() * 20)
            # What the server has closed needs no descriptor here.
            if len(held) > min(500, limit // 2):
                held.pop(0).close()
        print(ask(head("GET", "/").encode())[0])
    elif verb == "stream":
        s = connect()
        text = json.dumps({"topics": json.loads(args[2])})
        s.sendall((head("POST", "/api/stream", args[0], args[1], **{"Origin": f"http://{ORIGIN}", "Content-Type": "application/json",
                   "Content-Length": str(len(text))}) + text).encode())
        data, left = b"", int(args[3])
        while left > 0:
            piece = s.recv(65536)
            if not piece:
                print("closed")
                return 0
            data += piece
            while b"\n\n" in data:
                record, _, data = data.partition(b"\n\n")
                record = record.split(b"\r\n\r\n")[-1]
                if record.startswith(b"data: "):
                    print(record[6:].decode(), flush=True)
                    left -= 1
    return 0


sys.exit(main())
