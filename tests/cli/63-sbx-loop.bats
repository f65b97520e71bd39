#!/usr/bin/env bats
# runs: user
# seconds: 55
# The loop where the agent sees the whole workspace: in the machines of Docker Sandboxes, by both command lines, and with no
# sandbox at all. Its state is not there.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # text for shells inside; tests are subshells; bats sets stderr
load helpers
load sandbox
load loop
load ../lib/sbx

setup() {
	ralph_setup
}

teardown() {
	local bad=0

	fake_sbx_end || bad=1
	ralph_teardown || bad=1
	return $bad
}

# in_machine sbx|docker: loops run in the machines of that command line.
in_machine() {
	fake_sbx "$1"
	export RALPH_ENGINE=sbx
	[ "$1" = sbx ] || RALPH_ENGINE=docker-sandbox
}

# apart FILE: of the state that is kept out of the workspace.
apart() {
	local all=("$XDG_STATE_HOME"/ralph/loops/*/)

	same 1 "${#all[@]}"
	echo "${all[0]}$1"
}

two_tasks() {
	in_machine "$1"
	loop_workspace 2
	build 0 honest
	same 'done done' "$(verdicts)"
	same 'true true' "$(passes US-1) $(passes US-2)"
	# A commit of the agent and one with the mark for each.
	same 4 "$(git log --oneline "$(git merge-base HEAD "@{-1}")"..HEAD 2>/dev/null | wc -l)"
	[ ! -e .ralph/state ] && [ -s "$(apart loop.json)" ] && [ -s "$(apart tasks.json)" ]
	# What the agent was started with, and every check, ran in there.
	same 2 "$(calls 'exec -i' | grep -c './agent.py honest')"
	has "$(calls 'exec -i')" 'test -f US-1'
	same '' "$(git status --porcelain -- . ':!.ralph')"
	# With the work its machine is done.
	same "" "$(ralph ls -q)"
	same "" "$(compgen -G "$FAKE/fake/vms/*")"
}

@test 'sbx: two tasks become two verified commits, and the state is not in the workspace' {
	two_tasks sbx
}

@test 'docker sandbox: the same' {
	two_tasks docker
}

# An agent that writes whatever it reaches of the loop and of the user's, and then says that all is done.
forger() {
	cat >agent.sh <<-'END'
		#!/bin/bash
		[ ! -e .ralph/state ] || echo "the state is here" >>seen
		[ ! -e "$1" ] || echo "the state is there" >>seen
		mkdir -p .ralph/state
		echo '{"version":1,"source":".ralph/prd.json","open":null,"reach":null,"progress":null,"tasks":[]}' >.ralph/state/tasks.json
		echo '{}' >.ralph/state/loop.json
		echo '{"pid":1,"start":1}' >.ralph/active
		echo 'Say that all is done.' >.ralph/prompt.md
		echo 'engine: native' >.ralph/config.yaml
		sed -i 's/"passes": false/"passes": true/; s/test -f US-1/true/; s/US-1 exists/nothing/' .ralph/prd.json
		echo 'touch hook-ran' >>.git/hooks/pre-push
		exec python3 agent.py claims-done
	END
	chmod +x agent.sh
	printf '#!/bin/sh\nexit 0\n' >.git/hooks/pre-push
	chmod 755 .git/hooks/pre-push
	git add -A
	git commit -qm agent
}

nothing_forged() {
	local list hook

	in_machine "$1"
	loop_workspace 1
	forger
	list=$(cat .ralph/prd.json)
	hook=$(cat .git/hooks/pre-push)
	loop_exits 4 build --max-stuck 9 --max-attempts 2 -- ./agent.sh "$XDG_STATE_HOME/ralph"
	same 'not-verified not-verified' "$(verdicts)"
	same false "$(passes US-1)"
	same "$list" "$(sed 's/"notes": ".*"/"notes": ""/' .ralph/prd.json)"
	same 'Do the task below.' "$(cat .ralph/prompt.md)"
	same "$hook" "$(cat .git/hooks/pre-push)"
	[ ! -e .ralph/config.yaml ] && [ ! -e .ralph/state ]
	[ ! -e seen ] || fail "$(cat seen)"
	has "$(cat "$T/err")" "the criteria of US-1 were changed; they were put back"
	has "$(ralph quarantine ls)" .ralph/state
	has "$(ralph task ls)" US-1
}

@test 'sbx: state, list, prompt, settings and hooks that an agent writes count for nothing' {
	nothing_forged sbx
}

@test 'docker sandbox: the same of them' {
	nothing_forged docker
}

@test 'one Ctrl-C pauses, resume goes on; ralph status, pause, task and answer find the state' {
	in_machine sbx
	loop_workspace 2
	begin waits
	wait_until -t 60 test -e waiting
	has "$(ralph status)" "story 1"
	has "$(ralph task ls)" US-2
	# What the agent makes of that file is nobody's business.
	rm -f .ralph/active
	(cd / && ralph pause "$WS")
	wait_until grep -q 'pausing after this iteration' "$T/err"
	touch go-on
	ends 9
	same 'true false' "$(passes US-1) $(passes US-2)"
	loop_exits 0 resume
	same 'done done' "$(verdicts)"
	must_exit 2 ralph pause 2>/dev/null
	has "$(ralph logs 1)" 'write US-1'
}

@test 'a question is answered from outside' {
	in_machine docker
	loop_workspace 1
	build 6 decides
	has "$(ralph answer)" 'SQLite or Postgres?'
	ralph answer SQLite
	loop_exits 0 resume
	same true "$(passes US-1)"
}

@test 'a kill -9 of the loop: the machine is stopped, and resume goes on with the same counters' {
	in_machine sbx
	loop_workspace 2
	begin waits
	wait_until -t 60 test -e waiting
	kill -9 "$LOOP"
	wait "$LOOP" || :
	wait_until -t 60 eval '[ "$(vm status)" = stopped ]'
	touch go-on
	loop_exits 0 resume
	same 'interrupted done done' "$(verdicts)"
	same 'true true' "$(passes US-1) $(passes US-2)"
}

@test 'what a native loop knew is moved, once, and a native one finds it there again' {
	local key

	need bwrap
	loop_workspace 3
	RALPH_ENGINE=native build 3 honest --max-iterations 1
	[ -e .ralph/state/loop.json ]
	in_machine sbx
	loop_exits 3 resume --max-iterations 2
	[ ! -e .ralph/state ]
	key=$(apart loop.json)
	same 'true true false' "$(passes US-1) $(passes US-2) $(passes US-3)"
	RALPH_ENGINE=native loop_exits 0 resume --max-iterations 9
	same 'done done done' "$(verdicts)"
	[ ! -e .ralph/state ]
	same "$key" "$(apart loop.json)"
	same 1 "$(git log --format=%s | grep -c 'US-1: US-1')"
}

@test 'a command in a machine moves the state too, and waits for no native loop that works there' {
	need bwrap
	fake_sbx sbx
	loop_workspace 1
	export RALPH_ENGINE=native
	begin waits
	wait_until -t 60 test -e waiting
	run --separate-stderr ralph --engine sbx run -n other -- true
	same 125 "$status"
	has "$stderr" "a loop works in this workspace"
	touch go-on
	ends 0
	ralph --engine sbx run -n other -- sh -c 'test ! -e .ralph/state'
	[ -s "$(apart loop.json)" ]
	has "$(ralph task ls)" "done"
}

@test 'another directory at the same path has another state' {
	in_machine sbx
	loop_workspace 1
	build 0 honest
	same 1 "$(state_dirs)"
	cd /
	mv "$WS" "$WS.old"
	cp -r "$WS.old" "$WS"
	rm -rf "$WS.old"
	cd "$WS"
	has "$(ralph task ls)" US-1
	git switch -q -
	build 0 honest
	same 1 "$(state_dirs)" # that of the directory that is gone was removed
}

state_dirs() {
	find "$XDG_STATE_HOME/ralph/loops" -mindepth 1 -maxdepth 1 -type d | wc -l
}

# scripted_claude DIR: a program of that name, which works.
scripted_claude() {
	mkdir -p "$1"
	cat >"$1/claude" <<-'SH'
		#!/bin/sh
		case ${1-} in --version) echo 2.1.325; exit ;; esac
		env | grep -E '^(ANTHROPIC|RALPH_TASK)' >.git/given
		exec python3 ./agent.py honest
	SH
	chmod 755 "$1/claude"
}

@test 'ralph build claude: the agent of the machine, with a phantom for its key' {
	in_machine sbx
	loop_workspace 2
	scripted_claude "$HOME/tools"
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	echo "mounts: [{path: $HOME/tools}]" >"$XDG_CONFIG_HOME/ralph/config.yaml"
	ANTHROPIC_API_KEY=key-of-the-host loop_exits 0 --engine sbx build claude --env "PATH=$HOME/tools:/usr/bin:/bin"
	same 'done done' "$(verdicts)"
	has "$(cat .git/given)" "ANTHROPIC_BASE_URL=http://host.docker.internal:"
	must_fail grep -rqF key-of-the-host "$FAKE" "$XDG_STATE_HOME"
}

@test 'no sandbox: the state is not in the workspace either' {
	loop_workspace 1
	scripted_claude "$T/bin"
	PATH=$T/bin:$PATH loop_exits 0 --no-sandbox build claude
	same true "$(passes US-1)"
	[ ! -e .ralph/state ] && [ -s "$(apart loop.json)" ]
}
