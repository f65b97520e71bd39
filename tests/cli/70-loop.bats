#!/usr/bin/env bats
# runs: user
# seconds: 40
# The loop: from a list of work to verified commits.
# shellcheck disable=SC2016
load helpers
load loop

# ---- the whole of it ----

# bats test_tags=root
@test 'an honest agent: every story becomes one verified commit, exit 0' {
	loop_workspace 3
	build 0 honest
	same 'done done done' "$(verdicts)"
	same 'true true true' "$(passes US-1) $(passes US-2) $(passes US-3)"
	same 3 "$(git rev-list --count main..ralph/demo 2>/dev/null || git rev-list --count "HEAD~3..HEAD")"
	same ralph/demo "$(git branch --show-current)"
	# The commits of the summary are those of the branch.
	same "$(git rev-parse HEAD~1)" "$(summary 'j["records"][-1]["commit"]')"
	has "$(cat "$T/out")" 'all 3 tasks are done and verified'
	has "$(cat "$T/out")" 'next: git log ralph/demo'
	has "$(cat "$T/err")" 'Bash  write US-1'
	# Nothing of the loop runs any more, and its branch needs no sandbox.
	[ ! -e .ralph/active ]
	same '[]' "$(ralph ls --json)"
}

@test 'each iteration, and the loop, say which hosts were refused' {
	need curl
	loop_workspace 2
	loop_exits 0 build -- sh -c 'curl -s "https://in-$RALPH_ITERATION.example/" https://both.example/; exec ./agent.py honest'
	has "$(grep -c '  2 hosts refused: in-1.example, both.example$' "$T/err")" 1
	has "$(grep -c '  2 hosts refused: in-2.example, both.example$' "$T/err")" 1
	has "$(cat "$T/out")" '3 hosts refused: in-1.example, both.example, in-2.example'
	same "['in-1.example', 'both.example', 'in-2.example']" "$(summary 'j["refused"]')"
	same "['in-2.example', 'both.example']" "$(summary 'j["records"][1]["refused"]["hosts"]')"
}

@test 'the stream of each iteration is kept byte for byte, and shown by ralph logs' {
	loop_workspace 2
	build 0 honest
	same '"fake-1"' "$(head -1 .ralph/logs/iteration-001.jsonl | python3 -c 'import json, sys; print(json.dumps(json.loads(sys.stdin.readline())["model"]))')"
	same 'Bash  write US-1
| Done.' "$(ralph logs 1)"
	has "$(ralph logs)" 'write US-2'
	cmp <(ralph logs --raw 2) .ralph/logs/iteration-002.jsonl
	must_exit 2 ralph logs 3 2>/dev/null
}

@test 'the output of every verify command is kept, of those that passed too' {
	loop_workspace 1
	build 0 honest --verify 'echo all is well; head -c 200000 /dev/zero | tr "\\0" x; echo the end'
	python3 - <<-'END'
		import json
		rows = [json.loads(l) for l in open(".ralph/logs/verify-001.jsonl")]
		assert [r["code"] for r in rows] == [0, 0], rows
		assert rows[1]["command"] == "test -f US-1"
		assert rows[0]["output"].endswith("xthe end\n") and len(rows[0]["output"]) <= 65536
		assert rows[0]["bytes"] == 200020, rows[0]["bytes"]
	END
}

@test 'tokens and cost are what the agent says, where no gateway counted' {
	loop_workspace 2
	build 0 honest
	same '20000 254' "$(summary 'str(j["micro_usd"]) + " " + str(j["tokens"])')"
}

@test 'a story that takes two iterations is worked on until it is done' {
	loop_workspace 1
	build 0 slow
	same 'progress done' "$(verdicts)"
}

@test 'a promise alone asks for the same check' {
	loop_workspace 1
	build 0 promises-only
	same 'done' "$(verdicts)"
	same true "$(passes US-1)"
}

@test 'the agent finds its task, and what failed the last time, in its prompt' {
	loop_workspace 1
	build 4 claims-done --max-stuck 9 --max-attempts 2
	same 'not-verified not-verified' "$(verdicts)"
	python3 - <<-'EOF'
		import json
		last = json.load(open(".ralph/state/loop.json"))["tasks"]["US-1"]["last"]
		assert "test -f US-1" in last and "ended with 1" in last, last
	EOF
}

# ---- verification ----

@test 'what failed before the first iteration is not held against the agent' {
	loop_workspace 1
	build 0 honest --verify 'test -f never' --verify 'test -f file'
	same "{'test -f never': False, 'test -f file': True}" "$(state 'j["baseline"]')"
}

