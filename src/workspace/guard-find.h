#pragma once

#include "workspace/guard.h"

struct buf;

#include <dirent.h>
#include <sys/types.h>

/* Shared by the parts that look for what guard.h describes. */

/*
 * Mounts: each makes every start slower. With more of them no sandbox starts, because what was left
 * out would not be protected.
 */
#define GUARD_ITEMS_MAX 3000

/* A directory that is writable inside as a whole: nothing outside of those needs protection. */
struct guard_root {
	char *path;
	int fd;
};

struct finder {
	const struct guard_input *in;
	struct guard_root roots[2]; /* the directory, and a git directory outside of it */
	size_t n_roots;
	struct guard_item *found; /* no pins yet, in no order */
	size_t n_found;
	struct err refused;   /* why no sandbox can start here; the first reason counts */
	struct strv git_seen; /* git directories that were looked at */
	struct guard *out;
};

/* Opens what is at an absolute path below one of the roots, no link on the way; -EXDEV: below none
 * of them. With O_PATH | O_NOFOLLOW a link itself can be opened. */
int finder_open(const struct finder *f, const char *path, int flags);
/* Protects what is at the path now: a link's target, where that can be written inside, or the thing
 * itself. What is not there is left to whoever watches its place. */
void finder_protect(struct finder *f, const char *path, enum guard_kind kind, const char *why);
void finder_place(struct finder *f, enum protect_base base, const char *dir);
/* A directory where programs that the host runs by name may appear. */
void finder_programs(struct finder *f, const char *dir);
/* Something cannot be protected, so no sandbox starts. */
void finder_refuse(struct finder *f, const char *fmt, ...) printf_like(2, 3);
/* A small file below the roots as text; -ENOENT, -EFBIG … */
int finder_read(const struct finder *f, const char *path, struct buf *b);
/* Opens a directory for reading; NULL when it is none. */
DIR *finder_dir(const struct finder *f, const char *path);

/* guard-git.c: a git directory with its settings, hooks, submodules and worktrees */
void guard_git(struct finder *f, enum protect_base base, const char *dir, const char *root);
/* What stands as .git in this directory: a directory, a file that points, a link. */
void guard_dot_git(struct finder *f, const char *parent);
/* guard-named.c: what the settings of a git directory, and the user's own, name in the tree. dir:
 * NULL for the user's alone; root: where its files are, NULL: nowhere. */
void guard_named(struct finder *f, const char *dir, const char *root);
/* The same for a git directory that nobody inside sees. */
void guard_private(struct finder *f);
/* guard-tree.c: names anywhere in the tree */
void guard_tree(struct finder *f);
