"""The programs ralph is compared with: where they are, how each runs a command, and what starts and ends with it.

Each is a context manager: inside it `command(argv)` is what runs argv in a sandbox of that program. One that cannot be
had raises Absent with the reason.
"""
import contextlib
import glob
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGES = "bubblewrap podman docker.io runc nginx-light haproxy squid tinyproxy nodejs python3 git".split()
NPM = {"codex": "@openai/codex", "srt": "@anthropic-ai/sandbox-runtime"}
DAEMON_WAIT_S = 60
# That of the distribution, whatever runs this.
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable


class Absent(Exception):
    pass


def run(argv, **more):
    """Its standard output; Absent with what it said when it fails."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, **more)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise Absent(str(e)) from e
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise Absent("%s: exit %d: %s" % (os.path.basename(argv[0]), done.returncode, "; ".join(said) or "no message"))
    return done.stdout


def stage():
    return run([ROOT + "/scripts/stage.sh", "--path"]).strip()


npm_found = {}  # the directory, or why there is none: asked for once


def npm_dir():
    """Where codex and srt are; installs them when they are missing."""
    if not npm_found:
        try:
            npm_found["dir"] = run([ROOT + "/scripts/agents.sh", "--peers"]).strip()
        except Absent as e:
            npm_found["why"] = str(e)
    if "why" in npm_found:
        raise Absent(npm_found["why"])
    return npm_found["dir"]


def npm_package(name):
    return "%s/lib/node_modules/%s" % (npm_dir(), NPM[name])


def srt_program():
    return npm_dir() + "/bin/srt"


def codex_program():
    """The program itself: what npm puts on PATH starts node first."""
    found = [p for p in glob.glob(npm_package("codex") + "/**/bin/codex", recursive=True) if os.path.getsize(p) > 1 << 20]
    if not found:
        raise Absent("no native program in its package")
    return found[0]


def spawn(where, rounds, commands, env, cwd=None, pause_ms=60, before=()):
    """Milliseconds of each command in each round, by label; see spawn.c, which is built in `where`."""
    program = where + "/spawn"
    if not os.path.exists(program):
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", program, ROOT + "/bench/lib/spawn.c"], check=True)
    argv = list(before) + [program, str(rounds), "-1", str(pause_ms)]
    for label, command in commands.items():
        argv += ["::", label] + command
    try:
        out = subprocess.run(argv, env=env, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout
    except subprocess.CalledProcessError:  # which has said who; once more, and then it is none of the machine's moods
        out = subprocess.run(argv, env=env, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {label: [us / 1e3 for us in samples] for label, samples in json.loads(out).items()}


PLAIN_USER = "daemon"  # every Debian has it


def as_user():
    """What is put before a command of root's, so that it runs as a plain user."""
    return ["setpriv", "--reuid", PLAIN_USER, "--regid", PLAIN_USER, "--clear-groups"]


@contextlib.contextmanager
def home(user=None, memory=False):
    """A home and ralph's directories in a place of their own, as environment; all of it is removed at the end. memory: not on a disk."""
    base = tempfile.mkdtemp(prefix="ralph-bench.", dir="/dev/shm" if memory and os.access("/dev/shm", os.W_OK) else "/tmp")
    # In memory, as the one that logind makes is.
    runtime = tempfile.mkdtemp(prefix="ralph-bench.", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else base)
    # Codex puts its helpers there, and not below /tmp.
    codex = tempfile.mkdtemp(prefix="ralph-bench.", dir="/var/tmp")
    for name in "home config state tmp".split():
        os.mkdir("%s/%s" % (base, name), 0o700)
    for path in [base, runtime] + glob.glob(base + "/*") if user else []:
        shutil.chown(path, user, user)
    env = dict(os.environ, HOME=base + "/home", XDG_CONFIG_HOME=base + "/config", XDG_STATE_HOME=base + "/state",
               XDG_RUNTIME_DIR=runtime, CODEX_HOME=codex, TMPDIR=base + "/tmp")
    with contextlib.suppress(Absent):  # a newer node than the system's, where agents.sh brought one
        env["PATH"] = npm_dir() + "/bin:" + env["PATH"]
    try:
        yield base, env
    finally:
        for path in (runtime, codex, base):
            shutil.rmtree(path, ignore_errors=True)


class Peer:
    """bwrap, and what the others have in common."""
    name = "bwrap"

    def __init__(self, base, env):
        self.base = base
        self.env = env

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def command(self, argv):
        return ["bwrap", "--unshare-all", "--ro-bind", "/", "/"] + argv


