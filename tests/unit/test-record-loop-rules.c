#include "tree.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "record/loop-rules.h"

#define KEY "0123456789abcdef"

static struct places places(void)
{
	return (struct places){.state = tree};
}

static void write_rules(void)
{
	const struct places p = places();
	cleanup_free char *path = loop_rules_file(&p, KEY);
	cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
}

static bool has_rules(void)
{
	const struct places p = places();
	cleanup_free char *path = loop_rules_file(&p, KEY);
	struct stat st;

	return lstat(path, &st) == 0;
}

static int hold(bool anew)
{
	const struct places p = places();
	struct err err = {0};
	int fd = -1;

	assert_int_equal(loop_rules_hold(&p, KEY, anew, &fd, &err), 0);
	return fd;
}

static void rules_count_while_the_loop_holds_them(void **state)
{
	const struct places p = places();
	int held;

	assert_false(loop_rules_count(&p, KEY));
	held = hold(true);
	assert_true(loop_rules_count(&p, KEY));
	write_rules();
	loop_rules_release(&p, KEY, false, &held);
	assert_int_equal(held, -1);
	assert_false(loop_rules_count(&p, KEY));
	assert_true(has_rules());
}

static void a_loop_that_was_killed_holds_nothing(void **state)
{
	const struct places p = places();
	int to[2], status;
	char c;
	pid_t pid;

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		(void)hold(true);
		(void)!write(to[1], "", 1);
		(void)pause();
		_exit(0);
	}
	assert_int_equal(read(to[0], &c, 1), 1);
	assert_true(loop_rules_count(&p, KEY));
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_false(loop_rules_count(&p, KEY));
	closep(&to[0]);
	closep(&to[1]);
}

static void resume_finds_them_again_and_another_loop_does_not(void **state)
{
	const struct places p = places();
	int held = hold(true);

	write_rules();
	loop_rules_release(&p, KEY, false, &held);
	held = hold(false);
	assert_true(has_rules());
	assert_true(loop_rules_count(&p, KEY));
	loop_rules_release(&p, KEY, false, &held);
	held = hold(true);
	assert_false(has_rules());
	loop_rules_release(&p, KEY, false, &held);
}

static void a_loop_that_is_over_leaves_nothing(void **state)
{
	const struct places p = places();
	cleanup_free char *rules = loop_rules_file(&p, KEY), *dir = path_dir(rules);
	int held = hold(true);
	struct stat st;

	write_rules();
	loop_rules_release(&p, KEY, true, &held);
	assert_int_not_equal(lstat(dir, &st), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rules_count_while_the_loop_holds_them, tree_make,
						tree_remove),
		cmocka_unit_test_setup_teardown(a_loop_that_was_killed_holds_nothing, tree_make,
						tree_remove),
		cmocka_unit_test_setup_teardown(resume_finds_them_again_and_another_loop_does_not,
						tree_make, tree_remove),
		cmocka_unit_test_setup_teardown(a_loop_that_is_over_leaves_nothing, tree_make,
						tree_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
