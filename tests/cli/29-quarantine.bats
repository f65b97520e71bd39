# runs: user
# What a sandbox leaves for the host to run: who is asked, and what becomes of it without an answer.
# shellcheck disable=SC2016 # what is in single quotes is for the shell inside
load helpers

# on_terminal STEP… -- CMD…: see terminal.py; $T/out has what came.
on_terminal() {
	python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" "$@"
}

MAKE='echo one >.envrc; mkdir -p .vscode; echo two >.vscode/tasks.json; echo three >.mcp.json'

@test 'on a terminal each is asked about: kept, shown, or moved by Enter' {
	# In the order of their paths in the quarantine, which is that of time: each answer is by its question.
	on_terminal 'expect:\.envrc. is new or changed.*\?' 'send:k\n' 'expect:kept' -- \
		"$RALPH" run --rm --no-tty -- sh -c 'echo one >.envrc'
	same one "$(cat .envrc)"
	on_terminal 'expect:\.mcp\.json. is new or changed.*\?' 'send:s\n' 'expect:three' 'expect:\?' 'send:\n' -- \
		"$RALPH" run --rm --no-tty -- sh -c 'echo three >.mcp.json'
	[ ! -e .mcp.json ]
	has "$(ralph quarantine ls)" .mcp.json
}

@test 'a file that your repository has is shown as a difference, on request and by quarantine show' {
	local id

	printf 'layout go\nexport A=1\n' >.envrc
	git init -q . && git add .envrc && git -c user.name=t -c user.email=t@t.invalid commit -qm start
	on_terminal 'expect:direnv.*\?' 'send:s\n' 'expect:a/\.envrc' 'expect: layout go' 'expect:-export A=1' \
		'expect:\+export A=.x1b.2J' 'expect:\?' 'send:\n' -- \
		"$RALPH" run --rm --no-tty -- sh -c 'printf "layout go\nexport A=\033[2J\n" >.envrc'
	same 1 "$(ralph quarantine ls --json | grep -c '"path"')"
	id=$(ralph quarantine ls --json | sed -n 's/.*"id": "\(.*\)".*/\1/p')
	has "$(ralph quarantine show "$id")" '-export A=1'
	# Without a version in git there is nothing to compare with: its text.
	ralph run --rm -- sh -c 'echo three >.mcp.json' 2>/dev/null </dev/null
	id=$(ralph quarantine ls --json | sed -n 's/.*"id": "\(.*\)".*/\1/p' | tail -n 1)
	has "$(ralph quarantine show "$id")" '    three'
}

@test 'without a terminal, with --yes and detached nobody is asked, and each is moved and named once' {
	local name=ask-${WS##*-}

	ralph run --rm -- sh -c "$MAKE" 2>"$T/err" </dev/null
	for f in .envrc .vscode .mcp.json; do
		[ ! -e "$f" ] || fail "$f is still there"
		same 1 "$(grep -c "$WS/$f'" "$T/err")"
	done
	on_terminal -- "$RALPH" --yes run --rm --no-tty -- sh -c "$MAKE"
	[ ! -e .envrc ]
	ralph run -d -n "$name"
	ralph exec "$name" sh -c "$MAKE; cat .envrc"
	same two "$(cat .vscode/tasks.json)"
	ralph stop "$name" 2>"$T/err"
	for f in .envrc .vscode .mcp.json; do
		[ ! -e "$f" ] || fail "$f is still there"
		has "$(cat "$T/err")" "$WS/$f'"
	done
}

@test 'the other words for quarantine mean what they did' {
	ralph run --rm --quarantine git -- sh -c "$MAKE" 2>"$T/err"
	[ -e .envrc ]
	has "$(cat "$T/err")" "look at it before you go on"
	rm -rf .envrc .vscode .mcp.json
	ralph run --rm --quarantine none -- sh -c "$MAKE" 2>"$T/err"
	[ -e .envrc ]
	must_exit 2 ralph run --rm --quarantine maybe -- true
}

@test 'npm ci with the prepare script of husky works inside' {
	need npm
	mkdir -p .husky husky/bin
	same 0 "$(ralph run --rm -- printenv HUSKY)"
	echo true >.husky/pre-commit
	# What husky 9 does, as a package of its own.
	printf '#!/usr/bin/env node\nif (process.env.HUSKY === "0") process.exit(0)\nrequire("fs").mkdirSync(".husky/_", {recursive: true})\n' >husky/bin/husky.js
	chmod +x husky/bin/husky.js
	echo '{"name": "husky", "version": "9.0.0", "bin": "bin/husky.js"}' >husky/package.json
	echo '{"name": "x", "version": "1.0.0", "scripts": {"prepare": "husky"}, "devDependencies": {"husky": "file:husky"}}' >package.json
	npm install --ignore-scripts --offline --no-audit --no-fund >/dev/null 2>&1
	rm -rf node_modules
	ralph run --rm -- npm ci --offline --no-audit --no-fund
	[ ! -e .husky/_ ]
}
