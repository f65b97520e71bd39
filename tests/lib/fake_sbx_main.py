"""A strict stand-in for the two command lines of Docker Sandboxes.

Called as `sbx` or as `docker` (`docker sandbox …`), by links that tests put into a directory of their
own. Whatever the two do not have (a verb, a flag, an order) is refused. Its state lies beside the
links, in fake/: mode (KEY=VALUE lines), vms/NAME.json, policy.json, calls (one JSON list per call).

The machine is a bwrap: own processes, /tmp, /etc and home, the host's programs, the workspaces at their own
paths, and a network of its own whose only way out is fake_sbx_net.py, which lies beside the links. Memory
and processors are bounded as `create` says. As in the real ones the end of the client ends nothing inside.

Not in it: the plugin's looking into TLS; ports other than 80 and 443 without the proxy (sbx).

Modes: plugin=0.7.1|0.10.1|0.12.0|removed|absent; login=expired; policy=none|balanced|allow-all|
deny-all; noise=1; create=half|fail; record=broken; list=sparse; hang=VERB
"""
import fcntl
import json
import os
import re
import signal
import sys
import time

import fake_sbx_rules as net

HERE = os.path.dirname(os.path.abspath(sys.argv[0]))
BASE = os.path.join(HERE, "fake")
VMS = os.path.join(BASE, "vms")
PROGRAM = os.path.basename(sys.argv[0])
SBX = PROGRAM == "sbx"
TITLE = "sbx" if SBX else "docker sandbox"
STUB = ('"docker sandbox" is deprecated and has been removed.\n\n'
        'Please migrate to Docker Sandboxes: https://www.docker.com/products/docker-sandboxes\n')


MODE = net.modes(BASE)
VERSION = MODE.get("plugin", "0.12.0")


def die(text, code=1):
    sys.stderr.write(text if text.endswith("\n") else text + "\n")
    sys.exit(code)


def usage(verb, what):
    die(f"{what}\n\nUsage:  {TITLE} {verb} [OPTIONS]\n\n"
        f"Run '{TITLE} {verb} --help' for more information")


def early():
    return VERSION in ("0.7.1", "0.10.1")


# Which flags a verb has: True takes a value, False none.
def flags_of(verb):
    if verb == "exec":
        return {"-d": False, "--detach": False, "--detach-keys": True, "-e": True, "--env": True,
                "--env-file": True, "-i": False, "--interactive": False, "--privileged": False,
                "-t": False, "--tty": False, "-u": True, "--user": True, "-w": True,
                "--workdir": True}
    if verb == "ls":
        return {"--json": False, "-q": False, "--quiet": False}
    if verb == "create" and SBX:
        return {"--name": True, "-t": True, "--clone": False, "--cpus": True, "-m": True,
                "--memory": True, "-e": True, "--env": True, "--env-file": True, "-p": True,
                "--publish": True, "--deny-network": True, "--kit": True, "-q": False}
    if verb == "create":
        own = {"--load-local-template": False} if early() else {"--pull-template": True}
        return {"--name": True, "-q": False, "--quiet": False, "-t": True, "--template": True, **own}
    if verb == "rm" and SBX:
        return {"--all": False, "-f": False, "--force": False}
    if verb == "network proxy":
        return {f: True for f in ("--policy", "--allow-host", "--block-host", "--block-cidr",
                                  "--allow-cidr", "--bypass-host", "--bypass-cidr")}
    if verb == "template ls":
        return {"--json": False}
    if verb in ("policy allow", "policy deny"):
        return {"--sandbox": True}
    if verb == "policy check":
        return {"--sandbox": True, "--json": False, "--verbose": False}
    if verb == "policy rm":
        return {"--sandbox": True, "--id": True, "--resource": True}
    return {}


def parse(verb, words, interspersed=False):
    """Flags before operands, unless the verb takes them anywhere."""
    known, got, operands = flags_of(verb), [], []
    while words:
        word = words.pop(0)
        if operands and not interspersed:
            return got, operands + [word] + words
        if not word.startswith("-") or word == "-":
            operands.append(word)
            continue
        if word not in known:
            usage(verb, f"unknown flag: {word}" if word.startswith("--")
                  else f"unknown shorthand flag: '{word[1]}' in {word}")
        if known[word] and not words:
            usage(verb, f"flag needs an argument: {word}")
        got.append((word, words.pop(0) if known[word] else None))
    return got, operands


