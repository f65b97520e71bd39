#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Files and directories that get new inodes, so that descriptors (O_PATH too), mappings, working
 * directories and other names of the old ones no longer lead to what is at the path.
 *
 * fresh_replace(): the file, or the directory with everything below it; shallow: the directory
 * alone, what is in it stays the same. A program that is writing
 * one of them gets `writer_ms` to finish. -ENOENT: it is gone. -EINVAL: neither file nor directory.
 * -EFBIG: more than FRESH_MAX bytes or FRESH_FILES_MAX names.
 */
#define FRESH_MAX (256ULL * 1024 * 1024)
#define FRESH_FILES_MAX 10000
int fresh_replace(int dirfd, const char *name, bool shallow, uint64_t writer_ms);
/* Every file below a path that has more than one name; returns how many there were, or -errno. */
int fresh_unshare(int dirfd, const char *name);
