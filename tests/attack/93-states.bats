# runs: root user
# seconds: 40
# Unfinished operations, links and descriptors that an agent leaves for the git of the user. Each attack is followed by a victim on
# the host, and judged by a canary that only the host can make and by bytes and modes outside.
# What is in single quotes is for the shell inside.
# shellcheck disable=SC2016
load attack

# attack SCRIPT: runs it in the sandbox, in the workspace. Its own failure is no news.
attack() {
	if [ -n "${ATTACK_OUTSIDE:-}" ]; then
		EVIL="touch $T/canary" bash -c "$1" >"$T/said" 2>"$T/notices" || :
	else
		"$RALPH" run --rm -e "EVIL=touch $T/canary" -- bash -c "$1" >"$T/said" 2>"$T/notices" || :
	fi
}

victim_git() {
	GIT_EDITOR=true GIT_CONFIG_GLOBAL=$T/gitconfig GIT_CONFIG_NOSYSTEM=1 timeout 30 git "$@" </dev/null >>"$T/victim" 2>&1 || :
}

# victim [DIR…]: a person works there, and goes on with whatever seems to be unfinished.
victim() {
	local dir

	printf '[user]\n\tname = v\n\temail = v@example.invalid\n[rerere]\n\tenabled = true\n' >"$T/gitconfig"
	for dir in "${@:-$WS}"; do
		[ -d "$dir" ] || continue
		cd "$dir" || return
		echo victim >>victims-file
		victim_git status
		victim_git rebase --continue
		victim_git rebase --skip
		victim_git am --continue
		victim_git am --show-current-patch
		victim_git cherry-pick --continue
		victim_git revert --continue
		victim_git merge --continue
		victim_git bisect next
		victim_git rerere
		victim_git rerere gc
		victim_git add -A
		victim_git commit -m "by the victim"
		victim_git stash
		victim_git gc --auto
	done
	cd "$WS" || return
}

unharmed() {
	[ ! -e "$T/canary" ] || fail "it ran on the host; notices: $(tail -n 5 "$T/notices")"
}

STATES='rebase-merge rebase-apply sequencer BISECT_LOG BISECT_START CHERRY_PICK_HEAD REVERT_HEAD MERGE_HEAD MERGE_RR AUTO_MERGE rr-cache'

# states: what of an operation the git directory of the user has.
states() {
	local name

	for name in $STATES; do
		find ".git/$name" 2>/dev/null || :
	done
}

@test 'unfinished operations of every kind that the agent leaves run nothing when the user goes on' {
	for i in 1 2 3; do
		echo "$i" >"f$i"
		git add "f$i"
		git commit -q -m "$i"
	done
	attack 'GIT_SEQUENCE_EDITOR="sed -i 1s/pick/edit/" git rebase -i HEAD~2; echo "exec $EVIL" >>.git/rebase-merge/git-rebase-todo'
	same '' "$(states)"
	victim
	before=$(states) # of the victim
	attack 'h=$(git rev-parse HEAD); mkdir -p .git/rebase-apply .git/sequencer .git/rebase-merge
		for d in .git/rebase-apply .git/rebase-merge; do echo $h >$d/onto; echo $h >$d/orig-head; echo refs/heads/master >$d/head-name; echo "exec $EVIL" >$d/git-rebase-todo
			echo 1 >$d/next; echo 1 >$d/last; echo 1 >$d/msgnum; echo 1 >$d/end; : >$d/interactive; : >$d/applying; echo "$EVIL" >$d/strategy; echo "-$EVIL" >$d/strategy_opts; echo "--exec=$EVIL" >$d/cmd; done
		printf "pick %s x\nexec %s\n" $h "$EVIL" >.git/sequencer/todo; echo $h >.git/sequencer/head; printf "[options]\n\tstrategy = x\n\tedit = true\n" >.git/sequencer/opts
		echo $h >.git/CHERRY_PICK_HEAD; echo $h >.git/REVERT_HEAD; echo $h >.git/MERGE_HEAD; echo "$EVIL" >.git/MERGE_MSG; echo master >.git/BISECT_START
		printf "git bisect start\ngit bisect run %s\n" "$EVIL" >.git/BISECT_LOG; echo "$EVIL" >.git/BISECT_RUN; echo "git commit -qm done" >.git/BISECT_NAMES; git commit -q --allow-empty -m x'
	same "$before" "$(states)"
	victim
	has "$(cat "$T/victim")" 'by the victim'
	unharmed
}

