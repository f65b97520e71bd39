#!/usr/bin/env bats
# runs: user
# seconds: 90
# Docker Sandboxes, by a fake of both command lines that refuses what they do not have.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # text for shells inside; tests are subshells; bats sets stderr
load helpers
load sandbox
load ../lib/sbx

sbx() {
	ralph --engine sbx "$@"
}

setup() {
	ralph_setup
	# A number that no other process of the machine has.
	LONG=9$(printf '%05d' "$RANDOM")$(printf '%05d' "$RANDOM")
	export LONG
}

teardown() {
	local bad=0

	fake_sbx_end || bad=1
	ralph_teardown || bad=1
	return $bad
}

@test "sbx: a sandbox is made, restricted at once, used, and stopped" {
	fake_sbx sbx
	run --separate-stderr sbx run --allow example.com --deny bad.example -- sh -c 'echo out; echo err >&2; exit 7'
	same 7 "$status"
	same out "$output"
	same err "$stderr"
	name=$(sandbox)
	same "create --name $name shell $WS" "$(calls 'create ')"
	same "policy allow network --sandbox $name example.com:80,example.com:443" "$(calls 'policy allow')"
	same "policy deny network --sandbox $name bad.example" "$(calls 'policy deny')"
	same "$(calls | grep -n create | cut -d: -f1)" "$(($(calls | grep -n 'policy deny' | cut -d: -f1) - 1))"
	same stopped "$(vm status)"
	down
}

@test "docker sandbox: the same by the older command line" {
	fake_sbx docker
	must_exit 7 sbx run --allow '*.example.com:8443' --deny 203.0.113.0/24 -- sh -c 'exit 7'
	name=$(sandbox)
	same docker-sandbox "$(field "$name" engine)"
	same "sandbox create --name $name shell $WS" "$(calls 'create ')"
	same "sandbox network proxy $name --policy deny --allow-host *.example.com:8443 --block-cidr 203.0.113.0/24" \
		"$(calls 'network proxy')"
	same stopped "$(vm status)"
}

