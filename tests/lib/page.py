#!/usr/bin/python3
"""page.py [--part NAME] [--section TITLE] [--record] PAGE.md: does what a page of the manual says, and compares.

Every fenced block of kind `console` is run, from top to bottom, in one bash, in the current directory:
    $ COMMAND            what is typed; `> ` continues it, for a here-document or a long line
    other lines          what it prints, standard error included; `…` stands for anything, and alone on a line for any
                         number of lines
A command, and each part of a pipe, has to end with 0, or as a comment in front of its block says: <!-- exit: 1 -->. A block of another kind is a file when a comment stands in front of it, and is written there:
    <!-- file: PATH -->
A comment <!-- part: NAME --> puts the next block into that part: it is left out unless --part asks for it, and then it is the only
thing that is run. --section runs one `##` section. --record prints the page with what really happened.
The first difference is shown, and the exit code is 1.
"""
import argparse
import os
import re
import select
import subprocess
import sys
import tempfile

LIMIT = 240  # seconds for one command


class Block:
    def __init__(self, kind, line, section, marks):
        self.kind, self.line, self.section = kind, line, section
        self.part, self.file, self.exit = marks.get("part"), marks.get("file"), int(marks.get("exit", 0))
        self.lines = []

    def commands(self):
        """(line number, command, [expected lines])"""
        found = []
        for n, text in enumerate(self.lines, self.line + 1):
            if text.startswith("$ "):
                found.append((n, text[2:], []))
            elif text.startswith("> ") or text == ">":
                if not found or found[-1][2]:
                    sys.exit(f"line {n}: '>' continues no command")
                found[-1] = (found[-1][0], found[-1][1] + "\n" + text[2:], [])
            elif not found:
                sys.exit(f"line {n}: a console block begins with '$ '")
            else:
                found[-1][2].append(text)
        return found


def blocks(text):
    block, section, marks = None, None, {}
    for n, line in enumerate(text.splitlines(), 1):
        if block is not None:
            if line.startswith("```"):
                yield block
                block = None
            else:
                block.lines.append(line)
        elif line.startswith("```"):
            block, marks = Block(line[3:].strip(), n, section, marks), {}
        elif m := re.fullmatch(r"<!-- (part|file|exit): (.*) -->", line):
            marks[m[1]] = m[2]
        elif line.startswith("## "):
            section = line[3:].strip()
    if block is not None:
        sys.exit(f"line {block.line}: the block does not end")


def line_fits(want, got):
    return re.fullmatch(".*".join(re.escape(p) for p in want.split("…")), got) is not None


def fits(want, got):
    """Do all lines fit? Two lists; `…` alone on a line is any number of lines."""
    places = {0}  # how many lines of `got` the lines of `want` so far may have taken
    for text in want:
        if text.strip() == "…":
            places = set(range(min(places), len(got) + 1))
        else:
            places = {n + 1 for n in places if n < len(got) and line_fits(text.rstrip(), got[n].rstrip())}
        if not places:
            return False
    return len(got) in places


class Shell:
    """One bash for the whole page: a command may change its directory and variables."""

    def __init__(self):
        self.dir = tempfile.TemporaryDirectory(prefix="page.")
        # By descriptors of its own: commands have no standard input.
        ask, self.ask = os.pipe()
        self.told, tell = os.pipe()
        self.bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-c",
             f'set -o pipefail; while read -r -u {ask} f; do . "$f" </dev/null >"$f.out" 2>&1 {ask}<&- {tell}>&-; echo $? >&{tell}; done'],
            pass_fds=(ask, tell), stdin=subprocess.DEVNULL)
        os.close(ask)
        os.close(tell)
        self.n = 0

    def run(self, command):
        """What it printed, as lines, and its exit code; None where it took too long or ended the shell."""
        self.n += 1
        path = f"{self.dir.name}/{self.n}"
        with open(path, "w", encoding="utf-8") as f:
            f.write(command + "\n")
        os.write(self.ask, (path + "\n").encode())
        ready = select.select([self.told], [], [], LIMIT)[0]
        word = os.read(self.told, 16).decode().strip() if ready else ""
        with open(path + ".out", encoding="utf-8", errors="replace") as f:
            text = f.read()
        return text.removesuffix("\n").split("\n") if text else [], int(word) if word else None

    def end(self):
        os.close(self.ask)
        self.bash.wait(timeout=10)


def show(title, lines):
    print(f"  {title}:")
    for line in lines or ["(nothing)"]:
        print(f"  | {line}")


def run_block(shell, page, block, record):
    bad = 0
    for line, command, want in block.commands():
        got, code = shell.run(command)
        if record:
            print("$ " + command.replace("\n", "\n> "))
            print("\n".join(got))
        if code == block.exit and (fits(want, got) or record):
            continue
        bad += 1
        print(f"{page}:{line}: $ {command}")
        if code != block.exit:
            print(f"  exit {code}" if code is not None else f"  not ended after {LIMIT} s")
        show("the page says", want)
        show("it printed", got)
        if not record:
            return bad
    return bad


def write_file(block):
    path = os.path.expanduser(block.file)
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(block.lines) + "\n")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--part")
    ap.add_argument("--section")
    ap.add_argument("--record", action="store_true")
    ap.add_argument("page")
    args = ap.parse_args()
    with open(args.page, encoding="utf-8") as f:
        todo = [b for b in blocks(f.read()) if b.part == args.part and (b.kind == "console" or b.file)]
    if args.section:
        todo = [b for b in todo if b.section == args.section]
    if not todo:
        sys.exit(f"{args.page}: there is nothing to run")
    shell, bad, done = Shell(), 0, 0
    for block in todo:
        if block.file:
            write_file(block)
        else:
            bad += run_block(shell, os.path.basename(args.page), block, args.record)
            done += len(block.commands())
        if bad and not args.record:
            break
    shell.end()
    print(f"{done} commands, {bad} not as the page says")
    sys.exit(1 if bad else 0)


main()
