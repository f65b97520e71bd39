#include "base/buf.h"

#include <stdio.h>
#include <string.h>

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
	/* Mostly there is room, and then the maximum holds too: cap is at most max + 1. */
	int r = n < b->cap - b->len ? 0 : buf_reserve(b, n);

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
