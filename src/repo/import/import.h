#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "base/strv.h"
#include "git/libgit.h"
#include "repo/wide/wide-names.h"
#include "workspace/branch-rule.h"
#include "workspace/gitdir.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Import of what an agent's git made in a private git directory into the user's repository:
 * docs/internals/private-git.md. The stream that git in the sandbox writes:
 *
 *	LFS LENGTH SHA256       a file of git-lfs, and then its bytes; as many as there are
 *	HEAD refs/heads/NAME | HEAD OID
 *	STATE NAME              for each operation in progress inside (MERGE_HEAD, rebase-merge …)
 *	OID refs/…              for each reference that is not as the host told it last
 *	                        an empty line
 *	PACK…                   the objects that the host does not have; none without references
 *
 * Before all that, for each submodule, "MODULE LENGTH PATH" and a stream of the same kind, LENGTH
 * bytes of it. PATH is that of its git directory below the repository's, as it was told.
 *
 * Each part below has its file. Everything runs in one process, which has given up all files but
 * those of the repository before it reads the first byte.
 */
#define IMPORT_REFS_MAX 4096	  /* changed references of one import */
#define IMPORT_TIPS_MAX 200000	  /* references of the user's, as they were told */
#define IMPORT_MODULES_MAX 64	  /* submodules, nested ones included */
#define IMPORT_LFS_MAX 10000	  /* files of git-lfs in one import */
#define IMPORT_LOOSE_MAX 100	  /* objects that may be kept one by one; more stay a pack */
#define IMPORT_DIR "ralph-import" /* of the git directory: what an import needs while it runs */
#define IMPORT_TIPS_FD 3	  /* what the sandbox was told */
#define IMPORT_LOCK_MS 100000	  /* other imports into the same repository may take this long */

enum import_kind {
	IMPORT_BRANCH,
	IMPORT_TAG,
	IMPORT_OTHER, /* a stash, notes, a detached HEAD: never the user's */
};

/* What an import may do: the last word of `repo import`. */
enum import_when {
	IMPORT_BUSY, /* by the rule; HEAD stays: a command runs inside */
	IMPORT_IDLE, /* by the rule; HEAD may follow the agent's */
	IMPORT_HOLD, /* nothing of the user's moves: a loop judges what is held, and moves its branch */
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
	char *look;	 /* such a reason, if looking at the commits gave it */
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
	const struct strv *
		named; /* programs in the tree that settings name, see workspace/guard.h; NULL: none */
	char *below;  /* of a submodule: its directory in the repository; NULL: not known */
	char *module; /* of a submodule: the path that it was told by */
	char *made;   /* of a submodule that is new: where it is made; NULL: it is not */
	struct import *modules; /* of the repository, IMPORT_MODULES_MAX of them */
	size_t n_modules;
	int lock;	  /* of a submodule; -1: none */
	const char *name; /* of the sandbox */
	git_repository *repo;
	struct wide *wide;	 /* names are SHA-256, see repo/wide/wide.h; NULL: they are SHA-1 */
	git_odb *odb;		 /* the user's objects and the received ones */
	git_odb *received;	 /* the received ones alone; NULL: there are none */
	char *quarantine;	 /* their directory */
	char pack[WIDE_HEX + 1]; /* the name of their pack */
	char *keep; /* a file that keeps their pack from `git gc`; NULL: there is none */
	size_t n_objects;
	git_oid *borrowed; /* objects of the user's that they name */
	size_t n_borrowed;
	size_t n_lfs; /* files of git-lfs */
	bool partial; /* the user's clone lacks objects that its remote has */
	enum import_when when;
	struct import_tip *tips;
	size_t n_tips;
	/* A HEAD as text is a branch, or the commit where it is detached. */
	char *told_head;  /* the host's as it was told */
	char *told_state; /* operations of the user's that were in progress then */
	char *head;	  /* the branch inside; NULL: it is detached there */
	bool busy;	  /* an operation is in progress inside */
	struct import_row *rows;
	size_t n_rows;
	char *host_head;      /* now; NULL: it is detached */
	git_oid host_tip;     /* zero: there is no commit yet */
	git_oid next_tip;     /* what HEAD will be; the same when it stays */
	char *switch_to;      /* what HEAD becomes, as text; NULL: it stays */
	char *settle_head;    /* both sides are here now, and were not */
	bool finishes;	      /* the agent ended an operation that the user had begun */
	const char *head_why; /* HEAD was not taken, because … */
	bool again;	      /* what was not taken may be taken later, without a change inside */
	bool index_locked;
	bool fresh;		    /* the repository is made by this import */
	uint64_t began_ms, told_ms; /* of the progress */
	bool own;		    /* IMPORT_DIR is this import's and goes with it */
	int helper;		    /* -1: none */
};

