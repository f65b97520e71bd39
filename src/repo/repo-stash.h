#pragma once

#include "repo/repo-snap.h"

/* In children of repo-stash.c; repo-restore.c has them. The argument is the stash's commit. */

/* Takes what the stash has out of the working tree; what is neither that nor as HEAD stays. */
repo_job_fn repo_stash_clean;
/* -EBUSY: something is in the way, which is named. */
repo_job_fn repo_stash_fits;
/* Puts files and index back. */
repo_job_fn repo_stash_restore;

struct repo_stash_arg {
	const char *oid, *ref;
};
