#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "git/libgit.h"
#include "workspace/branch-rule.h"
#include "workspace/gitdir.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Import of what an agent's git made in a private git directory into the user's repository:
 * docs/internals/private-git.md. The stream that git in the sandbox writes:
 *
 *	HEAD refs/heads/NAME | HEAD OID
 *	STATE NAME              for each operation in progress inside (MERGE_HEAD, rebase-merge …)
 *	OID refs/…              for each reference that is not as the host told it last
 *	                        an empty line
 *	PACK…                   the objects that the host does not have; none without references
 *
 * Each part below has its file. Everything runs in one process, which has given up all files but
 * those of the repository before it reads the first byte.
 */
#define IMPORT_REFS_MAX 4096	  /* changed references of one import */
#define IMPORT_TIPS_MAX 200000	  /* references of the user's, as they were told */
#define IMPORT_LOOSE_MAX 100	  /* objects that are kept one by one; more stay a pack */
#define IMPORT_DIR "ralph-import" /* of the git directory: what an import needs while it runs */
#define IMPORT_TIPS_FD 3	  /* where the tips are read */
#define IMPORT_LOCK_MS 20000	  /* another import into the same repository may take this long */

enum import_kind {
	IMPORT_BRANCH,
	IMPORT_TAG,
	IMPORT_OTHER, /* a stash, notes, a detached HEAD: never the user's */
};

/* One changed reference. */
struct import_row {
	char *ref; /* refs/…, or HEAD where it is detached inside */
	enum import_kind kind;
	git_oid inside;
	git_oid host, synced, user; /* zero: there is none */
	/* Afterwards: where both sides are, and the user's tip of that; zero: not known. */
	git_oid next_seen, next_base;
	enum branch_verdict verdict;
	const char *why; /* of BRANCH_HOLD */
	bool was_held;	 /* the same commit is held already */
	bool drop;	 /* what is held of it is not needed any more */
};

/* "OID REF" as the host told it when the private directory was made; sorted by name. */
struct import_tip {
	char *ref;
	git_oid oid;
};

struct import {
	struct gitdir git;
	const char *name; /* of the sandbox */
	git_repository *repo;
	git_odb *odb;	   /* the user's objects and the received ones */
	git_odb *received; /* the received ones alone; NULL: there are none */
	char *quarantine;  /* their directory */
	git_oid pack;	   /* the name of their pack */
	size_t n_objects;
	size_t n_links;	 /* gitlinks in the received trees */
	bool partial;	 /* the user's clone lacks objects that its remote has */
	bool may_switch; /* HEAD may follow the agent's: no command runs inside */
	struct import_tip *tips;
	size_t n_tips;
	char *told_head; /* the host's HEAD as it was told; NULL: it was detached */
	char *head;	 /* inside; NULL: it is detached there */
	bool busy;	 /* an operation is in progress inside */
	struct import_row *rows;
	size_t n_rows;
	char *host_head;      /* now; NULL: it is detached */
	git_oid host_tip;     /* zero: there is no commit yet */
	git_oid next_tip;     /* what HEAD will be; the same when it stays */
	char *switch_to;      /* the branch that HEAD goes to; NULL: it stays */
	bool settle_head;     /* both sides are on this branch now, and were not */
	const char *head_why; /* HEAD was not taken, because … */
	bool index_locked;
	int helper;    /* -1: none */
	bool confined; /* the lock of the repository is ours, and nothing else can be reached */
};

/* import-check.c: every object of the pack, before anything of it is used */
int import_check(struct import *im, struct err *err);
/* Does a commit of this branch add a gitlink? Only asked when im->n_links is not 0. */
bool import_adds_link(struct import *im, const struct import_row *row);

/* import-plan.c: what becomes of each reference */
int import_plan(struct import *im, struct err *err);
/* "refs/ralph/NAME/PART/" and the reference without refs/; PART may be "". The caller frees it. */
char *import_own_name(const struct import *im, const char *part, const char *ref);
int import_read_head(struct import *im, struct err *err);	    /* host_head and host_tip */
bool import_is_elsewhere(const struct import *im, const char *ref); /* in another worktree */
bool import_descends(const struct import *im, const git_oid *commit, const git_oid *ancestor);
/* The row of the host's current branch, if it is to be moved. */
struct import_row *import_current(const struct import *im);
bool import_is_taken(const struct import_row *row);

/*
 * import-index.c: takes the lock of the user's index and writes the new one beside it, for a HEAD
 * that goes from host_tip to next_tip. -EBUSY: not now, and *ret_why says why.
 * import_index_commit() puts it in the place of the old one, import_index_drop() gives up.
 */
int import_index_prepare(struct import *im, const char **ret_why, struct err *err);
bool import_index_is_ours(const struct import *im); /* an import has the lock, or died with it */
int import_index_commit(struct import *im, struct err *err);
void import_index_drop(struct import *im);

/*
 * import-git.c: host git for an index that libgit2 cannot write, in a helper that is started before
 * the import is confined; im->helper is -1 where none is needed. import_git_index() is true when
 * the new index is there.
 */
int import_git_start(struct import *im, struct err *err);
bool import_git_index(struct import *im);

/* import-move.c: objects, references and index become the user's, in this order */
int import_move_objects(struct import *im, struct err *err);
int import_move(struct import *im, struct err *err); /* after the index was prepared */
/* Finishes or undoes what a killed import left. */
int import_recover(struct import *im, struct err *err);

/* import.c: opens the user's repository and waits for other imports; then gives up all else. */
int import_open(struct import *im, const char *root, int *ret_lock, struct err *err);
int import_confine(struct import *im, struct err *err);
/* The index for next_tip, where it is another one; -EBUSY as import_index_prepare(). */
int import_prepare(struct import *im, const char **ret_why, struct err *err);
void import_done(struct import *im);
/*
 * `repo import ROOT NAME WHEN`. The stream is stdin, descriptor 3 has the tips. Fills out:
 * {"taken": […], "held": […], "head": REF, "head_held": {…}}.
 */
int import_run(const char *root, const char *name, bool may_switch, json_t *out, struct err *err);

/*
 * import-settle.c: what is held of a sandbox, for the user. settle_list() fills {"held": [{ref, as, oid,
 * ahead, behind}]}.
 */
int settle_list(const char *root, const char *name, json_t *out, struct err *err);
enum settle_how {
	SETTLE_MERGE,	 /* forward, or by a merge that touches no file */
	SETTLE_GITLINKS, /* the same, with new submodules */
	SETTLE_FORCE,	 /* the user's commits are replaced; their tip is kept in was/ */
	SETTLE_DROP,	 /* forget it */
};
/*
 * ref: one of those, "heads/main"; "": every branch that is held, and with SETTLE_DROP everything.
 * Fills {"settled": [{ref, how}], "left": [{ref, why}]}.
 */
int settle_run(const char *root, const char *name, enum settle_how how, const char *ref,
	       json_t *out, struct err *err);
/* The sandbox is gone: what imports noted about it goes, what is held stays. */
int settle_forget(const char *root, const char *name, struct err *err);
