"""Repositories of work that an agent does at once: everything that takes time is ralph's."""
import json
import os
import subprocess

AGENT = """#!/bin/sh
cat >/dev/null
echo work >"$RALPH_TASK" && git add "$RALPH_TASK" && git commit -qm "$RALPH_TASK" && echo '<promise>COMPLETE</promise>'
"""


def make(path, tasks, files=0):
    """files: how many there are already, of which each agent changes the one of its task."""
    os.makedirs(path + "/.ralph")
    with open(path + "/agent.sh", "w", encoding="utf-8") as f:
        f.write(AGENT)
    os.chmod(path + "/agent.sh", 0o755)
    with open(path + "/.ralph/prd.json", "w", encoding="utf-8") as f:
        json.dump({"project": "bench", "branchName": "ralph/bench", "userStories": [
            {"id": f"US-{i}", "title": f"US-{i}", "description": "", "acceptanceCriteria": [], "priority": 1, "passes": False, "notes": "",
             "verifyCommands": [f"grep -q work US-{i}"]} for i in range(1, tasks + 1)]}, f, indent=1)
    for i in range(1, files + 1):
        with open(f"{path}/US-{i}", "w", encoding="utf-8") as f:
            f.write("open\n")
    for command in (["init", "-q", "-b", "main"], ["config", "user.name", "x"], ["config", "user.email", "x@example.org"],
                    ["config", "gc.auto", "0"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run(["git", "-C", path] + command, check=True)
