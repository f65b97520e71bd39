#include "gateway/exchange/body.h"

#include "gateway/exchange/phantom.h"
#include "gateway/exchange/response-guard.h"
#include "gateway/exchange/spool.h"
#include "http/override.h"

static int put_trailer(struct body *b, struct buf *out, const struct chunked_item *item)
{
	int r = 0;

	if (b->unframe)
		return 0;
	if (!b->trailers)
		r = buf_puts(out, CHUNKED_LAST);
	b->trailers = true;
	if (r == 0 && item) {
		r = buf_append(out, item->name.p, item->name.n);
		(void)buf_puts(out, ": ");
		(void)buf_append(out, item->value.p, item->value.n);
	}
	if (r == 0)
		r = buf_puts(out, CHUNKED_CRLF);
	return r;
}

/* A copy that has become too long is of no use. */
static void keep_copy(struct body *b, const char *p, size_t n)
{
	if (spool_put(b->copy, p, n) == 0)
		return;
	spool_done(b->copy);
	b->copy = NULL;
}

static int put_payload(struct body *b, char *p, size_t n, bool last, struct buf *out)
{
	bool chunks = b->kind == HTTP1_BODY_CHUNKED && !b->unframe;

	if (b->copy)
		keep_copy(b, p, n);
	if (b->guard)
		return response_guard_put(b->guard, p, n, last, chunks, out);
	return chunks ? chunked_put(out, p, n) : buf_append(out, p, n);
}

/* Nothing follows in the body: what the guard held back may go. */
static int flush_guard(struct body *b, struct buf *out)
{
	return b->guard ? put_payload(b, NULL, 0, true, out) : 0;
}

/* Puts out the bytes that waited, then the last chunk, then the trailer; NULL: the end. */
static int put_end(struct body *b, struct buf *out, const struct chunked_item *trailer)
{
	int r = b->trailers ? 0 : flush_guard(b, out);

	return r < 0 ? r : put_trailer(b, out, trailer);
}

/* p: the n bytes that the item was read from. */
static int move_trailer(struct body *b, const struct chunked_item *item, char *p, size_t n,
			struct buf *out)
{
	if (b->no_overrides && (override_is(item->name) || override_names_path(item->name)))
		return 0;
	if (b->no_keys && phantom_strips(item->name))
		return 0;
	if (b->guard)
		response_guard_text(b->guard, p, n);
	return put_end(b, out, item);
}

static int move_item(struct body *b, const struct chunked_item *item, char *p, size_t n,
		     struct buf *out)
{
	switch (item->kind) {
	case CHUNKED_DATA:
		return put_payload(b, p + (item->data.p - p), item->data.n, false, out);
	case CHUNKED_TRAILER:
		return move_trailer(b, item, p, n, out);
	case CHUNKED_END:
		b->done = true;
		return put_end(b, out, NULL);
	case CHUNKED_MORE:
		break;
	}
	return 0;
}

static ssize_t move_chunks(struct body *b, struct buf *in, struct buf *out)
{
	size_t used = 0;

	while (!b->done) {
		struct chunked_item item = {0};
		char *p = in->data + used;
		ssize_t n = chunked_next(&b->chunked, p, in->len - used, &item);
		int r;

		if (n < 0)
			return -EPROTO;
		used += (size_t)n;
		if (item.kind == CHUNKED_MORE)
			break;
		r = move_item(b, &item, p, (size_t)n, out);
		if (r < 0)
			return -EPROTO;
	}
	return (ssize_t)used;
}

ssize_t body_move(struct body *b, struct buf *in, struct buf *out)
{
	ssize_t n;

	if (b->kind == HTTP1_BODY_CHUNKED) {
		n = move_chunks(b, in, out);
	} else {
		bool sized = b->kind == HTTP1_BODY_LENGTH;

		n = (ssize_t)(sized && b->left < in->len ? b->left : in->len);
		if (sized) {
			b->left -= (uint64_t)n;
			b->done = b->left == 0;
		}
		if (n && put_payload(b, in->data, (size_t)n, b->done, out) < 0)
			return -EPROTO;
	}
	if (n > 0)
		buf_consume(in, (size_t)n);
	return n;
}

ssize_t body_relay(struct gw *gw, struct body *b, struct stream *from, struct stream *to,
		   struct buf *out, uint64_t *count)
{
	struct slice go = {.p = gw->scratch};
	size_t want = SCRATCH;
	ssize_t n;
	int r;

	if (b->kind == HTTP1_BODY_LENGTH && b->left < want)
		want = (size_t)b->left;
	n = stream_read(from, gw->scratch, want);
	if (n <= 0)
		return n;
	if (b->kind == HTTP1_BODY_LENGTH) {
		b->left -= (uint64_t)n;
		b->done = b->left == 0;
	}
	go.n = (size_t)n;
	if (b->copy)
		keep_copy(b, gw->scratch, go.n);
	if (b->guard)
		go = response_guard_pass(b->guard, gw->scratch, go.n, b->done, out);
	r = go.n ? stream_send(to, out, go.p, go.n, count) : 0;
	return r < 0 ? -EPIPE : n;
}

ssize_t body_fill(struct gw *gw, struct stream *from, struct buf *in)
{
	size_t room = buf_room(in) < SCRATCH ? buf_room(in) : SCRATCH;
	ssize_t n = room ? stream_read(from, gw->scratch, room) : -ENOBUFS;

	if (n > 0)
		(void)buf_append(in, gw->scratch, (size_t)n);
	return n;
}

void body_close(struct body *b, struct buf *out)
{
	(void)flush_guard(b, out);
	b->done = true;
}

static ssize_t take_chunk(struct body *b, const struct buf *in, struct slice *ret)
{
	size_t used = 0;

	for (;;) {
		struct chunked_item item = {0};
		ssize_t n = chunked_next(&b->chunked, in->data + used, in->len - used, &item);

		if (n < 0)
			return -EPROTO;
		used += (size_t)n;
		b->done = item.kind == CHUNKED_END;
		*ret = item.data;
		/* Trailers have no place in what the payload becomes. */
		if (item.kind != CHUNKED_TRAILER)
			return (ssize_t)used;
	}
}

ssize_t body_take(struct body *b, const struct buf *in, struct slice *ret)
{
	size_t n = in->len;

	*ret = (struct slice){0};
	if (b->kind == HTTP1_BODY_CHUNKED)
		return take_chunk(b, in, ret);
	if (b->kind == HTTP1_BODY_LENGTH) {
		n = b->left < n ? (size_t)b->left : n;
		b->left -= n;
		b->done = b->left == 0;
	}
	*ret = (struct slice){in->data, n};
	return (ssize_t)n;
}
