"""Every row of the promise: what is measured, beside whom, and the bar it has to hold.

A row's ratio is one of FORMS, taken round by round where the two were measured in turn; its median is held to the bar.
A row without a bar is only shown.
"""
from collections import namedtuple

FORMS = {
    "times": "theirs / ours",  # how many times ours goes into theirs: times, CPU, bytes of memory
    "share": "ours / theirs",  # the same the other way round, where ours may be the larger one
    "rate": "ours / theirs",   # more is better
    "extra": "ours - theirs",  # what comes on top, in their unit
    "value": "ours",           # nobody to compare with
}

Bar = namedtuple("Bar", "part what peer unit form op limit", defaults=(None, None))

EXEC = "a command in a live sandbox: `ralph exec NAME true`"
RUN = "a sandbox made, used and removed: `ralph run --rm -- true`"
SLOW = "memory of the gateway with five slow readers"
HOOK = "a hook's decision, process start included"

BARS = {
    # A command in a sandbox.
    "exec.true": Bar("exec", EXEC, "`true` alone", "ms", "share", "<=", 2.2),
    "exec.bwrap": Bar("exec", EXEC, "bwrap", "ms", "times", ">=", 2.5),
    "run.user": Bar("exec", RUN + ", as a plain user", "bwrap", "ms", "share", "<=", 1.4),
    "run.bwrap": Bar("exec", RUN + ", as root", "bwrap", "ms", "share", "<=", 1.6),
    "run.codex": Bar("exec", RUN, "codex sandbox", "ms", "times", ">=", 7),
    "run.srt": Bar("exec", RUN, "srt", "ms", "times", ">=", 55),
    "run.podman": Bar("exec", RUN, "podman", "ms", "times"),
    "run.docker": Bar("exec", RUN, "docker", "ms", "times"),
    # Tunnels of the gateway.
    "bulk.haproxy": Bar("gateway", "bytes through a tunnel", "haproxy", "MB/s", "rate", ">=", 1.5),
    "bulk.squid": Bar("gateway", "bytes through a tunnel", "squid", "MB/s", "rate", ">=", 1),
    "bulk.srt": Bar("gateway", "bytes through a tunnel", "srt", "MB/s", "rate", ">=", 4),
    "bulk.codex": Bar("gateway", "bytes through a tunnel", "codex", "MB/s", "rate", ">=", 1.5),
    "bulk.cpu": Bar("gateway", "CPU for a GB through a tunnel", "haproxy", "ms", "share", "<=", 1),
    "tunnels.haproxy": Bar("gateway", "new tunnels, transparent", "haproxy", "/s", "rate", ">=", 1.1),
    "tunnels.squid": Bar("gateway", "new tunnels, CONNECT", "squid", "/s", "rate", ">=", 1),
    "tunnels.srt": Bar("gateway", "new tunnels, CONNECT", "srt", "/s", "rate", ">=", 4),
    "tunnels.codex": Bar("gateway", "new tunnels, CONNECT", "codex", "/s", "rate", ">=", 1.5),
    "tunnels.cpu.haproxy": Bar("gateway", "CPU of a new tunnel, transparent", "haproxy", "µs", "share", "<=", 1),
    "tunnels.cpu.squid": Bar("gateway", "CPU of a new tunnel, CONNECT", "squid", "µs", "share", "<=", 1),
    "tunnels.stalls": Bar("gateway", "new tunnels that took 40 ms and more, where those of no other proxy did", None, "",
                          "value", "<=", 0),
    "bulk.srt.proxy": Bar("gateway", "bytes through a tunnel", "srt, proxy alone", "MB/s", "rate"),
    "bulk.codex.proxy": Bar("gateway", "bytes through a tunnel", "codex, proxy alone", "MB/s", "rate"),
    "tunnels.srt.proxy": Bar("gateway", "new tunnels, CONNECT", "srt, proxy alone", "/s", "rate"),
    "tunnels.codex.proxy": Bar("gateway", "new tunnels, CONNECT", "codex, proxy alone", "/s", "rate"),
    "bulk.splice": Bar("gateway", "bytes through a tunnel", "haproxy, splice-auto", "MB/s", "rate"),
    "bulk.tinyproxy": Bar("gateway", "bytes through a tunnel", "tinyproxy", "MB/s", "rate"),
    # Requests that get a credential.
    "request.cpu": Bar("gateway", "CPU of an injected request", "nginx", "µs", "share", "<=", 0.9),
    "request.p50": Bar("gateway", "what an injected request takes longer, p50", "nginx", "µs", "share", "<=", 0.9),
    "request.sse": Bar("gateway", "lag of a server-sent event, p50", "nginx", "µs", "share", "<=", 0.9),
    "inspect.cpu": Bar("gateway", "CPU of an inspected request", "nginx", "µs", "share", "<=", 1),
    "inspect.p50": Bar("gateway", "what an inspected request takes longer, p50", "nginx", "µs", "share", "<=", 1),
    "h2.cpu": Bar("gateway", "CPU of an injected request over HTTP/2", "nginx", "µs", "share", "<=", 1),
    "h2.p50": Bar("gateway", "what an injected request over HTTP/2 takes longer, p50", "nginx", "µs", "share", "<=", 1),
    "grpc.cpu": Bar("gateway", "CPU of an injected call of gRPC", "nginx", "µs", "share", "<=", 1),
    "grpc.p50": Bar("gateway", "what an injected call of gRPC takes longer, p50", "nginx", "µs", "share", "<=", 1),
    "request.rate": Bar("gateway", "injected requests over 16 connections", "nginx", "/s", "rate"),
    "signed.cpu": Bar("gateway", "CPU of a request whose header is asked for each time", "nginx", "µs", "share", "<=", 1.1),
    "signed.p50": Bar("gateway", "what a request with a header asked for each time takes longer, p50",
                      "nginx", "µs", "share", "<=", 1.1),
    "signed.question": Bar("gateway", "a question to another process and its answer, p50: two processes on one core that do nothing else",
                           None, "µs", "value"),
    "signed.own": Bar("gateway", "what a request with a header asked for each time takes longer without that question, p50",
                      "nginx", "µs", "share"),
    # The search of answers for a secret: a right guess takes as long as a wrong one.
    "guard.right": Bar("guard", "searching all but one character of the secret",
                       "while it is another", "ns", "share", "<=", 1.01),
    "guard.wrong": Bar("guard", "searching all but one character of another secret",
                       "while it is this one", "ns", "share", "<=", 1.01),
    "guard.right64": Bar("guard", "the same in base64", "while it is another", "ns", "share", "<=", 1.01),
    "guard.wrong64": Bar("guard", "the same of another secret in base64", "while it is this one", "ns", "share", "<=", 1.01),
    "guard.event": Bar("guard", "searching a server-sent event", None, "ns", "value"),
    "guard.json": Bar("guard", "searching a KiB of JSON", None, "ns", "value"),
    "guard.base64": Bar("guard", "searching a KiB of base64", None, "ns", "value"),
    # Memory.
    "gateway.memory": Bar("gateway", "memory of the gateway, TLS in use, RSS", None, "MiB", "value", "<=", 10),
    "gateway.held": Bar("gateway", "memory of a held TLS connection, 1,000 held", "nginx", "KiB", "value", "<=", 25),
    "gateway.stream": Bar("gateway", "memory of an open stream of gRPC, 1,000 over ten connections", "nginx", "KiB", "share", "<=", 1),
    "gateway.slow": Bar("gateway", SLOW + ", RSS", None, "MiB", "value", "<=", 12),
    "gateway.growth": Bar("gateway", SLOW + ", growth once their buffers are full", None, "MiB", "value", "<=", 0.5),
    "gateway.tunnels": Bar("gateway", SLOW + " of tunnels, growth", None, "MiB", "value", "<=", 0.5),
    "memory.one": Bar("memory", "memory of one idle sandbox, PSS of all its processes", None, "MB", "value", "<=", 4.5),
    "memory.ten": Bar("memory", "memory of each of ten idle sandboxes, PSS", None, "MB", "value", "<", 1),
    "memory.srt": Bar("memory", "memory of one idle sandbox, PSS", "srt", "MB", "times"),
    "memory.codex": Bar("memory", "memory of one idle sandbox, PSS", "codex sandbox", "MB", "times"),
    # Hooks.
    "hook.same": Bar("hook", "decisions that differ from those of the same judge in Python", None, "", "value", "<=", 0),
    "hook.harmless": Bar("hook", HOOK + ": a harmless command", "Python", "ms", "times", ">=", 20),
    "hook.evasion": Bar("hook", HOOK + ": an evasion", "Python", "ms", "times", ">=", 20),
    "hook.document": Bar("hook", HOOK + ": a here-document of 20 KB", "Python", "ms", "times", ">=", 20),
    # Transcripts.
    "export.time": Bar("export", "a conversation of 64 MiB exported", "Python", "s", "times", ">=", 8),
    "export.memory": Bar("export", "memory for the largest conversation, 1 GiB, RSS", None, "MiB", "value", "<", 61),
    # Repositories.
    "repo.large": Bar("repo", "looking for changes in a repository of 50,000 files", "git status", "ms", "share", "<=", 1),
    "repo.small": Bar("repo", "looking for changes in a repository of 20 files", "git status", "ms", "share"),
    # The loop.
    "loop.task": Bar("loop", "a task in a loop of 200 with a trivial agent, `--parallel 16`", "in a loop of 10", "ms", "share"),
    "loop.cpu": Bar("loop", "CPU of a task in a loop of 200 with a trivial agent, `--parallel 16`", "in a loop of 10", "ms", "share", "<=", 1.2),
    # Workers on other machines.
    "fleet.memory": Bar("fleet", "memory of ralph at home for each worker on another machine, PSS, 200 of them", None, "MiB", "value", "<=", 1),
    "fleet.processes": Bar("fleet", "processes of ralph at home for each such worker, besides the srun or ssh", None, "", "value"),
    "fleet.descriptors": Bar("fleet", "descriptors of ralph at home for each such worker", None, "", "value"),
    "fleet.slots.memory": Bar("fleet", "memory of ralph at home for each worker on another machine, PSS, 1,000 of them with 16 on each stream",
                              None, "MiB", "value", "<=", 1),
    "fleet.slots.processes": Bar("fleet", "processes of ralph at home for each of these", None, "", "value"),
    "fleet.slots.descriptors": Bar("fleet", "descriptors of ralph at home for each of these", None, "", "value"),
    "fleet.task": Bar("fleet", "a task through `ralph worker` on the same machine, 8 at once", "`--parallel 8`", "ms", "extra"),
    "fleet.rate": Bar("fleet", "tasks of a trivial agent through `ralph worker` on the same machine, 8 at once", "`--parallel 8`", "/min", "rate"),
    # git in a sandbox.
    "git.run": Bar("workspace", RUN + ", in a repository", "an empty directory", "ms", "extra", "<=", 0.3),
    "git.before": Bar("workspace", RUN + ", in a repository", "the version before", "ms", "extra"),
    "git.import": Bar("workspace", "the host's part of an import of one commit", None, "ms", "value", "<=", 15),
    "git.view": Bar("workspace", "from a reference that changed inside to the user's", None, "ms", "value", "<=", 250),
    "git.status": Bar("workspace", "`git status` inside, 50,000 files", "`git status` on the host", "ms", "share", "<=", 1.1),
    # The page of `ralph web`: a loop of 1,000 tasks, a log of 100 MB, 50 sandboxes.
    "web.paint": Bar("web", "the page's first paint, in Chromium", None, "ms", "value", "<=", 300),
    "web.tasks": Bar("web", "1,000 tasks drawn, in Chromium", None, "ms", "value", "<=", 100),
    "web.loop": Bar("web", "the answer with 1,000 tasks", None, "ms", "value"),
    "web.window": Bar("web", "a window of 200 lines anywhere in a log of 100 MB", None, "ms", "value", "<=", 50),
    "web.survey": Bar("web", "a look at 50 sandboxes, with its answer", None, "ms", "value"),
    "web.memory": Bar("web", "memory of the process that faces browsers, PSS", None, "MiB", "value", "<=", 6),
    "web.desk": Bar("web", "memory of the process that reads, PSS", None, "MiB", "value", "<=", 12),
    "web.idle": Bar("web", "CPU of the page's three processes without a viewer, percent of a core", None, "%", "value", "<=", 0),
    "web.viewer": Bar("web", "CPU of them with a viewer, percent of a core", None, "%", "value", "<=", 1),
    # What every start and every end of a sandbox looks at.
    "walk.start": Bar("workspace", "looking for protected names, 50,000 files", "`find -name`", "ms", "share", "<=", 1),
    "walk.stock": Bar("workspace", "writing down what is there, 50,000 files", "`find -name`", "ms", "share", "<=", 1),
    # Engines with a kernel of their own, beside the native one: a table, and no bar.
    "engines.start.gvisor": Bar("engines", RUN, "native", "ms", "share"),
    "engines.exec.gvisor": Bar("engines", "a command in a live sandbox: `ralph exec NAME true`", "native", "ms", "share"),
    "engines.status.gvisor": Bar("engines", "`git status` of 5,000 files", "native", "ms", "share"),
    "engines.npm.gvisor": Bar("engines", "`npm install` of a small project, offline", "native", "ms", "share"),
    "engines.compile.gvisor": Bar("engines", "compiling a program of 21 C files", "native", "ms", "share"),
    "engines.memory.gvisor": Bar("engines", "memory of one idle sandbox, PSS", "native", "MB", "share"),
    "engines.start.vm": Bar("engines", RUN, "native", "ms", "share"),
    "engines.exec.vm": Bar("engines", "a command in a live sandbox: `ralph exec NAME true`", "native", "ms", "share"),
    "engines.memory.vm": Bar("engines", "memory of one idle sandbox, PSS", "native", "MB", "share"),
}