def values(got, *names):
    return [v for k, v in got if k in names]


def has(got, *names):
    return any(k in names for k, _ in got)


class Lock:
    def __enter__(self):
        self.f = open(os.path.join(BASE, "lock"), "w", encoding="utf-8")
        fcntl.flock(self.f, fcntl.LOCK_EX)

    def __exit__(self, *_):
        self.f.close()


def path_of(name):
    return os.path.join(VMS, name + ".json")


def load(name):
    try:
        with open(path_of(name), encoding="utf-8") as f:
            return json.load(f)
    except FileNotFoundError:
        return None


def store(vm):
    tmp = path_of(vm["name"]) + ".new"
    with open(tmp, "w", encoding="utf-8") as f:
        json.dump(vm, f)
    os.rename(tmp, path_of(vm["name"]))


def all_vms():
    return [load(f[:-5]) for f in sorted(os.listdir(VMS)) if f.endswith(".json")]


def missing(name):
    if SBX:
        die(f"ERROR: no sandbox named '{name}'\n\nTo create one:\n  sbx create AGENT WORKSPACE")
    die(f"sandbox '{name}' not found")


def need(name):
    vm = load(name)
    if not vm:
        missing(name)
    return vm


def check_ready():
    if SBX and MODE.get("login") == "expired":
        print("Your one-time device confirmation code is: ABCD-EFGH")
        print("Press ENTER to open your browser, or run: sbx login")
        sys.exit(1)
    if not SBX and any(vm.get("broken") for vm in all_vms()):
        die("failed to list sandboxes: socket path is empty")


def check_policy():
    if SBX and policy()["global"] == "none":
        die("ERROR: global network policy has not been initialized")


# ---- the machine ----

def is_up(vm):
    """Its first process is the one it was: a number may be somebody else's by now."""
    try:
        with open(f"/proc/{vm['pid']}/stat", encoding="utf-8", errors="replace") as f:
            fields = f.read().rpartition(")")[2].split()
        return fields[0] != "Z" and fields[19] == vm["since"]
    except (OSError, KeyError):
        return False


def end_all(vm):
    """With the first process of a pid namespace the kernel ends all the others."""
    if is_up(vm):
        os.kill(vm["pid"], signal.SIGKILL)
    for _ in range(1000):
        if not is_up(vm):
            return
        time.sleep(0.01)
    die("could not stop the sandbox")


def start(vm):
    if is_up(vm):
        return
    import subprocess  # here, as tarfile below: most calls need neither, and loading them takes longer than the rest

    told, tells = os.pipe()
    init = ["sh", "-c", "echo up; exec tail -f /dev/null >/dev/null"]
    machine = subprocess.Popen(
        bwrap(vm, ["--info-fd", str(tells)], init), env={"PATH": os.environ["PATH"]},
        pass_fds=(tells,), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, start_new_session=True)
    os.close(tells)
    with os.fdopen(told, encoding="utf-8") as f:
        text = f.read()
    if not text or machine.stdout.readline() != b"up\n":
        die("failed to start VM")
    vm["pid"] = json.loads(text)["child-pid"]
    with open(f"/proc/{vm['pid']}/stat", encoding="utf-8", errors="replace") as f:
        vm["since"] = f.read().rpartition(")")[2].split()[19]
    vm["status"] = "running"
    store(vm)
    start_network(vm)


def start_network(vm):
    """It ends with the machine."""
    import subprocess

    proxy = subprocess.Popen(
        [sys.executable, "-SB", os.path.join(HERE, "fake_sbx_net.py"), BASE, vm["name"], str(vm["pid"]), PROGRAM],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=open(os.path.join(BASE, "network.log"), "a", encoding="utf-8"), start_new_session=True)
    if proxy.stdout.readline() != b"ready\n":
        die("failed to start the network of the VM")


