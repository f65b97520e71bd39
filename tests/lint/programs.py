"""programs.py [--write] BUILD: what the docs say about the programs is how they are linked, and no function is linked into none of them.
--write brings the table of walls up to date."""
import os
import re
import sys

import linked
import unused
import walls

PROGRAMS = "docs/how-it-works.md"
DEPENDENCIES = "docs/dependencies.md"


def rows(path):
    with open(path, encoding="utf-8") as f:
        return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in f if line.startswith("| ")]


def check_linked(programs):
    """The column of PROGRAMS, both ways."""
    said = {os.path.basename(row[0].strip("`")): row[1] for row in rows(PROGRAMS) if re.fullmatch(r"`(?:libexec/ralph/[\w-]+|ralph)`", row[0])}
    for name in sorted(said.keys() ^ programs.keys()):
        yield f"{PROGRAMS}: '{name}' is {'not installed' if name in said else 'installed and not in the table'}"
    for name in sorted(said.keys() & programs.keys()):
        p = programs[name]
        is_so = ("static, musl" if p.libc == "musl" else "static") if p.static else ", ".join(sorted(p.shared, key=str.lower))
        if said[name] != is_so:
            yield f"{PROGRAMS}: '{name}' is linked: {is_so}"


def check_openssl(programs):
    """The one library that a reader asks for by name."""
    has = sorted(name for name, p in programs.items() if "OpenSSL" in p.libraries)
    for row in rows(DEPENDENCIES):
        if row[1].startswith("OpenSSL") and sorted(row[2].split(", ")) != has:
            yield f"{DEPENDENCIES}: OpenSSL is used by {', '.join(has)}"


def main():
    build = sys.argv[-1]
    programs = linked.programs(build)
    if sys.argv[1] == "--write":
        walls.write(programs)
    found = [*check_linked(programs), *check_openssl(programs), *walls.check(programs), *unused.check(programs, build)]
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


main()
