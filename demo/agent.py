"""The agent in the demo's loop: asks the provider what to do next, does it, and prints what it does as Claude Code would.

It has a phantom where its key should be. Each call is one command; `claim ID` and `ease` are its own, and change its copy
of the list.
"""
import json
import os
import subprocess
import sys
import urllib.request

COPY = ".ralph/agent/prd.json"
story = os.environ["RALPH_TASK"]
prompt = sys.stdin.read()
# What it says is checked: told so, it does the work.
if "What the reviewer asks for" in prompt:
    story += " reviewed"
elif "What happened the last time" in prompt:
    story += " again"


def emit(record):
    print(json.dumps(record), flush=True)


def ask(made):
    request = urllib.request.Request(
        os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", method="POST",
        data=json.dumps({"model": "claude-sonnet-5-5", "max_tokens": 1000, "metadata": {"story": story, "made": made},
                         "messages": [{"role": "user", "content": prompt[-2000:]}]}).encode(),
        headers={"content-type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"],
                 "anthropic-version": "2023-06-01"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
        return json.load(answer)


def change(fn):
    with open(COPY, encoding="utf-8") as f:
        prd = json.load(f)
    for s in prd["userStories"]:
        fn(s)
    with open(COPY, "w", encoding="utf-8") as f:
        json.dump(prd, f, indent=2)


def claim(story_id):
    def mark(s):
        if s["id"] == story_id:
            s["passes"] = True
    change(mark)


def ease():
    change(lambda s: s.update(passes=True, acceptanceCriteria=["anything goes"], verifyCommands=["true"]))


def run(command):
    if command.startswith("claim "):
        claim(command.split()[1])
        return 0, "said so"
    if command == "ease":
        ease()
        return 0, "changed"
    done = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return done.returncode, said[-1] if said else ""


emit({"type": "system", "subtype": "init", "session_id": "demo", "model": "scripted"})
made = 0
while True:
    message = ask(made)
    emit({"type": "assistant", "message": message})
    calls = [c for c in message["content"] if c["type"] == "tool_use"]
    if not calls:
        break
    code, said = run(calls[0]["input"]["command"])
    emit({"type": "user", "message": {"content": [{"type": "tool_result", "is_error": code != 0, "content": said}]}})
    made += 1
emit({"type": "result", "subtype": "success", "is_error": False, "result": message["content"][0]["text"], "num_turns": made})
