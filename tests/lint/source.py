"""Checks on the source text that no compiler makes: banned calls, lengths, places of one machine."""
import re
import subprocess
import sys

FILE_WARN, FILE_MAX, FUNCTION_MAX = 700, 1000, 100

BANNED = (
    "strcpy strcat sprintf vsprintf strtok atoi atol atoll strtol strtoul strtoll strtoull sscanf gets "
    "system popen alloca dup access tmpnam tempnam mktemp"
).split()
BANNED_CALL = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")

# The parser of numbers is where the one checked strtoull of the tree may live.
BANNED_EXCEPT = {("src/base/parse.c", "strtoull"), ("src/base/parse.c", "strtoll")}

# Spelled in pieces, so that this file does not name what it looks for.
PLACES = re.compile(
    r"(?<![\w.$}*-])/(?:work|root)/"
    r"|https?://[\w.-]*(?:regis" r"try|mir" r"ror|arti" r"factory|nexus)[\w.-]*"
)
PLACES_EXCEPT = re.compile(r"example|invalid|test")
# ralph asks the clients of a registry where it is, so nothing in the tree names one: an example is at registry.example.
REGISTRIES = re.compile(
    r"regis" r"try(?:-1)?\.(?:npmjs|yarnpkg|docker|gitlab)\.\w+|\bnpmjs\.|\bpypi\.org|\bpython" r"hosted\.|\bcrates\.io|\bruby" r"gems\.org"
    r"|\bproxy\.go" r"lang\.|\bindex\.docker\.io|\bghcr\.io|\bquay\.io|\brepo1?\.maven\b"
)

problems = 0


def problem(path, line, text):
    global problems
    problems += 1
    print(f"{path}:{line}: {text}")


def blank(match):
    """A comment or string becomes nothing, its line breaks stay."""
    return "\n" * match.group(0).count("\n") or " "


def check_c(path, text):
    lines = text.count("\n")
    if lines > FILE_MAX:
        problem(path, lines, f"{lines} lines: split it by responsibility (at most {FILE_MAX})")
    elif lines > FILE_WARN:
        print(f"{path}:{lines}: warning: {lines} lines, think of splitting it")

    code = re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)
    start = 0
    for number, line in enumerate(code.splitlines(), 1):
        for call in BANNED_CALL.findall(line):
            # A test reads numbers that it wrote itself.
            own = path.startswith("tests/") and call.startswith("strto") and call != "strtok"
            if (path, call) not in BANNED_EXCEPT and not own:
                problem(path, number, f"{call}() is banned")
        if "//" in line:
            problem(path, number, "comments are written /* so */")
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start:
            if number - start - 1 > FUNCTION_MAX:
                problem(path, start, f"a function of {number - start - 1} lines (at most {FUNCTION_MAX})")
            start = 0


# Declared without a value, these are released on every return: also on one before they are made.
SELF_RELEASED = re.compile(r"^\tcleanup_(?:buf struct buf|strv struct strv) ([\w, ]+);", re.M)


def check_released(path, code):
    for body in re.finditer(r"^\{\n(.*?)^\}", code, re.S | re.M):
        for declared in SELF_RELEASED.finditer(body.group(1)):
            for name in (n.strip() for n in declared.group(1).split(",")):
                # Whoever takes its address may well make it: a function of its own that initialises.
                made = re.search(rf"&{name}\b", body.group(1)[declared.end():])
                out = re.search(r"\breturn\b", body.group(1)[declared.end():])
                if out and (not made or out.start() < made.start()):
                    line = code.count("\n", 0, body.start(1) + declared.start()) + 1
                    problem(path, line, f"'{name}' is released on a return before it is made")


# A line of a comment has a space behind its star: where it has none, a formatter has joined what stood in lines.
REFLOWED = re.compile(r"^ \*[a-zA-Z]")


def check_comments(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        if REFLOWED.search(line):
            problem(path, number, "a table in a comment was broken: write its lines anew")


# An engine's functions are called by engine/engine.c, which checks their order: nobody else sees them.
def check_engine_ops(path, text):
    own = path.startswith(("src/engine/", "tests/unit/test-engine-"))
    found = re.search(r'#include "engine/ops\.h"', text)
    if found and not own:
        problem(path, text.count("\n", 0, found.start()) + 1, "engine/ops.h is the engines' own; use engine/engine.h")


# Documents hold names and text of the agent's: json_show() escapes what a terminal would act on.
def check_shown(path, code):
    for found in re.finditer(r"\bjson_dumpf\s*\(", code):
        if path.startswith(("src/cli/", "src/loop/", "src/view/")):
            problem(path, code.count("\n", 0, found.start()) + 1, "json_dumpf() prints what a terminal acts on; use json_show()")


def check_places(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        for found in PLACES.finditer(line):
            if not PLACES_EXCEPT.search(found.group(0)):
                problem(path, number, f"names a place of one machine: {found.group(0)}")
        for found in REGISTRIES.finditer(line):
            # A rule about installing from an address lets the index itself pass.
            if not path.endswith(("/rules.def", "/source.py")):
                problem(path, number, f"names a registry: {found.group(0)}; an example is at registry.example")


files = subprocess.run(["git", "ls-files", "-z"], check=True, stdout=subprocess.PIPE).stdout
for path in filter(None, files.decode().split("\0")):
    try:
        with open(path, encoding="utf-8") as source:
            text = source.read()
    except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
        continue
    check_places(path, text)
    if path.endswith((".c", ".h")):
        check_c(path, text)
        check_released(path, text)
        check_comments(path, text)
        check_engine_ops(path, text)
        check_shown(path, text)
sys.exit(1 if problems else 0)
