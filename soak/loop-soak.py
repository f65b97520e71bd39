"""loop-soak.py --stage DIR [--tasks N] [--parallel N]: one loop, through everything that goes wrong in a night.

The loop works on N tasks with --parallel. Meanwhile, one after the other: the provider has an outage; a usage limit is reached;
the credential ends, and comes back after the loop has ended with 8; one process of each kind of ralph's is killed. After each end
of the loop comes `ralph resume`. In the end every task is verified and merged once, and nothing of the user's has changed."""
import argparse
import collections
import http.server
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
KEY = "key-of-the-host"
OUTAGE, LIMIT = 5, 3  # seconds
KINDS = ("loop", "worker", "supervisor", "gateway", "cred", "guest")  # of processes that are killed
END = 1500  # seconds at most for all of it
AGENT = '''
def soak():
    """Asks the provider, and does the task when it answers."""
    import urllib.error
    import urllib.request
    ask = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", b'{"model":"claude-test","max_tokens":1}',
                                 {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"})
    try:
        urllib.request.urlopen(ask, timeout=60).close()
    except urllib.error.HTTPError as e:
        if e.code == 429:
            says_limited(LIMIT)
        (unauthorized if e.code == 401 else overloaded)()
    except OSError:
        unreached()
    time.sleep(2)
    honest()
'''


class Broken(Exception):
    pass


class Provider(http.server.BaseHTTPRequestHandler):
    """Answers as the script of this soak says."""
    status = 200
    protocol_version = "HTTP/1.1"
    seen = collections.Counter()

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        code = Provider.status if self.headers.get("x-api-key") == KEY else 401
        Provider.seen[code] += 1
        body = b'{"type":"message","content":[],"usage":{"input_tokens":1,"output_tokens":1}}' if code == 200 else b'{"type":"error"}'
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def openssl(root, *args):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", *args],
                   cwd=root, check=True, stderr=subprocess.DEVNULL)


def start_provider(root):
    openssl(root, "-subj", "/CN=authority", "-addext", "keyUsage=critical,keyCertSign", "-keyout", "ca.key", "-out", "ca.pem")
    openssl(root, "-subj", "/CN=leaf", "-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=CA:FALSE", "-CA", "ca.pem",
            "-CAkey", "ca.key", "-keyout", "leaf.key", "-out", "leaf.crt")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{root}/leaf.crt", f"{root}/leaf.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


