# Pages of the manual, done by lib/page.py as a newcomer would: `load ../lib/pages` after `load agents`.
#
#   newcomer_setup      an empty home but for a login of Claude Code, in a network of the test's own, in which example.com answers
#   newcomer_model      what the model does in the course of getting-started.md
#   page FILE [OPTION…]       lib/page.py in the bed; what it says is in $T/page
#   page_holds NAME [OPTION…] the same for a page of docs; fails where the page is not what happens
# shellcheck shell=bash

PAGES=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../docs" && pwd)

newcomer_setup() {
	BED_NAMES=${BED_NAMES:-DNS:example.com} agents_setup || return
	zone '{"llm.test": {"A": ["8.8.4.4"]}, "example.com": {"A": ["8.8.4.1"]},
		"packages.example.com": {"A": ["8.8.4.4"]}, "wheels.example.com": {"A": ["8.8.4.4"]}}'
	# What the bed has made for others: a newcomer has no sandbox and no repository.
	ralph rm --all --force >/dev/null
	rm -rf "$WS"
	cd "$HOME" || return
	export PATH=${RALPH%/*}:$PATH
	# Where a newcomer has them.
	mkdir "$HOME/.config" "$HOME/.local"
	mv "$XDG_CONFIG_HOME/ralph" "$HOME/.config/"
	mv "$XDG_STATE_HOME" "$HOME/.local/state"
	export XDG_CONFIG_HOME=$HOME/.config XDG_STATE_HOME=$HOME/.local/state
	login claude oauth
}

newcomer_model() {
	steps "$(python3 - <<-'PY'
		import json
		def bash(command): return ["Bash", {"command": command, "description": "work"}]
		def work(id, file, text):
		    mark = ("import json; p='.ralph/agent/prd.json'; d=json.load(open(p))\n"
		            f"for s in d['userStories']:\n  if s['id']=='{id}': s['passes']=True\n"
		            "json.dump(d,open(p,'w'),indent=2)")
		    return [{"say": "I begin.", "call": bash(f"echo '{text}' >{file} && git add {file} && git commit -qm '{id}: {file}'")},
		            {"call": bash(f"python3 - <<'X'\n{mark}\nX")},
		            {"say": f"{file} is there and committed.\n<promise>COMPLETE</promise>"}]
		print(json.dumps([{"say": "A small project with a README."}] + work("US-1", "greeting.txt", "hello, you")
		                 + work("US-2", "farewell.txt", "goodbye, you")))
	PY
	)"
}

page() {
	bed python3 "$NETBED/page.py" "${@:2}" "$1" >"$T/page" 2>&1 3>&-
}

page_holds() {
	page "$PAGES/$1" "${@:2}" || fail "$(cat "$T/page")"
}
