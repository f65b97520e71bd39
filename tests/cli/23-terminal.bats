#!/usr/bin/env bats
# runs: user
# A command on a terminal: one of the sandbox's own, with the user's behind a filter.
# shellcheck disable=SC1003,SC2016,SC2030,SC2031,SC2154 # text for shells and printf inside; tests are subshells; bats sets stderr
load helpers
load sandbox

setup() {
	ralph_setup
	need python3
	S=t-${WS##*/ws-}
	export TERM=xterm
	ralph run -d -n "$S"
}

# on_terminal STEP… -- CMD…: see terminal.py; $T/out has what came.
on_terminal() {
	python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" "$@"
}

out() {
	tr -d '\r' <"$T/out"
}

# bats test_tags=root
@test "-t: all three are one terminal of the sandbox, and not the user's" {
	on_terminal -- "$RALPH" exec -t "$S" sh -c 'test -t 0 && test -t 1 && test -t 2 && tty && readlink /proc/self/fd/0'
	[[ $(out | sort -u) =~ ^/dev/pts/[0-9]+$ ]] || fail "$(out)"
}

@test "-t without a terminal outside: the command has one all the same" {
	same yes "$(ralph exec -t "$S" sh -c 'test -t 0 && test -t 1 && echo yes' </dev/null | tr -d '\r')"
}

@test "-t: the end of a pipe, a file or /dev/null is the end of the command's input" {
	printf 'a\nb' >"$T/in"
	has "$(timeout 20 "$RALPH" exec -t "$S" sh -c 'stty -echo; cat; echo end' <"$T/in" | tr -d '\r')" end
	has "$(printf 'a\n' | timeout 20 "$RALPH" exec -t "$S" sh -c 'cat; echo end' | tr -d '\r')" end
	same end "$(timeout 20 "$RALPH" exec -t "$S" sh -c 'cat; echo end' </dev/null | tr -d '\r')"
}

@test "a terminal is given by itself only when stdin, stdout and stderr are one" {
	on_terminal -- "$RALPH" exec "$S" sh -c 'test -t 0 && test -t 1 && echo yes'
	same yes "$(out)"
	on_terminal -- sh -c "$RALPH exec $S sh -c 'test -t 0 || echo none' 2>$T/err"
	same none "$(out)"
	on_terminal -- "$RALPH" exec -T "$S" sh -c 'test -t 0 || test -t 1 || test -t 2 || echo none'
	same none "$(out)"
	must_exit 2 ralph exec -t -T "$S" true
}

@test "without -t the user's terminal is never handed in: pipes take its place" {
	on_terminal -- "$RALPH" exec -T "$S" sh -c 'for i in 0 1 2; do readlink /proc/self/fd/$i; done; stat -Lc %F /proc/self/fd/0'
	same "pipe: pipe: pipe: fifo" "$(out | sed 's/\[.*//' | xargs)"
	on_terminal 'expect:ready' 'send:typed\n\x04' -- "$RALPH" exec -T "$S" sh -c 'echo ready; cat; echo end'
	has "$(out)" $'typed\nend'
}

@test "the exit code comes through a terminal; the terminal is restored" {
	must_exit 7 on_terminal -- "$RALPH" exec -t "$S" sh -c 'exit 7'
	must_exit 137 on_terminal -- "$RALPH" exec -t "$S" sh -c 'kill -9 $$'
	must_exit 127 on_terminal -- "$RALPH" exec -t "$S" no-such-command-x
	must_exit 5 on_terminal -- "$RALPH" run --yes -t -n "$S" -- sh -c 'stty raw -echo; exit 5'
}

@test "the size of the terminal is the user's, and follows it" {
	on_terminal expect:go size:33x101 'send:\n' 'expect:33 101' -- sh -c "echo go; read x; $RALPH exec -t $S stty size"
	on_terminal 'expect:24 80' size:40x132 'expect:got 40 132' -- \
		"$RALPH" exec -t "$S" bash -c 'trap "echo got \$(stty size); exit 0" WINCH; stty size; while :; do :; done'
}

@test "Ctrl-C goes to the command, and not to ralph" {
	must_exit 9 on_terminal 'expect:ready' 'send:\x03' 'expect:caught' -- \
		"$RALPH" exec -t "$S" sh -c 'trap "echo caught; exit 9" INT; echo ready; while :; do :; done'
	must_exit 130 on_terminal 'expect:ready' 'send:\x03' -- "$RALPH" exec -t "$S" sh -c 'echo ready; exec sleep 61'
}

@test "Ctrl-C on a terminal reaches a command that has pipes" {
	must_exit 9 on_terminal 'expect:ready' 'send:\x03' -- \
		"$RALPH" exec -T "$S" sh -c 'trap "exit 9" INT; echo ready; while :; do :; done'
}

# bats test_tags=root
@test "Ctrl-Z and fg: job control works inside" {
	# A loop that forks could be stopped within vfork(), where its shell is not seen as stopped.
	local job='trap "echo back-$((3 + 4))" CONT; echo run-$((1 + 1)); while :; do :; done'

	echo "$job" >"$T/home/job" && ralph exec "$S" sh -c 'cat >~/job' <"$T/home/job"
	must_exit 3 on_terminal 'expect:\$ ' 'send:sh ~/job\n' 'expect:run-2' 'send:\x1a' 'expect:Stopped' \
		'send:jobs\n' 'expect:Stopped +sh' 'send:fg\n' 'expect:back-7' 'send:\x03' \
		'expect:\$ ' 'send:echo still-$((40+2))\n' 'expect:still-42' 'send:exit 3\n' -- \
		"$RALPH" exec -t -e 'PS1=$ ' "$S" bash --norc --noprofile -i
}

# in_shell STEP…: the steps in an interactive shell of the user's, which ends with 3.
in_shell() {
	must_exit 3 env PS1='$ ' python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" 'expect:\$ ' "$@" 'send:exit 3\n' -- bash --norc --noprofile -i
}

# bats test_tags=root
@test "Ctrl-Z stops the command and ralph, with a terminal and without one; fg continues both" {
	local how job='trap "echo back-$((3 + 4))" CONT; echo run-$((1 + 1)); while :; do :; done'

	ralph exec "$S" sh -c 'cat >~/job' <<<"$job"
	for how in -t -T; do
		in_shell "send:$RALPH exec $how $S sh -c '. ~/job'\n" 'expect:run-2' 'send:\x1a' 'expect:Stopped' 'send:echo still-$((40+2))\n' 'expect:still-42' \
			'send:fg\n' 'expect:back-7' 'send:\x03' 'expect:\$ ' 'send:echo code-$?\n' 'expect:code-130'
	done
}

@test "a command that stops itself, as agents do at Ctrl-Z, gives the shell back; fg continues it" {
	in_shell "send:$RALPH exec -t $S sh -c 'echo run-\$((1+1)); read x; kill -STOP \$\$; echo back-\$((3+4)); read x; echo got-\$x'\n" 'expect:run-2' \
		'send:go\n' 'expect:Stopped' 'send:fg\n' 'expect:back-7' 'send:word\n' 'expect:got-word' 'expect:\$ '
}

@test "without a shell that could continue it, a command goes on at once" {
	must_exit 9 on_terminal 'expect:back' -- "$RALPH" exec -t "$S" sh -c 'kill -STOP $$; echo back; exit 9'
}

@test "whatever a command leaves behind, the terminal is as it was: screen, mouse, keys, cursor, charset, colours, title" {
	local set='\033[?1049h\033[?1000;1006h\033[?25l\033(0\033[31m\033[>1u\033]0;mine\007'

	must_exit 137 on_terminal -- "$RALPH" exec -t "$S" sh -c "printf '$set'; kill -9 \$\$"
	same '^[[?1049h^[[?1000;1006h^[[?25l^[(0^[[31m^[[>1u^[[22;0t^[]0;mine^G^[(B^[)B^[[0m^[[<1u^[[?25h^[[?1000l^[[?1006l^[[?1049l^[[23;0t' "$(cat -v "$T/out")"
	# A command that does it itself gets nothing more.
	on_terminal -- "$RALPH" exec -t "$S" printf '\033[?1049h\033[?25l\033[31m\033[0m\033[?25h\033[?1049l'
	same '^[[?1049h^[[?25l^[[31m^[[0m^[[?25h^[[?1049l' "$(cat -v "$T/out")"
}

@test "SIGTERM to ralph reaches a command on a terminal; the terminal is restored" {
	must_exit 9 on_terminal 'expect:ready' 'signal:15' -- \
		"$RALPH" exec -t "$S" sh -c 'trap "exit 9" TERM; echo ready; while :; do :; done'
}

@test "a lot of output comes whole through the filter" {
	on_terminal -- "$RALPH" exec -t "$S" seq 1 100000
	seq 1 100000 | cmp - <(out)
	on_terminal -- "$RALPH" exec -T "$S" seq 1 100000
	seq 1 100000 | cmp - <(out)
}

# shown TEXT: what reaches the user's terminal of this printf format.
shown() {
	on_terminal -- "$RALPH" exec "$2" "$S" sh -c 'stty -opost 2>/dev/null; printf "$1"; printf .' sh "$1"
	cat -v "$T/out" | sed 's/ralph: .*//'
}

@test "clipboard, DCS, APC and title reports do not reach the user's terminal" {
	local how

	for how in -t -T; do
		same 'ab.' "$(shown 'a\033]52;c;aGk=\007b' $how)"
		same 'ab.' "$(shown 'a\033]52;c;aGk=\033\\b' $how)"
		same 'ab.' "$(shown 'a\033P$q"p\033\\b' $how)"
		same 'ab.' "$(shown 'a\033_x\033\\b' $how)"
		same 'ab.' "$(shown 'a\033[21tb' $how)"
		same 'ab.' "$(shown 'a\302\233\062\061tb' $how | sed s/21t//)"
		same 'ab.' "$(shown 'a\033]1337;File=x:eA==\007b' $how)"
		same 'ab.' "$(shown 'a\033[5ib\005' $how)"
	done
}

# of_run SETTING SEQUENCE: all that reaches the user's terminal of a program that prints it.
of_run() {
	env "$1" python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" -- "$RALPH" run --yes -n "$S" -- printf "$2"
	cat -v "$T/out"
}

@test "the clipboard can be written and notifications be shown where the user lets them; else it is said, once" {
	local clip='\033]52;c;aGk=\007' note='\033]9;hi\007\033]777;notify;a;b\007\033]9;4;1;50\007'

	of_run A=1 "$clip$clip$note" >"$T/shown"
	lacks "$(cat "$T/shown")" '^[]'
	same 1 "$(grep -c 'set terminal.clipboard: write' "$T/shown")"
	same 1 "$(grep -c 'set terminal.notify: on' "$T/shown")"
	has "$(of_run RALPH_TERMINAL_CLIPBOARD=write "$clip$note")" '^[]52;c;aGk=^G'
	lacks "$(cat -v "$T/out")" '^[]9'
	has "$(of_run RALPH_TERMINAL_NOTIFY=on "$clip$note")" '^[]9;hi^G^[]777;notify;a;b^G^[]9;4;1;50^G'
	lacks "$(cat -v "$T/out")" '^[]52'
	# Whatever is allowed, what the user has copied is never asked for; and a project file cannot allow it.
	lacks "$(of_run RALPH_TERMINAL_CLIPBOARD=write '\033]52;c;?\007')" '^[]52'
	mkdir .ralph
	echo 'terminal: {clipboard: write}' >.ralph/config.yaml
	must_exit 2 ralph run -- true
}

@test "colours, cursor, titles and text in UTF-8 pass" {
	same 'a^[[1;31mb^[[0m.' "$(shown 'a\033[1;31mb\033[0m' -t)"
	same '^[[2J^[[3;4H^[[?1049h^[[?25l.^[[?25h^[[?1049l' "$(shown '\033[2J\033[3;4H\033[?1049h\033[?25l' -t)"
	same '^[[22;0t^[]0;title^G.^[[23;0t' "$(shown '\033]0;title\007' -t)"
	same 'M-CM-$M-bM-^BM-,M-pM-^_M-^XM-^@.' "$(shown '\303\244\342\202\254\360\237\230\200' -t)"
}

@test "a pipe or file gets every byte, escapes included" {
	ralph exec "$S" printf '\033]52;c;x\007\005\033Px\033\\' >"$T/raw"
	printf '\033]52;c;x\007\005\033Px\033\\' | cmp - "$T/raw"
}

@test "a killed ralph on a terminal ends its command" {
	# Nobody could have restored the terminal: 99.
	must_exit 99 on_terminal 'expect:ready' 'signal:9' -- "$RALPH" exec -t "$S" sh -c 'echo ready; exec sleep 61'
	wait_until no_sleepers "$S"
}