@test 'rerere, patches and messages of the agent that are links or hold paths write no file of the user' {
	echo 'echo mine' >"$T/rc"
	cp "$T/rc" "$T/rc.was"
	echo base >both
	git add both
	git commit -q -m base
	git branch side
	echo ours >both
	git commit -q -a -m ours
	git checkout -q side
	echo theirs >both
	git commit -q -a -m theirs
	git checkout -q -
	attack "git config rerere.enabled true; git merge side; for d in .git/rr-cache/*; do rm -f \$d/*; ln -s $T/rc \$d/preimage; ln -s $T/rc \$d/postimage; ln -s $T/rc \$d/thisimage; done
		printf '%s\t%s\0' \"\$(ls .git/rr-cache | head -1)\" $T/rc >.git/MERGE_RR; mkdir -p .git/rebase-apply; ln -s $T/rc .git/rebase-apply/patch; ln -s $T/rc .git/rebase-apply/0001
		ln -sf $T/rc .git/MERGE_MSG; ln -sf $T/rc .git/SQUASH_MSG; ln -sf $T/rc .git/COMMIT_EDITMSG; ln -sf $T/rc .git/ORIG_HEAD; ln -sf $T/rc .git/FETCH_HEAD; ln -sf $T/rc .git/index.lock
		mkdir -p .git/logs/refs/heads; for l in HEAD refs/stash refs/heads/master; do ln -sf $T/rc .git/logs/\$l; done"
	same '' "$(states)"
	same '' "$(find .git -type l)"
	victim_git merge side
	victim
	cmp "$T/rc" "$T/rc.was"
	unharmed
}

@test 'a link that the agent left in the way changes no mode, owner or time of anything outside' {
	local before

	mkdir "$T/outside" "$T/outside/inner"
	echo x >"$T/outside/file"
	chmod 640 "$T/outside/file"
	chmod 500 "$T/outside/inner"
	before=$(find "$T/outside" -printf '%p %m %u %T@ %C@\n' | sort)
	attack "ln -s $T/outside/file a; ln -s $T/outside/inner b; mkdir c d e .vscode; ln -s $T/outside/file c/.envrc; ln -s $T/outside/inner c/.claude; ln -s $T/outside .claude
		ln -s $T/outside/inner c/closed; ln -s $T/outside/file .mcp.json; ln -s $T/outside/file .vscode/settings.json; git init -q d; rm -rf d/.git/hooks; ln -s $T/outside d/.git/hooks
		ln -s $T/outside/inner d/.git/refs/x; ln -s $T/outside e/.git; ln -s $T/outside/inner ~/.cache; ln -s $T/outside/file ~/.profile2; ln -s $T/outside ~/.claude/projects
		rm -rf ~/.local; ln -s $T/outside/inner ~/.local; chmod 000 c d e; chmod 555 ."
	chmod u+rwx . c d e 2>/dev/null || :
	"$RALPH" run -n "modes-${WS##*-}" -- sh -c "rm -rf ~/.cache ~/.local; ln -s $T/outside/inner ~/.cache; ln -s $T/outside ~/.local" 2>/dev/null || :
	"$RALPH" run -n "modes-${WS##*-}" -- true 2>/dev/null || :
	"$RALPH" rm -f "modes-${WS##*-}"
	same "$before" "$(find "$T/outside" -printf '%p %m %u %T@ %C@\n' | sort)"
}

@test 'a descriptor kept on .git/config, HEAD or the index writes nothing of the user, whatever the user does to them' {
	local name=kept-${WS##*-}

	"$RALPH" run -d -n "$name" >/dev/null
	"$RALPH" exec "$name" bash -c 'exec 7>>.git/config 8<>.git/HEAD 9<>.git/index; cd .git; touch ../ready; until [ -e ../go ]; do sleep 0.02; done
		printf "[core]\n\tfsmonitor = '"touch $T/canary"'\n" >&7; printf "ref: refs/heads/evil\n" >&8; printf XXXX >&9; mkdir -p hooks
		printf "#!/bin/sh\ntouch '"$T/canary"'\n" >hooks/pre-commit; chmod +x hooks/pre-commit; printf "[core]\n\tpager = x\n" >>config; touch ../ended' &
	wait_until [ -e ready ]
	git config ralph.test 1
	cp .git/config "$T/copy"
	mv "$T/copy" .git/config
	git checkout -q -b users
	echo x >>file
	git add file
	git commit -q -m users
	git gc -q
	settings=$(sha256sum .git/config .git/HEAD .git/index)
	touch go
	wait_until [ -e ended ]
	same "$settings" "$(sha256sum .git/config .git/HEAD .git/index)"
	[ ! -e .git/hooks/pre-commit ]
	wait
	"$RALPH" stop "$name"
	lacks "$(cat .git/config)" fsmonitor
	lacks "$(cat .git/HEAD)" evil
	victim
	unharmed
	git fsck --no-progress --no-dangling
}

@test 'hooks and pointers that loop neither hold the host up nor lead git anywhere' {
	attack 'rm -rf .git/hooks; ln -s hooks .git/hooks; echo . >.git/commondir; mkdir f g h; echo "gitdir: ../g" >f/.git; echo "gitdir: ../f" >g/.git; git init -q h; rm -rf h/.git/hooks
		ln -s ../.git/hooks h/.git/hooks; echo .. >h/.git/commondir; echo . >h/.git/objects/info/alternates; printf "[include]\n\tpath = config\n" >>h/.git/config; printf "[include]\n\tpath = config\n" >>.git/config
		ln -s . .git/refs/heads/loop; ln -s .. .git/worktrees; git commit -q --allow-empty -m x'
	[ ! -L .git/hooks ]
	[ ! -e .git/commondir ]
	same '' "$(find "$WS" -mindepth 2 -iname .git)"
	victim "$WS" "$WS/f" "$WS/g" "$WS/h"
	has "$(cat "$T/victim")" 'by the victim'
	unharmed
	same again "$("$RALPH" run --rm -- echo again 2>/dev/null)"
}
