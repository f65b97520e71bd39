#pragma once

#include "base/buf.h"
#include "cli/terminal/modes.h"

#include <stdbool.h>

/*
 * The filter between a program in a sandbox and the user's terminal. It drops the sequences that
 * could act on the terminal or make it type: clipboard access (OSC 52), file transfer and other
 * private OSC commands, reports that echo text the program chose (title, DCS requests, answerback),
 * window manipulation, printing, DCS, APC, PM and SOS strings as a whole. Text, colours, cursor
 * movement, alternate screen, mouse and keyboard modes, titles, hyperlinks and the plain position,
 * size and colour queries that full-screen programs need pass unchanged.
 */
#define FILTER_SEQ_MAX 4096 /* a longer sequence is dropped */

enum filter_state {
	FILTER_TEXT,
	FILTER_ESC,
	FILTER_CSI,
	FILTER_OSC,
	FILTER_STRING,	/* DCS, APC, PM, SOS: dropped up to its terminator */
	FILTER_CHARSET, /* ESC ( and the like: one more byte */
	FILTER_UTF8_C2, /* U+0080 to U+009F are control characters too */
};

/* What the user lets pass, and what was left out for want of it. */
enum filter_wish {
	FILTER_CLIPBOARD = 1 << 0, /* OSC 52, to write; a question never passes */
	FILTER_NOTIFY = 1 << 1,	   /* OSC 9 and 777 */
};

struct filter {
	enum filter_wish allowed, missed;
	enum filter_state state;
	bool string_esc;    /* ESC seen inside a string: a backslash ends it */
	bool bad;	    /* too long, or holds a control character: dropped at its end */
	unsigned utf8_left; /* continuation bytes still to come */
	unsigned char lead; /* the byte they belong to */
	struct modes modes;
	size_t n;
	char seq[FILTER_SEQ_MAX];
};

void filter_init(struct filter *f, enum filter_wish allowed);
/* Appends what passes to out, which must have room for FILTER_OVERHEAD + n more bytes. The title is
 * saved on the terminal's stack before the first one that passes. */
#define FILTER_OVERHEAD (FILTER_SEQ_MAX + 16)
void filter_feed(struct filter *f, const char *in, size_t n, struct buf *out);
/* Appends what gives the terminal back as it was: at most MODES_UNDO_MAX bytes. */
void filter_undo(const struct filter *f, struct buf *out);
