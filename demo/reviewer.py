#!/usr/bin/python3
"""The reviewer in the demo's loop, in place of Claude Code: reads the change in its prompt, and asks for a name in quotes."""
import json
import re
import sys

if sys.argv[1:2] == ["--version"]:
    print("2.1.325")
    sys.exit()
prompt = sys.stdin.read()
key = re.search(r"lines that begin with ([0-9a-f]{32})", prompt).group(1)
diff = prompt.split(f"\n{key} BEGIN the diff\n")[1].split(f"\n{key} END the diff\n")[0]
reasons = ["greet.sh: put the name in quotes; the shell takes blanks out of it"] if "+echo hello, ${1" in diff else []
answer = {"review": key, "verdict": "changes" if reasons else "approve", "reasons": reasons}
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": json.dumps(answer), "num_turns": 1,
                  "session_id": "demo"}))
