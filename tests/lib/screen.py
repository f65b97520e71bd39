"""screen.py [--record] GOLDEN-DIR ROWSxCOLS STEP… -- CMD…: CMD on a terminal, and what its screen shows.

Steps, in order: expect:REGEX (somewhere on the screen), prompt:N (the last line is "N $", as PS1='\\# $ ' has it), send:TEXT
(Python escapes), enter:REGEX (Enter, and again when nothing has come for two seconds, until REGEX is somewhere on the screen: an
agent that reads keys late takes an Enter that follows other keys within some 30 ms for a line break), file:GLOB (there is such a
file), shot:NAME (the screen becomes what GOLDEN-DIR/NAME-COLSxROWS.txt holds; it may take a while), from:REGEX (shots begin with
the first line that has it: what an agent leaves above depends on the frames that it had time to draw), keep: (remembers the
terminal's modes), restored: (the modes become those that were kept: line discipline, mouse, alternate screen, cursor, charset,
colours, keyboard, title). Parts that differ from run to run are masked, see MASKS. With --record a shot is written there instead,
once nothing has come for two seconds. The exit code is CMD's own, 98 when something did not come, which is shown.
"""
import codecs
import fcntl
import glob
import os
import re
import select
import signal
import struct
import sys
import termios
import time
import unicodedata

LIMIT = 60
QUIET = 2  # seconds

# The identity of a conversation, which may be broken at the end of a line.
UUID = "\n?".join("[0-9a-f]" if c == "x" else c for c in "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")

# Parts of a screen that differ from run to run, and the text that stands for them.
MASKS = [
    (UUID, "…"),
    (r"/(?:tmp|var)/[^\s'\"│]*/(?=home\b)", "…/"),
    (r"/?tmp/rt-[0-9a-f]{8}", "…"),
    (r"(?m)^✻ \w+ for \d+s", "✻ … for …"),
    (r"Worked for <?\d+s", "Worked for …"),
    (r"\b\d+(\.\d+)?m?s( \(\d+\.\d%\))? +│", "… │"),
    (r" +│(?m:$)", " │"),
    (r"(?<=[╭╰])─+", "───"),
    (r"\b(ws|t|net|box|hour)-[0-9a-f]{8}\b", r"\1-…"),
    (r"agent-loop-[a-z]+-[a-z0-9-]+", "agent-loop-…"),
    (r"\b[0-9a-f]{12,64}\b", "…"),
    (r"user \d+", "user …"),
    (r"\(event \d+\)", "(event …)"),
    (r"\bv?\d+\.\d+\.\d+\b", "…"),
    (r"\bin \d+ (seconds|minutes|hours|min|h|s)\b|\b\d+h ?\d+m\b|\b\d+ min\b", "…"),
    (r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?Z?)?", "…"),
    (r"\b\d?\d:\d\d( [AP]M)?\b", "…"),
]


