#include "base/text/escape.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

bool escape_needed(const char *s)
{
	char escape[ESCAPE_LONGEST];

	for (size_t len; *s; s += len) {
		len = escape_next(s, escape);
		if (escape[0])
			return true;
	}
	return false;
}

size_t escape_json_next(const char *s, char out[ESCAPE_LONGEST])
{
	uint32_t c = 0;
	size_t len = escape_decode(s, &c);

	out[0] = '\0';
	if (len && !escape_is_active(c))
		return len;
	if (len == 0)
		(void)snprintf(out, ESCAPE_LONGEST, "\\\\x%02x", (unsigned char)*s);
	else if (c < 0x10000)
		(void)snprintf(out, ESCAPE_LONGEST, "\\u%04x", (unsigned)c);
	else
		(void)snprintf(out, ESCAPE_LONGEST, "\\u%04x\\u%04x",
			       0xd800U + ((c - 0x10000) >> 10), 0xdc00U + (c & 0x3ff));
	return len ? len : 1;
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
