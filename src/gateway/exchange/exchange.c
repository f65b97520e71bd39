/*
 * DOC: Theory of operation
 *
 * Both directions run at once: the request's body towards the server, the answer towards the
 * client. Each reads only while what it read before has been taken by the other side, so that
 * nothing is buffered but the piece in hand, and each piece leaves as soon as it was read. Framing
 * is parsed and written anew; a body is never passed on under another framing than the one that
 * was understood. The exchange is over when its answer is complete. An answer that is complete
 * before its request was read ends the client's connection, since the rest of the request must not
 * be read as another one; an answer that is complete before its request was sent ends the server's.
 */
#include "gateway/exchange/exchange.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "gateway/exchange/response-guard.h"
#include "gateway/exchange/inject.h"
#include "gateway/exchange/provider-request.h"
#include "flow/refuse.h"

enum move { MOVE_IDLE, MOVE_BLOCKED, MOVE_MORE, MOVE_OVER };

struct exchange *exchange_new(const struct http1_head *h)
{
	/* Not calloc(), which takes nothing of what was freed before. */
	struct exchange *x = xmalloc(sizeof(*x));
	/* For the log, which has no query: it may hold secrets. */
	struct slice path =
		h->form == HTTP1_ORIGIN || h->form == HTTP1_ABSOLUTE ? h->url.path : h->target;

	*x = (struct exchange){0};
	memcpy(x->method, h->method.p, h->method.n);
	x->path =
		xstrndup(path.p ? path.p : "", path.n < GW_TEXT_MAX - 1 ? path.n : GW_TEXT_MAX - 1);
	x->to = http1_to(h);
	x->request = (struct body){.kind = h->body, .left = h->length};
	if (h->body == HTTP1_BODY_LENGTH && h->length == 0)
		x->request.kind = HTTP1_BODY_NONE;
	x->request.done = x->request.kind == HTTP1_BODY_NONE;
	x->old_client = h->minor == 0;
	/* We answer as HTTP/1.1, where staying goes without saying; an older client would wait. */
	x->client_keeps = h->keep_alive && !x->old_client;
	buf_init(&x->head, PENDING_MAX);
	buf_init(&x->out, PENDING_MAX);
	buf_init(&x->in, IN_MAX);
	return x;
}

