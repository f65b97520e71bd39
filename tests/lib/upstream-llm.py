#!/usr/bin/python3
"""upstream-llm.py DIR ADDRESS PORT: the providers' side of a conversation with a coding agent, over TLS.

Speaks Anthropic Messages (also as Bedrock and Vertex have it), OpenAI Responses, Gemini and Code Assist.
DIR has upstream.pem (key and certificate) and steps.json, the model's part: a list of
    {"say": TEXT}                      it says this, and is done with its turn
    {"say": TEXT, "call": [TOOL, INPUT]}      it calls a tool of the agent's; NAMESPACE/TOOL for OpenAI's
    {"custom": [TOOL, TEXT]}           the same for tools that take text (Codex)
    {"status": 429, "body": {...}, "headers": {...}}
    {"turns": [STEP, ...]}             the one that comes after as many answers as the conversation has already had
Each request that offers tools takes the next step; after the last one the model says "finished". Other
requests, which agents make for titles and the like, get "understood". aws.json, when there, is {"id", "secret",
"token"}: then the signature of each request is computed anew. Written there: upstream.log, a JSON object a
request, with "signed" telling whether the signature held and "h2" over which protocol it came; and upstream.ready.
Where DIR has a file h2, HTTP/2 is offered.
"""
import base64
import hashlib
import hmac
import http.client
import http.server
import io
import json
import os
import socketserver
import ssl
import struct
import sys
import threading
import urllib.parse
import zlib

DIR = sys.argv[1]
lock = threading.Lock()
turns = 0
ASIDE = 9999  # the number of a turn that offers no tools


def read_json(name, otherwise):
    try:
        with open(f"{DIR}/{name}", encoding="utf-8") as f:
            return json.load(f)
    except FileNotFoundError:
        return otherwise


def next_step():
    global turns
    with lock:
        steps, n = read_json("steps.json", []), turns
        turns += 1
    return (n, steps[n]) if n < len(steps) else (n, {"say": "finished"})


# ---- AWS signatures ----

def signed(request, body):
    """Is the request's signature the one that aws.json gives? None: it carries none."""
    aws, field = read_json("aws.json", None), request.headers.get("authorization", "")
    if not aws or not field.startswith("AWS4-HMAC-SHA256 "):
        return None
    parts = dict(p.strip().split("=", 1) for p in field[17:].split(","))
    key_id, day, region, service, _ = parts["Credential"].split("/")
    names = parts["SignedHeaders"].split(";")
    path, _, query = request.path.partition("?")
    pairs = sorted(urllib.parse.parse_qsl(query, keep_blank_values=True))
    canonical = "\n".join([
        request.command,
        urllib.parse.quote(path, safe="/-_.~"),
        "&".join(f"{urllib.parse.quote(k, safe='-_.~')}={urllib.parse.quote(v, safe='-_.~')}" for k, v in pairs),
        "".join(f"{n}:{' '.join(request.headers.get(n, '').split())}\n" for n in names),
        parts["SignedHeaders"], hashlib.sha256(body).hexdigest()])
    stamp = request.headers.get("x-amz-date", "")
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, f"{day}/{region}/{service}/aws4_request",
                      hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + aws["secret"]).encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return (key_id == aws["id"] and stamp.startswith(day) and "host" in names and
            request.headers.get("x-amz-security-token") == aws.get("token") and
            hmac.compare_digest(hmac.new(key, text.encode(), hashlib.sha256).hexdigest(), parts["Signature"]))


# ---- Anthropic ----

def anthropic_blocks(step, n):
    blocks = [{"type": "text", "text": step["say"]}] if "say" in step else []
    if "call" in step:
        name, given = step["call"]
        blocks.append({"type": "tool_use", "id": f"toolu_{n:04d}", "name": name, "input": given})
    return blocks


def anthropic_message(step, n, model):
    return {"id": f"msg_{n:04d}", "type": "message", "role": "assistant", "model": model,
            "content": anthropic_blocks(step, n), "stop_sequence": None,
            "stop_reason": "tool_use" if "call" in step else "end_turn",
            "usage": {"input_tokens": 10, "output_tokens": 50, "cache_read_input_tokens": 1000,
                      "cache_creation_input_tokens": 100}}


