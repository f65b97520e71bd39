#include "git-repo.h"

static void head_is_the_branch_and_its_commit(void **state)
{
	cleanup_free char *branch = NULL, *want = sh("git rev-parse HEAD");
	struct repo_oid oid;
	struct err e = {0};

	ok(repo_head(repo, &oid, &branch, &e), &e);
	assert_string_equal(branch, "main");
	assert_string_equal(oid.hex, want);
}

static void head_without_a_commit_has_no_name(void **state)
{
	cleanup_free char *branch = NULL;
	struct repo_oid oid;
	struct err e = {0};

	run_sh("git checkout -q --orphan new");
	ok(repo_head(repo, &oid, &branch, &e), &e);
	assert_string_equal(branch, "new");
	assert_string_equal(oid.hex, "");
}

static void a_directory_without_git_is_no_repository(void **state)
{
	cleanup_free char *home = tree_path("home");
	struct repo *none = NULL;
	struct err e = {0};

	assert_int_equal(repo_open(home, home, &none, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "git init"));
}

static void identity_is_what_the_user_told_git(void **state)
{
	cleanup_free char *name = NULL, *email = NULL;
	struct err e = {0};

	run_sh("git config --global --add includeIf.gitdir:$TREE/w/.path ../home/.work\n"
	       "printf '[user]\\n\\temail = work@example.org\\n' >$TREE/home/.work");
	ok(repo_identity(repo, &name, &email, &e), &e);
	assert_string_equal(name, "User");
	assert_string_equal(email, "work@example.org");
}

static void no_identity_is_an_error_that_says_what_to_do(void **state)
{
	char *name = NULL, *email = NULL;
	struct err e = {0};

	run_sh("git config --global --unset user.email");
	assert_int_equal(repo_identity(repo, &name, &email, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "git config --global"));
}

static void a_clean_tree_has_no_dirt(void **state)
{
	cleanup_strv struct strv v = {0};
	struct err e = {0};

	ok(repo_dirty(repo, &v, &e), &e);
	assert_int_equal(v.n, 0);
}

static void dirt_is_listed_as_git_does_without_ralphs_own(void **state)
{
	cleanup_strv struct strv v = {0};
	struct err e = {0};

	run_sh("echo x >>a; rm d/b; echo n >new; echo s >staged; git add staged\n"
	       "mkdir .ralph; echo t >.ralph/prd.json; echo ig >ignored; echo ignored "
	       ">.git/info/exclude\n"
	       "echo gi >globally; mkdir -p $TREE/home/.config/git; echo globally "
	       ">$TREE/home/.config/git/ignore");
	ok(repo_dirty(repo, &v, &e), &e);
	assert_int_equal(v.n, 4);
	strv_sort(&v);
	assert_string_equal(v.v[0], "?? new");
	assert_string_equal(v.v[1], "A staged");
	assert_string_equal(v.v[2], "D d/b");
	assert_string_equal(v.v[3], "M a");
}

static void names_for_terminals_are_harmless(void **state)
{
	cleanup_strv struct strv v = {0};
	struct err e = {0};

	run_sh("touch \"$(printf 'x\\033[2J')\"");
	ok(repo_dirty(repo, &v, &e), &e);
	assert_int_equal(v.n, 1);
	assert_string_equal(v.v[0], "?? x\\x1b[2J");
}

static void settings_of_a_worktrees_own_are_no_hindrance(void **state)
{
	cleanup_strv struct strv v = {0};
	struct err e = {0};

	run_sh("git config extensions.worktreeConfig true; git config --worktree x.y z; git config "
	       "core.repositoryFormatVersion 1");
	ok(repo_dirty(repo, &v, &e), &e);
	assert_int_equal(v.n, 0);
}

