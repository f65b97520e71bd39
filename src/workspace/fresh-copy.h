#pragma once

#include <stdbool.h>

/*
 * Puts a new file with the same content and mode in the place of the file `name` below dirfd, so
 * that descriptors and other names of the old one no longer lead to it. -EINVAL: no regular file.
 */
int fresh_copy(int dirfd, const char *name);
/* Has anybody the file open for writing? Where the system cannot tell, yes. */
bool fresh_is_written(int dirfd, const char *name);
/* The same for every file below a path that has more than one name; returns how many there were, or
 * -errno. */
int fresh_unshare(int dirfd, const char *name);
