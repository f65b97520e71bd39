"""Those who use ralph, each in a thread of its own. A step is one use, and checks what came of it; `calm` says that
nothing is in its way, so that it has to succeed."""
import hashlib
import json
import os
import signal
import subprocess
import time

from cli import Broken
from server import content

BALLOON = "b = bytearray(600 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1\nprint('held')"

# Does its task if it was not done, whatever an earlier one of it that was killed has left, and says so if it is.
AGENT = """#!/bin/sh
done_() { git log --format=%s | grep -qx "$RALPH_TASK"; }
rm -f .git/*.lock .git/refs/heads/*.lock
done_ || { echo x >"$RALPH_TASK" && git add "$RALPH_TASK" && git commit -qm "$RALPH_TASK"; }
done_ && echo '<promise>COMPLETE</promise>'
"""


def some(rng, most):
    """Small as often as large."""
    return rng.randbytes(rng.choice((0, 1, rng.randrange(100), rng.randrange(1, 65537), rng.randrange(1, most))))


def must_equal(want, got, result):
    if want != got:
        raise Broken(f"{len(want)} bytes went in and {len(got)} others came out: {result}")


class Runs:
    """`ralph run`: what goes in comes out, with the exit code behind it."""
    kind = "run"

    def __init__(self, world, number):
        self.number = number
        self.ws = world.repo(f"run{number}")

    def step(self, cli, rng, calm):
        data, code = some(rng, 4 << 20), rng.choice((0, 0, 7, 42))
        rm = ["--rm"] if rng.random() < 0.5 else []
        # Both workers of a kind have one name in common now and then: two runs, one sandbox.
        r = cli.run("run", *rm, self.ws, "--", "sh", "-c", f"cat && exit {code}", data=data, expect=(code,))
        if r.code == code:
            must_equal(data, r.out, r)


class Execs:
    """`ralph exec` in the sandbox that stays up and that nobody kills."""
    kind = "exec"

    def __init__(self, world, number):
        self.name = world.keeper

    def step(self, cli, rng, calm):
        data = some(rng, 1 << 20)
        r = cli.run("exec", self.name, "sh", "-c", "cat; echo behind >&2", data=data)
        if r.code == 0:
            must_equal(data, r.out, r)
        for _ in range(rng.randrange(10)):
            cli.run("exec", self.name, "true", prefix=[])


class Net:
    """Through the gateway: what is allowed arrives whole, what is cut is no success, what is denied never arrives."""
    kind = "net"

    def __init__(self, world, number):
        self.world, self.name = world, world.keeper

    def curl(self, cli, rng, *args, **kw):
        way = rng.choice(([], ["--noproxy", "*"]))
        return cli.run("exec", self.name, "curl", "-sSkf", "-m", "120", *way, *args, **kw)

    def step(self, cli, rng, calm):
        scheme = rng.choice(("http", "https"))
        kind = rng.choice(("data", "data", "slow", "half", "cut", "hash", "denied"))
        n = rng.choice((1, 1000, 70000, 1 << 20))
        if kind == "denied":
            self.curl(cli, rng, f"{scheme}://denied.test/data/1", expect=(5, 6, 7, 22, 35, 52, 56, 97))
        elif kind == "cut":
            self.curl(cli, rng, f"{scheme}://allowed.test/cut/{n + 10}", expect=(18, 22, 35, 52, 56))
        elif kind == "hash":
            data = some(rng, 1 << 20)
            r = self.curl(cli, rng, "--data-binary", "@-", f"{scheme}://allowed.test/hash", data=data)
            if r.code == 0:
                must_equal(hashlib.sha256(data).hexdigest().encode(), r.out, r)
        else:
            r = self.curl(cli, rng, f"{scheme}://allowed.test/{kind}/{n}")
            if r.code == 0:
                must_equal(content(n), r.out, r)


