#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "events/events-files.h"

/*
 * Verifies a log. Its records are read in order; the first wrong one is reported, with the kind of
 * damage. Damage from a crash that a later record admits is a note, not an error.
 */
struct verify {
	struct head head;
	bool has_head;
	struct chain last; /* last record so far */
	uint64_t first;	   /* number of the first existing record */
	uint64_t records, notes;
	char note[256]; /* last note */
	bool broken;
	uint64_t at;	/* number of the wrong or missing record; 0: unknown */
	char where[64]; /* "events.1.jsonl:17" */
	char how[512];	/* a sentence */
	/* state during the run */
	struct buf torn; /* partial line that a record still has to explain */
	char torn_where[64];
	bool torn_ended; /* the line ends with a newline, which a crash does not write */
	bool suspect;	 /* a record did not fit: the next line decides */
	char suspect_where[64];
};

void verify_init(struct verify *v, const struct head *head); /* head: NULL: none */
void verify_done(struct verify *v);
/* Verifies the next line; returns 1 for a broken log. Is an events_line_fn. */
int verify_line(void *v, const struct events_line *l);
void verify_end(struct verify *v);

/* Verifies the whole log below dirfd. Returns 0 also for a broken log. */
int events_verify(int dirfd, struct verify *ret, struct err *err);
