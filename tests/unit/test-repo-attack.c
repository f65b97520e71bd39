/* What an agent can plant in a repository, and what the host's work makes of it: nothing runs,
 * nothing outside is written or read. */
#include "git-repo.h"

#include <sys/resource.h>

#include "repo/repo-parts.h"

static struct repo_oid first;

/* Everything the host does with a repository, once; what fails may fail. */
static void do_everything(void)
{
	cleanup_strv struct strv lines = {0};
	cleanup_free char *branch = NULL, *kept = NULL, *path = NULL, *done = NULL;
	const struct repo_rules rules = {0};
	struct repo_check_result check = {0};
	struct repo_oid head = {0};
	struct err e = {0};

	(void)repo_recover(repo, &done, &e);
	(void)repo_head(repo, &head, &branch, &e);
	(void)repo_dirty(repo, &lines, &e);
	(void)repo_check(repo, first.hex, head.hex[0] ? head.hex : first.hex, &rules, &check, &e);
	repo_check_done(&check);
	(void)repo_stash(repo, &e);
	(void)repo_branch(repo, "ralph/new", "main", NULL, &e);
	(void)repo_branch(repo, "evil", NULL, NULL, &e);
	(void)repo_branch(repo, "main", NULL, NULL, &e);
	(void)repo_merge(repo, "evil", "m", &head, NULL, &e);
	(void)repo_worktree_add(repo, "ralph/tree", NULL, &path, NULL, &e);
	if (path)
		(void)repo_worktree_remove(repo, path, &e);
	(void)repo_reset_to(repo, NULL, first.hex, &kept, &e);
	(void)repo_unstash(repo, &e);
	(void)repo_push(repo, NULL, "main", getenv("PATH"), -1, &e);
	(void)repo_clear_locks(repo, 0, &e);
}

static int plant_ground(void **state)
{
	struct err e = {0};
	json_t *view = NULL;

	if (repo_make(state) < 0)
		return -1;
	run_sh("git init -q --bare ../r.git; git remote add origin $TREE/r.git; mkdir ../victim; "
	       "echo precious >../victim/file; cp -a ../victim ../victim.was\n"
	       "git checkout -qb evil; echo evil >a; echo e >e; git add .; git commit -qm evil; "
	       "git checkout -q main\n"
	       "printf '#!/bin/sh\\ntouch '$TREE'/witness\\ncat\\n' >../evil.sh; chmod +x "
	       "../evil.sh");
	first = commit_of("main");
	repo_again();
	ok(repo_view_take(repo, &view, &e), &e);
	ok(repo_view_use(repo, view, &e), &e);
	json_decref(view);
	return 0;
}

static void nothing_happened(void)
{
	nothing_ran();
	run_sh("diff -r ../victim ../victim.was");
}

/* The script is the agent's; then the host works. */
static void after(const char *script)
{
	run_sh(script);
	do_everything();
	nothing_happened();
}

static void filters_do_not_run(void **state)
{
	after("git config filter.x.clean $TREE/evil.sh; git config filter.x.smudge $TREE/evil.sh; "
	      "git config filter.x.process $TREE/evil.sh; git config filter.x.required true\n"
	      "echo '* filter=x' >.gitattributes; mkdir -p .git/info; echo '* filter=x' "
	      ">.git/info/attributes; echo changed >>a");
}

static void filters_that_are_committed_do_not_run(void **state)
{
	after("git config filter.x.smudge $TREE/evil.sh; git checkout -q evil; echo '* filter=x' "
	      ">.gitattributes\n"
	      "git add .; git commit -qm f; git checkout -q main; rm -f $TREE/witness");
}

static void hooks_do_not_run(void **state)
{
	after("mkdir h; git config core.hooksPath $PWD/h\n"
	      "for d in h .git/hooks; do for k in pre-commit post-commit post-checkout post-merge "
	      "post-rewrite reference-transaction pre-push update post-index-change \\\n"
	      "  fsmonitor-watchman prepare-commit-msg commit-msg pre-rebase pre-auto-gc "
	      "applypatch-msg; do cp $TREE/evil.sh $d/$k; done; done; echo changed >>a");
}