struct buf;
struct repo_stream;
struct wide;

/*
 * import-name.c: names of objects as text. import_hex() of the zero name is "-"; import_oid() takes the
 * first import_hex_len() digits and does not look at what follows them.
 */
struct import_hex {
	char v[WIDE_HEX + 1];
};
size_t import_hex_len(const struct import *im);
const char *import_hex(const struct import *im, const git_oid *oid, struct import_hex *h);
bool import_oid(const struct import *im, const char *text, git_oid *ret);

/* import-stream.c: the lines up to the empty one become rows. line has the first one already; r: what
 * reading it said. */
int import_take_lines(struct import *im, struct repo_stream *s, struct buf *line, int r,
		      struct err *err);

/* import-lfs.c: "LENGTH NAME" of a file, whose bytes follow; and all of them become the user's. */
int import_take_lfs(struct import *im, struct repo_stream *s, const char *line, struct err *err);
int import_move_lfs(struct import *im, struct err *err);

/* import-check.c: every object of the pack, before anything of it is used */
int import_check(struct import *im, struct err *err);

/*
 * import-look.c: what the commits of a row change that the user's branches do not have. Its trees need
 * not be among the received ones: what is held, or was, is in the user's objects too.
 */
#define IMPORT_LOOK_MAX 100 /* paths that are named; more are counted */
struct import_look {
	bool links;  /* a commit adds a submodule */
	bool below;  /* a commit moves a submodule to one that is held there */
	bool failed; /* something could not be looked at */
	/* Files that the host runs, as they are shown, and the host's use of each. */
	struct strv paths, why;
	size_t n_paths;
};
void import_look(struct import *im, const struct import_row *row, struct import_look *ret);
void import_look_done(struct import_look *look);
/* Why such a row is held; NULL: it need not be. The caller frees it. */
char *import_look_says(const struct import_look *look);

/* import-plan.c: what becomes of each reference */
int import_plan(struct import *im, struct err *err);
/* "refs/ralph/NAME/PART/" and the reference without refs/; PART may be "". The caller frees it. */
char *import_own_name(const struct import *im, const char *part, const char *ref);
int import_read_head(struct import *im, struct err *err);	    /* host_head and host_tip */
bool import_is_elsewhere(const struct import *im, const char *ref); /* in another worktree */
bool import_descends(const struct import *im, const git_oid *commit, const git_oid *ancestor);
/* The row of the host's current branch, if it is to be moved. */
struct import_row *import_current(const struct import *im);
struct import_row *import_find_row(const struct import *im, const char *ref);
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

/*
 * import-objects.c: received objects become the user's, and `git gc` leaves them alone until
 * import_release(); import_release_left() is for what a killed import left. import_check_there():
 * -EAGAIN if git removed something that the rows need; reachable: or might remove it.
 */
int import_move_objects(struct import *im, struct err *err);
void import_release(struct import *im);
void import_release_left(const struct import *im);
int import_check_there(const struct import *im, bool reachable, struct err *err);

/* import-move.c: references and index become the user's, in this order */
int import_move(struct import *im, struct err *err); /* after the index was prepared */
/* Finishes or undoes what a killed import left. */
int import_recover(struct import *im, struct err *err);

/*
 * An import that takes longer than a second says so on descriptor 4, if that is open: lines "receive
 * DONE TOTAL" and "check DONE 0", in objects. They are not waited for.
 */
void import_progress(struct import *im, const char *what, size_t done, size_t total);

/* import.c: opens the user's repository and waits for other imports; then gives up all else. */

int import_open(struct import *im, const char *root, int *ret_lock, struct err *err);
int import_read_tips(struct import *im, struct err *err);
int import_confine(struct import *im, struct err *err);
/* Opens the submodules of the user's, too. */
int import_open_modules(struct import *im, struct err *err);
/* The index for next_tip, where it is another one; -EBUSY as import_index_prepare(). */
int import_prepare(struct import *im, const char **ret_why, struct err *err);
void import_done(struct import *im);
/* The repository, the sandbox, and programs in the tree that settings of the user name (workspace/guard.h). */
struct import_input {
	const char *root, *name;
	struct strv named;
};
/*
 * `repo import ROOT NAME WHEN`. The stream is stdin, descriptor 3 has the tips. Fills out:
 * {"taken": […], "held": […], "head": REF, "head_held": {…}, "again": true}, and for submodules where
 * something changed "modules": [{"module": PATH, "taken": …}].
 */
