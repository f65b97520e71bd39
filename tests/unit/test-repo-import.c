#include "import-box.h"

static void a_commit_is_taken_and_the_users_status_is_clean(void **state)
{
	make_private();
	inside("echo 3 >>a; echo new >n; git rm -q d/b; git add .; git commit -qm 'by agent'");
	import_says("{\"ref\":\"refs/heads/main\",");
	sh_says("git log --format='%s %cn' -2", "by agent Agent\nsecond User");
	is_clean();
	import_says("{\"taken\":[],\"held\":[]}");
}

static void what_the_user_staged_and_changed_stays(void **state)
{
	run_sh("echo c >c; echo e >e; git add .; git commit -qm more");
	make_private();
	run_sh("echo staged >c; git add c; echo changed >e; echo untracked >u");
	inside("echo 3 >>a; git commit -qm 'by agent' a");
	import_says("refs/heads/main");
	sh_says("git status --porcelain", "M  c\n M e\n?? u");
	sh_says("git diff --cached --name-only; git show --name-only --format=", "c\na");
}

static void a_path_that_the_user_staged_otherwise_keeps_the_users_entry(void **state)
{
	make_private();
	run_sh("echo users >a; git add a");
	inside("echo agents >a; git add a; git commit -qm 'by agent'");
	/* git writes the index where names are SHA-256, and it does not mix the two. */
	if (is_wide()) {
		held_as("refs/ralph/box/heads/main", "git cannot move your index");
		sh_says("git log --format=%s -1; git diff --cached --format= | tail -1",
			"second\n+users");
		return;
	}
	import_says("refs/heads/main");
	sh_says("git diff --cached --format= | tail -2", "-agents\n+users");
}

static void a_new_branch_and_a_new_tag_are_taken(void **state)
{
	make_private();
	inside("git branch feat/x side; git tag t; git tag -a t2 -m t2; git update-ref "
	       "refs/remotes/origin/x HEAD");
	import_says("\"held\":[]");
	sh_says("git for-each-ref --format='%(refname)' refs/heads refs/tags refs/remotes",
		"refs/heads/feat/x\nrefs/heads/main\nrefs/heads/side\nrefs/tags/t\nrefs/tags/t2");
	is_clean();
}

static void head_follows_the_agents_branch_when_nothing_runs(void **state)
{
	cleanup_free char *busy = NULL;

	make_private();
	inside("echo 3 >>a; git commit -qam third; git checkout -q -b feat; echo f >f; git add f; "
	       "git "
	       "commit -qm feat");
	busy = import_when("busy");
	sh_says("git symbolic-ref HEAD; git status --porcelain", "refs/heads/main\n?? f");
	import_says("\"head\":\"refs/heads/feat\"");
	sh_says("git symbolic-ref HEAD; git log --format=%s -1", "refs/heads/feat\nfeat");
	is_clean();
	inside("git checkout -q main");
	import_says("\"head\":\"refs/heads/main\"");
	is_clean();
}

static void head_stays_where_the_user_switched_too(void **state)
{
	make_private();
	inside("git checkout -q -b feat");
	run_sh("git checkout -q side");
	import_says("\"head_held\":{\"ref\":\"refs/heads/feat\",\"why\":\"you switched branches, "
		    "too\"}");
	sh_says("git symbolic-ref HEAD", "refs/heads/side");
	is_clean();
}

static void the_agent_may_amend_its_own_commit_and_the_old_one_is_kept(void **state)
{
	make_private();
	inside("echo 3 >>a; git commit -qam third");
	import_says("forward");
	run_sh("git rev-parse HEAD >$TREE/old");
	inside("git commit -q --amend -m 'third again'; git checkout -q -b own; echo o >o; git add "
	       "o; "
	       "git commit -qm own");
	import_says("rewrite");
	run_sh("git rev-parse refs/ralph/box/was/heads/main | cmp - $TREE/old");
	sh_says("git log --format=%s main -2", "third again\nsecond");
	inside("git commit -q --amend -m 'own again'");
	import_says("rewrite");
	sh_says("git log --format=%s own -1", "own again");
	is_clean();
}

static void a_rewrite_of_the_users_commits_is_held(void **state)
{
	make_private();
	inside("git commit -q --amend -m 'mine now'");
	held_as("refs/ralph/box/heads/main", "it rewrites your commits");
	sh_says("git log --format=%s -1; git log --format=%s -1 refs/ralph/box/heads/main",
		"second\nmine now");
	import_says("\"new\":false");
	is_clean();
}

static void commits_of_both_on_one_branch_are_held(void **state)
{
	make_private();
	run_sh("echo users >u; git add u; git commit -qm users");
	inside("echo agents >g; git add g; git commit -qm agents");
	held_as("refs/ralph/box/heads/main", "you committed there too");
	sh_says("git log --format=%s -1; git log --format=%s -1 refs/ralph/box/heads/main",
		"users\nagents");
}

