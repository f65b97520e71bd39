#pragma once

#include "work/source.h"
#include "work/work-state.h"

/* Shared by the files of the work: the copies given to an agent in one root, and their
 * write-back. */
struct turn {
	int root; /* as passed by the caller */
	struct buf copy, progress;
};

void turns_done(struct work *w);
/* Restores the files that the agent could reach, after ralph ended with an open turn. */
int turn_recover(int root, int state, const struct kept *k, struct strv *news, struct err *err);
/* Reads the source. During an open turn, a source that the agent can reach is read from the kept
 * copy. */
int turn_source(struct work *w, struct buf *text, struct listing *l, struct err *err);
/* Closes the turn: restores the files that the agent can reach from the kept copies. */
int turn_close(struct work *w, struct err *err);
/* Marks in the source every task whose state it does not show yet, and saves. A source that
 * cannot be read or written is reported in news, and stays pending. */
int turn_write_back(struct work *w, struct err *err);