def anthropic_events(step, n, model):
    whole = anthropic_message(step, n, model)
    yield {"type": "message_start", "message": dict(whole, content=[], stop_reason=None,
                                                    usage=dict(whole["usage"], output_tokens=1))}
    for i, block in enumerate(whole["content"]):
        if block["type"] == "text":
            start, delta = dict(block, text=""), {"type": "text_delta", "text": block["text"]}
        else:
            start, delta = dict(block, input={}), {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": i, "content_block": start}
        yield {"type": "content_block_delta", "index": i, "delta": delta}
        yield {"type": "content_block_stop", "index": i}
    yield {"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
           "usage": whole["usage"]}
    yield {"type": "message_stop"}


def aws_frame(event):
    fields = b""
    for name, value in ((":event-type", "chunk"), (":content-type", "application/json"), (":message-type", "event")):
        fields += bytes([len(name)]) + name.encode() + b"\7" + struct.pack(">H", len(value)) + value.encode()
    payload = json.dumps({"bytes": base64.b64encode(json.dumps(event).encode()).decode()}).encode()
    head = struct.pack(">II", 16 + len(fields) + len(payload), len(fields))
    frame = head + struct.pack(">I", zlib.crc32(head)) + fields + payload
    return frame + struct.pack(">I", zlib.crc32(frame))


# ---- OpenAI ----

def openai_events(step, n, model):
    items = []
    if "say" in step:
        items.append({"type": "message", "id": f"msg_{n}", "role": "assistant", "status": "completed",
                      "content": [{"type": "output_text", "text": step["say"], "annotations": []}]})
    if "call" in step:
        items.append({"type": "function_call", "id": f"fc_{n}", "call_id": f"call_{n}", "status": "completed",
                      "name": step["call"][0].split("/")[-1], "arguments": json.dumps(step["call"][1]),
                      **({"namespace": step["call"][0].split("/")[0]} if "/" in step["call"][0] else {})})
    if "custom" in step:
        items.append({"type": "custom_tool_call", "id": f"ct_{n}", "call_id": f"call_{n}", "status": "completed",
                      "name": step["custom"][0], "input": step["custom"][1]})
    head = {"id": f"resp_{n:04d}", "object": "response", "created_at": 1, "model": model, "output": []}
    yield {"type": "response.created", "response": dict(head, status="in_progress")}
    for i, item in enumerate(items):
        yield {"type": "response.output_item.added", "output_index": i, "item": item}
        if item["type"] == "message":
            yield {"type": "response.output_text.delta", "output_index": i, "content_index": 0,
                   "item_id": item["id"], "delta": step["say"]}
        yield {"type": "response.output_item.done", "output_index": i, "item": item}
    yield {"type": "response.completed", "response": dict(head, status="completed", output=items, usage={
        "input_tokens": 1000, "input_tokens_details": {"cached_tokens": 400}, "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 10}, "total_tokens": 1050})}


# ---- Gemini ----

def gemini_answer(step, inside):
    parts = [{"text": step["say"]}] if "say" in step else []
    if "call" in step:
        parts.append({"functionCall": {"name": step["call"][0], "args": step["call"][1]}})
    answer = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
              "usageMetadata": {"promptTokenCount": 1000, "candidatesTokenCount": 50, "totalTokenCount": 1050},
              "modelVersion": "scripted", "responseId": "r1"}
    return {"response": answer, "traceId": "t"} if inside else answer


CODE_ASSIST = {":loadCodeAssist": {"currentTier": {"id": "free-tier", "name": "Free"}, "allowedTiers": [],
                                   "cloudaicompanionProject": "scripted"},
               ":onboardUser": {"done": True, "response": {"cloudaicompanionProject": {"id": "scripted"}}}}


class Upstream(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def body(self):
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        data = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def note(self, body, asked):
        row = {"method": self.command, "path": self.path, "headers": [[k.lower(), v] for k, v in self.headers.items()],
               "tools": bool(asked.get("tools")), "size": len(body), "signed": signed(self, body),
               "h2": isinstance(self, Stream)}
        with lock, open(f"{DIR}/upstream.log", "a", encoding="utf-8") as f:
            f.write(json.dumps(row) + "\n")

    def reply(self, status, answer, headers=None):
        data = json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def stream(self, kind, pieces):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def handle_request(self):
        body = self.body()
        try:
            asked = json.loads(body) if body else {}
        except ValueError:
            asked = {}
        inner = asked.get("request", asked) if isinstance(asked.get("request", asked), dict) else {}
        self.note(body, inner)
        path = urllib.parse.unquote(self.path.partition("?")[0])
        if self.headers.get("upgrade"):
            return self.reply(426, {"error": {"message": "no upgrade here"}})
        n, step = next_step() if inner.get("tools") else (ASIDE, {"say": "understood"})
        if "turns" in step:
            had = sum(m.get("role") == "assistant" for m in inner.get("messages", []))
            step = step["turns"][min(had, len(step["turns"]) - 1)]
        if "status" in step:
            return self.reply(step["status"], step.get("body", {}), step.get("headers"))
        return self.answer(path, asked, n, step)

    def answer(self, path, asked, n, step):
        if path.endswith("/v1/messages") or "/model/" in path or ":streamRawPredict" in path or ":rawPredict" in path:
            return self.anthropic(path, asked, n, step)
        if path.endswith("/responses"):
            events = openai_events(step, n, asked.get("model"))
            return self.stream("text/event-stream", (self.sse(e) for e in events))
        if path.endswith("enerateContent"):
            if n == ASIDE:  # which model would do? It asks again until it gets an answer of this form
                step = {"say": '{"reasoning": "none", "model_choice": "flash"}'}
            answer = gemini_answer(step, "v1internal" in path)
            if path.endswith(":generateContent"):
                return self.reply(200, answer)
            return self.stream("text/event-stream", [b"data: " + json.dumps(answer).encode() + b"\r\n\r\n"])
        for end, answer in CODE_ASSIST.items():
            if path.endswith(end):
                return self.reply(200, answer)
        if path.endswith(("countTokens", "count_tokens")):
            return self.reply(200, {"totalTokens": 42, "input_tokens": 42})
        known = "v1internal" in path or path.endswith(("/models", "/inference-profiles"))
        return self.reply(200 if known else 404, {} if known else {"error": {"message": f"no {path} here"}})

    @staticmethod
    def sse(event):
        return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()

    def anthropic(self, path, asked, n, step):
        model = asked.get("model", "scripted")
        if path.endswith("-stream"):
            return self.stream("application/vnd.amazon.eventstream", map(aws_frame, anthropic_events(step, n, model)))
        if asked.get("stream") or path.endswith(":streamRawPredict"):
            return self.stream("text/event-stream; charset=utf-8", map(self.sse, anthropic_events(step, n, model)))
        return self.reply(200, anthropic_message(step, n, model))

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = handle_request

    def handle(self):
        if self.connection.selected_alpn_protocol() == "h2":
            serve_h2(self.connection, self.client_address, self.server)
        else:
            super().handle()


class Stream(Upstream):
    """One stream of HTTP/2: its request is a message of HTTP/1.1 without the lines, its answer is kept in pieces."""

    def __init__(self, fields, body):  # pylint: disable=super-init-not-called
        pseudo = {k: v for k, v in fields if k.startswith(":")}
        self.command, self.path = pseudo[":method"], pseudo[":path"]
        self.headers = http.client.HTTPMessage()
        for name, value in [("host", pseudo[":authority"])] + [f for f in fields if not f[0].startswith(":")]:
            self.headers[name] = value
        self.rfile = io.BytesIO(body)
        self.status, self.fields, self.pieces = 500, [], []

    def body(self):
        return self.rfile.read()

    def reply(self, status, answer, headers=None):
        self.status, self.pieces = status, [json.dumps(answer).encode()]
        self.fields = list({"content-type": "application/json", **(headers or {})}.items())

    def stream(self, kind, pieces):
        self.status, self.fields, self.pieces = 200, [("content-type", kind)], list(pieces)


def answer_h2(c, number, fields, body):
    """Each piece is a frame."""
    one = Stream(fields, body)
    one.handle_request()
    c.send_headers(number, [(":status", str(one.status))] + one.fields)
    for piece in one.pieces:
        c.send_data(number, piece)
    c.end_stream(number)


def serve_h2(sock, *_):
    import h2.config
    import h2.connection
    import h2.events
    c = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="latin-1"))
    requests = {}
    c.initiate_connection()
    sock.sendall(c.data_to_send())
    while data := sock.recv(65536):
        for e in c.receive_data(data):
            if isinstance(e, h2.events.RequestReceived):
                requests[e.stream_id] = [e.headers, b""]
            elif isinstance(e, h2.events.DataReceived):
                requests[e.stream_id][1] += e.data
                c.acknowledge_received_data(e.flow_controlled_length, e.stream_id)
            elif isinstance(e, h2.events.StreamEnded):
                answer_h2(c, e.stream_id, *requests.pop(e.stream_id))
        sock.sendall(c.data_to_send())


class Server(http.server.ThreadingHTTPServer):
    def server_bind(self):
        # Without asking a DNS server what this address is called.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]


def main():
    server = Server((sys.argv[2], int(sys.argv[3])), Upstream)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{DIR}/upstream.pem")
    if os.path.exists(f"{DIR}/h2"):
        context.set_alpn_protocols(["h2", "http/1.1"])
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(f"{DIR}/upstream.ready", "w", encoding="utf-8") as f:
        f.write(f"{server.server_address[1]} {os.getpid()}\n")
    server.serve_forever()


main()
