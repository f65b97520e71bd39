#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

/*
 * Files of a working tree, byte for byte: without filters, and without following links, whatever
 * the agent does to the parent directories. root is the top of the tree; path is relative, as in
 * git. Modes are git's: 0100644, 0100755, 0120000 (the content is the link's target).
 */

/* -ENOENT: no such file; -EISDIR; -EINVAL: a pipe or the like; -ENOBUFS: more than b holds. */
int repo_file_read(int root, const char *path, struct buf *b, uint32_t *ret_mode);
/*
 * Replaces the file atomically; creates missing parent directories. The temporary file is in tmp,
 * the git directory, where nobody sees the remains of a kill, unless that is on another file
 * system.
 */
int repo_file_write(int root, int tmp, const char *path, const void *p, size_t n, uint32_t mode);
/* Removes the file and then its empty parent directories. Returns 0 when there is no file. */
int repo_file_remove(int root, const char *path);
