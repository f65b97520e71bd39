# A real Slurm for tests/fleet, see slurm.sh: `load ../lib/slurm` after `load ../cli/helpers`. Its daemons are root's; its
# jobs, and ralph, are those of the test user.
# shellcheck shell=bash

# slurm_up: starts it in $SLURM_DIR, in seconds. It ends with the shell that called this, at the latest.
slurm_up() {
	need munged slurmctld slurmd srun || return
	SLURM_DIR=$(mktemp -d /tmp/rs-XXXXXXXX)
	chmod 0755 "$SLURM_DIR"
	setpriv --pdeathsig KILL unshare --net --uts --ipc --pid --fork --kill-child --mount-proc "$BATS_TEST_DIRNAME/../lib/slurm.sh" "$SLURM_DIR" \
		</dev/null >"$SLURM_DIR/out" 2>&1 3>&- &
	SLURM_UNSHARE=$!
	export SLURM_DIR SLURM_UNSHARE
	wait_until -t 60 test -e "$SLURM_DIR/started" || fail "$(slurm_says)" || return
	SLURM_INIT=$(pgrep -P "$SLURM_UNSHARE")
	export SLURM_INIT
	wait_until -t 60 slurm_ready || fail "$(slurm_says)"
}

slurm_ready() {
	[ "$(in_slurm sinfo -h -N -p all -o %T 2>/dev/null | sort -u)" = idle ]
}

slurm_says() {
	tail -n 20 "$SLURM_DIR/out" "$SLURM_DIR"/log/*
}

# slurm_down: with its first process everything ends that was started in it.
slurm_down() {
	[ -n "${SLURM_UNSHARE:-}" ] || return 0
	kill -9 "$SLURM_INIT" 2>/dev/null || kill -9 "$SLURM_UNSHARE" 2>/dev/null || true
	wait_until -t 30 slurm_is_gone || return
	rm -rf "$SLURM_DIR"
}

slurm_is_gone() {
	! kill -0 "$SLURM_UNSHARE" 2>/dev/null
}

# in_slurm COMMAND…: as root, where Slurm is.
in_slurm() {
	nsenter -t "$SLURM_INIT" --net --uts --ipc --pid --mount --wd="$PWD" env SLURM_CONF="$SLURM_DIR/slurm.conf" "$@"
}

# as_user COMMAND…: the same as the test user, whom tests/run.sh has made.
as_user() {
	in_slurm setpriv --reuid ralph-test --regid ralph-test --init-groups env "$@"
}

# slurm_pid NODE: the slurmd of that node, as its namespace counts.
slurm_pid() {
	cat "$SLURM_DIR/slurmd-$1.pid"
}
