#include "git-sh.h"

#include <sys/stat.h>

#include "base/fd.h"
#include "workspace/private/private-spare.h"

/*
 * tree/w is the user's repository, tree/state is ralph's, tree/r the record of a sandbox that is
 * given the spare. A spare is judged by its inode: another one was made anew.
 */
static struct gitdir git;
static struct private_spare spare;
static char *state;
static int record = -1;

static int keep(bool may_return)
{
	struct err e = {0};

	return private_spare_keep(state, &git, "of\n", record, &spare, may_return, &e);
}

static int start(void **s)
{
	cleanup_free char *w = NULL, *r = NULL;
	struct err e = {0};

	if (tree_make(s) < 0)
		return -1;
	tree_dir("home");
	tree_dir("w");
	tree_dir("r");
	tree_dir("state");
	run_sh("git init -q -b main .; git config user.name u; git config user.email "
	       "u@example.org\n"
	       "echo one >a; git add .; git commit -qm first; git branch side\n"
	       "printf '#!/bin/sh\\n' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit\n"
	       "touch -d '1 hour ago' a; git update-index -q --refresh\n"
	       "touch -d '1 minute ago' .git/index");
	w = tree_path("w");
	ok(gitdir_find(w, NULL, &git, &e), &e);
	state = tree_path("state");
	r = tree_path("r");
	record = open(r, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(record >= 0);
	spare = (struct private_spare){.dir = -1};
	tree_clock_ticks();
	assert_int_equal(keep(false), 0);
	tree_clock_ticks();
	return 0;
}

static int end(void **s)
{
	private_spare_done(&spare);
	closep(&record);
	gitdir_done(&git);
	free(state);
	return tree_remove(s);
}

#define WITH_SPARE(f) cmocka_unit_test_setup_teardown(f, start, end)

static bool claim(void)
{
	private_spare_done(&spare);
	return private_spare_claim(state, &git, record, &spare);
}

static bool use(void)
{
	return claim() && private_spare_accept(&spare, &git, record);
}

static void a_spare_is_what_a_start_would_make(void **s)
{
	assert_true(use());
	assert_false(spare.young);
	assert_true(spare.is_old);
	run_sh("cd $TREE/r; test -x git/hooks/pre-commit; test -f git/index; test ! -e git/logs\n"
	       "grep -q refs/heads/side git/packed-refs; grep -qx /run/ralph/objects "
	       "git/objects/info/alternates\n"
	       "grep -q 'refs/heads/main$' git.told; grep -qx of git.of; test -s git.stamp");
}

static void a_spare_is_claimed_once(void **s)
{
	struct private_spare second;

	assert_true(claim());
	assert_false(private_spare_claim(state, &git, record, &second));
}

/* Each of these is a change by the user after the spare was made. */
static void a_repository_that_changed_gets_a_new_directory(void **s)
{
	static const char *const changes[] = {
		"git commit -q --allow-empty -m second",
		"a=$(git rev-parse HEAD); echo $a >.git/refs/heads/main",
		"git branch more",
		"git update-ref -d refs/heads/more",
		"git pack-refs --all",
		"git checkout -q side",
		"printf 'ref: refs/heads/side\\n' >.git/HEAD",
		"printf '[alias]\\n\\tx = y\\n' >>.git/config",
		"echo two >b; git add b",
		"echo 'exit 1' >>.git/hooks/pre-commit",
		"chmod -x .git/hooks/pre-commit",
		"rm .git/hooks/pre-commit",
		"touch .git/hooks/post-commit",
		"echo x >>.git/info/exclude",
		"echo x >.git/info/attributes",
		"git rev-parse HEAD >.git/MERGE_HEAD",
		"mkdir .git/modules",
		"echo /x >.git/objects/info/alternates",
		"touch .gitmodules",
		"mv .git x; cp -a x .git",
	};

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		assert_int_equal(keep(false), 0);
		tree_clock_ticks();
		assert_true(claim());
		run_sh(changes[i]);
		if (private_spare_accept(&spare, &git, record))
			fail_msg("a spare was used after: %s", changes[i]);
		run_sh("rm -rf $TREE/r/* .git/MERGE_HEAD .git/modules .gitmodules\n"
		       "rm -f .git/objects/info/alternates");
		tree_clock_ticks();
	}
}

static void a_spare_of_a_repository_that_changes_just_now_is_not_made(void **s)
{
	run_sh("rm -rf $TREE/state/spares; touch .git/HEAD");
	/* Unless the machine took longer than a tick for the few calls in between. */
	if (keep(false) == 0)
		run_sh("test -d $TREE/state/spares/*/git");
	else
		run_sh("test -z \"$(ls $TREE/state/spares)\"");
}

