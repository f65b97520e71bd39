#pragma once

#include "base/err.h"
#include "events/events.h"

/* The files of a log, for those who read it while its supervisor may write and rotate it. */
struct events_files {
	int fds[EVENTS_OLD_MAX + 1]; /* [0] is the newest; -1: there is no such file */
};

#define EVENTS_FILES_INIT                                                                          \
	{                                                                                          \
		.fds = { -1, -1, -1, -1, -1, -1, -1, -1 }                                          \
	}

/* All of one moment: none twice, none left out. A log that is not there has none. */
int events_files_open(int dirfd, struct events_files *ret, struct err *err);
void events_files_close(struct events_files *f);

/*
 * Each line of the log, oldest first, without its newline; NUL-terminated. What is longer than a
 * record may be is given cut, and is none. A function that returns another value than 0 ends it;
 * that value is the result.
 */
struct events_line {
	const char *text;
	size_t n;
	unsigned file;	 /* 0: the newest */
	unsigned number; /* in its file, from 1 */
	bool torn;	 /* it has no newline */
	bool cut;	 /* it is longer than a record may be; text is its beginning */
};
typedef int events_line_fn(void *arg, const struct events_line *l);
int events_each(const struct events_files *f, events_line_fn *fn, void *arg, struct err *err);
/* Copies the whole log of a sandbox that has ended into another directory, where it can be read and
 * proved as in its record. */
int events_keep(int from, int to, struct err *err);
/* Of one open file only. */
int events_each_of(int fd, unsigned file, events_line_fn *fn, void *arg, struct err *err);
