#include "view/lines.h"

#include <string.h>

void lines_init(struct lines *l, size_t max)
{
	*l = (struct lines){0};
	buf_init(&l->line, max);
}

void lines_done(struct lines *l)
{
	buf_done(&l->line);
}

static void add_part(struct lines *l, const char *p, size_t n)
{
	if (l->too_long)
		return;
	if (buf_append(&l->line, p, n) < 0) {
		l->too_long = true;
		l->skipped++;
		buf_clear(&l->line);
	}
}

static void end_line(struct lines *l, lines_fn *fn, void *arg)
{
	if (!l->too_long && l->line.len > 0)
		fn(arg, buf_str(&l->line), l->line.len);
	buf_clear(&l->line);
	l->too_long = false;
}

void lines_add(struct lines *l, const char *p, size_t n, lines_fn *fn, void *arg)
{
	while (n > 0) {
		const char *end = memchr(p, '\n', n);
		size_t part = end ? (size_t)(end - p) : n;

		/* A complete line in one piece, the usual case, is not copied. */
		if (end && l->line.len == 0 && !l->too_long && part <= l->line.max) {
			if (part > 0)
				fn(arg, p, part);
		} else {
			add_part(l, p, part);
			if (end)
				end_line(l, fn, arg);
		}
		p += part + (end != NULL);
		n -= part + (end != NULL);
	}
}

void lines_end(struct lines *l, lines_fn *fn, void *arg)
{
	end_line(l, fn, arg);
}