class Victims:
    """A sandbox with commands that never end; something of it is killed, and then it is used again."""
    kind = "victim"

    def __init__(self, world, number):
        self.world, self.name = world, world.name(f"victim{number}")
        self.ws = world.repo(f"victim{number}")

    def step(self, cli, rng, calm):
        if not calm and rng.random() < 0.7:
            self.long(cli, rng)
            return
        r = cli.run("run", "-d", "-n", self.name, self.ws)
        if r.code != 0:
            return
        data = some(rng, 100000)
        r = cli.run("exec", self.name, "cat", data=data)
        if r.code == 0:
            must_equal(data, r.out, r)
        cli.run(*rng.choice((("stop", self.name), ("rm", "-f", self.name))))

    def long(self, cli, rng):
        with open(f"{self.world.log}/victims", "ab") as err:
            p = cli.start("run", "-n", self.name, self.ws, "--", "sh", "-c", "sleep 1000 & sleep 1000 & wait",
                          stdin=subprocess.DEVNULL, stdout=err, stderr=err)
        time.sleep(rng.random() * 1.5)
        p.send_signal(rng.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT)))
        try:
            p.wait(120)
        except subprocess.TimeoutExpired:
            p.kill()
            raise Broken(f"run did not end after a signal: {self.name}") from None


class Memory:
    """Too little of it: inside, where the limit is the sandbox's own, and for ralph's own programs."""
    kind = "memory"

    def __init__(self, world, number):
        self.world = world
        self.ws = world.repo(f"memory{number}")
        self.name = world.name(f"memory{number}")

    def step(self, cli, rng, calm):
        if calm or rng.random() < 0.3:
            r = cli.run("run", "-n", self.name, "--memory", "64M", self.ws, "--", "/usr/bin/python3", "-c", BALLOON,
                        expect=(1, 137))
            if r.out:
                raise Broken(f"600 MiB were held within 64: {r}")
            return
        data = some(rng, 100000)
        if self.world.tight and rng.random() < 0.5:
            self.world.tight.limit(rng.choice((8, 24, 32, 48, 64)) << 20)
            prefix = self.world.tight.prefix()
        else:
            prefix = ["prlimit", f"--as={rng.choice((3, 4, 6, 8, 16, 64)) << 20}", "--"]
        r = cli.run("run", "--rm", "-n", self.name + "-own", self.ws, "--", "cat", data=data, prefix=prefix, may_abort=True)
        if r.code == 0:
            must_equal(data, r.out, r)


class Chores:
    """What people and timers do beside it all."""
    kind = "chore"

    def __init__(self, world, number):
        self.world = world

    def step(self, cli, rng, calm):
        what = rng.choice((("gc",), ("prune",), ("ls", "--json"), ("status",), ("ls",), ("usage",), ("export",), ("trust",),
                           ("events", "--json", self.world.keeper), ("net", "log", self.world.keeper),
                           ("inspect", "--json", self.world.keeper)))
        if what == ("export",):
            what = ("export", "-o", f"{self.world.home}/inbox")
        if what == ("trust",):
            what = ("audit", f"{self.world.work}/keeper")
        r = cli.run(*what)
        if r.code == 0 and "--json" in what:
            self.whole(what, r)

    @staticmethod
    def whole(what, r):
        try:
            for line in r.out.splitlines() if what[0] == "events" else [r.out]:
                json.loads(line)
        except ValueError:
            raise Broken(f"no JSON: {r.out[-300:]!r}: {r}") from None


