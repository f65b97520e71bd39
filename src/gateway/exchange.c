/*
 * DOC: Theory of operation
 *
 * Both directions run at once: the request's body towards the server, the answer towards the
 * client. Each reads only while what it read before has been taken by the other side, so that
 * nothing is buffered but the piece in hand, and each piece leaves as soon as it was read. Framing
 * is parsed and written anew; a body is never passed on under another framing than the one that
 * was understood. The exchange is over when both bodies are complete; an answer that is complete
 * before its request was read ends the connection.
 */
#include "gateway/exchange.h"

#include <string.h>
#include <sys/socket.h>

#include "gateway/refuse.h"

enum move { MOVE_IDLE, MOVE_BLOCKED, MOVE_MORE, MOVE_OVER };

struct exchange *exchange_new(const struct http1_head *h)
{
	struct exchange *x = xcalloc(1, sizeof(*x));
	/* For the log, which has no query: it may hold secrets. */
	struct slice path =
		h->form == HTTP1_ORIGIN || h->form == HTTP1_ABSOLUTE ? h->url.path : h->target;

	memcpy(x->method, h->method.p, h->method.n);
	x->path =
		xstrndup(path.p ? path.p : "", path.n < GW_TEXT_MAX - 1 ? path.n : GW_TEXT_MAX - 1);
	x->to = http1_to(h);
	x->request = (struct body){.kind = h->body, .left = h->length};
	x->request.done =
		h->body == HTTP1_BODY_NONE || (h->body == HTTP1_BODY_LENGTH && !h->length);
	x->old_client = h->minor == 0;
	/* We answer as HTTP/1.1, where staying goes without saying; an older client would wait. */
	x->client_keeps = h->keep_alive && !x->old_client;
	buf_init(&x->again, PENDING_MAX);
	return x;
}

void exchange_free(struct exchange *x)
{
	if (!x)
		return;
	free(x->path);
	free(x->credential);
	free(x->target);
	buf_done(&x->again);
	free(x);
}

void exchange_describe(const struct conn *c, struct gw_event *e)
{
	if (!c->x)
		return;
	e->method = c->x->method;
	e->status = c->x->status;
	e->path = c->x->path;
}

void exchange_status(struct conn *c, unsigned int status)
{
	if (c->x && !c->x->head_done)
		c->x->status = status;
}

void exchange_quiet(struct conn *c)
{
	if (c->x)
		c->x->quiet = true;
}

bool exchange_answered(const struct conn *c)
{
	return c->x && c->x->answered;
}

bool exchange_is_head(const struct conn *c)
{
	return c->x && c->x->to == HTTP1_TO_HEAD;
}

void exchange_end(struct conn *c)
{
	if (!c->x)
		return;
	if (!c->x->quiet)
		conn_event(c, GW_END, c->x->response.done ? GW_ALLOW : GW_ERROR,
			   c->x->response.done ? "" : "ended before the answer was complete");
	c->gw->health.bytes_up += c->up_bytes;
	c->gw->health.bytes_down += c->down_bytes;
	exchange_free(c->x);
	c->x = NULL;
}

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

/* Bytes consumed of p; 0: more are needed; -EPROTO. */
static ssize_t move_chunks(struct body *b, const char *p, size_t len, struct buf *out)
{
	size_t used = 0;

	while (!b->done) {
		struct chunked_item item = {0};
		ssize_t n = chunked_next(&b->chunked, p + used, len - used, &item);
		int r = 0;

		if (n < 0)
			return -EPROTO;
		used += (size_t)n;
		switch (item.kind) {
		case CHUNKED_MORE:
			return (ssize_t)used;
		case CHUNKED_DATA:
			r = b->unframe ? buf_append(out, item.data.p, item.data.n)
				       : chunked_put(out, item.data.p, item.data.n);
			break;
		case CHUNKED_TRAILER:
			r = put_trailer(b, out, &item);
			break;
		case CHUNKED_END:
			r = put_trailer(b, out, NULL);
			b->done = true;
			break;
		}
		if (r < 0)
			return -EPROTO;
	}
	return (ssize_t)used;
}

/* What lies in `in` already, into out. The same answers. */
static ssize_t move_buffered(struct body *b, struct buf *in, struct buf *out)
{
	ssize_t n;

	if (b->kind == HTTP1_BODY_CHUNKED) {
		n = move_chunks(b, in->data, in->len, out);
	} else {
		n = (ssize_t)(b->kind == HTTP1_BODY_LENGTH && b->left < in->len ? b->left
										: in->len);
		if (n && buf_append(out, in->data, (size_t)n) < 0)
			return -EPROTO;
		if (b->kind == HTTP1_BODY_LENGTH) {
			b->left -= (uint64_t)n;
			b->done = b->left == 0;
		}
	}
	if (n > 0)
		buf_consume(in, (size_t)n);
	return n;
}

