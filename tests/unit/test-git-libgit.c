#include "tests.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/fd.h"
#include "git/libgit.h"

#define START_READS_MAX (64 * KiB)

/* Bytes that this process has read so far. */
static unsigned long long bytes_read(void)
{
	cleanup_fd int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
	unsigned long long n = 0;
	cleanup_buf struct buf b;
	const char *p;

	buf_init(&b, 4 * KiB);
	if (fd < 0 || fd_read_all(fd, &b) < 0)
		skip();
	p = strstr(buf_str(&b), "rchar: ");
	assert_non_null(p);
	for (p += strlen("rchar: "); *p >= '0' && *p <= '9'; p++)
		n = 10 * n + (unsigned long long)(*p - '0');
	return n;
}

static void starting_libgit2_reads_no_certificates(void **state)
{
	unsigned long long before = bytes_read();

	gitlib_start();
	assert_true(bytes_read() - before < START_READS_MAX);
}

static void files_can_be_opened_once_libgit2_runs(void **state)
{
	struct rlimit l;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &l), 0);
	assert_true(l.rlim_cur > 0);
	assert_int_equal(git_libgit2_init(), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starting_libgit2_reads_no_certificates),
		cmocka_unit_test(files_can_be_opened_once_libgit2_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