class Loops:
    """A loop over a list of tasks, killed and resumed until it is through: each task is done once."""
    kind = "loop"
    OPTIONS = ("-n", "unlimited", "--net", "none", "--max-attempts", "1000", "--max-stuck", "1000")

    def __init__(self, world, number):
        self.world, self.number, self.turn = world, number, 0
        self.ws = self.tasks = None

    def fresh(self, rng):
        """A new workspace, if the disk has room for it."""
        self.turn += 1
        self.tasks = [f"US-{i}" for i in range(1, rng.randrange(2, 5))]
        name = f"loop{self.number}-{self.turn}"
        try:
            ws = self.world.repo(name)
            self.fill(ws, name)
            self.ws = ws
        except (OSError, subprocess.CalledProcessError):
            subprocess.run(["rm", "-rf", f"{self.world.work}/{name}"], check=True)

    def fill(self, ws, name):
        os.mkdir(f"{ws}/.ralph")
        with open(f"{ws}/agent.sh", "w", encoding="utf-8") as f:
            f.write(AGENT)
        os.chmod(f"{ws}/agent.sh", 0o755)
        with open(f"{ws}/.ralph/prd.json", "w", encoding="utf-8") as f:
            json.dump({"project": "soak", "branchName": self.world.name(name), "userStories": [
                {"id": t, "title": t, "description": t, "acceptanceCriteria": [f"{t} exists"], "priority": i, "passes": False,
                 "notes": "", "verifyCommands": [f"test -f {t}"]} for i, t in enumerate(self.tasks, 1)]}, f)
        self.world.git(ws, "add", "-A")
        self.world.git(ws, "commit", "-q", "-m", "work to do")

    def words(self):
        if os.path.exists(f"{self.ws}/.ralph/state/loop.json"):
            return ("resume", self.ws)
        return ("build", *self.OPTIONS, "--agent", "command", self.ws, "--", "./agent.sh")

    def step(self, cli, rng, calm):
        if not self.ws:
            self.fresh(rng)
        if not self.ws and not calm:
            return
        if calm:
            cli.run(*self.words(), cwd=self.ws)
            self.once()
            self.leave(cli)
            return
        with open(f"{self.world.log}/loop{self.number}-{self.turn}", "ab") as err:
            p = cli.start(*self.words(), cwd=self.ws, stdin=subprocess.DEVNULL, stdout=err, stderr=err)
        try:
            p.wait(0.1 + rng.random() * 4)
        except subprocess.TimeoutExpired:
            p.send_signal(rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)))
        try:
            code = p.wait(120)
        except subprocess.TimeoutExpired:
            p.kill()
            raise Broken(f"a loop did not end after SIGTERM: {self.ws}") from None
        self.world.tally.add(self.kind, code == 0)
        if -code in (4, 6, 7, 8, 11, 31):
            raise Broken(f"a loop crashed: exit {code}: {self.ws}")
        if code == 0:
            self.once()
            self.leave(cli)

    def once(self):
        log = self.world.git(self.ws, "log", "--format=%s").split("\n")
        # The journal: on a full disk the summary is only warned of.
        with open(f"{self.ws}/.ralph/state/loop.json", encoding="utf-8") as f:
            length = json.load(f)["records_bytes"]
        with open(f"{self.ws}/.ralph/state/records.jsonl", "rb") as f:
            records = [json.loads(line) for line in f.read(length).splitlines()]
        with open(f"{self.ws}/.ralph/prd.json", encoding="utf-8") as f:
            stories = json.load(f)["userStories"]
        done = sorted(r["task"] for r in records if r["verdict"] == "done")
        numbers = [r["iteration"] for r in records]
        for what, ok in (("each is done once in the records", done == self.tasks),
                         ("each has one commit", all(log.count(t) == 1 for t in self.tasks)),
                         ("each passes in the list", all(s["passes"] for s in stories)),
                         ("iterations are numbered without a gap", numbers == list(range(1, len(numbers) + 1)))):
            if not ok:
                raise Broken(f"loop {self.ws}: not true that {what}: {done} {numbers} {log}")

    def leave(self, cli):
        """The sandbox of a finished loop is prune's once its workspace is gone."""
        self.world.check_repo(self.ws)
        subprocess.run(["rm", "-rf", self.ws], check=True)
        self.ws = None


ALL = ((Runs, 2), (Execs, 2), (Net, 2), (Victims, 2), (Memory, 1), (Chores, 1), (Loops, 2))
