#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct buf;
struct strv;

/* Pure string work: nothing here touches the file system until path_real(). */
char *path_join(const char *a, const char *b);	    /* one slash between; b may be absolute */
const char *path_base(const char *path);	    /* the last component, within path */
char *path_dir(const char *path);		    /* everything before the last component */
bool path_under(const char *path, const char *dir); /* equal to dir, or below it */
bool path_is_normal(const char *path);		    /* absolute, no empty, "." or ".." component */
/* path as seen from dir, an absolute path, with "." and ".." taken by their text alone. */
char *path_plain(const char *dir, const char *path);
/* Does a link below dir lead out of it? plain: what was asked for, real: where it is. */
bool path_leads_out(const char *plain, const char *real, const char *dir);

/* realpath(3) with a sentence: the canonical path of something that exists. */
int path_real(const char *path, char **ret, struct err *err);

/*
 * Opens name below dirfd without leaving it and without following any symlink (openat2
 * RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS): the only way to open what an agent may have written.
 */
int path_open_beneath(int dirfd, const char *name, int flags, mode_t mode);

/* Opens the directory of rel below root, made where it is missing; no link is followed. */
int path_make_parents(int root, const char *rel, mode_t mode);
/*
 * Adds the paths DIR/… below root that match a pattern, sorted, until ret has max; '*' is within a
 * name, and dir ("": root itself) is no pattern. Links are not followed, and directories that
 * cannot be read are skipped.
 */
void path_glob_beneath(int root, const char *dir, const char *pattern, size_t max,
		       struct strv *ret);

/* mkdir -p; existing directories keep their mode. */
int path_mkdirs(const char *path, mode_t mode, struct err *err);
/* A directory that must be ours: made 0700, else refused when it is a link, another user's, or
 * open to others. */
int path_private_dir(const char *path, struct err *err);
/* Gives the owner of the directory `name` all rights in it again; anything else there, a link too,
 * is left alone: -ENOTDIR, -ELOOP. */
int path_open_up(int dirfd, const char *name);
/* Whole file, at most b->max. Below a directory no link is followed; a path from AT_FDCWD is the
 * user's own, and may lead over links. */
int path_read(int dirfd, const char *name, struct buf *b);
/* Replaces name below dirfd in one step: temporary file, write, fsync when asked, rename. */
enum path_write_flags { PATH_WRITE_SYNC = 1 << 0 };
int path_write_atomic(int dirfd, const char *name, const void *p, size_t n, mode_t mode,
		      enum path_write_flags flags);
/*
 * Removes name below dirfd with everything in it; never follows a link, never leaves the file
 * system it started on, opens directories that their owner made unreadable. 0 when there is
 * nothing.
 */
int path_remove_tree(int dirfd, const char *name, struct err *err);
