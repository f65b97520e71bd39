#include "gateway/exchange/response-guard.h"

#include <string.h>

#include "gateway/parse/h2-head.h"
#include "http/chunked.h"
#include "gateway/exchange/exchange.h"
#include "flow/gw.h"

#define AWS_FRAME_MIN 16 /* two lengths and two checksums */

struct response_guard *response_guard_new(struct gw *gw, const struct gw_route *route)
{
	struct response_guard *g = xmalloc(sizeof(*g)); /* as exchange_new() */

	*g = (struct response_guard){.gw = gw, .route = route};
	buf_init(&g->head, HTTP1_HEAD_MAX);
	buf_init(&g->answer_head, HTTP1_HEAD_MAX);
	spool_init(&g->body, BODY_SIGNED_MAX, &gw->spooled);
	spool_init(&g->answer, ANSWER_READ_MAX, &gw->answers);
	scrub_init(&g->scrub, gw->secrets);
	return g;
}

void response_guard_free(struct response_guard *g)
{
	if (!g)
		return;
	buf_done(&g->head);
	free(g->content_type);
	buf_done(&g->answer_head);
	spool_done(&g->body);
	spool_done(&g->answer);
	scrub_done(&g->scrub);
	free(g);
}

/* Another request may have been given another secret since, and this answer may show it. */
static void renew(struct response_guard *g)
{
	if (g->scrub.needles != g->gw->secrets)
		scrub_renew(&g->scrub, g->gw->secrets);
}

/* NULL, or why the answer cannot be searched. */
static const char *objection(const struct http1_head *h)
{
	/* No part was asked for, see phantom_strip(): it could end within a secret. */
	if (h->status == 206)
		return "the server has sent a part of its answer, which cannot be searched";
	if (h->body == HTTP1_BODY_NONE)
		return NULL;
	for (size_t i = 0; i < h->n_fields; i++)
		if ((h->fields[i].id == HTTP1_F_CONTENT_ENCODING ||
		     slice_is(h->fields[i].name, "grpc-encoding")) &&
		    !slice_is(h->fields[i].value, "identity"))
			return "the server has compressed its answer, although it was asked not "
			       "to: "
			       "the lengths would tell how much of it is like a secret";
	return NULL;
}

static enum guard_frames frames_of(const struct response_guard *g, const struct http1_head *h)
{
	const struct http1_field *type = http1_find(h, "content-type");

	if (type && h2_is_grpc(type->value))
		return FRAMES_GRPC;
	return type && g->provider && h->status / 100 == 2 &&
			       slice_is(type->value, "application/vnd.amazon.eventstream")
		       ? FRAMES_AWS
		       : FRAMES_NONE;
}

const char *response_guard_head(struct response_guard *g, char *p, size_t n, struct http1_head *h)
{
	response_guard_text(g, p, n);
	/* A session the server would begin for us is a credential of its own. */
	for (size_t i = 0; i < h->n_fields; i++)
		h->fields[i].hop |= g->carries && h->fields[i].id == HTTP1_F_SET_COOKIE;
	if (h->status < 200)
		return NULL;
	g->frames = frames_of(g, h);
	if (g->provider)
		(void)buf_append(&g->answer_head, p, n);
	return objection(h);
}

void response_guard_text(struct response_guard *g, char *p, size_t n)
{
	renew(g);
	scrub_text(&g->scrub, p, n);
}

/* The length includes the head. Bytes that are no frame end the search for frames. */
static void take_off_head(struct response_guard *g, uint8_t head)
{
	if (g->frame_left < AWS_FRAME_MIN)
		g->frames = FRAMES_NONE;
	else
		g->frame_left -= head;
}

/*
 * Has a frame ended with the last byte of p? One of gRPC begins with a flag and the length of what
 * follows, one of AWS with the length of all of it. No message is compressed, so the flag is 0, and
 * a body that begins otherwise is a text: a client may have chosen bytes of it, and with them what
 * looks like a length.
 */
static bool frame_is_over(struct response_guard *g, const char *p, size_t n)
{
	uint8_t flag = g->frames == FRAMES_GRPC, head = 4 + flag;

	for (size_t i = 0; i < n && g->frames;) {
		if (g->frame_head < head) {
			if (g->frame_head >= flag)
				g->frame_left = g->frame_left << 8 | (unsigned char)p[i];
			else if (p[i] && p[i] != '\x80') /* gRPC-Web's trailers */
				g->frames = FRAMES_NONE;
			g->frame_head++;
			i++;
			if (g->frame_head == head && g->frames == FRAMES_AWS)
				take_off_head(g, head);
		} else {
			size_t take = g->frame_left < n - i ? g->frame_left : n - i;

			g->frame_left -= (uint32_t)take;
			i += take;
		}
		if (g->frame_head == head && g->frame_left == 0)
			g->frame_head = 0;
	}
	return g->frames && g->frame_head == 0;
}

/* Keeps what the client gets, for the reader. One that would take too much memory is not read. */
static void keep_answer(struct response_guard *g, struct slice s)
{
	if (s.n && !g->unread && spool_put(&g->answer, s.p, s.n) < 0) {
		spool_done(&g->answer);
		g->unread = true;
	}
}

/* A stretch ends with a frame of AWS or a message of gRPC, whose last byte may be any. */
static void filter(struct response_guard *g, char *p, size_t n, bool last, struct slice *ret_before,
		   struct slice *ret_after)
{
	renew(g);
	last |= g->frames && frame_is_over(g, p, n);
	scrub_run(&g->scrub, p, n, last, ret_before, ret_after);
	if (g->provider) {
		keep_answer(g, *ret_before);
		keep_answer(g, *ret_after);
	}
}

int response_guard_put(struct response_guard *g, char *p, size_t n, bool last, bool chunk,
		       struct buf *out)
{
	char head[CHUNKED_HEAD_MAX];
	struct slice before, after;

	filter(g, p, n, last, &before, &after);
	if (before.n + after.n == 0)
		return 0;
	if (buf_room(out) < before.n + after.n + CHUNKED_HEAD_MAX + 2)
		return -ENOBUFS;
	if (chunk)
		(void)buf_append(out, head, chunked_put_head(head, (uint32_t)(before.n + after.n)));
	if (before.n)
		(void)buf_append(out, before.p, before.n);
	if (after.n)
		(void)buf_append(out, after.p, after.n);
	return chunk ? buf_puts(out, CHUNKED_CRLF) : 0;
}

struct slice response_guard_pass(struct response_guard *g, char *p, size_t n, bool last,
				 struct buf *out)
{
	struct slice before, after;

	filter(g, p, n, last, &before, &after);
	if (before.n)
		(void)buf_append(out, before.p, before.n);
	return after;
}

ssize_t response_guard_replay(struct response_guard *g, struct buf *out)
{
	char part[16 * 1024];
	ssize_t n = spool_get(&g->body, g->sent, part, sizeof(part));

	if (n <= 0)
		return n;
	g->sent += (size_t)n;
	return buf_append(out, part, (size_t)n) < 0 ? -ENOBUFS : n;
}
