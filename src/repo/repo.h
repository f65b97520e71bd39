#pragma once

/*
 * ROOM: repo
 *
 * The host's git operations, by libgit2 in confined children: checks, merges, stashes, pushes,
 * importing commits. No hook, filter or setting of the repository runs. The library that it shares
 * with other programs is src/git.
 */

#include "base/err.h"
#include "base/json/json.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The user's repository. The host works on it while an agent may write to it.
 *
 * DOC: Theory of operation
 *
 * This process opens nothing of the repository. Each function below forks a child. The child can
 * write only the working tree and the git directory, can run no program, has limits of time and
 * memory, and answers in one bounded document (repo-work.c). It uses libgit2 with ralph's own
 * configuration, which takes only a few harmless keys from the user. Hooks, filters, monitors,
 * includes, helpers and drivers of the repository do not exist for it. Entries of a git directory
 * that lead elsewhere (links, pipes, alternates that were added later) are an error that names them
 * (repo-scan.c).
 *
 * An operation that moves a branch together with the files of its working tree is first noted in
 * the state directory, and repo_recover() finishes it after an interruption. See
 * docs/internals/git.md.
 *
 * All functions block, at most some minutes; call them when no command of the agent runs. They
 * return 0 or -errno; outputs are set only on success. A commit is its name in hex.
 */
#define REPO_OID_LEN 40

struct repo_oid {
	char hex[REPO_OID_LEN + 1]; /* "": none */
};

struct repo;

/*
 * Opens the repository of this workspace (a real path); -ENOENT: there is none. state: an existing
 * directory of the host, which the agent cannot reach, for data that must survive a kill.
 */
int repo_open(const char *workspace, const char *state, struct repo **ret, struct err *err);
void repo_free(struct repo *r);
DEFINE_FREEP(struct repo, repo_free)
#define cleanup_repo cleanup_(repo_freep)

const char *repo_root(const struct repo *r); /* the top of the working tree */

/*
 * Reads the user's settings at the start of a loop: remotes and their URLs, alternates, the
 * identity. It is taken once, before the first agent runs, and kept in the loop's state. Pushing
 * and reading use it, whatever was written since.
 */
int repo_view_take(struct repo *r, json_t **ret, struct err *err);
/* Uses this view from now on. */
int repo_view_use(struct repo *r, const json_t *view, struct err *err);

/* ret_branch: its name without refs/heads/, NULL when detached; the caller frees it. ret->hex is
 * "" when there is no commit yet. Both may be NULL. */
int repo_head(struct repo *r, struct repo_oid *ret, char **ret_branch, struct err *err);

/*
 * Returns the identity for commits from the user's settings; -ENOENT with a remedy if there is
 * none. It is used for GIT_AUTHOR_* and GIT_COMMITTER_* inside, and for repo_check(). The caller
 * frees both.
 */
int repo_identity(struct repo *r, char **ret_name, char **ret_email, struct err *err);

#define REPO_DIRTY_MAX 1000
/* Lists the changes against HEAD, as "M path" like `git status --short`, sorted, at most
 * REPO_DIRTY_MAX. .ralph and ignored files are left out. Control characters are escaped. */
int repo_dirty(struct repo *r, struct strv *ret, struct err *err);

/* Returns the paths (relative to the top of the working tree) that HEAD contains. */
int repo_tracked(struct repo *r, const struct strv *paths, struct strv *ret, struct err *err);

/*
 * Stashes the user's changes, new files included: removes them from the working tree and keeps them
 * as a commit at refs/ralph/stash/TIME, in the format of `git stash apply`. A copy goes to the
 * state directory, which the agent cannot reach. Only one stash can exist: -EEXIST. For a tree
 * without changes it returns 0, and repo_has_stash() is false.
 */
int repo_stash(struct repo *r, struct err *err);
bool repo_has_stash(struct repo *r);
/* Restores the stash. -EBUSY: it conflicts with the current files, and the stash stays. Returns 0
 * also without a stash. */
int repo_unstash(struct repo *r, struct err *err);
/* Puts the stash on top of `git stash list`, where the user finds it, and forgets it. */
int repo_stash_hand_over(struct repo *r, struct err *err);

/*
 * Finishes an operation that a kill interrupted. It is called once at the start, before anything
 * else. *ret_done is a sentence about it, or NULL; the caller frees it.
 */
int repo_recover(struct repo *r, char **ret_done, struct err *err);
/* Removes locks that a killed git left in the git directory since that time (seconds of the
 * real-time clock) and that no running process holds. Returns their number. */
int repo_clear_locks(struct repo *r, int64_t since, struct err *err);

/* Makes a branch name from a title: "ralph/add-a-login-page"; the caller frees it. Pure. */
char *repo_slug(const char *title);
/*
 * Switches the working tree to a branch. A new branch starts from base (a branch, a tag, a commit;
 * NULL: HEAD). The files that change must be clean. *ret_made: the branch is new.
 */
int repo_branch(struct repo *r, const char *branch, const char *base, bool *ret_made,
		struct err *err);
/* Like repo_branch(), but a branch of ralph's own (ralph/…) that was merged into base moves
 * forward to base. */
int repo_branch_on(struct repo *r, const char *branch, const char *base, bool *ret_made,
		   struct err *err);

/* Deletes a branch that is not checked out and is at this commit (NULL: at one that HEAD comes after);
 * else it stays, with an error. */
int repo_branch_drop(struct repo *r, const char *branch, const char *at, struct err *err);

struct repo_made {
	bool tree;	    /* the worktree is new */
	struct repo_oid at; /* where the branch, which is new, begins; "": it was there */
};

