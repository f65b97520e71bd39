"""count-meson.py testlog.json: prints `PASSED FAILED SKIPPED NAME` for each meson test.

A cmocka program counts as many times as it has test functions; anything else counts once.
"""
import json
import os
import re
import sys

strict = os.environ.get("RALPH_TEST_REQUIRE", "") == "all"


def counts(test):
    text = (test.get("stdout") or "") + (test.get("stderr") or "")
    passed = sum(int(n) for n in re.findall(r"\[  PASSED  \] (\d+) test", text))
    failed = sum(int(n) for n in re.findall(r"\[  FAILED  \] (\d+) test", text))
    skipped = sum(int(n) for n in re.findall(r"\[  SKIPPED \] (\d+) test", text))
    if test["result"] == "SKIP" or skipped:
        skipped = max(skipped, 1)
        return (passed, failed + skipped, 0) if strict else (passed, failed, skipped)
    if test["result"] in ("OK", "EXPECTEDFAIL"):
        return max(passed, 1), 0, 0
    return passed, max(failed, 1), 0


try:
    with open(sys.argv[1], errors="replace") as log:
        for line in log:
            test = json.loads(line)
            print(*counts(test), test["name"])
except FileNotFoundError:
    print(0, 1, 0, "meson test left no log")
