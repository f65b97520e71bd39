#include "workspace/branch-rule.h"

#include <string.h>

#include "base/mem.h"

static bool same(const char *a, const char *b)
{
	return a && b ? streq(a, b) : !a && !b;
}

enum branch_verdict branch_rule(const struct branch_tips *t, branch_descends_fn *descends,
				void *arg)
{
	/* A deletion inside is never the user's. */
	if (!t->inside || same(t->inside, t->host))
		return BRANCH_SAME;
	if (same(t->inside, t->synced))
		return t->host ? BRANCH_SYNC : BRANCH_SAME;
	if (!t->host)
		return t->synced ? BRANCH_HOLD : BRANCH_TAKE; /* the user deleted it meanwhile */
	if (descends(t->inside, t->host, arg))
		return BRANCH_TAKE;
	if (same(t->host, t->synced) && (!t->user || descends(t->inside, t->user, arg)))
		return BRANCH_REWRITE;
	/* The agent went part of the way that the user went: the host has all of it. */
	if (t->synced && descends(t->inside, t->synced, arg) && descends(t->host, t->inside, arg))
		return BRANCH_SYNC;
	return BRANCH_HOLD;
}
