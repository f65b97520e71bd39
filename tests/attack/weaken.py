#!/usr/bin/python3
"""Stands in for bwrap and leaves a wall out. `case.json` beside it says which: "options" of bwrap to drop, "weak" walls
and "mounts" for the guest beside it, which takes the place of ralph's own (see weak-guest.c)."""
import json
import os
import shutil
import sys

here = os.path.dirname(os.path.realpath(__file__))
case = json.load(open(os.path.join(here, "case.json")))
args = sys.argv[1:]


def find(part):
    """Where this sequence of options begins; '*' stands for any one."""
    for i in range(len(args) - len(part) + 1):
        if all(want in ("*", have) for want, have in zip(part, args[i:])):
            return i
    sys.exit(f"weaken: no {part} in the plan")


for part in case.get("options", []):
    at = find(part)
    del args[at:at + len(part)]
if "guest" in case:
    at = find(["--ro-bind"])
    args[at + 1] = os.path.join(here, "guest")
    args[at:at] = ["--setenv", "RALPH_WEAK", case.get("weak", ""), "--setenv", "RALPH_WEAK_VARIABLE", case.get("variable", "X=1"),
                   "--setenv", "RALPH_WEAK_MOUNTS", "\n".join(case.get("mounts", []))]
bwrap = shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin")
os.execv(bwrap, ["bwrap"] + args)
