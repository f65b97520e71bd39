#pragma once

#include "base/err.h"
#include "base/text/term.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * A terminal's screen as rows of cells, of which only the rows that have changed are written. Text
 * is escaped and cut by the columns it takes, so that whatever came from inside a sandbox cannot
 * move the cursor, colour or overrun anything. No library: what it needs of a terminal is a dozen
 * sequences that every one since the VT100 has, and tmux, screen and the Linux console too.
 *
 *	screen_size(s); screen_row(s, 0, false); screen_cell(s, 20, STYLE_BOLD, 0, name); …
 *	screen_flush(s);
 */
#define SCREEN_ROWS_MAX 500
#define SCREEN_COLUMNS_MAX 1000

struct screen;

/* Takes the terminal: another screen, no echo, no cursor. It is given back by screen_close(), and
 * by handlers of their own when the process crashes. */
int screen_open(int in, int out, bool color, struct screen **ret, struct err *err);
void screen_close(struct screen *s);

/* Asks the terminal how large it is; everything is drawn again when that has changed. */
void screen_size(struct screen *s, unsigned *ret_rows, unsigned *ret_columns);
void screen_redraw(struct screen *s); /* the next flush writes everything */

enum screen_align { SCREEN_LEFT, SCREEN_RIGHT };
/* Begins a row, from 0; what was in it is gone. A row beyond the screen is ignored. */
void screen_row(struct screen *s, unsigned row, bool selected);
/* The next cell of the row: so many columns, never more than are left. */
void screen_cell(struct screen *s, unsigned width, enum term_style style, enum screen_align align,
		 const char *text);
void screen_cellf(struct screen *s, unsigned width, enum term_style style, enum screen_align align,
		  const char *fmt, ...) printf_like(5, 6);
unsigned screen_left(const struct screen *s); /* columns of this row that are not used yet */
/* Rows from here on are empty. */
void screen_clear(struct screen *s, unsigned from);
int screen_flush(struct screen *s);
