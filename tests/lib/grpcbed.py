#!/usr/bin/python3
"""grpcbed.py server DIR PORT | client HOST:PORT CALL…: grpcio, without generated code.

The service is bed.Echo: Unary, ServerStream, ClientStream, Bidi, Slow (never answers), Denied (not in anybody's rules),
Token (shows the authorization it was sent). The client prints a line for each call. The server writes grpc.log:
METHOD AUTHORIZATION, and "cancelled METHOD".
"""
import os
import sys
import threading
import time
from concurrent import futures

import grpc

SERVICE = "bed.Echo"


def serve(where, port):
    def log(text):
        with open(f"{where}/grpc.log", "a", encoding="utf-8") as f:
            f.write(text + "\n")

    def note(name, context):
        log(f"{name} {dict(context.invocation_metadata()).get('authorization', '-')}")

    def unary(request, context):
        note("Unary", context)
        context.set_trailing_metadata((("x-last", "yes"),))
        return b"echo " + request

    def denied(request, context):
        note("Denied", context)
        return b"never"

    def token(request, context):
        shown = dict(context.invocation_metadata()).get("authorization", "-")
        context.set_trailing_metadata((("x-shown", shown),))
        return shown.encode()

    def failing(request, context):
        context.abort(grpc.StatusCode.NOT_FOUND, "no such thing")

    def slow(request, context):
        over = threading.Event()
        context.add_callback(lambda: (log("cancelled Slow"), over.set()))
        over.wait(60)
        return b""

    def server_stream(request, context):
        for i in range(5):
            yield b"%d " % i + request

    def client_stream(requests, context):
        return b"%d" % sum(len(r) for r in requests)

    def bidi(requests, context):
        for r in requests:
            yield b"echo " + r

    handlers = {
        "Unary": grpc.unary_unary_rpc_method_handler(unary),
        "Denied": grpc.unary_unary_rpc_method_handler(denied),
        "Token": grpc.unary_unary_rpc_method_handler(token),
        "Failing": grpc.unary_unary_rpc_method_handler(failing),
        "Slow": grpc.unary_unary_rpc_method_handler(slow),
        "ServerStream": grpc.unary_stream_rpc_method_handler(server_stream),
        "ClientStream": grpc.stream_unary_rpc_method_handler(client_stream),
        "Bidi": grpc.stream_stream_rpc_method_handler(bidi),
    }
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=16))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    with open(f"{where}/leaf.key", "rb") as k, open(f"{where}/leaf.crt", "rb") as c:
        pair = (k.read(), c.read())
    server.add_secure_port(f"0.0.0.0:{port}", grpc.ssl_server_credentials([pair]))
    server.start()
    with open(f"{where}/grpc-ready", "w", encoding="utf-8") as f:
        f.write("yes\n")
    server.wait_for_termination()


def ask(channel, call):
    path = f"/{SERVICE}/{call}"
    try:
        if call == "ServerStream":
            return b",".join(channel.unary_stream(path)(b"x", timeout=20)).decode()
        if call == "ClientStream":
            return channel.stream_unary(path)((b"y" * 50000 for _ in range(20)), timeout=20).decode()
        if call == "Bidi":
            # Each message is sent after the answer to the one before: both directions at once, nothing held back.
            got, go = [], threading.Semaphore(1)

            def requests():
                for i in range(5):
                    go.acquire()
                    yield b"m%d" % i
            for r in channel.stream_stream(path)(requests(), timeout=20):
                got.append(r.decode())
                go.release()
            return ",".join(got)
        if call == "Deadline":
            return channel.unary_unary(f"/{SERVICE}/Slow")(b"", timeout=0.5).decode()
        if call == "Cancel":
            f = channel.unary_unary(f"/{SERVICE}/Slow").future(b"")
            time.sleep(0.3)
            f.cancel()
            return "cancelled"
        answer, rpc = channel.unary_unary(path).with_call(b"x", timeout=20)
        return answer.decode() + " " + " ".join(f"{k}={v}" for k, v in rpc.trailing_metadata())
    except grpc.RpcError as e:
        return f"{e.code().name} {e.details()}"


def client(target, calls):
    with open(os.environ.get("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt"), "rb") as f:
        roots = f.read()
    with grpc.secure_channel(target, grpc.ssl_channel_credentials(roots)) as channel:
        for call in calls:
            print(f"{call}: {ask(channel, call)}", flush=True)


if sys.argv[1] == "server":
    serve(sys.argv[2], int(sys.argv[3]))
else:
    client(sys.argv[2], sys.argv[3:])
