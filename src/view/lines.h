#pragma once

#include "base/buf.h"

/*
 * Splits an agent's output into lines, whatever pieces it arrives in. A line longer than the buffer
 * is skipped up to its end; the last line may have no newline.
 */
struct lines {
	struct buf line;
	bool too_long; /* the rest of this line is skipped */
	size_t skipped;
};

typedef void lines_fn(void *arg, const char *line, size_t n);

void lines_init(struct lines *l, size_t max);
void lines_done(struct lines *l);
void lines_add(struct lines *l, const char *p, size_t n, lines_fn *fn, void *arg);
void lines_end(struct lines *l, lines_fn *fn, void *arg); /* end of the output */
