#include "tests.h"

#include "base/fd.h"
#include "base/proc.h"
#include "transcript/reader-confine.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* A hostile file that has taken a reader over would do this. */
static int read_a_file(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 ? 0 : 1;
}

static int write_beside(void)
{
	return open("beside", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0 ? 0 : 1;
}

#if !defined(__SANITIZE_ADDRESS__) /* whose own calls are not in the list */
static int make_a_socket(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0 ? 0 : 1;
}

static int run_a_program(void)
{
	return execl("/bin/true", "true", (char *)NULL);
}

static int start_a_process(void)
{
	return fork() < 0 ? 0 : 1;
}

static int signal_somebody(void)
{
	return kill(getppid(), 0);
}
#endif

static int use_its_own_directory(void)
{
	int fd = open("own/file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	return fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0 &&
			       renameat(AT_FDCWD, "own/file", AT_FDCWD, "own/other") == 0 &&
			       unlink("own/other") == 0
		       ? 0
		       : 1;
}

static int read_what_was_given(void)
{
	char c;
	int fd = open("given/file", O_RDONLY | O_CLOEXEC);

	return fd >= 0 && read(fd, &c, 1) == 1 ? 0 : 1;
}

static int write_what_was_given(void)
{
	return open("given/file", O_WRONLY | O_CLOEXEC) < 0 ? 0 : 1;
}

static int make_where_it_reads(void)
{
	return open("given/new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0 ? 0 : 1;
}

static int remove_where_it_reads(void)
{
	return unlink("given/file") < 0 ? 0 : 1;
}

static int confine(void)
{
	int given = open("given", O_PATH | O_CLOEXEC), own = open("own", O_PATH | O_CLOEXEC);
	struct err err = {0};

	return given < 0 || own < 0 ? -1 : tr_confine((const int[]){given, -1}, own, &err);
}

static void make_file(const char *dir, const char *name)
{
	cleanup_free char *path = xasprintf("%s/%s", dir, name);
	cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, "x", 1), 1);
}

static void in_dir(int (*what)(const char *), const char *dir, const char *name)
{
	cleanup_free char *path = xasprintf("%s/%s", dir, name);

	assert_int_equal(what(path), 0);
}

static int make_dir(const char *path)
{
	return mkdir(path, 0700);
}

/* 0: it did what is asked of it; else its exit code, or 128 + the signal. */
static int confined(int (*what)(void))
{
	char dir[] = "/tmp/ralph-confine.XXXXXX";
	int status;
	pid_t pid;

	assert_non_null(mkdtemp(dir));
	in_dir(make_dir, dir, "own");
	in_dir(make_dir, dir, "given");
	make_file(dir, "given/file");
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (chdir(dir) < 0 || confine() < 0)
			_exit(99);
		_exit(what());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	in_dir(unlink, dir, "given/file");
	in_dir(rmdir, dir, "given");
	in_dir(rmdir, dir, "own");
	assert_int_equal(rmdir(dir), 0);
	return run_status(status);
}

static void it_has_its_own_directory(void **state)
{
	assert_int_equal(confined(use_its_own_directory), 0);
}

static void it_reads_what_was_given_and_changes_nothing_there(void **state)
{
	assert_int_equal(confined(read_what_was_given), 0);
	assert_int_equal(confined(write_what_was_given), 0);
	assert_int_equal(confined(make_where_it_reads), 0);
	assert_int_equal(confined(remove_where_it_reads), 0);
}

static void it_has_no_other_file(void **state)
{
	assert_int_equal(confined(read_a_file), 0);
	assert_int_equal(confined(write_beside), 0);
}

#if !defined(__SANITIZE_ADDRESS__)
static void it_has_no_network_program_or_process(void **state)
{
	assert_int_equal(confined(make_a_socket), 128 + SIGSYS);
	assert_int_equal(confined(run_a_program), 128 + SIGSYS);
	assert_int_equal(confined(start_a_process), 128 + SIGSYS);
	assert_int_equal(confined(signal_somebody), 128 + SIGSYS);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_has_its_own_directory),
		cmocka_unit_test(it_reads_what_was_given_and_changes_nothing_there),
		cmocka_unit_test(it_has_no_other_file),
#if !defined(__SANITIZE_ADDRESS__)
		cmocka_unit_test(it_has_no_network_program_or_process),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
