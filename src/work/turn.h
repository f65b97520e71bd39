#pragma once

#include "work/source.h"
#include "work/work-state.h"

/* Between the files of the work: what an agent was given in one root, and what is written back. */
struct turn {
	int root; /* as the caller named it */
	struct buf copy, progress;
};

void turns_done(struct work *w);
/* A turn that was open when ralph ended: what the agent reaches is put back as it was. */
int turn_recover(int root, int state, const struct kept *k, struct strv *news, struct err *err);
/* What the source says: of a file that the agent reaches, in an open turn, what was kept. */
int turn_source(struct work *w, struct buf *text, struct listing *l, struct err *err);
/* No turn is open any more: what the agent reaches is what was kept. */
int turn_close(struct work *w, struct err *err);
/* Marks in the source every task whose standing it does not show yet, and saves. A source that
 * cannot be read or written is news, and pending. */
int turn_write_back(struct work *w, struct err *err);
