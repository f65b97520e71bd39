#pragma once

#include "base/mem.h"
#include "base/text/term.h"

#include <stdbool.h>
#include <stdio.h>

/*
 * Aligned columns, two blanks between them, no trailing blanks. Cells are escaped by
 * term_escape(), so hostile text is fine. Where a width is given and the rows are wider, the widest
 * columns that are not `keep` are cut, with "…" at the end; in a pipe nothing ever is. Where even that
 * is too wide, columns with `drop` are left out, the highest number first, and at last `keep` columns
 * are cut too.
 *
 *	cleanup_(table_freep) struct table *t = table_new(cols, ARRAY_SIZE(cols));
 *	table_cell(t, name);
 *	table_styled(t, STYLE_GREEN, "running");
 *	table_cellf(t, "%llu", n);
 *	table_print(t, stdout, term_width(STDOUT_FILENO), cli_color(cli, STDOUT_FILENO));
 */
struct table_column {
	const char *title; /* all NULL: no header row */
	bool right;	   /* right-aligned */
	bool keep;	   /* cut only where nothing else helps */
	unsigned drop;	   /* may be left out, the highest first; 0: never */
	unsigned least;	   /* columns that a cut leaves; 0: 4 */
};

struct table;

struct table *table_new(const struct table_column *cols, size_t n); /* cols must outlive it */
struct table *table_free(struct table *t);
DEFINE_FREEP(struct table, table_free)

/* The next cell, left to right, row after row; NULL is an empty cell, text is copied. */
void table_cell(struct table *t, const char *text);
void table_cellf(struct table *t, const char *fmt, ...) printf_like(2, 3);
void table_styled(struct table *t, enum term_style style, const char *text);

/* width 0: never cut. Write errors are left to the stream's error flag. */
void table_print(const struct table *t, FILE *out, unsigned width, bool color);
