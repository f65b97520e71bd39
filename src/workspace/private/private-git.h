#pragma once

#include "base/err.h"
#include "base/strv.h"
#include "workspace/gitdir.h"

#include <stdbool.h>

struct buf;

/*
 * The private git directory of a sandbox: made from the user's repository, mounted inside in its
 * place, and from then on the agent's. docs/internals/private-git.md has the model.
 *
 * It is made without libgit2 and without running git. Nothing in the repository is followed if it
 * is a link, and every read has a limit; a repository beyond a limit is an error, never a part of
 * it.
 */
#define PRIVATE_GIT_RUN "/run/ralph"
/* Inside, in every sandbox that has one: the private directory, and a file that leads to it. */
#define PRIVATE_GIT_AT PRIVATE_GIT_RUN "/git"
#define PRIVATE_GIT_LINK PRIVATE_GIT_RUN "/git.link"

/* What must be mounted read-only inside, so that the private directory is complete. */
struct private_bind {
	char *source; /* on the host; NULL: `target` is an empty file */
	char *target;
};

#define PRIVATE_BINDS_MAX 256
#define PRIVATE_MODULES_MAX 64 /* submodules, nested ones included */

/* A submodule that the user has initialised. */
struct private_module {
	char *worktree; /* its files, in the working tree; there may be none now */
	char *name;	/* of its git directory, below the private one: "modules/lib" */
};

struct private_git {
	struct private_bind binds[PRIVATE_BINDS_MAX];
	size_t n_binds;
	struct private_module modules[PRIVATE_MODULES_MAX];
	size_t n_modules;
	/* The index is as young as the files it lists. git compares contents then, and writes every
	 * object again, unless it refreshes the index first. */
	bool young;
	/* "HEAD REF" or "HEAD OID", "OID REF" and "STATE …" as the sandbox sees them at first: an
	 * import compares with it. "MODULE PATH", below the git directory, begins a submodule. */
	char *told;
};

struct private_git_input {
	const struct gitdir *git; /* root NULL: no repository, and the directory stays empty */
	const char *run;	  /* where the binds are inside: PRIVATE_GIT_RUN */
};

/*
 * Only what private_git_make() would say of binds and submodules, for a sandbox that is planned;
 * changes nothing. The same errors.
 */
int private_git_plan(const struct private_git_input *in, struct private_git *ret, struct err *err);

/*
 * Fills `at`, an empty directory of ours. -ENOTSUP: a kind of repository that ralph cannot borrow
 * from, and the message says which. After an error the directory is to be removed.
 */
int private_git_make(const struct private_git_input *in, int at, struct private_git *ret,
		     struct err *err);
void private_git_done(struct private_git *p);

/*
 * The export inside: a script for sh, with the working tree as its directory. It writes the stream
 * that repo/import/import.h describes, and reads what private_git_told() puts: where both sides had each
 * reference last ("OID REF"), and what the host has ("^OID"). told: as it was made with.
 */
extern const char private_git_export[];
int private_git_told(const struct gitdir *git, const char *name, const char *told, struct buf *out,
		     struct err *err);

/* "HEAD REF" and "OID REF" as the user's repository has them, without refs/ralph. */
int private_git_refs(const struct gitdir *git, struct buf *out, struct err *err);

/*
 * The way in: what the user did since, for a script that git runs with inside. private_git_moved()
 * puts "HEAD OLD NEW" and "NEW REF OLD". The script moves a reference only from OLD, so it does
 * nothing to what the agent moved, and nothing at all while an operation is in progress there. The
 * next import sees that both sides agree again.
 */
extern const char private_git_sync[];
#define PRIVATE_GIT_LATE 75 /* its exit code when an operation is in progress */
int private_git_moved(const struct gitdir *git, const char *name, const char *told, struct buf *out,
		      struct err *err);
/* The same of the branch that HEAD was on, and nothing else. */
int private_git_moved_own(const struct gitdir *git, const char *name, const char *told,
			  struct buf *out, struct err *err);

/*
 * What imports left in the user's repository: the names of what is held ("heads/main"), or of their
 * notes about the sandbox. Without libgit2.
 */
int private_git_held(const struct gitdir *git, const char *name, bool notes, struct strv *ret);

/* "STATE NAME COMMIT…" for each operation in progress in a git directory. */
void private_git_state(int dir, struct buf *out);

/* An object directory and all that it borrows from, as real paths. */
int git_objects_all(const char *objects, struct strv *ret);
