"""terminal.py OUT STEP… -- CMD…: CMD on a terminal of its own; what it prints goes to OUT.

Steps, in order: expect:REGEX (in what came since the last one), send:TEXT (Python escapes),
size:ROWSxCOLS, signal:NUMBER (to CMD alone), run:COMMAND (of a shell, beside CMD). The exit code is CMD's own, or 98 when something
expected did not come, or 99 when the terminal is not left as it was found.
"""
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

LIMIT = 20


class Session:
    def __init__(self, argv):
        self.seen = b""
        self.all = b""
        self.master, self.slave = os.openpty()
        self.size(24, 80)
        self.before = termios.tcgetattr(self.slave)
        self.pid = os.fork()
        if self.pid == 0:
            self.take_terminal()
            os.execvp(argv[0], argv)

    def take_terminal(self):
        os.setsid()
        fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
        for fd in range(3):
            os.dup2(self.slave, fd)
        os.closerange(3, 1024)

    def size(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def read(self, wait):
        if not select.select([self.master], [], [], wait)[0]:
            return False
        data = os.read(self.master, 65536)
        self.seen += data
        self.all += data
        return bool(data)

    def expect(self, regex):
        end = time.monotonic() + LIMIT
        while True:
            found = re.search(regex.encode(), self.seen)
            if found:
                self.seen = self.seen[found.end():]
                return
            if time.monotonic() > end:
                sys.stderr.write(f"never came: {regex!r}; there was {self.seen[-2000:]!r}\n")
                os.kill(self.pid, signal.SIGKILL)
                sys.exit(98)
            self.read(0.1)

    def wait(self):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while self.read(0):
                    pass
                return os.waitstatus_to_exitcode(status)
            self.read(0.02)
        sys.stderr.write(f"did not end; there was {self.seen[-2000:]!r}\n")
        os.kill(self.pid, signal.SIGKILL)
        sys.exit(98)


def main():
    out, rest = sys.argv[1], sys.argv[2:]
    split = rest.index("--")
    session = Session(rest[split + 1:])
    try:
        for step in rest[:split]:
            what, _, arg = step.partition(":")
            if what == "expect":
                session.expect(arg)
            elif what == "send":
                os.write(session.master, arg.encode("latin-1").decode("unicode_escape").encode("latin-1"))
            elif what == "size":
                session.size(*map(int, arg.split("x")))
            elif what == "signal":
                os.kill(session.pid, int(arg))
            elif what == "run":
                subprocess.run(arg, shell=True, check=True)
            else:
                sys.exit(f"unknown step {step}")
        code = session.wait()
    finally:
        with open(out, "wb") as f:
            f.write(session.all)
    if termios.tcgetattr(session.slave) != session.before:
        sys.stderr.write("the terminal was not restored\n")
        sys.exit(99)
    sys.exit(code if code >= 0 else 128 - code)


main()