def dirs_of(vm):
    """Its own home, /tmp and /etc; the last with what programs of the host need."""
    base = os.path.join(VMS, vm["name"] + ".files")
    made = [os.path.join(base, part) for part in ("home", "tmp", "etc")]
    if os.path.isdir(base):
        return made
    for d in made:
        os.makedirs(d)
    # Of the certificates only the bundle: hundreds of links beside it would take longer than all the rest.
    for name in ("passwd", "group", "ld.so.cache", "ssl/certs/ca-certificates.crt", "ssl/openssl.cnf"):
        if os.path.exists("/etc/" + name):
            os.makedirs(os.path.dirname(os.path.join(made[2], name)), exist_ok=True)
            with open("/etc/" + name, "rb") as f, open(os.path.join(made[2], name), "wb") as to:
                to.write(f.read())
    for name, text in (("hosts", f"127.0.0.1 localhost\n{net.INSIDE} host.docker.internal gateway.docker.internal\n"),
                       ("nsswitch.conf", "hosts: files dns\n"),
                       ("resolv.conf", f"nameserver {net.DNS}\n" if SBX else "")):
        with open(os.path.join(made[2], name), "w", encoding="utf-8") as f:
            f.write(text)
    return made


def bwrap(vm, more, command):
    home, tmp, etc = dirs_of(vm)
    argv = ["bwrap", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net"] + more
    for top in ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt"):
        if os.path.islink(top):
            argv += ["--symlink", os.readlink(top), top]
        elif os.path.isdir(top):
            argv += ["--ro-bind", top, top]
    argv += ["--dev-bind", "/dev", "/dev", "--proc", "/proc", "--tmpfs", "/var", "--tmpfs", "/run",
             "--bind", tmp, "/tmp", "--tmpfs", "/home", "--bind", home, "/home/agent",
             "--bind", etc, "/etc", "--ro-bind-try", "/etc/alternatives", "/etc/alternatives"]
    for ws in vm["workspaces"]:
        ro = ws.endswith(":ro")
        ws = ws[:-3] if ro else ws
        argv += ["--ro-bind" if ro else "--bind", ws, ws]
    return argv + ["--"] + command


# A directory that is not there, and a program that is not: as docker exec has it.
ENTER = 'cd "$1" || exit 126; shift; exec "$@"'


def enter(vm, env, cwd, command):
    return ["nsenter", "-t", str(vm["pid"]), "-U", "--preserve-credentials", "-m", "-p", "-i", "-n",
            "env", "-i"] + [f"{k}={v}" for k, v in env.items()] + ["sh", "-c", ENTER, "sh", cwd] + command


def environment(vm, got):
    env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
           "HOME": "/home/agent", "USER": "agent", "SANDBOX_VM_ID": vm["name"]}
    host = "gateway.docker.internal" if SBX else "host.docker.internal"
    env.update(dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), f"http://{host}:3128"))
    if SBX:
        env.update({"NO_PROXY": "localhost,127.0.0.1,::1,gateway.docker.internal", "NODE_USE_ENV_PROXY": "1",
                    "SANDBOX_NAME": vm["name"], "WORKSPACE_DIR": vm["workspaces"][0]})
    for entry in values(got, "-e", "--env"):
        name, eq, value = entry.partition("=")
        if eq:
            env[name] = value
        elif name in os.environ:
            env[name] = os.environ[name]
    return env


def is_stopped(entered):
    """Is the command below this nsenter stopped?"""
    try:
        with open(f"/proc/{entered}/task/{entered}/children", encoding="ascii") as f:
            inside = f.read().split()
        with open(f"/proc/{inside[0]}/stat", encoding="ascii") as f:
            return f.read().rpartition(")")[2].split()[0] == "T"
    except (OSError, IndexError):
        return False