@test "docker sandbox 0.7 and 0.10: no kind 'shell', one workspace" {
	for version in 0.7.1 0.10.1; do
		fake_sbx docker plugin=$version
		must_exit 0 sbx run -n "old-${version//./-}" -- true
		has "$(calls "create --name old-${version//./-}")" " claude $WS"
	done
	mkdir "$HOME/more"
	mkdir "$XDG_CONFIG_HOME/ralph"
	echo "mounts: [{path: $HOME/more}]" >"$XDG_CONFIG_HOME/ralph/config.yaml"
	run --separate-stderr sbx run -n third -- true
	same 125 "$status"
	has "$stderr" "$HOME/more"
}

@test "sbx: the sandbox is found again, and what the host changed is seen: stopped, then started" {
	fake_sbx sbx noise=1
	must_exit 0 sbx run -- sh -c 'echo kept >/home/agent/note'
	same kept "$(sbx run -- cat /home/agent/note)"
	same 1 "$(calls 'create ' | wc -l)"
	# One that was left running is stopped before it is used.
	"$FAKE/sbx" exec "$(sandbox)" true
	same running "$(vm status)"
	before=$(calls 'stop ' | wc -l)
	must_exit 0 sbx run -- true
	same $((before + 2)) "$(calls 'stop ' | wc -l)"
}

@test "docker sandbox: a stopped one that does not tell its workspace is started and asked again" {
	fake_sbx docker list=sparse
	must_exit 0 sbx run -- true
	must_exit 0 sbx run -- true
	same 1 "$(calls 'create ' | wc -l)"
}

@test "a sandbox of that name that is somebody else's is left alone" {
	fake_sbx sbx
	mkdir "$HOME/other"
	"$FAKE/sbx" create --name mine shell "$HOME/other" >/dev/null
	run --separate-stderr sbx run -n mine -- true
	same 125 "$status"
	has "$stderr" "$HOME/other"
	same running "$(vm status)"
	lacks "$(calls)" "exec"
}

@test "stdin, stdout and its end pass through; without stdin there is none" {
	fake_sbx sbx
	head -c 300000 /dev/urandom >"$T/in"
	sbx run -- cat <"$T/in" >"$T/out"
	cmp "$T/in" "$T/out"
	same 0 "$(sbx run -- sh -c 'cat | wc -c' </dev/null)"
}

@test "signals reach the command, inside" {
	fake_sbx sbx
	"$RALPH" --engine sbx run -- sh -c 'trap "echo got; exit 9" TERM; echo ready; while :; do sleep 0.05; done' \
		>"$T/out" 3>&- &
	pid=$!
	wait_until grep -q ready "$T/out"
	kill -TERM $pid
	code=0
	wait $pid || code=$?
	same 9 $code
	has "$(cat "$T/out")" got
}

@test "a killed command line ends its command inside, and the sandbox" {
	fake_sbx sbx
	"$RALPH" --engine sbx run -- sh -c "touch ready; exec sleep $LONG" 3>&- &
	pid=$!
	wait_until test -e "$WS/ready"
	kill -9 $pid
	wait_until stopped
	gone "$LONG"
}

@test "a killed command ends in a sandbox that stays, and what it left behind too" {
	fake_sbx sbx
	must_exit 0 sbx run -d -n kept -- true
	"$RALPH" exec kept sh -c "setsid sleep $LONG & touch ready; exec sleep $LONG" 3>&- &
	pid=$!
	wait_until test -e "$WS/ready"
	kill -9 $pid
	wait_until is kept commands 0
	wait_until gone "$LONG"
	same running "$(vm status)"
	# The same after an ordinary end.
	ralph exec kept sh -c "setsid sleep $LONG >/dev/null 2>&1 & sleep 0"
	gone "$LONG"
}

stopped() {
	[ "$(vm status)" = stopped ]
}

@test "the time limit ends a command: its code, and nothing left" {
	fake_sbx sbx
	run --separate-stderr sbx run --timeout 1s -- sh -c "sleep $LONG"
	same 143 "$status"
	has "$stderr" "time limit"
	gone "$LONG"
}

@test "a killed supervisor: the sandbox stops by itself, and the next command goes on" {
	fake_sbx sbx
	must_exit 0 sbx run -d -n kept -- true
	"$RALPH" exec kept sh -c "touch ready; exec sleep $LONG" 3>&- &
	wait_until test -e "$WS/ready"
	kill -9 "$(field kept supervisor)"
	wait_until -t 30 stopped
	gone "$LONG"
	must_exit 0 sbx run -n kept -- true
	same stopped "$(vm status)"
}

@test "rm removes the sandbox there too; --rm as well" {
	fake_sbx sbx
	must_exit 0 sbx run -n one -- true
	ralph rm one
	same "rm --force one" "$(calls 'rm --force')"
	must_exit 3 sbx run --rm -n two -- sh -c 'exit 3'
	has "$(calls)" "rm --force two"
	same "" "$("$FAKE/sbx" ls -q)"
}

@test "prune removes agent-loop-* whose workspace is gone, and nothing else" {
	fake_sbx sbx
	mkdir "$HOME/a" "$HOME/b"
	"$FAKE/sbx" create --name agent-loop-claude-gone shell "$HOME/a" >/dev/null
	"$FAKE/sbx" create --name agent-loop-claude-there shell "$HOME/b" >/dev/null
	"$FAKE/sbx" create --name other-gone shell "$HOME/a" >/dev/null
	rmdir "$HOME/a"
	has "$(ralph prune -n)" agent-loop-claude-gone
	has "$("$FAKE/sbx" ls -q)" agent-loop-claude-gone
	ralph prune
	same "agent-loop-claude-there other-gone" "$("$FAKE/sbx" ls -q | xargs)"
}

@test "a terminal: a pty of its own, with -t" {
	fake_sbx sbx
	out=$(ralph --engine sbx --yes run -t -- sh -c 'test -t 0 && test -t 1 && stty size' </dev/null)
	has "$out" "24 80"
	has "$(calls 'exec -i -t')" "stty size"
}

# in_shell STEP…: the steps in an interactive shell of the user's, which ends with 3.
in_shell() {
	must_exit 3 env PS1='$ ' TERM=xterm python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" 'expect:\$ ' "$@" 'send:exit 3\n' -- bash --norc --noprofile -i
}

@test "Ctrl-Z stops a command of Docker Sandboxes and ralph, with a terminal and without one; fg continues both" {
	local how key

	fake_sbx sbx
	echo 'trap "echo back-$((3 + 4))" CONT; echo run-$((1 + 1)); until [ -e over ]; do sleep 0.05; done; rm over; exit 5' >job
	for how in "-T \\x1a" "-t \\x1a" "-t \\x1b[122;5u"; do
		read -r how key <<<"$how"
		in_shell "send:$RALPH --engine sbx --yes run $how -- sh ./job\n" 'expect:run-2' "send:$key" 'expect:Stopped' \
			'send:echo still-$((40+2))\n' 'expect:still-42' 'send:fg\n' 'expect:back-7' "run:touch $PWD/over" 'expect:\$ ' \
			'send:echo code-$?\n' 'expect:code-5'
	done
}

@test "whatever a command of Docker Sandboxes leaves behind, the terminal is as it was" {
	local set='\033[?1049h\033[?1000;1006h\033[?25l\033(0\033[31m\033[>1u\033]0;mine\007'

	fake_sbx sbx
	must_exit 137 python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" -- "$RALPH" --engine sbx --yes run -t -- \
		sh -c "printf '$set'; kill -9 \$\$"
	has "$(cat -v "$T/out")" '^[(B^[)B^[[0m^[[<1u^[[?25h^[[?1000l^[[?1006l^[[?1049l^[[23;0t'
}

# ---- what is wrong is said ----

# bats test_tags=user
@test "auto is the native engine: where that cannot run, the error names the remedy, and nothing else is started" {
	need unshare
	fake_sbx sbx
	run --separate-stderr env PATH="$FAKE:$PATH" unshare -r sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$0" run -- true' "$RALPH"
	same 125 "$status"
	has "$stderr" "user.max_user_namespaces=15000"
	has "$stderr" "--engine podman"
	same "" "$(calls create)"
	has "$(ralph --dry-run run -- true)" "guest launch"
}

@test "no sbx, no docker: 125, with what to install" {
	run --separate-stderr env PATH=/usr/bin:/bin "$RALPH" --engine sbx run -- true
	same 125 "$status"
	has "$stderr" "sbx"
}

@test "the plugin that was removed, and a docker without it, are told apart from a working one" {
	fake_sbx docker plugin=removed
	run --separate-stderr ralph --engine docker-sandbox run -- true
	same 125 "$status"
	has "$stderr" "4.80"
	has "$stderr" "sbx"
	mode plugin=absent
	run --separate-stderr ralph --engine docker-sandbox run -- true
	same 125 "$status"
	has "$stderr" "no Docker Sandboxes"
	lacks "$(calls)" create
}

@test "a login that has ended: said, and nothing made" {
	fake_sbx sbx login=expired
	run --separate-stderr sbx run -- true
	same 125 "$status"
	has "$stderr" "run: sbx login"
	lacks "$(calls)" "create "
}

@test "a policy that was never set: said, and nothing left" {
	fake_sbx sbx policy=none
	run --separate-stderr sbx run -- true
	same 125 "$status"
	has "$stderr" "sbx policy init deny-all"
	same "" "$("$FAKE/sbx" ls -q)"
}

@test "a policy that lets everything through is no sandbox with an allowlist" {
	fake_sbx sbx policy=allow-all
	run --separate-stderr sbx run -- true
	same 125 "$status"
	has "$stderr" "not deny-all"
	lacks "$(calls)" "exec -i"
	must_exit 0 sbx run --net inet -- true
}

@test "a creation that leaves half a record is cleared away and tried once more" {
	fake_sbx sbx create=half
	must_exit 0 sbx run -- true
	same 2 "$(calls 'create ' | wc -l)"
	mode create=fail
	run --separate-stderr sbx run -n other -- true
	same 125 "$status"
	has "$stderr" "POST VM create failed"
	lacks "$("$FAKE/sbx" ls -q)" other
}

@test "half a record that was found is named, and rm removes it" {
	fake_sbx sbx
	must_exit 0 sbx run -n broken -- true
	sed -i 's/"stopped"/"error"/' "$FAKE/fake/vms/broken.json"
	run --separate-stderr sbx run -n broken -- true
	same 125 "$status"
	has "$stderr" "ralph rm broken"
	ralph rm broken
	same "" "$("$FAKE/sbx" ls -q)"
}

@test "what the engine cannot hold is an error that names it" {
	fake_sbx sbx
	touch secret.txt
	for args in "--net full" "--mask secret.txt" "--clone"; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr sbx run $args -- true
		same 2 "$status"
		has "$stderr" "engine sbx"
	done
	echo KEY=x >.env
	run --separate-stderr sbx run -- true
	same 2 "$status"
	has "$stderr" "$WS/.env"
	lacks "$(calls)" create
	must_exit 0 sbx run --mask '!.env' -- true
	rm .env secret.txt
}

@test "the audit says what does not hold there" {
	fake_sbx sbx
	run -0 sbx audit
	has "$output" "keeps a list of its own"
	has "$output" "put back after each command"
	run -0 sbx audit --env HTTP_PROXY=http://proxy.example
	has "$output" "HTTP_PROXY: its value can be seen"
	fake_sbx docker
	run -0 ralph --engine docker-sandbox audit
	has "$output" "until ralph rm"
}

@test "what needs a guest is refused by name" {
	fake_sbx sbx
	must_exit 0 sbx run -d -n kept -- true
	run --separate-stderr ralph ports kept publish 8080:80
	has "$stderr" "engine sbx"
	run --separate-stderr ralph selftest kept
	has "$stderr" "cannot be tested"
	must_exit 0 ralph exec kept true
}

@test "ralph up and preflight work there" {
	fake_sbx sbx
	has "$(sbx preflight --agent command)" "answers"
	sbx --yes up -d
	up
	same running "$(vm status)"
}

# ---- images ----

# A project with a Dockerfile that the user has agreed to, and docker has its base.
own_dockerfile() {
	mkdir -p .ralph
	printf 'FROM base:1\nUSER agent\n' >.ralph/Dockerfile
	fake_docker_images
	echo base:1 >>"$FAKE/docker-images"
	ralph trust --yes >/dev/null 2>&1
}

@test "sbx: the project's own image is built, loaded into sbx once, and what the sandbox is made of" {
	fake_sbx sbx
	own_dockerfile
	must_exit 0 sbx run -n one -- true
	image=$(vm template)
	has "$image" "agent-loop-sandbox-command:v"
	same 1 "$(calls 'template load' | wc -l)"
	has "$(calls 'create ')" "create --name one -t $image shell $WS"
	same "$(calls | grep -n 'template load' | cut -d: -f1)" "$(($(calls | grep -n 'create ' | cut -d: -f1) - 1))"
	ralph rm one
	must_exit 0 sbx run -n one -- true
	same 1 "$(calls 'template load' | wc -l)"
	same "" "$(compgen -G "${TMPDIR:-/var/tmp}/ralph-image-*")"
	# Another image is another sandbox: what is in this one is not thrown away for it.
	echo 'RUN true' >>.ralph/Dockerfile
	ralph trust --yes >/dev/null 2>&1
	run --separate-stderr sbx run -n one -- true
	same 2 "$status"
	has "$stderr" "made from another image"
	has "$stderr" "ralph rm one"
}

@test "docker sandbox: the project's own image is found in docker itself" {
	fake_sbx docker
	own_dockerfile
	must_exit 0 ralph --engine docker-sandbox run -n one -- true
	has "$(calls 'create ')" "create --name one -t $(vm template) shell $WS"
	has "$(vm template)" "agent-loop-sandbox-command:v"
}

@test "an image of ralph's that is named is loaded; one that docker has not is an error, and nothing is made" {
	fake_sbx sbx
	fake_docker_images
	echo agent-loop-sandbox-x:v1 >"$FAKE/docker-images"
	must_exit 0 sbx run -n one --image agent-loop-sandbox-x:v1 -- true
	same agent-loop-sandbox-x:v1 "$(vm template)"
	run --separate-stderr sbx run -n two --image agent-loop-sandbox-x:v2 -- true
	same 125 "$status"
	has "$stderr" "agent-loop-sandbox-x:v2"
	lacks "$(calls 'create ')" "--name two"
}

@test "a Dockerfile that nobody agreed to builds nothing" {
	fake_sbx sbx
	mkdir .ralph
	echo 'FROM base:1' >.ralph/Dockerfile
	fake_docker_images
	run --separate-stderr sbx run -- true
	same 2 "$status"
	has "$stderr" "ralph trust"
	lacks "$(calls)" create
}

@test "limits of a machine: memory and processors as sbx takes them, and no others" {
	fake_sbx sbx
	must_exit 0 sbx run -n one --memory 2G --cpu 100 -- true
	has "$(calls 'create ')" "-m 2048m --cpus 1"
	same 1 "$(sbx run -n one --memory 2G --cpu 100 -- nproc)"
	for args in "--memory 512M" "--cpu 150" "--pids 100"; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr sbx run -n two $args -- true
		same 2 "$status"
		has "$stderr" "engine sbx"
	done
	run --separate-stderr sbx run -n one --memory 4G --cpu 100 -- true
	same 2 "$status"
	has "$stderr" "made with other limits"
	fake_sbx docker
	run --separate-stderr ralph --engine docker-sandbox run -n two --cpu 100 -- true
	same 2 "$status"
	has "$stderr" "no bound on processors"
}

# ---- what the host would run ----

@test "what changes while a command runs is put back when it ends, also after kill -9 of the supervisor" {
	fake_sbx sbx
	printf '#!/bin/sh\nexit 0\n' >.git/hooks/pre-commit
	chmod 755 .git/hooks/pre-commit
	hook=$(cat .git/hooks/pre-commit)
	run --separate-stderr sbx run -- sh -c 'echo "touch ran" >>.git/hooks/pre-commit; mkdir .vscode; echo x >.vscode/tasks.json'
	same 0 "$status"
	same "$hook" "$(cat .git/hooks/pre-commit)"
	has "$stderr" "'$WS/.git/hooks/pre-commit' was put back as it was"
	id=$(grep -o 'quarantine ([0-9a-f]*)' <<<"$stderr" | grep -o '[0-9a-f]\{8\}' | head -1)
	has "$(ralph quarantine show "$id")" "touch ran"
	"$RALPH" --engine sbx run -n killed -- sh -c 'echo "touch ran" >>.git/hooks/pre-commit; touch ready; exec sleep '"$LONG" 3>&- &
	wait_until -t 30 test -e ready
	has "$(cat .git/hooks/pre-commit)" "touch ran"
	kill -9 "$(field killed supervisor)"
	wait $! || :
	must_exit 0 sbx run -n killed -- true
	same "$hook" "$(cat .git/hooks/pre-commit)"
	rm -rf ready .vscode
}

@test "a repository that is moved away is said" {
	fake_sbx sbx
	run --separate-stderr sbx run -- mv .git .g2
	has "$stderr" "the directory that it was in is gone"
	mv .g2 .git
}

# ---- hostile words ----

@test "a list of sandboxes that is no list, too long, or of options for names does nothing" {
	fake_sbx sbx "rows=$T/rows"
	printf '{"sandboxes": [{"name": "--all", "workspaces": ["/nowhere"]}, {"name": "-f"},
		{"name": "agent-loop-x\\u001b[2J", "workspaces": ["/nowhere"]},
		{"name": "agent-loop-y", "workspaces": ["relative/path"]},
		{"name": "agent-loop-z", "workspaces": ["/no/../where"]},
		{"name": ["agent-loop-w"]}, 7, null]}' >"$T/rows"
	ralph prune
	lacks "$(calls)" "rm "
	for text in 'nothing' '{"sandboxes": 7}' '{"sandboxes": [' '{}' \
		"{\"sandboxes\": [$(printf '{"name":"a"},%.0s' {1..2000}){}]}"; do
		echo "$text" >"$T/rows"
		run --separate-stderr sbx run -- true
		same 125 "$status"
		lacks "$(calls)" "create "
	done
	printf '{"sandboxes": [{"name": "twice", "status": "running"}, {"name": "twice"}]}' >"$T/rows"
	run --separate-stderr sbx run -n twice -- true
	same 125 "$status"
	has "$stderr" "two sandboxes"
}

