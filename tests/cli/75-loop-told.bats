#!/usr/bin/env bats
# runs: user
# What a loop tells while it works and at its end: the agent's words, failed tools, refusals, files in quarantine, work
# that nothing verified, and the conversations.
# shellcheck disable=SC2030,SC2031 # each test has its own LOOP
load helpers
load sandbox
load loop

teardown() {
	[ -z "${LOOP:-}" ] || kill -9 "$LOOP" 2>/dev/null || :
	ralph_teardown
}

@test 'the words of an agent are shown between its tools, and a tool that failed is marked' {
	local want='| I look at the task first.
Bash  make check
failed: Bash  make check: Exit code 2 no rule
| It has no rule; I write the file.
Bash  write US-1
| Now it is done.'

	loop_workspace 1
	build 0 talks
	# Without the time of day and the cost.
	same "$want" "$(grep -E '\| |Bash' "$T/err" | sed -E 's/^ +//; s/^[0-9:]{8}  //; s/^\$[0-9.]+  //')"
	same "$want" "$(ralph logs)"
}

@test 'the summary names the files that were moved to quarantine' {
	loop_workspace 1
	build 0 plants --quarantine all
	has "$(cat "$T/out")" 'moved to quarantine: .envrc (ralph quarantine show '
	same .envrc "$(summary 'j["quarantined"][0]["path"]')"
	# The command works as it stands there.
	eval "ralph $(sed -n 's/.*moved to quarantine: .envrc (ralph \(.*\))$/\1/p' "$T/out")" >"$T/shown"
	has "$(cat "$T/shown")" '/tmp/evil'
}

@test 'the summary names the tasks that no command verified, and not the others' {
	loop_workspace 3
	python3 - <<-'EOF'
		import json
		prd = json.load(open(".ralph/prd.json"))
		del prd["userStories"][0]["verifyCommands"], prd["userStories"][2]["verifyCommands"]
		json.dump(prd, open(".ralph/prd.json", "w"))
	EOF
	git commit -qam 'fewer commands'
	build 0 honest
	has "$(cat "$T/out")" 'done, but no command verified: US-1, US-3'
	same "['US-1', 'US-3']" "$(summary 'j["unverified"]')"
}

@test 'a command that failed before the loop, and still does, verifies nothing' {
	loop_workspace 1
	python3 - <<-'EOF'
		import json
		prd = json.load(open(".ralph/prd.json"))
		del prd["userStories"][0]["verifyCommands"]
		json.dump(prd, open(".ralph/prd.json", "w"))
	EOF
	git commit -qam 'fewer commands'
	build 0 honest --verify false
	has "$(cat "$T/out")" 'done, but no command verified: US-1'
	has "$(cat "$T/out")" 'the task is done; no command verifies it'
	has "$(cat "$T/out")" 'committed; no command verifies it'
}

@test 'conversations are named after task and iteration, and an index page of the loop links to them' {
	local index

	loop_workspace 2
	build 0 converses
	index=$(sed -n 's/^conversations: //p' "$T/out")
	same "$index" "$(summary 'j["transcripts"]')"
	has "$(cat "$(dirname "$index")/us-1-iteration-001.md")" 'I did US-1.'
	has "$(cat "$(dirname "$index")/us-2-iteration-002.md")" 'I did US-2.'
	# Links lead where they say.
	same 2 "$(grep -c 'iteration-00[12]\](' "$index")"
	sed -n 's/.*](\([^)]*\)).*/\1/p' "$index" | (cd "$(dirname "$index")" && xargs ls)
	same 2 "$(find "$XDG_STATE_HOME/ralph/inbox/conversations" -name '*.md' ! -name index.md | wc -l)"
}

@test 'conversations of parallel workers are in the index of their loop' {
	local index

	loop_workspace 2
	build 0 converses --parallel 2
	index=$(sed -n 's/^conversations: //p' "$T/out" | tail -n 1)
	same 2 "$(sed -n 's/.*](\([^)]*\)).*/\1/p' "$index" | (cd "$(dirname "$index")" && xargs cat) | grep -c 'I did US-')"
}

@test 'after an iteration that was killed the prompt says which commits and files it left' {
	local head

	loop_workspace 1
	begin dies-halfway
	wait_until -t 60 test -e waiting
	head=$(git rev-parse --short=12 HEAD)
	kill -9 "$(python3 -c 'import json; print(json.load(open(".ralph/active"))["pid"])')"
	wait "$LOOP" || :
	LOOP=
	loop_exits 0 resume
	has "$(cat runs)" '# What was left behind'
	has "$(cat runs)" "Its commits are on the branch: git log $head..HEAD"
	grep -qE 'Not committed: [?]+ draft' runs
	same 1 "$(grep -c 'Not committed: ' runs)"
}

@test 'after an iteration that took too long the prompt says so, and after one that ended well it does not' {
	loop_workspace 1
	build 0 dies-halfway --iteration-time 10s
	has "$(cat runs)" 'The iteration before this one did not come to its end (the iteration took too long)'
	grep -qE 'Not committed: [?]+ draft' runs
	same None "$(state 'j["tasks"]["US-1"].get("left")')"
}
