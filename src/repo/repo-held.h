#pragma once

#include "repo/repo.h"

/*
 * What the agent of a loop made of the repository. On every engine it is held below refs/ralph/NAME, NAME
 * being the sandbox, and the user's references are where they were: see IMPORT_HOLD.
 */
struct repo_proposal {
	char *ref;		/* the loop's branch, refs/heads/…; "HEAD" where there is none */
	struct repo_oid tip;	/* of it; "": there is no commit yet */
	struct repo_oid at;	/* the commit that the agent's files are of */
	struct repo_oid commit; /* what the branch may become; "": nothing is new */
	bool elsewhere;		/* it is not on the loop's branch, but */
	char *other;		/* on this one; NULL: on none */
	bool apart;		/* and does not go on from the loop's branch */
};

int repo_proposal(struct repo *r, const char *name, struct repo_proposal *ret, struct err *err);
void repo_proposal_done(struct repo_proposal *p);

/*
 * The proposal was judged, or another agent begins: it is not held any more. Commits of it that are
 * neither in the branch nor in `kept` ("": none) go to refs/ralph/rejected/…: *ret_kept, which the caller
 * frees, NULL when there were none. Other branches, tags and stashes of the agent's stay held, but for
 * branches that the loop's branch contains.
 */
int repo_proposal_settle(struct repo *r, const char *name, const char *kept, char **ret_kept,
			 struct err *err);

/* Lists what stays held: "heads/x", "tags/v1", "stash". */
int repo_held_refs(struct repo *r, const char *name, struct strv *ret, struct err *err);
