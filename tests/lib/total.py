"""total.py DIR: adds up DIR/*.counts, prints the total as the last line, exits 1 if any failed.

A shell test may be for root alone, or for an unprivileged user alone. Where RALPH_TEST_REQUIRE is `all`, one that no kind of user
has run according to DIR/*.tap is a failure: nothing has checked its promise. DIR/unsteady: files that failed beside others
and passed alone; they are named.
"""
import glob
import os
import re
import sys

RESULT = re.compile(r"(?:not )?ok \d+ (.*?)(?: in \d+ms)?( # skip n/a: for .*)?$", re.M)


def never_run(where):
    ran, skipped = set(), set()
    for path in glob.glob(os.path.join(where, "*.tap")):
        name = os.path.basename(path).split(".", 1)[1]
        with open(path, errors="replace") as tap:
            for title, skip in RESULT.findall(tap.read()):
                (skipped if skip else ran).add((name, title))
    return sorted(skipped - ran)


rows = []
for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.counts"))):
    with open(path) as counts:
        rows += [line.split(maxsplit=3) for line in counts if line.strip()]

if os.environ.get("RALPH_TEST_REQUIRE") == "all":
    rows += [("0", "1", "0", f"{name}: no kind of user ran it: {title}") for name, title in never_run(sys.argv[1])]
passed, failed, skipped = (sum(int(row[i]) for row in rows) for i in range(3))
for row in rows:
    if int(row[1]):
        print(f"FAILED {row[3].strip()}: {row[1]}")
unsteady = os.path.join(sys.argv[1], "unsteady")
if os.path.exists(unsteady):
    with open(unsteady) as lines:
        print("".join(f"UNSTEADY {line}" for line in lines), end="")
if skipped:
    print(f"{skipped} skipped")
if not rows:
    print("no test ran")
    failed = 1
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
