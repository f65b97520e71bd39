# runs: user
# A project is prepared for unattended work, and its tasks are looked at: ralph init, ralph task.
# Every test has an environment of its own.
# What is in single quotes is text that nothing expands.
# shellcheck disable=SC2016,SC2030,SC2031
load helpers

prd() {
	cat >prd.json <<-'END'
		{ "project": "shop",   "extra": [1,2],
		  "userStories": [
		    {"id": "a", "title": "Cart", "acceptanceCriteria": ["adds"], "priority": 2, "passes": false},
		    {"id": "b", "title": "Pay", "dependsOn": ["a"], "priority": 1, "passes": true}
		  ]
		}
	END
}

@test 'init writes what a loop needs, and git ignores only what is not to be shared' {
	run "$RALPH" init
	same 0 "$status"
	for f in .gitignore prompt.md PROMPT_plan.md prd.json progress.txt; do
		[ -s ".ralph/$f" ] || fail "no .ralph/$f"
		has "$output" "wrote .ralph/$f"
	done
	has "$output" 'edit .ralph/prd.json: it is an example
next: ralph build'
	mkdir .ralph/state .ralph/agent .ralph/logs
	touch .ralph/{state,agent,logs}/x .ralph/active .ralph/summary.json
	same '?? .ralph/.gitignore
?? .ralph/PROMPT_plan.md
?? .ralph/prd.json
?? .ralph/progress.txt
?? .ralph/prompt.md' "$(git status --porcelain -uall)"
}

@test 'the example that init writes is one that ralph reads' {
	"$RALPH" init
	run "$RALPH" task ls
	same 0 "$status"
	has "$output" 'A greeting'
}

@test 'init changes nothing that is there' {
	mkdir .ralph
	echo mine >.ralph/prompt.md
	echo ignored >.ralph/.gitignore
	"$RALPH" init | grep -qx 'keeps .ralph/prompt.md'
	same mine "$(cat .ralph/prompt.md)"
	same ignored "$(cat .ralph/.gitignore)"
	cp -a .ralph before
	"$RALPH" --yes init >/dev/null
	diff -r before .ralph
}

@test 'init leaves a list of work that is there in its place' {
	prd
	has "$("$RALPH" init)" 'keeps prd.json'
	[ ! -e .ralph/prd.json ]
}

@test 'init follows no link' {
	mkdir "$HOME/elsewhere"
	ln -s "$HOME/elsewhere" .ralph
	must_fail "$RALPH" init
	same '' "$(ls -A "$HOME/elsewhere")"
	rm .ralph
	mkdir .ralph
	ln -s "$HOME/elsewhere/x" .ralph/prompt.md
	"$RALPH" init >/dev/null
	same '' "$(ls -A "$HOME/elsewhere")"
}

@test 'without a terminal init widens nothing unless it is told to' {
	echo '{}' >package.json
	has "$("$RALPH" init </dev/null)" "package.json was found; 'ralph init --yes' allows @npm"
	[ ! -e .ralph/config.yaml ]
}

@test 'init --yes allows what the languages that it finds need, and that holds at once' {
	echo '{}' >package.json
	: >Cargo.toml
	"$RALPH" --yes init | grep -qx 'wrote .ralph/config.yaml'
	allow=$("$RALPH" config show)
	has "$allow" @npm
	has "$allow" @crates
	lacks "$allow" @pypi
	same trusted "$("$RALPH" trust --list --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["state"])')"
}

@test 'one language gets its profile' {
	: >go.mod
	"$RALPH" --yes init >/dev/null
	has "$("$RALPH" config show)" @go
}

# on_terminal STEP… -- CMD…: see terminal.py; $T/out has what came.
on_terminal() {
	python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" "$@"
}

@test 'on a terminal init asks, and no is no' {
	echo '{}' >package.json
	on_terminal 'expect:let sandboxes here reach @npm and @github\? \[Y/n\] ' 'send:n\n' -- "$RALPH" init
	[ ! -e .ralph/config.yaml ]
	on_terminal 'expect:\[Y/n\] ' 'send:\n' -- "$RALPH" init
	has "$("$RALPH" config show)" @npm
}

