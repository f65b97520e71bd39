#include "tests.h"

#include "base/proc.h"
#include "transcript/opencode-confine.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* What a file that has taken SQLite over would do. */
static int read_a_file(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 ? 0 : 1;
}

static int write_beside(void)
{
	return open("../beside", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0 ? 0 : 1;
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
	int fd = open("own", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	return fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0 ? 0 : 1;
}

/* 0: it did what is asked of it; else its exit code, or 128 + the signal. */
static int confined(int (*what)(void))
{
	char dir[] = "/tmp/ralph-confine.XXXXXX";
	cleanup_free char *own = NULL;
	struct err err = {0};
	int status;
	pid_t pid;

	assert_non_null(mkdtemp(dir));
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (chdir(dir) < 0 || opencode_confine(&err) < 0)
			_exit(99);
		_exit(what());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	own = xasprintf("%s/own", dir);
	(void)unlink(own);
	assert_int_equal(rmdir(dir), 0);
	return run_status(status);
}

static void it_has_its_own_directory(void **state)
{
	assert_int_equal(confined(use_its_own_directory), 0);
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
		cmocka_unit_test(it_has_no_other_file),
#if !defined(__SANITIZE_ADDRESS__)
		cmocka_unit_test(it_has_no_network_program_or_process),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
