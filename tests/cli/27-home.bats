#!/usr/bin/env bats
# runs: user
# One home for each project: who shares it, and what leaves it alone.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load helpers
load sandbox

home() {
	find "$XDG_STATE_HOME/ralph/homes" -maxdepth 1 -type d -name "${WS##*/}-*"
}

@test 'branches, worktrees and subdirectories of a repository have one home' {
	ralph run -- sh -c 'echo kept >~/mark'
	git switch -qc other
	same kept "$(ralph run -- sh -c 'cat ~/mark')"
	git worktree add -q "$HOME/tree" -b tree
	same kept "$(ralph run "$HOME/tree" -- sh -c 'cat ~/mark')"
	mkdir sub
	same kept "$(ralph run -n sub sub -- sh -c 'cat ~/mark')"
	same 1 "$(find "$XDG_STATE_HOME/ralph/homes" -mindepth 1 -maxdepth 1 -type d | wc -l)"
}

@test 'git init in a plain directory keeps the home, and so does removing .git' {
	mkdir "$HOME/plain"
	cd "$HOME/plain"
	ralph run -n before -- sh -c 'echo kept >~/mark'
	git init -q .
	same kept "$(ralph run -n after -- sh -c 'cat ~/mark; echo more >~/more' 2>"$T/err")"
	has "$(cat "$T/err")" "the home of '$HOME/plain' is that of '$HOME/plain/.git' now"
	same kept "$(ralph run -n after -- sh -c 'cat ~/mark' 2>"$T/err")"
	lacks "$(cat "$T/err")" 'the home of'
	rm -rf .git
	same more "$(ralph run -n again -- sh -c 'cat ~/more' 2>/dev/null)"
	same 1 "$(find "$XDG_STATE_HOME/ralph/homes" -mindepth 1 -maxdepth 1 -type d -name 'plain-*' | wc -l)"
	same "$HOME/plain" "$(readlink "$XDG_STATE_HOME"/ralph/homes/plain-*.project)"
}

@test 'rm, prune and --rm leave the home; --rm has another one' {
	ralph run -- sh -c 'echo kept >~/mark'
	same '' "$(ralph run --rm -- sh -c 'cat ~/mark 2>/dev/null; echo lost >~/mark')"
	ralph rm --all
	ralph prune
	ralph gc
	same kept "$(ralph run -- sh -c 'cat ~/mark')"
}

@test 'two sandboxes of a project share the home while both live' {
	ralph run -d -n one
	ralph run -d -n two
	ralph exec one sh -c 'echo hello >~/mark'
	same hello "$(ralph exec two sh -c 'cat ~/mark')"
	ralph rm -f one
	same hello "$(ralph exec two sh -c 'cat ~/mark')"
}

@test 'sandboxes that share a home export its conversations once' {
	ralph run -n one -- sh -c 'mkdir -p ~/.claude/projects/p; echo "$0" >~/.claude/projects/p/a.jsonl' \
		'{"type":"user","uuid":"1","sessionId":"a","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"hi"}}'
	ralph run -n two -- true
	has "$(ralph export -o "$T/out")" '1 written, 0 unchanged'
}

@test 'rm --home asks, refuses while a sandbox has it, and removes it with everything beside it' {
	ralph run -d -n one -- true
	run --separate-stderr must_exit 2 ralph rm --home
	has "$stderr" 'add --yes'
	run --separate-stderr must_exit 1 ralph --yes rm --home
	has "$stderr" 'a running sandbox has the home'
	ralph --yes rm --home -f one
	same migrated "$(ls -A "$XDG_STATE_HOME/ralph/homes")"
}

@test 'gc -n lists the home of a project that is gone, and rm --home removes it by its name' {
	mkdir "$HOME/gone"
	ralph run -n gone "$HOME/gone" -- true
	rm -r "$HOME/gone"
	ralph prune
	has "$(ralph gc -n)" 'the home of a project that is gone'
	ralph gc
	ralph --yes rm --home "$(ralph gc -n --json | get 'j[0]["remove"]')"
	lacks "$(ralph gc -n)" 'the home of a project'
}

@test 'a worktree is trusted in the shared settings of an agent, and what the agent wrote there stays' {
	export RALPH_AGENT=claude
	ralph run -- sh -c 'sed "s/^{/{\"mine\":1,/" ~/.claude.json >~/x && mv ~/x ~/.claude.json'
	git worktree add -q "$HOME/tree" -b tree
	ralph run "$HOME/tree" -- true
	same "True 1 2" "$(get 'j["projects"]["'"$HOME"'/tree"]["hasTrustDialogAccepted"], j["mine"], len(j["projects"])' <"$(home)/.claude.json" | tr -d '(),')"
}
