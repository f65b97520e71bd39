#pragma once

#include "repo/repo-snap.h"

/* Jobs of repo-stash.c in its children, implemented in repo-restore.c. The argument is the
 * stash's commit. */

/* Removes the stashed changes from the working tree; files with later changes stay. */
repo_job_fn repo_stash_clean;
/* Returns -EBUSY and names the file when something is in the way. */
repo_job_fn repo_stash_fits;
/* Restores the files and the index. */
repo_job_fn repo_stash_restore;

struct repo_stash_arg {
	const char *oid, *ref;
};
