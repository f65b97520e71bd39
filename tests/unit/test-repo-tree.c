#include "git-repo.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static struct strv conflicts;

static int merge(const char *branch)
{
	struct repo_oid oid;
	struct err e = {0};

	strv_done(&conflicts);
	strv_init(&conflicts);
	return repo_merge(repo, branch, "take it over", &oid, &conflicts, &e);
}

static int done(void **state)
{
	strv_done(&conflicts);
	return repo_unmake(state);
}

static void a_branch_that_follows_is_taken_without_a_commit(void **state)
{
	run_sh("git checkout -qb t; echo t >t; git add t; git commit -qm t; git checkout -q main");
	assert_int_equal(merge("t"), 0);
	sh_says("git log --format=%s; cat t; git status --porcelain; git symbolic-ref HEAD",
		"t\nfirst\nt\nrefs/heads/main");
	assert_int_equal(merge("t"), 0);
}

static void two_branches_are_joined_by_the_user_and_nothing_is_added(void **state)
{
	run_sh("git checkout -qb t; echo t >t; git add t; git commit -qm t; git checkout -q main; "
	       "echo m >m; git add m; git commit -qm m");
	assert_int_equal(merge("t"), 0);
	sh_says("git log -1 --format='%an %ae %cn %B'; git log -1 --format=%P | wc -w; ls; git "
		"status --porcelain",
		"User u@example.org User take it over\n2\na\nd\nm\nt");
}

static void conflicts_are_named_and_change_nothing(void **state)
{
	cleanup_free char *before = NULL;
	static const char look[] = "git for-each-ref; cat a; git status --porcelain; ls -A . .git";

	run_sh("git checkout -qb t; echo t >a; git commit -qam t; git checkout -q main; echo m >a; "
	       "git commit -qam m");
	before = sh(look);
	assert_int_equal(merge("t"), -EEXIST);
	assert_int_equal(conflicts.n, 1);
	assert_string_equal(conflicts.v[0], "a");
	sh_says(look, before);
}

static void a_merge_over_changed_files_is_refused(void **state)
{
	run_sh("git checkout -qb t; echo t >a; git commit -qam t; git checkout -q main; echo mine "
	       ">a");
	assert_int_equal(merge("t"), -EBUSY);
	sh_says("cat a; git log --format=%s", "mine\nfirst");
}

static void merge_drivers_of_the_repository_do_not_run(void **state)
{
	run_sh("git config merge.x.driver 'touch $TREE/witness'; echo '* merge=x' >.gitattributes; "
	       "git add .; git commit -qm x\n"
	       "git checkout -qb t; echo t >a; git commit -qam t; git checkout -q main; echo m >a; "
	       "git commit -qam m");
	(void)merge("t");
	nothing_ran();
}

static void a_commit_graph_that_lies_does_not_change_a_merge(void **state)
{
	/* It says that t began before "bad": then t brings it again, which main has taken back. */
	run_sh("git tag start; echo bad >bad; git add .; git commit -qm bad; git checkout -q -b t; "
	       "echo t >t; git add t; git commit -qm t\n"
	       "git commit -q --allow-empty -m u; git commit-graph write --reachable");
	run_sh(graph_lies);
	run_sh("git checkout -q main; git rm -q bad; git commit -qm gone");
	sh_says("git merge-base main t", commit_of("start").hex);
	assert_int_equal(merge("t"), 0);
	sh_says("ls", "a\nd\nt");
}

static char *add(const char *branch, const char *base)
{
	struct err e = {0};
	char *path = NULL;

	ok(repo_worktree_add(repo, branch, base, &path, NULL, &e), &e);
	return path;
}

static void a_worktree_is_beside_the_repository_and_git_knows_it(void **state)
{
	cleanup_free char *path = add("ralph/x", NULL), *again = NULL, *want = NULL;
	struct err e = {0};

	want = xasprintf("%s/w-worktrees/ralph+x", tree);
	assert_string_equal(path, want);
	sh_says("cd ../w-worktrees/ralph+x; git status -sb; cat a d/b; git worktree list | wc -l; "
		"git worktree list --porcelain | grep -c prunable || :",
		"## ralph/x\none\ntwo\n2\n0");
	again = add("ralph/x", NULL);
	assert_string_equal(again, want);
	ok(repo_worktree_remove(repo, path, &e), &e);
	sh_says("ls ..; git worktree list | wc -l; git branch --list --format='%(refname:short)'; "
		"ls .git | grep worktrees || :",
		"home\nstate\nw\n1\nmain\nralph/x");
}

static void branches_that_look_alike_have_worktrees_of_their_own(void **state)
{
	static const char *const names[] = {"a/b", "a+b", "a-b", "a~b", "a b", "ä"};
	cleanup_strv struct strv paths = {0};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct err e = {0};
		char *path = NULL;

		if (repo_worktree_add(repo, names[i], NULL, &path, NULL, &e) < 0)
			continue; /* no branch name */
		assert_false(strv_has(&paths, path));
		strv_take(&paths, path);
	}
	assert_int_equal(paths.n, 4);
}

static void a_worktree_with_changes_stays(void **state)
{
	cleanup_free char *path = add("x", "main");
	struct err e = {0};

	run_sh("echo n >../w-worktrees/x/new");
	assert_int_equal(repo_worktree_remove(repo, path, &e), -EBUSY);
	assert_non_null(strstr(e.msg, "new"));
	run_sh("cd ../w-worktrees/x; git add new; git commit -qm n; git checkout -q --detach; git "
	       "commit -q --allow-empty -m lost");
	assert_int_equal(repo_worktree_remove(repo, path, &e), -EBUSY);
	run_sh("cd ../w-worktrees/x; git checkout -q x");
	ok(repo_worktree_remove(repo, path, &e), &e);
	sh_says("git log -1 --format=%s x", "n");
}

