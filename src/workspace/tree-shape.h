#pragma once

#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/*
 * The directories of a tree as a walk met them, so that a later one need not read the names of those
 * that are the same. A directory is the same if its inode and its change time are: every name that
 * comes or goes changes that time, nobody can set it, and it is compared for equality, so that a
 * clock that steps back hides nothing. Only for local file systems that are known to keep this, and
 * never for a directory that changed less than a tick of the clock before it was looked at.
 */
#define TREE_SHAPE_MAX 100000 /* directories; what is beyond is read again */

struct tree_shape;
#define TREE_SHAPE_NONE ((size_t)-1)

struct tree_shape *tree_shape_new(int top);
struct tree_shape *tree_shape_free(struct tree_shape *s);
DEFINE_FREEP(struct tree_shape, tree_shape_free)

/*
 * Writing it down, in the order of the walk: a directory, all that is in it, its end. st is from
 * before its names were read. matters: its names are to be read again in any case.
 */
size_t tree_shape_add(struct tree_shape *s, const char *name, const struct stat *st);
void tree_shape_end(struct tree_shape *s, size_t i, bool matters);

size_t tree_shape_top(const struct tree_shape *s);
/* Is it the directory of then, with the same names, of which none matters? */
bool tree_shape_same(const struct tree_shape *s, size_t i, const struct stat *st);
/* The first directory in it, or the one after `child`; TREE_SHAPE_NONE: there is none. */
size_t tree_shape_next(const struct tree_shape *s, size_t i, size_t child);
const char *tree_shape_name(const struct tree_shape *s, size_t i);
/* The directory of this name in i, not far after *hint, the one that was found before. */
size_t tree_shape_find(const struct tree_shape *s, size_t i, const char *name, size_t *hint);
