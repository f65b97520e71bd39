# A workspace with work to do, for the files about the loop: `load loop` after `load helpers`.
# shellcheck shell=bash

# loop_workspace [STORIES]: .ralph/prd.json with stories US-1 …, each of which is proved by a file of its name, and the
# agent of tests/lib, all committed.
loop_workspace() {
	local n=${1:-1}

	mkdir .ralph
	cp "$BATS_TEST_DIRNAME/../lib/fake-agent.py" agent.py
	chmod +x agent.py
	echo 'Do the task below.' >.ralph/prompt.md
	# What agents of the tests leave, beside their work.
	printf '%s\n' daemon-was-here go-on runs waiting >.gitignore
	python3 - "$n" <<-'EOF'
		import json, sys
		json.dump({"project": "Demo", "branchName": "ralph/demo", "description": "a test", "userStories": [
		    {"id": f"US-{i}", "title": f"story {i}", "description": f"make US-{i}", "acceptanceCriteria": [f"US-{i} exists"],
		     "priority": i, "passes": False, "notes": "", "verifyCommands": [f"test -f US-{i}"]}
		    for i in range(1, int(sys.argv[1]) + 1)]}, open(".ralph/prd.json", "w"), indent=2)
	EOF
	git add -A
	git commit -qm 'work to do'
}

# build CODE HOW [OPTION…]: `ralph build` with the agent behaving so, ends with that code; its output is in $T/out and
# $T/err.
build() {
	local code=$1 how=$2
	shift 2

	loop_exits "$code" build "$@" -- ./agent.py "$how"
}

# loop_exits CODE ARG…: ralph with these arguments ends with that code.
loop_exits() {
	local want=$1 code=0
	shift

	timeout 120 "$RALPH" "$@" >"$T/out" 2>"$T/err" || code=$?
	[ $code -eq "$want" ] || fail "exit $code, wanted $want: $(cat "$T/err" "$T/out")"
}

# passes ID: true or false, as the user's prd.json says.
passes() {
	python3 -c '
import json, sys
for s in json.load(open(".ralph/prd.json"))["userStories"]:
    if s["id"] == sys.argv[1]:
        print(str(s["passes"]).lower())' "$1"
}

# summary EXPRESSION: of .ralph/summary.json, as `j`.
summary() {
	python3 -c 'import json, sys; j = json.load(open(".ralph/summary.json")); print(eval(sys.argv[1]))' "$1"
}

# state EXPRESSION: of the loop's own state, as `j`.
state() {
	python3 -c 'import json, sys; j = json.load(open(".ralph/state/loop.json")); print(eval(sys.argv[1]))' "$1"
}

# verdicts: of all iterations, in their order, with blanks between.
verdicts() {
	summary '" ".join(r["verdict"].replace(" ", "-") for r in j["records"])'
}

# begin HOW [OPTION…]: a loop in the background; its process is $LOOP.
begin() {
	local how=$1
	shift

	"$RALPH" build "$@" -- ./agent.py "$how" >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
}

# ends CODE: the loop in the background does, with that code.
ends() {
	local code=0

	wait "$LOOP" || code=$?
	[ $code -eq "$1" ] || fail "exit $code, wanted $1: $(cat "$T/err" "$T/out")"
}
