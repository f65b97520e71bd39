#!/usr/bin/env bats
# runs: root
# seconds: 150
# `ralph build --place slurm` in a real Slurm: two nodes on this machine. The daemons are root's, ralph and its jobs the test
# user's.
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

# Whatever a test has left: of the namespace alone.
teardown() {
	local node

	for node in n1 n2; do
		in_slurm kill -CONT "$(slurm_pid "$node")"
	done
	in_slurm pkill -KILL -u ralph-test || true
	in_slurm scancel --user ralph-test
	wait_until -t 60 no_jobs
	wait_until -t 60 slurm_ready
	chown -R root "$T"
	ralph_teardown
}

no_jobs() {
	[ -z "$(in_slurm squeue -h)" ]
}

# tasks N [OPTION…]: a workspace of the test user's with so many, and the placement that ships, with this ralph and these options
# of srun.
tasks() {
	cd "$WS" || return
	loop_workspace "$1"
	mkdir "$XDG_CONFIG_HOME/ralph"
	python3 - "${RALPH%/bin/ralph}" "${@:2}" >"$XDG_CONFIG_HOME/ralph/config.yaml" <<-'EOF'
		import sys
		prefix, *options = sys.argv[1:]
		with open(prefix + "/share/ralph/fleet/slurm.yaml") as f:
		    text = f.read().split("    # From about 100 workers on")[0]
		for old, new in (("/usr/bin/ralph", prefix + "/bin/ralph"), ("-c4, --mem=8G", ", ".join(["-c1"] + options)), ("8:00:00", "10")):
		    assert text.count(old) == 1, old
		    text = text.replace(old, new)
		sys.stdout.write(text)
	EOF
	chown -R ralph-test "$T"
}

# placed HOW [OPTION…]: `ralph build` there, with the agent behaving so, in the background; the process is $LOOP.
placed() {
	local how=$1
	shift

	as_user RALPH_FLEET_LEASE="${LEASE:-1m}" "$RALPH" build --place slurm --net none -n unlimited "$@" -- ./agent.py "$how" >"$T/out" 2>"$T/err" 3>&- &
	LOOP=$!
}

# all_merged N: the loop ended well, every task was merged once, and Slurm holds nothing of it.
all_merged() {
	local log n

	ends 0
	log=$(as_user git log --format=%s)
	for ((n = 1; n <= $1; n++)); do
		same 1 "$(grep -cx "US-$n: US-$n" <<<"$log")"
		same true "$(passes "US-$n")"
	done
	wait_until -t 60 no_jobs
}

# says TEXT: the loop has said so.
says() {
	grep -qF -- "$1" "$T/err"
}

# jobs N: so many run.
jobs_run() {
	[ "$(in_slurm squeue -h -t R | wc -l)" -eq "$1" ]
}

# two_wait: two tasks in two jobs, whose agents wait for a word.
two_wait() {
	placed waits --parallel 2
	wait_until -t 60 agents_wait 2
}

# workspaces: of the workers on the nodes.
workspaces() {
	in_slurm find /proc -maxdepth 2 -name cwd -printf '%l\n' 2>/dev/null | grep -x '/tmp/rw-[^/]*/[0-9]*/ws' | sort -u
}

agents_wait() {
	local dir n=0

	for dir in $(workspaces); do
		[ ! -e "$dir/waiting" ] || n=$((n + 1))
	done
	[ "$n" -eq "$1" ]
}

# go_on_until COMMAND…: tells every agent to go on, those of later workers too.
go_on_until() {
	local dir

	for dir in $(workspaces); do
		touch "$dir/go-on"
	done
	"$@"
}

# again TASK: it is on its second worker.
again() {
	[ "$(grep -cF "[$1] on n" "$T/err")" -ge 2 ]
}

loop_ended() {
	! kill -0 "$LOOP" 2>/dev/null
}

# all_go_on: the tasks of two_wait come to their end.
all_go_on() {
	wait_until -t 120 go_on_until loop_ended
	all_merged 2
}