int import_run(const struct import_input *in, enum import_when when, json_t *out, struct err *err);

/*
 * import-clone.c: `repo apply ROOT NAME`, from a clone in which an agent worked. Its branches become
 * refs/remotes/NAME/…; fills {"refs": [{ref, oid, commits, changed, warnings}]}. Or one of them is
 * printed as a patch. The stream has only branches.
 */
int import_clone(const char *root, const char *remote, json_t *out, struct err *err);
int import_show_clone(const char *root, const char *branch, bool stat, bool terminal,
		      struct err *err);
/* For it: this process gives up all else, and what a killed import left is finished; then lines and
 * pack of one repository are received and checked. */
int import_begin(struct import *im, struct err *err);
int import_receive(struct import *im, struct repo_stream *s, struct buf *line, int r,
		   struct err *err);

/* The parts of import_run(), for import-new.c: what is not to be open is closed; the repository whose
 * directories im->git names is opened; the rest. */
void import_close_rest(void);
int import_open_dirs(struct import *im, const char *path, struct err *err);
int import_take(struct import *im, json_t *out, struct err *err);
/*
 * import-new.c: `repo adopt ROOT NAME HEAD SETTINGS`, where an agent ran `git init`. A new repository
 * is made with git's defaults, HEAD (refs/heads/…) and these settings, the import goes into it, and it
 * becomes ROOT/.git when all of that went well. -EEXIST: there is one already. Nothing may run inside.
 */
struct import_new_input {
	const char *root, *name, *head, *settings;
};
int import_new(const struct import_new_input *in, json_t *out, struct err *err);

/* The same for a submodule that was told of and has no git directory: is its place free, outside of
 * any other one's; begins one, and puts it in its place, or drops it if r < 0. */
#define IMPORT_NEW_MODULE "ralph-new-"
int import_check_module(const struct import *m, const struct import *top, struct err *err);
int import_new_module(struct import *m, const struct import *top, struct err *err);
int import_end_module(struct import *m, const struct import *top, int r, struct err *err);
void import_drop_modules(const struct import *top);

/*
 * import-settle.c: what is held of a sandbox, for the user. settle_list() fills {"held": [{ref, as, oid,
 * ahead, behind, gitlinks, protected: [{path, why}]}]}; rows of a submodule also have "module" and "root", the
 * directory of its files.
 */
int settle_list(const struct import_input *in, json_t *out, struct err *err);
enum settle_how {
	SETTLE_MERGE = 0,	   /* forward, or by a merge that touches no file */
	SETTLE_FORCE = 1 << 0,	   /* the user's commits are replaced; their tip is kept in was/ */
	SETTLE_DROP = 1 << 1,	   /* forget it */
	SETTLE_GITLINKS = 1 << 2,  /* with new submodules */
	SETTLE_PROTECTED = 1 << 3, /* with files that the host runs */
};
/*
 * ref: one of those, "heads/main"; "": every branch that is held, and with SETTLE_DROP everything.
 * Fills {"settled": [{ref, how}], "left": [{ref, why}]}. Without a ref submodules come first.
 */
int settle_run(const struct import_input *in, unsigned how, const char *ref, json_t *out,
	       struct err *err);
/*
 * `repo advance ROOT NAME REF FROM TO`: a loop has judged what is held. REF (HEAD: on no branch) goes
 * from FROM ("-": it is not there) to TO, and the index with it, as in an import. -EBUSY: the index
 * cannot follow now. What is where it should be already is no error. The program answers {} or {"error":
 * TEXT, "busy": BOOL}.
 */
struct advance {
	const char *ref, *from, *to;
};
int settle_advance(const char *root, const char *name, const struct advance *a, struct err *err);
/* The sandbox is gone: what imports noted about it goes, what is held stays. */
int settle_forget(const char *root, const char *name, struct err *err);

/*
 * put-back.c: for a sandbox that shares the git directory. `repo pin ROOT NAME` before it starts:
 * nothing that a reference leads to is lost to `git gc`. `repo put-back ROOT NAME` when no command
 * runs: fills {"back": [{ref, as, how}]}. Descriptor 3 has the tips of then, 4 the index, 5 the
 * list of stashes. for_loop: nothing that the agent moved or made stays, as IMPORT_HOLD.
 */
#define PUT_BACK_PIN "pin"
int put_back_pin(const char *root, const char *name, json_t *out, struct err *err);
int put_back_unpin(const char *root, const char *name, struct err *err);
int put_back_run(const char *root, const char *name, bool for_loop, json_t *out, struct err *err);
