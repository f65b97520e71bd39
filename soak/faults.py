"""What goes wrong meanwhile: processes are killed, disks fill up, the clock jumps, memory is short."""
import os
import signal
import time

OURS = {"ralph", "cli", "supervisor", "front", "edge", "gateway", "reader", "guest", "loop", "cred", "ca", "repo", "tasks", "export", "ports",
        "fetch", "hook"}
# Back by no more than what a loop takes for a clock that was never set.
CLOCK_JUMPS = (-43200, -3600, -60, -1, 1, 60, 3600, 86400, 400 * 86400)


def processes():
    """pid: (ppid, comm, state) of everything in this namespace."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                text = f.read()
        except OSError:
            continue
        head, _, tail = text.rpartition(")")
        state, ppid = tail.split()[:2]
        found[int(pid)] = (int(ppid), head.partition("(")[2], state)
    return found


def below(top, procs):
    """A process and all that descend from it."""
    tree, grown = {top}, True
    while grown:
        more = {p for p, row in procs.items() if row[0] in tree} - tree
        tree, grown = tree | more, bool(more)
    return tree


class Kills:
    """SIGKILL for any process of ralph's, but for those of the sandbox that stays."""

    def __init__(self, world):
        self.world, self.count = world, 0

    def step(self, rng):
        procs = processes()
        spared = below(self.world.keeper_pid, procs)
        victims = sorted(p for p, row in procs.items() if row[1] in OURS and p not in spared and row[2] != "Z")
        if victims:
            victim = rng.choice(victims)
            try:
                os.kill(victim, signal.SIGKILL)
                self.count += 1
                self.world.note(f"killed {victim} {procs[victim][1]}")
            except ProcessLookupError:
                pass
        time.sleep(rng.random() * 1.2)

    def stop(self):
        pass


class Disk:
    """A disk without a free byte, for a while."""

    def __init__(self, world, where):
        self.world, self.file, self.count = world, f"{where}/filler", 0

    def step(self, rng):
        time.sleep(rng.random() * 3)
        try:
            with open(self.file, "wb", buffering=0) as f:
                end = 0
                for size in (16 << 20, 1 << 20, 4096):
                    try:
                        while True:
                            os.posix_fallocate(f.fileno(), end, size)
                            end += size
                    except OSError:
                        pass
            self.count += 1
            self.world.note(f"full: {self.file}")
            time.sleep(rng.random() * 1.5)
        finally:
            self.stop()

    def stop(self):
        if os.path.exists(self.file):
            os.unlink(self.file)
            self.world.note(f"emptied: {self.file}")


class Clock:
    """The wall clock of all programs of ralph's jumps, there and back."""

    def __init__(self, world):
        self.world, self.count = world, 0

    def step(self, rng):
        by = rng.choice(CLOCK_JUMPS)
        self.world.set_clock(by)
        self.world.note(f"clock: {by:+}")
        self.count += 1
        time.sleep(rng.random() * 2)

    def stop(self):
        # It stays wherever it jumped to: a calm clock need not be a right one.
        pass


class Tight:
    """A memory cgroup for ralph's own programs, where this machine has one that we may make."""

    def __init__(self, world):
        with open("/proc/self/cgroup", encoding="utf-8") as f:
            own = next((line.split(":", 2)[2].strip() for line in f if line.split(":")[1] == "memory"), None)
        self.dir = None
        if own is None:
            return
        try:
            where = f"/sys/fs/cgroup/memory{own}/{world.id}-tight"
            os.mkdir(where)
            self.dir = where
        except OSError:
            pass

    def __bool__(self):
        return self.dir is not None

    def limit(self, size):
        try:
            with open(f"{self.dir}/memory.limit_in_bytes", "w", encoding="utf-8") as f:
                f.write(str(size))
        except OSError:
            # Busy with more than that; the old limit stays.
            pass

    def prefix(self):
        return ["sh", "-c", 'echo 0 >"$0/cgroup.procs" && exec "$@"', self.dir]

    def done(self):
        if self.dir:
            os.rmdir(self.dir)
