#pragma once

#include "base/mem.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A byte buffer that is born with its maximum. Reaching it is -ENOBUFS, which a caller treats as
 * a protocol or input error, never as a reason to grow. data stays NUL-terminated behind len, so
 * buf_str() may be printed where the content is known to be text.
 */
struct buf {
	char *data;
	size_t len, cap, max;
	bool full; /* something did not fit since the last clear */
};

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b);
int buf_append(struct buf *b, const void *p, size_t n);
int buf_puts(struct buf *b, const char *s);
int buf_putc(struct buf *b, char c);
int buf_printf(struct buf *b, const char *fmt, ...) printf_like(2, 3);
/* Text of others for a terminal, as base/text/escape.h says. */
int buf_put_escaped(struct buf *b, const char *s);
/* The same for lines of others' text: newlines, tabs and returns stay. Bytes, which may be zero. */
int buf_put_lines(struct buf *b, const char *p, size_t n);
/* Between double quotes, escaped as a JSON string, which is a YAML one too. */
int buf_put_quoted(struct buf *b, const char *s);
/* Room for n more bytes at data + len; the caller adds to len what it wrote. */
int buf_reserve(struct buf *b, size_t n);
void buf_consume(struct buf *b, size_t n); /* drops n bytes from the front */
void buf_clear(struct buf *b);
const char *buf_str(struct buf *b);
char *buf_take(struct buf *b); /* the NUL-terminated bytes; the buffer is empty afterwards */
static inline size_t buf_room(const struct buf *b)
{
	return b->max - b->len;
}

#define cleanup_buf cleanup_(buf_done)
