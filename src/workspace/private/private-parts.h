#pragma once

#include "workspace/private/private-git.h"

struct buf;

/* Shared by the files that implement private-git.h. */

#define PRIVATE_SMALL_MAX (16 * MiB)   /* of one file of settings, state or messages */
#define PRIVATE_REFS_MAX (64 * MiB)    /* of all references as text */
#define PRIVATE_INDEX_MAX (1024 * MiB) /* of the index with its shared part */
#define PRIVATE_COPY_MAX (256 * MiB)   /* of one tree of hooks or of an operation's state */
#define PRIVATE_FILES_MAX 20000	       /* in one of those */
#define PRIVATE_ALTERNATES_MAX 64      /* borrowed object directories, in a chain or not */

/* A regular file below dir, no link on the way; -ENOENT, -EINVAL for anything else, -ENOBUFS. */
int private_read(int dir, const char *name, struct buf *b);
/* A new file below at, 0644. */
int private_write(int at, const char *name, const void *p, size_t n);
/* The directories above the last part of name, below at. */
int private_mkdirs(int at, const char *name);

/* -ENOBUFS: there are too many of them. */
int private_add_bind(struct private_git *p, const char *source, const char *target);

/*
 * private-refs.c: the references of the repository as one packed-refs file. common: its own; dir:
 * of a linked worktree, which has some of its own, else -1. *ret_told: struct private_git's.
 */
int private_refs_write(int common, int dir, int at, char **ret_told, struct err *err);

/*
 * private-objects.c: the object directory `objects` is borrowed at `target`, with all that it
 * borrows from in turn. at: the private directory; -1: it is only planned.
 */
int private_objects_borrow(struct private_git *p, const char *objects, const char *target, int at,
			   struct err *err);

/* No submodules, no borrowed objects, no operation in progress: what git_stamp_source() covers. */
bool private_git_is_plain(const struct gitdir *git, int dir, int common);
