#!/usr/bin/env bats
# runs: user
# The command line itself: options, help, errors. Needs RALPH, the path of the program.

# shellcheck disable=SC2154 # stderr and stderr_lines come from bats
bats_require_minimum_version 1.5.0

setup() {
	: "${RALPH:?RALPH must name the program}"
}

@test 'version is one line on stdout' {
	run --separate-stderr "$RALPH" --version
	[ "$status" -eq 0 ]
	[ "$output" = 'ralph 0.2.0' ]
	[ -z "$stderr" ]
	[ "$("$RALPH" version)" = 'ralph 0.2.0' ]
}

@test 'no command: usage on stderr, exit 2' {
	run --separate-stderr "$RALPH"
	[ "$status" -eq 2 ]
	[ -z "$output" ]
	[[ $stderr == 'usage: ralph '* ]]
}

@test 'help goes to stdout and exits 0, the same by every road' {
	run --separate-stderr "$RALPH" completion --help
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[[ $output == 'usage: ralph completion '* ]]
	[ "$output" = "$("$RALPH" completion -h)" ]
	[ "$output" = "$("$RALPH" help completion)" ]
	[ "$output" = "$("$RALPH" --help completion)" ]
	[ "$("$RALPH" --help)" = "$("$RALPH" help)" ]
}

@test 'every help text fits 80 columns' {
	"$RALPH" --dump-options | cut -f 1 | sort -u | while IFS= read -r cmd; do
		case $cmd in
		-) cmd=--help ;;
		*) cmd="help $cmd" ;;
		esac
		# shellcheck disable=SC2086 # "help config show" is three words
		"$RALPH" $cmd | LC_ALL=C.UTF-8 awk 'length($0) > 80 { print; bad = 1 } END { exit bad }'
	done
}

@test 'unknown option: exit 2, a suggestion, no help text' {
	run --separate-stderr "$RALPH" --log-levle debug help
	[ "$status" -eq 2 ]
	[ -z "$output" ]
	[ "$stderr" = "ralph: unknown option '--log-levle'; did you mean '--log-level'?" ]
}

@test 'unknown command: exit 2, a suggestion' {
	run --separate-stderr "$RALPH" compeltion
	[ "$status" -eq 2 ]
	[ "$stderr" = "ralph: unknown command 'compeltion'; did you mean 'completion'?" ]
}

@test 'missing operand: exit 2, one line of usage' {
	run --separate-stderr "$RALPH" completion
	[ "$status" -eq 2 ]
	[ "$stderr" = $'ralph: completion: missing operand\nusage: ralph completion [options] bash|zsh|fish' ]
}

@test 'an option the command would ignore is refused' {
	run --separate-stderr "$RALPH" --dry-run version
	[ "$status" -eq 2 ]
	[ "$stderr" = "ralph: version: option '--dry-run' does not apply to this command" ]
}

@test 'an argument cannot forge a line or act on the terminal' {
	run --separate-stderr "$RALPH" $'x\nralph: all is well\x1b[2J\xc2\x9b1m'
	[ "$status" -eq 2 ]
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr != *$'\x1b'* && $stderr != *$'\xc2\x9b'* ]]
}

@test 'errors are JSON lines when asked for' {
	run --separate-stderr "$RALPH" --log-format=json completion
	[ "$status" -eq 2 ]
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == '{"time":'*'"msg":"completion: missing operand"}' ]]
}

@test 'a full disk is an error' {
	[ -w /dev/full ] || skip 'no /dev/full'
	run bash -c '"$RALPH" --version 2>&1 >/dev/full'
	[ "$status" -eq 1 ]
	[ "$output" = 'ralph: cannot write to standard output: No space left on device' ]
}

@test 'a closed stdout is an error' {
	run bash -c '"$RALPH" --version 2>&1 >&-'
	[ "$status" -eq 1 ]
	[[ $output == 'ralph: cannot write to standard output'* ]]
}

@test 'a closed pipe ends it quietly, or with exit 1 where SIGPIPE is ignored' {
	# The reader has gone before the writer starts.
	run bash -c 'exec 4> >(exec <&-; exit 0); wait $!; "$RALPH" --help 2>&1 >&4; echo "code $?"'
	[ "$output" = 'code 141' ]
	run bash -c 'trap "" PIPE; exec 4> >(exec <&-; exit 0); wait $!; "$RALPH" --help 2>&1 >&4; echo "code $?"'
	[ "${lines[0]}" = 'ralph: cannot write to standard output: Broken pipe' ]
	[ "${lines[1]}" = 'code 1' ]
}

@test 'dump-options has six fields in every line' {
	"$RALPH" --dump-options | awk -F '\t' 'NF != 6 { print; bad = 1 } END { exit bad }'
}

