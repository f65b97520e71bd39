#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "events/events-files.h"

/*
 * Is a log whole? Its records are read in order; the first that is not what it must be is named,
 * with how it is broken. What a crash left, and a record admits, is a note and no breach.
 */
struct verify {
	struct head head;
	bool has_head;
	struct chain last; /* so far */
	uint64_t first;	   /* number of the first record that is there */
	uint64_t records, notes;
	char note[256]; /* the last one */
	bool broken;
	uint64_t at; /* number of the record that is wrong, or should be there; 0: cannot be told */
	char where[64]; /* "events.1.jsonl:17" */
	char how[512];	/* a sentence */
	/* while it runs */
	struct buf torn; /* what is no record and still has to be explained */
	char torn_where[64];
	bool torn_ended; /* it ends with a newline: a crash leaves none */
	bool suspect;	 /* a record did not fit: what follows tells how */
	char suspect_where[64];
};

void verify_init(struct verify *v, const struct head *head); /* head: NULL: there is none */
void verify_done(struct verify *v);
/* One line after the other; 1 when it is known to be broken. As events_line_fn. */
int verify_line(void *v, const struct events_line *l);
void verify_end(struct verify *v);

/* The whole log below dirfd. 0 also when it is broken. */
int events_verify(int dirfd, struct verify *ret, struct err *err);
