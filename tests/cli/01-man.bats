#!/usr/bin/env bats
# runs: user
# The manual and the option tables say the same. Needs RALPH, the path of the program; RALPH_MAN is
# the folder of the pages' sources. A command's options are in ralph-COMMAND.1, the global ones in
# ralph.1; an option is described by a line that starts with *-.
load helpers

# No sandbox is started here: no home, no workspace.
setup() {
	: "${RALPH:?RALPH must name the program}"
	: "${RALPH_MAN:=$BATS_TEST_DIRNAME/../../man}"
	[ -r "$RALPH_MAN/ralph.1.scd" ] || skip 'no manual sources here'
	"$RALPH" --dump-options >"$BATS_TEST_TMPDIR/dump"
}

# The page of a command; `-` has the global options.
page_of() {
	if [ "$1" = - ]; then
		echo "$RALPH_MAN/ralph.1.scd"
	else
		echo "$RALPH_MAN/ralph-$1.1.scd"
	fi
}

# "-n --name" for each option that a page describes.
described() {
	grep -E '^\*-' "$1" | grep -oE '\*--?[A-Za-z][A-Za-z0-9-]*\*' | tr -d '*' | sort -u
}

# declared COMMAND: the same from the tables; of "config show" and all others that share its page.
declared() {
	awk -F '\t' -v page="$1" '{ split($1, word, " ") }
		$2 != "-" && word[1] == page { print "--" $2; if ($3 != "-") print "-" $3 }' "$BATS_TEST_TMPDIR/dump" | sort -u
}

@test 'every option has its lines in the manual, and the manual has no other' {
	awk -F '\t' '$2 != "-" { split($1, word, " "); print word[1] }' "$BATS_TEST_TMPDIR/dump" | sort -u |
		while IFS= read -r cmd; do
			page=$(page_of "$cmd")
			[ -r "$page" ] || { echo "no page for '$cmd': $page"; exit 1; }
			diff <(declared "$cmd") <(described "$page") || { echo "in $page"; exit 1; }
		done
}

@test 'every command is listed in ralph(1), and ralph(1) lists no other' {
	diff <(awk -F '\t' '$4 == "command" { print $1 }' "$BATS_TEST_TMPDIR/dump" |
		cut -d ' ' -f 1 | sort -u) \
		<(sed -n '/^# COMMANDS/,/^# EXIT/p' "$RALPH_MAN/ralph.1.scd" |
			grep -oE '^\*[a-z-]+\*' | tr -d '*' | sort -u)
}

@test 'every command has a page of its own' {
	awk -F '\t' '$4 == "command" { print $1 }' "$BATS_TEST_TMPDIR/dump" | cut -d ' ' -f 1 | sort -u |
		while IFS= read -r cmd; do
			[ -r "$RALPH_MAN/ralph-$cmd.1.scd" ] || { echo "no page for '$cmd'"; exit 1; }
		done
}

@test 'every page is built, and no page names one that is not there' {
	local page ref

	for page in "$RALPH_MAN"/*.scd; do
		page=${page##*/}
		grep -qF "'${page%.scd}'" "$RALPH_MAN/meson.build" || { echo "$page is not in man/meson.build"; return 1; }
	done
	grep -ohE '\bralph(-[a-z]+)?\*?\([1-8]\)' "$RALPH_MAN"/*.scd | tr -d '*' | sort -u |
		while IFS= read -r ref; do
			page=${ref%)}
			[ -r "$RALPH_MAN/${page/\(/.}.scd" ] || { echo "there is no $ref"; exit 1; }
		done
}

@test 'every page renders without a complaint' {
	local page out

	need scdoc
	for page in "$RALPH_MAN"/*.scd; do
		out=$BATS_TEST_TMPDIR/$(basename "$page" .scd)
		scdoc <"$page" 2>"$out.err" >"$out" || { cat "$page" "$out.err"; return 1; }
		[ ! -s "$out.err" ] || { cat "$out.err"; return 1; }
	done
}

@test 'groff and mandoc have nothing to say about any page' {
	local page out

	need scdoc groff
	for page in "$RALPH_MAN"/*.scd; do
		out=$BATS_TEST_TMPDIR/$(basename "$page" .scd)
		scdoc <"$page" >"$out"
		groff -ww -t -man -Tutf8 "$out" 2>"$out.said" >/dev/null
		[ ! -s "$out.said" ] || { cat "$out.said"; return 1; }
		command -v mandoc >/dev/null || continue
		mandoc -T lint -W error "$out"
	done
}

@test 'the tests that ralph-security(7) names are there' {
	local attack=$BATS_TEST_DIRNAME/../attack file title n=0

	while IFS= read -r line; do
		file=${line#- }
		file=${file%%:*}
		title=${line#*\"}
		title=${title%\"}
		# Between single quotes a quote is '\''.
		sed "s/'\\\\''/'/g" "$attack/$file.bats" | grep -F "@test " | grep -F -- "$title" >/dev/null ||
			{ echo "no test '$title' in $file.bats"; return 1; }
		n=$((n + 1))
	done < <(grep -E '^- [0-9]+-[a-z]+: "' "$RALPH_MAN/ralph-security.7.scd")
	[ $n -gt 0 ]
}