static void no_spare_is_made_in_the_middle_of_an_operation(void **s)
{
	static const char *const shapes[] = {".git/MERGE_HEAD", ".git/BISECT_LOG", ".git/modules",
					     ".git/objects/info/alternates", ".gitmodules"};

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		cleanup_free char *make =
			xasprintf("rm -rf $TREE/state/spares; touch %s", shapes[i]);
		cleanup_free char *remove = xasprintf("rm %s", shapes[i]);

		run_sh(make);
		tree_clock_ticks();
		assert_true(keep(false) < 0);
		run_sh("test -z \"$(ls $TREE/state/spares)\"");
		run_sh(remove);
	}
}

static void a_directory_that_nobody_touched_becomes_the_spare_again(void **s)
{
	cleanup_free char *before = sh("stat -c %i $TREE/state/spares/*/git");

	for (int i = 0; i < 3; i++) {
		assert_true(use());
		run_sh("test -d $TREE/r/git");
		assert_int_equal(keep(true), 0);
		run_sh("test -z \"$(ls $TREE/r)\"");
		sh_says("stat -c %i $TREE/state/spares/*/git", before);
	}
}

/* Runs as the agent did it in git/, and says whether the directory is a spare again. */
static bool comes_back_after(const char *script)
{
	cleanup_free char *before = NULL, *after = NULL, *inside = NULL;

	assert_true(use());
	before = sh("stat -c %i:%Z $TREE/r/git/objects");
	inside = xasprintf("cd $TREE/r/git; %s", script);
	run_sh(inside);
	assert_int_equal(keep(true), 0);
	after = sh("stat -c %i:%Z $TREE/state/spares/*/git/objects");
	run_sh("chmod -R u+rwx $TREE/r; rm -rf $TREE/r/*");
	return streq(before, after);
}

static void a_directory_that_was_touched_never_becomes_a_spare(void **s)
{
	static const char *const deeds[] = {
		"echo 'exit 0' >>hooks/pre-commit",
		/* The same size, and the time set back. */
		"cp -p config $TREE/c; sed -i s/false/xalse/ config; touch -r $TREE/c config",
		"dd if=/dev/zero of=config bs=1 count=1 conv=notrunc 2>/dev/null",
		"python3 -c 'import "
		"mmap;f=open(\"config\",\"r+b\");m=mmap.mmap(f.fileno(),0);m[0:1]=b\"[\"'",
		"touch hooks/post-commit",
		"touch x; rm x; touch refs/heads/x",
		"mkdir -p refs/x",
		"ln -s /etc/passwd info/attributes",
		"ln config x; rm x",
		"ln config objects/x",
		"mkfifo hooks/pre-push",
		"chmod 600 config",
		"chmod 700 .",
		"rm info/exclude",
		"mv hooks h; mv h hooks",
		"rm -rf hooks; mkdir hooks",
		"echo x >>index",
		"touch -d '1 hour ago' HEAD",
		"cp config c; mv c config",
		"mkdir -p a/b/c/d/e",
		"chmod 0 hooks",
		"rm -rf ../git; mkdir ../git",
	};

	for (size_t i = 0; i < ARRAY_SIZE(deeds); i++) {
		if (comes_back_after(deeds[i]))
			fail_msg("it came back after: %s", deeds[i]);
		run_sh("grep -q filemode $TREE/state/spares/*/git/config");
		tree_clock_ticks();
	}
}

static void a_directory_with_an_attribute_is_not_a_spare(void **s)
{
	if (comes_back_after("python3 -c 'import os; os.setxattr(\".\", \"user.x\", b\"y\")' || "
			     "touch x"))
		fail_msg("it came back with an attribute");
}

static void a_directory_that_others_may_hold_is_not_a_spare(void **s)
{
	cleanup_free char *before = sh("stat -c %i $TREE/state/spares/*/git"), *after = NULL;

	assert_true(use());
	assert_int_equal(keep(false), 0);
	after = sh("stat -c %i $TREE/state/spares/*/git");
	assert_string_not_equal(before, after);
}

static void a_directory_is_not_a_spare_if_a_change_could_have_its_own_time(void **s)
{
	cleanup_free char *before = NULL, *after = NULL;

	run_sh("touch $TREE/state/spares/*/from");
	assert_true(use());
	if (spare.is_old)
		return; /* the machine took longer than a tick */
	before = sh("stat -c %i $TREE/r/git");
	assert_int_equal(keep(true), 0);
	after = sh("stat -c %i $TREE/state/spares/*/git");
	assert_string_not_equal(before, after);
}

static void a_spare_of_another_version_is_not_used(void **s)
{
	run_sh("sed -i 's/^[^ ]*/0.0.1/' $TREE/state/spares/*/from");
	assert_false(claim());
	run_sh("test ! -e $TREE/r/git");
}

static void a_line_that_is_cut_short_is_no_spare(void **s)
{
	cleanup_free char *size = sh("stat -c %s $TREE/state/spares/*/from");

	for (int n = (int)strtoul(size, NULL, 10) - 1; n >= 0; n--) {
		cleanup_free char *cut = xasprintf("truncate -s %d $TREE/state/spares/*/from", n);

		run_sh(cut);
		assert_false(claim());
	}
}

