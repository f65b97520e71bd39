#!/usr/bin/env bats
# runs: user
# What a person meets every day: narrow terminals, lists for scripts, one list of warnings, small settings.
# shellcheck disable=SC2088 # ralph reads the ~ itself
# shellcheck disable=SC2154 # stderr comes from bats
# shellcheck disable=SC2016 # what is in single quotes is for another shell
load helpers
load sandbox
load loop

# on_terminal STEP… -- CMD…: see terminal.py; $T/out has what came.
on_terminal() {
	python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" "$@"
}

# fits COLUMNS: no line of $T/out is wider.
fits() {
	python3 -c '
import sys
wide = [line for line in open(sys.argv[1], encoding="utf-8").read().splitlines() if len(line) > int(sys.argv[2])]
sys.exit("too wide: %s" % wide if wide else 0)' "$T/out" "$1"
}

@test 'ls and status fit 44 columns, with the columns that matter most' {
	ralph run -d -n "a-sandbox-with-a-name-that-is-far-too-long-${WS##*-}"
	on_terminal size:24x44 -- sh -c "stty cols 44; $RALPH ls; $RALPH status"
	fits 44
	has "$(cat "$T/out")" NAME
	has "$(cat "$T/out")" PROJECT
	has "$(cat "$T/out")" running
	# In a pipe nothing is left out.
	has "$(ralph ls)" "$WS"
	has "$(ralph status)" "a-sandbox-with-a-name-that-is-far-too-long-${WS##*-}"
}

@test 'a terminal without UTF-8 gets no sign beyond ASCII' {
	ralph run -d -n "a-sandbox-with-a-name-that-is-far-too-long-${WS##*-}"
	on_terminal -- sh -c "stty cols 44; LC_ALL=C $RALPH ls; LC_ALL=C $RALPH help run"
	same '' "$(LC_ALL=C grep -P '[^\x00-\x7f]' "$T/out")"
	has "$(cat "$T/out")" '~'
}