static void what_is_the_users_is_never_deleted_or_moved(void **state)
{
	run_sh("git tag v1; git branch gone; echo s >>a; git stash -q");
	make_private();
	run_sh("git branch -D -q gone; git for-each-ref >$TREE/refs; git stash list >>$TREE/refs");
	inside("git checkout -q --detach; git branch -D -q side; git tag -d v1 >/dev/null; git "
	       "stash "
	       "drop -q; git checkout -q main; git tag -f v1 main~1; git update-ref "
	       "refs/heads/gone "
	       "main~1; git notes add -m n main; echo z >>d/b; git stash -q");
	import_says("refs/ralph/box/tags/v1");
	run_sh("{ git for-each-ref | grep -v refs/ralph; git stash list; } | cmp - $TREE/refs");
	sh_says("git for-each-ref --format='%(refname)' refs/ralph",
		"refs/ralph/box/heads/gone\nrefs/ralph/box/notes/commits\nrefs/ralph/box/stash\n"
		"refs/ralph/box/tags/v1");
}

static void a_commit_on_no_branch_is_kept(void **state)
{
	make_private();
	inside("git checkout -q --detach; echo 3 >>a; git commit -qam lost; git checkout -q main; "
	       "git "
	       "checkout -q --detach HEAD@{1}");
	held_as("refs/ralph/box/HEAD", "it is on no branch");
	sh_says("git log --format=%s -1 refs/ralph/box/HEAD", "lost");
}

static void objects_are_packs_until_there_are_many_small_ones(void **state)
{
	make_private();
	inside("for i in $(seq 150); do echo $i >f$i; done; git add .; git commit -qm many");
	import_says("refs/heads/main");
	sh_says("ls .git/objects/pack/*.pack | wc -l", "1");
	is_clean();
	inside("echo 3 >>a; git commit -qam one");
	import_says("refs/heads/main");
	sh_says("ls .git/objects/pack/*.pack | wc -l", "2");
	is_clean();
	/* More of them would slow git down. */
	run_sh("for i in 1 2; do touch .git/objects/pack/pack-$i.idx; done");
	inside("echo 4 >>a; git commit -qam two");
	import_says("refs/heads/main");
	run_sh("rm .git/objects/pack/pack-?.idx");
	sh_says("ls .git/objects/pack/*.pack | wc -l", "2");
	sh_says("ls .git/objects/pack/*.keep 2>/dev/null | wc -l", "0");
	is_clean();
}

static void the_first_commit_of_an_empty_repository_is_taken(void **state)
{
	run_sh("rm -rf .git a d; git init -q .");
	make_private();
	inside("echo one >a; git add a; git commit -qm first");
	import_says("refs/heads/main");
	sh_says("git log --format=%s", "first");
	is_clean();
}

static void a_branch_of_another_worktree_is_not_moved_under_it(void **state)
{
	run_sh("git worktree add -q $TREE/wt side");
	make_private();
	inside("git checkout -q -f side --ignore-other-worktrees 2>/dev/null; echo s >s; git add "
	       "s; git "
	       "commit -qm on-side; git checkout -q main");
	held_as("refs/ralph/box/heads/side", "it is checked out in another worktree");
	sh_says("git -C $TREE/wt status --porcelain", "");
}

static void a_linked_worktree_is_imported_into(void **state)
{
	run_sh("mv $TREE/w $TREE/main; git -C $TREE/main worktree add -q $TREE/w side");
	make_private();
	inside("echo s >s; git add s; git commit -qm on-side");
	import_says("refs/heads/side");
	sh_says("git log --format=%s -1; git status --porcelain; git -C $TREE/main status "
		"--porcelain",
		"on-side");
}

static void during_the_users_merge_the_current_branch_waits(void **state)
{
	run_sh("git checkout -q side; echo side >a; git commit -qam side; git checkout -q main; "
	       "echo "
	       "main >a; git commit -qam main");
	make_private();
	run_sh("git merge side >/dev/null || true");
	inside("echo n >n; git add n; git commit -qm n; git branch other");
	held_as("refs/ralph/box/heads/main",
		"a merge, rebase or the like is in progress in your repository");
	sh_says("git log --format=%s -1; git log --format=%s -1 other; git status --porcelain a",
		"main\nn\nUU a");
	run_sh("git merge --abort");
	import_says("forward");
	is_clean();
}

