#!/usr/bin/env bats
# runs: root user runtime
# What sandboxes there are, how old and how large; and what may go.
# shellcheck disable=SC2016 # text for shells inside
load helpers
load sandbox

# other: a further workspace with a stopped sandbox, named as given.
other() {
	mkdir "$HOME/$1"
	ralph run -n "p-$1-${WS##*-}" "$HOME/$1" -- true
}

# aged NAME: nothing happened in it for three days.
aged() {
	touch -h -d '3 days ago' "$XDG_STATE_HOME/ralph/sandboxes/$1/workspace"
	touch -d '3 days ago' "$XDG_STATE_HOME/ralph/sandboxes/$1/events.jsonl"
}

@test 'ls has name, agent, engine, state, age, size, last use and workspace' {
	ralph run -- sh -c 'head -c 3000000 /dev/urandom >~/data'
	aged "$(sandbox)"
	same 'NAME AGENT ENGINE STATE AGE SIZE USED WORKSPACE' "$(ralph ls | head -1 | xargs)"
	same "$(sandbox) command native stopped 3d 2.9 MiB 3d $WS" "$(ralph ls | sed -n 2p | xargs)"
	same True "$(ralph ls --json | get '3000000 < j[0]["size"] < 4000000')"
	same True "$(ralph ls --json | get 'j[0]["last_used"] >= j[0]["created"] > 1600000000')"
	ralph run -d
	same "$(sandbox) command native running 3d 2.9 MiB now $WS" "$(ralph ls | sed -n 2p | xargs)"
}

@test 'the size of a home that nests deep, links out and loops is found at once' {
	mkdir "$HOME/big"
	head -c 9000000 /dev/urandom >"$HOME/big/file"
	ralph run -- sh -c 'cd; ln -s / root; ln -s . loop; ln -s "$1" big; for i in $(seq 1 400); do mkdir d && cd d || exit; done' sh "$HOME/big"
	same True "$(timeout 20 "$RALPH" ls --json | get 'j[0]["size"] < 4000000 and j[0]["size_partial"]')"
	has "$(ralph ls)" '>'
}

@test 'prune removes those whose workspace is gone, says which, and leaves the others' {
	other a
	other b
	ralph run -- true
	rm -r "$HOME/a"
	same True "$(ralph ls --json | get '[r["workspace_gone"] for r in j if r["name"].startswith("p-a")][0]')"
	has "$(ralph prune)" "removed p-a-${WS##*-}: its workspace is gone ($HOME/a)"
	same 2 "$(ralph ls -q | wc -l)"
	same '' "$(ralph prune)"
	[ ! -e "$XDG_STATE_HOME/ralph/sandboxes/p-a-${WS##*-}" ]
}

@test 'prune -n removes nothing; --older takes what is not used; the old name works' {
	other a
	other b
	rm -r "$HOME/a"
	aged "p-b-${WS##*-}"
	has "$(ralph prune -n)" "would remove p-a-"
	has "$(ralph --dry-run prune --older 2d)" "would remove p-b-${WS##*-}: it was not used for 3d"
	same 2 "$(ralph ls -q | wc -l)"
	lacks "$(ralph prune -n --older 4d)" p-b-
	same 'True True' "$(ralph prune-sandboxes --older 2d --json | get '" ".join(str(r["removed"]) for r in j)')"
	same '' "$(ralph ls -q)"
}

@test 'prune never touches a live one, nor what is no record of ralph' {
	mkdir "$HOME/a" "$XDG_STATE_HOME/ralph" -p
	ralph run -d -n "p-live-${WS##*-}" "$HOME/a"
	rm -r "$HOME/a"
	aged "p-live-${WS##*-}"
	mkdir -p "$XDG_STATE_HOME/ralph/sandboxes/Not_ours"
	same '' "$(ralph prune --older 1s)"
	same '' "$(ralph prune -n --older 1s)"
	is "p-live-${WS##*-}" state running
	[ -d "$XDG_STATE_HOME/ralph/sandboxes/Not_ours" ]
	rmdir "$XDG_STATE_HOME/ralph/sandboxes/Not_ours"
}

@test 'a workspace that cannot be looked at is not taken for gone' {
	only_user
	mkdir -p "$HOME/locked/a"
	ralph run -n "p-locked-${WS##*-}" "$HOME/locked/a" -- true
	chmod 000 "$HOME/locked"
	same '' "$(ralph prune)"
	chmod 700 "$HOME/locked"
	same 1 "$(ralph ls -q | wc -l)"
}

@test 'prunes beside runs: no run is disturbed, and what is gone goes' {
	local i pids=() bad=0

	for i in 1 2 3 4; do
		other "w$i"
	done
	rm -r "$HOME/w1" "$HOME/w2"
	for i in 1 2 3 4 5 6; do
		"$RALPH" prune --older 1h >/dev/null 3>&- &
		pids+=($!)
		"$RALPH" run -n "p-w3-${WS##*-}" "$HOME/w3" -- true 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || bad=$((bad + 1))
	done
	same 0 "$bad"
	same "p-w3-${WS##*-} p-w4-${WS##*-}" "$(ralph ls -q | xargs)"
}

