#pragma once

#include "repo/repo-parts.h"

/* A branch gets another commit, and the working tree its files. */
struct repo_move {
	const char *ref;  /* refs/heads/…: HEAD becomes this */
	const char *from; /* hex: what the files are of; "": there are none yet */
	const char *to;
	bool force;	 /* whatever the files are: the caller has kept them */
	const char *why; /* for the log of references */
};

/* In the child: -EBUSY where files would be lost, or another worktree has the branch. */
int repo_move_plan(struct repo_job *j, const struct repo_move *m, struct err *err);
/* In the child: the second of these alone. */
int repo_check_elsewhere(const struct repo *r, const char *ref, struct err *err);
/* In the child: links in the working tree where this tree has directories; -EBUSY for one that is
 * not to be removed. tree may be NULL. */
int repo_clear_links(git_repository *git, git_tree *tree, bool remove, struct err *err);
/* In the child: the commit of a branch, or of the base it is to be made from; with follow also
 * where a branch of ralph's own is wholly in that base. */
int repo_find_branch(git_repository *git, const char *branch, const char *base, bool follow,
		     git_oid *ret, bool *ret_made, struct err *err);
/* In the parent: does what was planned, and can be finished when it is killed. */
int repo_move(struct repo *r, const struct repo_move *m, struct err *err);
int repo_move_recover(struct repo *r, char **ret_done, struct err *err);

/* In the parent, likewise, for a worktree that was half made: it goes. */
int repo_worktree_recover(struct repo *r, char **ret_done, struct err *err);

/*
 * In the parent: keeps HEAD with what is not committed as refs/ralph/KIND/BRANCH-TIME. *ret_ref:
 * NULL where nothing is uncommitted, unless `always`.
 */
int repo_keep(struct repo *r, const char *kind, bool always, char **ret_ref, struct err *err);
