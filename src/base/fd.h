#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

struct buf;

/* No EINTR retry: Linux has released the descriptor already. */
static inline void closep(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	errno = saved;
}

#define cleanup_fd cleanup_(closep)
#define take_fd(fd)                                                                                \
	({                                                                                         \
		int *_p = &(fd);                                                                   \
		int _v = *_p;                                                                      \
		*_p = -1;                                                                          \
		_v;                                                                                \
	})

/* All of it, or -errno; for blocking descriptors. */
int fd_write_all(int fd, const void *p, size_t n);
/* Everything up to end of file into b; -ENOBUFS when it is more than b may hold. */
int fd_read_all(int fd, struct buf *b);
/* A sealed memory file with this content, offset 0: for programs that read a descriptor. */
int fd_memfd(const char *name, const void *p, size_t n);
/* The same with a file's content, to be executed by descriptor (execveat). */
int fd_program(const char *path);
int fd_program_of(const void *p, size_t n); /* the same with these bytes */
/* In a fork: closes everything from 3 up but these (-1: none). */
void fd_close_rest(const int *keep, size_t n);
int fd_set_cloexec(int fd, bool on);
int fd_set_nonblock(int fd, bool on);
/*
 * flock(LOCK_EX) that gives up after timeout_ms with -ETIMEDOUT; 0 tries once (-EWOULDBLOCK);
 * a negative timeout waits for ever. Borrows SIGALRM for the wait.
 */
int fd_lock(int fd, int timeout_ms);
/* Milliseconds of CLOCK_MONOTONIC. */
uint64_t now_ms(void);