static void monitors_drivers_and_helpers_do_not_run(void **state)
{
	after("for k in core.fsmonitor core.sshCommand core.askPass core.pager core.editor "
	      "core.gitProxy core.alternateRefsCommand credential.helper diff.external \\\n"
	      "  diff.x.command diff.x.textconv merge.x.driver gpg.program "
	      "uploadpack.packObjectsHook alias.status sequence.editor; do git config $k "
	      "$TREE/evil.sh; done\n"
	      "git config commit.gpgSign true; echo '* diff=x merge=x' >.gitattributes; echo "
	      "changed >>a; git update-index --fsmonitor 2>/dev/null || :; rm -f $TREE/witness");
}

static void included_settings_do_not_count(void **state)
{
	after("printf '[core]\\n\\tfsmonitor = %s\\n\\tworktree = %s\\n[filter \"x\"]\\n\\tclean = "
	      "%s\\n[user]\\n\\temail = evil@example.org\\n' $TREE/evil.sh $TREE/victim "
	      "$TREE/evil.sh >inc\n"
	      "git config include.path ../inc; git config includeIf.gitdir:$PWD/.path ../inc; echo "
	      "'* filter=x' >.gitattributes");
	run_sh("cat $TREE/victim/file");
}

static void settings_of_a_worktree_do_not_count(void **state)
{
	after("git config core.repositoryFormatVersion 1; git config extensions.worktreeConfig "
	      "true\n"
	      "printf '[core]\\n\\tworktree = %s\\n\\tfsmonitor = %s\\n' $TREE/victim "
	      "$TREE/evil.sh >.git/config.worktree");
}

static void another_working_tree_is_not_written_to(void **state)
{
	struct err e = {0};

	run_sh("git --git-dir=.git config core.worktree $TREE/victim");
	assert_int_equal(repo_branch(repo, "evil", NULL, NULL, &e), -EXDEV);
	do_everything();
	nothing_happened();
}

static void another_common_directory_is_not_used(void **state)
{
	struct err e = {0};

	run_sh("git clone -q --bare . ../other.git; echo $TREE/other.git >.git/commondir");
	assert_true(repo_branch(repo, "evil", NULL, NULL, &e) < 0);
}

/* Each of these would have git write to the victim. */
static void links_in_the_git_directory_are_not_followed(void **state)
{
	static const char *const scripts[] = {
		"ln -sf $TREE/victim/file .git/refs/heads/evil",
		"rm -rf .git/logs; mkdir -p .git/logs; ln -s $TREE/victim/file .git/logs/HEAD",
		"rm -rf .git/logs; ln -s $TREE/victim .git/logs",
		"rm -rf .git/refs/ralph; ln -s $TREE/victim .git/refs/ralph",
		"rm -f .git/index; ln -s $TREE/victim/file .git/index",
		"cp .git/HEAD h; rm .git/HEAD; ln -s $TREE/victim/file .git/HEAD",
		"rm -f .git/packed-refs; ln -s $TREE/victim/file .git/packed-refs",
		"rm -rf .git/worktrees; ln -s $TREE/victim .git/worktrees",
		"mv .git/objects $TREE/o; ln -s $TREE/o .git/objects",
		"rm -rf .git/objects/pack; ln -s $TREE/victim .git/objects/pack",
		"ln -sf $TREE/victim/file .git/ORIG_HEAD",
		("mkdir -p .git/refs/ralph/rejected; ln -s $TREE/victim/file "
		 ".git/refs/ralph/rejected/x"),
		"rm -f .git/refs/heads/evil; mkfifo .git/refs/heads/evil",
	};

	run_sh("cp -a . $TREE/was");
	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		struct err e = {0};
		struct repo_oid head;

		run_sh("rm -rf $TREE/w/.git; cp -a $TREE/was/.git $TREE/w/.git; echo changed >>a");
		run_sh(scripts[i]);
		if (repo_head(repo, &head, NULL, &e) != -ELOOP)
			fail_msg("not seen: %s", scripts[i]);
		assert_non_null(strstr(e.msg, "removed"));
		do_everything();
		nothing_happened();
	}
}