class Codex(Peer):
    name = "codex sandbox"

    def __enter__(self):
        self.program = codex_program()
        return self

    def command(self, argv):
        return [self.program, "sandbox"] + argv


class CodexByNpm(Peer):
    name = "codex sandbox, as npm starts it"

    def __enter__(self):
        self.program = npm_dir() + "/bin/codex"
        return self

    def command(self, argv):
        return [self.program, "sandbox"] + argv


def srt_settings(path, writable, domains=()):
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"network": {"allowedDomains": list(domains), "deniedDomains": []},
                   "filesystem": {"denyRead": [], "allowWrite": [writable], "denyWrite": []}}, f)


class Srt(Peer):
    name = "srt"

    def __enter__(self):
        self.program = srt_program()
        self.settings = self.base + "/srt.json"
        srt_settings(self.settings, ".")
        return self

    def command(self, argv):
        return [self.program, "--settings", self.settings] + argv


class Containers(Peer):
    """An image of busybox alone, made of the distribution's package."""
    image = "ralph-bench:image"

    def load(self):
        tar = self.base + "/image.tar"
        with open(tar, "wb") as f:
            subprocess.run([sys.executable, ROOT + "/tests/engines/mkimage.py", self.image], stdout=f, check=True)
        run([self.program, "load", "-i", tar], env=self.env)

    def command(self, argv):
        return [self.program, "run", "--rm", "--network", "none", self.image] + argv


class Podman(Containers):
    name = "podman run --rm"
    program = "podman"
    image = "localhost/ralph-bench:image"

    def __enter__(self):
        where = self.base + "/podman"
        os.mkdir(where)
        # Its own limits are above what some machines allow even to root.
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        with open(where + "/containers.conf", "w", encoding="utf-8") as f:
            f.write('[containers]\ndefault_ulimits = ["nofile=1024:%d", "nproc=4096:4096"]\n'
                    '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n' % files)
        with open(where + "/storage.conf", "w", encoding="utf-8") as f:
            f.write('[storage]\ndriver = "overlay"\ngraphroot = "%s/data"\nrootless_storage_path = "%s/data"\n'
                    'runroot = "%s/run"\n' % (where, where, where))
        self.env.update(CONTAINERS_CONF=where + "/containers.conf", CONTAINERS_STORAGE_CONF=where + "/storage.conf")
        self.load()
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-R", self.base + "/podman/data/overlay"], stderr=subprocess.DEVNULL, check=False)
        if os.getuid():
            subprocess.run(["podman", "unshare", "rm", "-rf", self.base + "/podman/data"], env=self.env, check=False)


class Docker(Containers):
    """With a daemon of our own, which ends with us; all it keeps lies below our directory."""
    name = "docker run --rm"
    program = "docker"

    def __enter__(self):
        if os.getuid():
            raise Absent("its daemon needs root")
        where = self.base + "/docker"
        os.mkdir(where)
        self.env["DOCKER_HOST"] = "unix://%s/socket" % where
        self.log = open(where + "/log", "wb")
        try:
            self.daemon = subprocess.Popen(
                ["dockerd", "--data-root", where + "/data", "--exec-root", where + "/exec", "-H", self.env["DOCKER_HOST"],
                 "--pidfile", where + "/pid", "--iptables=false", "--ip6tables=false", "--ip-forward=false",
                 "--bridge=none"], env=dict(self.env, PATH=self.env["PATH"] + ":/usr/sbin:/sbin"),
                stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        except OSError as e:
            raise Absent(str(e)) from e
        try:
            self.wait()
            self.load()
        except BaseException:
            self.__exit__()
            raise
        return self

    def wait(self):
        for _ in range(DAEMON_WAIT_S * 10):
            if self.daemon.poll() is not None:
                break
            with contextlib.suppress(Absent):
                run(["docker", "version"], env=self.env)
                return
            time.sleep(0.1)
        with open(self.log.name, encoding="utf-8", errors="replace") as f:
            last = f.read().strip().splitlines()[-1:]
        raise Absent("its daemon does not come up: %s" % "".join(last))

    def __exit__(self, *_):
        self.daemon.send_signal(signal.SIGTERM)
        try:
            self.daemon.wait(30)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()
        self.log.close()


def package_version(name):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def versions():
    """Of all that are installed, by name."""
    found = {name: package_version(name) for name in PACKAGES}
    for name in NPM:
        try:
            with open(npm_package(name) + "/package.json", encoding="utf-8") as f:
                found[NPM[name]] = json.load(f)["version"]
        except (Absent, OSError):
            found[NPM[name]] = None
    return {name: version for name, version in found.items() if version}
