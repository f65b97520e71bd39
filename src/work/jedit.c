#include "work/jedit.h"

#include <string.h>

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int splice(struct jtext text, const char *from, const char *to, struct buf *ret,
		  const struct buf *middle)
{
	(void)buf_append(ret, text.p, (size_t)(from - text.p));
	(void)buf_append(ret, middle->data, middle->len);
	return buf_append(ret, to, (size_t)(text.p + text.n - to)) < 0 || ret->full ? -ENOBUFS : 0;
}

/* Adds a member after the last one, with the same white space before it and around its colon. */
static void add_behind(struct jtext object, struct jtext last_key, struct jtext last,
		       const char *key, const char *value, struct buf *b)
{
	const char *quote = last_key.p - 1, *from = quote, *colon = last_key.p + last_key.n + 1;

	while (from > object.p + 1 && blank(from[-1]))
		from--;
	(void)buf_putc(b, ',');
	(void)buf_append(b, from, (size_t)(quote - from));
	(void)buf_printf(b, "\"%s\"", key);
	(void)buf_append(b, colon, (size_t)(last.p - colon));
	(void)buf_puts(b, value);
}

int jedit_set(struct jtext text, struct jtext object, const char *key, const char *value,
	      struct buf *ret)
{
	struct jtext k = {0}, v = {0}, last_key = {0}, last = {0}, old = {0};
	cleanup_buf struct buf middle;
	size_t at = 0;

	buf_init(&middle, object.n + strlen(key) + strlen(value) + 16);
	while (jpick_member(object, &at, &k, &v)) {
		last_key = k;
		last = v;
		if (strlen(key) == k.n && memcmp(key, k.p, k.n) == 0)
			old = v;
	}
	if (old.p) {
		(void)buf_puts(&middle, value);
		return splice(text, old.p, old.p + old.n, ret, &middle);
	}
	if (last.p) {
		add_behind(object, last_key, last, key, value, &middle);
		return splice(text, last.p + last.n, last.p + last.n, ret, &middle);
	}
	(void)buf_printf(&middle, "\"%s\": %s", key, value);
	return splice(text, object.p + 1, object.p + 1, ret, &middle);
}
