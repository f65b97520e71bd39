"""What each wall rests on: the table of docs/threat-model.md, from the programs as they are linked."""
import re

PAGE = "docs/threat-model.md"
BEGIN, END = "<!-- walls: tests/lint/programs.py --write BUILD -->\n", "<!-- /walls -->\n"
NEAR = 0.02  # a table that is off by less is not stale

WALLS = {
    "files": ("guest", "supervisor"),
    "network": ("edge", "gateway", "reader", "ca", "guest", "outpost", "ports", "supervisor"),
    "credentials": ("cred", "fetch", "gateway"),
    "host execution": ("cli", "guest", "loop", "repo", "supervisor"),
    "terminal": ("ralph", "cli", "guest"),
}


def code_lines(path):
    with open(path, encoding="utf-8") as f:
        code = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    return sum(1 for line in code.splitlines() if line.strip())


def lines(programs, names):
    return sum(map(code_lines, set().union(*(programs[name].kept for name in names))))


def about(n):
    return f"{round(n, -2):,}"


def table(programs):
    rows = ["| wall | programs, and the lines of each | lines in all | libraries |", "|---|---|---|---|"]
    for wall, names in WALLS.items():
        each = ", ".join(f"`{name}` {about(lines(programs, [name]))}" for name in names)
        libraries = sorted(set().union(*(programs[name].libraries for name in names)), key=str.lower)
        rows.append(f"| {wall} | {each} | {about(lines(programs, names))} | {', '.join(libraries)} |")
    return "\n".join(rows) + "\n"


def is_stale(old, new):
    number = re.compile(r"(?<!\w)\d[\d,]*\d")
    if number.sub("N", old) != number.sub("N", new):
        return True
    counts = ([int(n.replace(",", "")) for n in number.findall(text)] for text in (old, new))
    return any(abs(a - b) > max(100, NEAR * b) for a, b in zip(*counts))


def parts():
    with open(PAGE, encoding="utf-8") as f:
        text = f.read()
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    return before, old, after


def check(programs):
    new = table(programs)
    if is_stale(parts()[1], new):
        yield f"{PAGE}: 'What each wall rests on' is stale; 'python3 tests/lint/programs.py --write BUILD' prints this now:\n{new}"


def write(programs):
    before, _, after = parts()
    with open(PAGE, "w", encoding="utf-8") as f:
        f.write(before + BEGIN + table(programs) + END + after)