@test 'what worked before must work afterwards' {
	loop_workspace 1
	build 4 honest --verify 'test ! -f US-1' --max-stuck 9 --max-attempts 2
	same 'not-verified not-verified' "$(verdicts)"
	same false "$(passes US-1)"
}

@test 'what was verified must be what was committed' {
	loop_workspace 1
	build 4 uncommitted --max-attempts 2
	has "$(state 'j["tasks"]["US-1"]["last"]')" 'Not committed: M file'
}

@test 'a file that the agent forgot to add: what was verified is not what was committed, exit 4' {
	loop_workspace 1
	build 4 forgets-to-add --max-attempts 2
	same 'not-committed not-committed' "$(verdicts)"
	same false "$(passes US-1)"
	has "$(cat "$T/err")" 'not committed: ?? US-1'
	has "$(state 'j["tasks"]["US-1"]["last"]')" 'Not committed: ?? US-1'
}

@test 'told which file is in no commit, the next agent adds it' {
	loop_workspace 1
	build 0 adds-when-told
	same 'not-committed done' "$(verdicts)"
	same US-1 "$(git ls-tree --name-only HEAD US-1)"
}

@test 'what the verify commands make, and what is ignored, is not held against the agent' {
	loop_workspace 2
	echo '*.o' >>.gitignore
	git commit -qam ignore
	# The second is not there before the first task is done, and then again.
	build 0 honest --verify 'echo x >product' --verify 'touch main.o; ! [ -e US-1 ] || date +%N >report'
	same 'done done' "$(verdicts)"
	[ -e product ] && [ -e report ] && [ -e main.o ]
}

@test 'killed while it is verified: what the checks had made until then is still theirs' {
	loop_workspace 1
	"$RALPH" build --verify 'test ! -f US-1 || { echo x >product; test -f go-on || sleep 1000; }' -- \
		./agent.py honest >"$T/out" 2>"$T/err" 3>&- &
	wait_until -t 30 test -f product
	kill -9 $!
	wait $! || true
	touch .ralph/go-on
	sed -i s,go-on,.ralph/go-on, .ralph/state/loop.json
	loop_exits 0 resume
	same 'done' "$(verdicts)"
}

@test 'a verify command that does not end is ended, and counts as failed' {
	loop_workspace 1
	build 4 honest --verify 'test ! -f US-1 || sleep 1000' --verify-time 1s --max-attempts 1
	has "$(cat "$T/err")" 'did not come to an end'
}

# ---- the end ----

@test 'work that is done has its sandbox removed, and what happened in it is kept' {
	loop_workspace 1
	build 0 honest
	same '' "$(ralph ls -q)"
	has "$(cat "$T/err")" 'the sandbox of ralph/demo is removed'
	has "$(ralph events --type loop .ralph/logs/events/*)" 'done, task US-1'
	has "$(ralph events verify --json .ralph/logs/events/*)" '"whole": true'
}

@test 'a sandbox stays while work is left, and where the user has named it' {
	loop_workspace 1
	build 4 claims-done --max-attempts 1
	same 1 "$(ralph ls -q | wc -l | tr -d ' ')"
	ralph rm --all
	ralph task reopen US-1
	build 0 honest --name mine
	same mine "$(ralph ls -q)"
}

# ---- misbehaviour ----

@test 'claims done without the work: not believed, stuck, exit 4' {
	loop_workspace 1
	build 4 claims-done --max-attempts 2
	same false "$(passes US-1)"
	has "$(cat "$T/err")" 'verify  test -f US-1: ended with 1'
}

@test 'edits the criteria: they are put back and held, exit 4' {
	loop_workspace 2
	build 4 edits-criteria --max-stuck 1
	same 'false false' "$(passes US-1) $(passes US-2)"
	same "['US-1 exists']" "$(python3 -c 'import json; print(json.load(open(".ralph/prd.json"))["userStories"][0]["acceptanceCriteria"])')"
	has "$(cat "$T/err")" 'put back: '
}

@test 'deletes its list: it is put back, the work counts, exit 0' {
	loop_workspace 2
	build 0 deletes-prd
	same 'true true' "$(passes US-1) $(passes US-2)"
	has "$(cat "$T/err")" 'put back: '
}

@test 'hangs after its result: ended after the grace time, the work counts, exit 0' {
	loop_workspace 1
	build 0 hangs-after-result --grace 500ms
	same 'done' "$(verdicts)"
}

@test 'hangs silently after a rejected limit: not waited on, exit 7 with --no-wait' {
	loop_workspace 1
	build 7 hangs-after-limit --grace 500ms --no-wait
	same rate-limit "$(verdicts)"
	# The attempt was given back.
	same 0 "$(summary 'j["tasks"][0]["attempts"]')"
}

