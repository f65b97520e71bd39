# The shell tests as jobs: which file runs as whom. Sourced by tests/run.sh, in the root of the tree.
#
# A line `# runs: KIND…` in each file names the kinds of user that it runs as. Where another kind matters to some of its
# tests alone, these name it in a tag (`# bats test_tags=root`), and that kind runs them and no other.
#   user     unprivileged, without XDG_RUNTIME_DIR. Commands, settings, logins, agents and loops are the same for
#            everybody: their files run as this kind alone.
#   root     The kernel treats root differently: capabilities instead of a user namespace, cgroups, file modes that
#            stop nobody. Walls, limits and the life of a sandbox run as this kind too.
#   runtime  the same as user, with XDG_RUNTIME_DIR: the sockets lie elsewhere. Only for files that make, find and
#            end sandboxes.
#   engines  every row of tests/engines/engine.bash; or one row by its name: root:docker, user:podman.
# shellcheck shell=bash

export TEST_USER=ralph-test
# Many tests wait for something: one more of them than processors keeps these busy.
JOBS_AT_ONCE=$(($(nproc) + 1))
AGAIN_MAX=2 # files that failed beside others and may be tried alone

# kinds FILE: KIND, or KIND/TAG where only tests with that tag run. For an unprivileged user, those without root.
kinds() {
	local file=$1 named kind row rows

	named=" $(sed -n 's/^# runs: //p' "$file") "
	[ "$named" != "  " ] || { echo "$file: a line '# runs: KIND…' is missing, see tests/lib/jobs.sh" >&2; return 1; }
	for kind in root user runtime; do
		if [[ $named == *" $kind "* ]]; then
			echo "$kind"
		elif grep -qE "^# bats test_tags=(.*,)?$kind(,|$)" "$file"; then
			echo "$kind/$kind"
		fi
	done
	rows=$(. tests/engines/engine.bash && engine_rows "$(id -u)") || return
	for row in $rows; do
		if [[ $named == *" engines "* || $named == *" $row "* ]]; then
			echo "$row"
		elif grep -qE "^# bats test_tags=(.*,)?$row(,|$)" "$file"; then
			echo "$row/$row"
		fi
	done
}

# jobs FILE…: a line `KIND[/TAG] FILE` for every run, the longest first: one at the end would leave processors idle.
jobs() {
	local file kind found

	for file; do
		found=$(kinds "$file") || return
		for kind in $found; do
			[[ $kind != root* ]] || [ "$(id -u)" -eq 0 ] || continue
			printf '%s %s %s\n' "$(job_seconds "$kind" "$file")" "$kind" "$file"
		done
	done | sort -rn | cut -d' ' -f2-
}

# job_seconds KIND FILE: about how long it takes. A file whose tests are long says so: `# seconds: N`.
job_seconds() {
	local seconds

	seconds=$(sed -n 's/^# seconds: //p' "$2")
	case $1 in
	root/* | user/* | runtime/*) echo 2 ;;
	*) echo "${seconds:-$(($(grep -c '^@test' "$2") / 2))}" ;;
	esac
}

make_user() {
	id -u "$TEST_USER" >/dev/null 2>&1 || useradd -m -s /bin/bash "$TEST_USER" || return
	# For rootless containers; useradd gives none where uidmap was not there yet.
	grep -qs "^$TEST_USER:" /etc/subuid || usermod --add-subuids 100000-165535 --add-subgids 100000-165535 "$TEST_USER"
}

# as_kind KIND COMMAND…: the environment holds nothing but what is set here.
as_kind() {
	local kind=$1 who=${1%%:*} home=$HOME drop=() engine=${RALPH_TEST_ENGINE:-}
	shift

	[ "$kind" = "$who" ] || engine=${kind#*:}
	if [ "$(id -u)" -eq 0 ] && [[ $who == user || $who == runtime ]]; then
		home=$(getent passwd "$TEST_USER" | cut -d: -f6)
		drop=(setpriv --reuid "$TEST_USER" --regid "$TEST_USER" --init-groups)
	fi
	env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		HOME="$home" LANG=C.UTF-8 TERM=dumb RALPH="$RALPH" RALPH_AGENTS="$RALPH_AGENTS" \
		RALPH_TEST_STAMP="$WORK/stamp-${who/runtime/user}" RALPH_TEST_REQUIRE="$RALPH_TEST_REQUIRE" RALPH_TEST_KIND="$kind" \
		RALPH_TEST_SEED="${RALPH_TEST_SEED:-}" RALPH_TEST_ENGINE="$engine" RALPH_TEST_CACHE="$WORK/cache" RALPH_TEST_RUNSC="$RALPH_TEST_RUNSC" RALPH_TEST_APPARMOR="$RALPH_TEST_APPARMOR" ATTACK_OUTSIDE="${ATTACK_OUTSIDE:-}" \
		RALPH_KUBERNETES="${RALPH_KUBERNETES:-}" "${drop[@]}" "$@"
}

# run_job KIND[/TAG] FILE: at most ten minutes, or twenty with a processor that is emulated. Prints what failed and one line of counts; the TAP is kept in $WORK/results.
run_job() {
	local kind=${1%/*} tag=() file=$WORK/$2 name tap code=0 limit=600

	[[ $kind != *:emulated ]] || limit=1200
	[ "$kind" = "$1" ] || tag=(--filter-tags "${1#*/}")
	name=$(basename "$(dirname "$file")")/$(basename "$file" .bats)
	tap=$WORK/results/$kind.${name//\//.}.tap
	cd "$(dirname "$file")" || return 0
	as_kind "$kind" timeout -k 10 $limit bats --formatter tap --timing "${tag[@]}" "$file" >"$tap" 2>&1 </dev/null || code=$?
	times >"${tap%.tap}.times" # of the shell, and of what it ran
	# A file that did not come to its end says so in its own results.
	[ $code -lt 124 ] || echo "not ok 0 $name ended with $code (124: more than $limit s)" >>"$tap"
	python3 "$WORK/tests/lib/count-tap.py" "$kind $name" "$code" "$tap" >"${tap%.tap}.counts"
	# One write, so that two files at once do not mix their lines; a failing file is not an error of xargs.
	printf '%s\n' "$(awk '/^not ok/ { show = 1; print; next } /^ok/ { show = 0 } show && /^#/' "$tap"
		awk -v what="$kind $name" '{ printf "%-44s %3d passed, %d failed, %d skipped\n", what, $1, $2, $3 }' "${tap%.tap}.counts")"
}

