/* The plain names are defined here, and not what the headers make of them. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
/*
 * Linked into an import of the tests' own. The calls below stand before those of the C library, for
 * libgit2 as well, so that every call that changes a file is a point. RALPH_TEST_DIE_AT=N: the
 * process is killed before the N-th. RALPH_TEST_FULL_AT=N: the disk is full from the N-th on, and
 * what needs room on it fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long count, die_at, full_at;
static pid_t self;

static long number(const char *name)
{
	const char *s = getenv(name);

	return s ? strtol(s, NULL, 10) : 0;
}

static void __attribute__((constructor)) begin(void)
{
	die_at = number("RALPH_TEST_DIE_AT");
	full_at = number("RALPH_TEST_FULL_AT");
	self = getpid();
}

static int is_there(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* needs_room: is it one that a full disk refuses? */
static int point(int needs_room)
{
	int saved = errno;

	if (getpid() == self)
		count++;
	if (die_at && count == die_at)
		(void)kill(self, SIGKILL);
	errno = saved;
	if (!needs_room || !full_at || count < full_at)
		return 0;
	errno = ENOSPC;
	return 1;
}

#define CALL(type, room, number_, ...)                                                             \
	return point(room) ? (type)-1 : (type)syscall(number_, __VA_ARGS__)

static mode_t mode_of(int flags, va_list ap)
{
	return flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
}

static int open_at(int dir, const char *path, int flags, mode_t mode)
{
	if (flags & O_CREAT && point(1))
		return -1;
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	return open_at(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

int openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	return open_at(dir, path, flags, mode);
}

int openat64(int dir, const char *path, int flags, ...) __attribute__((alias("openat")));

ssize_t write(int fd, const void *p, size_t n)
{
	if (is_there(fd) && point(1))
		return -1;
	return syscall(SYS_write, fd, p, n);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
	CALL(ssize_t, 1, SYS_pwrite64, fd, p, n, at);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off_t at) __attribute__((alias("pwrite")));

ssize_t sendfile(int out, int in, off_t *at, size_t n)
{
	CALL(ssize_t, 1, SYS_sendfile, out, in, at, n);
}

ssize_t sendfile64(int out, int in, off_t *at, size_t n) __attribute__((alias("sendfile")));

int rename(const char *a, const char *b)
{
	CALL(int, 0, SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 0);
}

int renameat(int d, const char *a, int e, const char *b)
{
	CALL(int, 0, SYS_renameat2, d, a, e, b, 0);
}

int link(const char *a, const char *b)
{
	CALL(int, 1, SYS_linkat, AT_FDCWD, a, AT_FDCWD, b, 0);
}

int linkat(int d, const char *a, int e, const char *b, int f)
{
	CALL(int, 1, SYS_linkat, d, a, e, b, f);
}

int mkdir(const char *a, mode_t m)
{
	CALL(int, 1, SYS_mkdirat, AT_FDCWD, a, m);
}

int mkdirat(int d, const char *a, mode_t m)
{
	CALL(int, 1, SYS_mkdirat, d, a, m);
}

int unlink(const char *a)
{
	CALL(int, 0, SYS_unlinkat, AT_FDCWD, a, 0);
}

int unlinkat(int d, const char *a, int f)
{
	CALL(int, 0, SYS_unlinkat, d, a, f);
}

int rmdir(const char *a)
{
	CALL(int, 0, SYS_unlinkat, AT_FDCWD, a, AT_REMOVEDIR);
}

/* stderr is told what was synced. */
static void tell_synced(int fd)
{
	char link_[64], path[4096];
	ssize_t n;

	(void)snprintf(link_, sizeof(link_), "/proc/self/fd/%d", fd);
	n = readlink(link_, path, sizeof(path) - 1);
	if (n > 0)
		(void)dprintf(STDERR_FILENO, "synced %.*s\n", (int)n, path);
}

int fsync(int fd)
{
	tell_synced(fd);
	CALL(int, 1, SYS_fsync, fd);
}

int utimensat(int d, const char *a, const struct timespec t[2], int f)
{
	CALL(int, 0, SYS_utimensat, d, a, t, f);
}

/* RALPH_TEST_SLOW: every look at the clock is a second after the last. */
int clock_gettime(clockid_t id, struct timespec *t)
{
	static int looks;
	int r = (int)syscall(SYS_clock_gettime, id, t);

	if (r == 0 && id == CLOCK_MONOTONIC && getenv("RALPH_TEST_SLOW"))
		t->tv_sec += ++looks;
	return r;
}
