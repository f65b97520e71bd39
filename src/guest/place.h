#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * Paths of a root that is being built. `root` stands for "/": no link leads out of it, whatever an
 * agent once put in a directory that is bound there. All give a descriptor or 0, else -errno.
 */
int place_open(int root, const char *path, int flags);
/* The place of a mount: what is there, else an empty directory or file, with what is above it. */
int place_make(int root, const char *path, bool dir);
int place_dir(int root, const char *path, mode_t mode);
int place_symlink(int root, const char *path, const char *text);
/* A new file, open for writing. */
int place_file(int root, const char *path, mode_t mode);
