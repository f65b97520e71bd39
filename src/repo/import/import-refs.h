#pragma once

#include "base/err.h"
#include "workspace/gitdir.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * References that move together, without libgit2: its transaction writes one reference after the
 * other, and a disk that becomes full in between leaves half of them. Here every byte is written
 * before the first reference moves, to its lock, and then locks are renamed. A note beside them
 * says what was to be done, so that a killed import can be finished by the next one. Values are
 * text, "OID" or "ref: NAME"; "-" is none. So this works for every kind of hash.
 */
struct ref_move {
	char *ref;  /* refs/… or HEAD */
	char *from; /* what it must be now; "*": anything */
	char *to;
	char *was; /* what it was when it was locked */
	bool locked;
};

struct ref_moves {
	const struct gitdir *git;
	struct ref_move *v; /* they move in this order */
	size_t n, cap;
	char *tip; /* what HEAD will be, with the index that was prepared for it; NULL: it stays */
	bool finish; /* the operation in progress ended with them */
	bool half;   /* some have moved, and others could not: the note stays */
};

#define REFS_NOTE "note" /* in IMPORT_DIR */

void refs_done(struct ref_moves *m); /* drops the locks that are still held */
void refs_add(struct ref_moves *m, const char *ref, const char *from, const char *to);
/* -EAGAIN: one is not what it must be; -EBUSY: somebody else has a lock. */
int refs_lock(struct ref_moves *m, struct err *err);
int refs_commit(struct ref_moves *m, struct err *err);
void refs_undo(struct ref_moves *m); /* what was committed, where nobody has moved it since */
/* What a killed import left; false: there is no note. The locks that it left are dropped. */
bool refs_left(struct ref_moves *m);
/* Can what is left still be done? No reference has moved since, but as it was to be. */
bool refs_fit(struct ref_moves *m);
/* Is HEAD at m->tip? */
bool refs_at_tip(const struct ref_moves *m);
