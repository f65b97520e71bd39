#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <sys/types.h>

/*
 * Files that an agent may write too. Nothing is followed, nothing but a plain file is opened, no
 * more is read than the buffer may hold; what stands in the way of putting one back is removed.
 * Paths are relative to root and have no "." or "..".
 */

/* Reads it whole. 0, or a positive number when it is not to be had: shared_file_what() says why. */
enum shared_file_state {
	SHARED_FILE_READ,
	SHARED_FILE_GONE,
	SHARED_FILE_ODD,    /* a link, a directory, a pipe … */
	SHARED_FILE_HUGE,   /* more than ret may hold */
	SHARED_FILE_CLOSED, /* it may not be read */
};
enum shared_file_state shared_file_read(int root, const char *path, struct buf *ret);
const char *shared_file_what(enum shared_file_state s); /* "was removed", … */

/* Makes the directories too. The file is replaced in one step, unless it holds these bytes. */
int shared_file_put(int root, const char *path, const void *p, size_t n, mode_t mode,
		    struct err *err);
/* The mode of a plain file there, or `otherwise`. */
mode_t shared_file_mode(int root, const char *path, mode_t otherwise);
