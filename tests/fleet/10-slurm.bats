#!/usr/bin/env bats
# runs: root
# seconds: 120
# Workers of `ralph build --place` in a real Slurm: two nodes on this machine. The daemons are root's, ralph and its jobs the
# test user's.
load ../cli/helpers
load ../cli/loop
load ../lib/slurm

setup_file() {
	only_root
	slurm_up
}

teardown_file() {
	slurm_down
}

setup() {
	ralph_setup && cd / # what a job's user may not read is no place to start one
}

teardown() {
	in_slurm scancel --user ralph-test
	wait_until -t 60 no_jobs
	for pid in $(slurm_pid n1) $(slurm_pid n2); do
		in_slurm kill -CONT "$pid"
	done
	ralph_teardown
}

no_jobs() {
	[ -z "$(in_slurm squeue -h)" ]
}

# placed NAME WORD…: a task of the workspace in a job of that name, by a scripted home with these options; what came of it is in
# $T/out.
placed() {
	local name=$1
	shift

	as_user python3 "$BATS_TEST_DIRNAME/../lib/fleet-home.py" ralph="$RALPH" out="$T" "$@" "$WS" -- \
		srun -Q -u -n1 -t 5 -J "$name" --export=NIL --chdir=/tmp "$RALPH" worker >"$T/out" 2>"$T/err"
}

# became EXPRESSION: of the last placed(), as `j`.
became() {
	python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$T/out" "$1" || cat "$T/err" "$T/worker.err"
}

# tasks [N]: a workspace of the test user's, with so many.
tasks() {
	cd "$WS" || return
	loop_workspace "$@"
	chown -R ralph-test "$T"
}

# echoes: a job that sends its input back, as a worker's stream does.
echoes() {
	as_user srun -Q -u -n1 -t 5 --export=NIL --chdir=/tmp /bin/cat
}

@test 'a stream through srun arrives as it was sent' {
	same "$(head -c 1000000 /dev/zero | sha256sum)" "$(head -c 1000000 /dev/zero | echoes | sha256sum)"
}

@test 'a job has nothing of the environment of its user' {
	local seen

	seen=$(as_user SECRET_OF_MINE=abc srun -Q -u -n1 --export=NIL --chdir=/tmp /usr/bin/env)
	has "$seen" SLURM_JOB_ID
	lacks "$seen" SECRET_OF_MINE
	has "$(as_user SECRET_OF_MINE=abc srun -Q -u -n1 --chdir=/tmp /usr/bin/env)" SECRET_OF_MINE
}

@test 'a worker in a job does a task, without an environment, and says where it is' {
	tasks
	placed plain
	same '0 0' "$(became 'str(j["exit"]) + " " + str(j["verdict"]["code"])')"
	has "$(became 'j["hello"]["node"] + " " + j["hello"]["job"]')" ' slurm '
	same 'US-1: US-1' "$(as_user git log -1 --format=%s refs/ralph/fleet/head)"
}
