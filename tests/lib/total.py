"""total.py DIR: adds up DIR/*.counts, prints the total as the last line, exits 1 if any failed."""
import glob
import os
import sys

rows = []
for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.counts"))):
    with open(path) as counts:
        rows += [line.split(maxsplit=3) for line in counts if line.strip()]

passed, failed, skipped = (sum(int(row[i]) for row in rows) for i in range(3))
for row in rows:
    if int(row[1]):
        print(f"FAILED {row[3].strip()}: {row[1]}")
if skipped:
    print(f"{skipped} skipped")
if not rows:
    print("no test ran")
    failed = 1
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