# job_of TASK: the last one.
job_of() {
	sed -n "s/.*\[$1\] on n[12] (slurm \([0-9]*\)).*/\1/p" "$T/err" | tail -n 1
}

# echoes: a job that sends its input back, as a worker's stream does.
echoes() {
	as_user srun -Q -u -n1 -t 5 --export=NIL --chdir=/tmp /bin/cat
}

@test 'a stream through srun arrives as it was sent' {
	same "$(head -c 1000000 /dev/zero | sha256sum)" "$(head -c 1000000 /dev/zero | echoes | sha256sum)"
}

@test 'the placement that ships gives a node nothing of the environment of its user' {
	local seen

	seen=$(as_user SECRET_OF_MINE=abc srun -Q -u -n1 --export=NIL --chdir=/tmp /usr/bin/env)
	has "$seen" SLURM_JOB_ID
	lacks "$seen" SECRET_OF_MINE
	has "$(as_user SECRET_OF_MINE=abc srun -Q -u -n1 --chdir=/tmp /usr/bin/env)" SECRET_OF_MINE
}

@test '24 tasks in 24 jobs at once, on both nodes: each is merged once' {
	tasks 24
	placed honest --parallel 24
	all_merged 24
	has "$(cat "$T/err")" ' on n1 (slurm '
	has "$(cat "$T/err")" ' on n2 (slurm '
}

@test 'a job that is cancelled: its task goes on in another one' {
	tasks 2
	two_wait
	in_slurm scancel "$(job_of US-1)"
	wait_until -t 60 again US-1
	all_go_on
	same 1 "$(grep -cF '[US-2] on n' "$T/err")"
}

@test 'a killed srun: the task goes on elsewhere, and the worker that lost its home ends its own job' {
	local job

	tasks 2
	LEASE=10s two_wait
	job=$(job_of US-1)
	in_slurm pkill -KILL -f '^srun .*--comment us-1 ' # both of its processes, of this namespace alone
	wait_until -t 60 again US-1
	wait_until -t 60 has_ended "$job" || fail "$(in_slurm scontrol show job "$job")"
	all_go_on
}

has_ended() {
	! in_slurm squeue -h -j "$1" 2>/dev/null | grep -q .
}

@test 'a node whose slurmd is stopped: its task goes on at the other node' {
	local node

	tasks 2
	two_wait
	node=$(sed -n 's/.*\[US-1\] on \(n[12]\) .*/\1/p' "$T/err")
	in_slurm kill -STOP "$(slurm_pid "$node")"
	wait_until -t 120 again US-1
	lacks "$(grep -F '[US-1] on n' "$T/err" | tail -n 1)" "on $node "
	all_go_on
}

@test 'a worker that is preempted: its task goes on when there is a place again' {
	tasks 2 -p plow
	two_wait
	as_user srun -Q -p phigh -n1 -c128 -t 5 --export=NIL --chdir=/tmp /bin/sleep 300 </dev/null >"$T/high" 2>&1 3>&- &
	wait_until -t 60 is_pending
	in_slurm scancel -p phigh
	all_go_on
	again US-1
	again US-2
}

# is_pending: both tasks wait for a place.
is_pending() {
	[ "$(in_slurm squeue -h -p plow -t PD | wc -l)" -eq 2 ]
}

@test '200 workers at once without a task, as far as memory reaches' {
	local n

	n=$(awk '$1 == "MemAvailable:" { n = int($2 / 16384); print (n > 200 ? 200 : n) }' /proc/meminfo)
	echo "# $n workers"
	chown -R ralph-test "$T"
	same "$n $n 3:$n" "$(as_user python3 "$BATS_TEST_DIRNAME/streams.py" "$RALPH" "$n" \
		srun -Q -u -n1 -t 5 --export=NIL --chdir=/tmp "$RALPH" worker 2>"$T/err")" || fail "$(tail -n 20 "$T/err")"
}
