#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "events/events-files.h"

/*
 * Reads a log as it grows: what is there, then what is new, over every turn to a new file. Only
 * whole lines are given; `file` and `number` of them are not counted.
 */
struct events_follow {
	int dir; /* not owned */
	int fd;	 /* the newest file that was seen */
	off_t at;
	struct buf part; /* a line whose end has not come yet */
	bool begun;
	bool newest; /* older files are of no interest */
	events_line_fn *fn;
	void *arg;
};

void events_follow_init(struct events_follow *f, int dirfd, events_line_fn *fn, void *arg);
void events_follow_done(struct events_follow *f);
/* Everything that has not been given yet. A value of fn other than 0 ends it, and is the result. */
int events_follow_more(struct events_follow *f, struct err *err);
