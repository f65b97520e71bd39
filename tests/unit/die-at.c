/*
 * Linked into a loop of the tests' own (--wrap): every call that changes something outside of the
 * process is a point at which it can be killed, before the call and after it. RALPH_TEST_DIE_AT
 * numbers the point; RALPH_TEST_COUNT names a file that gets how many there were. Children that the
 * loop forks count on from where they were forked, and kill the loop, not themselves.
 *
 * Points have names as well: the call, and the file or the message of a stream between machines. With RALPH_TEST_DIE_NAME
 * only points of that name are counted. RALPH_TEST_TRACE names a file that gets the names, in their order.
 *
 * Workers of a loop are the same program: RALPH_TEST_DIE_WHO=worker means one of them, else it is
 * the loop that started them. RALPH_TEST_FULL_AT: from this call on the disk is full. RALPH_TEST_DIE_ONCE names a file that is made by the first that dies,
 * and with which no other does. RALPH_TEST_HOUR names a file: once it exists, the monotonic clock is an hour later.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HEX_MIN 16 /* as many digits are a lease or a commit */

static long count, at, calls, full_at;
static const char *wanted, *trace;
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
	wanted = getenv("RALPH_TEST_DIE_NAME");
	trace = is_worker ? NULL : getenv("RALPH_TEST_TRACE");
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

/* An hour passes when the file exists. A process that is stopped and goes on looks at its timers. */
int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	const char *path = getenv("RALPH_TEST_HOUR");
	int r = __real_clock_gettime(clock, t);
	struct stat st;

	if (r == 0 && clock == CLOCK_MONOTONIC && path && stat(path, &st) == 0)
		t->tv_sec += 3600;
	return r;
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

/* What differs from run to run is left out: numbers, leases, commits. */
static void plain(char *to, size_t size, const char *name)
{
	const char *end = strstr(name, ".tmp"), *dot = end;
	size_t n = 0;

	/* NAME.PID-RANDOM.tmp */
	while (dot && dot > name && *--dot != '.')
		;
	while (*name && n + 6 < size) {
		if (name == dot) {
			name = end;
			dot = NULL;
		}
		size_t hex = strspn(name, "0123456789abcdef"), digits = strspn(name, "0123456789");

		if (hex >= HEX_MIN || digits) {
			to[n++] = hex >= HEX_MIN ? 'H' : 'N';
			name += hex >= HEX_MIN ? hex : digits;
		} else {
			to[n++] = *name++;
		}
	}
	to[n] = '\0';
}

/* A file's name, or the type of the message that a write to a stream begins with. */
static void target_of(int fd, const char *path, const void *p, size_t n, char *to, size_t size)
{
	char link[64], name[4096];
	ssize_t len;
	uint32_t type;

	if (!path) {
		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		len = readlink(link, name, sizeof(name) - 1);
		name[len < 0 ? 0 : len] = '\0';
		path = name;
	}
	if (strncmp(path, "pipe:", 5) == 0 && p && n >= sizeof(type)) {
		memcpy(&type, p, sizeof(type));
		(void)snprintf(to, size, "message-%u", type & 0x7fffffffu);
		return;
	}
	path = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	plain(to, size, path);
}

static void point(const char *when, const char *call, int fd, const char *path, const void *p,
		  size_t n)
{
	int saved = errno;
	char target[256] = "", name[320];
	FILE *f;

	if (wanted || trace) {
		target_of(fd, path, p, n, target, sizeof(target));
		(void)snprintf(name, sizeof(name), "%s-%s:%s", when, call, target);
	}
	f = trace && getpid() == loop ? fopen(trace, "ae") : NULL;
	if (f) {
		(void)fprintf(f, "%s\n", name);
		(void)fclose(f);
	}
	errno = saved;
	if (wanted && strcmp(wanted, name) != 0)
		return;
	if (++count == at && is_first()) {
		(void)kill(loop, SIGKILL);
		/* A child goes on until its parent's death reaches it. */
	}
	errno = saved;
}

/* clang-format off */
#define WRAP(type, name, params, args, fd, path, p, n)                                             \
	type __real_##name params;                                                                 \
	type __wrap_##name params;                                                                 \
	type __wrap_##name params                                                                  \
	{                                                                                          \
		type r;                                                                            \
                                                                                                   \
		point("before", #name, fd, path, p, n);                                            \
		if (is_full()) {                                                                   \
			errno = ENOSPC;                                                            \
			return -1;                                                                 \
		}                                                                                  \
		r = __real_##name args;                                                            \
		point("after", #name, fd, path, p, n);                                             \
		return r;                                                                          \
	}

WRAP(int, fsync, (int fd), (fd), fd, NULL, NULL, 0)
WRAP(int, rename, (const char *a, const char *b), (a, b), -1, b, NULL, 0)
WRAP(int, renameat, (int d, const char *a, int e, const char *b), (d, a, e, b), -1, b, NULL, 0)
WRAP(int, renameat2, (int d, const char *a, int e, const char *b, unsigned int f), (d, a, e, b, f), -1, b, NULL, 0)
WRAP(int, rmdir, (const char *a), (a), -1, a, NULL, 0)
WRAP(int, unlinkat, (int d, const char *a, int f), (d, a, f), -1, a, NULL, 0)
WRAP(int, unlink, (const char *a), (a), -1, a, NULL, 0)
WRAP(int, mkdirat, (int d, const char *a, mode_t m), (d, a, m), -1, a, NULL, 0)
WRAP(int, symlinkat, (const char *a, int d, const char *b), (a, d, b), -1, b, NULL, 0)
WRAP(ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n), fd, NULL, p, n)
WRAP(ssize_t, sendmsg, (int fd, const struct msghdr *m, int f), (fd, m, f), fd, NULL, NULL, 0)
/* clang-format on */