static void while_the_users_git_has_the_index_the_current_branch_waits(void **state)
{
	make_private();
	run_sh(": >.git/index.lock");
	inside("echo 3 >>a; git commit -qam third");
	held_as("refs/ralph/box/heads/main", "your index is locked");
	sh_says("git log --format=%s -1; ls .git/index.lock", "second\n.git/index.lock");
	run_sh("rm .git/index.lock");
	import_says("forward");
	is_clean();
}

static void a_split_index_follows(void **state)
{
	run_sh("git update-index --split-index; echo x >x; git add x; git commit -qm x");
	make_private();
	inside("echo 3 >>a; git rm -q d/b; git commit -qam third");
	import_says("forward");
	is_clean();
	sh_says("ls .git/sharedindex.* | wc -l | grep -v '^0$' | wc -l", "1");
}

static void the_index_of_a_sparse_checkout_follows(void **state)
{
	run_sh("mkdir e; echo e >e/e; git add .; git commit -qm e\n"
	       "git sparse-checkout set --cone --sparse-index d");
	make_private();
	inside("echo 3 >>a; git update-index --add --cacheinfo 100644,$(git hash-object -w "
	       "a),e/new\n"
	       "git commit -qm third a e/new 2>/dev/null || git commit -qam third");
	import_says("forward");
	is_clean();
	sh_says("ls", "a\nd");
}

/* Trap: had the references moved first, the user's next commit would undo the agent's. */
static void references_do_not_move_before_an_index_that_cannot_follow(void **state)
{
	run_sh("git update-index --split-index; echo x >x; git add x; git commit -qm x");
	make_private();
	run_sh("echo staged >a; git add a");
	inside("echo 3 >a; git add a; git commit -qm third");
	held_as("refs/ralph/box/heads/main",
		is_wide() ? "git cannot move your index"
			  : "your index is split or sparse, and git cannot move it");
	sh_says("git log --format=%s -1; git diff --cached --name-only", "x\na");
	run_sh("git reset -q");
	import_says("forward");
	is_clean();
}

static void a_commit_that_adds_a_gitlink_is_held(void **state)
{
	make_private();
	run_sh("git init -q $TREE/n; cd $TREE/n; echo x >x; git add x; git commit -qm x");
	inside("link=$(git --git-dir=$TREE/n/.git rev-parse HEAD)\n"
	       "git update-index --add --cacheinfo 160000,$link,sub; git commit -qm link\n"
	       "git rm -q --cached sub; git commit -qm gone");
	held_as("refs/ralph/box/heads/main", "it adds a submodule");
	sh_says("git log --format=%s -1", "second");
}

/* A tree as bytes, made by the agent's git, on top of the branch. */
static void refuses_tree(const char *python, const char *why)
{
	cleanup_free char *script = xasprintf(
		"b=$(git rev-parse HEAD:a) s=$(git rev-parse HEAD:d)\n"
		"t=$(B=$b S=$s python3 -c 'import os,sys\n"
		"b=bytes.fromhex(os.environ[\"B\"]);s=bytes.fromhex(os.environ[\"S\"])\n"
		"sys.stdout.buffer.write(%s)' | git hash-object -t tree --literally -w --stdin)\n"
		"git update-ref refs/heads/main $(git commit-tree -p HEAD -m bad $t)",
		python);

	make_private();
	run_sh("git for-each-ref >$TREE/refs; find .git/objects | sort >$TREE/objects");
	inside(script);
	import_says(why);
	run_sh("git for-each-ref | cmp - $TREE/refs; find .git/objects | sort | cmp - "
	       "$TREE/objects");
	is_clean();
}

static void a_tree_with_dot_git_is_refused_whole(void **state)
{
	refuses_tree("b\"40000 .GIT\\0\"+s", "error: '.GIT' in a tree of the sandbox has a name");
}

static void a_tree_with_a_short_name_for_dot_git_is_refused(void **state)
{
	refuses_tree("b\"40000 git~1\\0\"+s", "has a name that git does not check out");
}

static void a_tree_with_dot_dot_is_refused(void **state)
{
	refuses_tree("b\"40000 ..\\0\"+s", "has a name that git does not check out");
}

static void a_tree_with_a_slash_is_refused(void **state)
{
	refuses_tree("b\"100644 x/y\\0\"+b", "has a name that git does not check out");
}

static void a_tree_with_a_name_twice_is_refused(void **state)
{
	refuses_tree("b\"120000 x\\0\"+b+b\"100644 x.y\\0\"+b+b\"40000 x\\0\"+s",
		     "has a name twice");
}

static void a_tree_in_another_order_is_refused(void **state)
{
	refuses_tree("b\"100644 b\\0\"+b+b\"100644 a\\0\"+b", "is damaged");
}

static void a_tree_with_an_odd_mode_is_refused(void **state)
{
	refuses_tree("b\"10644 x\\0\"+b", "has an unknown mode");
}

