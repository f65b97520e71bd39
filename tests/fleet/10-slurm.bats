#!/usr/bin/env bats
# runs: root
# seconds: 120
# Workers of `ralph build --place` in a real Slurm: two nodes on this machine. The daemons are root's, ralph and its jobs the
# test user's.
load ../cli/helpers
load ../lib/slurm

setup_file() {
	only_root
	slurm_up
}

teardown_file() {
	slurm_down
}

setup() {
	:
}

teardown() {
	:
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
