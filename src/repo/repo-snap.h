#pragma once

#include "repo/repo-parts.h"

/*
 * A working tree and its index as commits, in the format of git's stash. The commit's tree has the
 * tracked files. Its parents are HEAD, a commit of the index, and one of the new files, if any.
 */
struct repo_snap {
	git_oid oid;   /* zero: nothing differs from HEAD */
	unsigned left; /* skipped files: too large, or not regular */
};

#define REPO_SNAP_FILE_MAX (256 * MiB)
#define REPO_SNAP_MAX (1 * GiB)

struct repo_snap_how {
	const char *message;
	bool strict;	     /* a file that cannot be included is an error */
	const git_oid *base; /* the commit that the files are of; NULL: HEAD, with the index */
};
int repo_snap(struct repo_job *j, const struct repo_snap_how *how, struct repo_snap *ret,
	      struct err *err);

/* The trees of a snapshot: base (HEAD at that time), index, work, and fresh (new files, may be
 * NULL). */
struct repo_snap_trees {
	git_tree *base, *index, *work, *fresh;
};
int repo_snap_trees(git_repository *git, const git_oid *oid, struct repo_snap_trees *ret,
		    struct err *err);
void repo_snap_trees_done(struct repo_snap_trees *t);
