#!/usr/bin/env bats
# runs: user
# seconds: 30
# --parallel: a free slot takes the next ready task, and done branches are merged as they come.
# shellcheck disable=SC2016,SC2030,SC2031
load helpers
load loop

# story ID KEY VALUE: sets a value of one story in the list, as JSON.
story() {
	python3 - "$@" <<-'EOF'
		import json, sys
		p = json.load(open(".ralph/prd.json"))
		next(s for s in p["userStories"] if s["id"] == sys.argv[1])[sys.argv[2]] = json.loads(sys.argv[3])
		json.dump(p, open(".ralph/prd.json", "w"), indent=2)
	EOF
}

# held N: the checks of all N stories wait on the merged tree, and only there, for the file go-on.
held() {
	local i

	touch waiting
	for ((i = 1; i <= $1; i++)); do
		story "US-$i" verifyCommands "[\"test -f US-$i && until [ ! -e waiting ] || [ -e go-on ]; do sleep 0.1; done\"]"
	done
}

# agent CODE: a function of this name in the agent.
agent() {
	printf '%s\n' "$1" | python3 -c '
import sys
text = open("agent.py").read()
at = text.index("if __name__") if "if __name__" in text else text.index("def honest")
open("agent.py", "w").write(text[:at] + sys.stdin.read() + "\n\n" + text[at:])'
}

# ended N: so many workers have ended and wait to be merged.
ended() {
	[ "$(state 'sum("code" in w for w in j["workers"].values())' 2>/dev/null)" = "$1" ]
}

merged() {
	git cat-file -e "ralph/demo:$1" 2>/dev/null
}

# once TASK…: the work of each was committed to the branch once.
once() {
	local id

	for id; do
		same 1 "$(git log --format=%s ralph/demo | grep -c "^$id: $id$")"
	done
}

first_waits='def first_waits():
    if TASK == "US-1":
        return waits()
    return honest()'

begin_first_waits() {
	agent "$first_waits"
	git commit -qam 'the first one waits'
	begin first-waits --parallel 2
}

# let_go TASK…: their agents wait for a file in their worktrees.
let_go() {
	local id

	for id; do
		touch "$(git worktree list --porcelain | sed -n 's/^worktree //p' | grep -- "-${id,,}-")/go-on"
	done
}

@test 'a free slot takes the next ready task while another task is still worked on' {
	loop_workspace 4
	begin_first_waits
	wait_until -t 60 merged US-4
	merged US-2 && merged US-3
	lacks "$(git ls-tree --name-only ralph/demo)" US-1
	let_go US-1
	ends 0
	once US-1 US-2 US-3 US-4
}

@test 'a task begins as soon as the one it depends on is merged, whatever else is worked on' {
	loop_workspace 3
	story US-3 dependsOn '["US-2"]'
	begin_first_waits
	wait_until -t 60 merged US-3
	lacks "$(git ls-tree --name-only ralph/demo)" US-1
	same US-2 "$(git ls-tree --name-only "$(git log --format=%H --grep='^US-3: US-3$' ralph/demo)" US-2)"
	let_go US-1
	ends 0
}

@test 'a slot is not kept free while a merge is verified, and new work starts from what is verified' {
	local i

	loop_workspace 4
	held 4
	git commit -qam order
	begin honest --parallel 2
	# All four have ended, while the first merge waits for its checks.
	wait_until -t 60 ended 4
	touch go-on
	ends 0
	once US-1 US-2 US-3 US-4
	for i in 1 2 3 4; do
		same "US-$i" "$(git ls-tree --name-only "$(git log --format=%H --grep="^US-$i: US-$i$" ralph/demo)" | grep ^US)"
	done
}

# The first one ends, its merge is held, and then the others end: they are the next set.
others_wait='def others_wait():
    if TASK == "US-3" and os.path.exists("US-2"):
        init()
        commit("US-3.fixed")
    return honest() if TASK == "US-1" or os.path.exists("US-1") else waits()'

begin_others_wait() {
	agent "$others_wait"
	git commit -qam 'the others wait for the first'
	begin others-wait --parallel 4
	wait_until -t 60 ended 1
	let_go US-2 US-3 US-4
	wait_until -t 60 ended 4
}