class Screen:
    """The part of a terminal that programs of the test use."""

    def __init__(self, rows, cols):
        self.rows, self.cols = rows, cols
        self.saved, self.other = (0, 0), None
        self.top, self.bottom = 0, rows - 1
        self.y = self.x = 0
        self.cells = self.blank()
        self.rest = ""
        self.modes, self.colours, self.charset = {25}, "", ""
        self.keyboard, self.title, self.titles = [], "", []

    def blank(self):
        return [[" "] * self.cols for _ in range(self.rows)]

    def text(self):
        lines = ["".join(row).rstrip() for row in self.cells]
        return "\n".join(lines).rstrip("\n") + "\n"

    def scroll(self, n=1):
        for _ in range(abs(n)):
            gone, new = (self.top, self.bottom) if n > 0 else (self.bottom, self.top)
            del self.cells[gone]
            self.cells.insert(new, [" "] * self.cols)

    def down(self):
        if self.y == self.bottom:
            self.scroll()
        else:
            self.y = min(self.y + 1, self.rows - 1)

    def put(self, c):
        width = 0 if unicodedata.combining(c) or c in "\u200d\ufe0f" else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        if width == 0:
            return
        if self.x + width > self.cols:
            self.x = 0
            self.down()
        self.cells[self.y][self.x] = c
        if width == 2:
            self.cells[self.y][self.x + 1] = ""
        self.x += width

    def erase_line(self, how):
        first, last = {0: (self.x, self.cols), 1: (0, self.x + 1)}.get(how, (0, self.cols))
        for x in range(first, min(last, self.cols)):
            self.cells[self.y][x] = " "

    def erase(self, how):
        if how >= 2:
            self.cells = self.blank()
            return
        self.erase_line(how)
        for y in range(self.y + 1, self.rows) if how == 0 else range(self.y):
            self.cells[y] = [" "] * self.cols

    def mode(self, on, numbers):
        self.modes = self.modes | set(numbers) if on else self.modes - set(numbers)
        if not {47, 1047, 1049} & set(numbers):
            return
        if on and self.other is None:
            self.other, self.cells = (self.cells, self.y, self.x), self.blank()
        elif not on and self.other is not None:
            (self.cells, self.y, self.x), self.other = self.other, None

    def move(self, y, x):
        self.y = max(0, min(y, self.rows - 1))
        self.x = max(0, min(x, self.cols - 1))

    def csi(self, private, args, final):
        n = [int(a) if a.isdigit() else 0 for a in args.split(";")]
        first = n[0] or 1
        row = self.cells[self.y]
        if final in "hl":
            if private == "?":
                self.mode(final == "h", n)
        elif final == "m" and not private:
            self.colours = "" if args in ("", "0") else self.colours + f"{args};"
        elif final == "t" and n[0] == 22:
            self.titles.append(self.title)
        elif final == "t" and n[0] == 23:
            self.title = self.titles.pop() if self.titles else ""
        elif final == "u" and private == ">":
            self.keyboard.append(args)
        elif final == "u" and private == "<":
            del self.keyboard[-first:]
        elif private or final in "nqt":
            pass
        elif final in "ABCDEFGd`":
            y = {"A": self.y - first, "B": self.y + first, "E": self.y + first, "F": self.y - first, "d": first - 1}.get(final, self.y)
            x = {"C": self.x + first, "D": self.x - first, "E": 0, "F": 0, "G": first - 1, "`": first - 1}.get(final, self.x)
            self.move(y, x)
        elif final in "Hf":
            self.move(first - 1, (n[1] if len(n) > 1 and n[1] else 1) - 1)
        elif final == "J":
            self.erase(n[0])
        elif final == "K":
            self.erase_line(n[0])
        elif final in "LM":
            top, self.top = self.top, self.y
            self.scroll(first if final == "M" else -first)
            self.top = top
        elif final in "ST":
            self.scroll(first if final == "S" else -first)
        elif final == "P":
            del row[self.x:self.x + first]
            row += [" "] * (self.cols - len(row))
        elif final == "@":
            row[self.x:self.x] = [" "] * first
            del row[self.cols:]
        elif final == "X":
            row[self.x:self.x + first] = [" "] * min(first, self.cols - self.x)
        elif final == "r":
            self.top, self.bottom = first - 1, (n[1] if len(n) > 1 and n[1] else self.rows) - 1
            self.move(0, 0)
        elif final == "s":
            self.saved = self.y, self.x
        elif final == "u":
            self.move(*self.saved)

    def escape(self, c):
        if c == "7":
            self.saved = self.y, self.x
        elif c == "8":
            self.move(*self.saved)
        elif c == "M" and self.y == self.top:
            self.scroll(-1)
        elif c == "M":
            self.y -= 1
        elif c in "DE":
            self.down()
            self.x = 0 if c == "E" else self.x

    def state(self):
        """The modes that a program can leave behind."""
        return {"modes": sorted(self.modes), "alternate": self.other is not None, "colours": self.colours, "charset": self.charset,
                "keyboard": list(self.keyboard), "title": self.title, "region": (self.top, self.bottom)}

    def string(self, sequence):
        title = re.match("\x1b\\][02];([^\x07\x1b]*)", sequence)
        if title:
            self.title = title[1]

    # The beginning of a sequence waits for the rest of it.
    BEGINNING = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_].*|[ -/]*)\Z", re.S)
    SEQUENCE = re.compile(r"\x1b(?:\[([<=>?]?)([0-?]*)[ -/]*([@-~])|[\]PX^_].*?(?:\x07|\x1b\\)|[ -/]+[0-~]|([0-OQ-WYZ\\`-~]))", re.S)

    def feed(self, text):
        text, at = self.rest + text, 0
        self.rest = ""
        while at < len(text):
            c = text[at]
            if c == "\x1b":
                found = self.SEQUENCE.match(text, at)
                if not found and self.BEGINNING.match(text, at):
                    self.rest = text[at:]
                    return
                if not found:
                    at += 1
                    continue
                at = found.end()
                if found[3]:
                    self.csi(found[1], found[2], found[3])
                elif found[4]:
                    self.escape(found[4])
                elif found[0][1] in "()":
                    self.charset = found[0][1:].replace("(B", "")
                else:
                    self.string(found[0])
                continue
            at += 1
            if c in "\x0e\x0f":
                self.charset = "shifted" if c == "\x0e" else ""
            if c == "\r":
                self.x = 0
            elif c in "\n\v\f":
                self.down()
            elif c == "\b":
                self.x = max(0, self.x - 1)
            elif c == "\t":
                self.x = min(self.cols - 1, (self.x // 8 + 1) * 8)
            elif c >= " " and c != "\x7f":
                self.put(c)


class Session:
    def __init__(self, rows, cols, argv):
        self.screen = Screen(rows, cols)
        self.first = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        self.master, slave = os.openpty()
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(slave, fd)
            os.closerange(3, 1024)
            os.execvp(argv[0], argv)
        os.close(slave)

    def read(self, wait):
        if not select.select([self.master], [], [], wait)[0]:
            return False
        try:
            text = self.decoder.decode(os.read(self.master, 65536))
        except OSError:
            return False
        self.answer(text)
        self.screen.feed(text)
        return True

    def answer(self, text):
        """Programs ask what the terminal is and where the cursor stands."""
        if "\x1b[c" in text:
            os.write(self.master, b"\x1b[?62;22c")
        if "\x1b[6n" in text:
            self.screen.feed("")
            os.write(self.master, f"\x1b[{self.screen.y + 1};{self.screen.x + 1}R".encode())

    def until(self, done, what, again=None):
        """Again is sent each time nothing has come for QUIET."""
        end = time.monotonic() + LIMIT
        heard = time.monotonic()
        while not done():
            now = time.monotonic()
            if now > end:
                sys.stderr.write(f"never came: {what() if callable(what) else what}; the screen was:\n{masked(self.screen.text())}")
                os.kill(self.pid, signal.SIGKILL)
                sys.exit(98)
            if self.read(0.1):
                heard = now
            elif again and now > heard + QUIET:
                os.write(self.master, again)
                heard = now

    def state(self):
        return self.screen.state() | {"line": termios.tcgetattr(self.master)}

    def shown(self):
        lines = masked(self.screen.text()).splitlines(keepends=True)
        first = next((i for i, line in enumerate(lines) if re.search(self.first, line)), 0)
        return "".join(lines[first:])

    def settle(self):
        while self.read(QUIET):
            pass

    def wait(self):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            self.read(0.05)
        sys.stderr.write(f"did not end; the screen was:\n{self.screen.text()}")
        os.kill(self.pid, signal.SIGKILL)
        sys.exit(98)


def masked(text):
    for regex, stands_for in MASKS:
        text = re.sub(regex, stands_for, text)
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


def shot(session, path, record):
    if record:
        session.settle()
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(session.shown())
        return
    with open(path, encoding="utf-8") as f:
        want = f.read()
    session.until(lambda: session.shown() == want, f"the screen of {os.path.basename(path)}:\n{want}")


def main():
    args = sys.argv[1:]
    record = args[0] == "--record"
    golden, size = args[record:record + 2]
    rest = args[record + 2:]
    split = rest.index("--")
    rows, cols = map(int, size.split("x"))
    session = Session(rows, cols, rest[split + 1:])
    for step in rest[:split]:
        what, _, arg = step.partition(":")
        if what == "expect":
            session.until(lambda: re.search(arg, session.screen.text()), repr(arg))
        elif what == "prompt":
            session.until(lambda: session.screen.text().splitlines()[-1:] == [f"{arg} $"], f"prompt {arg}")
        elif what == "send":
            os.write(session.master, arg.encode("latin-1").decode("unicode_escape").encode("latin-1"))
        elif what == "enter":
            os.write(session.master, b"\r")
            session.until(lambda: re.search(arg, session.screen.text()), repr(arg), again=b"\r")
        elif what == "file":
            session.until(lambda: glob.glob(arg), f"a file {arg}")
        elif what == "from":
            session.first = arg
        elif what == "keep":
            kept = session.state()
        elif what == "restored":
            session.until(lambda: session.state() == kept, lambda: f"the terminal as it was:\n{kept}\n, it is\n{session.state()}\n")
        elif what == "shot":
            shot(session, f"{golden}/{arg}-{cols}x{rows}.txt", record)
        else:
            sys.exit(f"unknown step {step}")
    code = session.wait()
    sys.exit(code if code >= 0 else 128 - code)


main()
