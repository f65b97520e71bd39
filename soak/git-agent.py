"""git-agent.py SEED SECONDS: an agent made of random operations on files and on git, for soak/git-soak.py. Runs in the sandbox.

At the end it prints its branches and tags as JSON. It knows nothing of ralph. Everything that it arms would make a file below
MARKER, a directory that is only there on the host: if one is ever made, something of the agent's ran there."""
import json
import os
import random
import subprocess
import sys
import time

MARKER = "/var/tmp/ralph-soak-marker"
choose = random.Random(int(sys.argv[1]))
until = time.monotonic() + float(sys.argv[2])
count = 0


def git(*args, **more):
    return subprocess.run(["git", "-c", "user.name=agent", "-c", "user.email=agent@test", *args], stdin=subprocess.DEVNULL, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace", timeout=60, **more).stdout.strip()


def name():
    return choose.choice("abcdefgh") + str(choose.randrange(6))


def path():
    return os.path.join(*[choose.choice(["src", "lib", "doc", "x y", "ü"]) for _ in range(choose.randrange(1, 3))], name())


def run_line():
    return f"#!/bin/sh\ntouch {MARKER}/$$ 2>/dev/null\nexit 0\n"


def write(where=None, text=None, mode=0o644):
    global count
    count += 1
    where = where or path()
    os.makedirs(os.path.dirname(where) or ".", exist_ok=True)
    if os.path.isdir(where):
        return
    # Without waiting: it may be a pipe of our own by now.
    with open(where, "w", encoding="utf-8", opener=lambda p, flags: os.open(p, flags | os.O_NONBLOCK, 0o666)) as f:
        f.write(text or f"{count} {choose.random()}\n" * choose.randrange(1, 40))
    os.chmod(where, mode)


def files():
    return [os.path.join(d, f) for d, dirs, names in os.walk(".") if not dirs.sort() and ".git" not in d.split(os.sep) and ".ralph" not in d.split(os.sep)
            and "mine" not in d.split(os.sep) for f in sorted(names)]


def some_file():
    return choose.choice(files() or ["none"])


def branch():
    return choose.choice(git("for-each-ref", "--format=%(refname:short)", "refs/heads").split() or ["main"])


def commit():
    write()
    git("add", "-A", "--", ".", ":!mine")
    git("commit", "-q", "-m", f"agent {count}")


def arm():
    """What git would run, in the git directory and beside it."""
    evil = f"{os.getcwd()}/tool-{name()}"
    write(evil, run_line(), 0o755)
    what = choose.randrange(7)
    if what == 0:
        write(f".git/hooks/{choose.choice(['pre-commit', 'post-checkout', 'post-merge', 'pre-push', 'post-index-change'])}", run_line(), 0o755)
    elif what == 1:
        git("config", choose.choice(["core.fsmonitor", "core.pager", "core.editor", "diff.external", "core.sshCommand"]), evil)
    elif what == 2:
        git("config", f"filter.{name()}.clean", evil)
        write(".gitattributes", f"* filter={name()}\n")
    elif what == 3:
        git("config", "core.hooksPath", f"{os.getcwd()}/hooks-{name()}")
        write(f"hooks-{name()}/post-checkout", run_line(), 0o755)
    elif what == 4:
        nested(evil)
    elif what == 5:
        write(f"{path()}.git", "gitdir: ../.git\n")
    else:
        bare(evil)


def nested(evil):
    where = f"nested-{name()}"
    git("init", "-q", where)
    if os.path.isdir(f"{where}/.git"):
        write(f"{where}/file")
        git("-C", where, "add", "file")
        git("-C", where, "commit", "-q", "-m", "nested")
        git("-C", where, "config", "core.fsmonitor", evil)
        write(f"{where}/.git/hooks/post-checkout", run_line(), 0o755)


def bare(evil):
    where = f"bare-{name()}"
    git("init", "-q", "--bare", where)
    if os.path.isdir(where):
        git("-C", where, "config", "core.fsmonitor", evil)
        git("-C", where, "config", "core.bare", "false")
        git("-C", where, "config", "core.worktree", os.getcwd())


def link():
    to = choose.choice(["../..", "/etc/passwd", MARKER, ".git", ".git/config", some_file(), "mine"])
    where = f"{path()}-link"
    os.makedirs(os.path.dirname(where), exist_ok=True)
    if choose.random() < 0.3 and os.path.isfile(to):
        os.link(to, where)
    else:
        os.symlink(to, where)


def rename():
    here, there = some_file(), path()
    os.makedirs(os.path.dirname(there), exist_ok=True)
    os.rename(here, there)


GIT = [
    lambda: commit(), lambda: commit(), lambda: commit(), lambda: commit(),
    lambda: git("commit", "-q", "--allow-empty", "--amend", "-m", f"amended {count}"),
    lambda: git("checkout", "-q", "-b", f"agent-{name()}"),
    lambda: git("checkout", "-q", branch()),
    lambda: git("checkout", "-q", "--detach"),
    lambda: git("merge", "-q", "--no-edit", branch()),
    lambda: git("merge", "--abort"),
    lambda: git("rebase", "-q", branch()),
    lambda: git("rebase", "--abort"),
    lambda: git("cherry-pick", branch()),
    lambda: git("cherry-pick", "--abort"),
    lambda: git("revert", "--no-edit", "HEAD"),
    lambda: git("reset", "-q", choose.choice(["--soft", "--mixed"]), "HEAD~1"),
    lambda: git("branch", "-q", "-D", branch()),
    lambda: git("branch", "-q", "-f", branch(), "HEAD~1"),
    lambda: git("branch", "-q", "-m", branch(), f"renamed-{name()}"),
    lambda: git("tag", "-f", f"agent-{name()}"),
    lambda: git("tag", "-f", "v1"),
    lambda: git("tag", "-d", "v1"),
    lambda: git("stash", "push", "-q", "--", "src", "lib", "doc"),
    lambda: git("stash", "pop", "-q"),
    lambda: git("stash", "drop", "-q"),
    lambda: git("stash", "clear"),
    lambda: git("notes", "add", "-f", "-m", "note"),
    lambda: git("replace", "-f", "HEAD", "HEAD~1"),
    lambda: git("update-ref", f"refs/heads/agent-{name()}", "HEAD"),
    lambda: git("symbolic-ref", "HEAD", f"refs/heads/{branch()}"),
    lambda: git("worktree", "add", "-q", f"tree-{name()}", "--detach"),
    lambda: git("worktree", "prune"),
    lambda: git("gc", "-q", "--prune=now"),
    lambda: git("repack", "-q", "-d"),
    lambda: git("reflog", "expire", "--expire=now", "--all"),
    lambda: git("pack-refs", "--all"),
    lambda: git("clean", "-q", "-f", "-d", "src"),
    lambda: git("rm", "-q", "-r", "--cached", "src"),
    lambda: git("submodule", "add", "-q", "--force", f"./nested-{name()}", f"sub-{name()}"),
    lambda: git("update-index", "--refresh"),
    lambda: git("remote", "add", name(), "/nowhere"),
    lambda: git("fsck"),
]
FILES = [
    lambda: write(), lambda: write(), lambda: write(), lambda: rename(), lambda: link(),
    lambda: os.unlink(some_file()),
    lambda: os.chmod(some_file(), choose.choice([0, 0o400, 0o644, 0o755])),
    lambda: os.makedirs(f"{path()}/deep/er", exist_ok=True),
    lambda: os.chmod(os.path.dirname(path()), choose.choice([0o555, 0o700, 0o755])),
    lambda: os.mkfifo(f"{path()}-fifo"),
    lambda: arm(), lambda: arm(),
]

while time.monotonic() < until:
    try:
        choose.choice(choose.choice([GIT, FILES]))()
    except (OSError, ValueError, subprocess.SubprocessError):
        pass
for again in (["merge", "--abort"], ["rebase", "--abort"], ["cherry-pick", "--abort"], ["revert", "--abort"]):
    git(*again)
try:
    commit()
except OSError:
    pass
print(json.dumps({"refs": git("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags").splitlines()}))
