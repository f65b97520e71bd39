"""on-terminal.py PROGRAM ARG…: runs it on a terminal of its own; prints what it wrote there and what is
typed into the terminal when it has ended, as two Python literals. Exits as the program does."""
import fcntl
import os
import pty
import select
import sys
import termios
import tty

# We keep the other side open too, so that what was typed in survives the program.
master, slave = pty.openpty()
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in range(3):
        os.dup2(slave, fd)
    os.execv(sys.argv[1], sys.argv[1:])
wrote = b""
while True:
    ready, _, _ = select.select([master], [], [], 0.05)
    if ready:
        wrote += os.read(master, 65536)
    elif os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        break
_, status = os.waitpid(pid, 0)
tty.setraw(slave, termios.TCSANOW)
typed = os.read(slave, 65536) if select.select([slave], [], [], 0)[0] else b""
print(repr(wrote), repr(typed))
sys.exit(os.waitstatus_to_exitcode(status))
