"""Runs inside the sandbox and tries to get out. Prints `wanted<TAB>got<TAB>what<TAB>detail` for each attempt.

Every attempt is harmless where it succeeds: what is opened is not changed, what is made is removed.

Arguments: the user's home, a directory outside the project, a TCP port, a unix socket, an abstract
socket, the number of an open descriptor and the marker in the host's process list.
"""
import glob
import os
import socket
import subprocess
import sys

HOME, OUTSIDE, PORT, SOCK, ABSTRACT, FD, MARKER = sys.argv[1:]


def read(path):
    with open(path, "rb") as f:
        return f"read {len(f.read(4096))} bytes"


def write(path):
    with open(path, "w") as f:
        f.write("written from inside\n")
    return "written"


def could_write(path):
    """Opening is the test; nothing is written."""
    os.close(os.open(path, os.O_WRONLY))
    return "opened for writing"


def could_create(directory):
    path = os.path.join(directory, "ralph-demo-" + MARKER)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    os.unlink(path)
    return "made a file there"


def mount():
    os.mkdir("mnt")
    try:
        run("mount", "-t", "tmpfs", "none", "mnt")
        run("umount", "mnt")
    finally:
        os.rmdir("mnt")
    return "mounted"


def env_secret():
    return "DEMO_API_KEY is " + os.environ["DEMO_API_KEY"]


def proc_secrets():
    for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as f:
                if MARKER.encode() in f.read() and path.split("/")[2] not in mine():
                    return "seen in " + path
        except OSError:
            pass
    raise OSError("%d processes in sight, all of the sandbox" % len(glob.glob("/proc/[0-9]*")))


def mine():
    """This program and its parents carry the marker in their own arguments."""
    pid, found = os.getpid(), []
    while pid:
        found.append(str(pid))
        with open(f"/proc/{pid}/stat") as f:
            pid = int(f.read().rsplit(")", 1)[1].split()[1])
    return found


def connect(family, address):
    with socket.socket(family) as s:
        s.settimeout(3)
        s.connect(address)
    return "connected"


def interfaces():
    with open("/proc/net/dev") as f:
        names = [line.split(":")[0].strip() for line in f if ":" in line]
    others = [name for name in names if name != "lo"]
    if others:
        return "interfaces: " + " ".join(others)
    raise OSError("only loopback, no route")


def run(*argv):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise OSError((done.stderr.strip() or "exit %d" % done.returncode).splitlines()[0])
    return (done.stdout.strip() or "done").splitlines()[0]


def linger():
    """Whether it outlives the sandbox is for the host to see."""
    subprocess.Popen(["sleep", "333" + MARKER[-6:]], start_new_session=True,
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return "started"


ATTEMPTS = [
    ("blocked", "read the SSH key", lambda: read(HOME + "/.ssh/id_ed25519")),
    ("blocked", "read the AWS credentials", lambda: read(HOME + "/.aws/credentials")),
    ("blocked", "read a secret in the environment", env_secret),
    ("blocked", "see the host's processes", proc_secrets),
    ("blocked", "write outside the project", lambda: write(OUTSIDE + "/from-inside")),
    ("blocked", "write in /usr", lambda: could_create("/usr")),
    ("blocked", "write in /etc", lambda: could_create("/etc")),
    ("blocked", "change the file given as stdin", lambda: write("/proc/self/fd/0")),
    ("blocked", "read a file ralph had open", lambda: read("/proc/self/fd/" + FD)),
    ("blocked", "reach a server on the host", lambda: connect(socket.AF_INET, ("127.0.0.1", int(PORT)))),
    ("blocked", "find a network", interfaces),
    ("blocked", "use the SSH agent's socket", lambda: connect(socket.AF_UNIX, SOCK)),
    ("blocked", "use an abstract socket", lambda: connect(socket.AF_UNIX, "\0" + ABSTRACT)),
    ("blocked", "make a user namespace", lambda: run("unshare", "--user", "--map-root-user", "id", "-u")),
    ("blocked", "mount a file system", mount),
    ("blocked", "set the host's core_pattern", lambda: could_write("/proc/sys/kernel/core_pattern")),
    ("allowed", "write in the project", lambda: write("result.txt")),
    ("allowed", "commit in the project", lambda: run("git", "commit", "--allow-empty", "-qm", "from inside")),
    ("allowed", "keep a file in its own home", lambda: write(os.path.expanduser("~/note"))),
    ("started", "leave a process running", linger),
]

for wanted, what, attempt in ATTEMPTS:
    try:
        got, detail = "allowed" if wanted != "started" else "started", attempt()
    except KeyError:
        got, detail = "blocked", "not set"
    except OSError as e:
        got, detail = "blocked", e.strerror or str(e)
    print(wanted, got, what, detail, sep="\t", flush=True)