/*
 * Makes a worktree for a branch, which is made from base as above: REPO-worktrees/NAME, next to the
 * repository. An existing worktree of that branch is used. The caller frees *ret_path. ret_made may be
 * NULL.
 */
int repo_worktree_add(struct repo *r, const char *branch, const char *base, char **ret_path,
		      struct repo_made *ret_made, struct err *err);
/* Returns the bytes of a checkout, as the index has the sizes of the files. */
int repo_size(struct repo *r, uint64_t *ret, struct err *err);
/* Returns the path of the branch's worktree, even if it does not exist; the caller frees it. */
char *repo_worktree_path(const struct repo *r, const char *branch);
/* Removes a worktree without uncommitted changes; -EBUSY names one otherwise. The branch stays. */
int repo_worktree_remove(struct repo *r, const char *path, struct err *err);

/* Rules for an agent's commits. */
struct repo_rules {
	const char *name, *email; /* of author and committer; NULL: anybody */
	const struct strv *own;	  /* paths that are the agent's although they are protected: files,
				    * or directories with everything below; NULL: none */
	const struct strv *may_change; /* see protect_may_change(); NULL: none */
	const struct strv
		*named;	 /* programs that settings name, see workspace/guard.h; NULL: none */
	bool submodules; /* a submodule that is there may move to another commit */
	const struct strv *values;   /* secrets that the host knows; NULL: only by their shape */
	uint64_t blob_max, data_max; /* bytes; 0: REPO_BLOB_MAX, REPO_DATA_MAX */
	unsigned commits_max, paths_max; /* 0: REPO_COMMITS_MAX, REPO_PATHS_MAX */
};
#define REPO_BLOB_MAX (10 * MiB)
#define REPO_DATA_MAX (200 * MiB)
#define REPO_COMMITS_MAX 500
#define REPO_PATHS_MAX 50000

enum repo_severity {
	REPO_NOTE,   /* for the log only */
	REPO_WARN,   /* a person should review it */
	REPO_REJECT, /* these commits do not count */
};

struct repo_finding {
	enum repo_severity severity;
	char *rule;   /* "author", "protected", "size", "secret", "history", "submodule", "link",
		       * "name", "damaged" */
	char *commit; /* hex; "": all of them */
	char *path;   /* "": none; harmless for terminals */
	char *text;   /* a whole sentence, harmless for terminals, never a secret */
};

#define REPO_FINDINGS_MAX 200
struct repo_check_result {
	struct repo_finding *findings; /* the worst first */
	size_t n_findings;
	bool more;   /* more than REPO_FINDINGS_MAX were found */
	bool counts; /* no finding was a reason to reject */
	unsigned commits;
	uint64_t added, paths; /* bytes of new files; changed paths */
};

/*
 * Checks every commit after `from` ("": from nothing) up to `to`, not only their sum: a push sends
 * all of them. They must be a linear history on `from`: merges and rewritten history are rejected.
 * Bad commits are no error, but in the result; an error means that the check itself failed.
 * Unreadable objects are a finding.
 */
int repo_check(struct repo *r, const char *from, const char *to, const struct repo_rules *rules,
	       struct repo_check_result *ret, struct err *err);
void repo_check_done(struct repo_check_result *c);

/*
 * Lists the paths that ralph itself writes (files, or directories with everything below) and that
 * these commits change. The second list has those whose content in `to` differs from the working
 * tree.
 */
int repo_ours(struct repo *r, const char *from, const char *to, const struct strv *own,
	      struct strv *ret_paths, struct strv *ret_differ, struct err *err);

/*
 * Returns the change between two commits (from "": from nothing) as a patch of at most `max` bytes,
 * without .ralph; the caller frees it. -E2BIG: the change is larger. The content of binary files is
 * left out; control bytes are written as \xNN. Attributes of the repository have no effect.
 */
int repo_diff(struct repo *r, const char *from, const char *to, size_t max, char **ret,
	      struct err *err);

/*
 * Commits the working tree's version of these paths (relative to the top of the working tree), as far
 * as HEAD has them with other bytes, on the current branch, in the user's name. No other change becomes
 * a part of the commit. *ret: the head afterwards; "" without a branch.
 */
int repo_commit_marks(struct repo *r, const struct strv *paths, const char *message,
		      struct repo_oid *ret, struct err *err);

/*
 * Resets the current branch and its working tree to `oid`. of: the commit that the files are of, if it
 * is not HEAD's; NULL: HEAD's. The previous commits and the uncommitted changes are kept at refs/ralph/rejected/…: *ret_kept, which the caller frees, NULL when there was
 * nothing to keep. Untracked files stay unless they are in the way; ignored files stay.
 */
int repo_reset_to(struct repo *r, const char *of, const char *oid, char **ret_kept,
		  struct err *err);

/*
 * Merges a branch into the current one: in memory first, with the user's identity, and the message
 * unchanged. *ret: the new head. On conflicts it returns -EEXIST, changes nothing, and fills
 * `conflicts` with the paths.
 */
int repo_merge(struct repo *r, const char *branch, const char *message, struct repo_oid *ret,
	       struct strv *conflicts, struct err *err);

/*
 * Pushes a branch to a remote of the view (NULL: the branch's own, else the only one, else
 * "origin"), never by force. git runs in an empty repository of its own that only borrows the
 * objects, so only the settings of the view apply. git is looked up in `path`, which must hold no
 * directory that an agent can write. Its progress goes to the descriptor `progress` (-1: nowhere).
 * Errors say what to do.
 */
int repo_push(struct repo *r, const char *remote, const char *branch, const char *path,
	      int progress, struct err *err);