static int write_through(struct repo_job *j, json_t *out, struct err *err)
{
	const char *path = j->arg;
	cleanup_free char *read_only = xasprintf("%s/victim/file", tree);
	char *argv[] = {"/bin/true", NULL};
	FILE *f = fopen(path, "we");

	(void)json_object_set_new(out, "wrote", json_boolean(f != NULL));
	if (f)
		(void)fclose(f);
	f = fopen(read_only, "re");
	(void)json_object_set_new(out, "read", json_boolean(f != NULL));
	if (f)
		(void)fclose(f);
	(void)execv(argv[0], argv);
	(void)json_object_set_new(out, "ran", json_false());
	return 0;
}

/* A link that is planted after the look: the kernel is the second wall. */
static void the_child_can_write_nowhere_else_and_run_nothing(void **state)
{
	cleanup_free char *link = tree_path("w/link"), *inside = tree_path("w/inside");
	struct repo_task task = REPO_TASK(write_through, link, REPO_TASK_WRITE);
	cleanup_json json_t *out = NULL, *in = NULL, *ro = NULL;
	struct err e = {0};

	tree_link("w/link", "../victim/file");
	ok(repo_work(repo, &task, &out, &e), &e);
	assert_true(json_is_false(json_object_get(out, "wrote")));
	assert_true(json_is_false(json_object_get(out, "read")));
	assert_true(json_is_false(json_object_get(out, "ran")));
	task.arg = inside;
	ok(repo_work(repo, &task, &in, &e), &e);
	assert_true(json_is_true(json_object_get(in, "wrote")));
	task.flags = 0;
	ok(repo_work(repo, &task, &ro, &e), &e);
	assert_true(json_is_false(json_object_get(ro, "wrote")));
	nothing_happened();
}

static int hang(struct repo_job *j, json_t *out, struct err *err)
{
	while (pause() < 0)
		;
	return 0;
}

static int crash(struct repo_job *j, json_t *out, struct err *err)
{
	abort();
	return 0;
}

static void work_that_hangs_or_crashes_is_an_error(void **state)
{
	const struct repo_task hangs = REPO_TASK(hang, NULL, 0),
			       crashes = REPO_TASK(crash, NULL, 0);
	struct err e = {0};

	repo->limit_ms = 200;
	assert_int_equal(repo_work(repo, &hangs, NULL, &e), -ETIMEDOUT);
	repo->limit_ms = REPO_WORK_MS;
	assert_int_equal(repo_work(repo, &crashes, NULL, &e), -EIO);
}

static void links_in_the_working_tree_are_not_followed(void **state)
{
	after("git checkout -q evil; rm -rf d; ln -s $TREE/victim d; rm a; ln -s $TREE/victim/file "
	      "a; git add -A; git commit -qm links; git checkout -q main\n"
	      "rm -rf d; ln -s $TREE/victim d; rm -f a; ln -s $TREE/victim/file a");
}

static void a_directory_that_became_a_link_is_not_written_into(void **state)
{
	struct err e = {0};

	run_sh("mkdir -p n; echo 1 >n/file; git add n; git commit -qm n; rm -rf n; ln -s "
	       "$TREE/victim n");
	ok(repo_reset_to(repo, NULL, commit_of("HEAD").hex, NULL, &e), &e);
	sh_says("cat n/file; readlink n || :", "1");
	nothing_happened();
}

static void borrowed_objects_of_another_repository_are_not_taken(void **state)
{
	struct repo_oid head;
	struct err e = {0};

	run_sh("git init -q ../private; cd ../private; echo secret >s; git add s; git commit -qm "
	       "private");
	run_sh("echo $TREE/private/.git/objects >.git/objects/info/alternates; git update-ref "
	       "refs/heads/main $(git -C ../private rev-parse HEAD)");
	assert_int_equal(repo_head(repo, &head, NULL, &e), -EXDEV);
	assert_non_null(strstr(e.msg, "alternates"));
	do_everything();
	sh_says("git -C ../r.git for-each-ref", "");
}