# run_jobs: those on standard input, all in one pool.
run_jobs() {
	local lines kinds who

	mapfile -t lines
	kinds=$(printf '%s\n' "${lines[@]}" | cut -d' ' -f1)
	[ "$(id -u)" -ne 0 ] || make_user || return
	# The self-test of a first use once for a user, not in each test: they have a state of their own.
	for who in here root user; do
		grep -q "^$who" <<<"${kinds//runtime/user}" || continue
		as_kind "$who" "$WORK/tests/lib/stamp.sh" >"$WORK/stamp-$who" || rm -f "$WORK/stamp-$who"
	done
	# One that cannot be had is missed by the tests themselves: skipped, or failed where it is required.
	! grep -q gvisor <<<"${lines[*]} ${RALPH_TEST_ENGINE:-}" || scripts/runsc.sh >/dev/null || :
	! grep -q apparmor <<<"${lines[*]}" || scripts/apparmor.sh >/dev/null || :
	if grep -qE 'docker|podman' <<<"$kinds ${RALPH_TEST_ENGINE:-}"; then
		(. tests/engines/engine.bash && RALPH_TEST_CACHE=$PWD/build/engines && cp "$(engine_image)" "$WORK/cache/")
	fi
	# The machine of engine vm, once for all files.
	if grep -q 'vm:emulated' <<<"$kinds"; then
		mkdir "$WORK/cache/machine"
		[ "$(id -u)" -ne 0 ] || chown "$TEST_USER" "$WORK/cache/machine"
		as_kind user env XDG_CACHE_HOME="$WORK/cache/machine" "$RALPH" engine setup vm:emulated >"$WORK/cache/machine.log" 2>&1
		chmod -R a+rX "$WORK/cache/machine"
	fi
	export -f as_kind run_job
	printf '%s\n' "${lines[@]}" | xargs -P "$JOBS_AT_ONCE" -L 1 bash -c 'run_job "$@"' job
	again_alone "${lines[@]}"
}

# counts_of KIND[/TAG] FILE: where run_job has put its counts; the second is of those that failed.
counts_of() {
	echo "$WORK/results/${1%/*}.$(basename "$(dirname "$2")").$(basename "$2" .bats).counts"
}

# again_alone LINE…: the files that failed, once more and with nothing beside them, if they are no more than AGAIN_MAX. What
# passes then was unsteady under load: it is named with the sum, and is a bug of the test or of ralph. More are no accident.
# shellcheck disable=SC2086 # a line is two words
again_alone() {
	local line failed=()

	for line; do
		[ "$(cut -d' ' -f2 "$(counts_of $line)")" = 0 ] || failed+=("$line")
	done
	[ ${#failed[@]} -le $AGAIN_MAX ] || return 0
	for line in "${failed[@]}"; do
		echo "once more, alone: $line"
		(run_job $line)
		[ "$(cut -d' ' -f2 "$(counts_of $line)")" != 0 ] || echo "$line" >>"$WORK/results/unsteady"
	done
}