def wait_beside(entered):
    """Waits for nsenter, which stops itself when its command is stopped: a client of another machine does not."""
    while True:
        _, status = os.waitpid(entered, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return status
        while is_stopped(entered):
            time.sleep(0.02)
        os.kill(entered, signal.SIGCONT)


def cmd_exec(words):
    got, operands = parse("exec", words)
    if len(operands) < 2:
        usage("exec", "requires at least 2 arguments")
    if has(got, "-d", "--detach"):
        die("detached exec is not supported")
    with Lock():
        vm = need(operands[0])
        if vm["status"] not in ("running", "stopped"):
            die(f"sandbox '{operands[0]}' is {vm['status']}")
        start(vm)
    tty = has(got, "-t", "--tty")
    if tty and not os.isatty(0):
        die("the input device is not a TTY")
    cwd = (values(got, "-w", "--workdir") or ["/home/agent"])[-1]
    null = os.open("/dev/null", os.O_RDONLY)
    if vm["cpus"]:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:int(vm["cpus"])])
    argv = enter(vm, environment(vm, got), cwd, operands[1:])
    actions = [] if has(got, "-i", "--interactive") else [(os.POSIX_SPAWN_DUP2, null, 0)]
    child = os.posix_spawnp(argv[0], argv, {"PATH": os.environ["PATH"]}, file_actions=actions, setsid=not tty,
                            setsigdef=[signal.SIGPIPE])
    for fd in (0, 1, 2):  # the child's pipes are its own
        os.dup2(os.open("/dev/null", os.O_RDWR), fd)
    if tty:  # the terminal's signals are for the command
        for sig in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
            signal.signal(sig, signal.SIG_IGN)
    code = os.waitstatus_to_exitcode(wait_beside(child))
    sys.exit(128 - code if code < 0 else code)


def bytes_of(got):
    """At least 1 GiB; half of the host where nothing is said."""
    units = {"m": 1 << 20, "g": 1 << 30}
    word = (values(got, "-m", "--memory") or [None])[0]
    if word is None:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    if not re.fullmatch("[0-9]+[mg]", word):
        die(f"invalid memory '{word}'")
    size = int(word[:-1]) * units[word[-1]]
    if size < 1 << 30:
        die("memory must be at least 1g")
    return size


def cpus_of(got):
    word = (values(got, "--cpus") or [None])[0]
    if word is not None and not re.fullmatch("[1-9][0-9]*", word):
        die(f"invalid number of CPUs '{word}'")
    return word


def cmd_create(words):
    got, operands = parse("create", words)
    agents = ["claude", "codex", "copilot", "gemini", "kiro", "opencode", "shell"]
    agents += ["cursor", "docker-agent", "droid"] if SBX else ["cagent"]
    if not SBX and early():
        agents = [a for a in agents if a not in ("opencode", "shell")]
        agents = [a for a in agents if a != "copilot" or VERSION != "0.7.1"]
    if not operands or operands[0] not in agents:
        usage("create", f"unknown agent: {operands[:1]}")
    if len(operands) < 2 or (not SBX and early() and len(operands) > 2):
        usage("create", "wrong number of arguments")
    check_policy()
    name = (values(got, "--name") or [operands[0] + "-" + os.path.basename(operands[1])])[0]
    if SBX and (not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]{1,62}", name) or name == "default"):
        die(f"invalid sandbox name '{name}'")
    if not SBX and not re.fullmatch(r"[A-Za-z0-9._+-]+", name):
        die(f"invalid sandbox name '{name}'")
    if not SBX and len(f"{os.environ.get('HOME', '')}/.docker/sandboxes/vm/{name}/docker-public.sock") > 103:
        die("failed to create sandbox: create runtime: bind: invalid argument")
    for ws in operands[1:]:
        d = re.sub(":(ro|readonly)$", "", ws)
        if not os.path.isabs(d) or not os.path.isdir(d):
            die(f"workspace '{d}' is no directory")
    check_template((values(got, "-t", "--template") or [None])[0])
    with Lock():
        if load(name):
            die(f"sandbox '{name}' already exists")
        vm = {"name": name, "agent": operands[0], "status": "running", "workspaces": operands[1:],
              "template": (values(got, "-t", "--template") or [None])[0],
              "memory": (values(got, "-m", "--memory") or [None])[0],
              "cpus": cpus_of(got), "bytes": bytes_of(got),
              "proxy": {"policy": "allow", "allow": [], "block": [], "cidr": []},
              "allow": [], "deny": values(got, "--deny-network")}
        print(f"Creating new sandbox '{name}'...")
        if MODE.get("create") in ("half", "fail"):
            if MODE["create"] == "half":
                vm["status"] = "error"
                store(vm)
                with open(os.path.join(BASE, "mode"), "a", encoding="utf-8") as f:
                    f.write("create=ok\n")
            die('failed to create sandbox: create runtime: create/start VM: POST VM create failed: '
                'status 500: {"message":"no"}')
        start(vm)
    if SBX:
        print(f"✓ Created sandbox '{name}'\n  Workspace: {operands[1]} (direct mount)\n"
              f"  Agent: {operands[0]}\nTo connect to this sandbox, run:\n  sbx run {name}")
    else:
        print(f"✓ Created sandbox {name} in VM {name}\n  Workspace: {operands[1]}\n"
              f"  Agent: {operands[0]}\n\nTo connect to this sandbox, run:\n  docker sandbox run {name}")


