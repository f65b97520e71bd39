#pragma once

#include "work/work.h"

/*
 * Planning: the agent writes the list of work itself. Afterwards the host takes it over when it can
 * be read, with no task marked as done that was not done before; else what was there is put back.
 */
struct draft;

/* Puts the list where the agent finds it. source: as for work_open(); where there is none, an
 * empty prd.json, which will be .ralph/prd.json. */
int draft_put(const struct work_where *at, const char *source, struct draft **ret, struct err *err);
struct draft *draft_free(struct draft *d);
DEFINE_FREEP(struct draft, draft_free)

/* 1: there is a new list, in the source; 0: there is not, and why is among the offences. */
int draft_take(struct draft *d, struct proposals *ret, struct err *err);

/* As for the work: relative to the workspace. */
const char *draft_path(const struct draft *d);
void draft_agents_own(const struct draft *d, struct strv *ret);
/* What the agent is told about it. Markdown. */
void draft_brief(const struct draft *d, struct buf *ret);

/* A list that was being planned when ralph ended is put back; work_open() does it. */
int draft_recover(int root, int state, struct strv *news, struct err *err);
