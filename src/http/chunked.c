#include "http/chunked.h"

#include "http/http1.h"

#include <assert.h>

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = ascii_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int step_size(struct chunked *c, char b)
{
	int digit = hex_digit(b);

	if (digit >= 0) {
		if (c->digits == CHUNKED_SIZE_DIGITS)
			return -CHUNKED_SIZE;
		c->digits++;
		c->left = c->left << 4 | (uint32_t)digit;
		return 0;
	}
	if (c->digits == 0)
		return -CHUNKED_SIZE;
	if (b == '\r')
		c->state = CHUNKED_S_SIZE_LF;
	else if (b == ';')
		c->state = CHUNKED_S_EXT;
	else
		return -CHUNKED_SIZE;
	return 0;
}

static int step_ext(struct chunked *c, char b)
{
	unsigned char u = (unsigned char)b;

	if (b == '\r') {
		c->state = CHUNKED_S_SIZE_LF;
		return 0;
	}
	if ((u < ' ' && b != '\t') || u >= 0x7f)
		return -CHUNKED_EXT_BYTE;
	if (++c->ext > CHUNKED_EXT_MAX || ++c->ext_total > CHUNKED_EXT_TOTAL_MAX)
		return -CHUNKED_EXT_LONG;
	return 0;
}

/* Takes one byte of framing, which is everything but payload and trailers. */
static int step(struct chunked *c, char b)
{
	switch (c->state) {
	case CHUNKED_S_SIZE:
		return step_size(c, b);
	case CHUNKED_S_EXT:
		return step_ext(c, b);
	case CHUNKED_S_SIZE_LF:
		if (b != '\n')
			return -CHUNKED_LINE_END;
		c->state = c->left ? CHUNKED_S_DATA : CHUNKED_S_TRAILER;
		return 0;
	case CHUNKED_S_DATA_CR:
		if (b != '\r')
			return -CHUNKED_LINE_END;
		c->state = CHUNKED_S_DATA_LF;
		return 0;
	case CHUNKED_S_DATA_LF:
		if (b != '\n')
			return -CHUNKED_LINE_END;
		c->state = CHUNKED_S_SIZE;
		c->digits = 0;
		c->ext = 0;
		return 0;
	case CHUNKED_S_DATA:
	case CHUNKED_S_TRAILER:
	case CHUNKED_S_END:
	case CHUNKED_S_N:
		break;
	}
	return -CHUNKED_AFTER_END;
}

/*
 * RFC 9110 6.5.1: nothing that frames, routes, authenticates or is needed before the body. A
 * receiver that merges trailers into its head would otherwise take them for the real ones.
 */
static bool trailer_forbidden(struct slice name)
{
	static const char *const names[] = {
		"age",
		"cache-control",
		"content-range",
		"date",
		"expires",
		"location",
		"max-forwards",
		"pragma",
		"range",
		"retry-after",
		"vary",
		"warning",
		"www-authenticate",
		"authentication-info",
		"x-api-key",
		"x-goog-api-key",
	};

	/* No field that the head parser knows may come as a trailer. */
	if (http1_field_id(name.p, name.n) != HTTP1_F_OTHER)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (slice_is(name, names[i]))
			return true;
	}
	return false;
}

static int split_trailer(const char *p, size_t n, struct chunked_item *ret)
{
	const char *colon = memchr(p, ':', n);
	const char *end = p + n, *value;

	if (!colon || !http1_is_token(p, (size_t)(colon - p)) || colon - p > HTTP1_NAME_MAX)
		return -CHUNKED_TRAILER_BAD;
	for (value = colon + 1; value < end && (*value == ' ' || *value == '\t');)
		value++;
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	ret->name = (struct slice){p, (size_t)(colon - p)};
	ret->value = (struct slice){value, (size_t)(end - value)};
	if (!http1_is_value(ret->value.p, ret->value.n))
		return -CHUNKED_TRAILER_BAD;
	return trailer_forbidden(ret->name) ? -CHUNKED_TRAILER_FORBIDDEN : 0;
}

static ssize_t next_trailer(struct chunked *c, const char *p, size_t len, struct chunked_item *ret)
{
	size_t seen = len < CHUNKED_TRAILER_LINE_MAX ? len : CHUNKED_TRAILER_LINE_MAX;
	const char *lf = seen ? memchr(p, '\n', seen) : NULL;
	size_t line;
	int r;

	if (!lf)
		return seen == CHUNKED_TRAILER_LINE_MAX ? -CHUNKED_TRAILER_LONG : 0;
	line = (size_t)(lf - p) + 1;
	if (line < 2 || lf[-1] != '\r')
		return -CHUNKED_LINE_END;
	if (line == 2) {
		c->state = CHUNKED_S_END;
		ret->kind = CHUNKED_END;
		return 2;
	}
	c->trailer_total += (uint32_t)line;
	if (c->trailer_total > CHUNKED_TRAILER_TOTAL_MAX || ++c->trailers > CHUNKED_TRAILERS_MAX)
		return -CHUNKED_TRAILER_LONG;
	r = split_trailer(p, line - 2, ret);
	if (r < 0)
		return r;
	ret->kind = CHUNKED_TRAILER;
	return (ssize_t)line;
}

ssize_t chunked_next(struct chunked *c, const char *p, size_t len, struct chunked_item *ret)
{
	size_t at = 0, run;
	ssize_t r;

	*ret = (struct chunked_item){.kind = CHUNKED_MORE};
	if (c->state == CHUNKED_S_END)
		return -CHUNKED_AFTER_END;
	while (at < len && c->state != CHUNKED_S_DATA && c->state != CHUNKED_S_TRAILER) {
		r = step(c, p[at++]);
		if (r < 0)
			return r;
	}
	if (at == len)
		return (ssize_t)at;
	if (c->state == CHUNKED_S_TRAILER) {
		r = next_trailer(c, p + at, len - at, ret);
		return r < 0 ? r : (ssize_t)at + r;
	}
	run = len - at < c->left ? len - at : c->left;
	*ret = (struct chunked_item){.kind = CHUNKED_DATA, .data = {p + at, run}};
	c->left -= (uint32_t)run;
	c->total += run;
	if (c->left == 0)
		c->state = CHUNKED_S_DATA_CR;
	return (ssize_t)(at + run);
}

size_t chunked_put_head(char out[static CHUNKED_HEAD_MAX], uint32_t n)
{
	static const char digits[] = "0123456789abcdef";
	size_t len = 1;

	assert(n > 0); /* an empty run would be the last chunk */
	while (len < CHUNKED_SIZE_DIGITS && n >> (4 * len))
		len++;
	for (size_t i = 0; i < len; i++)
		out[i] = digits[n >> (4 * (len - 1 - i)) & 15];
	out[len] = '\r';
	out[len + 1] = '\n';
	return len + 2;
}

int chunked_put(struct buf *out, const void *p, size_t n)
{
	char head[CHUNKED_HEAD_MAX];
	size_t head_len;

	if (n > UINT32_MAX || out->max - out->len < n + CHUNKED_HEAD_MAX + 2)
		return -ENOBUFS;
	head_len = chunked_put_head(head, (uint32_t)n);
	(void)buf_append(out, head, head_len); /* room was checked above */
	(void)buf_append(out, p, n);
	(void)buf_append(out, CHUNKED_CRLF, 2);
	return 0;
}