static void objects_that_the_user_borrows_can_be_read(void **state)
{
	cleanup_strv struct strv v = {0};
	struct err e = {0};

	run_sh("mv .git ../base; mkdir ../w2; cd ..; git clone -q --shared $TREE/base w3; rm -rf "
	       "w2; mv w3/.git w/.git; rm -rf w3; cd w; git reset -q --hard");
	repo_again();
	ok(repo_dirty(repo, &v, &e), &e);
	assert_int_equal(v.n, 0);
	run_sh("echo x >a");
	ok(repo_stash(repo, &e), &e);
	ok(repo_unstash(repo, &e), &e);
	sh_says("cat a", "x");
}

static void submodules_are_not_opened(void **state)
{
	after("git init -q sub; git -C sub commit -q --allow-empty -m s; git -C sub config "
	      "core.fsmonitor $TREE/evil.sh; git -C sub config core.worktree $TREE/victim\n"
	      "git update-index --add --cacheinfo 160000,$(git --git-dir=sub/.git rev-parse "
	      "HEAD),sub; printf '[submodule \"sub\"]\\n\\tpath = sub\\n\\turl = %s\\n\\tupdate = "
	      "!%s\\n' $TREE/evil.sh $TREE/evil.sh >.gitmodules");
}

static void a_file_that_is_mostly_nothing_is_not_read(void **state)
{
	struct repo_check_result check = {0};
	const struct repo_rules rules = {0};
	struct err e = {0};

	/* As an object they are some kilobytes. */
	run_sh("truncate -s 100M bomb; git add bomb; git commit -qm bomb");
	ok(repo_check(repo, first.hex, commit_of("HEAD").hex, &rules, &check, &e), &e);
	assert_false(check.counts);
	assert_string_equal(check.findings[0].rule, "size");
	repo_check_done(&check);
}

static void names_that_are_no_utf8_do_no_harm(void **state)
{
	cleanup_strv struct strv v = {0};
	struct err e = {0};

	run_sh("touch \"$(printf 'x\\377y')\"");
	ok(repo_dirty(repo, &v, &e), &e);
	assert_int_equal(v.n, 1);
	ok(repo_stash(repo, &e), &e);
	sh_says("ls", "a\nd");
	ok(repo_unstash(repo, &e), &e);
	run_sh("test -e \"$(printf 'x\\377y')\"");
}

static void locks_of_the_killed_go_and_those_of_before_stay(void **state)
{
	struct err e = {0};
	struct stat st;
	cleanup_free char *lock = tree_path("w/.git/index.lock");

	run_sh("touch .git/index.lock .git/refs/heads/main.lock");
	assert_int_equal(stat(lock, &st), 0);
	assert_int_equal(repo_clear_locks(repo, st.st_ctim.tv_sec + 100, &e), 0);
	assert_int_equal(repo_clear_locks(repo, st.st_ctim.tv_sec - 1, &e), 2);
	sh_says("find .git -name '*.lock'", "");
}

#define ATTACKED(f) cmocka_unit_test_setup_teardown(f, plant_ground, repo_unmake)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ATTACKED(filters_do_not_run),
		ATTACKED(filters_that_are_committed_do_not_run),
		ATTACKED(hooks_do_not_run),
		ATTACKED(monitors_drivers_and_helpers_do_not_run),
		ATTACKED(included_settings_do_not_count),
		ATTACKED(settings_of_a_worktree_do_not_count),
		ATTACKED(another_working_tree_is_not_written_to),
		ATTACKED(another_common_directory_is_not_used),
		ATTACKED(links_in_the_git_directory_are_not_followed),
		ATTACKED(the_child_can_write_nowhere_else_and_run_nothing),
		ATTACKED(work_that_hangs_or_crashes_is_an_error),
		ATTACKED(links_in_the_working_tree_are_not_followed),
		ATTACKED(a_directory_that_became_a_link_is_not_written_into),
		ATTACKED(borrowed_objects_of_another_repository_are_not_taken),
		ATTACKED(objects_that_the_user_borrows_can_be_read),
		ATTACKED(submodules_are_not_opened),
		ATTACKED(a_file_that_is_mostly_nothing_is_not_read),
		ATTACKED(names_that_are_no_utf8_do_no_harm),
		ATTACKED(locks_of_the_killed_go_and_those_of_before_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
