#pragma once

/*
 * ROOM: repo
 *
 * What the host does with git, by libgit2 in confined children: checks, merges, stashes, pushes,
 * taking commits over. No hook, filter or setting of the repository runs. The library it shares
 * is git's.
 */

#include "base/err.h"
#include "base/json/json.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The user's repository, worked on by the host while an agent may write to it.
 *
 * DOC: Theory of operation
 *
 * Nothing of the repository is opened in this process. Each function below forks a child that can
 * write to the working tree and the git directory and nowhere else, can run no program, has limits
 * of time and memory, and answers in one bounded document (repo-work.c). In there is libgit2 with a
 * configuration of ours, into which only a few harmless keys of the user's are taken; hooks,
 * filters, monitors, includes, helpers and drivers of the repository do not exist for it. What in
 * a git directory would lead elsewhere (links, pipes, alternates that were not there at the start)
 * is an error that names it (repo-scan.c).
 *
 * What moves a branch together with the files of its working tree is written down in the state
 * directory first, and finished by repo_recover() when it was interrupted. See
 * docs/internals/git.md.
 *
 * All functions block, at most some minutes; call them when no command of the agent runs. 0 or
 * -errno; outputs only on success. A commit is its name in hex.
 */
#define REPO_OID_LEN 40

struct repo_oid {
	char hex[REPO_OID_LEN + 1]; /* "": none */
};

struct repo;

/*
 * The repository that this workspace (a real path) belongs to: -ENOENT where there is none. state:
 * a directory of the host's, outside of the agent's reach, for what must outlive a kill; it must
 * be there.
 */
int repo_open(const char *workspace, const char *state, struct repo **ret, struct err *err);
void repo_free(struct repo *r);
DEFINE_FREEP(struct repo, repo_free)
#define cleanup_repo cleanup_(repo_freep)

const char *repo_root(const struct repo *r); /* the top of the working tree */

/*
 * What the user's settings say at the start of a loop: remotes and their URLs, alternates, who
 * commits. To be taken once, before the first agent runs, and kept in the loop's state: pushing
 * and reading go by it, whatever was written since.
 */
int repo_view_take(struct repo *r, json_t **ret, struct err *err);
/* Works by this view from now on. */
int repo_view_use(struct repo *r, const json_t *view, struct err *err);

/* *ret_branch: its name without refs/heads/, NULL when detached; the caller frees it. ret->hex is
 * "" when there is no commit yet. Both may be NULL. */
int repo_head(struct repo *r, struct repo_oid *ret, char **ret_branch, struct err *err);

/*
 * Who makes commits: as the user's settings say, else -ENOENT with what to do. For GIT_AUTHOR_*,
 * GIT_COMMITTER_* inside, and for repo_check(). The caller frees both.
 */
int repo_identity(struct repo *r, char **ret_name, char **ret_email, struct err *err);

#define REPO_DIRTY_MAX 1000
/* What differs from HEAD, "M path" as `git status --short` says it, sorted, at most
 * REPO_DIRTY_MAX; .ralph is left out, and what is ignored. Control characters are escaped. */
int repo_dirty(struct repo *r, struct strv *ret, struct err *err);

/* Those of these paths (relative to the working tree's top) that HEAD has. */
int repo_tracked(struct repo *r, const struct strv *paths, struct strv *ret, struct err *err);

/*
 * Takes the user's changes, new files included, out of the working tree and keeps them as a commit
 * of the form that `git stash apply` knows, at refs/ralph/stash/TIME, and once more in the state
 * directory, out of the agent's reach. One at a time: -EEXIST when there is one. A tree without
 * changes: 0, and repo_has_stash() is false.
 */
int repo_stash(struct repo *r, struct err *err);
bool repo_has_stash(struct repo *r);
/* Puts them back. -EBUSY: they do not fit with what is there now; the stash stays, and the message
 * says how to get at it. 0 also when there is none. */
int repo_unstash(struct repo *r, struct err *err);

/*
 * Finishes what a kill interrupted: to be called once at the start, before anything else. *ret_done
 * says what, a sentence, or NULL for nothing; the caller frees it.
 */
int repo_recover(struct repo *r, char **ret_done, struct err *err);
/* Locks that a killed git left in the git directory since that time (seconds of the real-time
 * clock): nobody who runs has them. Their number. */
int repo_clear_locks(struct repo *r, int64_t since, struct err *err);

