#!/usr/bin/env bats
# runs: user
# seconds: 30
# --parallel: independent tasks at once, each in a worktree and a sandbox of its own, merged as they come.
# shellcheck disable=SC2016,SC2030,SC2031
load helpers
load loop

worktrees() {
	git worktree list --porcelain | sed -n 's/^worktree //p' | grep -vxF "$WS" || true
}

# waiting N: so many agents wait in their worktrees.
waiting() {
	local n=0 dir

	while IFS= read -r dir; do
		[ -z "$dir" ] || [ ! -e "$dir/waiting" ] || n=$((n + 1))
	done <<<"$(worktrees)"
	[ "$n" -eq "$1" ]
}

go_on() {
	local dir

	while IFS= read -r dir; do
		[ -z "$dir" ] || touch "$dir/go-on"
	done <<<"$(worktrees)"
}

@test 'three stories at once: all done and merged, nothing left of the workers' {
	loop_workspace 3
	build 0 honest --parallel 3
	same 'done done done' "$(verdicts)"
	same 'true true true' "$(passes US-1) $(passes US-2) $(passes US-3)"
	[ -e US-1 ] && [ -e US-2 ] && [ -e US-3 ]
	same ralph/demo "$(git branch --show-current)"
	same '' "$(worktrees)"
	same '30000 381' "$(summary 'str(j["micro_usd"]) + " " + str(j["tokens"])')"
	has "$(cat "$T/err")" '[US-2] iteration 1: US-2 story 2'
	# What their agents did is kept under the loop's own numbers.
	has "$(ralph logs "$(summary 'next(r["iteration"] for r in j["records"] if r["task"] == "US-2")')")" 'Bash  write US-2'
	# So are their sandboxes, and the one that verified the merges.
	same '' "$(ralph ls -q)"
}

@test 'they do run at once' {
	loop_workspace 2
	begin waits --parallel 2
	wait_until -t 30 waiting 2
	go_on
	ends 0
}

@test 'what conflicts is not merged, and done again on what the others made' {
	local last # whichever ended last

	loop_workspace 2
	git rm -q --cached agent.py && git add agent.py
	build 0 conflicts --parallel 2
	last=$(sed -n 's/.*  \(US-[12]\): ready, conflicts with what was merged before it, in shared.*/\1/p' "$T/err")
	same 'true true' "$(passes US-1) $(passes US-2)"
	same "$last" "$(cat shared)"
	same 'done done done' "$(verdicts)"
	# What was not merged stays as a branch, and nothing else of it.
	same '' "$(worktrees)$(ralph ls -q)"
	has "$(git branch)" "ralph/demo-${last,,}-1"
}

@test 'a story that depends on another is not begun before it is done' {
	loop_workspace 2
	python3 - <<-'EOF'
		import json
		p = json.load(open(".ralph/prd.json"))
		p["userStories"][1]["dependsOn"] = ["US-1"]
		json.dump(p, open(".ralph/prd.json", "w"), indent=2)
	EOF
	git commit -qam order
	build 0 honest --parallel 2
	same 'US-1 US-2' "$(summary '" ".join(r["task"] for r in j["records"])')"
	lacks "$(cat "$T/err")" '[US-2]'
}

@test 'stuck and blocked workers are told apart' {
	loop_workspace 2
	build 5 blocked --parallel 2
	same 'blocked blocked' "$(summary '" ".join(t["state"] for t in j["tasks"])')"
	has "$(cat "$T/out")" 'there is no database'
}

@test 'a pause finishes the iterations of all, and resume goes on with them' {
	loop_workspace 2
	begin waits --parallel 2
	wait_until -t 30 waiting 2
	kill -INT "$LOOP"
	wait_until grep -q 'pausing after these iterations' "$T/err"
	go_on
	ends 9
	loop_exits 0 resume
	same 'true true' "$(passes US-1) $(passes US-2)"
}

@test 'a kill -9 of the loop ends all workers, and resume goes on with them' {
	loop_workspace 2
	begin waits --parallel 2
	wait_until -t 30 waiting 2
	kill -9 "$LOOP"
	wait "$LOOP" || true
	wait_until nothing_runs
	go_on
	loop_exits 0 resume
	same 'true true' "$(passes US-1) $(passes US-2)"
	same 'interrupted done interrupted done' "$(verdicts)"
	same '1 1' "$(summary '" ".join(str(t["attempts"]) for t in j["tasks"])')"
}

@test 'iterations are limited over all workers, and resume goes on with what they had begun' {
	loop_workspace 2
	build 3 slow --parallel 2 -n 3
	same 3 "$(summary 'j["iterations"]')"
	same 'true false' "$(passes US-1) $(passes US-2)"
	[ -e US-1 ] && [ ! -e US-2 ]
	# Nothing is left to begin with.
	loop_exits 3 resume
	same 3 "$(summary 'j["iterations"]')"
	loop_exits 0 resume -n 4
	same 4 "$(summary 'j["iterations"]')"
	same 'US-1: US-1 US-1: US-1.half US-2: US-2 US-2: US-2.half' \
		"$(git log --no-merges --format=%s | grep '^US-.:' | sort | tr '\n' ' ' | sed 's/ $//')"
	same '' "$(worktrees)"
}

@test 'what one worker leaves of its share another gets' {
	loop_workspace 3
	git show HEAD:agent.py | sed 's/^def slow():/def slow():\n    if TASK != "US-1":\n        return honest()/' >agent.py
	git commit -qam 'one of them is slow'
	build 0 slow --parallel 3 -n 4
	same 4 "$(summary 'j["iterations"]')"
}

@test 'a cost limit holds for all workers together, over resume' {
	loop_workspace 2
	# A cent for each iteration; each worker may finish the one it is in.
	build 3 claims-done --parallel 2 --max-cost 0.02 --max-attempts 20 --max-stuck 20 -n 50
	same 20000 "$(summary 'j["micro_usd"]')"
	has "$(cat "$T/out")" 'a cost of $0.02'
	loop_exits 3 resume
	same 20000 "$(summary 'j["micro_usd"]')"
}

@test 'a time limit holds for all workers together, over resume' {
	loop_workspace 2
	build 3 claims-done --parallel 2 --max-duration 1ms --max-attempts 20 --max-stuck 20 -n 50
	same 2 "$(summary 'j["iterations"]')"
	loop_exits 3 resume
	same 2 "$(summary 'j["iterations"]')"
}

@test 'an answer reaches the worker that asked' {
	loop_workspace 2
	build 6 decides --parallel 2
	ralph answer -t US-1 SQLite
	ralph answer -t US-2 SQLite
	loop_exits 0 resume
	same 'true true' "$(passes US-1) $(passes US-2)"
}

@test 'workers have the prompt of the workspace, although it is in no commit' {
	loop_workspace 2
	echo prompt.md >>.ralph/.gitignore
	git rm -q --cached .ralph/prompt.md
	git add .ralph/.gitignore
	git commit -qm 'prompt of my own'
	echo 'The user answers: SQLite' >.ralph/prompt.md
	build 0 decides --parallel 2
}

nothing_runs() {
	! grep -qszF "$WS" /proc/[0-9]*/cmdline
}
