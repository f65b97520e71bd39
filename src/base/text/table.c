#include "base/text/table.h"

#include <stdint.h>
#include <string.h>

#include "base/text/signs.h"

#define GAP 2
#define CUT_LEAST 4	  /* a cut column keeps at least so much */
#define LEFT_OUT SIZE_MAX /* the width of a column that is left out */

struct cell {
	char *text; /* escaped */
	enum term_style style;
	size_t columns;
};

struct table {
	const struct table_column *cols;
	size_t n_cols;
	struct cell *cells;
	size_t n, cap;
};

struct table *table_new(const struct table_column *cols, size_t n)
{
	struct table *t = xcalloc(1, sizeof(*t));

	t->cols = cols;
	t->n_cols = n;
	return t;
}

struct table *table_free(struct table *t)
{
	if (!t)
		return NULL;
	for (size_t i = 0; i < t->n; i++)
		free(t->cells[i].text);
	free(t->cells);
	free(t);
	return NULL;
}

void table_styled(struct table *t, enum term_style style, const char *text)
{
	struct cell *c;

	if (t->n == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 32;
		t->cells = xrealloc(t->cells, t->cap, sizeof(*t->cells));
	}
	c = &t->cells[t->n++];
	*c = (struct cell){.text = term_escape(text ? text : ""), .style = style};
	c->columns = term_columns(c->text);
}

void table_cell(struct table *t, const char *text)
{
	table_styled(t, STYLE_NONE, text);
}

void table_cellf(struct table *t, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	table_cell(t, text);
}

static bool has_header(const struct table *t)
{
	for (size_t i = 0; i < t->n_cols; i++)
		if (t->cols[i].title)
			return true;
	return false;
}

static void natural_widths(const struct table *t, size_t *widths)
{
	for (size_t i = 0; i < t->n_cols; i++)
		widths[i] = t->cols[i].title ? term_columns(t->cols[i].title) : 0;
	for (size_t i = 0; i < t->n; i++) {
		size_t *w = &widths[i % t->n_cols];

		if (t->cells[i].columns > *w)
			*w = t->cells[i].columns;
	}
}

static size_t total_width(const struct table *t, const size_t *widths)
{
	size_t total = 0;

	for (size_t i = 0; i < t->n_cols; i++)
		if (widths[i] != LEFT_OUT)
			total += widths[i] + (total ? GAP : 0);
	return total;
}

static size_t least_of(const struct table *t, size_t i)
{
	return t->cols[i].least ? t->cols[i].least : CUT_LEAST;
}

/* Takes one column at a time from the widest that may be cut, until the row fits or nothing is
 * left to take. Returns true when it fits. */
static bool shrink(const struct table *t, size_t *widths, size_t limit, bool all)
{
	size_t total = total_width(t, widths);

	for (; total > limit; total--) {
		size_t widest = t->n_cols;

		for (size_t i = 0; i < t->n_cols; i++) {
			if (widths[i] == LEFT_OUT || (t->cols[i].keep && !all) ||
			    widths[i] <= (all ? CUT_LEAST : least_of(t, i)))
				continue;
			if (widest == t->n_cols || widths[i] > widths[widest])
				widest = i;
		}
		if (widest == t->n_cols)
			return false;
		widths[widest]--;
	}
	return true;
}

/* Leaves out the column that is needed least. Returns false when none may be left out. */
static bool leave_out(const struct table *t, size_t *widths)
{
	size_t at = t->n_cols;

	for (size_t i = 0; i < t->n_cols; i++)
		if (widths[i] != LEFT_OUT && t->cols[i].drop &&
		    (at == t->n_cols || t->cols[i].drop > t->cols[at].drop))
			at = i;
	if (at == t->n_cols)
		return false;
	widths[at] = LEFT_OUT;
	return true;
}

static void fit(const struct table *t, size_t *widths, size_t limit)
{
	cleanup_free size_t *natural = xcalloc(t->n_cols, sizeof(*natural));

	memcpy(natural, widths, t->n_cols * sizeof(*natural));
	while (!shrink(t, widths, limit, false)) {
		if (!leave_out(t, natural)) {
			(void)shrink(t, widths, limit, true);
			return;
		}
		memcpy(widths, natural, t->n_cols * sizeof(*natural));
	}
}

static void blanks(FILE *out, size_t n)
{
	while (n--)
		(void)fputc(' ', out);
}

/* Writes one cell in its width; the text of a cut cell ends in "…". */
static void put_cell(FILE *out, const struct cell *c, const struct table_column *col, size_t width,
		     bool color, bool last)
{
	bool styled = color && c->style != STYLE_NONE && c->text[0];
	bool cut = c->columns > width;
	size_t bytes = cut ? term_fit(c->text, width - 1) : strlen(c->text);
	size_t used = c->columns;

	if (cut) {
		cleanup_free char *kept = xstrndup(c->text, bytes);

		used = term_columns(kept) + 1;
	}
	if (col->right)
		blanks(out, width - used);
	(void)fputs(term_on(styled, c->style), out);
	(void)fwrite(c->text, 1, bytes, out);
	if (cut)
		(void)fputs(signs_cut(), out);
	(void)fputs(term_off(styled), out);
	if (!col->right && !last)
		blanks(out, width - used);
}

/* Is anything but blanks to come in this row? Without it no padding is printed. */
static bool rest_is_empty(const struct cell *row, const size_t *widths, size_t from, size_t n)
{
	for (size_t i = from; i < n; i++)
		if (widths[i] != LEFT_OUT && row[i].text[0])
			return false;
	return true;
}

static void put_row(FILE *out, const struct table *t, const struct cell *row, size_t n,
		    const size_t *widths, bool color)
{
	bool first = true;

	for (size_t i = 0; i < n; i++) {
		bool last = rest_is_empty(row, widths, i + 1, n);

		if (widths[i] == LEFT_OUT)
			continue;
		if (!first && !rest_is_empty(row, widths, i, n))
			blanks(out, GAP);
		first = false;
		if (row[i].text[0] || !last)
			put_cell(out, &row[i], &t->cols[i], widths[i], color, last);
	}
	(void)fputc('\n', out);
}

static void put_header(FILE *out, const struct table *t, const size_t *widths, bool color)
{
	cleanup_free struct cell *row = xcalloc(t->n_cols, sizeof(*row));
	static char empty[] = "";

	for (size_t i = 0; i < t->n_cols; i++) {
		/* put_row() only reads: the title is lent. */
		row[i].text = t->cols[i].title ? (char *)t->cols[i].title : empty;
		row[i].style = STYLE_BOLD;
		row[i].columns = term_columns(row[i].text);
	}
	put_row(out, t, row, t->n_cols, widths, color);
}

void table_print(const struct table *t, FILE *out, unsigned width, bool color)
{
	cleanup_free size_t *widths = xcalloc(t->n_cols, sizeof(*widths));

	natural_widths(t, widths);
	if (width)
		fit(t, widths, width);
	if (has_header(t))
		put_header(out, t, widths, color);
	for (size_t i = 0; i < t->n; i += t->n_cols) {
		size_t n = t->n - i < t->n_cols ? t->n - i : t->n_cols;

		put_row(out, t, t->cells + i, n, widths, color);
	}
}