@test 'init --dry-run writes nothing' {
	has "$("$RALPH" --dry-run init)" 'would write .ralph/prd.json'
	[ ! -e .ralph ]
}

@test 'tasks are listed with where they stand' {
	prd
	run "$RALPH" task ls
	same 0 "$status"
	[[ ${lines[1]} == a*ready*0*Cart* ]] || fail "$output"
	[[ ${lines[2]} == b*done*Pay* ]] || fail "$output"
	[ ! -e .ralph ] || fail 'looking left something behind'
	"$RALPH" task ls --json | python3 -c '
import json, sys
work = json.load(sys.stdin)
assert work["source"] == "prd.json" and work["project"] == "shop", work
assert [t["state"] for t in work["tasks"]] == ["ready", "done"], work
assert work["tasks"][0]["criteria"] == ["adds"], work'
}

@test 'a task is shown whole' {
	prd
	has "$("$RALPH" task show a)" 'Done when
  - adds'
	has "$("$RALPH" task show b "$WS")" 'Depends on
  - a'
	run "$RALPH" task show c
	same 2 "$status"
	has "$output" "prd.json has no task 'c'; 'ralph task ls' lists them"
}

@test 'what comes from a list of work cannot write to the terminal' {
	printf '%s' '{"userStories":[{"id":"a","title":"\u001b[31mred","notes":"\u001b]0;x\u0007"}]}' >prd.json
	lacks "$("$RALPH" task ls; "$RALPH" task show a)" $'\e'
}

@test 'a reopened task is open in the file too, which is otherwise the same to the byte' {
	prd
	cp prd.json before
	has "$("$RALPH" task reopen b)" 'b is ready again'
	sed -i '/"b"/s/true/false/' before
	cmp before prd.json
	has "$("$RALPH" task ls)" waits
}

@test 'no task is reopened under a loop that works' {
	prd
	"$RALPH" task reopen a >/dev/null
	exec 9>.ralph/state/lock
	flock 9
	run "$RALPH" task reopen b
	same 1 "$status"
	has "$output" 'a loop works here; pause it first'
	exec 9>&-
	"$RALPH" task reopen b >/dev/null
}

@test 'a list that is wrong: exit 2, file, line, rule and remedy, and nothing is written' {
	printf '{"userStories": [\n {"id": "a", "title": "t", "passes": "no"}\n]}' >prd.json
	run "$RALPH" task ls
	same 2 "$status"
	has "$output" 'prd.json:2: userStories[0].passes: is neither true nor false; write one of them'
	run "$RALPH" task reopen a
	same 2 "$status"
	[ ! -e .ralph ]
	run "$RALPH" task ls -f missing.md
	same 2 "$status"
	rm prd.json
	run "$RALPH" task ls
	same 2 "$status"
	has "$output" "'ralph init' makes an example"
}

@test 'a plan and a spec are lists of work as well' {
	printf '# Plan\n- [x] one\n- [ ] two\n' >plan.md
	has "$("$RALPH" task ls)" two
	mkdir specs
	printf -- '---\nbranch: x\n---\n### Step 1: Do it\n' >specs/a.md
	has "$("$RALPH" task ls -f specs/a.md)" 'Do it'
	cd specs || return
	has "$("$RALPH" task ls -f a.md ..)" 'Do it'
	"$RALPH" task reopen -f ../plan.md one .. >/dev/null
	same '# Plan
- [ ] one
- [ ] two' "$(cat ../plan.md)"
}

