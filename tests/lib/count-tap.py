"""count-tap.py NAME EXIT_CODE FILE: prints `PASSED FAILED SKIPPED NAME` for one TAP file.

A test that was planned and never reported counts as failed, and so does a skip when
RALPH_TEST_REQUIRE is `all`, unless its reason starts with `n/a:` (it can never run in that half).
"""
import os
import re
import sys

name, code, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
strict = os.environ.get("RALPH_TEST_REQUIRE", "") == "all"
planned = passed = failed = skipped = 0

with open(path, errors="replace") as tap:
    for line in tap:
        plan = re.match(r"1\.\.(\d+)", line)
        result = re.match(r"(not )?ok \d+ .*?(?:# skip(?: \(?(.*?)\)?)?)?$", line)
        if plan:
            planned = int(plan.group(1))
        elif result and result.group(1):
            failed += 1
        elif result and "# skip" in line:
            if strict and not (result.group(2) or "").startswith("n/a:"):
                failed += 1
            else:
                skipped += 1
        elif result:
            passed += 1

failed += max(0, planned - passed - failed - skipped)
if code != 0 and failed == 0:
    failed = 1
print(passed, failed, skipped, name)
