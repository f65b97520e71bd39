"""git-soak.py --minutes N --seed S --stage DIR: an agent of random operations against a user at work in the same repository.

Each round runs soak/git-agent.py in a sandbox while a user commits, switches, fetches, stashes, gcs and edits on the host.
Afterwards: the user's repository passes git fsck; every branch, tag and stash is where the user put it, or goes on from there;
no program of the agent's ran on the host; what the agent had on its branches is in the repository."""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MARKER = "/var/tmp/ralph-soak-marker"
ROUND = 20  # seconds that an agent works


class Broken(Exception):
    pass


class User:
    """Works in `mine` and on branches of its own, and knows where each is."""

    def __init__(self, where, seed, env):
        self.where, self.env, self.choose = where, env, random.Random(seed)
        self.branches, self.tags, self.stashes, self.n = {}, {}, [], 0

    def git(self, *args, check=False, cwd=None):
        p = subprocess.run(["git", *args], cwd=cwd or self.where, env=self.env, stdin=subprocess.DEVNULL, text=True, errors="replace", check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        if check and p.returncode:
            raise Broken(f"git {' '.join(args)}: {p.stderr}")
        return p

    def rev(self, ref):
        return self.git("rev-parse", "-q", "--verify", ref).stdout.strip()

    def head(self):
        return self.git("symbolic-ref", "-q", "HEAD").stdout.strip().removeprefix("refs/heads/")

    def write(self):
        self.n += 1
        os.makedirs(f"{self.where}/mine", exist_ok=True)
        with open(f"{self.where}/mine/{self.choose.randrange(5)}", "w", encoding="utf-8") as f:
            f.write(f"user {self.n}\n")

    def commit(self):
        self.write()
        self.git("add", "mine")
        branch = self.head()
        if branch and self.git("commit", "-q", "-m", f"user {self.n}", "--", "mine").returncode == 0:
            # The commit that was just made, wherever the branch is by now.
            mine = self.git("log", "-1", "--format=%H", f"--grep=^user {self.n}$", branch).stdout.strip()
            if mine:
                self.branches[branch] = mine

    def make_branch(self):
        name, at = f"user-{self.choose.randrange(4)}", self.rev("HEAD")
        if self.git("branch", name, at).returncode == 0:
            self.branches[name] = at

    def tag(self):
        name, at = f"v{self.choose.randrange(9)}", self.rev("HEAD")
        if self.git("tag", name, at).returncode == 0:
            self.tags[name] = at

    def switch(self):
        self.git("switch", "-q", self.choose.choice(sorted(self.branches)))

    def stash(self):
        self.write()
        before = self.rev("refs/stash")
        self.git("stash", "push", "-q", "--", "mine")
        if self.rev("refs/stash") != before:
            self.stashes.append(self.rev("refs/stash"))

    def housekeeping(self):
        # Not `add -A`: it takes in repositories that the agent made, which git then enters (docs/internals/nested-git.md, "Limits").
        self.git(*self.choose.choice([["gc", "-q"], ["fetch", "-q", "origin"], ["status"], ["status"], ["diff"], ["add", "-u"], ["reset", "-q"],
                                      ["log", "--oneline", "-5"], ["repack", "-q", "-d"], ["pack-refs", "--all"]]))

    def step(self):
        self.choose.choice([self.commit, self.commit, self.make_branch, self.tag, self.switch, self.stash, self.housekeeping,
                            self.housekeeping, self.write])()

    def check(self):
        fsck = self.git("fsck", "--full", "--no-dangling", "--no-progress")
        if fsck.returncode:
            raise Broken(f"git fsck: {fsck.stdout}{fsck.stderr}")
        for name, at in self.branches.items():
            if self.git("merge-base", "--is-ancestor", at, f"refs/heads/{name}").returncode:
                raise Broken(f"branch {name} was at {at} and is at {self.rev('refs/heads/' + name) or 'nothing'}")
        for name, at in self.tags.items():
            if self.rev(f"refs/tags/{name}") != at:
                raise Broken(f"tag {name} was at {at}")
        there = self.git("stash", "list", "--format=%H").stdout.split()
        for at in self.stashes:
            if at not in there:
                raise Broken(f"stash {at} is gone")
        self.git("status", check=True)


def agents_work(user, refs):
    """Every tip that the agent had at the end leads from a reference of the repository."""
    for line in refs:
        oid, ref = line.split(" ", 1)
        if not user.git("for-each-ref", "--contains", oid, "--count=1").stdout.strip():
            raise Broken(f"the agent's {ref} at {oid} is lost")


def play(args, seed, user, env):
    with open(f"{HERE}/git-agent.py", encoding="utf-8") as script:
        agent = subprocess.Popen([f"{args.stage}/bin/ralph", "run", "--yes", "--quarantine", "all", "--", "/usr/bin/python3", "-", str(seed), str(ROUND)],
                                 cwd=user.where, env=env, stdin=script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out = {}

    def read():
        out["out"], out["err"] = agent.communicate()

    reader = threading.Thread(target=read)
    reader.start()
    while reader.is_alive():
        user.step()
        reader.join(user.choose.random() / 2)
    if agent.returncode:
        raise Broken(f"the agent's command ended with {agent.returncode}: {out['err'][:2000]} … {out['err'][-1000:]}")
    said = [line for line in out["out"].splitlines() if line.startswith("{")]
    return json.loads(said[-1])["refs"] if said else []


def prepare(root, env):
    where, origin = f"{root}/project", f"{root}/origin.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", origin], env=env, check=True)
    subprocess.run(["git", "clone", "-q", origin, where], env=env, check=True, stderr=subprocess.DEVNULL)
    for i in range(30):
        os.makedirs(f"{where}/src", exist_ok=True)
        with open(f"{where}/src/f{i}", "w", encoding="utf-8") as f:
            f.write(f"{i}\n" * 20)
    for command in (["checkout", "-q", "-B", "main"], ["add", "."], ["commit", "-q", "-m", "begin"], ["push", "-q", "origin", "main"]):
        subprocess.run(["git", *command], cwd=where, env=env, check=True)
    return where


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--minutes", type=float, default=10)
    p.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1000000))
    p.add_argument("--stage", required=True, help="the prefix that ralph is installed in")
    args = p.parse_args()
    root = tempfile.mkdtemp(prefix="ralph-soak-git.")
    env = {"PATH": os.environ["PATH"], "HOME": f"{root}/home", "LANG": "C.UTF-8", "XDG_RUNTIME_DIR": f"{root}/run", "RALPH_LIBEXEC": f"{args.stage}/libexec/ralph"}
    os.makedirs(env["HOME"])
    os.makedirs(env["XDG_RUNTIME_DIR"], mode=0o700)
    shutil.rmtree(MARKER, ignore_errors=True)
    os.makedirs(MARKER)
    for key, value in (("user.name", "user"), ("user.email", "user@test"), ("init.defaultBranch", "main"), ("gc.auto", "0")):
        subprocess.run(["git", "config", "--global", key, value], env=env, check=True)
    user = User(prepare(root, env), args.seed, env)
    user.branches["main"] = user.rev("main")
    until, rounds = time.monotonic() + 60 * args.minutes, 0
    try:
        while rounds == 0 or time.monotonic() < until:
            seed = args.seed + rounds
            refs = play(args, seed, user, env)
            user.check()
            agents_work(user, refs)
            if os.listdir(MARKER):
                raise Broken(f"a program of the agent's ran on the host: {os.listdir(MARKER)}")
            rounds += 1
            print(f"soak-git: round {rounds}, seed {seed}: {len(refs)} references of the agent's, {user.n} changes of the user's", flush=True)
    except Broken as e:
        print(f"soak-git: seed {args.seed}, round {rounds}: {e}\nsoak-git: kept for you: {root}")
        sys.exit(1)
    shutil.rmtree(root)
    shutil.rmtree(MARKER)


main()
