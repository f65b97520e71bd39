#pragma once

#include "base/mem.h"
#include "base/text/term.h"

#include <stdint.h>

/*
 * The display of a running loop on stderr: one line at a time, with the time of day in front. Text
 * from others is escaped. Colours are used only if the command line asks for them.
 */
struct show {
	bool color;
	bool live; /* a terminal: a line may be overwritten */
	bool open; /* an unfinished line is on the terminal */
};

void show_line(struct show *s, enum term_style style, const char *fmt, ...) printf_like(3, 4);
/* Shows a line that the next one replaces, for a countdown. Without a terminal it shows nothing. */
void show_over(struct show *s, const char *fmt, ...) printf_like(2, 3);
#define SHOW_WORDS_LINES 12 /* of one message of an agent */
/* Shows the last lines_max lines of someone else's text, each with a mark in front. */
void show_quote(struct show *s, const char *text, size_t lines_max);

/* Formats a time of the real-time clock in seconds, for a sentence. Returns `to`. */
#define SHOW_WHEN_SIZE 32
const char *show_when(uint64_t at, char to[SHOW_WHEN_SIZE]);

#define SHOW_USD "$%llu.%04llu"
#define SHOW_USD_ARGS(micro)                                                                       \
	(unsigned long long)((micro) / 1000000), (unsigned long long)((micro) / 100 % 10000)
