#include "base/text/stretch.h"

/* clang-format off */
static const bool token[256] = {
	['\0'] = true, ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true,
	['+'] = true, ['/'] = true, ['='] = true, ['-'] = true, ['_'] = true, ['.'] = true,
	['~'] = true, ['%'] = true, ['\\'] = true, ['&'] = true, ['#'] = true, [';'] = true,
	['*'] = true,
};
static const bool wide[256] = {
	['\0'] = true, [' ' ... '~'] = true, [0x80 ... 0xff] = true,
};
/* clang-format on */

static bool is(const bool *kind, char c)
{
	return kind[(unsigned char)c];
}

bool stretch_is_token(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!is(token, p[i]))
			return false;
	return true;
}

size_t stretch_more(const struct stretch_shape *s, const char *p, size_t n, size_t *line)
{
	const bool *kind = s->wide ? wide : token;
	size_t i = 0;

	for (; i < n; i++) {
		if (is(kind, p[i]))
			*line = is(token, p[i]) ? *line + 1 : 0;
		else if ((p[i] != '\n' && p[i] != '\r') || *line < STRETCH_LINE)
			break;
		else if (p[i] == '\n')
			*line = 0;
	}
	return i;
}

bool stretch_next(const struct stretch_shape *s, const char *p, size_t n, size_t from,
		  struct stretch *ret)
{
	const bool *kind = s->wide ? wide : token;

	/* Seen from the far end of the least length, most bytes need no look. */
	for (;;) {
		size_t at = n - from < s->least ? n : from + s->least;

		while (at > from && is(kind, p[at - 1]))
			at--;
		if (at == from)
			break;
		from = at;
	}
	*ret = (struct stretch){.at = from};
	ret->end = from + stretch_more(s, p + from, n - from, &ret->line);
	return from < n;
}
