"""Processes by kinship, and what they use."""
import os


def parents():
    """{pid: (parent, name)} of all."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open("/proc/%s/stat" % entry, encoding="utf-8", errors="replace") as f:
                    text = f.read()
            except OSError:
                continue
            head, tail = text.rsplit(")", 1)
            found[int(entry)] = (int(tail.split()[1]), head.split("(", 1)[1])
    return found


def below(roots, table=None):
    """The roots and all their descendants."""
    table = parents() if table is None else table
    children = {}
    for pid, (parent, _) in table.items():
        children.setdefault(parent, []).append(pid)
    found, todo = set(), [pid for pid in roots if pid in table]
    while todo:
        pid = todo.pop()
        if pid not in found:
            found.add(pid)
            todo += children.get(pid, [])
    return found


def of_program(folder):
    """All whose program lies in the folder."""
    found = []
    for pid in parents():
        try:
            if os.readlink("/proc/%d/exe" % pid).startswith(folder + "/"):
                found.append(pid)
        except OSError:
            pass
    return found


def pss_mb(pids):
    """Memory of all together, shared pages counted once; MB of 2^20 bytes."""
    kb = 0
    for pid in pids:
        try:
            with open("/proc/%d/smaps_rollup" % pid, encoding="utf-8") as f:
                kb += sum(int(line.split()[1]) for line in f if line.startswith("Pss:"))
        except (OSError, ProcessLookupError):
            pass
    return kb / 1024
