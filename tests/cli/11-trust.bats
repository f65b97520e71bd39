#!/usr/bin/env bats
# runs: user
# A project's own settings: they may tighten; to widen takes the user's word on that exact content.
# shellcheck disable=SC2030,SC2031 # tests are subshells
load helpers
load sandbox

setup() {
	ralph_setup
	need python3
	export TERM=xterm SECRET=hunter2-hunter2-hunter2
	mkdir .ralph
	printf 'env:\n  pass: [SECRET]\n' >.ralph/config.yaml
}

on_terminal() {
	python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" "$@"
}

out() {
	tr -d '\r' <"$T/out"
}

inside() {
	ralph run --rm -- printenv SECRET
}

# refused: nothing runs, exit 2, and the error names the place, the key and the remedy.
refused() {
	must_exit 2 ralph run "$@" -- touch ran 2>"$T/err"
	has "$(cat "$T/err")" '.ralph/config.yaml:'
	has "$(cat "$T/err")" 'ralph trust'
	[ ! -e ran ]
}

@test 'a project file that widens is refused unattended, with what to do' {
	refused
	has "$(cat "$T/err")" "config.yaml:2:10: env.pass: 'SECRET'"
	# --yes is no answer to this question.
	refused --yes
	must_exit 2 ralph audit
	same '' "$(ralph trust --list)"
}

@test 'one that tightens is taken without a word, also a limit of the memory' {
	printf 'network: {tier: none}\nlimits: {pids: 100, memory: 128M}\npackages: [sh]\n' >.ralph/config.yaml
	same 'none 100 134217728' "$(ralph audit --json | get 'j["network"]["tier"], j["limits"]["pids"], j["limits"]["memory"]' | tr -d "(),'")"
	has "$(ralph trust)" 'only tightens'
	printf 'limits: {memory: 999T}\n' >.ralph/config.yaml
	must_exit 2 ralph audit
}

@test 'trust shows the difference, records the content, and then it holds' {
	printf 'network: {tier: inet, allow: [a.example]}\nenv: {pass: [SECRET]}\nlimits: {pids: 100}\n' >.ralph/config.yaml
	ralph trust --yes 2>"$T/shown"
	grep -E '^  line 1 +network.tier +inet$' "$T/shown"
	grep -E '^  line 1 +network.allow +a.example$' "$T/shown"
	grep -E '^  line 2 +env.pass +SECRET$' "$T/shown"
	grep -E '^  network.tier +allowlist +→ +inet$' "$T/shown"
	grep -E '^  limits.pids +4096 +→ +100$' "$T/shown"
	same "$SECRET" "$(inside)"
	has "$(ralph trust)" 'trusted already'
}

@test 'what the profile brings that the file names is part of the difference' {
	echo 'profile: offline' >.ralph/config.yaml
	refused
	ralph trust --yes 2>"$T/shown"
	grep -E '^  network.tier +allowlist +→ +none$' "$T/shown"
}

@test 'trust is the content: any change, even of a comment, asks again; the same content holds again' {
	ralph trust --yes 2>/dev/null
	cp .ralph/config.yaml "$T/kept"
	echo '# nothing' >>.ralph/config.yaml
	refused
	same changed "$(ralph trust --list --json | get 'j[0]["state"]')"
	cp "$T/kept" .ralph/config.yaml
	same "$SECRET" "$(inside)"
	same trusted "$(ralph trust --list --json | get 'j[0]["state"]')"
	# One that only tightens needs none.
	echo 'network: {tier: none}' >.ralph/config.yaml
	must_fail inside
}

@test 'trust is the project: the same file elsewhere is not trusted; a link to the project is it' {
	ralph trust --yes 2>/dev/null
	cp -r "$WS" "$WS-copy"
	ln -s "$WS" "$HOME/link"
	must_exit 2 ralph run "$WS-copy" -- true
	same "$SECRET" "$(ralph run --rm "$HOME/link" -- printenv SECRET)"
}

@test 'revoke takes it back' {
	ralph trust --yes 2>/dev/null
	ralph trust --revoke
	refused
	must_exit 2 ralph trust --revoke
	ralph trust --yes 2>/dev/null
	cd / && rm -r "$WS/.ralph"
	same gone "$(ralph trust --list --json | get 'j[0]["state"]')"
	mv "$WS" "$WS-moved"
	ralph trust --revoke "$WS"
	mv "$WS-moved" "$WS"
	same '[]' "$(ralph trust --list --json)"
}

