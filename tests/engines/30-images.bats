#!/usr/bin/env bats
# The images of containers, with real engines and a real registry of this file's own. Every promise holds for
# docker and for podman: RALPH_TEST_ENGINE names one of them, else both are gone through.
# shellcheck disable=SC2030,SC2031 # tests are subshells
load ../cli/helpers
load ../cli/sandbox
load images

# Which engines: none of the others has images.
engines() {
	case ${RALPH_TEST_ENGINE:-} in
	docker | podman) echo "$RALPH_TEST_ENGINE" ;;
	'') echo docker podman ;;
	esac
}

applies() {
	[ "$(id -u)" -eq 0 ] && [ -n "$(engines)" ]
}

setup_file() {
	applies || return 0
	need docker podman docker-registry python3 busybox
	images_start
}

teardown_file() {
	! applies || images_stop
}

setup() {
	only_root
	applies || not_here "$RALPH_TEST_ENGINE has no images"
	ralph_setup
	export TERM=xterm
	ID=${T##*-}
	for ENGINE in $(engines); do
		load_base "localhost/base-$ID:1" 0 "$ID"
	done
	project
}

# project: the one that every promise begins with.
project() {
	rm -rf .ralph
	mkdir -p .ralph/image
	echo one >.ralph/image/a
	cat >.ralph/Dockerfile <<-END
		ARG BASE=localhost/base-$ID:1
		FROM \${BASE}
		RUN cat /text >/made
		COPY . /ctx/
		USER agent
	END
}

teardown() {
	! applies || ralph_teardown
}

# each PROMISE: it holds for every engine, each with a state of ralph's own.
each() {
	for ENGINE in $(engines); do
		export RALPH_ENGINE=$ENGINE XDG_STATE_HOME=$T/state-$ENGINE
		project
		"$@" || fail "with $ENGINE" || return
	done
}

# load_base NAME [DAYS [TEXT]]: a base that was made so many days ago.
load_base() {
	python3 "$BATS_TEST_DIRNAME/mkimage.py" "$@" | "$ENGINE" load >/dev/null 2>&1
}

# publish NAME DAYS TEXT: the registry has this one, the engine still what it had.
publish() {
	local had

	had=$("$ENGINE" image inspect --format '{{.Id}}' "$1" 2>/dev/null) || had=
	load_base "$@"
	"$ENGINE" push "$1" >/dev/null 2>&1 || return
	if [ -n "$had" ]; then
		"$ENGINE" tag "$had" "$1"
	else
		"$ENGINE" image rm "$1" >/dev/null 2>&1
	fi
}

trust() {
	ralph trust --yes >/dev/null 2>&1
}

build() {
	ralph image build claude "$@"
}

# trusted: the name of the image, once what is there is agreed to.
trusted() {
	trust && build 2>"$T/said"
}

inside() {
	"$ENGINE" run --rm --network none "$@"
}

image_id() {
	"$ENGINE" image inspect --format '{{.Id}}' "$1"
}

built_once() {
	local name again

	name=$(trusted) || return
	[[ $name =~ ^agent-loop-sandbox-claude:v[0-9a-f]{32}$ ]] || fail "no such name: $name" || return
	has "$(cat "$T/said")" "built $name" && has "$(cat "$T/said")" 'RUN cat /text' || return
	same "$ID" "$(inside "$name" cat /made)" && same one "$(inside "$name" cat /ctx/a)" || return
	same uid=1000 "$(inside "$name" id | cut -d '(' -f 1)" || return
	again=$(build 2>"$T/said") || return
	same "$name" "$again" && same '' "$(cat "$T/said")" || return
	same "$name" "$(ralph image ls --json | get 'j[0]["image"]')"
}

@test 'an image is built when it is missing, as the Dockerfile says, and not a second time' {
	each built_once
}

names_differ() {
	local seen=() name n

	step() {
		name=$(trusted) || return
		for n in "${seen[@]}"; do
			[ "$n" != "$name" ] || fail "the same name after: $1" || return
		done
		seen+=("$name")
	}
	step 'the start' || return
	echo '# a comment' >>.ralph/Dockerfile && step 'a comment in the Dockerfile' || return
	echo two >.ralph/image/a && step 'the content of a file' || return
	chmod 0755 .ralph/image/a && step 'the mode of a file' || return
	mv .ralph/image/a .ralph/image/b && step 'the name of a file' || return
	load_base "localhost/base-$ID:1" 0 "$ID-another" && step 'the content of the base'
}

@test 'the name changes with the Dockerfile, with a name, mode or content of the context, and with the base' {
	each names_differ
}

names_stay() {
	local name

	touch .ralph/image/z .ralph/image/m
	name=$(trusted) || return
	# Another order in the directory, other times, another place for the base's name: the same content.
	rm .ralph/image/*
	touch .ralph/image/m .ralph/image/z && echo one >.ralph/image/a
	touch -d 2001-01-01 .ralph/Dockerfile .ralph/image/a
	"$ENGINE" tag "localhost/base-$ID:1" "localhost/other-$ID:1" || return
	same "$name" "$(build 2>"$T/said")" || return
	same "$name" "$(build --base "localhost/other-$ID:1" 2>>"$T/said")" || return
	same '' "$(cat "$T/said")"
}

@test 'the name stays whatever the times, the order and the name of the base' {
	each names_stay
}

image_trust() {
	local name

	must_exit 2 build 2>"$T/err" || return
	has "$(cat "$T/err")" .ralph/Dockerfile && has "$(cat "$T/err")" 'ralph trust' || return
	# Native sandboxes need no image, and so no trust.
	ralph run --engine native --rm -- true || return
	ralph trust --yes 2>"$T/shown" || return
	has "$(cat "$T/shown")" 'RUN cat /text >/made' && has "$(cat "$T/shown")" '1:a' || return
	name=$(build 2>/dev/null) || return
	same trusted "$(ralph trust --list --json | get 'j[0]["state"]')" || return
	# The image is there, and yet what is not agreed to is not used.
	echo two >.ralph/image/a
	must_exit 2 build 2>"$T/err" || return
	has "$(cat "$T/err")" 'has changed' || return
	same changed "$(ralph trust --list --json | get 'j[0]["state"]')" || return
	echo one >.ralph/image/a
	same "$name" "$(build 2>/dev/null)" || return
	ralph trust --revoke && must_exit 2 build 2>/dev/null
}

@test 'a project'\''s Dockerfile needs the user'\''s word on it and on its context, and again when either changed' {
	each image_trust
}

one_build() {
	local i lock

	trust || return
	lock=$XDG_STATE_HOME/ralph/images/lock-$ENGINE-claude
	mkdir -p "${lock%/*}"
	exec 9>"$lock"
	flock 9
	for i in 1 2 3; do
		"$RALPH" image build claude >"$T/name-$i" 2>"$T/said-$i" 3>&- 9>&- &
	done
	for i in 1 2 3; do
		wait_until -t 60 grep -q 'another ralph' "$T/said-$i" || return
	done
	exec 9>&-
	wait
	same 1 "$(cat "$T"/said-? | grep -c 'building agent-loop')" || return
	same 1 "$(sort -u "$T"/name-? | wc -l)" && [ -s "$T/name-1" ]
}

@test 'builders at once give one build and one name' {
	each one_build
}

use_registry() {
	BASE=$REGISTRY/base-$ID:1
	printf 'FROM %s\nRUN cat /text >/made\n' "$BASE" >.ralph/Dockerfile
	rm -rf .ralph/image
}

rebuilt() {
	local name other first

	use_registry
	load_base "$BASE" 0 v1 && publish "$BASE" 0 v2 || return
	name=$(trusted) || return
	same v1 "$(inside "$name" cat /made)" || return
	first=$(image_id "$name")
	same "$name" "$(build 2>"$T/said")" && same '' "$(cat "$T/said")" || return
	other=$(build --rebuild 2>"$T/said") || return
	has "$(cat "$T/said")" "pulling $BASE" || return
	[ "$name" != "$other" ] && same v2 "$(inside "$other" cat /made)" || return
	# Nothing new to pull: the same name, and yet made anew.
	first=$(image_id "$other")
	same "$other" "$(build --rebuild 2>/dev/null)" || return
	[ "$first" != "$(image_id "$other")" ]
}

@test '--rebuild pulls the base again and builds without a cache' {
	each rebuilt
}

stale_base() {
	local name

	use_registry
	load_base "$BASE" 6 v1 && publish "$BASE" 5 v2 || return
	name=$(trusted) || return
	same v1 "$(inside "$name" cat /made)" && lacks "$(cat "$T/said")" pulling || return
	"$ENGINE" image rm "$BASE" >/dev/null
	load_base "$BASE" 8 v1 && publish "$BASE" 7.5 v2 || return
	name=$(build 2>"$T/said") || return
	same 1 "$(grep -c "pulling $BASE" "$T/said")" && same v2 "$(inside "$name" cat /made)" || return
	# What the registry has is old as well; it was asked just now.
	same "$name" "$(build 2>"$T/said")" && same '' "$(cat "$T/said")"
}

@test 'a base of more than seven days is pulled again, once; a younger one is not' {
	each stale_base
}

offline() {
	local name

	printf 'FROM 127.0.0.1:1/base-%s:1\nRUN cat /text >/made\n' "$ID" >.ralph/Dockerfile
	rm -rf .ralph/image
	trust || return
	# Without any, there is nothing to build on.
	must_exit 1 build 2>"$T/err" || return
	has "$(cat "$T/err")" "127.0.0.1:1/base-$ID:1" && has "$(cat "$T/err")" image.base || return
	rm -rf "$XDG_STATE_HOME/ralph/images/bases"
	load_base "127.0.0.1:1/base-$ID:1" 30 "$ID" || return
	name=$(build 2>"$T/said") || return
	same 1 "$(grep -c warning "$T/said")" && has "$(grep warning "$T/said")" "cannot pull 127.0.0.1:1/base-$ID:1" || return
	same "$ID" "$(inside "$name" cat /made)" || return
	# The next one does not wait for the network again.
	same "$name" "$(build 2>"$T/said")" && same '' "$(cat "$T/said")" || return
	# A rebuild does, and does without.
	same "$name" "$(build --rebuild 2>"$T/said")" && same 1 "$(grep -c warning "$T/said")"
}

@test 'offline: the base that is there, with one line of warning; without one, an error that says so' {
	each offline
}

failed_build() {
	local log

	printf 'FROM localhost/base-%s:1\nRUN echo first-words; cat /text; echo more-words; false\n' "$ID" >.ralph/Dockerfile
	trust || return
	must_exit 1 build >"$T/out" 2>"$T/err" || return
	same '' "$(cat "$T/out")" || return
	has "$(tail -n 1 "$T/err")" 'RUN echo first-words' || return
	log=$(sed -nE "s/.*all it said is in '([^']*)'.*/\1/p" "$T/err")
	[ -f "$log" ] && has "$(cat "$log")" more-words || return
	same '[]' "$(ralph image ls --json | get '[r for r in j if r["project"] == "'"$WS"'"]')"
}

@test 'a build that fails names its step and the file with all it said, and leaves no image' {
	each failed_build
}

hostile() {
	local case

	mkdir -p "$T/outside"
	echo "FROM localhost/base-$ID:1" >"$T/outside/Dockerfile"
	echo canary-canary >"$T/outside/secret"
	for case in 'rm -r .ralph/Dockerfile; ln -s ../../../outside/Dockerfile .ralph/Dockerfile' \
		'rm -r .ralph; ln -s ../../outside .ralph' \
		'rm -r .ralph/image; ln -s ../../../outside .ralph/image' \
		'ln -s ../../../../outside/secret .ralph/image/s' 'ln -s /etc/passwd .ralph/image/s' \
		'mkdir .ralph/image/d; ln -s ../../x .ralph/image/d/s' 'mkfifo .ralph/image/p' \
		'truncate -s 100G .ralph/image/huge' 'seq -f .ralph/image/%.0f 5000 | xargs touch' \
		'echo "*" >.ralph/image/.dockerignore' 'mkfifo .ralph/f; mv .ralph/f .ralph/Dockerfile' \
		'truncate -s 1G .ralph/Dockerfile' \
		"sed -i '1i # syntax=127.0.0.1:1/frontend' .ralph/Dockerfile" \
		"sed -i 's/^FROM /FROM --platform=linux\/arm64 /' .ralph/Dockerfile" \
		'echo "COPY --from=127.0.0.1:1/x /a /a" >>.ralph/Dockerfile' \
		'printf "FROM --privileged\n" >.ralph/Dockerfile' 'printf "\0FROM x\n" >.ralph/Dockerfile'; do
		cp -a .ralph "$T/kept"
		eval "$case"
		must_exit 2 timeout 60 "$RALPH" image build claude >"$T/out" 2>"$T/err" &&
			must_exit 2 timeout 60 "$RALPH" trust --yes >>"$T/out" 2>>"$T/err" || fail "with: $case" || return
		lacks "$(cat "$T/out" "$T/err")" canary-canary || return
		rm -rf .ralph
		mv "$T/kept" .ralph
	done
	same '[]' "$(ralph trust --list --json)"
	[ ! -e "$XDG_STATE_HOME/ralph/images/logs" ] || fail 'something was built'
}

@test 'links, pipes, huge contexts, ignore files, frontends and platforms of a project are refused; nothing is built' {
	each hostile
}

swapped() {
	local i name bad=''

	printf 'evil\n' >"$T/evil"
	printf 'one\n' | tee "$T/good" >.ralph/image/a
	trust || return
	python3 - "$T" <<-'END' 3>&- &
		import os, sys
		t = sys.argv[1]
		while os.path.exists(t + "/good"):
		    for name in ("good", "evil"):
		        try:
		            os.link(t + "/" + name, ".ralph/new")
		        except FileNotFoundError:
		            break
		        os.rename(".ralph/new", ".ralph/image/a")
	END
	for ((i = 0; i < 6; i++)); do
		name=$(ralph image build --rebuild claude 2>/dev/null) || continue
		[ "$(inside "$name" cat /ctx/a)" = one ] || bad=$name
	done
	rm "$T/good"
	wait
	same '' "$bad"
}

@test 'a context that is swapped all the time is built as it was trusted, or not at all' {
	each swapped
}

pruned() {
	local old used name

	old=$(trusted) || return
	echo two >.ralph/image/a && used=$(trusted) || return
	"$ENGINE" create --name "keep-$ID" "$used" true >/dev/null || return
	echo three >.ralph/image/a && name=$(trusted) || return
	has "$(ralph image prune -n)" "would remove $old" || return
	image_id "$old" >/dev/null || return
	has "$(ralph image prune 2>"$T/said")" "removed $old" || return
	must_fail image_id "$old" 2>/dev/null || return
	image_id "$name" >/dev/null && image_id "$used" >/dev/null || fail 'too much is gone' || return
	has "$(cat "$T/said")" "$used stays" || return
	"$ENGINE" rm "keep-$ID" >/dev/null
	rm -r .ralph
	has "$(ralph image prune)" "removed $name" || return
	same '[]' "$(ralph image ls --json | get '[r for r in j if r["project"] == "'"$WS"'"]')"
}

@test 'prune removes what no Dockerfile comes to any more, and nothing that a container needs' {
	each pruned
}

shown() {
	local esc=$'\033'

	trust || return
	python3 "$BATS_TEST_DIRNAME/../cli/terminal.py" "$T/out" 'expect:agent-loop-sandbox-claude:v' -- "$RALPH" image build --rebuild claude || return
	# One line, written over and cleared at last; the name alone stays.
	same 1 "$(tr -d '\r' <"$T/out" | grep -c .)" || return
	has "$(cat "$T/out")" $'\r\033[Kimage: step ' || return
	tail -n 1 "$T/out" | grep -qE "$esc\[Kagent-loop-sandbox-claude:v[0-9a-f]{32}" || fail "$(cat -v "$T/out")" || return
	build --rebuild 2>"$T/said" >/dev/null || return
	lacks "$(cat "$T/said")" $'\033' && grep -qE 'step [0-9]+/[0-9]+: RUN cat' "$T/said"
}

@test 'progress is one line on a terminal, and a line for each step elsewhere' {
	each shown
}

planted() {
	mkdir -p bin
	printf '#!/bin/sh\ntouch %s/ran\nexit 1\n' "$T" >bin/"$ENGINE"
	chmod +x bin/"$ENGINE"
	trust || return
	PATH=$WS/bin:bin:$PATH build >/dev/null 2>&1 || return
	[ ! -e "$T/ran" ]
}

@test 'a program of the project that is called like an engine is not run' {
	each planted
}

killed() {
	printf 'FROM localhost/base-%s:1\nRUN sleep 600\n' "$ID" >.ralph/Dockerfile
	trust || return
	"$RALPH" image build claude >/dev/null 2>"$T/said" 3>&- &
	wait_until -t 60 grep -q 'RUN sleep' "$T/said" || return
	kill -9 $!
	wait $! 2>/dev/null || :
	printf 'FROM localhost/base-%s:1\nRUN true\n' "$ID" >.ralph/Dockerfile
	trusted >/dev/null || return
	same '' "$(find "$XDG_STATE_HOME/ralph/images" -name 'copy-*' -o -name 'new-*')"
}

@test 'a builder that was killed leaves no lock and no copy behind' {
	each killed
}

@test 'without an engine: an error that says what is missing; one that is named has to answer' {
	mkdir "$T/bin"
	must_exit 1 env PATH="$T/bin" "$RALPH" image build claude 2>"$T/err"
	has "$(cat "$T/err")" 'docker is not on your PATH'
	same '[]' "$(PATH=$T/bin ralph image ls --json)"
	DOCKER_HOST=unix://$T/none must_exit 1 "$RALPH" --engine docker image ls 2>"$T/err"
	has "$(cat "$T/err")" "$T/none"
	[ "$(engines)" = 'docker podman' ] || return 0
	trust
	# The other one does it.
	[[ $(DOCKER_HOST=unix://$T/none build 2>/dev/null) == agent-loop-sandbox-claude:v* ]]
	same podman "$(DOCKER_HOST=unix://$T/none ralph image ls --json 2>/dev/null | get '{r["engine"] for r in j}.pop()')"
}

shipped() {
	local agent

	rm -r .ralph
	for agent in claude codex gemini opencode copilot command; do
		ralph --dry-run image build "$agent" --base "localhost/base-$ID:1" >"$T/out" || return
		has "$(cat "$T/out")" "agent-loop/$agent/Dockerfile" && has "$(cat "$T/out")" "base-$ID:1" || return
		grep -qE "^image: +agent-loop-sandbox-$agent:v[0-9a-f]{32}$" "$T/out" || return
	done
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	echo "image: {base: 'localhost/base-$ID:1'}" >"$XDG_CONFIG_HOME/ralph/config.yaml"
	has "$(ralph --dry-run image build claude)" "base-$ID:1" || return
	[ ! -e "$XDG_STATE_HOME/ralph/images/logs" ]
}

@test 'every agent has a Dockerfile of ralph'\''s, whose base can be set and is shown' {
	each shipped
}

@test 'a project may not set the base' {
	echo 'image: {base: evil}' >.ralph/config.yaml
	must_exit 2 build 2>"$T/err"
	has "$(cat "$T/err")" image.base
}
