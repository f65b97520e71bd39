# Who runs the shell tests. Sourced by tests/run.sh, in the root of the tree.
#
# Root and an unprivileged user meet different kernels: what is a user namespace for one is a capability
# for the other, so each half runs every file. A third, user-runtime, is the unprivileged user with
# XDG_RUNTIME_DIR: ralph's sockets lie elsewhere, so what makes, finds, ends and attacks sandboxes runs again.
# shellcheck shell=bash

TEST_USER=ralph-test
# Where the sockets lie makes no difference to the rest: pages, settings, the gateway, agents, loops.
RUNTIME_FILES='^tests/(cli/(2[0-9]|30|33|40|74)|attack/(10|20|30-p|40|50|60|70|80|81|83|84))'

make_user() {
	id -u "$TEST_USER" >/dev/null 2>&1 || useradd -m -s /bin/bash "$TEST_USER" || return
	# For rootless containers; useradd gives none where uidmap was not there yet.
	grep -qs "^$TEST_USER:" /etc/subuid || usermod --add-subuids 100000-165535 --add-subgids 100000-165535 "$TEST_USER"
}

# one_half NAME RESULTS FILE… as this user; the environment holds nothing but what is set here.
one_half() {
	local half=$1 out=$2 stage
	shift 2

	stage=$(scripts/stage.sh --path)
	half_command "$half" "$out" "$stage" "$PWD/tests" "$HOME" "$@"
}

half_env() {
	env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		HOME="$home" LANG=C.UTF-8 TERM=dumb RALPH="$stage/bin/ralph" RALPH_TEST_STAMP="$out/$half.stamp" \
		RALPH_TEST_REQUIRE="$RALPH_TEST_REQUIRE" RALPH_TEST_HALF="$half" ATTACK_OUTSIDE="${ATTACK_OUTSIDE:-}" \
		RALPH_AGENTS="$RALPH_AGENTS" RALPH_TEST_ENGINE="${RALPH_TEST_ENGINE:-}" RALPH_TEST_CACHE="${RALPH_TEST_CACHE:-}" \
		${AS_USER:+setpriv --reuid "$TEST_USER" --regid "$TEST_USER" --init-groups} "$@"
}

half_command() {
	local half=$1 out=$2 stage=$3 tests=$4 home=$5 f
	shift 5

	# The self-test of a first use once, not in each test: they have a state of their own.
	half_env "$tests/lib/stamp.sh"
	for f; do
		printf '%s\0' "$tests/${f#tests/}"
	done | half_env \
		xargs -0 -P "$(nproc)" -n 1 "$tests/lib/run-bats.sh" "$half" "$out"
}

# all_engines RESULTS FILE…: what `engine` is loaded in once for every engine that this user can have, and for
# root those of the unprivileged user too; other files once.
all_engines() {
	local out=$1 who=user engine copy rows=() once=()
	shift

	mapfile -t rows < <(grep -l '^load engine$' "$@")
	mapfile -t once < <(grep -L '^load engine$' "$@")
	[ "$(id -u)" -ne 0 ] || who=root
	[ ${#once[@]} -eq 0 ] || one_half "$who" "$out" "${once[@]}"
	for engine in $(. tests/engines/engine.bash && engine_rows "$who"); do
		RALPH_TEST_ENGINE=$engine one_half "$engine" "$out" "${rows[@]}"
	done
	[ "$who" = root ] || return 0
	copy=$(mktemp -d /tmp/ralph-tests.XXXXXX) || return
	make_user
	cp -r tests "$copy/"
	mkdir "$copy/cache"
	cp "$RALPH_TEST_CACHE"/image-*.tar "$copy/cache/" 2>/dev/null
	chmod -R a+rX "$copy"
	chmod 1777 "$copy/cache"
	for engine in $(. tests/engines/engine.bash && engine_rows rootless); do
		AS_USER=1 RALPH_TEST_ENGINE=$engine RALPH_TEST_CACHE=$copy/cache half_command "$engine-user" "$out" \
			"$(scripts/stage.sh --path)" "$copy/tests" "$(getent passwd "$TEST_USER" | cut -d: -f6)" "${rows[@]}"
	done
	rm -rf "$copy"
}

all_halves() {
	local out=$1 copy files=() f
	shift

	for f; do
		[ ! -f "$f" ] || files+=("$f")
	done
	[ ${#files[@]} -gt 0 ] || return 0
	if [ "$(id -u)" -ne 0 ]; then
		one_half user "$out" "${files[@]}"
		mapfile -t files < <(printf '%s\n' "${files[@]}" | grep -E "$RUNTIME_FILES")
		one_half user-runtime "$out" "${files[@]}"
		if [ -n "${CI:-}" ]; then
			echo "0 1 0 root half: needs root" >"$out/root.counts"
		fi
		echo "tests: not root, so only the unprivileged half ran"
		return
	fi

	# First: tests as root look at another user's home, which is this one's.
	make_user || { echo "0 1 0 cannot make the user $TEST_USER" >"$out/user.counts"; return; }
	one_half root "$out" "${files[@]}"
	copy=$(mktemp -d /tmp/ralph-tests.XXXXXX) || return
	cp -r tests man demo docs "$copy/"
	cp build/tests/attack/guest-weak "$copy/tests/attack/"
	cp build/tests/unit/loop-dies "$copy/tests/cli/"
	chmod -R a+rX "$copy"
	for f in user user-runtime; do
		[ "$f" = user ] || mapfile -t files < <(printf '%s\n' "${files[@]}" | grep -E "$RUNTIME_FILES")
		AS_USER=1 half_command "$f" "$out" "$(scripts/stage.sh --path)" "$copy/tests" \
			"$(getent passwd "$TEST_USER" | cut -d: -f6)" "${files[@]}"
	done
	rm -rf "$copy"
}
