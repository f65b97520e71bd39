#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * What a program changed of the terminal and has not changed back: modes, colours, character set,
 * title. The filter shows it each sequence that passes; at the end modes_undo() writes the
 * sequences that give the terminal back as it was. A terminal cannot be asked how it was, so each
 * mode goes back to its default.
 */
struct modes {
	uint64_t changed;   /* a bit for each row of the table in modes.c */
	uint32_t colors;    /* a bit for each of the colours of OSC 10, 11, 12 and 4 */
	unsigned keyboards; /* pushed by the kitty keyboard protocol */
	bool styled, link, title;
	bool charset, shifted; /* G0 or G1 is another set; another set than G0 is in use */
	bool keypad, insert, region, cursor, other_keys, keyboard;
};

/* One whole sequence, ESC included, or a control character of text. */
void modes_see(struct modes *m, const char *seq, size_t n);
/* Appends at most MODES_UNDO_MAX bytes. */
#define MODES_UNDO_MAX 512
void modes_undo(const struct modes *m, struct buf *out);