static void settings_of_submodules_as_a_link_are_refused(void **state)
{
	refuses_tree("b\"120000 .gitmodules\\0\"+b", "is a link where git wants a file");
}

static void an_object_that_is_not_there_is_refused(void **state)
{
	make_private();
	inside("echo new >n; git add n; git commit -qm n\n"
	       "{ printf '%s refs/heads/main\\n\\n' $(git rev-parse HEAD)\n"
	       "git rev-parse HEAD HEAD^{tree} | git pack-objects -q --stdout; } >$TREE/stream");
	sh_says("$TREE/repo import $TREE/w box idle <$TREE/stream 3<$TREE/tips 2>&1 | grep -o "
		"'sandbox "
		"is missing'",
		"sandbox is missing");
	run_sh("rm n");
	is_clean();
}

static void a_stream(const char *bytes, const char *want)
{
	/* OID: a name of the kind that this repository has. */
	cleanup_free char *script = xasprintf(
		"printf '%s' | sed \"s/^OID/$(git rev-parse HEAD | tr a-f 0-5)/\" >$TREE/stream\n"
		"$TREE/repo import $TREE/w box idle <$TREE/stream "
		"3<$TREE/tips 2>&1 || true",
		bytes);
	cleanup_free char *is = sh(script);

	if (!strstr(is, want))
		fail_msg("'%s' is not in: %s", want, is);
}

static void a_stream_that_is_none_changes_nothing(void **state)
{
	make_private();
	run_sh("find .git | sort >$TREE/before");
	a_stream("", "said nothing");
	a_stream("HEAD refs/heads/main\\n", "said nothing");
	a_stream("x\\n\\n", "cannot be understood");
	a_stream("HEAD refs/heads/../x\\n\\n", "with the name 'refs/heads/../x'");
	a_stream("OID refs/remotes/o/x\\n\\n", "cannot be understood");
	a_stream("OID refs/heads/x.lock\\n\\n", "with the name 'refs/heads/x.lock'");
	a_stream("OID refs/heads/-x\\n\\n", "with the name 'refs/heads/-x'");
	a_stream("OID refs/heads/HEAD\\n\\n", "with the name 'refs/heads/HEAD'");
	a_stream("OID refs/heads/x\\n\\n", "cut off");
	a_stream("OID refs/heads/x\\n\\nPACKxxxxyyyy", "");
	a_stream("OID refs/heads/x\\n\\n"
		 "PACK\\000\\000\\000\\002\\000\\000\\000\\000",
		 "names no commit");
	run_sh("find .git | sort | cmp - $TREE/before");
	is_clean();
}

static void a_branch_that_stands_in_the_way_is_not_removed(void **state)
{
	make_private();
	run_sh("git branch x");
	inside("git branch x/y");
	held_as("refs/ralph/box/heads/x/y", "another reference stands in its way");
	sh_says("git rev-parse -q --verify x | wc -l", "1");
}

/* As one that was killed behind its note leaves it. */
static void leave_half(bool moved)
{
	inside("echo 3 >>a; git commit -qam third");
	run_sh("cp -r $TREE/p/objects/?? .git/objects/; mkdir .git/ralph-import\n"
	       "new=$(git --git-dir=$TREE/p rev-parse main) old=$(git rev-parse main)\n"
	       "cp .git/index .git/ralph-import/index; echo 'ralph import' >.git/index.lock\n"
	       "GIT_INDEX_FILE=.git/ralph-import/index git read-tree -m -i $old $new\n"
	       "printf 'tip %s\\n%s\\t%s\\trefs/heads/main\\n' $new $old $new "
	       ">.git/ralph-import/note");
	if (moved)
		run_sh("git update-ref refs/heads/main $(git --git-dir=$TREE/p rev-parse main)");
}

static void an_import_that_was_killed_is_finished_by_the_next(void **state)
{
	make_private();
	leave_half(true);
	import_says("\"held\":[]");
	sh_says("git log --format=%s -1", "third");
	is_clean();
}

static void an_import_that_was_killed_before_it_moved_anything_is_finished_too(void **state)
{
	make_private();
	leave_half(false);
	import_says("\"held\":[]");
	sh_says("git log --format=%s -1", "third");
	is_clean();
}

static void a_list_of_what_is_held_leaves_a_killed_import_to_the_next(void **state)
{
	make_private();
	leave_half(true);
	run_sh("$TREE/repo held $TREE/w box >/dev/null");
	import_says("\"held\":[]");
	sh_says("git log --format=%s -1", "third");
	is_clean();
}

