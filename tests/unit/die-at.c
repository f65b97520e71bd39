/*
 * Linked into a loop of the tests' own (--wrap): every call that changes something outside of the
 * process is a point at which it can be killed, before the call and after it. RALPH_TEST_DIE_AT
 * numbers the point; RALPH_TEST_COUNT names a file that gets how many there were. Children that the
 * loop forks count on from where they were forked, and kill the loop, not themselves.
 *
 * Workers of a loop are the same program: RALPH_TEST_DIE_WHO=worker means one of them, else it is
 * the loop that started them. RALPH_TEST_FULL_AT: from this call on the disk is full. RALPH_TEST_DIE_ONCE names a file that is made by the first that dies,
 * and with which no other does.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static long count, at, calls, full_at;
static pid_t loop;

static void __attribute__((constructor)) begin(void)
{
	const char *s = getenv("RALPH_TEST_DIE_AT");

	const char *who = getenv("RALPH_TEST_DIE_WHO");
	int is_worker = getenv("RALPH_TEST_IS_WORKER") != NULL;

	at = s && is_worker == (who && who[0] == 'w') ? strtol(s, NULL, 10) : 0;
	s = getenv("RALPH_TEST_FULL_AT");
	full_at = s ? strtol(s, NULL, 10) : 0;
	s = getenv("RALPH_TEST_DIE_AT");
	loop = getpid();
	if (s)
		(void)setenv("RALPH_TEST_IS_WORKER", "1", 1);
}

static int is_first(void)
{
	const char *path = getenv("RALPH_TEST_DIE_ONCE");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;

	if (fd >= 0)
		(void)close(fd);
	return !path || fd >= 0;
}

static void __attribute__((destructor)) end(void)
{
	const char *path = getenv("RALPH_TEST_COUNT");
	FILE *f = path && getpid() == loop ? fopen(path, "we") : NULL;

	if (!f)
		return;
	(void)fprintf(f, "%ld\n", count);
	(void)fclose(f);
}

static int is_full(void)
{
	return full_at && ++calls >= full_at;
}

static void point(void)
{
	int saved = errno;

	if (++count == at && is_first()) {
		(void)kill(loop, SIGKILL);
		/* A child goes on until its parent's death reaches it. */
	}
	errno = saved;
}

/* clang-format off */
#define WRAP(type, name, params, args)                                                             \
	type __real_##name params;                                                                 \
	type __wrap_##name params;                                                                 \
	type __wrap_##name params                                                                  \
	{                                                                                          \
		type r;                                                                            \
                                                                                                   \
		point();                                                                           \
		if (is_full()) {                                                                   \
			errno = ENOSPC;                                                            \
			return -1;                                                                 \
		}                                                                                  \
		r = __real_##name args;                                                            \
		point();                                                                           \
		return r;                                                                          \
	}

WRAP(int, fsync, (int fd), (fd))
WRAP(int, rename, (const char *a, const char *b), (a, b))
WRAP(int, renameat, (int d, const char *a, int e, const char *b), (d, a, e, b))
WRAP(int, renameat2, (int d, const char *a, int e, const char *b, unsigned int f), (d, a, e, b, f))
WRAP(int, rmdir, (const char *a), (a))
WRAP(int, unlinkat, (int d, const char *a, int f), (d, a, f))
WRAP(int, unlink, (const char *a), (a))
WRAP(int, mkdirat, (int d, const char *a, mode_t m), (d, a, m))
WRAP(int, symlinkat, (const char *a, int d, const char *b), (a, d, b))
WRAP(ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n))
WRAP(ssize_t, sendmsg, (int fd, const struct msghdr *m, int f), (fd, m, f))
/* clang-format on */