@test 'logs --json and diff --json print what the text says' {
	loop_workspace 1
	build 0 honest
	ralph logs --json 1 >"$T/lines"
	python3 - "$T/lines" <<-'END'
		import json, sys
		rows = [json.loads(line) for line in open(sys.argv[1])]
		assert rows and all(r["iteration"] == 1 for r in rows), rows
		assert any(r["kind"] == "words" and r["text"] == "Done." for r in rows), rows
		assert any("US-1" in r["text"] for r in rows), rows
	END
	must_exit 2 ralph logs --json --raw 1
	ralph run -n "c-${WS##*-}" --clone -- sh -c 'echo new >file; git add file; git commit -qm "a file"'
	ralph diff --json "c-${WS##*-}" >"$T/diff"
	same "c-${WS##*-}" "$(get 'j["sandbox"]' <"$T/diff")"
	has "$(get 'j["branches"][0]["ref"]' <"$T/diff")" heads/
	has "$(get 'j["branches"][0]["patch"]' <"$T/diff")" '+new'
	has "$(ralph diff --json --stat "c-${WS##*-}" | get 'j["branches"][0]["stat"]')" '1 file changed'
}

@test 'diff --iteration shows what an iteration of the loop committed, and --json its record' {
	loop_workspace 2
	build 0 honest
	has "$(ralph diff --iteration 2)" '+++ b/US-2'
	lacks "$(ralph diff --iteration 2)" US-1
	ralph diff --iteration 1 --json >"$T/diff"
	same US-1 "$(get 'j["task"]' <"$T/diff")"
	has "$(get 'j["patch"]' <"$T/diff")" '+++ b/US-1'
	same "$(git rev-parse "$(get 'j["commit"]' <"$T/diff")^{commit}")" "$(get 'j["commit"]' <"$T/diff")"
	has "$(ralph diff --iteration 1 --stat 2>&1)" '1 file changed'
	must_exit 1 ralph diff --iteration 9
	has "$(ralph diff --iteration 9 2>&1)" 'has ended an iteration 9'
	must_exit 2 ralph diff --iteration 1 . more
	must_exit 2 ralph diff
}

@test 'task ls and status have lists for completion' {
	loop_workspace 2
	same $'US-1\nUS-2' "$(ralph task ls --quiet)"
	build 0 honest
	same "$WS" "$(ralph status --quiet)"
}

@test 'warnings about files are one list behind the output, each file once' {
	ralph run --rm -- sh -c 'for i in 1 2 3; do echo $i >.envrc; sleep 0.3; done; echo x >.mcp.json; for i in 1 2 3 4 5 6; do echo line $i; sleep 0.1; done' \
		>"$T/out" 2>&1 </dev/null
	# Nothing stands between the lines of the program.
	same "$(printf 'line %s\n' 1 2 3 4 5 6)" "$(head -n 6 "$T/out")"
	same 1 "$(grep -c "/.envrc'" "$T/out")"
	same 1 "$(grep -c "/.mcp.json'" "$T/out")"
}

@test 'a file that is asked about is named once, and the question says who would run it' {
	on_terminal 'expect:\.envrc. is new or changed: .*direnv.*\?' 'send:\n' -- \
		"$RALPH" run --rm --no-tty -- sh -c 'echo one >.envrc'
	same 1 "$(grep -c "/.envrc'" "$T/out")"
}

@test 'an inbox may end in slashes or begin with the home' {
	for dir in "$HOME/one/" '~/one' '~/one//'; do
		SANDBOX_INBOX_DIR=$dir ralph audit --json >"$T/spec"
		same "$HOME/one" "$(get 'j["inbox"]' <"$T/spec")"
	done
	must_exit 2 env SANDBOX_INBOX_DIR=one "$RALPH" audit --json
}

@test 'an inbox that cannot be made is said at the start, and nothing else fails' {
	echo file >"$HOME/file"
	run --separate-stderr env SANDBOX_INBOX_DIR="$HOME/file/inbox" "$RALPH" run --rm -- echo works
	same works "$output"
	has "$stderr" "conversations will not be saved"
	has "$stderr" "$HOME/file"
}

@test 'a profile may be a file of JSON' {
	mkdir -p "$XDG_CONFIG_HOME/ralph/profiles"
	echo '{"network": {"tier": "none"}}' >"$XDG_CONFIG_HOME/ralph/profiles/quiet.json"
	same none "$(ralph --profile quiet audit --json | get 'j["network"]["tier"]')"
	has "$(ralph profile ls --quiet)" quiet
	has "$(ralph profile show quiet)" tier
	must_exit 2 ralph --profile quite audit --json
}

@test 'the native --dry-run shows variables, network, credentials and the command' {
	ralph --dry-run run --engine native --allow example.com -e COLOR=blue -- sh -c 'echo "a b"' >"$T/plan"
	has "$(cat "$T/plan")" "guest launch"
	for part in Environment COLOR= Network example.com Credentials Command "sh -c 'echo \"a b\"'"; do
		has "$(cat "$T/plan")" "$part"
	done
	lacks "$(cat "$T/plan")" blue
}

@test 'an empty login is no login' {
	mkdir -p "$HOME/.claude" "$HOME/.codex"
	: >"$HOME/.claude/.credentials.json"
	echo >"$HOME/.codex/auth.json"
	same missing "$(ralph check-token --agent claude --json | get 'j["credentials"][0]["state"]' || :)"
	same missing "$(ralph check-token --agent codex --json | get 'j["credentials"][0]["state"]' || :)"
	ralph run --rm --agent claude -- true
}

@test 'an unusable login is 8 for loops, preflight and check-token, 125 for run and up, in the same words' {
	loop_workspace 1
	mkdir -p "$HOME/.codex"
	echo '{' >"$HOME/.codex/auth.json"
	words="'$HOME/.codex/auth.json' is not a whole JSON document; run: codex login"
	said() {
		local want=$1
		shift
		run --separate-stderr "$RALPH" "$@"
		same "$want" "$status"
		has "$stderr$output" "$words"
	}
	said 8 check-token --agent codex
	said 8 preflight --agent codex
	said 125 run --agent codex -- true
	said 125 up --agent codex --detach
	printf '#!/bin/sh\n' >"$T/codex"
	chmod +x "$T/codex"
	PATH=$T:$PATH said 8 build codex
	has "$stderr" 'see: ralph check-token'
}

@test 'a build that is refused leaves no new branch' {
	loop_workspace 1
	before=$(git branch --format '%(refname:short) %(objectname)')
	# The engine cannot be used here: the start is refused after the list was read.
	must_fail env DOCKER_HOST="unix://$T/nobody" "$RALPH" build --engine docker -- ./agent.py honest
	same "$before" "$(git branch --format '%(refname:short) %(objectname)')"
	same '' "$(git status --porcelain -uno)"
	build 0 honest
	has "$(git branch --list)" ralph/demo
}

@test 'a build with --worktree that is refused leaves neither its branch nor its worktree' {
	loop_workspace 1
	before=$(git for-each-ref)
	start=$(git branch --show-current)
	must_fail env DOCKER_HOST="unix://$T/nobody" "$RALPH" build --worktree --engine docker -- ./agent.py honest
	same "$before" "$(git for-each-ref)"
	same 1 "$(git worktree list | wc -l)"
	[ ! -e "$PWD-worktrees" ]
	# The next loop is not taken for one in a worktree.
	build 0 honest
	same ralph/demo "$(git branch --show-current)"
	# A branch that was there before stays; its worktree does not.
	git checkout -q "$start"
	git branch kept
	must_fail env DOCKER_HOST="unix://$T/nobody" "$RALPH" build --branch kept --worktree --engine docker -- ./agent.py honest
	git rev-parse -q --verify kept
	same 1 "$(git worktree list | wc -l)"
}

@test "behind Claude's own line stands ralph's, which resumes in the sandbox" {
	mkdir -p "$HOME/.local/bin"
	id=01234567-89ab-cdef-0123-456789abcdef
	cat >"$HOME/.local/bin/claude" <<-END
		#!/bin/sh
		case "\$*" in *--resume*) echo "resumed: \$*"; exit;; esac
		printf '\033[2mResume this session with:\033[22m\r\n\033[2mclaude --dangerously-skip-permissions --resume $id\033[22m\r\n'
	END
	chmod +x "$HOME/.local/bin/claude"
	export PATH=$HOME/.local/bin:$PATH
	on_terminal -- "$RALPH" --yes run claude
	line=$(sed -n 's/\r$//; s/^.*resume in the sandbox with: //p' "$T/out")
	same "ralph run claude --resume $id" "$line"
	# It works as it stands there.
	ralph_words() {
		shift
		ralph "$@"
	}
	# shellcheck disable=SC2086 # a command line
	has "$(ralph_words $line </dev/null)" "--resume $id"
}