void exchange_free(struct exchange *x)
{
	if (!x)
		return;
	free(x->path);
	response_guard_free(x->guard);
	free(x->target);
	buf_done(&x->head);
	buf_done(&x->out);
	buf_done(&x->in);
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
	if (!c->x || c->x->head_done)
		return;
	c->x->status = status;
	provider_status(c);
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

bool exchange_is_provider(const struct conn *c)
{
	return c->x && c->x->provider;
}

const char *exchange_provider(const struct conn *c)
{
	const struct gw_route *r = c->x && c->x->guard ? c->x->guard->provider : NULL;

	return r ? r->provider : "";
}

const struct gw_route *exchange_route(const struct conn *c)
{
	return c->x && c->x->guard ? c->x->guard->route : NULL;
}

const struct gw_route *exchange_trust(const struct conn *c)
{
	return c->x && c->x->guard ? c->x->guard->trust : NULL;
}

static void record_end(struct conn *c)
{
	const struct exchange *x = c->x;
	const char *reason = x->response.done ? "" : "ended before the answer was complete";
	char found[96];

	if (x->guard && x->guard->scrub.count) {
		(void)snprintf(found, sizeof(found), "a secret came back %u times and was removed",
			       x->guard->scrub.count);
		reason = found;
	}
	conn_event(c, GW_END, x->response.done ? GW_ALLOW : GW_ERROR, reason);
}

void exchange_end(struct conn *c)
{
	if (!c->x)
		return;
	if (!c->x->quiet)
		record_end(c);
	if (c->x->guard)
		provider_report(c);
	c->gw->health.bytes_up += c->up_bytes;
	c->gw->health.bytes_down += c->down_bytes;
	exchange_free(c->x);
	c->x = NULL;
}

void exchange_rewind(struct conn *c)
{
	struct exchange *x = c->x;

	c->up_idle = false;
	conn_drop_upstream(c);
	buf_done(&x->out);
	buf_done(&x->in);
	x->head_sent = x->scanned = x->line_start = 0;
	x->cut = false;
}

/* Writes what there is of the request, unless the server takes no more; as stream_flush(). */
static int flush_request(struct conn *c)
{
	struct exchange *x = c->x;

	if (x->cut)
		return 0;
	while (x->head_sent < x->head.len) {
		ssize_t n = stream_write(&c->up, x->head.data + x->head_sent,
					 x->head.len - x->head_sent);

		if (n < 0)
			return (int)n;
		x->head_sent += (size_t)n;
		c->up_bytes += (uint64_t)n;
	}
	return stream_flush(&c->up, &x->out, &c->up_bytes);
}

bool exchange_is_sent(const struct exchange *x)
{
	const struct response_guard *g = x->guard;

	return x->request.done && !x->cut && x->head.len && x->head_sent == x->head.len &&
	       x->out.len == 0 && (!g || !g->replay || g->sent == g->body.len);
}

/* Moves one piece of the request's body: as stream_read(); -EPIPE, -EPROTO as body_relay(). */
static ssize_t request_piece(struct conn *c)
{
	struct exchange *x = c->x;
	ssize_t n = c->in.len ? body_move(&x->request, &c->in, &x->out) : 0;

	if (n != 0)
		return n;
	if (!c->client.readable)
		return -EAGAIN;
	if (x->request.kind == HTTP1_BODY_CHUNKED)
		return body_fill(c->gw, &c->client, &c->in);
	return body_relay(c->gw, &x->request, &c->client, &c->up, &x->out, &c->up_bytes);
}

static void request_failed(struct conn *c, ssize_t n)
{
	if (n == -EPROTO)
		refuse_as(c, GW_DENY, 400, "the request's body is malformed");
	else
		conn_end(c, "client gone");
}

/* The request's body; MOVE_OVER: c is over. */
static enum move move_request(struct conn *c)
{
	struct exchange *x = c->x;

	for (int i = 0; i < RELAY_ROUNDS; i++) {
		int r = flush_request(c);
		ssize_t n;

		if (r == -EAGAIN)
			return MOVE_BLOCKED;
		/* The server may have answered before it closed: its answer is read. */
		if (r < 0)
			x->cut = c->up.readable = true;
		if (x->guard && x->guard->replay && !x->cut) {
			n = response_guard_replay(x->guard, &x->out);
			if (n > 0)
				continue;
			x->cut |= n < 0;
		}
		if (x->request.done || x->cut)
			return MOVE_IDLE;
		n = request_piece(c);
		if (n == -EAGAIN)
			return MOVE_IDLE;
		if (n == -EPIPE) {
			x->cut = c->up.readable = true;
		} else if (n <= 0) {
			request_failed(c, n);
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
static bool pass_head(struct conn *c, struct http1_head *h)
{
	static const struct http1_set no_retry = {{"x-should-retry", 14}, {"false", 5}};
	struct exchange *x = c->x;
	struct http1_edit e = {0};

	if (h->status == 101 && (!x->upgrade || !exchange_is_sent(x)))
		return false;
	if (!is_final(h))
		return x->old_client || http1_write_response(&c->out, h, &e) == 0;
	x->status = h->status;
	provider_status(c);
	x->head_done = x->answered = true;
	x->server_keeps = h->keep_alive;
	x->response = (struct body){.kind = h->body, .left = h->length, .guard = x->guard};
	x->response.done = h->body == HTTP1_BODY_NONE || h->body == HTTP1_BODY_TUNNEL ||
			   (h->body == HTTP1_BODY_LENGTH && h->length == 0);
	if (h->body == HTTP1_BODY_CHUNKED && x->old_client) {
		x->response.unframe = e.reframe = true;
		e.body = HTTP1_BODY_CLOSE;
	}
	/* The newer credential has been tried too: clients would repeat the same for minutes. */
	if (h->status == 401 && x->guard && x->guard->rejected && x->guard->whole) {
		e.set = &no_retry;
		e.n_set = 1;
	}
	if (h->body == HTTP1_BODY_CLOSE || x->response.unframe || !x->request.done)
		x->client_keeps = false;
	e.close = !x->client_keeps && h->status != 101;
	e.keep_upgrade = h->status == 101;
	(void)buf_reserve(&c->out, HEAD_USUAL);
	return http1_write_response(&c->out, h, &e) == 0;
}

/* 1: a head was passed on; 0: more bytes are needed; -1: c is over. */
static int take_head(struct conn *c)
{
	struct http1_head *h = &c->gw->head;
	struct exchange *x = c->x;
	const char *why = NULL;
	ssize_t n;

	http1_reset(h);
	h->scanned = x->scanned;
	h->line_start = x->line_start;
	n = http1_parse_response(x->in.data, x->in.len, x->to, h);
	if (n == 0) {
		x->scanned = h->scanned;
		x->line_start = h->line_start;
		return 0;
	}
	x->scanned = x->line_start = 0;
	if (n < 0) {
		refuse_as(c, GW_ERROR, 502, http1_reason_str((int)n));
		return -1;
	}
	if (x->guard && h->status == 401 && inject_again(c))
		return -1;
	if (x->guard)
		why = response_guard_head(x->guard, x->in.data, (size_t)n, h);
	if (!why && !pass_head(c, h)) {
		x->answered = c->out.len > 0;
		why = "the server's answer cannot be passed on";
	}
	if (why) {
		refuse_as(c, GW_ERROR, 502, why);
		return -1;
	}
	buf_consume(&x->in, (size_t)n);
	return 1;
}

/* The connection was kept from an earlier request, and the server closed it meanwhile? */
static bool may_retry(const struct conn *c)
{
	static const char *const methods[] = {"GET", "HEAD", "OPTIONS"};
	const struct exchange *x = c->x;
	bool harmless = false;

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		harmless |= streq(x->method, methods[i]);
	return harmless && x->request.kind == HTTP1_BODY_NONE && c->pooled && !c->retried &&
	       !x->head_done && x->in.len == 0 && c->out.len == 0;
}

static void retry(struct conn *c)
{
	exchange_rewind(c);
	c->retried = true;
	conn_open_upstream(c);
}

/* The server's side has ended, by n = 0 or an error. */
static enum move on_server_end(struct conn *c, ssize_t n)
{
	struct exchange *x = c->x;

	if (x->head_done && x->response.kind == HTTP1_BODY_CLOSE && n == 0) {
		body_close(&x->response, &c->out);
		return MOVE_MORE;
	}
	if (may_retry(c)) {
		retry(c);
		return MOVE_OVER;
	}
	refuse_as(c, GW_ERROR, 502,
		  x->head_done ? "the server's answer was cut off"
			       : "the server closed the connection without an answer");
	return MOVE_OVER;
}

/* Moves one piece of the answer. */
static ssize_t answer_piece(struct conn *c)
{
	struct exchange *x = c->x;
	ssize_t n = 0;

	if (!x->head_done && x->in.len)
		n = take_head(c);
	/* Body bytes that came with the head leave with it. */
	if (n >= 0 && x->head_done && !x->response.done && x->in.len) {
		ssize_t moved = body_move(&x->response, &x->in, &c->out);

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
		n = body_fill(c->gw, &c->up, &x->in);
	else
		n = body_relay(c->gw, &x->response, &c->up, &c->client, &c->out, &c->down_bytes);
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

/*
 * A client that has ended its direction may still read the answer, or be gone altogether. TCP
 * keep-alive tells: the kernel of one that is gone answers a minute long at most, then with a reset.
 */
static void watch_silent(struct conn *c)
{
	char b;

	if (c->x->half_closed || !c->client.readable || !c->x->request.done || c->in.len ||
	    recv(c->client.io.fd, &b, 1, MSG_PEEK | MSG_DONTWAIT) != 0)
		return;
	c->x->half_closed = true;
	socket_probe(c->client.io.fd);
}

static void want_more(struct conn *c, bool client_blocked, bool up_blocked)
{
	bool silent = c->client.readable || c->client.eof;

	if (silent && !client_blocked) {
		if (stream_want_gone(&c->client, c->gw->ev) < 0 ||
		    stream_want(&c->up, c->gw->ev, !c->up.readable && !c->up.eof, up_blocked) < 0)
			conn_end(c, "epoll refused");
		return;
	}
	conn_want(c, !silent, client_blocked, !c->up.readable && !c->up.eof, up_blocked);
}

/* What came behind the head already belongs to the new protocol. */
static void switch_protocols(struct conn *c)
{
	(void)buf_append(&c->out, c->x->in.data, c->x->in.len);
	exchange_end(c);
	conn_start_upgrade(c);
}

/* The answer is complete. This alone decides what becomes of the two connections. */
static void exchange_finish(struct conn *c)
{
	struct exchange *x = c->x;
	bool keep = x->client_keeps && x->request.done && !x->cut;

	if (x->status == 101) {
		switch_protocols(c);
		return;
	}
	c->up_idle = x->server_keeps && exchange_is_sent(x) &&
		     x->response.kind != HTTP1_BODY_CLOSE && x->in.len == 0 && !c->up.eof &&
		     !stream_holds(&c->up);
	/* The last read may have been as long as the body: an event will tell if there is more. */
	c->up.readable = false;
	/* Many connections share the servers' side: most of them are silent. */
	if (!c->up_idle || c->gw->health.connections > CONNS_WITH_OWN)
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
		exchange_finish(c);
		return;
	}
	/* Nobody is left to read the answer: let go of the server, since answers can be long. */
	if (c->client.gone) {
		conn_end(c, "client gone");
		return;
	}
	watch_silent(c);
	if (c->up_bytes + c->down_bytes != before)
		conn_touch(c);
	if (up == MOVE_MORE || down == MOVE_MORE)
		conn_again(c);
	want_more(c, down == MOVE_BLOCKED, up == MOVE_BLOCKED);
}

void conn_start_exchange(struct conn *c)
{
	conn_go(c, CONN_EXCHANGE, "sending");
	conn_on_exchange(c);
}
