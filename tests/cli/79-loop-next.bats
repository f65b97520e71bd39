#!/usr/bin/env bats
# runs: user
# seconds: 40
# Each way a loop can end says what to type next, and what it says works as it is.
# shellcheck disable=SC2016
load helpers
load loop

setup() {
	ralph_setup
	mkdir "$T/bin"
	ln -s "$RALPH" "$T/bin/ralph"
	PATH=$T/bin:$PATH
}

# next_lines: what the last command said, a line each.
next_lines() {
	sed -n 's/^next: //p' "$T/out"
}

# types CODE: every line that was said, typed here, ends with that code.
types() {
	local line code n=0

	while IFS= read -r line; do
		code=0
		timeout 120 sh -c "$line" >"$T/typed" 2>&1 </dev/null || code=$?
		[ $code -eq "$1" ] || fail "'$line' ended with $code: $(cat "$T/typed")"
		n=$((n + 1))
	done < <(next_lines)
	[ $n -gt 0 ] || fail "nothing to type: $(cat "$T/out")"
}

@test 'done: the log of the branch' {
	loop_workspace 1
	build 0 honest
	same 'git log ralph/demo' "$(next_lines)"
	types 0
	has "$(cat "$T/typed")" 'US-1 is done'
}

@test 'done without a repository: the tasks' {
	loop_workspace 1
	rm -rf .git
	printf '#!/bin/sh\necho x >"$RALPH_TASK"; echo "<promise>COMPLETE</promise>"\n' >agent.sh
	chmod +x agent.sh
	loop_exits 0 build -- ./agent.sh
	types 0
	has "$(cat "$T/typed")" US-1
}

@test 'a limit of iterations: more of them' {
	loop_workspace 2
	build 3 honest -n 1
	same 'ralph resume -n 11' "$(next_lines)"
	types 0
}

@test 'a limit of cost: as much again' {
	loop_workspace 2
	build 3 honest --max-cost 0.005
	same 'ralph resume --max-cost 0.02' "$(next_lines)"
	types 0
}

@test 'a limit of time: more of it' {
	loop_workspace 2
	build 3 honest -n 1 --max-duration 10m
	sed -i 's/"active_ms": [0-9]*/"active_ms": 600000/' .ralph/state/loop.json
	loop_exits 3 resume -n 5
	same 'ralph resume --max-duration 20m' "$(next_lines)"
	types 0
}

@test 'a plan: it is built by the same agent' {
	loop_workspace 1
	cat >'an agent.sh' <<-'EOF'
		#!/bin/sh
		cat >/dev/null
		[ -n "$RALPH_TASK" ] || { echo planned; exit; }
		exec ./agent.py honest
	EOF
	chmod +x 'an agent.sh'
	git add -A
	git commit -qm agent
	loop_exits 0 plan -- './an agent.sh'
	same "ralph build -- './an agent.sh'" "$(next_lines)"
	types 0
	same true "$(passes US-1)"
}

@test 'init: the example can be built, by the agent that is there' {
	ralph init >"$T/out"
	same 'ralph build' "$(next_lines)"
	# No agent is installed here: it is Claude Code then, which needs a login.
	types 8
	has "$(cat "$T/typed")" 'the agent is claude, as you name none'
	mkdir 'a place'
	ralph init 'a place' >"$T/out"
	same "ralph build 'a place'" "$(next_lines)"
	types 8
}

@test 'two open questions: ralph answer shows both and how each is answered' {
	loop_workspace 2
	build 6 decides
	same 'ralph answer' "$(next_lines)"
	types 0
	has "$(cat "$T/typed")" 'US-1: SQLite or Postgres?'
	has "$(cat "$T/typed")" "answer with: ralph answer --task US-2 'what you decide'"
	sed -n "s/^answer with: \(.*\) 'what you decide'\$/next: \1 SQLite/p" "$T/typed" >"$T/out"
	types 0
	loop_exits 0 resume
}

@test 'blocked: what blocks is shown, and answering it unblocks' {
	loop_workspace 1
	build 5 blocked
	types 0
	has "$(cat "$T/typed")" 'there is no database'
}

@test 'stuck: the log of the last try, and the task reopened' {
	loop_workspace 2
	build 4 no-commit --max-stuck 1
	same 'ralph logs 1
ralph task reopen US-1' "$(next_lines)"
	types 0
	has "$(cat "$T/typed")" 'US-1 is ready again'
}

@test 'paused, or the provider is not available: resume' {
	loop_workspace 1
	build 7 overloaded-twice --no-wait
	same 'ralph resume' "$(next_lines)"
	types 0
}

@test 'from another directory the commands name the workspace' {
	loop_workspace 2
	cd /
	loop_exits 3 build -n 1 "$WS" -- ./agent.py honest
	same "ralph resume -n 11 $WS" "$(next_lines)"
	types 0
	loop_exits 0 resume "$WS"
	same "git -C $WS log ralph/demo" "$(next_lines)"
	types 0
}

@test 'without a name the only agent that is installed and logged in is taken and said, and init writes it down' {
	loop_workspace 1
	mkdir -p "$HOME/.local/bin"
	cat >"$HOME/.local/bin/codex" <<-'EOF'
		#!/bin/sh
		./agent.py honest >/dev/null
		echo '{"type":"thread.started","thread_id":"t"}'
		echo '{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}'
	EOF
	chmod 755 "$HOME/.local/bin/codex"
	export OPENAI_API_KEY=sk-of-the-host
	loop_exits 0 build
	has "$(cat "$T/err")" 'the agent is codex, the only one that is installed and logged in'
	has "$(ralph init)" 'agent: codex'
	has "$(cat .ralph/config.yaml)" 'agent: codex'
	same codex "$(ralph config get agent 2>/dev/null || ralph config show --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["agent"]["value"])')"
	# A second one changes nothing here any more, and a command is still its own agent.
	printf '#!/bin/sh\necho no\n' >"$HOME/.local/bin/claude"
	chmod 755 "$HOME/.local/bin/claude"
	same hello "$(ralph run -- echo hello)"
	ANTHROPIC_API_KEY=sk-ant loop_exits 0 build
	lacks "$(cat "$T/err")" 'the agent is'
}
