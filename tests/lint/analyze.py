"""analyze.py BUILD: gcc's analyzer over all of src/, by the command lines of that build directory. A finding that is none has a
row in analyze.txt, which says why; a row that nothing matches is a finding, too. What was found in a file is kept in
BUILD/analyzed until something in it, or in what it includes, changes."""
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys

BUILD = sys.argv[1]
KEPT = f"{BUILD}/analyzed"
LIST = "tests/lint/analyze.txt"
FOUND = re.compile(r"^(?:\.\./)?(src/\S+?):(\d+):\d+: (?:warning|error): (.*) \[(-Wanalyzer-[a-z0-9-]+)\]$", re.M)
OPTIONS = ["-O0", "-U_FORTIFY_SOURCE", "-Wno-error", "-fanalyzer", "-fdiagnostics-plain-output"]


def words(entry):
    w = [x for x in shlex.split(entry["command"]) if x not in ("-Werror", "ccache")]
    for option in ("-o", "-MF", "-MQ"):
        at = w.index(option)
        del w[at:at + 2]
    return [x for x in w if x not in ("-c", "-MD", entry["file"]) and not x.startswith("-O")]


def run(*argv):
    return subprocess.run(argv, cwd=BUILD, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def analyze(entry):
    """(file, line, text, option) of each finding."""
    w = words(entry)
    text = run(*w, "-E", "-P", entry["file"])
    key = hashlib.sha256(" ".join(w + OPTIONS).encode() + text.stdout).hexdigest()
    kept = f"{KEPT}/{key}"
    if not os.path.exists(kept):
        p = run(*w, *OPTIONS, "-c", entry["file"], "-o", "/dev/null")
        said = p.stdout.decode("utf-8", "replace")
        if p.returncode:
            return [(entry["file"], "0", said, "gcc failed")]
        with open(f"{kept}.new", "w", encoding="utf-8") as f:
            json.dump(FOUND.findall(said), f)
        os.rename(f"{kept}.new", kept)
    with open(kept, encoding="utf-8") as f:
        return [tuple(row) for row in json.load(f)]


def excused():
    """(file, option, word of the message): why"""
    rows = {}
    with open(LIST, encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                where, option, word, why = line.split(None, 3)
                rows[where, option, word] = why
    return rows


def main():
    os.makedirs(KEPT, exist_ok=True)
    with open(f"{BUILD}/compile_commands.json", encoding="utf-8") as f:
        entries = {e["file"]: e for e in json.load(f) if e["file"].startswith("../src/")}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = sorted({row for rows in pool.map(analyze, entries.values()) for row in rows})
    rows, used, bad = excused(), set(), 0
    for where, line, text, option in found:
        hits = [k for k in rows if k[0] == where and k[1] == option and k[2] in text]
        used.update(hits)
        if not hits:
            bad += 1
            print(f"{where}:{line}: {text} [{option}]")
    for key in sorted(set(rows) - used):
        bad += 1
        print(f"{LIST}: nothing is found any more: {' '.join(key)}")
    return bad != 0


sys.exit(main())