@test 'prints nothing: tried three times more, then a failure, exit 4' {
	loop_workspace 1
	build 4 empty --max-stuck 1
	same 4 "$(wc -l <runs | tr -d ' ')"
	same failed "$(verdicts)"
}

@test 'torn, doubled and mixed lines: the whole ones count, exit 0' {
	loop_workspace 1
	build 0 torn
	same 'done' "$(verdicts)"
}

@test 'exit 0 with an error in its result: a failure, exit 4' {
	loop_workspace 1
	build 4 exit0-error --max-attempts 2
	same 'failed failed' "$(verdicts)"
	same false "$(passes US-1)"
}

@test 'no result at all: a failure, exit 4' {
	loop_workspace 1
	build 4 no-result --max-attempts 2
	same 'failed failed' "$(verdicts)"
}

@test 'no commit: not done, exit 4' {
	loop_workspace 1
	build 4 no-commit --max-stuck 2
	same 'no-commit no-commit' "$(verdicts)"
	same false "$(passes US-1)"
}

@test 'huge output: bounded in the log, the work counts, exit 0' {
	loop_workspace 1
	build 0 huge
	[ "$(stat -c %s .ralph/logs/iteration-001.jsonl)" -le $((65 << 20)) ]
	has "$(tail -c 100 .ralph/logs/iteration-001.jsonl)" 'the rest was not kept'
}

@test 'plants filters, monitors and hooks: nothing of them runs on the host' {
	loop_workspace 2
	build 0 git-filter
	[ ! -e monitor-ran ] && [ ! -e hook-ran ] && [ ! -e filter-ran ]
	same '' "$(git config --get-regexp '^filter\.' || true)"
	[ ! -e .git/hooks/post-checkout ]
}

@test 'kills its parent and all else it can reach: the loop goes on' {
	loop_workspace 2
	build 4 kills-parent --max-stuck 1
	same 'failed failed' "$(verdicts)"
}

@test 'forks away: what it left is gone before the verification' {
	loop_workspace 1
	build 0 forks-away
	rm -f daemon-was-here
	same 0 "$(grep -lsz '[a]gent.py' /proc/[0-9]*/cmdline | grep -cF "$WS" || true)"
	sleep 0.5
	[ ! -e daemon-was-here ]
}

@test 'says nothing: ended after the idle time, exit 4' {
	loop_workspace 1
	build 4 silent --idle-time 500ms --max-stuck 1
	has "$(cat "$T/err")" 'said nothing for too long'
}

@test 'takes too long: ended after the time of an iteration, exit 4' {
	loop_workspace 1
	build 4 silent --iteration-time 500ms --max-stuck 1
	has "$(cat "$T/err")" 'took too long'
}

@test 'talks about the promise in a sentence: that is none, exit 4' {
	loop_workspace 1
	build 4 quotes-promise --max-stuck 1
	same no-progress "$(verdicts)"
}

@test 'fails: its words on stderr are shown and told to the next, exit 4' {
	loop_workspace 1
	build 4 fails --max-stuck 1
	has "$(cat "$T/err")" 'something went wrong'
	has "$(state 'j["tasks"]["US-1"]["last"]')" 'something went wrong'
}

@test 'an agent that is not there: exit 1, nothing is counted against the task' {
	loop_workspace 1
	loop_exits 1 build -- ./no-such-agent
	same 0 "$(summary 'j["tasks"][0]["attempts"]' 2>/dev/null || echo 0)"
}

# ---- asking ----

@test 'blocked: exit 5, with why' {
	loop_workspace 1
	build 5 blocked
	has "$(cat "$T/out")" 'there is no database'
	same 'blocked' "$(summary 'j["tasks"][0]["state"]')"
}

@test 'one blocked task does not hold the others' {
	loop_workspace 2
	# US-1 is blocked by its agent, US-2 done by another.
	build 3 blocked -n 1
	loop_exits 5 resume -n 5 -- ./agent.py honest
	same 'false true' "$(passes US-1) $(passes US-2)"
}

@test 'a decision: exit 6, ralph answer shows it and answers it, resume goes on' {
	loop_workspace 1
	build 6 decides
	has "$(cat "$T/out")" 'next: ralph answer'
	same 'US-1: SQLite or Postgres?' "$(ralph answer)"
	must_exit 2 ralph answer -t US-9 x 2>/dev/null
	ralph answer SQLite
	loop_exits 0 resume
	same 'decision done' "$(verdicts)"
	must_exit 2 ralph answer x 2>/dev/null
}

