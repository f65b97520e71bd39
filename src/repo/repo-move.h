#pragma once

#include "repo/repo-parts.h"

/* Moves a branch to another commit, and updates the files of the working tree. */
struct repo_move {
	const char *ref;  /* refs/heads/…: HEAD will name it; "HEAD": it will be on no branch */
	const char *from; /* hex: commit of the current files; "": there are none yet */
	const char *to;
	bool force;	 /* overwrite all files: the caller has kept them */
	const char *why; /* for the reflog */
};

/* In the child: returns -EBUSY if files would be lost, or another worktree has the branch. */
int repo_move_plan(struct repo_job *j, const struct repo_move *m, struct err *err);
/* In the child: only the check for other worktrees. */
int repo_check_elsewhere(const struct repo *r, const char *ref, struct err *err);
/* In the child: finds or removes symbolic links in the working tree where this tree has
 * directories. Returns -EBUSY for a link that must not be removed. tree may be NULL. */
int repo_clear_links(git_repository *git, git_tree *tree, bool remove, struct err *err);
/* In the child: finds the commit of a branch, or of the base for a new branch. With follow, a
 * branch of ralph's own that the base contains moves to the base. */
int repo_find_branch(git_repository *git, const char *branch, const char *base, bool follow,
		     git_oid *ret, bool *ret_made, struct err *err);
/* In the parent: executes the plan; repo_recover() can finish it after a kill. */
int repo_move(struct repo *r, const struct repo_move *m, struct err *err);
int repo_move_recover(struct repo *r, char **ret_done, struct err *err);

/* In the parent: removes a worktree whose creation or removal was interrupted. */
int repo_worktree_recover(struct repo *r, char **ret_done, struct err *err);

/*
 * In the parent: keeps HEAD and the uncommitted changes as refs/ralph/KIND/BRANCH-TIME. *ret_ref is
 * NULL without uncommitted changes, unless `always`. base: the commit that the files are of, in the
 * place of HEAD; NULL: HEAD.
 */
int repo_keep(struct repo *r, const char *kind, const char *base, bool always, char **ret_ref,
	      struct err *err);
/* In the child: creates refs/ralph/KIND/BRANCH-TIME, and puts it into out as "ref". Names sort by
 * time, and never replace another reference. */
int repo_keep_ref(git_repository *git, const char *kind, const char *branch, const git_oid *oid,
		  json_t *out, struct err *err);
