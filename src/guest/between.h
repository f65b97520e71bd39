#pragma once

#include "base/err.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * A file that a command is handed can be opened again through /proc/self/fd, with more access than
 * the descriptor gives. Landlock holds that, from ABI GUEST_LANDLOCK_FILES on. On an older kernel
 * the minder keeps the file, the command gets a pipe, and the minder copies.
 *
 *	between_open()    before the payload is forked: puts pipes in the place of files
 *	between_started() afterwards: the command's ends are the command's alone
 *	between_poll(), between_copy()    around each poll(); a copy never waits for the command
 *	between_drain()   when the command has ended: what it has written last
 *
 * The command's stdin is read ahead, by no more than a pipe holds, and cannot be sought in.
 */
#define BETWEEN_MAX 3 /* stdin, stdout, stderr */

struct between {
	struct between_row {
		int file,
			ours; /* the file, and our end of the pipe; -1: nothing to copy any more */
		int theirs;   /* until the payload is forked */
		bool in;      /* the command reads it */
	} rows[BETWEEN_MAX];
	size_t n;
};

/* Changes stdio where a file needs it; the descriptors that were there stay the caller's. */
int between_open(struct between *b, int stdio[BETWEEN_MAX], struct err *err);
void between_started(struct between *b);
/* Fills in up to BETWEEN_MAX rows and returns their number. */
size_t between_poll(const struct between *b, struct pollfd *p);
void between_copy(struct between *b);
void between_drain(struct between *b);