@test 'on a terminal the question comes by itself; no is the default' {
	must_exit 2 on_terminal 'expect:env.pass' 'expect:Trust exactly this content\? \[y/N\] ' 'send:\n' -- "$RALPH" run -T -- touch ran
	[ ! -e ran ]
	on_terminal 'expect:Trust exactly' 'send:y\n' 'expect:hunter2-hunter2' -- "$RALPH" run -T -- printenv SECRET
	# Asked once.
	on_terminal 'expect:hunter2-hunter2' -- "$RALPH" run -T -- printenv SECRET
	lacks "$(out)" Trust
	echo '#' >>.ralph/config.yaml
	must_exit 2 on_terminal 'expect:was trusted and has changed' 'expect:Trust' 'send:n\n' -- "$RALPH" run -T -- touch ran
	# With --yes nothing is asked, and so nothing is trusted.
	must_exit 2 on_terminal -- "$RALPH" run --yes -T -- touch ran
	[ ! -e ran ]
}

@test 'ralph trust asks on a terminal, and refuses where it cannot' {
	must_exit 2 ralph trust 2>"$T/err" </dev/null
	has "$(cat "$T/err")" --yes
	must_exit 1 on_terminal 'expect:Trust' 'send:n\n' -- "$RALPH" trust
	same '' "$(ralph trust --list)"
	on_terminal 'expect:Trust' 'send:yes\n' -- "$RALPH" trust
	same "$SECRET" "$(inside)"
}

@test 'what is recorded and used is what was shown, whatever the file has become meanwhile' {
	printf 'env: {pass: [OTHER, SECRET]}\n' >"$T/evil"
	export OTHER=stolen-stolen
	must_exit 1 on_terminal 'expect:Trust' "run:cp $T/evil $WS/.ralph/config.yaml" 'send:y\n' -- "$RALPH" run -T -- printenv OTHER
	lacks "$(out)" stolen
	refused
	same changed "$(ralph trust --list --json | get 'j[0]["state"]')"
}

@test 'a file that is swapped all the time never gives more than what is trusted' {
	local i got code seen=''

	ralph trust --yes 2>/dev/null
	cp .ralph/config.yaml "$T/good"
	printf 'env: {pass: [SECRET, OTHER]}\n' >"$T/evil"
	export OTHER=stolen-stolen
	cp "$T/good" .ralph/a
	cp "$T/evil" .ralph/b
	python3 - <<-'END' 3>&- &
		import os
		os.chdir(".ralph")
		while os.path.exists("a"):
		    for name in "ab":
		        os.link(name, "new")
		        os.rename("new", "config.yaml")
	END
	for ((i = 0; i < 40; i++)); do
		code=0
		got=$(ralph run -- sh -c 'printenv SECRET; printenv OTHER; true' 2>/dev/null) || code=$?
		case $code in
		0) same "$SECRET" "$got" || seen=bad ;;
		2) ;;
		*) seen="exit $code" ;;
		esac
	done
	rm .ralph/a
	wait
	same '' "$seen"
}

@test 'a .ralph that is a link, or has one in it, is refused' {
	mkdir "$T/elsewhere"
	mv .ralph/config.yaml "$T/elsewhere/"
	ln -s "$T/elsewhere/config.yaml" .ralph/config.yaml
	must_exit 2 ralph run -- touch ran 2>"$T/err"
	has "$(cat "$T/err")" 'symbolic link'
	must_exit 2 ralph trust --yes
	rm -r .ralph
	ln -s "$T/elsewhere" .ralph
	must_exit 2 ralph run -- touch ran
	must_exit 2 ralph trust --yes
	[ ! -e ran ]
	same '[]' "$(ralph trust --list --json)"
}

@test 'a huge file, a pipe, a directory, nonsense: refused at once, and never trusted' {
	local make

	for make in 'head -c 300000 /dev/zero | tr "\0" "#" >f' 'mkfifo f' 'mkdir f' 'echo "env: [" >f' 'echo "evil: 1" >f' \
		'printf "env: {pass: [A]}\nenv: {pass: [B]}\n" >f' 'printf "\377\376" >f' 'ln -s /dev/zero f'; do
		rm -rf .ralph/config.yaml f
		eval "$make"
		mv f .ralph/config.yaml
		must_exit 2 timeout 10 "$RALPH" run -- touch ran
		must_exit 2 timeout 10 "$RALPH" trust --yes
		[ ! -e ran ]
	done
	same '[]' "$(ralph trust --list --json)"
}

@test 'no trust brings an engine without a sandbox' {
	echo 'engine: none' >.ralph/config.yaml
	must_exit 2 ralph trust --yes
	must_exit 2 ralph run -- touch ran
	[ ! -e ran ]
}

@test 'what is shown of a file cannot act on the terminal' {
	printf 'env:\n  pass: [A]\nmounts: [{path: "/x\\e]52;c;aGk=\\ay"}]\n' >.ralph/config.yaml
	ralph trust --yes >"$T/shown" 2>&1 || :
	lacks "$(cat "$T/shown")" $'\033'
}

@test 'the record is out of the reach of a sandbox' {
	ralph trust --yes 2>/dev/null
	# shellcheck disable=SC2016 # for the shell inside
	must_fail ralph run -- sh -c 'ls "$1"/ralph/trust' sh "$XDG_STATE_HOME"
	must_exit 2 ralph run "$XDG_STATE_HOME/ralph" -- true
}
