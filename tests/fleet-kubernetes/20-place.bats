#!/usr/bin/env bats
# runs: root
# seconds: 200
# `ralph build --place kubernetes` in a real Kubernetes; see 10-kubernetes.bats.
# shellcheck disable=SC2016,SC2034 # text for the shell in the pod; the helpers of loops use LOOP
load ../cli/helpers
load ../cli/loop
load ../lib/kubernetes

setup_file() {
	only_root
	kube_up
}

teardown_file() {
	kube_down
}

setup() {
	ralph_setup && cd /
}

# Whatever a test has left: of the namespace alone.
teardown() {
	in_kube kill -CONT "$(cat "$KUBE_DIR/kubelet.pid")"
	in_kube pkill -KILL -u ralph-test || true
	kube -n ralph delete jobs --all --wait=false
	wait_until -t 60 no_pods
	chown -R root "$T"
	ralph_teardown
}

no_pods() {
	[ -z "$(kube -n ralph get pods -o name)" ]
}

# tasks N: a workspace of the test user's with so many, and the placement that ships, with this ralph and this cluster's image.
tasks() {
	cd "$WS" || return
	loop_workspace "$1"
	mkdir "$XDG_CONFIG_HOME/ralph"
	kube_template "$T/job.yaml"
	sed -e "s|/usr/libexec/ralph|${RALPH%/bin/ralph}/libexec/ralph|; s|/home/you/.config/ralph/job.yaml|$T/job.yaml|" \
		"${RALPH%/bin/ralph}/share/ralph/fleet/kubernetes.yaml" >"$XDG_CONFIG_HOME/ralph/config.yaml"
	chown -R ralph-test "$T"
}

# placed HOW [OPTION…]: `ralph build` there, with the agent behaving so, in the background; the process is $LOOP.
placed() {
	local how=$1
	shift

	as_user RALPH_FLEET_LEASE="${LEASE:-1m}" "$RALPH" build --place kubernetes --net none -n unlimited "$@" -- ./agent.py "$how" \
		>"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
}

all_merged() {
	local log n

	ends 0
	log=$(as_user git log --format=%s)
	for ((n = 1; n <= $1; n++)); do
		same 1 "$(grep -cx "US-$n: US-$n" <<<"$log")"
		same true "$(passes "US-$n")"
	done
}

# pod_of TASK: of its last worker.
pod_of() {
	sed -n "s/.*\\[$1\\] on node1 (pod \\([^)]*\\)).*/\\1/p" "$T/err" | tail -n 1
}

again() {
	[ "$(grep -cF "[$1] on node1" "$T/err")" -ge 2 ]
}

# agent_waits TASK, goes_on TASK: the agent of its last worker.
agent_waits() {
	local pod

	pod=$(pod_of "$1")
	[ -n "$pod" ] && kube -n ralph exec "$pod" -- sh -c 'ls /tmp/rw-*/*/ws/waiting' >/dev/null 2>&1
}

goes_on() {
	kube -n ralph exec "$(pod_of "$1")" -- sh -c 'for d in /tmp/rw-*/*/ws; do touch "$d/go-on"; done'
}

@test '6 tasks in 6 Jobs: each is merged once, and the Jobs end well and are named' {
	tasks 6
	placed honest --parallel 6
	all_merged 6
	wait_until -t 60 jobs_complete 6
	same us-1 "$(kube -n ralph get jobs -l ralph.dev/task=us-1 -o 'jsonpath={.items[0].metadata.labels.ralph\.dev/task}')"
	has "$(kube -n ralph logs "$(pod_of US-1)")" 'US-1'
}

jobs_complete() {
	[ "$(kube -n ralph get jobs -o 'jsonpath={.items[*].status.succeeded}' | wc -w)" -eq "$1" ]
}

@test 'a pod that is deleted: its task goes on in another one' {
	tasks 2
	placed waits --parallel 2
	wait_until -t 90 agent_waits US-1
	wait_until -t 90 agent_waits US-2
	kube -n ralph delete pod "$(pod_of US-1)" --wait=false
	wait_until -t 90 again US-1
	wait_until -t 90 agent_waits US-1
	goes_on US-1
	goes_on US-2
	all_merged 2
}

@test 'a node whose kubelet is stopped: the stream lives on, and the task is merged once' {
	tasks 1
	placed waits --parallel 2
	wait_until -t 90 agent_waits US-1
	in_kube kill -STOP "$(cat "$KUBE_DIR/kubelet.pid")"
	wait_until -t 60 not_ready
	in_kube kill -CONT "$(cat "$KUBE_DIR/kubelet.pid")"
	wait_until -t 120 kube_ready
	wait_until -t 120 agent_waits US-1
	goes_on US-1
	all_merged 1
}

not_ready() {
	! kube_ready
}