static void locks_that_a_killed_import_left_do_not_stay(void **state)
{
	make_private();
	leave_half(false);
	run_sh("git --git-dir=$TREE/p rev-parse main >.git/refs/heads/main.lock");
	import_says("\"held\":[]");
	sh_says("git log --format=%s -1; find .git -name '*.lock'", "third");
	is_clean();
}

static void what_a_killed_import_prepared_is_dropped_where_the_user_went_on(void **state)
{
	make_private();
	leave_half(false);
	run_sh("rm .git/index.lock; echo u >u; git add u; git commit -qm users");
	held_as("refs/ralph/box/heads/main", "you committed there too");
	sh_says("git log --format=%s -1; git status --porcelain; ls .git/ralph-import 2>&1 | wc -l",
		"users\n M a\n1");
}

/* An import with all that it can do: forward, a new branch, a tag, HEAD, the index. */
static void make_rich(void)
{
	make_private();
	inside("echo 3 >>a; git commit -qam third; git tag -a t -m t; git branch new\n"
	       "git checkout -q -b feat; echo f >f; git add f; git commit -qm feat");
	write_told();
	run_sh("(" INSIDE "sh $TREE/export.sh <$TREE/told) >$TREE/stream; cp -a .git $TREE/real\n"
	       "git for-each-ref >$TREE/before; git symbolic-ref HEAD >>$TREE/before\n"
	       "$TREE/repo import $TREE/w box idle <$TREE/stream 3<$TREE/tips >/dev/null\n"
	       "git for-each-ref >$TREE/after; git symbolic-ref HEAD >>$TREE/after");
	is_clean();
}

#define FAILING                                                                                    \
	"rm -rf .git; cp -a $TREE/real .git\n"                                                     \
	"%s=%d " REPO_FAILS " import $TREE/w box idle <$TREE/stream 3<$TREE/tips >/dev/null "      \
	"2>$TREE/why && echo lived || true\n"
#define NEXT                                                                                       \
	"$TREE/repo import $TREE/w box idle <$TREE/stream 3<$TREE/tips >/dev/null\n"               \
	"{ git for-each-ref; git symbolic-ref HEAD; } | cmp - $TREE/after\n"

/* Each point of an import, until it comes to its end. */
static void at_each_point(const char *variable, const char *check)
{
	make_rich();
	for (int at = 1; at <= 1000; at++) {
		cleanup_free char *fails = xasprintf(FAILING, variable, at);
		cleanup_free char *script = xasprintf("%s%s" NEXT, fails, check);
		cleanup_free char *said = sh(script);

		is_clean();
		if (strstr(said, "lived")) {
			assert_true(at > 50);
			return;
		}
	}
	fail_msg("it never came to its end");
}

/* The user sees the state before or behind an import, whatever it was killed at, once the next one
 * has run; and until then nothing is lost. */
static void an_import_may_be_killed_anywhere(void **state)
{
	at_each_point("RALPH_TEST_DIE_AT", "git fsck --no-progress 2>&1\n");
}

/* Where nothing could be written any more, nothing has moved, and nothing is locked. */
static void a_disk_that_is_full_at_any_point_leaves_everything_as_it_was(void **state)
{
	at_each_point("RALPH_TEST_FULL_AT",
		      "{ git for-each-ref; git symbolic-ref HEAD; } >$TREE/is\n"
		      "cmp -s $TREE/is $TREE/after ||\n"
		      "	{ cmp $TREE/is $TREE/before; cmp .git/index $TREE/real/index\n"
		      "	test -s $TREE/why; find .git -name '*.lock' -o -name ralph-in-* | grep . "
		      "&& exit 1; }\n"
		      "test ! -e .git/index.lock; git fsck --no-progress 2>&1\n");
}

static void a_full_disk_leaves_everything_as_it_was(void **state)
{
	make_private();
	inside("echo 3 >>a; git commit -qam third");
	run_sh("git for-each-ref >$TREE/refs; sha256sum .git/index >$TREE/index");
	write_told();
	run_sh("(" INSIDE "sh $TREE/export.sh <$TREE/told) >$TREE/stream\n"
	       "trap '' XFSZ; ulimit -f 0; $TREE/repo import $TREE/w box idle <$TREE/stream "
	       "3<$TREE/tips >/dev/null 2>&1 && exit 1; exit 0");
	run_sh("git for-each-ref | cmp - $TREE/refs; sha256sum .git/index | cmp - $TREE/index");
	sh_says("git status --porcelain; ls .git/index.lock 2>/dev/null || true", " M a");
}

