"""What the soak runs in: a home, two small disks, a network of its own, and workspaces. All of it in namespaces that
soak/run.sh made, below one directory; only what is in DIR/log is on the machine's disk."""
import os
import random
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# ralph wants 256 MiB free before it starts a loop.
DISK_SIZE = "320m"
# Where else the monotonic clock starts in the time namespaces, in seconds.
MONOTONIC = (-1000, 1000, 10 ** 5, 10 ** 8)


def sh(*args, **kw):
    return subprocess.run(args, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kw).stdout


def where_time(where, by):
    """A time namespace that stays: the file it is mounted on."""
    path = f"{where}/time{by}"
    with open(path, "wb"):
        pass
    sh("unshare", f"--time={path}", "--monotonic", str(by), "--boottime", str(by), "--fork", "true")
    return path


class World:
    """Places, the server outside, and the seed that all choices come from."""

    def __init__(self, where, stage, clock, seed):
        self.dir, self.clock, self.seed = where, clock, seed
        # Part of every name, so that a cgroup can be told from everybody else's.
        self.id = f"soak{random.SystemRandom().randrange(16 ** 6):06x}"
        self.log, self.home = f"{where}/log", f"{where}/home"
        self.state, self.work, self.run = f"{where}/state", f"{where}/work", f"{where}/run"
        self.ralph = f"{stage}/bin/ralph"
        self.env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": self.home, "XDG_CONFIG_HOME": f"{where}/config",
                    "XDG_STATE_HOME": self.state, "XDG_RUNTIME_DIR": self.run,
                    # A look at a repository on a full disk is to write nothing.
                    "GIT_OPTIONAL_LOCKS": "0"}
        self.server, self.times = None, []

    def name(self, what):
        return f"{self.id}-{what}"

    def make(self):
        for d in (self.log, self.home, f"{self.dir}/config", f"{self.dir}/config/ralph", self.state, self.work, self.run,
                  f"{self.dir}/net"):
            os.mkdir(d, 0o700)
        sh("mount", "-t", "tmpfs", "-o", f"size={DISK_SIZE},mode=700", "soak-state", self.state)
        sh("mount", "-t", "tmpfs", "-o", f"size={DISK_SIZE},mode=700", "soak-work", self.work)
        with open(f"{self.dir}/config/ralph/config.yaml", "w", encoding="utf-8") as f:
            f.write("network: {allow: [allowed.test]}\n")
        self.network()
        self.times = [where_time(self.dir, by) for by in MONOTONIC]

    def network(self):
        net = f"{self.dir}/net"
        sh("ip", "link", "set", "lo", "up")
        for address in ("8.1.1.1/32", "8.1.1.2/32"):
            sh("ip", "addr", "add", address, "dev", "lo")
        for name, text in (("hosts", "127.0.0.1 localhost\n8.1.1.1 allowed.test\n8.1.1.2 denied.test\n"),
                           ("resolv.conf", "nameserver 127.0.0.1\n"), ("nsswitch.conf", "hosts: files\n")):
            with open(f"{net}/{name}", "w", encoding="utf-8") as f:
                f.write(text)
            sh("mount", "--bind", f"{net}/{name}", os.path.realpath(f"/etc/{name}"))
        sh("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
           "-subj", "/CN=allowed.test", "-addext", "subjectAltName=DNS:allowed.test",
           "-keyout", f"{net}/leaf.key", "-out", f"{net}/leaf.crt")
        with open(f"{net}/leaf.pem", "w", encoding="utf-8") as f:
            for part in ("key", "crt"):
                with open(f"{net}/leaf.{part}", encoding="utf-8") as g:
                    f.write(g.read())
        with open(f"{self.log}/server", "wb") as out:
            self.server = subprocess.Popen([sys.executable, f"{HERE}/server.py", net], stdout=out, stderr=out)
        end = time.monotonic() + 30
        while not os.path.exists(f"{net}/ready"):
            if self.server.poll() is not None or time.monotonic() > end:
                raise SystemExit("soak: the server did not come up: " + open(f"{self.log}/server", encoding="utf-8").read())
            time.sleep(0.02)

    def git(self, where, *args):
        return sh("git", "-C", where, *args, env=self.env)

    def repo(self, name):
        """A workspace with one commit; its branch names its sandbox."""
        where = f"{self.work}/{name}"
        sh("git", "init", "-q", "-b", self.name(name), where, env=self.env)
        self.git(where, "config", "user.name", "soak")
        self.git(where, "config", "user.email", "soak@example.invalid")
        with open(f"{where}/file", "w", encoding="utf-8") as f:
            f.write("content\n")
        self.git(where, "add", "-A")
        self.git(where, "commit", "-q", "-m", "start")
        return where

    def set_clock(self, seconds):
        with open(self.clock, "r+b") as f:
            f.write(struct.pack("@q", seconds))
