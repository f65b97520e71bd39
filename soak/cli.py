"""Running ralph and judging how it ended."""
import subprocess
import threading

HANG = 180  # seconds after which a command counts as hanging; nothing here takes a tenth of it on an idle machine
# Ralph never ends so by itself; SIGABRT is what the lack of memory leads to (STYLE: xcalloc).
CRASHES = {4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 11: "SIGSEGV", 31: "SIGSYS"}


class Broken(Exception):
    """Something that was promised does not hold."""


class Result:
    def __init__(self, args, code, out, err):
        self.args, self.code, self.out, self.err = args, code, out, err

    def __str__(self):
        return f"exit {self.code}: {' '.join(self.args)}\n{self.err.decode('utf-8', 'replace')[-2000:]}"


class Tally:
    """How often what went well, and how often it failed in an orderly way."""

    def __init__(self):
        self.lock, self.rows = threading.Lock(), {}

    def add(self, kind, well):
        with self.lock:
            row = self.rows.setdefault(kind, [0, 0])
            row[0 if well else 1] += 1


class Cli:
    """ralph, as one worker calls it. In a storm a command may fail, as long as it says why and does not crash; what it says
    succeeded must have. In a calm it must succeed."""

    def __init__(self, world, rng, kind, calm=False):
        self.world, self.rng, self.kind, self.calm = world, rng, kind, calm

    def wrap(self):
        """A monotonic clock that starts somewhere else than that of the process asked: nothing may compare the two."""
        if self.rng.random() < 0.2:
            return ["nsenter", f"--time={self.rng.choice(self.world.times)}", "--"]
        return []

    def start(self, *args, cwd=None, **kw):
        return subprocess.Popen([self.world.ralph, *args], cwd=cwd or self.world.work, env=self.world.env, **kw)

    def run(self, *args, data=b"", prefix=None, may_abort=False, cwd=None, expect=(0,)):
        prefix = self.wrap() if prefix is None else prefix
        words = [*prefix, self.world.ralph, *args]
        with subprocess.Popen(words, cwd=cwd or self.world.work, env=self.world.env, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            try:
                out, err = p.communicate(data, timeout=HANG)
            except subprocess.TimeoutExpired:
                self.keep_hanging(p.pid)
                p.kill()
                raise Broken(f"hangs: {' '.join(words)}") from None
        result = Result(words, p.returncode, out, err)
        self.judge(result, may_abort, expect)
        return result

    def keep_hanging(self, pid):
        with open(f"{self.world.log}/hanging-{pid}", "wb") as f:
            f.write(subprocess.run(["ps", "axfo", "pid,ppid,stat,wchan:20,time,args"], stdout=f, check=False).stdout or b"")

    def judge(self, r, may_abort, expect):
        signal = -r.code if r.code < 0 else r.code - 128 if r.code > 128 else 0
        if signal in CRASHES and not (may_abort and signal == 6):
            raise Broken(f"crashed with {CRASHES[signal]}: {r}")
        well = r.code in expect
        self.world.tally.add(self.kind + (" (calm)" if self.calm else ""), well)
        if well:
            return
        self.world.note(f"{self.kind}: {r}")
        if self.calm:
            raise Broken(f"failed with nothing in its way: {r}")
        # Killed, it cannot say so; everything else does.
        if signal != 9 and not r.err.strip() and not may_abort:
            raise Broken(f"failed without a word: {r}")