/* A process may be killed between any two steps. */
static void what_a_killed_process_leaves_is_no_spare(void **s)
{
	run_sh("cd $TREE/state/spares; mv */git new; touch new/x");
	assert_false(claim());
	assert_int_equal(keep(false), 0);
	run_sh("cd $TREE/state/spares; test ! -e new; test -f */git/HEAD");
	/* A spare without what belongs to it is claimed, and not used. */
	run_sh("rm $TREE/state/spares/*/git.told");
	assert_true(claim());
	assert_false(private_spare_accept(&spare, &git, record));
	run_sh("test ! -e $TREE/r/git.told");
}

#define FULL_POINTS 60 /* more than the calls that make one */

/* Whatever is left: a start gets nothing, or a directory that is whole, and the next end makes one. */
static void leaves_nothing_half(const char *how, const char *before, int least)
{
	for (int n = 1; n < 1000; n++) {
		cleanup_free char *run = NULL, *out = NULL;

		run_sh(before);
		run = xasprintf("rm -f $TREE/ended; env %s=%d " SPARE_FAILS
				" $TREE/state $TREE/w $TREE/r && touch $TREE/ended || :",
				how, n);
		run_sh(run);
		run_sh("rm -rf $TREE/r/*");
		if (use())
			run_sh("diff -r $TREE/r/git $TREE/whole; test -s $TREE/r/git.told\n"
			       "grep -qx of $TREE/r/git.of; test -s $TREE/r/git.stamp");
		run_sh("rm -rf $TREE/r/*");
		assert_int_equal(keep(false), 0);
		assert_true(use());
		run_sh("diff -r $TREE/r/git $TREE/whole; rm -rf $TREE/r/*; test ! -e "
		       "$TREE/state/spares/new");
		private_spare_done(&spare);
		out = sh("! test -e $TREE/ended || echo ended");
		if (*out && n >= least)
			return;
	}
	fail_msg("it never ends");
}

static void a_process_that_is_killed_anywhere_leaves_no_half_spare(void **s)
{
	run_sh("cp -a $TREE/state/spares/*/git $TREE/whole; cp -a $TREE/state $TREE/kept");
	leaves_nothing_half("RALPH_TEST_DIE_AT", "rm -rf $TREE/state/spares", 1);
	leaves_nothing_half("RALPH_TEST_DIE_AT", "rm -rf $TREE/state; cp -a $TREE/kept $TREE/state",
			    1);
}

static void a_disk_that_is_full_leaves_no_half_spare(void **s)
{
	run_sh("cp -a $TREE/state/spares/*/git $TREE/whole");
	leaves_nothing_half("RALPH_TEST_FULL_AT", "rm -rf $TREE/state/spares", FULL_POINTS);
}

static void a_spare_is_not_given_back_to_a_place_that_has_one(void **s)
{
	cleanup_free char *before = NULL;

	assert_true(use());
	run_sh("mkdir $TREE/r2; mv $TREE/r/* $TREE/r2");
	assert_int_equal(keep(false), 0); /* of another sandbox, which ended first */
	before = sh("stat -c %i $TREE/state/spares/*/git");
	run_sh("mv $TREE/r2/* $TREE/r");
	assert_int_equal(keep(true), 0);
	sh_says("stat -c %i $TREE/state/spares/*/git", before);
}

static void spares_do_not_pile_up(void **s)
{
	run_sh("cd $TREE/state/spares; for i in $(seq 20); do mkdir old$i; done");
	run_sh("echo x >>.git/config");
	tree_clock_ticks();
	assert_int_equal(keep(false), 0);
	sh_says("ls $TREE/state/spares | wc -l", "1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SPARE(a_spare_is_what_a_start_would_make),
		WITH_SPARE(a_spare_is_claimed_once),
		WITH_SPARE(a_repository_that_changed_gets_a_new_directory),
		WITH_SPARE(a_spare_of_a_repository_that_changes_just_now_is_not_made),
		WITH_SPARE(no_spare_is_made_in_the_middle_of_an_operation),
		WITH_SPARE(a_directory_that_nobody_touched_becomes_the_spare_again),
		WITH_SPARE(a_directory_that_was_touched_never_becomes_a_spare),
		WITH_SPARE(a_directory_with_an_attribute_is_not_a_spare),
		WITH_SPARE(a_directory_that_others_may_hold_is_not_a_spare),
		WITH_SPARE(a_directory_is_not_a_spare_if_a_change_could_have_its_own_time),
		WITH_SPARE(a_spare_of_another_version_is_not_used),
		WITH_SPARE(a_line_that_is_cut_short_is_no_spare),
		WITH_SPARE(what_a_killed_process_leaves_is_no_spare),
		WITH_SPARE(a_process_that_is_killed_anywhere_leaves_no_half_spare),
		WITH_SPARE(a_disk_that_is_full_leaves_no_half_spare),
		WITH_SPARE(a_spare_is_not_given_back_to_a_place_that_has_one),
		WITH_SPARE(spares_do_not_pile_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