@test 'completion scripts are valid for their shells' {
	for shell in bash zsh fish; do
		if ! command -v "$shell" >/dev/null; then
			[[ " ${RALPH_TEST_REQUIRE-} " != *" $shell "* ]]
			continue
		fi
		"$RALPH" completion "$shell" >"$BATS_TEST_TMPDIR/script"
		"$shell" -n "$BATS_TEST_TMPDIR/script"
	done
}

@test 'bash completes commands and their words' {
	"$RALPH" completion bash >"$BATS_TEST_TMPDIR/script"
	complete_words() {
		bash -c 'source "$1"; shift; COMP_WORDS=(ralph "$@"); COMP_CWORD=$#; _ralph
			printf "%s\n" "${COMPREPLY[@]}"' - "$BATS_TEST_TMPDIR/script" "$@"
	}
	[ "$(complete_words compl)" = completion ]
	[ "$(complete_words completion b)" = bash ]
	[ "$(complete_words --color al)" = always ]
	[ "$(complete_words --color = al)" = always ]
	[ "$(complete_words help comp)" = completion ]
}

@test 'completion has values for engines, tiers, groups, tasks and loops' {
	"$RALPH" completion bash >"$BATS_TEST_TMPDIR/script"
	mkdir -p "$BATS_TEST_TMPDIR/bin"
	# The lists of ralph itself, as the script asks for them.
	# shellcheck disable=SC2016 # for the shell of that script
	printf '#!/bin/sh\ncase "$*" in\n"task ls --quiet") printf "US-1\\nUS-2\\n\\$(evil)\\n" ;;\n"status --quiet") echo /w/shop ;;\nesac\n' \
		>"$BATS_TEST_TMPDIR/bin/ralph"
	chmod +x "$BATS_TEST_TMPDIR/bin/ralph"
	complete_words() {
		PATH=$BATS_TEST_TMPDIR/bin:$PATH bash -c 'source "$1"; shift; COMP_WORDS=(ralph "$@"); COMP_CWORD=$#; _ralph
			printf "%s\n" "${COMPREPLY[@]}"' - "$BATS_TEST_TMPDIR/script" "$@"
	}
	[ "$(complete_words --engine nat)" = native ]
	[ "$(complete_words run --engine po)" = podman ]
	[ "$(complete_words run --net al)" = allowlist ]
	[ "$(complete_words build --net no)" = none ]
	[ "$(complete_words net allow @np)" = @npm ]
	# bash splits words at '@', and replaces what stands behind it.
	[ "$(complete_words net allow @ np)" = npm ]
	[ "$(complete_words run --allow =@ np)" = npm ]
	[ "$(complete_words task show US-)" = $'US-1\nUS-2' ]
	[ "$(complete_words answer --task US-2)" = US-2 ]
	[[ $(complete_words resume /w/) == */w/shop* ]]
	[[ $(complete_words status /w/) == */w/shop* ]]
	[[ $("$RALPH" completion zsh) == *'_ralph_tasks()'*'@npm'* ]]
	[[ $("$RALPH" completion fish) == *'__ralph_loops'*'@npm'* ]]
}

# ascii FILE: nothing else is in it.
ascii() {
	! LC_ALL=C grep -P '[^\x00-\x7f]' "$1"
}

@test 'no sign beyond ASCII is printed where the locale has no UTF-8' {
	local out=$BATS_TEST_TMPDIR/out

	"$RALPH" --dump-options | cut -f 1 | grep -v ^- | sort -u | while IFS= read -r cmd; do
		# shellcheck disable=SC2086 # "help config show" is three words
		LC_ALL=C "$RALPH" help $cmd
	done >"$out"
	ascii "$out"
	[[ $(cat "$out") == *'PATTERN...'* ]]
	env -u LC_ALL -u LC_CTYPE LANG=C "$RALPH" exec --help >"$out"
	ascii "$out"
	run --separate-stderr env LC_ALL=C "$RALPH" exec
	[ "$status" -eq 2 ]
	ascii - <<<"$stderr"
	LC_ALL=C.UTF-8 "$RALPH" help exec >"$out"
	[[ $(cat "$out") == *…* ]]
	# The signs of the user's own names stay as they are.
	run --separate-stderr env LC_ALL=C "$RALPH" 'größe'
	[[ $stderr == *größe* ]]
}

@test 'the completion scripts are installed where the shells look for them' {
	local share=${RALPH%/bin/ralph}/share zsh=site-functions

	[ -d "$share" ] || skip 'n/a: this ralph is not installed'
	cmp <("$RALPH" completion bash) "$share/bash-completion/completions/ralph"
	# Debian's zsh looks for what packages bring elsewhere than for what is made on the machine.
	[ -f "$share/zsh/site-functions/_ralph" ] || zsh=vendor-completions
	cmp <("$RALPH" completion zsh) "$share/zsh/$zsh/_ralph"
	cmp <("$RALPH" completion fish) "$share/fish/vendor_completions.d/ralph.fish"
}
