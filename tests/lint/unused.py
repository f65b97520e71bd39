"""Functions and data of src/ that no program keeps when it is linked, and no test, fuzzer or benchmark either."""
import glob
import json
import os
import re

import linked


def texts(*patterns):
    for pattern in patterns:
        for path in glob.glob(pattern, recursive=True):
            with open(path, encoding="utf-8") as f:
                yield f.read()


def words(*patterns):
    return set().union(*(re.findall(r"\w+", text) for text in texts(*patterns)))


def external(files):
    """(file, name) of what these objects or programs define for others."""
    file = ""
    for line in linked.run("nm", "--extern-only", "--defined-only", *files).splitlines() if files else []:
        if line.endswith(":"):
            file = line[:-1]
        elif line:
            yield file, linked.SUFFIX.sub("", line.split()[-1])


def not_installed(build):
    """Tests, fuzzers, and what writes headers while building."""
    for target in json.loads(linked.run("meson", "introspect", build, "--targets")):
        if target["type"] == "executable" and not target["installed"]:
            yield from filter(os.path.exists, target["filename"])


def defined(programs, build):
    """(source, name) of everything in src/ that others can use."""
    objects = linked.objects(build)
    compiled = [os.path.join(build, path) for path in objects]
    ret = {(linked.source_of(build, objects, os.path.relpath(path, build)), name)
           for path, name in external(list(filter(os.path.exists, compiled)))}
    # A program that is compiled and linked in one go leaves no objects; what is not static there is in a header.
    seen = {source for source, _ in ret}
    declared = words("src/**/*.h")
    for program in programs.values():
        ret |= {(source, name) for source, names in program.known.items() if source not in seen for name in names & declared}
    return {(source, name) for source, name in ret if source}


def check(programs, build):
    kept = {name for _, name in external(list(not_installed(build)))} | words("bench/**/*.c") | {"main"}
    for program in programs.values():
        kept = kept.union(*program.kept.values())
    for source, name in sorted(defined(programs, build)):
        if name not in kept:
            yield f"{source}: '{name}' is in no program, and no test needs it"