static void only_worktrees_that_ralph_made_are_removed(void **state)
{
	cleanup_free char *w = tree_path("w"), *other = tree_path("other");
	struct err e = {0};

	run_sh("git worktree add -q ../other");
	assert_int_equal(repo_worktree_remove(repo, w, &e), -EINVAL);
	assert_int_equal(repo_worktree_remove(repo, other, &e), -EINVAL);
	sh_says("ls ../other", "a\nd");
}

static void what_is_in_the_way_is_not_touched(void **state)
{
	struct err e = {0};
	char *path = NULL;

	run_sh("mkdir -p ../w-worktrees/x; echo precious >../w-worktrees/x/f");
	assert_int_equal(repo_worktree_add(repo, "x", NULL, &path, NULL, &e), -EEXIST);
	sh_says("cat ../w-worktrees/x/f", "precious");
}

static void filters_and_hooks_do_not_run_for_a_worktree(void **state)
{
	run_sh("echo '* filter=x' >.gitattributes; git add .; git commit -qm x; git config "
	       "filter.x.smudge 'touch $TREE/witness; cat'\n"
	       "printf '#!/bin/sh\\ntouch $TREE/witness\\n' >.git/hooks/post-checkout; chmod +x "
	       ".git/hooks/post-checkout");
	free(add("x", NULL));
	nothing_ran();
}

static void a_branch_that_is_checked_out_gets_no_second_tree(void **state)
{
	struct err e = {0};
	char *path = NULL;

	assert_int_equal(repo_worktree_add(repo, "main", NULL, &path, NULL, &e), -EBUSY);
}

static void a_worktree_works_like_a_repository(void **state)
{
	cleanup_free char *path = add("x", NULL), *state_dir = tree_path("state"), *branch = NULL;
	struct repo *other = NULL;
	struct repo_oid head, first = commit_of("main");
	struct err e = {0};

	ok(repo_open(path, state_dir, &other, &e), &e);
	run_sh("cd ../w-worktrees/x; echo y >a; git commit -qam y");
	ok(repo_head(other, &head, &branch, &e), &e);
	assert_string_equal(branch, "x");
	ok(repo_reset_to(other, NULL, first.hex, NULL, &e), &e);
	sh_says("cat ../w-worktrees/x/a; git -C ../w-worktrees/x status --porcelain; cat a",
		"one\none");
	repo_free(other);
}

static void quietly_add(void)
{
	struct err e;
	char *path;

	(void)repo_worktree_add(repo, "x", NULL, &path, NULL, &e);
}

static void a_kill_while_a_worktree_is_made_leaves_none_or_a_whole_one(void **state)
{
	run_sh("for i in $(seq 200); do echo $i >f$i; done; git add .; git commit -qm many");
	for (unsigned i = 0; i < 12; i++) {
		cleanup_free char *done_text = NULL, *path = NULL;
		struct err e = {0};
		pid_t pid;

		assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
		pid = fork();
		if (pid == 0) {
			quietly_add();
			_exit(0);
		}
		(void)usleep((i * 7919) % 60000);
		(void)kill(pid, SIGKILL);
		while (waitpid(-1, NULL, 0) > 0)
			;
		repo_again();
		ok(repo_recover(repo, &done_text, &e), &e);
		path = add("x", NULL);
		sh_says("git -C ../w-worktrees/x status --porcelain; ls $TREE/state | grep -v "
			"'\\.tmp$' || :",
			"");
		ok(repo_worktree_remove(repo, path, &e), &e);
	}
}

static void a_lock_that_a_kill_left_on_the_branch_is_gone_after_recovery(void **state)
{
	cleanup_free char *done_text = NULL, *path = NULL;
	struct err e = {0};

	free(add("y", NULL)); /* makes the state directory */
	run_sh("echo '{\"version\":1,\"name\":\"x\"}' >$TREE/state/repo-worktree.json; "
	       "touch .git/refs/heads/x.lock");
	ok(repo_recover(repo, &done_text, &e), &e);
	path = add("x", NULL);
	sh_says("git -C ../w-worktrees/x status --porcelain", "");
}

#define MERGED(f) cmocka_unit_test_setup_teardown(f, repo_make, done)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MERGED(a_branch_that_follows_is_taken_without_a_commit),
		MERGED(two_branches_are_joined_by_the_user_and_nothing_is_added),
		MERGED(conflicts_are_named_and_change_nothing),
		MERGED(a_merge_over_changed_files_is_refused),
		MERGED(merge_drivers_of_the_repository_do_not_run),
		MERGED(a_commit_graph_that_lies_does_not_change_a_merge),
		MERGED(a_worktree_is_beside_the_repository_and_git_knows_it),
		MERGED(branches_that_look_alike_have_worktrees_of_their_own),
		MERGED(a_worktree_with_changes_stays),
		MERGED(only_worktrees_that_ralph_made_are_removed),
		MERGED(what_is_in_the_way_is_not_touched),
		MERGED(filters_and_hooks_do_not_run_for_a_worktree),
		MERGED(a_branch_that_is_checked_out_gets_no_second_tree),
		MERGED(a_worktree_works_like_a_repository),
		MERGED(a_kill_while_a_worktree_is_made_leaves_none_or_a_whole_one),
		MERGED(a_lock_that_a_kill_left_on_the_branch_is_gone_after_recovery),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
