#!/usr/bin/env python3
"""coverage.py REPORT LIST: a table of how many lines of each directory gcovr's JSON report has seen run, and those of LIST
that must have enough. A line of LIST is a file, a directory or a pattern of files below
src/, or `N%` for those behind it. The table goes to
standard error; standard output has `PASSED FAILED SKIPPED NAME` for each of LIST."""
import collections
import fnmatch
import json
import os
import sys


def rows(report):
    """file: (lines, lines that ran)"""
    with open(report, encoding="utf-8") as f:
        files = json.load(f)["files"]
    for entry in files:
        counts = {}
        for line in entry["lines"]:
            if not line.get("gcovr/noncode"):
                counts[line["line_number"]] = max(line["count"], counts.get(line["line_number"], 0))
        yield entry["file"], (len(counts), sum(1 for c in counts.values() if c))


def percent(counts):
    return 100.0 * counts[1] / counts[0] if counts[0] else 100.0


def total(files, where):
    mine = [c for f, c in files.items() if f == where or f.startswith(where + "/")]
    return sum(c[0] for c in mine), sum(c[1] for c in mine)


def wanted(path, files):
    least = None
    with open(path, encoding="utf-8") as f:
        for line in f:
            word = line.partition("#")[0].strip()
            if word.endswith("%"):
                least = float(word[:-1])
            elif "*" in word:
                yield from ((f, least) for f in sorted(fnmatch.filter(files, "src/" + word)))
            elif word:
                yield "src/" + word, least


def main():
    files = dict(rows(sys.argv[1]))
    by_dir = collections.Counter(os.path.dirname(f) for f in files)
    for where in sorted(by_dir):
        counts = total(files, where)
        print(f"{where:20} {counts[1]:6} of {counts[0]:6} lines  {percent(counts):5.1f} %", file=sys.stderr)
    for where, least in wanted(sys.argv[2], files):
        counts = total(files, where)
        good = counts[0] and percent(counts) >= least
        said = f"{percent(counts):.1f} % of {counts[0]} lines, {least:g} % are asked for" if counts[0] else "nothing of it is built"
        print(int(bool(good)), int(not good), 0, f"coverage of {where}: {said}")


main()