@test 'a set of branches that does not verify is halved down to the task, and the others are merged once' {
	loop_workspace 4
	held 4
	story US-3 verifyCommands '["test -f US-3", "test ! -e US-2 || test -e US-3.fixed"]'
	begin_others_wait
	touch go-on
	ends 0
	has "$(cat "$T/err")" 'merging US-2, US-3, US-4'
	has "$(cat "$T/err")" 'US-2, US-3, US-4 do not verify together'
	has "$(cat "$T/err")" 'US-3: ready, does not verify any more once it is merged'
	lacks "$(cat "$T/err")" 'US-4: ready'
	once US-1 US-2 US-4
	same 'true true true true' "$(passes US-1) $(passes US-2) $(passes US-3) $(passes US-4)"
	[ -e US-3.fixed ]
	same 1 "$(git worktree list | wc -l)"
}

@test 'a loop that is killed while a merge is verified goes on with it, and merges each once' {
	loop_workspace 4
	held 4
	begin_others_wait
	kill -9 "$LOOP"
	wait "$LOOP" || true
	touch go-on
	loop_exits 0 resume
	once US-1 US-2 US-3 US-4
	same 'done done done done' "$(verdicts)"
}

@test 'a stop while a merge is verified ends the workers too, and resume finishes all' {
	loop_workspace 3
	held 3
	agent 'def last_waits():
    return waits() if TASK == "US-3" else honest()'
	git commit -qam order
	begin last-waits --parallel 3
	wait_until -t 60 ended 2
	kill -TERM "$LOOP"
	ends 143
	touch go-on
	let_go US-3
	loop_exits 0 resume
	once US-1 US-2 US-3
}

# us_1 FILE: in the worktree of US-1.
us_1() {
	[ -e "$(git worktree list --porcelain | sed -n 's/^worktree //p' | grep -- -us-1-)/$1" ]
}

# kill_supervisor PART: of the sandbox whose name has that in it.
kill_supervisor() {
	pkill -9 -f "libexec/ralph/supervisor $(ralph ls -q | grep -- "$1")"
}

@test 'a worker whose sandbox is killed while it verifies goes on by itself' {
	loop_workspace 2
	story US-1 verifyCommands '["test -f US-1 && { [ -e runs ] || { touch runs; sleep 1000; }; }"]'
	git commit -qam order
	begin honest --parallel 2
	wait_until -t 60 us_1 runs
	touch runs
	kill_supervisor ralph-demo-us-1-1
	ends 0
	has "$(cat "$T/err")" 'the worker of US-1 was ended by an error'
	once US-1 US-2
}

@test 'there is no fixed maximum: how many tasks fit in memory and on the disk is said before the start' {
	loop_workspace 2
	build 0 honest --parallel 900
	has "$(cat "$T/err")" 'tasks at once'
	has "$(sed '/US-1 in /q' "$T/err")" 'fit in'
	once US-1 US-2
}

@test 'tasks that are done leave nothing in the repository but their commits' {
	loop_workspace 6
	start=$(git branch --show-current)
	build 0 honest --parallel 3
	same "$(printf '%s\n' ralph/demo "$start" | sort)" "$(git branch --format '%(refname:short)' | sort)"
	same '' "$(git for-each-ref refs/ralph)"
	same '' "$(find .git/refs/ralph -mindepth 1)"
	same 1 "$(git worktree list | wc -l)"
	once US-1 US-2 US-3 US-4 US-5 US-6
}

@test 'branches that others move while an agent works are not held as its own' {
	loop_workspace 3
	git branch of-the-user
	begin_first_waits
	wait_until -t 60 merged US-3
	git branch -f of-the-user ralph/demo
	git branch new-of-the-user
	let_go US-1
	ends 0
	same '' "$(git for-each-ref refs/ralph)"
	git rev-parse -q --verify of-the-user
	git rev-parse -q --verify new-of-the-user
}

@test 'workers do not repeat the self-test that the sandbox of their loop has passed' {
	loop_workspace 3
	build 0 honest --parallel 2
	same 1 "$(grep -l '"selftest"' .ralph/logs/events/*/events.jsonl | wc -l)"
	same 4 "$(find .ralph/logs/events -name events.jsonl | wc -l)"
}
