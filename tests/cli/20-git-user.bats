#!/usr/bin/env bats
# runs: user
# git inside knows the user: the identity and the harmless settings of ~/.gitconfig come along.
# shellcheck disable=SC2016,SC2088 # text for shells and for git inside
load helpers
load sandbox

setup() {
	ralph_setup
	# The usual case: the repository names nobody, the user's own file does.
	git config --remove-section user
	git config --global user.name 'Ada "L" \ Lovelace'
	git config --global user.email ada@example.invalid
	unset GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM
}

COMMIT='git commit -q --allow-empty -m x && git log -1 --format="%an <%ae> %cn"'
ADA='Ada "L" \ Lovelace <ada@example.invalid> Ada "L" \ Lovelace'

# bats test_tags=root
@test 'git commit inside has the name and address of ~/.gitconfig: run, exec, up, shell, a clone' {
	same "$ADA" "$(ralph run -- sh -c "$COMMIT")"
	same "$ADA" "$(ralph run --rm -- sh -c "$COMMIT")"
	same "$ADA" "$(ralph up <<<"$COMMIT")"
	ralph run -d -n "git-${WS##*-}"
	same "$ADA" "$(ralph exec "git-${WS##*-}" sh -c "$COMMIT")"
	same "$ADA" "$(ralph shell "git-${WS##*-}" <<<"$COMMIT")"
	same "$ADA" "$(ralph run --clone -n "clone-${WS##*-}" -- sh -c "$COMMIT")"
}

@test "the repository's own identity is stronger than the user's, and so is one that was set inside" {
	git config user.name Local
	same 'Local ada@example.invalid' "$(ralph run -- sh -c 'git config user.name; git config user.email' | xargs)"
	git config --unset user.name
	ralph run -n two -- git config --global user.name Inside
	same Inside "$(ralph run -n two -- git config user.name)"
}

@test 'the settings that people rely on come along, with aliases of git commands' {
	git config --global init.defaultBranch trunk
	git config --global pull.rebase true
	git config --global core.autocrlf input
	git config --global alias.lg 'log --format="%h %s" -1'
	same 'trunk true input' "$(ralph run -- sh -c 'git config init.defaultBranch; git config pull.rebase; git config core.autocrlf' | xargs)"
	same "$(git lg)" "$(ralph run -- git lg)"
	same trunk "$(ralph run -- sh -c 'cd "$(mktemp -d)" && git init -q && git symbolic-ref --short HEAD')"
}

@test 'what runs a program, names a file or can hold a secret stays outside' {
	git config --global alias.sh '!curl -H secret-one'
	git config --global alias.dash '-c http.extraHeader=secret-two status'
	git config --global alias.url 'push https://u:secret-three@host/x'
	git config --global core.pager secret-four
	git config --global credential.helper '!secret-five'
	git config --global http.extraHeader 'secret-six'
	git config --global url.https://u:secret-seven@host/.insteadOf https://host/
	git config --global core.hooksPath /secret-eight
	git config --global user.signingKey secret-nine
	git config --global filter.x.clean secret-ten
	! ralph run -- sh -c 'cat "$GIT_CONFIG_SYSTEM"; git config --list; env' | grep secret || fail 'something of it is inside'
	! ralph inspect "$(sandbox)" | grep secret || fail 'it is in the record'
}

@test 'included files count, by gitdir too; one in the workspace does not' {
	git config --global include.path '~/more'
	git config --global includeIf.gitdir:"$HOME/".path '~/work'
	git config --global includeIf.gitdir:/elsewhere/.path '~/other'
	git config --global --add include.path "$WS/evil"
	git config --global --add include.path '~/pipe'
	mkfifo "$HOME/pipe"
	# A file that includes itself ends somewhere.
	printf '[pull]\n\trebase = merges\n[include]\n\tpath = more\n' >"$HOME/more"
	printf '[user]\n\temail = work@example.invalid\n' >"$HOME/work"
	printf '[user]\n\temail = other@example.invalid\n' >"$HOME/other"
	printf '[user]\n\tname = Evil\n' >evil
	same 'merges work@example.invalid' "$(timeout 20 "$RALPH" run -- sh -c 'git config pull.rebase; git config user.email' | xargs)"
	same 'Ada "L" \ Lovelace' "$(timeout 20 "$RALPH" run -- git config user.name)"
}

@test 'the file cannot be written inside, and the audit shows it' {
	must_fail ralph run -- sh -c 'echo x >>"$GIT_CONFIG_SYSTEM"'
	has "$(ralph audit -- true)" GIT_CONFIG_SYSTEM
}
