#!/usr/bin/python3
"""Stands in for bwrap and leaves a wall out: `case.json` beside it says which options to drop, to
replace and to add, and which guest to start with what in its environment."""
import json
import os
import shutil
import sys

case = json.load(open(os.path.join(os.path.dirname(os.path.realpath(__file__)), "case.json")))
fd = int(sys.argv[2])
with os.fdopen(os.dup(fd), "rb") as f:
    f.seek(0)
    args = f.read().decode().split("\0")[:-1]


def find(part):
    """Where this sequence of options begins; '*' stands for any one."""
    for i in range(len(args) - len(part) + 1):
        if all(want in ("*", have) for want, have in zip(part, args[i:])):
            return i
    sys.exit(f"weaken: no {part} in the plan")


for old, new in [(d, []) for d in case.get("drop", [])] + case.get("replace", []):
    at = find(old)
    args[at:at + len(old)] = new
if "guest" in case:
    at = find(["--ro-bind", "*", "/run/ralph/guest"])
    args[at + 1] = case["guest"]
    args += ["--setenv", "RALPH_WEAK", case["weak"], "--setenv", "RALPH_WEAK_VARIABLE", case.get("variable", "X=1")]
# Before the root becomes read-only.
at = find(["--remount-ro", "/"]) if ["--remount-ro", "/"] not in case.get("drop", []) else len(args)
args[at:at] = case.get("add", [])
new = os.memfd_create("weaker")
os.write(new, "".join(a + "\0" for a in args).encode())
os.lseek(new, 0, os.SEEK_SET)
os.set_inheritable(new, True)
bwrap = shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin")
os.execv(bwrap, ["bwrap", "--args", str(new)] + sys.argv[3:])
