#!/usr/bin/env bats
# runs: user
# seconds: 60
# Text of agents on the page of `ralph web`, in a real browser: corpus.mjs has what they may write.
# shellcheck disable=SC2016 # text for shells inside
load ../cli/helpers
load ../cli/loop
load ../lib/web

setup() {
	need_browser
	ralph_setup
}

teardown() {
	web_stop
	ralph_teardown
}

@test 'in every field of a saved state the text of agents is text: no element, link, dialog, hidden sign or report comes of it' {
	with_node "$BATS_TEST_DIRNAME/hostile-state.mjs" "$BATS_TEST_DIRNAME/../lib/top.json" >"$T/state.json"
	web_start --from "$T/state.json"
	browse hostile-pages
}

@test 'lines, commits, output of checks, conversations and the quarantine are text as well' {
	loop_workspace 1
	with_node --input-type=module -e "import { all } from '$BATS_TEST_DIRNAME/corpus.mjs'; process.stdout.write(all)" >corpus.txt
	python3 - <<-'END'
		import json
		j = json.load(open(".ralph/prd.json"))
		j["project"] = j["userStories"][0]["title"] = open("corpus.txt").read()[:900]
		json.dump(j, open(".ralph/prd.json", "w"))
	END
	cat >evil.py <<-'END'
		#!/usr/bin/env python3
		import json, os, subprocess
		evil = open("corpus.txt").read()
		def say(*content, kind="assistant"): print(json.dumps({"type": kind, "message": {"content": content}}), flush=True)
		print(json.dumps({"type": "system", "subtype": "init", "session_id": "x", "model": evil}))
		say({"type": "text", "text": evil}, {"type": "tool_use", "id": "1", "name": evil, "input": {"command": evil + "B" * 100000}})
		say({"type": "tool_result", "tool_use_id": "1", "is_error": True, "content": evil}, kind="user")
		print(evil + "C" * 1000000, flush=True)
		name = "<img src=x onerror=alert(1)>\u202e\u001b[31m.js"
		open(name, "w").write("<script>alert(1)</script>\n" + evil + "\ndiff --git a/x b/x\n")
		subprocess.run(["git", "add", name], check=True)
		subprocess.run(["git", "commit", "-qm", evil], check=True)
		os.execv("./agent.py", ["agent.py", "honest"])
	END
	chmod +x evil.py
	git add -A
	git commit -qm evil
	loop_exits 0 build --verify 'cat corpus.txt' -- ./evil.py
	ralph run -n "said-${WS##*-}" -- sh -c 'mkdir -p ~/.claude/projects/-p && python3 -c "import json; print(json.dumps({\"type\": \"user\", \"timestamp\": \"2026-01-02T00:00:00Z\", \"message\": {\"content\": open(\"corpus.txt\").read()}}))" >~/.claude/projects/-p/s.jsonl
		cp corpus.txt .envrc; ln -s "$(head -c 300 corpus.txt)" .mcp.json' </dev/null
	wait_until -t 30 test -d "$XDG_STATE_HOME/ralph/inbox/conversations"
	web_start
	browse hostile-work
}
