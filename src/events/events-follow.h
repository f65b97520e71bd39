#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "events/events-files.h"

/*
 * Reads a log as it grows: the existing lines, then new ones, across rotations. Only complete lines
 * are passed; their `file` and `number` are not set.
 */
struct events_follow {
	int dir; /* not owned */
	int fd;	 /* newest file seen so far */
	off_t at;
	struct buf part; /* a line without its newline so far */
	bool begun;
	bool newest; /* skip older files */
	events_line_fn *fn;
	void *arg;
};

void events_follow_init(struct events_follow *f, int dirfd, events_line_fn *fn, void *arg);
void events_follow_done(struct events_follow *f);
/* Passes all new lines. If fn returns another value than 0, that value is the result. */
int events_follow_more(struct events_follow *f, struct err *err);
