# What the scripts that run in a fresh system have in common: promises, counted.
# shellcheck shell=bash

passed=0
failed=0
log=$(mktemp)

# promise TITLE CMD…: what CMD says is shown when it does not hold.
promise() {
	local title=$1 start=$SECONDS code
	shift

	# Not as a condition: there a failing line of CMD would not end it.
	(
		set -eu
		"$@"
	) </dev/null >"$log" 2>&1
	code=$?
	if [ $code -eq 0 ]; then
		passed=$((passed + 1))
		printf 'ok %s (%d s)\n' "$title" $((SECONDS - start))
	else
		failed=$((failed + 1))
		printf 'not ok %s\n' "$title"
		sed 's/^/# /' "$log" | tail -n 40
	fi
}

# as_plain CMD…: as an ordinary user, with a home and nothing else of root's.
as_plain() {
	id plain >/dev/null 2>&1 || useradd --create-home --shell /bin/bash plain
	(cd /home/plain && setpriv --reuid plain --regid plain --init-groups env -i HOME=/home/plain LANG=C.UTF-8 \
		PATH=/usr/local/bin:/usr/bin:/bin "$@")
}

# finds_libraries DIR: every program in it does.
finds_libraries() {
	local program missing

	for program in "$1"/*; do
		missing=$(ldd "$program" 2>/dev/null | grep 'not found') || continue
		echo "$program: $missing"
		return 1
	done
}

# apt_install PACKAGE…
apt_install() {
	apt-get -q -y -o APT::Sandbox::User=root install --no-install-recommends "$@"
}

sum() {
	printf '%d passed, %d failed\n' "$passed" "$failed"
	[ "$failed" -eq 0 ]
}
