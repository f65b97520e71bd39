# runs: user
# Names and text of the agent, wherever ralph prints them: a terminal must find nothing in there to carry out.
# shellcheck disable=SC2016 # what is in single quotes is for the shell inside
load attack

# C1 as UTF-8, a reversed direction, an escape sequence, a title.
BAD=$'x\xc2\x9b31my\xe2\x80\xae\x1b[2J\x1b]0;t\x07z'
RAW=$BAD$'\x9b31m' # and a byte that is no UTF-8

# inert COMMAND…: prints no character that a terminal acts on, and the name that was meant, escaped. Each place is looked at:
# all_inert says which failed.
inert() {
	check_inert "$@" 2>>"$T/active" || :
}

all_inert() {
	[ ! -s "$T/active" ] || fail "$(cut -c1-300 "$T/active")"
}

check_inert() {
	"$@" >"$T/out" 2>&1 </dev/null || :
	python3 - "$T/out" <<-'EOF' || fail "$* prints what a terminal acts on"
		import sys, unicodedata
		text = open(sys.argv[1], "rb").read().decode("utf-8", "surrogateescape")
		bad = [c for c in text if c not in "\n\t" and (unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp"))]
		sys.exit(f"printed as they are: {bad}" if bad else 0)
	EOF
	grep -qiE '\\u\{9B\}31m|\\u009b31m|\\xc2\\x9b31m' "$T/out" || fail "$*: the name is not printed: $(tail -c 200 "$T/out")"
}

@test 'names in the workspace: plan, audit, warnings, record, events, quarantine' {
	local name=shown-${WS##*-}

	echo secret >".env$BAD"
	inert ralph run --rm --dry-run -- true
	inert ralph audit
	inert ralph audit --json
	inert ralph run -n "$name" --quarantine all -- sh -c 'mkdir "$1" "d$1"; echo x >"$1/.envrc"; git init -q "d$1"
		git -C "d$1" config core.fsmonitor x' - "$BAD"
	inert ralph inspect "$name"
	inert ralph inspect "$name" --json
	inert ralph events "$name"
	inert ralph events "$name" --json
	inert ralph quarantine ls
	inert ralph quarantine ls --json
	inert ralph quarantine show "$(ralph quarantine ls --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["id"])')"
	mkdir -p "$BAD"
	echo x >"$BAD/.envrc"
	inert ralph why "$WS/$BAD/.envrc"
	inert ralph why --json "$WS/$BAD/.envrc"
	all_inert
}

@test 'names in errors and logs, as text and as JSON' {
	inert ralph run --rm "$WS/$RAW" -- true
	inert ralph --log-format json run --rm "$WS/$RAW" -- true
	inert ralph run --rm "--no-such-$RAW"
	inert ralph exec "$RAW" true
	all_inert
}

@test 'a directory with such a name: trust and status' {
	mkdir -p "$HOME/$BAD/.ralph"
	echo 'network: {tier: none}' >"$HOME/$BAD/.ralph/config.yaml"
	inert ralph trust "$HOME/$BAD"
	echo 'workspace: {quarantine: none}' >"$HOME/$BAD/.ralph/config.yaml"
	inert ralph --yes trust "$HOME/$BAD"
	inert ralph trust --list
	inert ralph trust --list --json
	inert ralph run --rm "$HOME/$BAD" --dry-run -- true
	all_inert
}
