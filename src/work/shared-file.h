#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <sys/types.h>

/*
 * Files that an agent may write too. Symbolic links are not followed, only regular files are
 * opened, and no more is read than the buffer may hold. Anything in the way is removed when a file
 * is restored. Paths are relative to root and have no "." or "..".
 */

/* Reads the whole file. Returns 0, or the reason why it cannot be read: see shared_file_what(). */
enum shared_file_state {
	SHARED_FILE_READ,
	SHARED_FILE_GONE,
	SHARED_FILE_ODD,    /* a link, a directory, a pipe … */
	SHARED_FILE_HUGE,   /* more than ret may hold */
	SHARED_FILE_CLOSED, /* permission denied */
};
enum shared_file_state shared_file_read(int root, const char *path, struct buf *ret);
const char *shared_file_what(enum shared_file_state s); /* "was removed", … */

/* Creates the directories too. The file is replaced atomically, unless it already holds these
 * bytes. */
int shared_file_put(int root, const char *path, const void *p, size_t n, mode_t mode,
		    struct err *err);
/* Returns the mode of a regular file, or `otherwise`. */
mode_t shared_file_mode(int root, const char *path, mode_t otherwise);
