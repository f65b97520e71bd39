#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

/*
 * Files of a working tree as they are, byte for byte: no filter, and no link is followed, whatever
 * the agent makes of the directories on the way. root: its top; path: as git has it. The modes are
 * git's: 0100644, 0100755, 0120000 (the content is the link's text).
 */

/* -ENOENT: nothing is there; -EISDIR; -EINVAL: a pipe or the like; -ENOBUFS: more than b holds. */
int repo_file_read(int root, const char *path, struct buf *b, uint32_t *ret_mode);
/*
 * Replaces what is there in one step; makes directories on the way. It is written in tmp, the git
 * directory, where nobody sees a half of it that a kill left, unless that is on another file
 * system.
 */
int repo_file_write(int root, int tmp, const char *path, const void *p, size_t n, uint32_t mode);
/* And the directories above that are empty then. 0 when it is not there. */
int repo_file_remove(int root, const char *path);
