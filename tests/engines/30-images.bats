#!/usr/bin/env bats
# runs: root:docker
# What podman itself does (building, pulling, listing, removing) runs with it too; names, trust and refusals are ralph's own.
# seconds: 100
# The images of containers, with the real engine and a real registry of this file's own.
# shellcheck disable=SC2030,SC2031 # tests are subshells
load ../cli/helpers
load ../cli/sandbox
load engine
load registry

# Others have no images.
has_images() {
	[ "$(id -u)" -eq 0 ] && [[ $ENGINE == docker || $ENGINE == podman ]]
}

setup_file() {
	has_images || return 0
	need docker-registry busybox
	ENGINE_DIR=$(mktemp -d /tmp/re-XXXXXX) || return
	# Builders are legion; the one that every docker has.
	export ENGINE_DIR DOCKER_BUILDKIT=0 TMPDIR=$ENGINE_DIR/tmp
	mkdir "$TMPDIR"
	registry_start && "${ENGINE}_start"
}

teardown_file() {
	has_images || return 0
	registry_end
	"${ENGINE}_end"
	rm -rf --one-file-system "$ENGINE_DIR"
}

setup() {
	only docker podman
	only_root
	ralph_setup
	export TERM=xterm RALPH_ENGINE=$ENGINE
	ID=${T##*-}
	load_base "localhost/base-$ID:1" 0 "$ID"
	# What every promise begins with.
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
	! has_images || ralph_teardown
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

# Limits that every machine grants: podman's own are higher than some do.
inside() {
	"$ENGINE" run --rm --network none --ulimit nofile=1024:4096 --ulimit nproc=4096:4096 "$@"
}

image_id() {
	"$ENGINE" image inspect --format '{{.Id}}' "$1"
}

# bats test_tags=root:podman
@test 'an image is built when it is missing, as the Dockerfile says, and not a second time' {
	local name again

	name=$(trusted)
	[[ $name =~ ^agent-loop-sandbox-claude:v[0-9a-f]{32}$ ]] || fail "no such name: $name"
	has "$(cat "$T/said")" "built $name"
	has "$(cat "$T/said")" 'RUN cat /text'
	same "$ID" "$(inside "$name" cat /made)"
	same one "$(inside "$name" cat /ctx/a)"
	same uid=1000 "$(inside "$name" id | cut -d '(' -f 1)"
	again=$(build 2>"$T/said")
	same "$name" "$again"
	same '' "$(cat "$T/said")"
	same "$name" "$(ralph image ls --json | get 'j[0]["image"]')"
}

# bats test_tags=root:podman
@test 'the name changes with the Dockerfile, with a name, mode or content of the context, and with the base' {
	local seen=() name n

	step() {
		name=$(trusted)
		for n in "${seen[@]}"; do
			[ "$n" != "$name" ] || fail "the same name after: $1"
		done
		seen+=("$name")
	}
	step 'the start'
	echo '# a comment' >>.ralph/Dockerfile
	step 'a comment in the Dockerfile'
	echo two >.ralph/image/a
	step 'the content of a file'
	chmod 0755 .ralph/image/a
	step 'the mode of a file'
	mv .ralph/image/a .ralph/image/b
	step 'the name of a file'
	load_base "localhost/base-$ID:1" 0 "$ID-another"
	step 'the content of the base'
}

@test 'the name stays whatever the times, the order and the name of the base' {
	local name

	touch .ralph/image/z .ralph/image/m
	name=$(trusted)
	# Another order in the directory, other times, another place for the base's name: the same content.
	rm .ralph/image/*
	touch .ralph/image/m .ralph/image/z
	echo one >.ralph/image/a
	touch -d 2001-01-01 .ralph/Dockerfile .ralph/image/a
	"$ENGINE" tag "localhost/base-$ID:1" "localhost/other-$ID:1"
	same "$name" "$(build 2>"$T/said")"
	same "$name" "$(build --base "localhost/other-$ID:1" 2>>"$T/said")"
	same '' "$(cat "$T/said")"
}

@test 'a project'\''s Dockerfile needs the user'\''s word on it and on its context, and again when either changed' {
	local name

	must_exit 2 build 2>"$T/err"
	has "$(cat "$T/err")" .ralph/Dockerfile
	has "$(cat "$T/err")" 'ralph trust'
	# Native sandboxes need no image, and so no trust.
	ralph run --engine native --rm -- true
	ralph trust --yes 2>"$T/shown"
	has "$(cat "$T/shown")" 'RUN cat /text >/made'
	has "$(cat "$T/shown")" '1:a'
	name=$(build 2>/dev/null)
	same trusted "$(ralph trust --list --json | get 'j[0]["state"]')"
	# The image is there, and yet what is not agreed to is not used.
	echo two >.ralph/image/a
	must_exit 2 build 2>"$T/err"
	has "$(cat "$T/err")" 'has changed'
	same changed "$(ralph trust --list --json | get 'j[0]["state"]')"
	echo one >.ralph/image/a
	same "$name" "$(build 2>/dev/null)"
	ralph trust --revoke
	must_exit 2 build 2>/dev/null
}

# bats test_tags=root:podman
@test 'builders at once give one build and one name' {
	local i lock

	trust
	lock=$XDG_STATE_HOME/ralph/images/lock-$ENGINE-claude
	mkdir -p "${lock%/*}"
	exec 9>"$lock"
	flock 9
	for i in 1 2 3; do
		"$RALPH" image build claude >"$T/name-$i" 2>"$T/said-$i" 3>&- 9>&- &
	done
	for i in 1 2 3; do
		wait_until -t 60 grep -q 'another ralph' "$T/said-$i"
	done
	exec 9>&-
	wait
	same 1 "$(cat "$T"/said-? | grep -c 'building agent-loop')"
	same 1 "$(sort -u "$T"/name-? | wc -l)"
	[ -s "$T/name-1" ]
}

# bats test_tags=root:podman
@test 'a run builds the image that it needs, and another run finds it; without trust nothing runs' {
	# One with all that the self-test looks for.
	RALPH_IMAGE_BASE=$("${ENGINE}_env" | sed -n 's/^RALPH_IMAGE_NAME=//p')
	export RALPH_IMAGE_BASE
	sed -i "s|^RUN .*|RUN echo $ID >/made|; /^USER/d" .ralph/Dockerfile
	must_exit 2 ralph run --agent claude -- touch ran 2>"$T/err"
	has "$(cat "$T/err")" 'ralph trust'
	trust
	same "$ID" "$(ralph run --agent claude -- cat /made 2>"$T/said")" || fail "$(cat "$T/said")"
	has "$(cat "$T/said")" 'built agent-loop-sandbox-claude:v'
	same "$ID" "$(ralph run --agent claude -- cat /made 2>"$T/said")"
	lacks "$(cat "$T/said")" built
	[ ! -e ran ]
}

use_registry() {
	BASE=$REGISTRY/base-$ID:1
	printf 'FROM %s\nRUN cat /text >/made\n' "$BASE" >.ralph/Dockerfile
	rm -rf .ralph/image
}

# bats test_tags=root:podman
@test '--rebuild pulls the base again and builds without a cache' {
	local name other first

	use_registry
	load_base "$BASE" 0 v1
	publish "$BASE" 0 v2
	name=$(trusted)
	same v1 "$(inside "$name" cat /made)"
	first=$(image_id "$name")
	same "$name" "$(build 2>"$T/said")"
	same '' "$(cat "$T/said")"
	other=$(build --rebuild 2>"$T/said")
	has "$(cat "$T/said")" "pulling $BASE"
	[ "$name" != "$other" ]
	same v2 "$(inside "$other" cat /made)"
	# Nothing new to pull: the same name, and yet made anew.
	first=$(image_id "$other")
	same "$other" "$(build --rebuild 2>/dev/null)"
	[ "$first" != "$(image_id "$other")" ]
}

# bats test_tags=root:podman
@test 'a base of more than seven days is pulled again, once; a younger one is not' {
	local name

	use_registry
	load_base "$BASE" 6 v1
	publish "$BASE" 5 v2
	name=$(trusted)
	same v1 "$(inside "$name" cat /made)"
	lacks "$(cat "$T/said")" pulling
	"$ENGINE" image rm "$BASE" >/dev/null
	load_base "$BASE" 8 v1
	publish "$BASE" 7.5 v2
	name=$(build 2>"$T/said")
	same 1 "$(grep -c "pulling $BASE" "$T/said")"
	same v2 "$(inside "$name" cat /made)"
	# What the registry has is old as well; it was asked just now.
	same "$name" "$(build 2>"$T/said")"
	same '' "$(cat "$T/said")"
}

# bats test_tags=root:podman
@test 'offline: the base that is there, with one line of warning; without one, an error that says so' {
	local name

	printf 'FROM 127.0.0.1:1/base-%s:1\nRUN cat /text >/made\n' "$ID" >.ralph/Dockerfile
	rm -rf .ralph/image
	trust
	# Without any, there is nothing to build on.
	must_exit 1 build 2>"$T/err"
	has "$(cat "$T/err")" "127.0.0.1:1/base-$ID:1"
	has "$(cat "$T/err")" image.base
	rm -rf "$XDG_STATE_HOME/ralph/images/bases"
	load_base "127.0.0.1:1/base-$ID:1" 30 "$ID"
	name=$(build 2>"$T/said")
	same 1 "$(grep -c warning "$T/said")"
	has "$(grep warning "$T/said")" "cannot pull 127.0.0.1:1/base-$ID:1"
	same "$ID" "$(inside "$name" cat /made)"
	# The next one does not wait for the network again.
	same "$name" "$(build 2>"$T/said")"
	same '' "$(cat "$T/said")"
	# A rebuild does, and does without.
	same "$name" "$(build --rebuild 2>"$T/said")"
	same 1 "$(grep -c warning "$T/said")"
}

# bats test_tags=root:podman
@test 'a build that fails names its step and the file with all it said, and leaves no image' {
	local log

	printf 'FROM localhost/base-%s:1\nRUN echo first-words; cat /text; echo more-words; false\n' "$ID" >.ralph/Dockerfile
	trust
	must_exit 1 build >"$T/out" 2>"$T/err"
	same '' "$(cat "$T/out")"
	has "$(tail -n 1 "$T/err")" 'RUN echo first-words'
	log=$(sed -nE "s/.*all it said is in '([^']*)'.*/\1/p" "$T/err")
	[ -f "$log" ]
	has "$(cat "$log")" more-words
	same '[]' "$(ralph image ls --json | get '[r for r in j if r["project"] == "'"$WS"'"]')"
}

@test 'links, pipes, huge contexts, ignore files, frontends and platforms of a project are refused; nothing is built' {
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
		must_exit 2 timeout 60 "$RALPH" image build claude >"$T/out" 2>"$T/err" || fail "with: $case"
		must_exit 2 timeout 60 "$RALPH" trust --yes >>"$T/out" 2>>"$T/err" || fail "with: $case"
		lacks "$(cat "$T/out" "$T/err")" canary-canary
		rm -rf .ralph
		mv "$T/kept" .ralph
	done
	same '[]' "$(ralph trust --list --json)"
	[ ! -e "$XDG_STATE_HOME/ralph/images/logs" ] || fail 'something was built'
}

@test 'a context that is swapped all the time is built as it was trusted, or not at all' {
	local i name bad=''

	printf 'evil\n' >"$T/evil"
	printf 'one\n' | tee "$T/good" >.ralph/image/a
	trust
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
	echo one >.ralph/image/a
	same one "$(inside "$(build --rebuild 2>/dev/null)" cat /ctx/a)"
}

# bats test_tags=root:podman
@test 'prune removes what no Dockerfile comes to any more, and nothing that a container needs' {
	local old used name

	old=$(trusted)
	echo two >.ralph/image/a
	used=$(trusted)
	"$ENGINE" create --name "keep-$ID" "$used" true >/dev/null
	echo three >.ralph/image/a
	name=$(trusted)
	has "$(ralph image prune -n)" "would remove $old"
	image_id "$old" >/dev/null
	has "$(ralph image prune 2>"$T/said")" "removed $old"
	must_fail image_id "$old" 2>/dev/null
	image_id "$name" >/dev/null
	image_id "$used" >/dev/null
	has "$(cat "$T/said")" "$used stays"
	"$ENGINE" rm "keep-$ID" >/dev/null
	rm -r .ralph
	has "$(ralph image prune)" "removed $name"
	same '[]' "$(ralph image ls --json | get '[r for r in j if r["project"] == "'"$WS"'"]')"
}

# bats test_tags=root:podman
@test 'progress is one line on a terminal, and a line for each step elsewhere' {
	local esc=$'\033'

	trust
	python3 "$BATS_TEST_DIRNAME/../cli/terminal.py" "$T/out" 'expect:agent-loop-sandbox-claude:v' -- "$RALPH" image build --rebuild claude
	# One line, written over and cleared at last; the name alone stays.
	same 1 "$(tr -d '\r' <"$T/out" | grep -c .)"
	has "$(cat "$T/out")" $'\r\033[Kimage: step '
	tail -n 1 "$T/out" | grep -qE "$esc\[Kagent-loop-sandbox-claude:v[0-9a-f]{32}" || fail "$(cat -v "$T/out")"
	build --rebuild 2>"$T/said" >/dev/null
	lacks "$(cat "$T/said")" $'\033'
	grep -qE 'step [0-9]+/[0-9]+: RUN cat' "$T/said"
}

@test 'a program of the project that is called like an engine is not run' {
	mkdir -p bin
	printf '#!/bin/sh\ntouch %s/ran\nexit 1\n' "$T" >bin/"$ENGINE"
	chmod +x bin/"$ENGINE"
	trust
	PATH=$WS/bin:bin:$PATH build >/dev/null 2>&1
	[ ! -e "$T/ran" ]
}

@test 'a builder that was killed leaves no lock and no copy behind' {
	printf 'FROM localhost/base-%s:1\nRUN sleep 600\n' "$ID" >.ralph/Dockerfile
	trust
	"$RALPH" image build claude >/dev/null 2>"$T/said" 3>&- &
	wait_until -t 60 grep -q 'RUN sleep' "$T/said"
	kill -9 $!
	wait $! 2>/dev/null || :
	printf 'FROM localhost/base-%s:1\nRUN true\n' "$ID" >.ralph/Dockerfile
	trusted >/dev/null
	same '' "$(find "$XDG_STATE_HOME/ralph/images" -name 'copy-*' -o -name 'new-*')"
}

@test 'without an engine: an error that says what is missing; one that is named has to answer' {
	mkdir "$T/bin"
	must_exit 1 env PATH="$T/bin" "$RALPH" image build claude 2>"$T/err"
	has "$(cat "$T/err")" "$ENGINE is not on your PATH"
	# Where none was asked for, there are no images.
	same '[]' "$(PATH=$T/bin RALPH_ENGINE=auto ralph image ls --json)"
	[ "$ENGINE" = docker ] || return 0
	DOCKER_HOST=unix://$T/none must_exit 1 "$RALPH" image ls 2>"$T/err"
	has "$(cat "$T/err")" "$T/none"
}

@test 'every agent has a Dockerfile of ralph'\''s, whose base can be set and is shown' {
	local agent

	rm -r .ralph
	for agent in claude codex gemini opencode copilot command; do
		ralph --dry-run image build "$agent" --base "localhost/base-$ID:1" >"$T/out"
		has "$(cat "$T/out")" "agent-loop/$agent/Dockerfile"
		has "$(cat "$T/out")" "base-$ID:1"
		grep -qE "^image: +agent-loop-sandbox-$agent:v[0-9a-f]{32}$" "$T/out"
	done
	mkdir -p "$XDG_CONFIG_HOME/ralph"
	echo "image: {base: 'localhost/base-$ID:1'}" >"$XDG_CONFIG_HOME/ralph/config.yaml"
	has "$(ralph --dry-run image build claude)" "base-$ID:1"
	[ ! -e "$XDG_STATE_HOME/ralph/images/logs" ]
}

@test 'a project may not set the base' {
	echo 'image: {base: evil}' >.ralph/config.yaml
	must_exit 2 build 2>"$T/err"
	has "$(cat "$T/err")" image.base
}
