# runs: root user
# The user's terminal, when ralph runs on one.
load attack

on_terminal() {
	python3 "$BATS_TEST_DIRNAME/on-terminal.py" "$@"
}

@test 'without -t a command on a terminal gets no terminal at all' {
	need python3
	if [ -n "${ATTACK_OUTSIDE:-}" ]; then
		on_terminal "$PROBE" terminal
	else
		on_terminal "$RALPH" run --rm -T -- "$PROBE" terminal
	fi
}

@test "with -t the terminal is the sandbox's own, and nothing is typed into the user's" {
	need python3
	run on_terminal "$RALPH" run --rm --yes -t -- "$PROBE" terminal own
	same 0 "$status"
	has "$output" " b''"
}

@test "escapes that act on the user's terminal do not pass" {
	local how wrote

	need python3
	for how in -t -T; do
		wrote=$(on_terminal "$RALPH" run --rm --yes $how -- printf 'a\033]52;c;ZXZpbA==\007b\033[21tc\033P+q544e\033\\d\033[5ne\033[cf\n')
		lacks "$wrote" ']52'
		lacks "$wrote" '[21t'
		lacks "$wrote" 'P+q'
		has "$wrote" a
		has "$wrote" f
	done
}