@test 'gc clears what killed removals and supervisors left, and trust in what is gone; it says so' {
	local name="p-k-${WS##*-}" state=$XDG_STATE_HOME/ralph

	mkdir -p "$HOME/t/.ralph"
	echo 'env: {pass: [A]}' >"$HOME/t/.ralph/config.yaml"
	ralph trust --yes "$HOME/t" 2>/dev/null
	rm -r "$HOME/t"
	ralph run -d -n "$name"
	kill -9 "$(ralph inspect --json "$name" | get 'j["live"]["supervisor"]')"
	wait_until is "$name" state stopped
	mkdir -p "$state/sandboxes/.p-half.4194000/home/x"
	ralph gc -n >"$T/would"
	[ -d "$state/sandboxes/.p-half.4194000" ]
	ralph gc >"$T/did"
	diff <(sed 's/^would remove/removed/' "$T/would") "$T/did"
	grep -Fx "removed half-removed sandbox: $state/sandboxes/.p-half.4194000" "$T/did"
	grep -Fx "removed remains of a killed supervisor: $name" "$T/did"
	grep -Fx "removed trust in a project that is gone: $HOME/t" "$T/did"
	same 3 "$(wc -l <"$T/did")"
	same '[]' "$(ralph gc --json)"
	same '[]' "$(ralph trust --list --json)"
	same "$name" "$(ralph ls -q)"
	same works "$(ralph run -n "$name" -- echo works)"
}

@test 'gc leaves live sandboxes, stopped ones and trusted projects alone' {
	mkdir .ralph
	echo 'env: {pass: [A]}' >.ralph/config.yaml
	ralph trust --yes 2>/dev/null
	ralph run -n "p-off-${WS##*-}" -- true
	ralph run -d -n "p-on-${WS##*-}"
	same '' "$(ralph gc)"
	is "p-on-${WS##*-}" state running
	same there "$(ralph exec "p-on-${WS##*-}" echo there)"
	same 2 "$(ralph ls -q | wc -l)"
}

on_terminal() {
	need python3
	python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" "$@"
}

@test 'prune on a terminal shows what would go and asks; a no removes nothing' {
	mkdir "$HOME/a"
	ralph run -n "p-a-${WS##*-}" "$HOME/a" -- true
	rm -r "$HOME/a"
	must_exit 1 on_terminal "expect:would remove p-a-${WS##*-}: its workspace is gone" 'expect:\[y/N\] ' 'send:\n' 'expect:nothing is removed' -- "$RALPH" prune
	has "$(ralph ls -q)" "p-a-${WS##*-}"
	on_terminal 'expect:\[y/N\] ' 'send:y\n' "expect:removed p-a-${WS##*-}" -- "$RALPH" prune
	lacks "$(ralph ls -q)" "p-a-${WS##*-}"
	# Nothing to remove is no question, and --yes is the answer to one.
	on_terminal -- "$RALPH" prune
	same '' "$(cat "$T/out")"
}

@test 'rm on a terminal says which work goes for good and asks; a no removes nothing' {
	ralph run --clone -n "c-${WS##*-}" -- true
	must_exit 1 on_terminal "expect:c-${WS##*-}: its clone, with all work that you have not applied" 'expect:\[y/N\] ' 'send:n\n' 'expect:nothing is removed' -- \
		"$RALPH" rm "c-${WS##*-}"
	same "c-${WS##*-}" "$(ralph ls -q)"
	on_terminal 'expect:\[y/N\] ' 'send:y\n' -- "$RALPH" rm "c-${WS##*-}"
	same '' "$(ralph ls -q)"
	# What loses nothing is not asked; --all always is, and --yes is the answer.
	ralph run -n "d-${WS##*-}" -- true
	must_exit 1 on_terminal 'expect:this removes 1 sandbox\r' 'expect:\[y/N\] ' 'send:\n' -- "$RALPH" rm --all
	on_terminal -- "$RALPH" rm "d-${WS##*-}"
	same '' "$(ralph ls -q)"
	ralph run -n "d-${WS##*-}" -- true
	on_terminal -- "$RALPH" rm --all --yes
	same '' "$(ralph ls -q)"
}

@test 'rm on a terminal names the loop that would go on in the sandbox' {
	ralph run -n "l-${WS##*-}" -- true
	mkdir -p .ralph/state "$XDG_STATE_HOME/ralph/loops"
	printf '{"workspace":"%s"}' "$WS" >"$XDG_STATE_HOME/ralph/loops/0123.json"
	printf '{"version":1,"workspace":"%s","pid":999999999,"start":5,"sandbox":"l-%s","agent":"claude","phase":"paused","iteration":3}' \
		"$WS" "${WS##*-}" >.ralph/state/status.json
	must_exit 1 on_terminal "expect:l-${WS##*-}: the sandbox of a loop that is paused in $WS" 'send:n\n' 'expect:nothing is removed' -- "$RALPH" rm "l-${WS##*-}"
	# Nobody is asked without a terminal.
	ralph rm "l-${WS##*-}"
}
