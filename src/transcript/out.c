#include "transcript/out.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/text/mask.h"

#define OUT_SIZE (64 * KiB)
#define HOLD_MAX (4 * KiB) /* a longer word is not a key */
#define FRAME_MAX 64	   /* "-----BEGIN ENCRYPTED PRIVATE KEY-----" */

static const char removed[] = "[secret removed]";
static const char begin_mark[] = "-----BEGIN ", end_mark[] = "-----END ";

void tr_out_init(struct tr_out *o, int fd, const struct strv *values)
{
	*o = (struct tr_out){.fd = fd, .values = values};
	buf_init(&o->b, OUT_SIZE + HOLD_MAX);
}

static void out(struct tr_out *o, const char *p, size_t n)
{
	int r = o->error < 0 || n == 0 ? 0 : fd_write_all(o->fd, p, n);

	if (r < 0)
		o->error = r;
	else
		o->written += n;
}

static bool is_value(const struct tr_out *o, const char *p, size_t n)
{
	for (size_t i = 0; o->values && i < o->values->n; i++) {
		const char *v = o->values->v[i];
		size_t len = strlen(v);

		if (len && len <= n && memmem(p, n, v, len))
			return true;
	}
	return false;
}

static void take_out(struct tr_out *o)
{
	o->scrubbed++;
	out(o, removed, sizeof(removed) - 1);
}

/* Finds the frame of a private key at p: 1 for its begin, -1 for its end, 0 for none. */
static int frame(const char *p, size_t n)
{
	if (n < sizeof(begin_mark) || memcmp(p, "-----", 5) != 0)
		return 0;
	if (memcmp(p, end_mark, sizeof(end_mark) - 1) == 0)
		return -1;
	if (memcmp(p, begin_mark, sizeof(begin_mark) - 1) != 0)
		return 0;
	return memmem(p, n < FRAME_MAX ? n : FRAME_MAX, "PRIVATE KEY", 11) ? 1 : 0;
}

/* Returns the length of the frame's line. */
static size_t frame_len(const char *p, size_t n)
{
	const char *close = memmem(p + 5, (n < FRAME_MAX ? n : FRAME_MAX) - 5, "-----", 5);

	return close ? (size_t)(close - p) + 5 : sizeof(begin_mark) - 1;
}

/* Writes text that is no secret; `all`: nothing follows. Returns the number of bytes handled: a
 * word at the end may continue. */
static size_t pass(struct tr_out *o, const char *p, size_t n, bool all)
{
	size_t from = 0, i = 0;

	while ((i += mask_gap_len(p + i, n - i)) < n) {
		int f = frame(p + i, n - i);
		size_t len = f ? frame_len(p + i, n - i) : mask_word_len(p + i, n - i);
		bool secret = f || mask_is_key_word(p + i, len) || is_value(o, p + i, len);

		if (!f && i + len == n && !all && len < HOLD_MAX)
			break;
		if (secret && !o->in_key) {
			out(o, p + from, i - from);
			take_out(o);
		}
		/* Between the frames of a key nothing is written, not even white space. */
		if (o->in_key)
			from = i;
		i += len;
		if (secret || o->in_key)
			from = i;
		if (f)
			o->in_key = f > 0;
	}
	if (!o->in_key)
		out(o, p + from, i - from);
	return i;
}

static void flush(struct tr_out *o, bool all)
{
	size_t n = pass(o, o->b.data ? o->b.data : "", o->b.len, all);

	buf_consume(&o->b, n);
}

void tr_put(struct tr_out *o, const char *p, size_t n)
{
	while (n) {
		size_t part = n < OUT_SIZE / 2 ? n : OUT_SIZE / 2;

		if (o->b.len + part > OUT_SIZE)
			flush(o, false);
		if (buf_append(&o->b, p, part) < 0)
			flush(o, true);
		else {
			p += part;
			n -= part;
		}
	}
}

void tr_puts(struct tr_out *o, const char *s)
{
	tr_put(o, s, strlen(s));
}

void tr_printf(struct tr_out *o, const char *fmt, ...)
{
	char *s;
	va_list ap;

	va_start(ap, fmt);
	s = xvasprintf(fmt, ap);
	va_end(ap);
	tr_puts(o, s);
	free(s);
}

int tr_out_done(struct tr_out *o)
{
	flush(o, true);
	buf_done(&o->b);
	return o->error;
}
