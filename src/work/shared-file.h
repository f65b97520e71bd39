#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <sys/types.h>

/*
 * Files that an agent may write too. Nothing is followed, nothing but a plain file is opened, no
 * more is read than the buffer may hold; what stands in the way of putting one back is removed.
 * Paths are relative to root and have no "." or "..".
 */

/* Reads it whole. 0, or a positive number when it is not to be had: own_what() says why. */
enum own_state {
	OWN_READ,
	OWN_GONE,
	OWN_ODD,    /* a link, a directory, a pipe … */
	OWN_HUGE,   /* more than ret may hold */
	OWN_CLOSED, /* it may not be read */
};
enum own_state own_read(int root, const char *path, struct buf *ret);
const char *own_what(enum own_state s); /* "was removed", … */

/* Makes the directories too. The file is replaced in one step, unless it holds these bytes. */
int own_put(int root, const char *path, const void *p, size_t n, mode_t mode, struct err *err);
/* The mode of a plain file there, or `otherwise`. */
mode_t own_mode(int root, const char *path, mode_t otherwise);
