# runs: root user
# seconds: 60
# A private git directory is made ahead, and is used again after a run in which nobody touched it. Each test tries to leave something in
# it for the next sandbox, or to get one that is not the next one's.
# What is in single quotes is for the shell inside.
# shellcheck disable=SC2016
load ../cli/helpers

spares() {
	echo "$XDG_STATE_HOME/ralph/spares"
}

# once SCRIPT: in a sandbox that is removed; what comes after the answer is over as well.
once() {
	ralph run --rm -- bash -ec "$1" 2>"$T/notices" || fail "$(cat "$T/notices")"
	at_rest
}

no_records() {
	[ -z "$(find "$XDG_STATE_HOME/ralph/sandboxes" -mindepth 1 -maxdepth 1)" ]
}

at_rest() {
	wait_until -t 30 no_records
}

# An index as young as its files is refreshed inside, which is a change.
settled() {
	touch -d '1 hour ago' file
	git update-index -q --refresh
	touch -d '1 minute ago' .git/index
}

# A spare is made once the repository is older than a tick of the clock, and comes back once it is so itself.
has_old_spare() {
	local before

	once true
	before=$(($(date +%s%N) - 40000000))
	find "$(spares)" -mindepth 2 -maxdepth 2 -name git ! -newermt "@${before:0:-9}.${before: -9}" | grep -q .
}

# inside: the inode of the git directory of the next sandbox.
inside() {
	once 'stat -c %i /run/ralph/git'
}

@test 'a command that touches nothing makes no git directory: the next sandbox has the same one' {
	local first

	settled
	wait_until -t 30 has_old_spare
	first=$(inside)
	same "$first" "$(inside)"
	same "$first" "$(stat -c %i "$(spares)"/*/git)"
}

@test 'nothing that an agent does to its git directory is there for the next sandbox' {
	local deed first name=deed-${WS##*-}

	once 'cd /run/ralph/git; find . -type f ! -name index -exec sha256sum {} + | sort' >"$T/clean"
	for deed in 'printf "#!/bin/sh\ntouch '"$WS"'/ran\n" >hooks/post-checkout; chmod +x hooks/post-checkout' \
		'git config core.fsmonitor "touch '"$WS"'/ran"' 'ln config c; rm c' 'cp -p config c; sed -i s/true/tree/ config; touch -r c config; rm c' \
		'mkdir -p refs/heads/x; touch refs/heads/x/y.lock' 'touch index.lock' 'rm -rf ./*' 'chmod 0 hooks objects' 'mkfifo HEAD.lock' \
		'(exec 9>>config 8<hooks; setsid sleep 60 &) </dev/null >/dev/null 2>&1; echo "[x]" >>config'; do
		first=$(inside)
		ralph run --rm -n "$name" -- bash -ec "cd /run/ralph/git; $deed"
		ralph rm -f "$name" || : # it is kept where its commits cannot be imported any more
		at_rest
		once 'cd /run/ralph/git; find . -type f ! -name index -exec sha256sum {} + | sort; [ "$(find . -name "*.lock" -o -type p | wc -l)" = 0 ]' >"$T/now"
		cmp "$T/clean" "$T/now" || fail "something stayed after: $deed"
		[ "$first" != "$(stat -c %i "$(spares)"/*/git)" ] || fail "the same directory after: $deed"
	done
	once 'git checkout -q -b other; git status --short'
	[ ! -e ran ]
}

@test 'what the user changes between two runs is in the next one, however fast it comes' {
	for i in 1 2 3 4 5; do
		ralph run --rm -- true
		git commit -q --allow-empty -m "commit $i"
		same "commit $i" "$(ralph run --rm -- git log -1 --format=%s)"
		git config alias.number "!echo $i"
		same "$i" "$(ralph run --rm -- git number)"
		printf '#!/bin/sh\necho hook %s\n' "$i" >.git/hooks/pre-commit
		chmod +x .git/hooks/pre-commit
		has "$(ralph run --rm -e GIT_AUTHOR_NAME=a -e GIT_AUTHOR_EMAIL=a@b -e GIT_COMMITTER_NAME=a -e GIT_COMMITTER_EMAIL=a@b -- \
			git commit --allow-empty -m x 2>&1)" "hook $i"
	done
}

@test 'two sandboxes at once never have the same git directory, and what one was given it does not get back from the other' {
	local name=two-${WS##*-} first

	wait_until -t 30 has_old_spare
	first=$(stat -c %i "$(spares)"/*/git)
	mkfifo "$T/go"
	ralph run --rm -n "$name" -- sh -c 'stat -c %i /run/ralph/git >one; touch up; read -r line; git status' <>"$T/go" >/dev/null &
	wait_until -t 30 test -e up
	ralph run --rm -n "$name-b" -- stat -c %i /run/ralph/git >two
	same "$first" "$(cat one)"
	[ "$(cat one)" != "$(cat two)" ]
	echo go >"$T/go"
	wait
	at_rest
	# While the second one ended, the first one was live.
	[ "$(cat two)" != "$(stat -c %i "$(spares)"/*/git)" ]
}

@test 'a sandbox that is killed leaves no git directory behind that another one gets' {
	local name=killed-${WS##*-} used

	once true
	ralph run --rm -n "$name" -- sh -c 'stat -c %i /run/ralph/git >used; echo "[x]" >>/run/ralph/git/config; touch up; sleep 60' >/dev/null 2>&1 &
	wait_until -t 30 test -e up
	kill -9 "$(ralph ls --json | jq -r --arg n "$name" '.[] | select(.name == $n).supervisor')" "$!"
	used=$(cat used)
	[ "$used" != "$(ralph run --rm -n "$name-b" -- stat -c %i /run/ralph/git)" ]
	ralph run --rm -n "$name-c" -- sh -c '! grep -F "[x]" /run/ralph/git/config'
	wait || :
	ralph rm -f "$name" || :
}
