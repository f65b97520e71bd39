#!/usr/bin/env bats
# The manual and the option tables say the same. Needs RALPH, the path of the program; RALPH_MAN is
# the folder of the pages' sources. A command's options are in ralph-COMMAND.1, the global ones in
# ralph.1; an option is described by a line that starts with *-.

setup() {
	: "${RALPH:?RALPH must name the program}"
	: "${RALPH_MAN:=$BATS_TEST_DIRNAME/../../man}"
	[ -r "$RALPH_MAN/ralph.1.scd" ] || skip 'no manual sources here'
	"$RALPH" --dump-options >"$BATS_TEST_TMPDIR/dump"
}

# The page of a command: of "config show" it is that of config.
page_of() {
	if [ "$1" = - ]; then
		echo "$RALPH_MAN/ralph.1.scd"
	else
		echo "$RALPH_MAN/ralph-${1%% *}.1.scd"
	fi
}

# "-n --name" for each option that a page describes.
described() {
	grep -E '^\*-' "$1" | grep -oE '\*--?[A-Za-z][A-Za-z0-9-]*\*' | tr -d '*' | sort -u
}

# The same from the tables: of one page, so of all commands that share it.
declared() {
	local cmd long short
	while IFS=$'\t' read -r cmd long short _; do
		if [ "$long" = - ] || [ "$(page_of "$cmd")" != "$1" ]; then continue; fi
		echo "--$long"
		[ "$short" = - ] || echo "-$short"
	done <"$BATS_TEST_TMPDIR/dump" | sort -u
}

@test 'every option has its lines in the manual, and the manual has no other' {
	cut -f 1,2 "$BATS_TEST_TMPDIR/dump" | awk -F '\t' '$2 != "-" { print $1 }' | sort -u |
		while IFS= read -r cmd; do
			page=$(page_of "$cmd")
			[ -r "$page" ] || { echo "no page for '$cmd': $page"; exit 1; }
			diff <(declared "$page") <(described "$page") || { echo "in $page"; exit 1; }
		done
}

@test 'every command is listed in ralph(1), and ralph(1) lists no other' {
	diff <(awk -F '\t' '$4 == "command" { print $1 }' "$BATS_TEST_TMPDIR/dump" |
		cut -d ' ' -f 1 | sort -u) \
		<(sed -n '/^# COMMANDS/,/^# EXIT/p' "$RALPH_MAN/ralph.1.scd" |
			grep -oE '^\*[a-z-]+\*' | tr -d '*' | sort -u)
}
