#pragma once

#include <stdbool.h>

/*
 * What becomes of a branch that an agent's git moved, as a decision about four commits: see the
 * table in docs/internals/private-git.md. Commits are their names in hex; NULL: there is none.
 */
struct branch_tips {
	const char *host;   /* where the user's repository has it now */
	const char *synced; /* where both had it last */
	const char *user;   /* the last tip that the user made; NULL: imports made all of them */
	const char *inside; /* where the private git directory has it now */
};

enum branch_verdict {
	BRANCH_SAME, /* nothing comes from inside */
	BRANCH_SYNC, /* the user moved it, and the agent did not: inside follows */
	BRANCH_TAKE, /* a new branch, or one that goes on from the user's */
	BRANCH_REWRITE, /* the agent replaced commits of its own only: taken, and the old tip is kept */
	BRANCH_HOLD, /* for the user to decide */
};

/* Is `commit` the same as `ancestor`, or does it come after it? */
typedef bool branch_descends_fn(const char *commit, const char *ancestor, void *arg);

enum branch_verdict branch_rule(const struct branch_tips *t, branch_descends_fn *descends,
				void *arg);