class World:
    def __init__(self, args):
        self.args, self.root = args, tempfile.mkdtemp(prefix="ralph-soak-loop.")
        self.ws, self.log = f"{self.root}/project", f"{self.root}/log"
        self.env = {"PATH": os.environ["PATH"], "HOME": f"{self.root}/home", "LANG": "C.UTF-8", "XDG_RUNTIME_DIR": f"{self.root}/run",
                    "RALPH_LIBEXEC": f"{args.stage}/libexec/ralph", "ANTHROPIC_API_KEY": KEY}
        self.ids = [f"US-{i}" for i in range(1, args.tasks + 1)]
        os.makedirs(f"{self.env['HOME']}/.config/ralph")
        os.makedirs(self.env["XDG_RUNTIME_DIR"], mode=0o700)
        with open(f"{self.env['HOME']}/.config/ralph/config.yaml", "w", encoding="utf-8") as f:
            f.write(f"providers:\n  anthropic:\n    origin: https://localhost:{start_provider(self.root)}\n    ca_file: {self.root}/ca.pem\n"
                    'credentials: [{name: anthropic, source: "env:ANTHROPIC_API_KEY"}]\n')
        self.prepare()

    def git(self, *args):
        p = subprocess.run(["git", *args], cwd=self.ws, env=self.env, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if p.returncode:
            raise Broken(f"git {' '.join(args)}: {p.stderr}")
        return p.stdout

    def write(self, name, text):
        with open(f"{self.ws}/{name}", "w", encoding="utf-8") as f:
            f.write(text)

    def prepare(self):
        """A repository with a branch, a tag, a stash and an ignored file of the user's."""
        os.makedirs(f"{self.ws}/.ralph")
        for key, value in (("user.name", "user"), ("user.email", "user@test"), ("init.defaultBranch", "main")):
            subprocess.run(["git", "config", "--global", key, value], env=self.env, check=True)
        self.git("init", "-q")
        self.write("mine", "the user's\n")
        self.write(".gitignore", "private\nruns\n")
        self.write("private", "known to nobody\n")
        with open(f"{HERE}/../tests/lib/fake-agent.py", encoding="utf-8") as f:
            self.write("agent.py", f.read().replace("\n\nPROMPT =", AGENT.replace("LIMIT", str(LIMIT)) + "\n\nPROMPT ="))
        os.chmod(f"{self.ws}/agent.py", 0o755)
        self.write(".ralph/prompt.md", "Do the task below.\n")
        self.write(".ralph/prd.json", json.dumps({"project": "soak", "branchName": "ralph/soak", "userStories": [
            {"id": t, "title": t, "description": t, "acceptanceCriteria": [f"{t} exists"], "priority": 1, "passes": False, "notes": "",
             "verifyCommands": [f"test -f {t}"], "dependsOn": [self.ids[i - 5]] if i >= 5 and i % 3 == 0 else []}
            for i, t in enumerate(self.ids)]}, indent=1))
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "begin")
        self.git("branch", "mine")
        self.git("tag", "v1")
        self.write("mine", "put away\n")
        self.git("stash", "-q")
        self.before = self.users()

    def users(self):
        refs = [line for line in self.git("for-each-ref", "--format=%(objectname) %(refname)").splitlines() if "/ralph/" not in line]
        with open(f"{self.ws}/mine", encoding="utf-8") as mine, open(f"{self.ws}/private", encoding="utf-8") as private:
            return refs + [self.git("stash", "list", "--format=%H"), mine.read(), private.read()]

    def merged(self):
        p = subprocess.run(["git", "ls-tree", "--name-only", "ralph/soak"], cwd=self.ws, env=self.env, text=True, check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return len(set(p.stdout.split()) & set(self.ids))

    def start(self, *words):
        print(f"soak-loop: {self.merged()} merged: ralph {words[0]}", flush=True)
        with open(self.log, "ab") as log:
            return subprocess.Popen([f"{self.args.stage}/bin/ralph", *words], cwd=self.ws, env=self.env, stdin=subprocess.DEVNULL,
                                    stdout=log, stderr=log)

    def build(self):
        return self.start("build", "--parallel", str(self.args.parallel), "-n", "unlimited", "--max-attempts", "50", "--max-stuck", "50",
                          "--", "./agent.py", "soak")

    def processes(self):
        """Processes of ralph's in this soak, by kind: those with its paths, and their descendants."""
        parents, names, ours = {}, {}, set()
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    mine = f"XDG_RUNTIME_DIR={self.env['XDG_RUNTIME_DIR']}".encode() in f.read().split(b"\0")
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    argv = f.read().decode(errors="replace").split("\0")
                with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                    state, parents[pid] = f.read().rsplit(")", 1)[1].split()[:2]
            except OSError:
                continue
            names[pid] = os.path.basename(argv[0])
            if state != "Z" and (mine or self.root in " ".join(argv)):
                ours.add(pid)
        found, more = collections.defaultdict(list), True
        while more:
            more = {pid for pid in names if pid not in ours and int(parents[pid]) in ours}
            ours |= more
        for pid in sorted(ours - {os.getpid()}):
            worker = names[pid] == "loop" and int(parents[pid]) != os.getpid()
            found["worker" if worker else names[pid]].append(pid)
        return found


class Trouble:
    """What goes wrong, one after the other; each begins when some more tasks are merged."""

    def __init__(self, world):
        self.world, self.done, self.at = world, [], 1
        self.left = [("outage", self.outage), ("limit", self.limit), ("credential", self.credential)]
        self.left += [(f"kill of {kind}", lambda kind=kind: self.kill(kind)) for kind in KINDS]

    def say(self, what):
        print(f"soak-loop: {self.world.merged()} merged: {what}", flush=True)

    def later(self, seconds):
        """The provider answers again after some time."""
        timer = threading.Timer(seconds, lambda: setattr(Provider, "status", 200))
        timer.daemon = True
        timer.start()

    def outage(self):
        Provider.status = 529
        self.later(OUTAGE)
        return True

    def limit(self):
        Provider.status = 429
        self.later(LIMIT)
        return True

    def credential(self):
        Provider.status = 401
        return True

    def kill(self, kind):
        pids = self.world.processes()[kind]
        if not pids:
            return False
        os.kill(pids[0], signal.SIGKILL)
        return True

    def step(self):
        if not self.left or Provider.status != 200 or self.world.merged() < self.at:
            return
        what, begin = self.left[0]
        try:
            if not begin():
                return
        except ProcessLookupError:
            return
        self.say(what)
        self.done.append(self.left.pop(0)[0])
        self.at = min(self.world.merged() + 1, self.world.args.tasks - 4)


def run(world):
    trouble, loop, until = Trouble(world), world.build(), time.monotonic() + END
    while True:
        if time.monotonic() > until:
            raise Broken(f"it did not end: {trouble.left} are left")
        trouble.step()
        try:
            code = loop.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        trouble.say(f"the loop ended with {code}")
        if code == 0:
            break
        if code == 8 and Provider.status == 401:
            Provider.status = 200
        elif code not in (-signal.SIGKILL, 1, 137):
            raise Broken(f"the loop ended with {code}")
        while world.processes():
            time.sleep(0.1)
        loop = world.start("resume")
    if trouble.left:
        raise Broken(f"the loop was through before {[what for what, _ in trouble.left]}")
    print(f"soak-loop: the provider answered {dict(Provider.seen)}", flush=True)


def check(world):
    subjects = world.git("log", "--format=%s", "ralph/soak").split("\n")
    with open(f"{world.ws}/.ralph/summary.json", encoding="utf-8") as f:
        summary = json.load(f)
    numbers = [r["iteration"] for r in summary["records"]]
    done = sorted(r["task"] for r in summary["records"] if r["verdict"] == "done")
    for what, ok in (
            ("every task is done", all(t["state"] == "done" for t in summary["tasks"]) and len(summary["tasks"]) == len(world.ids)),
            ("each was done once", done == sorted(world.ids)),
            ("each is merged once", all(subjects.count(f"{t}: {t}") == 1 for t in world.ids)),
            ("all are verified", summary["unverified"] == [] and "verified" in summary["reason"]),
            ("all are on the branch", world.merged() == len(world.ids)),
            ("iterations are numbered without a gap", numbers == list(range(1, len(numbers) + 1))),
            ("nothing of the user's has changed", world.users() == world.before),
            ("no worktree is left", len(world.git("worktree", "list").splitlines()) == 1 and not os.path.exists(f"{world.ws}-worktrees")),
            ("nothing is uncommitted", world.git("status", "--porcelain", "--", ".", ":(exclude).ralph") == ""),
            ("no process is left", not world.processes()),
            ("no sandbox is left", subprocess.run([f"{world.args.stage}/bin/ralph", "ls", "-q"], cwd=world.ws, env=world.env, check=True,
                                                  stdout=subprocess.PIPE).stdout == b"")):
        if not ok:
            raise Broken(f"not true that {what}")
    world.git("fsck", "--full", "--no-dangling", "--no-progress")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--stage", required=True, help="the prefix that ralph is installed in")
    p.add_argument("--tasks", type=int, default=20)
    p.add_argument("--parallel", type=int, default=4)
    world = World(p.parse_args())
    try:
        run(world)
        check(world)
    except Broken as e:
        print(f"soak-loop: {e}\nsoak-loop: kept for you: {world.root}")
        sys.exit(1)
    shutil.rmtree(world.root)
    print(f"soak-loop: all {len(world.ids)} tasks are verified and merged once")


main()
