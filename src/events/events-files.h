#pragma once

#include "base/err.h"
#include "events/events.h"

/* The files of a log, for readers, while the supervisor may write and rotate it. */
struct events_files {
	int fds[EVENTS_OLD_MAX + 1]; /* [0] is the newest; -1: no such file */
};

#define EVENTS_FILES_INIT                                                                          \
	{                                                                                          \
		.fds = { -1, -1, -1, -1, -1, -1, -1, -1 }                                          \
	}

/* Opens a consistent set: no file twice, none missing. A missing log has no files. */
int events_files_open(int dirfd, struct events_files *ret, struct err *err);
void events_files_close(struct events_files *f);

/*
 * Passes each line of the log, oldest first, without its newline; NUL-terminated. A line longer
 * than a record is cut, and is no record. If fn returns another value than 0, the iteration ends
 * with that value.
 */
struct events_line {
	const char *text;
	size_t n;
	unsigned file;	 /* 0: the newest */
	unsigned number; /* in its file, from 1 */
	bool torn;	 /* the line has no newline */
	bool cut;	 /* the line is longer than a record; text is its beginning */
};
typedef int events_line_fn(void *arg, const struct events_line *l);
int events_each(const struct events_files *f, events_line_fn *fn, void *arg, struct err *err);
/* Copies the whole log of an ended sandbox to another directory, where it can be read and
 * verified as in its record. */
int events_keep(int from, int to, struct err *err);
/* Passes the lines of one open file only. */
int events_each_of(int fd, unsigned file, events_line_fn *fn, void *arg, struct err *err);