@test 'a note is in the next prompt of a task that asks nothing, which stays as it is' {
	loop_workspace 2
	build 3 honest -n 1
	must_exit 2 ralph answer --note 'use tabs' 2>/dev/null
	must_exit 2 ralph answer --note -t US-2 2>/dev/null
	ralph answer --note -t US-2 'use tabs'
	loop_exits 0 resume -n 5 -- sh -c 'cat >runs; exec ./agent.py honest <runs'
	has "$(cat runs)" 'The user notes: use tabs'
	same 'done done' "$(verdicts)"
}

# ---- limits ----

@test 'iterations: exit 3 when work is left, and resume with more goes on' {
	loop_workspace 3
	build 3 honest -n 2
	has "$(cat "$T/out")" 'the limit of 2 iterations is reached'
	loop_exits 3 resume
	same 2 "$(state 'j["iterations"]')"
	loop_exits 0 resume -n 5
	same 'done done done' "$(verdicts)"
}

@test 'a limit of 0 iterations is only taken when it is spelled out' {
	loop_workspace 1
	loop_exits 2 build -n 0 -- ./agent.py honest
	has "$(cat "$T/err")" "write 'unlimited'"
	build 0 honest -n unlimited
}

@test 'cost: exit 3, kept across resume' {
	loop_workspace 3
	build 3 honest --max-cost 0.015
	same 2 "$(state 'j["iterations"]')"
	has "$(cat "$T/out")" 'the limit of a cost of $0.01'
	loop_exits 3 resume
	same 2 "$(state 'j["iterations"]')"
}

@test 'the time of the loop ends an iteration too: exit 3, and the attempt is given back' {
	loop_workspace 1
	build 3 silent --max-duration 1s
	same interrupted "$(verdicts)"
	same 0 "$(summary 'j["tasks"][0]["attempts"]')"
	has "$(cat "$T/err")" 'the time of the loop is over'
}

@test 'empty commits are no progress: exit 4' {
	loop_workspace 1
	build 4 commits-nothing --max-stuck 2
	same 'no-progress no-progress' "$(verdicts)"
}

@test 'what failed before the loop and still does is named at the end' {
	loop_workspace 1
	build 0 honest --verify 'test -f never' --verify 'test -f US-1'
	has "$(cat "$T/out")" 'failed before the loop, and still does: test -f never'
	lacks "$(cat "$T/out")" 'still does: test -f US-1'
	same "['test -f never']" "$(summary 'j["failing"]')"
}

@test 'without a command that verifies, nothing is called verified' {
	loop_workspace 2
	sed -i 's/"verifyCommands": \[/"x": [/' .ralph/prd.json
	python3 - <<-'EOF'
		import json
		p = json.load(open(".ralph/prd.json"))
		for s in p["userStories"]:
		    s.pop("x")
		json.dump(p, open(".ralph/prd.json", "w"), indent=2)
	EOF
	git commit -qam 'no commands'
	build 0 honest
	has "$(cat "$T/out")" 'exit 0: all 2 tasks are done; no command verifies them'
	has "$(cat "$T/err")" 'done, committed; no command verifies it'
}

@test 'attempts: one stuck task never blocks the rest' {
	loop_workspace 2
	build 4 no-commit --max-stuck 1
	same 'stuck stuck' "$(summary '" ".join(t["state"] for t in j["tasks"])')"
}

@test 'a rate limit is slept through, and the attempt given back' {
	loop_workspace 1
	build 0 limited-once
	same 'rate-limit done' "$(verdicts)"
	same 1 "$(summary 'j["tasks"][0]["attempts"]')"
	has "$(cat "$T/err")" 'waiting until'
}

@test 'the reserve of the week is left alone: exit 7 with --no-wait' {
	loop_workspace 2
	build 7 weekly --weekly-reserve 20% --no-wait
	same 'done' "$(verdicts)"
	has "$(cat "$T/out")" 'reserved'
}

@test 'a credential that the provider refuses: exit 8' {
	loop_workspace 1
	build 8 unauthorized
	has "$(cat "$T/out")" 'next: ralph check-token'
}

@test 'an agent without a credential: exit 8 before anything is started' {
	loop_workspace 1
	loop_exits 8 build claude
	[ -z "$(ralph ls -q)" ]
}

# ---- the end ----

@test 'the notify command gets the exit code and the summary' {
	loop_workspace 1
	build 0 honest --notify 'echo "$RALPH_EXIT_CODE $RALPH_REASON" >"$HOME/told"; cp "$RALPH_SUMMARY" "$HOME/summary"'
	same '0 the task is done and verified' "$(cat "$HOME/told")"
	cmp "$HOME/summary" .ralph/summary.json
}

@test 'the summary can be had as JSON' {
	loop_workspace 1
	build 0 honest --json
	cmp "$T/out" .ralph/summary.json || diff <(python3 -m json.tool "$T/out") <(python3 -m json.tool .ralph/summary.json)
}
