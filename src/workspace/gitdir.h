#pragma once

#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <string.h>

/*
 * Which repository a workspace belongs to, read without libgit2 (it would cost more than the rest
 * of a short run). Everything read here may have been written by an agent: reads are bounded,
 * links are not followed, and a .git file that points elsewhere counts only when the place it
 * points to names this workspace in turn, so that nobody can claim another project's state.
 */
struct gitdir {
	char *root; /* directory that holds .git, or is a bare repository; NULL: no repository, and all others are NULL too
		       */
	char *dir;  /* the git directory, real path */
	char *common; /* the common directory, real path: shared by worktrees */
	char *branch; /* NULL: detached, unborn without a name, or odd */
	char *note;   /* why something that looks like a repository does not count; may be NULL */
};

/*
 * Looks in the workspace (a real path) and its parents, not above or at `stop` ($HOME; may be
 * NULL) unless that is the workspace itself, and not across file systems. 0 also when there is no
 * repository.
 */
int gitdir_find(const char *workspace, const char *stop, struct gitdir *ret, struct err *err);
void gitdir_done(struct gitdir *g);

static inline bool gitdir_is_bare(const struct gitdir *g)
{
	return g->root && streq(g->root, g->dir);
}

/* The address of the remote "origin" as the repository's configuration has it; NULL: there is none.
 * The caller frees it. */
char *gitdir_origin(const struct gitdir *g);

#define GITDIR_KEY_LEN 64
/* The instance key: hex SHA-256 of the common directory's path, else of the workspace's. */
void gitdir_key(const struct gitdir *g, const char *workspace, char ret[GITDIR_KEY_LEN + 1]);