/* A disk that is really full: libgit2 writes packs to mapped memory, where that is a signal. */
static void a_pack_that_the_disk_has_no_room_for_is_refused_and_removed(void **state)
{
	run_sh("unshare -rm true 2>/dev/null || echo skip >$TREE/skip");
	make_private();
	inside("head -c 4000000 /dev/urandom >big; git add big; git commit -qm big");
	write_told();
	run_sh("(" INSIDE "sh $TREE/export.sh <$TREE/told) >$TREE/stream\n"
	       "[ ! -e $TREE/skip ] || exit 0\n"
	       "mv .git $TREE/real; mkdir .git; cat >$TREE/full.sh <<'EOF'\n"
	       "set -e; mount -t tmpfs -o size=2m none .git; cp -a $TREE/real/. .git\n"
	       "git for-each-ref >$TREE/refs; find .git | sort >$TREE/files\n"
	       "$TREE/repo import $TREE/w box idle <$TREE/stream 3<$TREE/tips 2>$TREE/why && exit "
	       "1\n"
	       "grep -q 'No space\\|no space' $TREE/why; git for-each-ref | cmp - $TREE/refs\n"
	       "find .git | sort | cmp - $TREE/files; git fsck 2>&1\n"
	       "EOF\n"
	       "unshare -rm sh $TREE/full.sh >&2; rmdir .git; mv $TREE/real .git");
}

static void a_pack_is_on_the_disk_before_it_is_named(void **state)
{
	make_private();
	inside("for i in $(seq 150); do echo $i >f$i; done; git add .; git commit -qm many");
	write_told();
	sh_says("(" INSIDE "sh $TREE/export.sh <$TREE/told) >$TREE/stream\n" REPO_FAILS
		" import $TREE/w box idle <$TREE/stream 3<$TREE/tips 2>&1 >/dev/null |"
		" sed -n 's/^synced .*[.]//p'",
		"pack\nidx");
}

static void a_branch_that_stands_for_another_is_left_alone(void **state)
{
	run_sh("git symbolic-ref refs/heads/other refs/heads/side");
	make_private();
	inside("git update-ref refs/heads/other $(git commit-tree -p side -m x side^{tree})");
	held_as("refs/ralph/box/heads/other", "it stands for another reference");
	sh_says("git symbolic-ref refs/heads/other", "refs/heads/side");
}

static void what_the_agent_fetched_of_the_users_is_no_conflict(void **state)
{
	make_private();
	inside("echo 3 >>a; git commit -qam third");
	import_says("forward");
	run_sh("echo u >u; git add u; git commit -qm users");
	inside("old=$(git rev-parse main); git fetch -q $TREE/w main\n"
	       "git update-ref refs/heads/main FETCH_HEAD; git read-tree -m -i $old FETCH_HEAD\n"
	       "echo 4 >>a; git commit -qam fourth");
	import_says("forward");
	sh_says("git log --format=%s -3", "fourth\nusers\nthird");
	is_clean();
	inside("git commit -q --amend -m again");
	import_says("rewrite");
	inside("git reset -q --soft HEAD~2");
	held_as("refs/ralph/box/heads/main", "it rewrites your commits");
}

static void what_the_user_commits_and_makes_is_there_inside(void **state)
{
	make_private();
	run_sh("echo u >u; git add u; git commit -qm users; git branch made; git tag v2\n"
	       "git update-ref refs/remotes/origin/main HEAD");
	sync_in();
	inside_says("git status --porcelain; git log --format=%s -1; git for-each-ref "
		    "--format='%(refname)' refs/heads refs/tags refs/remotes",
		    "users\nrefs/heads/made\nrefs/heads/main\nrefs/heads/side\nrefs/remotes/origin/"
		    "main\n"
		    "refs/tags/v2");
	import_says("{\"taken\":[],\"held\":[]}");
	inside("echo 3 >>a; git commit -qam third");
	import_says("forward");
	is_clean();
	inside("git reset -q --soft HEAD~2");
	held_as("refs/ralph/box/heads/main", "it rewrites your commits");
}

static void a_branch_that_the_agent_moved_is_not_synced_over(void **state)
{
	make_private();
	run_sh("git branch -f side main~1; echo u >u; git add u; git commit -qm users");
	inside("echo 3 >>a; git commit -qm agents -- a");
	sync_in();
	inside_says("git log --format=%s -1; git log --format=%s -1 side; git status --porcelain",
		    "agents\nfirst\n?? u");
}

static void a_switch_of_the_users_is_followed_inside(void **state)
{
	make_private();
	run_sh("git checkout -q -b other; echo o >o; git add o; git commit -qm other");
	sync_in();
	inside_says("git symbolic-ref HEAD; git status --porcelain", "refs/heads/other");
	import_says("{\"taken\":[],\"held\":[]}");
	inside("git checkout -q main");
	import_says("\"head\":\"refs/heads/main\"");
	is_clean();
}