@test 'an issue is a list of work, and its text goes nowhere but into it' {
	need python3
	mkdir -p "$T/bin" "$T/gh"
	cp "$BATS_TEST_DIRNAME/../lib/fake-gh" "$T/bin/gh"
	export PATH=$T/bin:$PATH GH_CONFIG_DIR=$T/gh
	cat >"$T/gh/issues.json" <<-'END'
		{"repo": "o/n", "labels": ["spec", "status:ready"], "issues": [{"number": 4, "title": "T", "state": "OPEN",
		 "labels": [{"name": "spec"}, {"name": "status:ready"}],
		 "body": "--repo evil/evil $(touch caught)\r\n### Step 1: `touch caught` [done]\r\n### Step 2: b"}]}
	END
	has "$("$RALPH" task ls -f gh:o/n)" '`touch caught`'
	"$RALPH" task reopen -f gh:o/n#4 step-1 >/dev/null
	python3 - "$T/gh/issues.json" <<-'END'
		import json, sys
		body = json.load(open(sys.argv[1]))["issues"][0]["body"]
		assert body == "--repo evil/evil $(touch caught)\r\n### Step 1: `touch caught`\r\n### Step 2: b", body
	END
	[ ! -e caught ]
	lacks "$(cat "$T/gh/calls.jsonl")" evil
	has "$(head -n 1 "$T/gh/calls.jsonl")" '"cwd": "/"'
}

# planner TEXT: an agent that writes this to the list of work that its prompt names.
planner() {
	cat >agent.sh <<-'END'
		#!/bin/bash
		prompt=$(cat)
		list=$(grep -oE 'The list of work is `[^`]+`' <<<"$prompt" | cut -d '`' -f 2)
		cat new.json >"$list"
		echo '{"type":"result","subtype":"success","is_error":false,"result":"planned"}'
	END
	chmod +x agent.sh
	printf '%s' "$1" >new.json
	git add -A
	git commit -qm planner
}

@test 'the list that an agent planned is the list of work, and nothing in it is done' {
	planner '{"userStories": [{"id": "x", "title": "First", "passes": true}, {"id": "y", "title": "Second"}]}'
	timeout 120 "$RALPH" plan -- ./agent.sh >"$T/out" 2>"$T/err" || fail "exit $?: $(cat "$T/err")"
	has "$(cat "$T/err")" 'x was marked as done in a plan; the mark was taken out'
	same '{"userStories": [{"id": "x", "title": "First", "passes": false}, {"id": "y", "title": "Second"}]}' \
		"$(cat .ralph/prd.json)"
	has "$("$RALPH" task ls)" Second
}

@test 'a plan that cannot be read leaves the list as it was' {
	mkdir .ralph
	echo '{"userStories": [{"id": "x", "title": "First"}]}' >.ralph/prd.json
	planner '{"userStories": []}'
	timeout 120 "$RALPH" plan -- ./agent.sh >"$T/out" 2>"$T/err" || fail "exit $?: $(cat "$T/err")"
	has "$(cat "$T/err")" 'the new list cannot be read, and was put back: .ralph/prd.json'
	same '{"userStories": [{"id": "x", "title": "First"}]}' "$(cat .ralph/prd.json)"
}

# worker: an agent that does the task its prompt names: a file of its id, a commit, and the mark in the list.
worker() {
	cat >"$HOME/agent.py" <<-'END'
		import os, re, subprocess, sys
		prompt = sys.stdin.read()
		task = os.environ["RALPH_TASK"]
		path = re.search(r"The list of all tasks is `([^`]+)`", prompt).group(1)
		open(task, "w").write("work\n")
		subprocess.run(["git", "add", task], check=True)
		subprocess.run(["git", "commit", "-qm", task], check=True)
		text = open(path, newline="").read()
		if task.startswith("step-"):
		    new = re.sub(r"(### Step %s:[^\r\n]*)" % task[5:], r"\1 [done]", text)
		elif path.endswith(".md"):
		    new = re.sub(r"- \[ \] %s\b" % task, "- [x] " + task, text)
		else:
		    new = re.sub(r'("id": "%s".*?"passes": )false' % task, r"\1true", text, count=1, flags=re.S)
		assert new != text, path
		open(path, "w", newline="").write(new)
		print('{"type":"result","subtype":"success","is_error":false,"result":"done"}')
	END
	cp "$HOME/agent.py" agent.py
}

works() {
	timeout 300 "$RALPH" build "$@" -- python3 agent.py >"$T/out" 2>"$T/err" || fail "exit $?: $(cat "$T/err" "$T/out")"
}

