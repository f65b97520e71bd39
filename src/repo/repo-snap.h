#pragma once

#include "repo/repo-parts.h"

/*
 * A working tree with its index as commits, in the form of git's stash: the commit's tree has the
 * files that git knows, its parents are HEAD, a commit of the index, and one of new files, if any.
 */
struct repo_snap {
	git_oid oid;   /* zero: nothing differs from HEAD */
	unsigned left; /* files that could not be taken: too large, or none */
};

#define REPO_SNAP_FILE_MAX (256 * MiB)
#define REPO_SNAP_MAX (1 * GiB)

/* strict: what cannot be taken is an error, not left out. */
int repo_snap(struct repo_job *j, const char *message, bool strict, struct repo_snap *ret,
	      struct err *err);

/* The trees of one: base (HEAD then), index, work, and fresh, the new files, which may be NULL. */
struct repo_snap_trees {
	git_tree *base, *index, *work, *fresh;
};
int repo_snap_trees(git_repository *git, const git_oid *oid, struct repo_snap_trees *ret,
		    struct err *err);
void repo_snap_trees_done(struct repo_snap_trees *t);