@test "what the command line says reaches the terminal without its escape sequences" {
	fake_sbx sbx "rows=$T/rows"
	printf 'plain\n\033[2J\033]0;title\007 bad \302\233 end\n' >"$T/rows"
	run --separate-stderr sbx run -- true
	same 125 "$status"
	lacks "$stderr" $'\033'
	lacks "$stderr" $'\007'
}

@test "what a command prints reaches the user's terminal as from any sandbox: without orders to it" {
	fake_sbx sbx
	python3 "$BATS_TEST_DIRNAME/terminal.py" "$T/out" -- "$RALPH" --engine sbx --yes run -t -- \
		printf 'begin\033]52;c;aGk=\007\033]0;title\007end'
	has "$(cat "$T/out")" begin
	lacks "$(cat "$T/out")" $'\033]52'
	lacks "$(cat "$T/out")" aGk=
}

@test "values of yours are in no argument list of the host" {
	fake_sbx sbx
	export SECRET_ONE=one-value-xyz EXTRA=extra-value-xyz
	same "one-value-xyz extra-value-xyz third-value" \
		"$(RALPH_DOCKER_ENV=SECRET_ONE,NOT_SET sbx run --pass EXTRA --env THIRD=third-value -- \
			sh -c 'echo $SECRET_ONE $EXTRA $THIRD')"
	has "$(calls 'exec -i -e')" "-e SECRET_ONE "
	lacks "$(calls)" -value-xyz
	lacks "$(calls)" third-value
	lacks "$(calls)" NOT_SET
}
