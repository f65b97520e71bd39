# runs: user
# ralph adopt: git directories that appeared while a sandbox ran.
# What is in single quotes is for the shell inside.
# shellcheck disable=SC2016
load helpers

make_nested() {
	ralph run --rm -- sh -c 'git init -q -b main lib/x; cd lib/x; echo 1 >f; git add f; git -c user.name=x -c user.email=x commit -q -m one; git tag v1; git branch other' 2>"$T/notices"
}

id_of() {
	ralph adopt --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["id"])'
}

@test 'adopt without a path lists what was put away' {
	same '[]' "$(ralph adopt --json)"
	make_nested
	has "$(cat "$T/notices")" "1 git directory that appeared was put away: lib/x/.git"
	has "$(cat "$T/notices")" "ralph adopt lib/x"
	has "$(ralph adopt)" "$WS/lib/x/.git"
	has "$(ralph adopt --json)" "\"root\": \"$WS\""
}

@test 'adopt makes a new repository with the commits, and moves the old one to quarantine' {
	make_nested
	ralph adopt lib/x >"$T/out"
	has "$(cat "$T/out")" 'took refs/heads/main'
	has "$(cat "$T/out")" 'took refs/heads/other'
	has "$(cat "$T/out")" 'took refs/tags/v1'
	has "$(git -C lib/x log --oneline main)" one
	same "" "$(git -C lib/x status --porcelain)"
	git -C lib/x fsck
	same '[]' "$(ralph adopt --json)"
	has "$(ralph quarantine ls)" lib/x/.git
	# It is the user's now, and stays.
	ralph run --rm -- true 2>"$T/notices"
	[ -d lib/x/.git ]
	lacks "$(cat "$T/notices")" 'put away'
}

@test 'adopt takes a path below the workspace, an absolute one, the git directory or an id' {
	make_nested
	mkdir -p elsewhere
	(cd elsewhere && ralph adopt --mine lib/x)
	[ -d lib/x/.git ]
	for said in "$WS/lib/x" "$WS/lib/x/" lib/x/.git id; do
		rm -rf lib
		make_nested
		[ "$said" != id ] || said=$(id_of)
		ralph adopt --mine "$said"
		[ -d lib/x/.git ]
	done
}

@test 'adopt refuses what is not there, a place that is taken, and a workspace where a sandbox runs' {
	local name=live-${WS##*-}

	must_exit 1 ralph adopt nowhere 2>"$T/err"
	has "$(cat "$T/err")" 'see: ralph adopt'
	must_exit 2 ralph adopt --mine
	make_nested
	git init -q lib/x
	must_exit 1 ralph adopt lib/x 2>"$T/err"
	has "$(cat "$T/err")" 'move it away first'
	must_exit 1 ralph adopt --mine lib/x 2>"$T/err"
	has "$(cat "$T/err")" 'move it away first'
	rm -rf lib/x/.git
	ralph run -d -n "$name"
	must_exit 1 ralph adopt lib/x 2>"$T/err"
	has "$(cat "$T/err")" "run: ralph stop $name"
	ralph stop "$name"
	ralph adopt lib/x
}

@test 'adopt says what only --mine can put back' {
	ralph run --rm -- git init -q --bare x.git
	must_exit 1 ralph adopt x.git 2>"$T/err"
	has "$(cat "$T/err")" 'ralph adopt --mine'
	ralph adopt --mine x.git
	same true "$(git -C x.git rev-parse --is-bare-repository)"
}

@test 'adopt that fails leaves nothing at the place, and all where it was put away' {
	make_nested
	rm -rf "$XDG_STATE_HOME"/ralph/nested/*/content/objects/*
	must_exit 1 ralph adopt lib/x 2>"$T/err"
	[ ! -e lib/x/.git ]
	same 1 "$(ralph adopt --json | grep -c '"id"')"
}

@test 'adopt --drop removes it for good' {
	make_nested
	ralph adopt --drop lib/x
	same '[]' "$(ralph adopt --json)"
	same "" "$(ls -A "$XDG_STATE_HOME/ralph/nested")"
}

@test 'status, inspect and rm say what was put away' {
	local name=told-${WS##*-}

	ralph run -n "$name" -- git init -q sub
	has "$(ralph status)" "$WS/sub/.git; see: ralph adopt"
	has "$(ralph status --json)" '"nested"'
	has "$(ralph inspect --json "$name")" "\"path\": \"$WS/sub/.git\""
	ralph rm "$name" 2>"$T/err"
	has "$(cat "$T/err")" "1 git directory that appeared while '$name' ran is kept; see: ralph adopt"
	ralph adopt --mine sub
	[ -d sub/.git ]
}

@test 'on a terminal --mine asks, and no leaves it put away' {
	make_nested
	python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" 'expect:Did you make.*\?' 'send:n\n' 'expect:stays put away' -- "$RALPH" adopt --mine lib/x || :
	[ ! -e lib/x/.git ] || fail "$(cat "$T/out")"
	ralph --yes adopt --mine lib/x
	[ -d lib/x/.git ]
}

@test 'doctor names the settings that help while a sandbox lives' {
	GIT_CONFIG_GLOBAL=$T/g ralph doctor >"$T/out" || :
	has "$(cat "$T/out")" 'safe.bareRepository is not set'
	has "$(cat "$T/out")" 'git.autoRepositoryDetection'
	git config -f "$T/g" safe.bareRepository explicit
	GIT_CONFIG_GLOBAL=$T/g ralph doctor >"$T/out" || :
	has "$(cat "$T/out")" 'safe.bareRepository is explicit'
}

@test 'the audit says what does not hold while a sandbox lives, and that --clone closes it' {
	has "$(ralph audit 2>&1)" 'a git directory that it makes can run programs'
	lacks "$(ralph audit --clone 2>&1)" 'a git directory that it makes can run programs'
}