def cmd_ls(words):
    got, operands = parse("ls", words, True)
    if operands:
        usage("ls", "accepts no arguments")
    rows = []
    for vm in all_vms():
        if vm["status"] == "running" and not is_up(vm):
            vm["status"] = "stopped"
        row = {"name": vm["name"], "agent": vm["agent"], "status": vm["status"],
               "workspaces": vm["workspaces"]}
        if vm["status"] == "stopped" and MODE.get("list") == "sparse":
            del row["workspaces"]
        if SBX:
            row["workspace_missing"] = not os.path.isdir(re.sub(":ro$", "", vm["workspaces"][0]))
        elif vm["status"] == "running":
            row["socket_path"] = f"/nowhere/{vm['name']}/docker.sock"
        rows.append(row)
    if MODE.get("noise"):
        print("INFO  starting the sandbox daemon\n{not json\n\x1b[33mA new version is there\x1b[0m")
    if has(got, "-q", "--quiet"):
        print("\n".join(r["name"] for r in rows))
    elif has(got, "--json"):
        if "rows" in MODE:  # a list of the test's own
            with open(MODE["rows"], encoding="utf-8") as f:
                sys.stdout.write(f.read())
            return
        print(json.dumps({"sandboxes" if SBX or not rows else "vms": rows}, indent=2))
    else:
        print("SANDBOX   AGENT    STATUS    WORKSPACE")


def cmd_stop(words):
    _, operands = parse("stop", words)
    if not operands:
        usage("stop", "requires at least 1 argument")
    for name in operands:
        with Lock():
            vm = need(name)
            vm["status"] = "stopped"
            store(vm)
        end_all(vm)
        print(f"Sandbox '{name}' stopped; state preserved." if SBX else name)


def cmd_rm(words):
    got, operands = parse("rm", words, True)
    if not operands:
        usage("rm", "requires at least 1 argument")
    if SBX and not has(got, "-f", "--force"):
        die("ERROR: stdin is not a terminal")
    for name in operands:
        with Lock():
            vm = load(name)
            if not vm:
                die(f"Error: sandbox '{name}' not found")
            os.unlink(path_of(name))
        end_all(vm)
        if os.spawnlp(os.P_WAIT, "rm", "rm", "-rf", "--", os.path.join(VMS, name + ".files")) != 0:
            die(f"could not remove the files of '{name}'")
        print(name)


def cmd_version(words):
    if words:
        usage("version", "accepts no arguments")
    if SBX:
        print("sbx version v0.39.0")
    elif VERSION == "0.7.1":
        print("github.com/docker/sandboxes/cli-plugin v0.7.1 0123456")
    else:
        print(f"Client Version:  v{VERSION}\nServer Version:  v{VERSION}")


# ---- images ----

def templates():
    try:
        with open(os.path.join(BASE, "templates"), encoding="utf-8") as f:
            return f.read().split()
    except FileNotFoundError:
        return []


def cmd_template(words):
    verb = words.pop(0) if words else ""
    if verb not in ("load", "ls"):
        usage("template", f"unknown command {verb}")
    got, operands = parse(f"template {verb}", words)
    if verb == "ls":
        print("REPOSITORY   TAG")
        print("\n".join(t.replace(":", "   ") for t in templates()))
        return
    if len(operands) != 1:
        usage("template load", "accepts 1 argument")
    import tarfile

    try:
        with tarfile.open(operands[0]) as tar:
            names = json.load(tar.extractfile("manifest.json"))[0]["RepoTags"]
    except (OSError, KeyError, tarfile.TarError) as e:
        die(f"ERROR: '{operands[0]}' is no image: {e}")
    with open(os.path.join(BASE, "templates"), "a", encoding="utf-8") as f:
        f.write("\n".join(names) + "\n")


