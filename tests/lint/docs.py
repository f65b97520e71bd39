"""Checks on README, docs and manual: links lead somewhere, the files that pages and comments name exist, the tests that the threat model
names are there, every quantity is one that a command of this repository prints (numbers.tsv), the glossary is short, and the manual's
exit codes are those of the source."""
import fnmatch
import glob
import os
import re
import subprocess
import sys

LINK = re.compile(r"\[([^\[\]]*)\]\(([^()\s]+)\)")
SOURCE = re.compile(r"`((?:src|tests|scripts|docs|man|bench|data|demo|docker|fuzz|soak|debian)/[\w./*-]+)`")
# A source file, with or without folders; `*` and NAME stand for any text.
FILE = re.compile(r"(?<![\w./<*-])((?:[\w*-]+/)*[\w*-]+\.[ch])(?![\w*/-]|\.\w)")
ROOM = re.compile(r"(?<![\w./-])(?:src/)?([a-z]+)/")
MODULE = re.compile(r"(?<![\w./-])(?:src/)?([a-z]+/[\w-]+)(?![\w*/-]|\.\w)")
C_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(/\*.*?\*/)', re.S)
COMMENT = re.compile(r'(?:^|\s)# .*|""".*')
SYSTEM = re.compile(r"(?:asm|linux|net|netinet|sys)/")  # headers of the system
NOT_SAID = re.compile(LINK.pattern + r"|`[^`]*`")  # titles of tests, what is typed
# A number with a unit: something that was measured, or a limit.
QUANTITY = re.compile(r"(?<![\w.,-])\d[\d.,]*(?: \d{3})* ?(?:[µnm]s|s|[KMG]i?B(?:/s)?|%|×|hours|minutes|levels|directories|commits|paths)(?![\w-])")
TITLE = re.compile(r"^@test (?:'((?:[^']|'\\'')*)'|\"([^\"]*)\") \{$", re.M)
ELSEWHERE = {"scripts/ralph/prd.json", "tests/cli/NN-area.bats"}  # another project's file; a pattern
GENERATED = {"docs/benchmarks.md"}  # bench/ writes it
SAMPLES = ("fuzz/corpus/", "tests/golden/", "tests/upgrade/fixture/")  # bytes that others wrote
WORDS = "docs/internals/words.md"
WORDS_MAX = 30

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
            if not FILE.fullmatch(name) and not os.path.exists(name.rstrip("/.")) and not glob.glob(name.replace("NAME", "*") + "*") and name not in ELSEWHERE:
                problem(path, n, f"there is no {name}")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def room(path):
    """The first two folders: src/work, tests/unit."""
    return "/".join(path.split("/")[:-1][:2])


class Names:
    """The files of the tree, by every way to name them: src/ROOM/FILE is also ROOM/FILE and FILE."""

    def __init__(self, files):
        self.files = {}
        made = [f"{os.path.dirname(path)}/{name}" for path in files if path.endswith("meson.build")
                for name in re.findall(r"output: '([\w-]+\.h)'", read(path))]
        for path in files + made:
            parts = path.split("/")
            for i in range(len(parts)):
                self.files.setdefault("/".join(parts[i:]), []).append(path)
        self.generated = {os.path.basename(path) for path in made}
        # A module of the table of old names, unless there is a new one of the same name.
        self.old = set()
        for line in read(WORDS).partition("\n## Old names")[2].splitlines():
            was = line.partition(" |")[0]
            folder = re.match(r"\| `(\w+/)`: (.*)", was)
            self.old |= {folder[1] + name for name in folder[2].split(", ")} if folder else set(re.findall(r"`([\w/-]+)`", was))
        self.old = {name for name in self.old if not os.path.isdir(f"src/{name}") and f"{name}.c" not in self.files and f"{name}.h" not in self.files}

    def find(self, name):
        if "*" not in name and "NAME" not in name:
            return self.files.get(name, [])
        pattern = name.replace("NAME", "*")
        return [path for short in fnmatch.filter(self.files, pattern) if short.count("/") == pattern.count("/") for path in self.files[short]]

    def check(self, path, lines, rooms):
        """A name without a folder is that of a file in one of the rooms."""
        for n, line in lines:
            for name in FILE.findall(line):
                found = self.find(name)
                if name in self.generated or SYSTEM.match(name):
                    continue
                if not found:
                    problem(path, n, f"there is no {name}")
                elif "/" not in name and not rooms & {room(file) for file in found}:
                    problem(path, n, f"there is no {name} here: {' or '.join(file.removeprefix('src/') for file in found)}?")
            for name in self.old.intersection(MODULE.findall(line)):
                problem(path, n, f"{name} is an old name, see {WORDS}")


def comments(path, text):
    """(number, line) of the comments of a source file."""
    if not path.endswith((".c", ".h", ".def")):
        return [(n, " ".join(COMMENT.findall(line))) for n, line in enumerate(text.splitlines(), 1) if "#" in line or '"""' in line]
    return [(text.count("\n", 0, m.start(1)) + 1 + i, line)
            for m in C_COMMENT.finditer(text) if m[1] for i, line in enumerate(m[1].splitlines())]


def check_names():
    """What pages and comments call a file exists."""
    files = subprocess.run(["git", "ls-files"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    files = [path for path in files if not path.startswith(SAMPLES) and os.path.isfile(path)]
    names = Names(files)
    for path in files:
        if path.endswith((".md", ".scd")):
            text = read(path).partition("\n## Old names")[0]
            named = {f"src/{name}" for name in ROOM.findall(text)} | {room(name) for name in SOURCE.findall(text)}
            names.check(path, enumerate(text.splitlines(), 1), named | {room(path)})
        elif path.endswith((".c", ".h", ".def", ".sh", ".bash", ".bats", ".py", "meson.build", "Makefile")) or path.startswith((".ci/", "scripts/")):
            names.check(path, comments(path, read(path)), {room(path)})


def check_words():
    """The glossary: one word a row, and few of them."""
    rows = re.findall(r"^\| (?!word |---)([^|]*) \|", read(WORDS).partition("\n## ")[0], re.M)
    if len(rows) > WORDS_MAX:
        problem(WORDS, 1, f"{len(rows)} words, at most {WORDS_MAX}")
    for row in rows:
        if "," in row or rows.count(row) > 1:
            problem(WORDS, 1, f"'{row}': a row has one word, and a word one row")


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
    for path in ("CONTRIBUTING.md", "soak/README.md"):
        check_links(path, prose(read(path)))
    for (page, says), (n, used) in rows.items():
        if not used:
            problem("tests/lint/numbers.tsv", n, f"{page} does not say '{says}'")
    check_names()
    check_words()
    check_threats()
    check_exit_codes()


main()
sys.exit(1 if problems else 0)
