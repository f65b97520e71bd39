#define ZLIB_CONST
#include "gateway/exchange/decode.h"

#include <zlib.h>

#include "gateway/gateway-limits.h"

#define WINDOW 15
#define GZIP 16

struct decode {
	z_stream z;
	bool maybe_raw; /* "deflate", and nothing of it has been read yet */
	bool over;
	bool full; /* there may be more to make of what was fed */
	bool fill; /* see decode_fill() */
	struct buf in;
	size_t at;
	size_t n_out;
	char out[DECODED_TURN];
};

struct decode *decode_new(struct slice coding)
{
	bool gzip = slice_is(coding, "gzip") || slice_is(coding, "x-gzip");
	struct decode *d;

	if (!gzip && !slice_is(coding, "deflate"))
		return NULL;
	d = xcalloc(1, sizeof(*d));
	buf_init(&d->in, IN_MAX);
	d->maybe_raw = !gzip;
	if (inflateInit2(&d->z, gzip ? WINDOW + GZIP : WINDOW) == Z_OK)
		return d;
	free(d);
	return NULL;
}

void decode_free(struct decode *d)
{
	if (!d)
		return;
	(void)inflateEnd(&d->z);
	buf_done(&d->in);
	free(d);
}

int decode_feed(struct decode *d, const char *p, size_t n)
{
	return buf_append(&d->in, p, n) < 0 ? -EPROTO : 0;
}

/* zlib's head is a multiple of 31 that names deflate; without it the bytes are raw. */
static void look_at_head(struct decode *d)
{
	const unsigned char *p = (const unsigned char *)d->in.data;

	d->maybe_raw = false;
	if ((p[0] & 15) != 8 || (p[0] << 8 | p[1]) % 31 != 0)
		(void)inflateReset2(&d->z, -WINDOW);
}

/* All that was fed is used up. */
static ssize_t used_up(struct decode *d)
{
	buf_clear(&d->in);
	d->at = 0;
	return 0;
}

void decode_fill(struct decode *d)
{
	d->fill = true;
}

/* Makes what fits into out, behind what is there: how much, or -EPROTO. */
static ssize_t make(struct decode *d)
{
	int r;

	/* A gzip file may be followed by another, and only by that. */
	if (d->over && inflateReset(&d->z) != Z_OK)
		return -EPROTO;
	d->z.next_in = (const unsigned char *)d->in.data + d->at;
	d->z.avail_in = (unsigned int)(d->in.len - d->at);
	d->z.next_out = (unsigned char *)d->out + d->n_out;
	d->z.avail_out = (unsigned int)(sizeof(d->out) - d->n_out);
	r = inflate(&d->z, Z_NO_FLUSH);
	d->at = d->in.len - d->z.avail_in;
	d->full = d->z.avail_out == 0;
	d->over = r == Z_STREAM_END;
	if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
		return -EPROTO;
	r = (int)(sizeof(d->out) - d->n_out - d->z.avail_out);
	d->n_out += (size_t)r;
	return r;
}

size_t decode_rest(struct decode *d, char **ret)
{
	size_t n = d->n_out;

	*ret = d->out;
	d->n_out = 0;
	return n;
}

ssize_t decode_next(struct decode *d, char **ret)
{
	if (d->maybe_raw && d->in.len < 2)
		return 0;
	if (d->maybe_raw)
		look_at_head(d);
	while (d->at < d->in.len || d->full) {
		size_t before = d->at;
		ssize_t n = make(d);

		if (n < 0)
			return n;
		if (n && (!d->fill || d->n_out == sizeof(d->out)))
			return (ssize_t)decode_rest(d, ret);
		/* The decoder neither made nor used anything, and yet is not at its end. */
		if (d->at == before && !d->over)
			break;
	}
	return d->at == d->in.len ? used_up(d) : -EPROTO;
}

bool decode_over(const struct decode *d)
{
	return d->at == d->in.len && !d->full && (d->over || d->z.total_in == 0);
}
