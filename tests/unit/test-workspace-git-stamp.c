#include "git-sh.h"

#include "base/fd.h"
#include "workspace/git-stamp.h"

static int start(void **state)
{
	if (tree_make(state) < 0)
		return -1;
	tree_dir("home");
	tree_dir("w");
	run_sh("git config --global user.name User; git config --global user.email u@example.org\n"
	       "git init -q .; echo one >a; git add .; git commit -qm first");
	return 0;
}

static uint64_t stamp(void)
{
	cleanup_free char *path = tree_path("w/.git");
	cleanup_fd int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t ret = 0;

	assert_int_equal(git_stamp(dir, &ret), 0);
	return ret;
}

static void changes(const char *script)
{
	uint64_t before = stamp();

	run_sh(script);
	if (stamp() == before)
		fail_msg("not seen: %s", script);
}

static void every_change_of_a_reference_is_seen(void **state)
{
	changes("echo 2 >>a; git commit -qam second");
	changes("git commit -q --amend -m again");
	changes("git branch a/b/c");
	changes("git update-ref refs/heads/a/b/c HEAD~1");
	changes("git symbolic-ref HEAD refs/heads/a/b/c");
	changes("git pack-refs --all");
	changes("git tag t");
	changes("git checkout -q -f; echo 3 >>a; git stash -q");
	changes("git update-ref refs/notes/n HEAD");
	changes("git branch -D -q $(git branch --format='%(refname:short)' | grep -v a/b/c | head "
		"-1)");
}

static void commits_in_submodules_are_seen(void **state)
{
	run_sh("git init -q $TREE/lib; cd $TREE/lib; git commit -q --allow-empty -m lib; cd "
	       "$TREE/w\n"
	       "git -c protocol.file.allow=always submodule -q add $TREE/lib libs/sub");
	changes("git -C libs/sub commit -q --allow-empty -m more");
	changes("git -C libs/sub checkout -q -b other");
}

static void work_that_moves_nothing_is_not(void **state)
{
	uint64_t before = stamp();

	run_sh("git status >/dev/null; echo 2 >>a; git add a; git log >/dev/null; git diff "
	       ">/dev/null");
	assert_true(stamp() == before);
}

static void links_and_floods_are_not_followed(void **state)
{
	cleanup_free char *path = tree_path("w/.git");
	cleanup_fd int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t ret;

	run_sh("ln -s / .git/refs/heads/root; mkfifo .git/refs/heads/pipe");
	assert_int_equal(git_stamp(dir, &ret), 0);
	run_sh("mkdir -p $(seq -f '.git/refs/heads/d%.0f' 5000)");
	assert_int_equal(git_stamp(dir, &ret), -EOVERFLOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(commits_in_submodules_are_seen, start, tree_remove),
		cmocka_unit_test_setup_teardown(every_change_of_a_reference_is_seen, start,
						tree_remove),
		cmocka_unit_test_setup_teardown(work_that_moves_nothing_is_not, start, tree_remove),
		cmocka_unit_test_setup_teardown(links_and_floods_are_not_followed, start,
						tree_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