static void slugs_are_branch_names(void **state)
{
	static const char *const rows[][2] = {
		{"Add a login page", "ralph/add-a-login-page"},
		{"  ../../etc: X!! ", "ralph/etc-x"},
		{"日本", "ralph/work"},
		{"", "ralph/work"},
		{"a.lock", "ralph/a-lock"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_free char *slug = repo_slug(rows[i][0]);

		assert_string_equal(slug, rows[i][1]);
	}
}

static void a_branch_is_made_from_its_base_and_checked_out(void **state)
{
	struct err e = {0};
	bool made = false;

	run_sh("git tag start; echo more >a; git commit -qam second");
	ok(repo_branch(repo, "ralph/x", "start", &made, &e), &e);
	assert_true(made);
	sh_says("git symbolic-ref HEAD; cat a; git status --porcelain; git log --format=%s",
		"refs/heads/ralph/x\none\nfirst");
	ok(repo_branch(repo, "main", NULL, &made, &e), &e);
	assert_false(made);
	sh_says("git symbolic-ref HEAD; cat a; git status --porcelain", "refs/heads/main\nmore");
}

static void a_switch_that_would_lose_changes_is_refused_and_names_them(void **state)
{
	struct err e = {0};

	run_sh("git checkout -qb other; echo other >a; git commit -qam other; git checkout -q "
	       "main; echo mine >a");
	assert_int_equal(repo_branch(repo, "other", NULL, NULL, &e), -EBUSY);
	assert_non_null(strstr(e.msg, "'a'"));
	assert_non_null(strstr(e.msg, "--stash"));
	sh_says("cat a; git symbolic-ref HEAD", "mine\nrefs/heads/main");
}

static void what_is_no_branch_name_or_base_is_refused(void **state)
{
	static const char *const bad[] = {"-x", "a..b", "x.lock", "@{-1}", "a b", "HEAD", ""};
	struct err e = {0};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(repo_branch(repo, bad[i], NULL, NULL, &e), -EINVAL);
	assert_int_equal(repo_branch(repo, "x", "nothing", NULL, &e), -ENOENT);
}

static void a_branch_of_another_worktree_is_not_taken(void **state)
{
	struct err e = {0};

	run_sh("git worktree add -q -b other ../other");
	assert_int_equal(repo_branch(repo, "other", NULL, NULL, &e), -EBUSY);
}

static void commits_that_do_not_count_are_kept_and_the_tree_put_back(void **state)
{
	cleanup_free char *kept = NULL, *script = NULL, *bytes = NULL;
	struct repo_oid first = commit_of("HEAD");
	struct err e = {0};

	run_sh("echo evil >a; echo add >added; git add added; git commit -qam evil; echo dirty "
	       ">>d/b; echo u >untracked");
	ok(repo_reset_to(repo, NULL, first.hex, &kept, &e), &e);
	assert_non_null(kept);
	assert_true(strncmp(kept, "refs/ralph/rejected/main-", 25) == 0);
	sh_says("cat a d/b; ls; git status --porcelain; git log --format=%s; git symbolic-ref HEAD",
		"one\ntwo\na\nd\nuntracked\n?? untracked\nfirst\nrefs/heads/main");
	script = xasprintf("git show %s:d/b; git log --format=%%s --first-parent %s", kept, kept);
	bytes = sh(script);
	assert_string_equal(bytes, "two\ndirty\nwhat an agent left\nevil\nfirst");
}

static void an_index_that_lies_does_not_keep_files_from_being_put_back(void **state)
{
	struct repo_oid first = commit_of("HEAD");
	struct err e = {0};

	run_sh("echo evil >a; git update-index --assume-unchanged a; echo evil >d/b\n"
	       "git update-index --skip-worktree d/b; echo three >c; git add c; git commit -qm c");
	ok(repo_reset_to(repo, NULL, first.hex, NULL, &e), &e);
	sh_says("cat a d/b; ls; git status --porcelain", "one\ntwo\na\nd");
}

static void a_move_that_was_killed_is_finished(void **state)
{
	cleanup_free char *done = NULL, *note = NULL;
	struct repo_oid first, second;
	struct err e = {0};

	run_sh("echo more >a; echo new >n; git add n; git commit -qam second");
	second = commit_of("HEAD");
	first = commit_of("HEAD~1");
	/* As it is found after a kill: the branch is moved, one of the files is half written. */
	note = xasprintf("{\"version\":1,\"ref\":\"refs/heads/x\",\"from\":\"%s\",\"to\":\"%s\","
			 "\"why\":\"w\",\"force\":false}",
			 second.hex, first.hex);
	tree_file("state/repo-move.json", 0600, note);
	run_sh("git branch x HEAD~1; git symbolic-ref HEAD refs/heads/x; printf o >a");
	repo_again();
	ok(repo_recover(repo, &done, &e), &e);
	assert_non_null(done);
	sh_says("cat a; ls; git status --porcelain; git symbolic-ref HEAD; ls $TREE/state",
		"one\na\nd\nrefs/heads/x");
	free(take_ptr(done));
	ok(repo_recover(repo, &done, &e), &e);
	assert_null(done);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_REPO(head_is_the_branch_and_its_commit),
		WITH_REPO(head_without_a_commit_has_no_name),
		WITH_REPO(a_directory_without_git_is_no_repository),
		WITH_REPO(identity_is_what_the_user_told_git),
		WITH_REPO(no_identity_is_an_error_that_says_what_to_do),
		WITH_REPO(a_clean_tree_has_no_dirt),
		WITH_REPO(dirt_is_listed_as_git_does_without_ralphs_own),
		WITH_REPO(names_for_terminals_are_harmless),
		WITH_REPO(settings_of_a_worktrees_own_are_no_hindrance),
		WITH_REPO(slugs_are_branch_names),
		WITH_REPO(a_branch_is_made_from_its_base_and_checked_out),
		WITH_REPO(a_switch_that_would_lose_changes_is_refused_and_names_them),
		WITH_REPO(what_is_no_branch_name_or_base_is_refused),
		WITH_REPO(a_branch_of_another_worktree_is_not_taken),
		WITH_REPO(commits_that_do_not_count_are_kept_and_the_tree_put_back),
		WITH_REPO(an_index_that_lies_does_not_keep_files_from_being_put_back),
		WITH_REPO(a_move_that_was_killed_is_finished),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
