#include "tests.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/proc.h"

#define LIMIT_MS 20000

static int capture(const char *script, char **out)
{
	char *argv[] = {"/bin/sh", "-c", (char *)script, NULL}, *env[] = {"A=1", NULL};
	struct err e;
	int code = -1;

	assert_int_equal(run_capture(argv, env, LIMIT_MS, 4096, out, &code, &e), 0);
	return code;
}

static void run_missing_program_is_an_error_and_no_child(void **state)
{
	char *argv[] = {"/no/such/program", NULL};
	struct run run = RUN_INIT;
	struct child child = {.pid = -1, .pidfd = -1};
	struct err e = {0};

	run.argv = argv;
	assert_int_equal(run_start(&run, &child, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "/no/such/program"));
	assert_int_equal(child.pid, -1);
}

static void run_gives_exit_codes_and_signals_as_the_shell_counts(void **state)
{
	cleanup_free char *a = NULL, *b = NULL;

	assert_int_equal(capture("exit 7", &a), 7);
	assert_int_equal(capture("kill -9 $$", &b), 137);
}

static void run_environment_is_what_was_given_and_nothing_else(void **state)
{
	cleanup_free char *out = NULL;

	assert_int_equal(setenv("LEAK", "1", 1), 0);
	assert_int_equal(capture("echo $A${LEAK-none}", &out), 0);
	assert_string_equal(out, "1none\n");
}

static void run_closes_every_descriptor_but_the_named(void **state)
{
	char *argv[] = {"/bin/ls", "/proc/self/fd", NULL};
	cleanup_buf struct buf b;
	struct run run = RUN_INIT;
	struct child child;
	int p[2], leak;
	struct err e;

	buf_init(&b, 4096);
	leak = open("/dev/null", O_RDONLY); /* on purpose without O_CLOEXEC */
	assert_true(leak >= 0);
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	assert_int_equal(dup2(p[1], 90), 90);
	run.argv = argv;
	run.stdio[1] = p[1];
	run_keep(&run, 90);
	assert_int_equal(run_start(&run, &child, &e), 0);
	closep(&p[1]);
	(void)close(90);
	assert_int_equal(fd_read_all(p[0], &b), 0);
	assert_int_equal(run_wait(&child), 0);
	assert_string_equal(buf_str(&b), "0\n1\n2\n3\n90\n");
	closep(&p[0]);
	closep(&leak);
}

static void run_capture_beyond_the_time_kills(void **state)
{
	char *argv[] = {"/bin/sh", "-c", "exec sleep 60", NULL};
	char *out = NULL;
	struct err e;
	int code;

	assert_int_equal(run_capture(argv, NULL, 50, 16, &out, &code, &e), -ETIMEDOUT);
	assert_null(out);
}

static void run_capture_cuts_what_is_too_much(void **state)
{
	char *argv[] = {"/bin/sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x", NULL};
	cleanup_free char *out = NULL;
	struct err e;
	int code;

	assert_int_equal(run_capture(argv, NULL, LIMIT_MS, 10, &out, &code, &e), 0);
	assert_string_equal(out, "xxxxxxxxxx");
	assert_int_equal(code, 0);
}

static void run_child_starts_with_no_signal_blocked_or_ignored(void **state)
{
	cleanup_free char *out = NULL;
	sigset_t all, old;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &old);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)capture("grep -E '^Sig(Blk|Ign)' /proc/self/status", &out);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	assert_string_equal(out, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

static void child_done_ends_what_still_runs(void **state)
{
	char *argv[] = {"/bin/sleep", "60", NULL};
	struct run run = RUN_INIT;
	struct child child;
	struct err e;
	pid_t pid;

	run.argv = argv;
	assert_int_equal(run_start(&run, &child, &e), 0);
	pid = child.pid;
	child_done(&child);
	assert_int_equal(kill(pid, 0), -1);
	child_done(&child);
}

static int refuse(void *arg)
{
	return -EXDEV;
}

static void run_before_exec_that_fails_is_the_error(void **state)
{
	char *argv[] = {"/bin/true", NULL};
	struct run run = RUN_INIT;
	struct child child;
	struct err e;

	run.argv = argv;
	run.before_exec = refuse;
	assert_int_equal(run_start(&run, &child, &e), -EXDEV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(run_missing_program_is_an_error_and_no_child),
		cmocka_unit_test(run_gives_exit_codes_and_signals_as_the_shell_counts),
		cmocka_unit_test(run_environment_is_what_was_given_and_nothing_else),
		cmocka_unit_test(run_closes_every_descriptor_but_the_named),
		cmocka_unit_test(run_capture_beyond_the_time_kills),
		cmocka_unit_test(run_capture_cuts_what_is_too_much),
		cmocka_unit_test(run_child_starts_with_no_signal_blocked_or_ignored),
		cmocka_unit_test(child_done_ends_what_still_runs),
		cmocka_unit_test(run_before_exec_that_fails_is_the_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
