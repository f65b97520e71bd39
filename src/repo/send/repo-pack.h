#pragma once

#include "repo/repo.h"

/* For workers on other machines, which have no worktree here. */
#define REPO_SEND_MAX ((uint64_t)4 * GiB)

/* Writes a pack of this commit with all its history to the descriptor. -EFBIG: beyond REPO_SEND_MAX. */
int repo_pack_commit(struct repo *r, const char *commit, int fd, struct err *err);
/*
 * Points a branch of ralph's own to a commit that is there. fresh: the branch may be there already only
 * at that commit, -EEXIST. -EBUSY: it is checked out.
 */
int repo_branch_point(struct repo *r, const char *branch, const char *commit, bool fresh,
		      struct err *err);
