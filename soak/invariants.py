"""What must hold whenever nothing is under way. Each raises Broken with what it found."""
import glob
import json
import os
import re
import time

from cli import Broken
from faults import below, processes

PATIENCE = 30  # seconds for what ends by itself
# What a record may hold when nothing is under way; below home/ the sandbox writes as it likes.
RECORD = re.compile(r"(home|lock|workspace|spec\.json|selftest|exported\.json(\.lock)?|events(\.\d)?\.jsonl|events\.head|clone)$")
# The gateway keeps connections to servers for half a minute (UPSTREAM_IDLE_MS), the edge eight empty pipes (PIPES_IDLE).
DESCRIPTORS_PATIENCE = 90
DESCRIPTORS_SLACK = {"supervisor": 0, "front": 0, "edge": 16, "gateway": 16, "reader": 0}
MEMORY_SLACK = 1024  # KiB that a process may have grown by, over all of the run
WARM = 2  # cycles after which a process has seen everything once


def until(what, broken, patience=PATIENCE):
    """Polls until `broken()` finds nothing; what it still finds at the deadline is the failure."""
    end = time.monotonic() + patience
    while True:
        found = broken()
        if not found:
            return
        if time.monotonic() > end:
            raise Broken(f"{what}: {found}")
        time.sleep(0.05)


def about(pid):
    """What can be said of a process that should not be there."""
    text = []
    for what in ("cmdline", "cgroup", "stack", "status"):
        try:
            with open(f"/proc/{pid}/{what}", encoding="utf-8", errors="replace") as f:
                text.append(f"{what}: {f.read()[:1500]!r}")
        except OSError:
            pass
    try:
        text += [f"fd {fd}: {os.readlink(f'/proc/{pid}/fd/{fd}')}" for fd in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        pass
    return "\n    ".join(text)


class Invariants:
    def __init__(self, world):
        self.world, self.series, self.cycle = world, {}, 0
        self.mounts = self.mount_points()
        self.files = {}

    @staticmethod
    def mount_points():
        with open("/proc/self/mountinfo", encoding="utf-8") as f:
            return sorted(line.split()[4] for line in f)

    def check(self, cli, last=False):
        """After a calm: `last` when the sandbox that stays is gone as well."""
        self.cycle += 1
        gc = cli.run("gc")
        self.no_process(last)
        again = cli.run("gc", "--json")
        if json.loads(again.out):
            raise Broken(f"gc finds more the second time: {again.out!r} after {gc.out!r}")
        self.no_mount()
        self.no_cgroup(last)
        self.no_socket(last)
        self.no_file()
        self.logs(cli)
        self.workspaces()
        self.nothing_denied()
        if not last:
            self.growth()

    def no_process(self, last):
        def left():
            procs = processes()
            mine = {1, os.getpid(), self.world.server.pid}
            if not last:
                if self.world.keeper_pid not in procs:
                    raise Broken("the sandbox that nobody killed is gone")
                mine |= below(self.world.keeper_pid, procs)
            zombies = [(p, row) for p, row in procs.items() if row[2] == "Z" and row[0] != 1]
            return [(p, *row) for p, row in procs.items() if p not in mine] + zombies
        try:
            until("processes left", left)
        except Broken as e:
            for pid, *_ in left():
                self.world.note(f"left: {pid}: {about(pid)}")
            raise e

    def no_mount(self):
        # Another's may vanish from here, when what it is mounted on is removed.
        until("mounts left", lambda: sorted(set(self.mount_points()) - set(self.mounts)))

    def no_cgroup(self, last):
        def left():
            found = [d for d, _, _ in os.walk("/sys/fs/cgroup") if f"ralph-{self.world.id}" in d]
            return [d for d in found if last or f"ralph-{self.world.keeper}-" not in d]
        until("cgroups left", left)

    def no_socket(self, last):
        def left():
            names = [os.path.relpath(os.path.join(d, f), self.world.run) for d, _, files in os.walk(self.world.run) for f in files]
            return [n for n in names if last or self.world.keeper not in n]
        until("files left in the runtime directory", left)

    def no_file(self):
        top = f"{self.world.state}/ralph"
        odd = [p for p in glob.glob(f"{top}/sandboxes/*/*") + glob.glob(f"{top}/sandboxes/*/.*")
               if not RECORD.match(os.path.basename(p))]
        odd += [p for p in glob.glob(f"{top}/.*") + glob.glob(f"{top}/sandboxes/.*")]
        if odd:
            raise Broken(f"files left in the state directory: {odd}")

    def logs(self, cli):
        for name in cli.run("ls", "-q").out.decode().split():
            if not glob.glob(f"{self.world.state}/ralph/sandboxes/{name}/events.jsonl"):
                continue
            r = cli.run("events", "verify", "--json", name)
            if not json.loads(r.out)["whole"]:
                raise Broken(f"the log of {name} is not whole: {r.out!r}")

    def workspaces(self):
        for where in glob.glob(f"{self.world.work}/*/.git"):
            self.world.check_repo(os.path.dirname(where))

    def nothing_denied(self):
        path = f"{self.world.dir}/net/denied"
        if os.path.exists(path):
            with open(path, "rb") as f:
                raise Broken(f"a denied host was reached: {f.read(300)!r}")

    # ---- the sandbox that stays: descriptors and memory ----

    def pids(self):
        procs = processes()
        found = {"supervisor": self.world.keeper_pid}
        for pid, (ppid, comm, _) in procs.items():
            if ppid == self.world.keeper_pid and comm in ("front", "edge", "gateway", "reader"):
                found[comm] = pid
        return found

    def growth(self):
        for role, pid in self.pids().items():
            try:
                with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as f:
                    pss = next(int(line.split()[1]) for line in f if line.startswith("Pss_Anon:"))
                self.descriptors(role, pid)
            except PermissionError:
                self.world.unseen.add(role)
                continue
            self.series.setdefault(role, []).append(pss)
            self.memory(role)

    def descriptors(self, role, pid):
        def count():
            return len(os.listdir(f"/proc/{pid}/fd"))

        if self.cycle <= WARM:
            time.sleep(0.5)
            self.files[role] = max(count(), self.files.get(role, 0))
            return
        most = self.files[role] + DESCRIPTORS_SLACK[role]
        try:
            until(f"{role} has more descriptors than {most}", lambda: max(0, count() - most), DESCRIPTORS_PATIENCE)
        except Broken as e:
            self.world.note(f"descriptors of {role}: {about(pid)}")
            raise e

    def memory(self, role):
        s = self.series[role][WARM:]
        if len(s) >= 6 and min(s[-3:]) > max(s[:3]) + MEMORY_SLACK:
            raise Broken(f"{role} grows: {self.series[role]} KiB")
