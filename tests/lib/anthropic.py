#!/usr/bin/python3
"""anthropic.py DIR [PORT [ADDRESS]]: a scripted provider over TLS: messages, and the place where its logins are renewed.

DIR has leaf.pem (key and certificate). What it answers is read from DIR for every request:
    state.json   {"access": […], "refresh": "…"}: what it takes; a renewal writes it anew
    mode         how a renewal ends: ok (the default), invalid_grant, error, garbage, hang, no-refresh
    hold         while this file is there, a renewal waits
    h2           when it is there at the start, HTTP/2 is offered
    lifetime     seconds that a new token lasts; 28800
Written there:
    requests.jsonl  {"method", "path", "headers", "body"}, a line per request
    port            once it listens
"""
import asyncio
import json
import os
import ssl
import sys

DIR = sys.argv[1]


def read(name, default):
    try:
        with open(f"{DIR}/{name}", encoding="utf-8") as f:
            return f.read().strip()
    except FileNotFoundError:
        return default


def log(entry):
    with open(f"{DIR}/requests.jsonl", "a", encoding="utf-8") as f:
        f.write(json.dumps(entry) + "\n")


def state():
    return json.loads(read("state.json", '{"access": [], "refresh": ""}'))


def save(new):
    with open(f"{DIR}/state.new", "w", encoding="utf-8") as f:
        json.dump(new, f)
    os.rename(f"{DIR}/state.new", f"{DIR}/state.json")


async def renew(body):
    mode = read("mode", "ok")
    if mode == "hang":
        await asyncio.sleep(3600)
    asked = json.loads(body)
    now = state()
    # Good for one use: it is taken before the answer is on its way.
    good = asked.get("refresh_token") == now["refresh"] and now["refresh"]
    if good and mode in ("ok", "no-refresh"):
        n = len(now["access"]) + 1
        fresh = {"access": now["access"] + [f"sk-ant-oat01-fresh-{n}"],
                 "refresh": now["refresh"] if mode == "no-refresh" else f"sk-ant-ort01-fresh-{n}"}
        save(fresh)
    while os.path.exists(f"{DIR}/hold"):
        await asyncio.sleep(0.02)
    if mode == "error":
        return 503, {"error": "overloaded"}
    if mode == "garbage":
        return 200, "<html>"
    if mode == "invalid_grant" or not good:
        return 400, {"error": "invalid_grant", "error_description": "Refresh token not found or invalid"}
    answer = {"token_type": "Bearer", "access_token": fresh["access"][-1],
              "expires_in": int(read("lifetime", "28800")),
              "scope": "user:inference user:profile", "account": {"uuid": "a", "email_address": "a@example.invalid"}}
    if mode == "ok":
        answer["refresh_token"] = fresh["refresh"]
    return 200, answer