@test 'a plan in the project is worked through, and only its marks change' {
	worker
	printf '# Plan\n\n- [ ] one\n  Verify: `test -f one`\n- [x] zero\n- [ ] two\n' >plan.md
	git add -A
	git commit -qm plan
	works
	same '# Plan

- [x] one
  Verify: `test -f one`
- [x] zero
- [x] two' "$(cat plan.md)"
	# Each mark is committed by the host, after the commit of its agent.
	same 'two is done
two
one is done
one' "$(git log -4 --format=%s)"
}

@test 'what init wrote can be built at once' {
	worker
	git add -A
	git commit -qm agent
	"$RALPH" init >/dev/null
	sed -i 's/grep -q hello greeting.txt/test -f US-1/; s/grep -q goodbye farewell.txt/test -f US-2/' .ralph/prd.json
	works
	has "$(git log -2 --format=%s)" US-1
	same 2 "$(grep -c '"passes": true' .ralph/prd.json)"
}

@test 'an issue is worked through, and says so' {
	mkdir -p "$T/bin" "$T/gh"
	cp "$BATS_TEST_DIRNAME/../lib/fake-gh" "$T/bin/gh"
	export PATH=$T/bin:$PATH GH_CONFIG_DIR=$T/gh
	cat >"$T/gh/issues.json" <<-'END'
		{"repo": "o/n", "labels": ["spec", "status:ready", "status:in-progress", "status:done"], "issues": [{"number": 4,
		 "title": "T", "state": "OPEN", "labels": [{"name": "spec"}, {"name": "status:ready"}],
		 "body": "---\r\nbranch: four\r\n---\r\n### Step 1: a\r\n### Step 2: b\r\n"}]}
	END
	worker
	git add -A
	git commit -qm agent
	works -f gh:o/n
	same four "$(git branch --show-current)"
	python3 - "$T/gh/issues.json" <<-'END'
		import json, sys
		issue = json.load(open(sys.argv[1]))["issues"][0]
		assert issue["body"] == "---\r\nbranch: four\r\n---\r\n### Step 1: a [done]\r\n### Step 2: b [done]\r\n", issue
		assert [l["name"] for l in issue["labels"]] == ["spec", "status:done"], issue
	END
}

@test 'the agent may replace its copy as tools do, and reaches neither the list nor the state' {
	worker
	cat >agent.sh <<-'END'
		#!/bin/bash
		cd .ralph || exit
		{
			cat state/tasks.json state/loop.json active && echo read
			echo x >prd.json && echo wrote the list
			echo x >prompt.md && echo wrote the prompt
			echo x >progress.txt && echo wrote the log
			mv agent/prd.json prd.json && echo replaced the list
			rm -rf state && echo removed the state
			mkdir -p state && echo x >state/tasks.json && cat state/tasks.json
		} >../tried 2>/dev/null
		sed 's/"notes": ""/"notes": "by mv"/' agent/prd.json >agent/prd.tmp && mv agent/prd.tmp agent/prd.json
		echo learned >>agent/progress.txt
		cd .. && exec python3 agent.py
	END
	chmod +x agent.sh
	echo tried >.gitignore
	git add -A
	git commit -qm agent
	"$RALPH" init >/dev/null
	printf '{"userStories": [{"id": "one", "title": "One", "passes": false, "notes": ""}]}' >.ralph/prd.json
	cp .ralph/prompt.md .ralph/progress.txt "$T"
	timeout 120 "$RALPH" build -- ./agent.sh >"$T/out" 2>"$T/err" || fail "exit $?: $(cat "$T/err")"
	same '' "$(cat tried)"
	same '{"userStories": [{"id": "one", "title": "One", "passes": true, "notes": "by mv"}]}' "$(cat .ralph/prd.json)"
	cmp "$T/prompt.md" .ralph/prompt.md
	same learned "$(tail -n 1 .ralph/progress.txt)"
	cmp -n "$(stat -c %s "$T/progress.txt")" "$T/progress.txt" .ralph/progress.txt
	lacks "$(cat "$T/err")" 'put back'
}
