"""The soak: cycles of a storm, in which everything happens at once, a calm, in which everything must work, and a look at what
is left, which must be nothing. One sandbox stays up all along and is never killed: its supervisor and its gateway must not grow.

A failure stops it, with the seed, the cycle, and the directory of logs. What is covered and what is not: soak/README.md."""
import argparse
import glob
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import traceback

import faults
import workers
from cli import Broken, Cli, Tally
from invariants import Invariants
from world import World

STORM = 12  # seconds
# What a loop that is through has left in its workspace.
LOOP = re.compile(r"\.ralph/(prd\.json|\.gitignore|summary\.json|progress\.txt|agent/(prd\.json|progress\.txt|\.gitignore)"
                  r"|logs/iteration-\d+\.(jsonl|stderr)|logs/events/[^/]+/events(\.\d)?\.(jsonl|head)|state/(lock|(tasks|loop|status)\.json|view))$")


class SoakWorld(World):
    """The world, with what happened in it."""

    def __init__(self, *args):
        super().__init__(*args)
        self.tally, self.unseen = Tally(), set()
        self.keeper, self.keeper_pid, self.tight = self.name("keeper"), 0, None
        self.began = time.monotonic()

    def note(self, text):
        with open(f"{self.log}/soak", "a", encoding="utf-8") as f:
            f.write(f"{time.monotonic() - self.began:8.2f} {text}\n")

    def check_repo(self, where):
        """A workspace has nothing in it that git does not know, but for a loop's own, and git finds no fault with it."""
        status = self.git(where, "status", "--porcelain", "--untracked-files=all", "--", ".", ":!.ralph")
        odd = [p for p in glob.glob(f"{where}/.ralph/**", recursive=True, include_hidden=True)
               if os.path.isfile(p) and not LOOP.match(os.path.relpath(p, where))]
        if status.strip() or odd:
            raise Broken(f"{where} was changed: {status} {odd}")
        fsck = subprocess.run(["git", "-C", where, "fsck", "--full", "--no-dangling", "--no-progress"], env=self.env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if fsck.returncode or fsck.stdout.strip():
            raise Broken(f"git fsck in {where}: {fsck.stdout}")


def beside(rows, seconds):
    """Steps beside each other, each at least once and then again until the time is over or one is broken."""
    over, broken = threading.Event(), []

    def work(label, step):
        try:
            while True:
                step()
                if over.is_set():
                    return
        except Exception as e:  # whatever it is, it is a finding
            broken.append(f"{label}: {e if isinstance(e, Broken) else traceback.format_exc()}")
            over.set()

    threads = [threading.Thread(target=work, args=row, daemon=True) for row in rows]
    for t in threads:
        t.start()
    over.wait(seconds)
    over.set()
    for t in threads:
        t.join()
    if broken:
        raise Broken("\n".join(broken))


class Soak:
    def __init__(self, world):
        self.world, self.cycle, self.faults = world, 0, []
        self.rng = random.Random(world.seed)
        self.quiet = Cli(world, self.rng, "check", calm=True)
        self.quiet.wrap = lambda: []

    def begin(self):
        self.world.make()
        self.world.set_clock(0)
        where = self.world.repo("keeper")
        self.quiet.run("run", "-d", "-n", self.world.keeper, where)
        row = next(r for r in json.loads(self.quiet.run("ls", "--json").out) if r["name"] == self.world.keeper)
        self.world.keeper_pid = row["supervisor"]
        self.world.tight = faults.Tight(self.world)
        self.crew = [kind(self.world, i) for kind, n in workers.ALL for i in range(n)]
        self.faults = [faults.Kills(self.world), faults.Disk(self.world, self.world.state),
                       faults.Disk(self.world, self.world.work), faults.Clock(self.world)]
        self.invariants = Invariants(self.world)

    def rows(self, calm):
        for i, worker in enumerate(self.crew):
            rng = random.Random(f"{self.world.seed} {self.cycle} {i} {calm}")
            cli = Cli(self.world, rng, worker.kind, calm)
            yield (f"{worker.kind} {i}", lambda w=worker, c=cli, r=rng: w.step(c, r, calm))

    def fault_rows(self):
        for i, fault in enumerate(self.faults):
            rng = random.Random(f"{self.world.seed} {self.cycle} fault {i}")
            yield (type(fault).__name__, lambda f=fault, r=rng: f.step(r))

    def one(self):
        self.cycle += 1
        self.world.note(f"== cycle {self.cycle}: storm")
        try:
            beside([*self.rows(calm=False), *self.fault_rows()], STORM)
        finally:
            for fault in self.faults:
                fault.stop()
        self.world.note("== calm")
        beside(list(self.rows(calm=True)), 0)
        self.world.note("== check")
        self.quiet.run("prune")
        self.invariants.check(self.quiet)
        print(f"soak: cycle {self.cycle}: {time.monotonic() - self.world.began:.0f} s, "
              f"{' '.join(f'{k} {v[-1]} KiB' for k, v in self.invariants.series.items())}", flush=True)

    def finish(self):
        self.quiet.run("rm", "--all", "--force")
        self.world.tight.done()
        self.invariants.check(self.quiet, last=True)
        idle = [k for k, (well, _) in self.world.tally.rows.items() if not well]
        if idle:
            raise Broken(f"never went well, so nothing was tried: {idle}")

    def table(self):
        for kind, (well, failed) in sorted(self.world.tally.rows.items()):
            print(f"  {kind:16} {well:6} well {failed:6} failed in order")
        print("  " + ", ".join(f"{type(f).__name__.lower()} {f.count}" for f in self.faults))
        for role in sorted(self.world.unseen):
            print(f"  not seen, for want of rights: descriptors and memory of {role}")


def clear(world):
    """After a failure: nothing of it stays on the machine but its logs."""
    for pid in faults.processes():
        if pid not in (1, os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    for _ in range(100):
        left = [d for d, _, _ in os.walk("/sys/fs/cgroup", topdown=False) if world.id in os.path.basename(d)]
        if not left:
            return
        for d in left:
            try:
                os.rmdir(d)
            except OSError:
                pass
        time.sleep(0.1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--minutes", type=int, required=True)
    p.add_argument("--seed", type=int, required=True)
    for name in ("dir", "stage", "clock"):
        p.add_argument(f"--{name}", required=True)
    args = p.parse_args()
    soak = Soak(SoakWorld(args.dir, args.stage, args.clock, args.seed))
    end = time.monotonic() + 60 * args.minutes
    print(f"soak: seed {args.seed}, {args.minutes} min", flush=True)
    try:
        soak.begin()
        while time.monotonic() < end:
            soak.one()
        soak.finish()
    except Broken as e:
        print(f"soak: BROKEN in cycle {soak.cycle}, seed {args.seed}: {e}")
        # The disks go with the namespace; what is on them may tell more.
        subprocess.run(["cp", "-a", "--sparse=always", soak.world.state, soak.world.work, f"{args.dir}/log/"], check=False)
        soak.table()
        clear(soak.world)
        return 1
    soak.table()
    print(f"soak: {soak.cycle} cycles, nothing lost, leaked or left")
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # Threads of a broken run may wait for ever; the namespace ends with us.
    os._exit(code)