static void an_operation_in_progress_inside_is_left_alone(void **state)
{
	run_sh("git checkout -q side; echo side >a; git commit -qam side; git checkout -q main; "
	       "echo "
	       "main >a; git commit -qam main");
	make_private();
	inside("git merge side >/dev/null || true");
	run_sh("echo u >u; git add u; git commit -qm users u");
	write_moved();
	inside("sh $TREE/sync.sh <$TREE/moved || test $? = 75");
	inside_says(
		"git log --format=%s -1; ls .git/MERGE_HEAD $TREE/p/MERGE_HEAD 2>/dev/null | wc -l",
		"main\n1");
}

static void settle_says(const char *args, const char *want)
{
	cleanup_free char *script = xasprintf("$TREE/repo settle $TREE/w box %s 2>&1", args);
	cleanup_free char *is = sh(script);

	if (!strstr(is, want))
		fail_msg("'%s' is not in: %s", want, is);
}

static void hold_both(void)
{
	make_private();
	run_sh("echo users >u; git add u; git commit -qm users");
	inside("echo agents >g; git add g; git commit -qm agents");
	held_as("refs/ralph/box/heads/main", "you committed there too");
}

static void what_is_held_is_listed(void **state)
{
	hold_both();
	inside("git notes add -m n");
	import_says("notes");
	sh_says("$TREE/repo held $TREE/w box | sed 's/\"oid\":\"[0-9a-f]*\",*//g'",
		"{\"held\":[{\"ref\":\"heads/main\",\"as\":\"refs/ralph/box/heads/"
		"main\",\"ahead\":1,\"behind\":1},{\"ref\":\"notes/"
		"commits\",\"as\":\"refs/ralph/box/notes/commits\",}]}");
}

static void commits_of_both_are_merged_without_touching_a_file(void **state)
{
	hold_both();
	run_sh("stat -c '%n %i %z' a u g >$TREE/files");
	settle_says("merge ''",
		    "{\"settled\":[{\"ref\":\"heads/main\",\"how\":\"taken\"}],\"left\":[]}");
	run_sh("stat -c '%n %i %z' a u g | cmp - $TREE/files");
	sh_says("git log --format='%an %s' -1; git rev-list --parents -1 HEAD | wc -w; git "
		"for-each-ref "
		"refs/ralph/box/heads",
		"User Merge refs/heads/main of sandbox box\n3");
	is_clean();
	sync_in();
	import_says("{\"taken\":[],\"held\":[]}");
	inside("echo more >>g; git commit -qam more");
	import_says("forward");
	is_clean();
}

static void a_merge_with_conflicts_is_left_to_the_user(void **state)
{
	make_private();
	run_sh("cp a $TREE/a; echo users >a; git commit -qam users; cp $TREE/a a");
	inside("echo agents >a; git commit -qam agents");
	held_as("refs/ralph/box/heads/main", "you committed there too");
	settle_says("merge heads/main", "\"why\":\"the two conflict");
	sh_says("git log --format=%s -1; git rev-parse -q --verify refs/ralph/box/heads/main | wc "
		"-l",
		"users\n1");
}

static void a_held_rewrite_is_taken_by_force_and_the_users_tip_is_kept(void **state)
{
	make_private();
	inside("git commit -q --amend -m 'mine now'");
	held_as("refs/ralph/box/heads/main", "it rewrites your commits");
	run_sh("git rev-parse HEAD >$TREE/old");
	settle_says("force heads/main", "replaced");
	run_sh("git rev-parse refs/ralph/box/was/heads/main | cmp - $TREE/old");
	sh_says("git log --format=%s -1", "mine now");
	is_clean();
	import_says("{\"taken\":[],\"held\":[]}");
	/* It is the user's now. */
	inside("git commit -q --amend -m 'mine again'");
	held_as("refs/ralph/box/heads/main", "it rewrites your commits");
}

static void a_new_submodule_needs_a_word_of_its_own(void **state)
{
	make_private();
	run_sh("git init -q sub; cd sub; echo x >x; git add x; git commit -qm x");
	inside("git add sub 2>/dev/null; git commit -qm link");
	held_as("refs/ralph/box/heads/main", "it adds a submodule");
	settle_says("merge ''", "use --gitlinks");
	sh_says("git log --format=%s -1", "second");
	settle_says("gitlinks ''", "taken");
	sh_says("git log --format=%s -1; git status --porcelain", "link");
}

static void what_is_dropped_is_gone_and_nothing_else(void **state)
{
	hold_both();
	inside("git tag -f t; git notes add -m n; git branch ok");
	import_says("ok");
	settle_says("drop ''", "dropped");
	sh_says("git for-each-ref --format='%(refname)'",
		"refs/heads/main\nrefs/heads/ok\nrefs/heads/side\nrefs/ralph/box/seen/heads/ok\n"
		"refs/ralph/box/seen/tags/t\nrefs/tags/t");
	run_sh("$TREE/repo forget $TREE/w box");
	sh_says("git for-each-ref refs/ralph; git log --format=%s -1; git status --porcelain",
		"users\n?? g");
}

