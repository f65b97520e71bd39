#include "base/buf.h"

#include <stdio.h>
#include <string.h>

#include "base/text/escape.h"

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){.max = max};
}

void buf_done(struct buf *b)
{
	free(b->data);
	b->data = NULL;
	b->len = b->cap = 0;
}

int buf_reserve(struct buf *b, size_t n)
{
	size_t want, cap;

	if (n > b->max - b->len) {
		b->full = true;
		return -ENOBUFS;
	}
	want = b->len + n + 1;
	if (want <= b->cap)
		return 0;
	cap = b->cap ? b->cap : 64;
	while (cap < want)
		cap *= 2;
	if (cap > b->max + 1)
		cap = b->max + 1;
	b->data = xrealloc(b->data, cap, 1);
	b->cap = cap;
	return 0;
}

int buf_append(struct buf *b, const void *p, size_t n)
{
	int r = buf_reserve(b, n);

	if (r < 0)
		return r;
	if (n)
		memcpy(b->data + b->len, p, n);
	b->len += n;
	b->data[b->len] = '\0';
	return 0;
}

int buf_puts(struct buf *b, const char *s)
{
	return buf_append(b, s, strlen(s));
}

int buf_putc(struct buf *b, char c)
{
	return buf_append(b, &c, 1);
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
	cleanup_free char *s = NULL;
	va_list ap;

	va_start(ap, fmt);
	s = xvasprintf(fmt, ap);
	va_end(ap);
	return buf_puts(b, s);
}

int buf_put_escaped(struct buf *b, const char *s)
{
	char escape[ESCAPE_LONGEST];
	size_t len;

	/* Once full it stays cut at that place. */
	for (; *s && !b->full; s += len) {
		len = escape_next(s, escape);
		if (escape[0])
			(void)buf_puts(b, escape);
		else
			(void)buf_append(b, s, len);
	}
	return b->full ? -ENOBUFS : 0;
}

int buf_put_lines(struct buf *b, const char *p, size_t n)
{
	cleanup_free char *text = xmalloc(n + 1);
	char escape[ESCAPE_LONGEST];
	size_t len;

	memcpy(text, p, n);
	text[n] = '\0';
	for (size_t i = 0; i < n && !b->full; i += len) {
		const char *s = text + i;

		len = *s ? escape_next(s, escape) : 1;
		if (!*s)
			(void)buf_puts(b, "\\x00");
		else if (escape[0] && !strchr("\n\r\t", *s))
			(void)buf_puts(b, escape);
		else
			(void)buf_append(b, s, len);
	}
	return b->full ? -ENOBUFS : 0;
}

int buf_put_quoted(struct buf *b, const char *s)
{
	char escape[ESCAPE_LONGEST];
	size_t len;

	(void)buf_putc(b, '"');
	for (; *s; s += len) {
		len = escape_json_next(s, escape);
		if (*s == '"' || *s == '\\')
			(void)buf_printf(b, "\\%c", *s);
		else if (escape[0])
			(void)buf_puts(b, escape);
		else
			(void)buf_append(b, s, len);
	}
	(void)buf_putc(b, '"');
	return b->full ? -ENOBUFS : 0;
}

void buf_consume(struct buf *b, size_t n)
{
	if (n >= b->len) {
		buf_clear(b);
		return;
	}
	memmove(b->data, b->data + n, b->len - n);
	b->len -= n;
	b->data[b->len] = '\0';
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->full = false;
	if (b->data)
		b->data[0] = '\0';
}

const char *buf_str(struct buf *b)
{
	if (!b->data)
		return "";
	b->data[b->len] = '\0';
	return b->data;
}

char *buf_take(struct buf *b)
{
	char *s;

	(void)buf_reserve(b, 0);
	s = b->data;
	s[b->len] = '\0';
	b->data = NULL;
	b->len = b->cap = 0;
	return s;
}
