#pragma once

#include "base/mem.h"
#include "base/text/term.h"

#include <stdint.h>

/*
 * What a loop shows while it works, on stderr: a line at a time, with the time of day in front.
 * Text of others is escaped. Colour only where the command line said so.
 */
struct show {
	bool color;
	bool live; /* a terminal: a line may be written over */
	bool open; /* such a line stands there */
};

void show_line(struct show *s, enum term_style style, const char *fmt, ...) printf_like(3, 4);
/* A line that the next one replaces: a countdown. Nothing where there is no terminal. */
void show_over(struct show *s, const char *fmt, ...) printf_like(2, 3);
/* Lines of others' text, each behind a mark; at most so many, the last ones. */
void show_quote(struct show *s, const char *text, size_t lines_max);

#define SHOW_USD "$%llu.%04llu"
#define SHOW_USD_ARGS(micro)                                                                       \
	(unsigned long long)((micro) / 1000000), (unsigned long long)((micro) / 100 % 10000)