static void what_is_not_held_cannot_be_settled(void **state)
{
	make_private();
	settle_says("merge heads/none", "nothing of that name is held");
	is_clean();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_GIT(a_commit_is_taken_and_the_users_status_is_clean),
		WITH_GIT(what_the_user_staged_and_changed_stays),
		WITH_GIT(a_path_that_the_user_staged_otherwise_keeps_the_users_entry),
		WITH_GIT(a_new_branch_and_a_new_tag_are_taken),
		WITH_GIT(head_follows_the_agents_branch_when_nothing_runs),
		WITH_GIT(head_stays_where_the_user_switched_too),
		WITH_GIT(the_agent_may_amend_its_own_commit_and_the_old_one_is_kept),
		WITH_GIT(a_rewrite_of_the_users_commits_is_held),
		WITH_GIT(commits_of_both_on_one_branch_are_held),
		WITH_GIT(what_is_the_users_is_never_deleted_or_moved),
		WITH_GIT(a_commit_on_no_branch_is_kept),
		WITH_GIT(objects_are_packs_until_there_are_many_small_ones),
		WITH_GIT(the_first_commit_of_an_empty_repository_is_taken),
		WITH_GIT(a_branch_of_another_worktree_is_not_moved_under_it),
		WITH_GIT(a_linked_worktree_is_imported_into),
		WITH_GIT(during_the_users_merge_the_current_branch_waits),
		WITH_GIT(while_the_users_git_has_the_index_the_current_branch_waits),
		WITH_GIT(a_split_index_follows),
		WITH_GIT(the_index_of_a_sparse_checkout_follows),
		WITH_GIT(references_do_not_move_before_an_index_that_cannot_follow),
		WITH_GIT(a_commit_that_adds_a_gitlink_is_held),
		WITH_GIT(a_tree_with_dot_git_is_refused_whole),
		WITH_GIT(a_tree_with_a_short_name_for_dot_git_is_refused),
		WITH_GIT(a_tree_with_dot_dot_is_refused),
		WITH_GIT(a_tree_with_a_slash_is_refused),
		WITH_GIT(a_tree_with_a_name_twice_is_refused),
		WITH_GIT(a_tree_in_another_order_is_refused),
		WITH_GIT(a_tree_with_an_odd_mode_is_refused),
		WITH_GIT(settings_of_submodules_as_a_link_are_refused),
		WITH_GIT(an_object_that_is_not_there_is_refused),
		WITH_GIT(a_stream_that_is_none_changes_nothing),
		WITH_GIT(a_branch_that_stands_in_the_way_is_not_removed),
		WITH_GIT(an_import_that_was_killed_is_finished_by_the_next),
		WITH_GIT(an_import_that_was_killed_before_it_moved_anything_is_finished_too),
		WITH_GIT(a_list_of_what_is_held_leaves_a_killed_import_to_the_next),
		WITH_GIT(locks_that_a_killed_import_left_do_not_stay),
		WITH_GIT(what_a_killed_import_prepared_is_dropped_where_the_user_went_on),
		WITH_GIT(an_import_may_be_killed_anywhere),
		WITH_GIT(a_disk_that_is_full_at_any_point_leaves_everything_as_it_was),
		WITH_GIT(a_pack_that_the_disk_has_no_room_for_is_refused_and_removed),
		WITH_GIT(a_pack_is_on_the_disk_before_it_is_named),
		WITH_GIT(a_branch_that_stands_for_another_is_left_alone),
		WITH_GIT(a_full_disk_leaves_everything_as_it_was),
		WITH_GIT(what_the_user_commits_and_makes_is_there_inside),
		WITH_GIT(a_branch_that_the_agent_moved_is_not_synced_over),
		WITH_GIT(a_switch_of_the_users_is_followed_inside),
		WITH_GIT(an_operation_in_progress_inside_is_left_alone),
		WITH_GIT(what_is_held_is_listed),
		WITH_GIT(commits_of_both_are_merged_without_touching_a_file),
		WITH_GIT(a_merge_with_conflicts_is_left_to_the_user),
		WITH_GIT(a_held_rewrite_is_taken_by_force_and_the_users_tip_is_kept),
		WITH_GIT(a_new_submodule_needs_a_word_of_its_own),
		WITH_GIT(what_is_dropped_is_gone_and_nothing_else),
		WITH_GIT(what_is_not_held_cannot_be_settled),
		WITH_GIT(what_the_agent_fetched_of_the_users_is_no_conflict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
