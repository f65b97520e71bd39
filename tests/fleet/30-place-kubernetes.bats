#!/usr/bin/env bats
# runs: user
# What libexec/ralph/place-kubernetes asks of a cluster, and what becomes of its stream; a script answers in place of kubectl.
# A real cluster is in tests/fleet-kubernetes.
# shellcheck disable=SC2016
load ../cli/helpers

setup() {
	ralph_setup || return
	PLACE=${RALPH%/bin/ralph}/libexec/ralph/place-kubernetes
	TEMPLATE=${RALPH%/bin/ralph}/share/ralph/fleet/job.yaml
	mkdir "$T/bin"
	cat >"$T/bin/kubectl" <<-'EOF'
		#!/bin/bash
		echo "$*" >>"$T/asked"
		case $* in
		create*) cat >"$T/job"; printf ralph/made ;;
		*' wait '*)
			touch "$T/waits"
			[ -z "${WAIT:-}" ] || exec sleep "$WAIT"
			[ -e "$T/ready" ] || { touch "$T/ready"; echo 'error: no matching resources found' >&2; exit 1; }
			;;
		*'get job'*) printf '%s' "${FAILED:-}" ;;
		*'get pods'*) echo pod/made-x1 ;;
		*' exec '*) exec cat ;;
		esac
	EOF
	chmod +x "$T/bin/kubectl"
	PATH=$T/bin:$PATH
}

@test 'a Job is made of the template, and the stream is that of the worker in its pod' {
	touch "$T/ready"
	same 'a frame' "$(echo 'a frame' | "$PLACE" "$TEMPLATE" ralph-l1-us-1-1 l1 us-1 2>"$T/err")"
	has "$(cat "$T/job")" 'name: "ralph-l1-us-1-1"'
	has "$(cat "$T/job")" 'ralph.dev/loop: "l1"'
	has "$(cat "$T/job")" 'ralph.dev/task: "us-1"'
	lacks "$(cat "$T/job")" '"@'
	same '-n ralph exec -i pod/made-x1 -c worker -- ralph worker' "$(tail -n 1 "$T/asked")"
}

@test 'a name that would be more than a name is refused before anything is made' {
	local name

	for name in '' 'a b' 'a"' $'a\nb' 'a/b' '-a' 'A' '@NAME@' 'a&b'; do
		must_exit 2 "$PLACE" "$TEMPLATE" "$name" </dev/null 2>"$T/err"
		has "$(cat "$T/err")" 'is no name of Kubernetes'
	done
	must_exit 2 "$PLACE" "$TEMPLATE" a b 'c: d' </dev/null
	must_exit 2 "$PLACE" "$T/missing" a </dev/null 2>"$T/err"
	has "$(cat "$T/err")" "cannot read '$T/missing'"
	[ ! -e "$T/asked" ]
}

@test 'a pod that is not there yet is waited for' {
	same 'a frame' "$(echo 'a frame' | "$PLACE" "$TEMPLATE" l1 2>"$T/err")"
	same 2 "$(grep -c ' wait ' "$T/asked")"
}

@test 'a Job that ends before its worker was reached is an error, and nothing is on the stream' {
	export FAILED=1
	must_exit 1 "$PLACE" "$TEMPLATE" l1 </dev/null >"$T/out" 2>"$T/err"
	has "$(cat "$T/err")" 'the Job ended before its worker was reached'
	[ ! -s "$T/out" ]
}

@test 'a placement that is ended while it waits takes its Job along' {
	local pid code=0

	export WAIT=1000
	"$PLACE" "$TEMPLATE" l1 </dev/null >"$T/out" 2>"$T/err" 3>&- &
	pid=$!
	wait_until test -e "$T/waits"
	kill "$pid"
	wait "$pid" || code=$?
	same 143 "$code"
	same '-n ralph delete job made --ignore-not-found --wait=false' "$(tail -n 1 "$T/asked")"
}