/* Straight through the scratch buffer: no more is read than belongs to the body. */
static ssize_t move_direct(struct gw *gw, struct body *b, struct stream *from, struct stream *to,
			   struct buf *out, uint64_t *count)
{
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
	r = stream_send(to, out, gw->scratch, (size_t)n, count);
	return r < 0 ? -EPIPE : n;
}

/* More into `in`: > 0, 0 at the end, -EAGAIN, -errno. */
static ssize_t read_into(struct gw *gw, struct stream *from, struct buf *in)
{
	size_t room = buf_room(in) < SCRATCH ? buf_room(in) : SCRATCH;
	ssize_t n = room ? stream_read(from, gw->scratch, room) : -ENOBUFS;

	if (n > 0)
		(void)buf_append(in, gw->scratch, (size_t)n);
	return n;
}

/* The request's body; MOVE_OVER: c is over. */
static enum move move_request(struct conn *c)
{
	struct exchange *x = c->x;

	for (int i = 0; i < RELAY_ROUNDS; i++) {
		int r = stream_flush(&c->up, &c->up_out, &c->up_bytes);
		ssize_t n;

		if (r == -EAGAIN)
			return MOVE_BLOCKED;
		if (r < 0) {
			/* It may have answered before it closed: see what it said. */
			x->cut = c->up.readable = true;
			buf_done(&c->up_out);
		}
		if (x->request.done || x->cut)
			return MOVE_IDLE;
		n = c->in.len ? move_buffered(&x->request, &c->in, &c->up_out) : 0;
		if (n == 0 && !c->client.readable)
			return MOVE_IDLE;
		if (n == 0 && x->request.kind == HTTP1_BODY_CHUNKED)
			n = read_into(c->gw, &c->client, &c->in);
		else if (n == 0)
			n = move_direct(c->gw, &x->request, &c->client, &c->up, &c->up_out,
					&c->up_bytes);
		if (n == -EAGAIN)
			return MOVE_IDLE;
		if (n == -EPROTO) {
			refuse_as(c, GW_DENY, 400, "the request's body is malformed");
			return MOVE_OVER;
		}
		if (n == -EPIPE) {
			x->cut = c->up.readable = true;
		} else if (n <= 0) {
			conn_end(c, "client gone");
			return MOVE_OVER;
		}
	}
	return MOVE_MORE;
}

static bool is_final(const struct http1_head *h)
{
	return h->status >= 200 || h->status == 101;
}

/* The head for the client; false: it cannot be passed on. */
static bool pass_head(struct conn *c, const struct http1_head *h)
{
	struct exchange *x = c->x;
	struct http1_edit e = {0};

	if (h->status == 101 && !x->upgrade)
		return false;
	if (!is_final(h))
		return x->old_client || http1_write_response(&c->out, h, &e) == 0;
	x->status = h->status;
	x->head_done = x->answered = true;
	x->server_keeps = h->keep_alive;
	x->response = (struct body){.kind = h->body, .left = h->length};
	x->response.done = h->body == HTTP1_BODY_NONE || h->body == HTTP1_BODY_TUNNEL ||
			   (h->body == HTTP1_BODY_LENGTH && h->length == 0);
	if (h->body == HTTP1_BODY_CHUNKED && x->old_client) {
		x->response.unframe = e.reframe = true;
		e.body = HTTP1_BODY_CLOSE;
	}
	if (h->body == HTTP1_BODY_CLOSE || x->response.unframe || !x->request.done)
		x->client_keeps = false;
	e.close = !x->client_keeps && h->status != 101;
	e.keep_upgrade = h->status == 101;
	return http1_write_response(&c->out, h, &e) == 0;
}

/* 1: a head was passed on; 0: more bytes are needed; -1: c is over. */
static int take_head(struct conn *c)
{
	struct http1_head *h = &c->gw->head;
	ssize_t n = 0;

	http1_reset(h);
	h->scanned = c->scanned;
	h->line_start = c->line_start;
	if (c->up_in.len)
		n = http1_parse_response(c->up_in.data, c->up_in.len, c->x->to, h);
	if (n == 0) {
		c->scanned = h->scanned;
		c->line_start = h->line_start;
		return 0;
	}
	c->scanned = c->line_start = 0;
	if (n < 0) {
		refuse_as(c, GW_ERROR, 502, http1_reason_str((int)n));
		return -1;
	}
	if (!pass_head(c, h)) {
		c->x->answered = c->out.len > 0;
		refuse_as(c, GW_ERROR, 502, "the server's answer cannot be passed on");
		return -1;
	}
	buf_consume(&c->up_in, (size_t)n);
	return 1;
}

static void retry(struct conn *c)
{
	conn_drop_upstream(c);
	c->retried = true;
	c->x->cut = false;
	(void)buf_append(&c->up_out, c->x->again.data, c->x->again.len);
	conn_open_upstream(c);
}