def check_template(name):
    """sbx has images of its own; all others come from a registry, where those of this machine are not."""
    if SBX and name and name.startswith("agent-loop-sandbox-") and name not in templates():
        die(f"ERROR: failed to pull image '{name}': pull access denied")


# ---- docker sandbox network ----

def cmd_network(words):
    if not words or words.pop(0) != "proxy":
        usage("network", "unknown command")
    got, operands = parse("network proxy", words, True)
    if len(operands) != 1:
        usage("network proxy", "requires 1 argument")
    with Lock():
        vm = need(operands[0])
        if vm["status"] != "running":
            die("sandbox is not running")
        p = vm["proxy"]
        for v in values(got, "--policy"):
            if v not in ("allow", "deny"):
                die(f"invalid policy {v}")
            p["policy"] = v
        p["allow"] = sorted(set(p["allow"]) | set(values(got, "--allow-host")))
        p["block"] = sorted(set(p["block"]) | set(values(got, "--block-host")))
        p["cidr"] = sorted(set(p["cidr"]) | set(values(got, "--block-cidr")))
        store(vm)


# ---- sbx policy ----

def policy():
    try:
        with open(os.path.join(BASE, "policy.json"), encoding="utf-8") as f:
            return json.load(f)
    except FileNotFoundError:
        return {"global": MODE.get("policy", "deny-all")}


def cmd_policy(words):
    verb = words.pop(0) if words else ""
    if verb == "init":
        if len(words) != 1 or words[0] not in ("allow-all", "balanced", "deny-all"):
            usage("policy init", "accepts 1 argument")
        if policy()["global"] != "none":
            die("ERROR: the policy is initialized already")
        with open(os.path.join(BASE, "policy.json"), "w", encoding="utf-8") as f:
            json.dump({"global": words[0]}, f)
        return
    if verb not in ("allow", "deny", "check", "rm") or not words or words.pop(0) != "network":
        usage("policy", f"unknown command {verb}")
    check_policy()
    got, operands = parse(f"policy {verb}", words)
    with Lock():
        vm = need(values(got, "--sandbox")[0]) if has(got, "--sandbox") else None
        if not vm:
            die("the test's sandboxes have policies of their own")
        if verb == "rm":
            for r in ",".join(values(got, "--resource")).split(","):
                if r not in vm["allow"] + vm["deny"]:
                    die(f"ERROR: no rule for '{r}'")
                for kind in ("allow", "deny"):
                    vm[kind] = [x for x in vm[kind] if x != r]
            store(vm)
            return
        if len(operands) != 1:
            usage(f"policy {verb}", "accepts 1 argument")
        if verb in ("allow", "deny"):
            vm[verb] = sorted(set(vm[verb]) | set(operands[0].split(",")))
            store(vm)
            return
    host, port = net.split(operands[0])
    allowed = net.Rules(BASE, vm["name"], "sbx").allows(host, port)
    print("allowed" if allowed else "denied")
    sys.exit(0 if allowed else 1)


def main():
    os.makedirs(VMS, exist_ok=True)
    words = sys.argv[1:]
    with open(os.path.join(BASE, "calls"), "a", encoding="utf-8") as f:
        f.write(json.dumps(sys.argv) + "\n")
    if not SBX:
        if words[:1] != ["sandbox"]:
            engine = os.path.join(HERE, "docker-engine")
            if os.path.exists(engine):
                os.execv(engine, [engine] + words)
            die("fake-sbx: only `docker sandbox` is here", 125)
        words = words[1:]
        if VERSION == "absent":
            die("docker: 'sandbox' is not a docker command.\nSee 'docker --help'")
        if VERSION == "removed":
            die(STUB)
    verb = words.pop(0) if words else ""
    if MODE.get("hang") == verb:
        time.sleep(600)
    own = {"policy": cmd_policy, "template": cmd_template} if SBX else {"network": cmd_network}
    verbs = {"create": cmd_create, "exec": cmd_exec, "ls": cmd_ls, "stop": cmd_stop, "rm": cmd_rm,
             "version": cmd_version, **own}
    if verb not in verbs:
        die(f"unknown command \"{verb}\" for \"{TITLE}\"")
    if verb not in ("version", "rm"):
        check_ready()
    verbs[verb](words)
