#include "tree.h"

#include <sys/wait.h>

#include "base/buf.h"
#include "base/fd.h"

static int open_lock(void)
{
	cleanup_free char *p = tree_path("lock");
	int fd = open(p, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return fd;
}

static void fd_lock_held_by_another_is_refused_or_times_out(void **state)
{
	cleanup_fd int a = open_lock(), b = open_lock();

	assert_int_equal(fd_lock(a, 0), 0);
	assert_int_equal(fd_lock(b, 0), -EWOULDBLOCK);
	assert_int_equal(fd_lock(b, 50), -ETIMEDOUT);
	closep(&a);
	assert_int_equal(fd_lock(b, 0), 0);
}

/* A child holds the lock until it is told to let go by the end of a pipe. */
static void fd_lock_waits_until_it_is_released(void **state)
{
	cleanup_fd int mine = open_lock();
	int ready[2], go[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready) | pipe(go), 0);
	pid = fork();
	if (pid == 0) {
		int theirs = open_lock();

		closep(&go[1]);
		if (fd_lock(theirs, -1) < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		(void)!read(go[0], &c, 1);
		_exit(0);
	}
	closep(&go[0]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(fd_lock(mine, 0), -EWOULDBLOCK);
	closep(&go[1]);
	assert_int_equal(fd_lock(mine, 20000), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	closep(&ready[0]);
	closep(&ready[1]);
}

static void fd_read_all_tells_full_from_too_much(void **state)
{
	cleanup_buf struct buf b;
	int p[2];

	assert_int_equal(pipe(p), 0);
	assert_int_equal(fd_write_all(p[1], "12345", 5), 0);
	closep(&p[1]);
	buf_init(&b, 5);
	assert_int_equal(fd_read_all(p[0], &b), 0);
	assert_string_equal(buf_str(&b), "12345");
	closep(&p[0]);

	assert_int_equal(pipe(p), 0);
	assert_int_equal(fd_write_all(p[1], "123456", 6), 0);
	closep(&p[1]);
	buf_clear(&b);
	assert_int_equal(fd_read_all(p[0], &b), -ENOBUFS);
	closep(&p[0]);
}

static void fd_memfd_cannot_be_changed_any_more(void **state)
{
	cleanup_fd int fd = fd_memfd("t", "abc", 3);
	cleanup_buf struct buf b;

	buf_init(&b, 16);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fd_read_all(fd, &b), 0);
	assert_string_equal(buf_str(&b), "abc");
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, 100), -1);
}

static void fd_write_all_to_nobody_is_an_error(void **state)
{
	assert_int_equal(fd_write_all(-1, "x", 1), -EBADF);
}

static void closep_closes_once_and_keeps_errno(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), copy = fd;

	errno = ENOENT;
	closep(&fd);
	closep(&fd);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(fd, -1);
	assert_int_equal(fcntl(copy, F_GETFD), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(fd_lock_held_by_another_is_refused_or_times_out),
		WITH_TREE(fd_lock_waits_until_it_is_released),
		cmocka_unit_test(fd_read_all_tells_full_from_too_much),
		cmocka_unit_test(fd_memfd_cannot_be_changed_any_more),
		cmocka_unit_test(fd_write_all_to_nobody_is_an_error),
		cmocka_unit_test(closep_closes_once_and_keeps_errno),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