/* The server's side has ended, by n = 0 or an error. */
static enum move on_server_end(struct conn *c, ssize_t n)
{
	struct exchange *x = c->x;

	if (x->head_done && x->response.kind == HTTP1_BODY_CLOSE && n == 0) {
		x->response.done = true;
		return MOVE_MORE;
	}
	if (!x->head_done && c->pooled && !c->retried && x->again.len && c->up_in.len == 0 &&
	    c->out.len == 0) {
		retry(c);
		return MOVE_OVER;
	}
	refuse_as(c, GW_ERROR, 502,
		  x->head_done ? "the server's answer was cut off"
			       : "the server closed the connection without an answer");
	return MOVE_OVER;
}

/* One piece of the answer. */
static ssize_t answer_piece(struct conn *c)
{
	struct exchange *x = c->x;
	ssize_t n = 0;

	if (!x->head_done)
		n = take_head(c);
	/* What came with the head leaves with it. */
	if (n >= 0 && x->head_done && !x->response.done && c->up_in.len) {
		ssize_t moved = move_buffered(&x->response, &c->up_in, &c->out);

		n = moved < 0 || n == 0 ? moved : n;
	}
	if (n == -EPROTO) {
		refuse_as(c, GW_ERROR, 502, "the server's answer is malformed");
		return -1;
	}
	if (n != 0)
		return n;
	if (!c->up.readable)
		return -EAGAIN;
	if (!x->head_done || x->response.kind == HTTP1_BODY_CHUNKED)
		n = read_into(c->gw, &c->up, &c->up_in);
	else
		n = move_direct(c->gw, &x->response, &c->up, &c->client, &c->out, &c->down_bytes);
	if (n > 0 || n == -EAGAIN)
		return n;
	if (n == -EPIPE) {
		conn_end(c, "client gone");
		return -1;
	}
	return on_server_end(c, n) == MOVE_OVER ? -1 : 1;
}

static enum move move_response(struct conn *c)
{
	struct exchange *x = c->x;

	for (int i = 0; i < 2 * RELAY_ROUNDS; i++) {
		int r = stream_flush(&c->client, &c->out, &c->down_bytes);
		ssize_t n;

		if (r == -EAGAIN)
			return MOVE_BLOCKED;
		if (r < 0) {
			conn_end(c, "client gone");
			return MOVE_OVER;
		}
		if (x->response.done)
			return MOVE_IDLE;
		n = answer_piece(c);
		if (n == -EAGAIN)
			return MOVE_IDLE;
		if (n < 0)
			return MOVE_OVER;
	}
	return MOVE_MORE;
}

/* Nobody is left to read the answer: let go of the server at once, since answers can be long. */
static bool client_left(struct conn *c)
{
	char b;

	if (!c->client.readable || !c->x->request.done || c->in.len)
		return false;
	return recv(c->client.io.fd, &b, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void finish(struct conn *c)
{
	struct exchange *x = c->x;
	bool keep = x->client_keeps && x->request.done && !x->cut;

	if (x->status == 101) {
		exchange_end(c);
		conn_start_tunnel(c, false);
		return;
	}
	c->up_idle = x->server_keeps && x->request.done && !x->cut &&
		     x->response.kind != HTTP1_BODY_CLOSE && c->up_in.len == 0 && !c->up.eof &&
		     !stream_holds(&c->up);
	/* The last read may have been as long as the body: an event will tell if there is more. */
	c->up.readable = false;
	if (!c->up_idle)
		conn_drop_upstream(c);
	exchange_end(c);
	if (!keep) {
		conn_finish(c, "last answer");
		return;
	}
	c->scanned = c->line_start = 0;
	c->has_target = c->fixed;
	conn_go(c, CONN_HEAD, "answered");
	conn_want(c, !c->client.readable, false, true, false);
	/* From the loop, not from here: a pipeline of requests must not grow our stack. */
	if (c->in.len || c->client.readable)
		conn_again(c);
}

void conn_on_exchange(struct conn *c)
{
	uint64_t before = c->up_bytes + c->down_bytes;
	enum move up = move_request(c), down;

	if (up == MOVE_OVER)
		return;
	down = move_response(c);
	if (down == MOVE_OVER)
		return;
	if (down == MOVE_IDLE && c->x->response.done) {
		finish(c);
		return;
	}
	if (client_left(c)) {
		conn_end(c, "client gone");
		return;
	}
	if (c->up_bytes + c->down_bytes != before)
		conn_touch(c);
	if (up == MOVE_MORE || down == MOVE_MORE)
		conn_again(c);
	conn_want(c, !c->client.readable && !c->client.eof, down == MOVE_BLOCKED,
		  !c->up.readable && !c->up.eof, up == MOVE_BLOCKED);
}

void conn_start_exchange(struct conn *c)
{
	c->scanned = c->line_start = 0;
	conn_go(c, CONN_EXCHANGE, "sending");
	conn_on_exchange(c);
}