def stream(answer):
    """The same answer as a client that streams wants it."""
    text = answer["content"][0]["text"]
    events = [{"type": "message_start", "message": {**answer, "content": [], "stop_reason": None}},
              {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
              {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
              {"type": "content_block_stop", "index": 0},
              {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
              {"type": "message_stop"}]
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)


def messages(head):
    given = head.get("x-api-key") or head.get("authorization", "").removeprefix("Bearer ")
    if given not in state()["access"]:
        return 401, {"type": "error", "error": {"type": "authentication_error", "message": "invalid"}}
    return 200, {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test",
                 "content": [{"type": "text", "text": "hello"}], "stop_reason": "end_turn",
                 "usage": {"input_tokens": 3, "output_tokens": 5}}


async def until(name):
    while not os.path.exists(f"{DIR}/{name}"):
        await asyncio.sleep(0.02)


async def scripted(how, head, body):
    """Answers of /v1/messages?as=HOW: what they cost is what was asked for, and `held` waits for the file go."""
    status, out = messages(head)
    if status != 200:
        return status, out
    asked = json.loads(body)
    out["model"] = asked["model"]
    out["usage"] = {"input_tokens": 1, "output_tokens": asked["max_tokens"]}
    if how == "held":
        await until("go")
    if how == "error":
        return 529, {"type": "error", "error": {"type": "overloaded_error", "message": "later"}}
    if how == "silent":
        del out["usage"]
    if how == "key":
        out["model"] = head.get("x-api-key")
    return (200, "event: x\n" + json.dumps(out)) if how == "text" else (200, out)


async def answer(method, path, head, body):
    if "?as=" in path and method == "POST":
        return await scripted(path.split("=")[1], head, body)
    if path == "/v1/oauth/token" and method == "POST":
        return await renew(body)
    if path == "/v1/messages?echo":
        return 200, {"headers": head}
    if path.split("?")[0] == "/v1/messages" and method == "POST":
        status, out = messages(head)
        return (status, stream(out)) if status == 200 and b'"stream":true' in body else (status, out)
    if path == "/echo":
        return 200, {"headers": head}
    return 404, {"type": "error", "error": {"type": "not_found_error", "message": path}}


async def chunks(r):
    body = b""
    while size := int(await r.readline(), 16):
        body += (await r.readexactly(size + 2))[:-2]
    await r.readline()
    return body


async def serve_h2(r, w):
    """The same over HTTP/2: each event of a stream is a frame."""
    import h2.config
    import h2.connection
    import h2.events
    c = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="latin-1"))
    requests, tasks = {}, set()

    async def one(i, fields, body):
        head = {k: v for k, v in fields if not k.startswith(":")}
        method, path = (dict(fields)[k] for k in (":method", ":path"))
        log({"method": method, "path": path, "headers": head, "body": body.decode("latin-1"), "h2": i})
        status, out = await answer(method, path, head, body)
        pieces = [e + "\n\n" for e in out.split("\n\n") if e] if isinstance(out, str) else [json.dumps(out)]
        kind = "text/event-stream" if pieces[0].startswith("event:") else "application/json"
        c.send_headers(i, [(":status", str(status)), ("content-type", kind)])
        for text in pieces:
            c.send_data(i, text.encode())
        if path.endswith("?as=cut"):
            c.reset_stream(i, 2)
        else:
            c.end_stream(i)
        w.write(c.data_to_send())

    c.initiate_connection()
    w.write(c.data_to_send())
    while data := await r.read(65536):
        for e in c.receive_data(data):
            if isinstance(e, h2.events.RequestReceived):
                requests[e.stream_id] = [e.headers, b""]
            elif isinstance(e, h2.events.DataReceived):
                requests[e.stream_id][1] += e.data
                c.acknowledge_received_data(e.flow_controlled_length, e.stream_id)
            elif isinstance(e, h2.events.StreamEnded):
                task = asyncio.create_task(one(e.stream_id, *requests.pop(e.stream_id)))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
        w.write(c.data_to_send())


async def serve(r, w):
    if w.get_extra_info("ssl_object").selected_alpn_protocol() == "h2":
        await serve_h2(r, w)
        w.close()
        return
    try:
        while line := await r.readline():
            method, path, _ = line.decode("latin-1").split(" ", 2)
            head = {}
            while field := (await r.readline()).decode("latin-1").strip():
                k, _, v = field.partition(":")
                head[k.lower()] = head[k.lower()] + ", " + v.strip() if k.lower() in head else v.strip()
            body = await chunks(r) if "transfer-encoding" in head else await r.readexactly(int(head.get("content-length", 0)))
            log({"method": method, "path": path, "headers": head, "body": body.decode("latin-1")})
            status, out = await answer(method, path, head, body)
            text = (out if isinstance(out, str) else json.dumps(out)).encode()
            if path.endswith("?as=cut"):
                w.write(b"HTTP/1.1 200 x\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
                text = b'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":1}}}\n\n'
                w.write(b"%x\r\n%s\r\n" % (len(text), text))
                await w.drain()
                if os.path.exists(f"{DIR}/keep"):
                    await until("go")
                break
            kind = b"text/plain" if path.endswith("?as=text") else b"text/event-stream" if text.startswith(b"event:") else b"application/json"
            w.write(b"HTTP/1.1 %d x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
                    % (status, kind, len(text)) + text)
            await w.drain()
    except (OSError, ValueError, asyncio.IncompleteReadError, ssl.SSLError):
        pass
    finally:
        w.close()


async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{DIR}/leaf.pem")
    if os.path.exists(f"{DIR}/h2"):
        context.set_alpn_protocols(["h2", "http/1.1"])
    address = sys.argv[3] if len(sys.argv) > 3 else "127.0.0.1"
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    server = await asyncio.start_server(serve, address, port, ssl=context)
    with open(f"{DIR}/port.new", "w", encoding="utf-8") as f:
        f.write(str(server.sockets[0].getsockname()[1]))
    os.rename(f"{DIR}/port.new", f"{DIR}/port")
    await asyncio.Event().wait()


asyncio.run(main())