/* "ralph/add-a-login-page": what a title becomes; the caller frees it. Pure. */
char *repo_slug(const char *title);
/*
 * Switches the working tree to a branch; one that is not there is made from base (a branch, a tag,
 * a commit; NULL: HEAD). The tree must be clean in what changes. *ret_made: it is new.
 */
int repo_branch(struct repo *r, const char *branch, const char *base, bool *ret_made,
		struct err *err);
/* The same, and a branch of ralph's own (ralph/…) that is wholly in base, since it was merged, goes
 * on from there. */
int repo_branch_on(struct repo *r, const char *branch, const char *base, bool *ret_made,
		   struct err *err);

/*
 * A worktree for a branch, which is made from base as above: REPO-worktrees/NAME, beside the
 * repository. One that is there for that branch is used. The caller frees *ret_path.
 */
int repo_worktree_add(struct repo *r, const char *branch, const char *base, char **ret_path,
		      struct err *err);
/* Where that is, or would be; the caller frees it. */
char *repo_worktree_path(const struct repo *r, const char *branch);
/* Removes it when nothing in it is uncommitted; -EBUSY: something is, which is named. The branch
 * stays. */
int repo_worktree_remove(struct repo *r, const char *path, struct err *err);

/* What is asked of an agent's commits. */
struct repo_rules {
	const char *name, *email;  /* of author and committer; NULL: anybody */
	const struct strv *own;	   /* paths that are the agent's although they are protected: files,
				    * or directories with everything below; NULL: none */
	const struct strv *values; /* secrets that the host knows; NULL: only by their shape */
	uint64_t blob_max, data_max;	 /* bytes; 0: REPO_BLOB_MAX, REPO_DATA_MAX */
	unsigned commits_max, paths_max; /* 0: REPO_COMMITS_MAX, REPO_PATHS_MAX */
};
#define REPO_BLOB_MAX (10 * MiB)
#define REPO_DATA_MAX (200 * MiB)
#define REPO_COMMITS_MAX 500
#define REPO_PATHS_MAX 50000

enum repo_severity {
	REPO_NOTE,   /* for the log */
	REPO_WARN,   /* a person should look at it */
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
	bool more;   /* there were more than REPO_FINDINGS_MAX */
	bool counts; /* nothing was a reason to reject */
	unsigned commits;
	uint64_t added, paths; /* bytes of new files; changed paths */
};

/*
 * Looks at every commit from `from` (not itself; "": from nothing) to `to`, not only at what they
 * come to: a branch is pushed with all of them. They must be a line upon `from`: merges and
 * rewritten history are reasons to reject. 0 however bad they are: the result says so; an error is
 * one of looking. Objects that cannot be read are a finding.
 */
int repo_check(struct repo *r, const char *from, const char *to, const struct repo_rules *rules,
	       struct repo_check_result *ret, struct err *err);
void repo_check_done(struct repo_check_result *c);

/*
 * Which of the paths that ralph itself writes (files, or directories with everything below) these
 * commits change, and which of them are in `to` not as they are in the working tree.
 */
int repo_ours(struct repo *r, const char *from, const char *to, const struct strv *own,
	      struct strv *ret_paths, struct strv *ret_differ, struct err *err);

/*
 * Puts the branch that is checked out, and its working tree, back to `oid`. What was there, with
 * what was not committed, is kept at refs/ralph/rejected/…: *ret_kept, which the caller frees, NULL
 * when there was nothing to keep. Untracked files stay where they do not stand in the way; ignored
 * ones stay.
 */
int repo_reset_to(struct repo *r, const char *oid, char **ret_kept, struct err *err);

/*
 * Merges a branch into the one that is checked out: in memory first, by the user's identity, no
 * line added to the message. *ret: the new head. With conflicts -EEXIST, nothing has changed, and
 * `conflicts` has their paths.
 */
int repo_merge(struct repo *r, const char *branch, const char *message, struct repo_oid *ret,
	       struct strv *conflicts, struct err *err);

/*
 * Pushes a branch to a remote of the view (NULL: the branch's own, else the only one, else
 * "origin"), never by force. git does it, in an empty repository of its own that only borrows the
 * objects: nothing of this repository's settings applies but what the view has. It is looked for on
 * `path`, which must have nothing that an agent can write. Its progress goes to the descriptor
 * `progress` (-1: nowhere). Errors say what to do.
 */
int repo_push(struct repo *r, const char *remote, const char *branch, const char *path,
	      int progress, struct err *err);
