#pragma once

#include "work/work.h"

/*
 * Planning: the agent writes the work list itself. Afterwards the host accepts a list that parses,
 * without any new done marks. Otherwise the host restores the previous list.
 */
struct draft;

/* Puts the list where the agent finds it. source: as for work_open(). Without one, the agent
 * gets an empty prd.json, which becomes .ralph/prd.json. */
int draft_put(const struct work_where *at, const char *source, struct draft **ret, struct err *err);
struct draft *draft_free(struct draft *d);
DEFINE_FREEP(struct draft, draft_free)

/* Returns 1 when the source holds a new list, 0 when it does not; the offences then say why. */
int draft_take(struct draft *d, struct proposals *ret, struct err *err);

/* Returns the path of the list, relative to the workspace as for the work. */
const char *draft_path(const struct draft *d);
void draft_agents_own(const struct draft *d, struct strv *ret);
/* Writes the agent's instructions about the list, as Markdown. */
void draft_brief(const struct draft *d, struct buf *ret);

/* Restores a list whose planning was interrupted; work_open() calls this. */
int draft_recover(int root, int state, struct strv *news, struct err *err);
