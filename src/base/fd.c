#include "base/fd.h"

#include "base/fd-own.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include "base/buf.h"

int fd_write_all(int fd, const void *p, size_t n)
{
	const char *s = p;

	while (n > 0) {
		ssize_t w = write(fd, s, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		s += w;
		n -= (size_t)w;
	}
	return 0;
}

int fd_read_all(int fd, struct buf *b)
{
	for (;;) {
		/*
		 * Reading asks for one byte more than the maximum, to tell "exactly full" from "too
		 * much".
		 */
		char spill;
		size_t room = buf_room(b) < 64 * KiB ? buf_room(b) : 64 * KiB;
		ssize_t r;

		if (room == 0) {
			r = read(fd, &spill, 1);
			if (r < 0 && errno == EINTR)
				continue;
			return r < 0 ? -errno : r == 0 ? 0 : -ENOBUFS;
		}
		(void)buf_reserve(b, room);
		r = read(fd, b->data + b->len, room);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			return 0;
		b->len += (size_t)r;
		b->data[b->len] = '\0';
	}
}

int fd_seal(int fd)
{
	if (lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return -errno;
	return 0;
}

/* Takes an empty memory file, or what memfd_create() failed with. */
int fd_fill(int memory, const void *p, size_t n)
{
	cleanup_fd int fd = memory;
	int r;

	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, p, n);
	if (r == 0)
		r = fd_seal(fd);
	return r < 0 ? r : take_fd(fd);
}

int fd_memfd(const char *name, const void *p, size_t n)
{
	return fd_fill(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), p, n);
}

int fd_set_cloexec(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFD);

	if (flags < 0 || fcntl(fd, F_SETFD, on ? flags | FD_CLOEXEC : flags & ~FD_CLOEXEC) < 0)
		return -errno;
	return 0;
}

int fd_set_nonblock(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

static void on_alarm(int sig)
{
	(void)sig; /* the signal's only work is to interrupt flock() */
}

static int lock_until(int fd, uint64_t deadline)
{
	/* The timer repeats, so that a signal which comes just before flock() is no lost wake-up.
	 */
	const struct itimerval tick = {{0, 20000}, {0, 20000}}, off = {{0, 0}, {0, 0}};
	const struct sigaction act = {.sa_handler = on_alarm};
	struct sigaction old;
	int r = -EINTR;

	(void)sigaction(SIGALRM, &act, &old);
	(void)setitimer(ITIMER_REAL, &tick, NULL);
	while (r == -EINTR && now_ms() < deadline)
		r = flock(fd, LOCK_EX) < 0 ? -errno : 0;
	(void)setitimer(ITIMER_REAL, &off, NULL);
	(void)sigaction(SIGALRM, &old, NULL);
	return r == -EINTR ? -ETIMEDOUT : r;
}

int fd_lock(int fd, int timeout_ms)
{
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK || timeout_ms == 0)
		return -errno;
	if (timeout_ms < 0) {
		while (flock(fd, LOCK_EX) < 0)
			if (errno != EINTR)
				return -errno;
		return 0;
	}
	return lock_until(fd, now_ms() + (uint64_t)timeout_ms);
}

uint64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

void fd_close_rest(const int *keep, size_t n)
{
	unsigned from = 3;
	int sorted[8];

	n = n < ARRAY_SIZE(sorted) ? n : ARRAY_SIZE(sorted);
	memcpy(sorted, keep, n * sizeof(int));
	qsort(sorted, n, sizeof(int), compare_fds);
	for (size_t i = 0; i < n; i++) {
		unsigned fd = (unsigned)sorted[i];

		if (sorted[i] < (int)from)
			continue;
		if (fd > from)
			(void)syscall(SYS_close_range, from, fd - 1, 0);
		from = fd + 1;
	}
	(void)syscall(SYS_close_range, from, ~0U, 0);
}
