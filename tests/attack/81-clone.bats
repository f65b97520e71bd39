# runs: user
# What an agent can make of its own clone, and of the stream that is read of it.
# What is in single quotes is for the shell inside; every test has an environment of its own.
# shellcheck disable=SC2016,SC2030,SC2031
load attack

setup() {
	attack_setup
	NAME=clone-${WS##*-}
	REPO=$(dirname "$(dirname "$RALPH")")/libexec/ralph/repo
	git init -q "$T/evil"
	rm -f "$WS/probe"
}

clone() {
	export EVIL="touch $T/canary"
	ralph run --clone -n "$NAME" -e "EVIL=$EVIL" -- sh -c "$1"
}

# stream REFLINE…: what git inside would write, with a pack of all that $T/evil has.
stream() {
	printf '%s\n' "$@" ''
	git -C "$T/evil" rev-list --all --objects | cut -d' ' -f1 | git -C "$T/evil" pack-objects -q --stdout
}

# refused: apply of stdin fails in order, and leaves no ref behind.
refused() {
	local before

	before=$(git for-each-ref; git rev-parse HEAD)
	must_fail "$REPO" apply "$WS" evil
	same "$before" "$(git for-each-ref; git rev-parse HEAD)"
	git fsck --no-progress --no-dangling
}

@test 'settings, hooks, filters and monitors of a clone never run on the host' {
	clone 'git config core.fsmonitor "$EVIL"; git config core.sshCommand "$EVIL"; git config uploadpack.packObjectsHook "$EVIL"
		git config diff.external "$EVIL"; git config filter.x.smudge "$EVIL"; git config filter.x.clean "$EVIL"; git config diff.x.textconv "$EVIL"
		echo "* filter=x diff=x" >.gitattributes; git config core.hooksPath h; mkdir h; for h in pre-commit post-checkout reference-transaction; do
		printf "#!/bin/sh\n$EVIL\n" >h/$h; chmod +x h/$h; done; git -c core.hooksPath=/dev/null -c filter.x.clean=cat add -A
		git -c core.hooksPath=/dev/null -c filter.x.clean=cat commit -qm evil; printf "[include]\n\tpath = ../inc\n" >>.git/config'
	ralph diff "$NAME" >/dev/null || :
	ralph apply "$NAME" || :
	[ ! -e "$T/canary" ]
}

@test 'objects of another repository do not come along by alternates' {
	git -C "$T/evil" -c user.name=x -c user.email=x commit -q --allow-empty -m precious
	local oid
	oid=$(git -C "$T/evil" rev-parse HEAD)
	clone "echo $T/evil/.git/objects >>.git/objects/info/alternates; echo $oid >.git/refs/heads/stolen"
	ralph apply "$NAME" || :
	must_fail git cat-file -e "$oid"
}

# bats test_tags=root
@test 'links in a clone lead nowhere' {
	mkdir "$T/precious"
	echo precious >"$T/precious/file"
	clone "rm -rf .git/objects/pack; ln -s $T/precious .git/objects/pack; ln -s $T/precious/file .git/refs/heads/x; ln -s / root; git add -A; git commit -qm links"
	ralph apply "$NAME" || :
	ralph diff "$NAME" || :
	ralph rm -f "$NAME"
	same precious "$(cat "$T/precious/file")"
}

@test 'a stream with names that are no branches is refused' {
	local oid name

	git -C "$T/evil" -c user.name=x -c user.email=x commit -q --allow-empty -m x
	oid=$(git -C "$T/evil" rev-parse HEAD)
	for name in refs/heads/../../HEAD refs/heads/../x refs/tags/x HEAD refs/heads/ refs/heads/a..b 'refs/heads/a b' refs/heads/-x \
		refs/heads/x.lock refs/heads/.x $'refs/heads/\x1b[31m' "refs/heads/$(printf 'a%.0s' {1..2000})"; do
		stream "$oid $name" | refused
	done
	stream "zzzz refs/heads/x" | refused
	stream "$oid" | refused
	for n in {1..4097}; do echo "$oid refs/heads/b$n"; done >"$T/many"
	{ cat "$T/many"; echo; stream | tail -n +2; } | refused
}

@test 'a commit with names that git would not check out is refused, and nothing of it stays' {
	local name oid blob tree before

	before=$(find .git -type f | sort | xargs sha256sum)
	blob=$(echo x | git -C "$T/evil" hash-object -w --stdin)
	for name in .git .GIT 'git~1' $'.g\xe2\x80\x8cit' .. .; do
		tree=$(printf '100644 blob %s\t%s\n' "$blob" "$name" | git -C "$T/evil" mktree)
		oid=$(git -C "$T/evil" -c user.name=x -c user.email=x commit-tree -m x "$tree")
		git -C "$T/evil" update-ref refs/heads/x "$oid"
		stream "$oid refs/heads/x" | refused
	done
	same "$before" "$(find .git -type f | sort | xargs sha256sum)"
}

@test 'a stream without its objects, cut off, or of another kind is refused' {
	local oid blob

	echo x >"$T/evil/x"
	git -C "$T/evil" add x
	git -C "$T/evil" -c user.name=x -c user.email=x commit -q -m x
	oid=$(git -C "$T/evil" rev-parse HEAD)
	blob=$(git -C "$T/evil" rev-parse HEAD:x)
	: | refused
	printf '\n\n\n' | refused
	head -c 100000 /dev/urandom | refused
	echo "$oid refs/heads/x" | refused
	printf '%s refs/heads/x\n\n' "$oid" | refused
	printf '%s refs/heads/x\n\nPACK\0\0\0\2\0\0\0\1' "$oid" | refused
	printf '%s refs/heads/x\n\nPACK\0\0\0\2\0\0\0\0' "$oid" | refused
	stream "$oid refs/heads/x" | head -c -30 | refused
	stream "$blob refs/heads/x" | refused
	stream "0123456789012345678901234567890123456789 refs/heads/x" | refused
	# A commit whose tree is missing.
	{ printf '%s refs/heads/x\n\n' "$oid"; echo "$oid" | git -C "$T/evil" pack-objects -q --stdout; } | refused
	# One byte of the pack is another.
	stream "$oid refs/heads/x" >"$T/stream"
	printf '\xff' | dd of="$T/stream" bs=1 seek=$(($(stat -c %s "$T/stream") - 40)) conv=notrunc status=none
	refused <"$T/stream"
	# And as it should be, it is taken: the rest of this test means something.
	stream "$oid refs/heads/x" | "$REPO" apply "$WS" evil
	same "$oid" "$(git rev-parse evil/x)"
}

@test 'what a diff shows on a terminal does not act on it' {
	clone 'printf "\033]0;owned\007\033[2J\302\233x\n" >evil; git add evil; git commit -qm evil'
	script -qec "$RALPH diff $NAME" /dev/null </dev/null >"$T/seen" 2>&1
	lacks "$(cat "$T/seen")" $'\033]0'
	lacks "$(cat "$T/seen")" $'\033[2J'
	has "$(cat "$T/seen")" '\x1b'
}
