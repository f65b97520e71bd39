#pragma once

#include "base/buf.h"

/*
 * An agent's output cut into lines, whatever pieces it comes in. A line that is longer than the
 * buffer may be is passed over up to its end; the last one may have no end.
 */
struct lines {
	struct buf line;
	bool too_long; /* the rest of this one is passed over */
	size_t skipped;
};

typedef void lines_fn(void *arg, const char *line, size_t n);

void lines_init(struct lines *l, size_t max);
void lines_done(struct lines *l);
void lines_add(struct lines *l, const char *p, size_t n, lines_fn *fn, void *arg);
void lines_end(struct lines *l, lines_fn *fn, void *arg); /* nothing more comes */
