"""Checks on README, docs and manual: links lead somewhere, the tests that the threat model names are there, every quantity is one that a
command of this repository prints (numbers.tsv), and the manual's exit codes are those of the source."""
import glob
import os
import re
import subprocess
import sys

LINK = re.compile(r"\[([^\[\]]*)\]\(([^()\s]+)\)")
SOURCE = re.compile(r"`((?:src|tests|scripts|docs|man|bench|data|demo)/[\w./-]+)`")
NOT_SAID = re.compile(LINK.pattern + r"|`[^`]*`")  # titles of tests, what is typed
# A number with a unit: something that was measured, or a limit.
QUANTITY = re.compile(r"(?<![\w.,-])\d[\d.,]*(?: \d{3})* ?(?:[µnm]s|s|[KMG]i?B(?:/s)?|%|×|hours|minutes|levels|directories|commits|paths)(?![\w-])")
TITLE = re.compile(r"^@test (?:'((?:[^']|'\\'')*)'|\"([^\"]*)\") \{$", re.M)
ELSEWHERE = {"scripts/ralph/prd.json"}  # other projects' files
GENERATED = {"docs/benchmarks.md"}  # bench/ writes it

problems = 0


def problem(path, line, text):
    global problems
    problems += 1
    print(f"{path}:{line}: {text}")


def prose(text):
    """(number, line) of what is not in a fenced block."""
    fenced = False
    for n, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield n, line


def titles(path):
    with open(path, encoding="utf-8") as f:
        return [a.replace("'\\''", "'") or b for a, b in TITLE.findall(f.read())]


def check_links(path, lines):
    for n, line in lines:
        for text, target in LINK.findall(line):
            if re.match(r"[a-z]+:", target) or target.startswith("#"):
                continue
            real = os.path.normpath(os.path.join(os.path.dirname(path), target.partition("#")[0]))
            if not os.path.exists(real):
                problem(path, n, f"'{target}' leads nowhere")
            elif real.endswith(".bats") and text not in titles(real):
                problem(path, n, f"{real} has no test '{text}'")
        for name in SOURCE.findall(line):
            if not os.path.exists(name.rstrip("/.")) and not glob.glob(name + "*") and name not in ELSEWHERE:
                problem(path, n, f"there is no {name}")


def check_threats():
    """Every file of tests/attack is named, and no claim is without a test."""
    path = "docs/threat-model.md"
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for file in sorted(glob.glob("tests/attack/*.bats")):
        if f"](../{file})" not in text:
            problem(path, 1, f"{file} is not mentioned")
    walls = text[text.index("\n## Walls"):text.index("\n## What each wall rests on")]
    for section in walls.split("\n### ")[1:]:
        if "](../tests/" not in section:
            problem(path, 1, f"the wall '{section.splitlines()[0]}' has no test")


def numbers():
    """PAGE, what it says, and the command that prints it; the command is run."""
    rows = {}
    with open("tests/lint/numbers.tsv", encoding="utf-8") as f:
        for n, line in enumerate(f, 1):
            if line.startswith("#") or not line.strip():
                continue
            page, says, command = line.rstrip("\n").split("\t")
            rows[page, says] = [n, False]
            if subprocess.run(["bash", "-c", command], stdout=subprocess.DEVNULL).returncode != 0:
                problem("tests/lint/numbers.tsv", n, f"'{command}' does not print what {page} says: {says}")
    return rows


def check_numbers(path, lines, rows):
    for n, line in lines:
        for found in QUANTITY.findall(NOT_SAID.sub("", line)):
            if (path, found) in rows:
                rows[path, found][1] = True
            else:
                problem(path, n, f"'{found}': no command in tests/lint/numbers.tsv prints it")


def sources():
    text = ""
    for path in sorted(glob.glob("src/**/*.[ch]", recursive=True)):
        with open(path, encoding="utf-8") as f:
            text += f.read()
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def used_codes(code, enum):
    """The values of an enumeration whose names occur outside of it."""
    body = re.search(rf"\benum {enum} \{{(.*?)\}};", code, re.S)
    rest = code[:body.start()] + code[body.end():]
    return {int(value) for name, value in re.findall(r"(\w+) = (\d+)", body.group(1)) if re.search(rf"\b{name}\b", rest)}


def check_exit_codes():
    code = sources()
    for page, pattern, enum, others in (
            # 126 and 127 are a shell's codes for a command that cannot be run.
            ("man/ralph.1.scd", r"^\|[\[ ] *\*(\d+)\*$", "exit_code", {126, 127} if re.search(r"\? 127 :.*\? 126 :", code) else set()),
            # 1 and 2 as everywhere, 130 and 143 from a signal.
            ("man/ralph-loop.1.scd", r"(?:^|; |and )(\d+)\b", "loop_exit", {1, 2, 130, 143})):
        with open(page, encoding="utf-8") as f:
            status = re.search(r"^# EXIT STATUS\n(.*?)(?:^# |\Z)", f.read(), re.S | re.M).group(1)
        said = {int(n) for n in re.findall(pattern, status, re.M)}
        used = used_codes(code, enum) | others
        for n in sorted(said ^ used):
            problem(page, 1, f"exit code {n} is {'not used' if n in said else 'used and not listed'}")
        if "not used" in status:
            problem(page, 1, "a code that is listed is used")


def main():
    rows = numbers()
    for path in ["README.md", *sorted(glob.glob("docs/**/*.md", recursive=True))]:
        with open(path, encoding="utf-8") as f:
            lines = list(prose(f.read()))
        check_links(path, lines)
        if path not in GENERATED:
            check_numbers(path, lines, rows)
    for (page, says), (n, used) in rows.items():
        if not used:
            problem("tests/lint/numbers.tsv", n, f"{page} does not say '{says}'")
    check_threats()
    check_exit_codes()


main()
sys.exit(1 if problems else 0)
