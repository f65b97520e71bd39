#include "gateway/h2/h2.h"

#include <string.h>

static struct h2_stream *find(struct h2 *h, int32_t id)
{
	return nghttp2_session_get_stream_user_data(h->ng, id);
}

static int refuse(struct h2_stream *st, int reason)
{
	struct h2 *h = st->h2;

	st->bad = true;
	h->ops->malformed(h, h2_reason_str(reason));
	(void)nghttp2_submit_rst_stream(h->ng, NGHTTP2_FLAG_NONE, st->id, NGHTTP2_PROTOCOL_ERROR);
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int on_begin_frame(nghttp2_session *ng, const nghttp2_frame_hd *hd, void *user)
{
	struct h2 *h = user;

	if (!h->flood && !h2_spend(h, hd))
		(void)nghttp2_session_terminate_session(ng, NGHTTP2_ENHANCE_YOUR_CALM);
	/* nghttp2 skips PRIORITY where priorities are switched off, on stream 0 too (RFC 9113, 6.3). */
	else if (!h->flood && hd->type == NGHTTP2_PRIORITY && hd->stream_id == 0)
		(void)nghttp2_session_terminate_session(ng, NGHTTP2_PROTOCOL_ERROR);
	return 0;
}

static int on_begin_headers(nghttp2_session *ng, const nghttp2_frame *f, void *user)
{
	struct h2 *h = user;
	struct h2_stream *st = find(h, f->hd.stream_id);
	enum h2_kind kind = h->server ? H2_REQUEST : H2_RESPONSE;

	if (f->hd.type != NGHTTP2_HEADERS)
		return 0;
	if (!st && h->server && f->headers.cat == NGHTTP2_HCAT_REQUEST) {
		if (h->gw->health.connections >= h->gw->max_conns) {
			(void)nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, f->hd.stream_id,
							NGHTTP2_REFUSED_STREAM);
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
		}
		st = h2_stream_new(h);
		st->id = f->hd.stream_id;
		(void)nghttp2_session_set_stream_user_data(ng, st->id, st);
	}
	if (!st || st->head)
		return 0;
	st->head = xcalloc(1, sizeof(*st->head));
	h2_head_init(st->head, st->head_done ? H2_TRAILERS : kind, h->https);
	return 0;
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *f, const uint8_t *name,
		     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags, void *user)
{
	struct h2_stream *st = find(user, f->hd.stream_id);
	int r;

	if (!st || !st->head || st->bad)
		return 0;
	r = h2_head_field(st->head, (struct slice){(const char *)name, name_n},
			  (struct slice){(const char *)value, value_n});
	return r < 0 ? refuse(st, r) : 0;
}

/* nghttp2 would leave such a field out. */
static int on_invalid_header(nghttp2_session *ng, const nghttp2_frame *f, const uint8_t *name,
			     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags,
			     void *user)
{
	struct h2_stream *st = find(user, f->hd.stream_id);

	return st && !st->bad ? refuse(st, -H2_VALUE) : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static void put_tail(struct h2_stream *st, const struct h2_head *trailers)
{
	if (st->frames != H2_CHUNKS)
		return;
	(void)buf_puts(&st->tail, CHUNKED_LAST);
	if (trailers)
		(void)buf_append(&st->tail, trailers->text.data, trailers->text.len);
	(void)buf_puts(&st->tail, CHUNKED_CRLF);
}

/* The head of a message, or its trailers, is whole. */
static int head_over(struct h2_stream *st, bool last)
{
	struct h2_head *h = st->head;
	int r = 0;

	if (h->kind == H2_TRAILERS) {
		put_tail(st, h);
	} else {
		r = h2_head_put(h, last, st->to_head, &st->text, &st->frames);
		st->head_done = h->kind == H2_REQUEST || h->status >= 200;
		st->to_head |= streq(h->method, "HEAD");
		st->websocket |= h->websocket;
		st->grpc |= h->kind == H2_REQUEST && h->grpc;
		if (last)
			put_tail(st, NULL);
	}
	st->in_end |= last;
	h2_head_done(h);
	free(h);
	st->head = NULL;
	return r;
}

static int on_frame(nghttp2_session *ng, const nghttp2_frame *f, void *user)
{
	struct h2 *h = user;
	struct h2_stream *st = f->hd.stream_id ? find(h, f->hd.stream_id) : NULL;
	bool last = f->hd.flags & NGHTTP2_FLAG_END_STREAM;
	int r = 0;

	/* Padding is no content. */
	if (f->hd.type == NGHTTP2_DATA && !last && f->hd.length && f->data.padlen == f->hd.length)
		(void)on_begin_frame(ng, &(nghttp2_frame_hd){.type = NGHTTP2_DATA}, h);
	h->settled |= f->hd.type == NGHTTP2_SETTINGS;
	h->leaving |= f->hd.type == NGHTTP2_GOAWAY;
	if (st && f->hd.type == NGHTTP2_HEADERS && st->head && !st->bad)
		r = head_over(st, last);
	if (r < 0)
		(void)refuse(st, r);
	if (st && f->hd.type == NGHTTP2_DATA && last && !st->in_end) {
		put_tail(st, NULL);
		st->in_end = true;
	}
	if (h->ops->alive)
		h->ops->alive(h);
	return 0;
}

static int on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
		   void *user)
{
	struct h2_stream *st = find(user, id);

	if (!st || st->bad || (st->opened && !st->s)) {
		(void)nghttp2_session_consume(ng, id, n);
		return 0;
	}
	st->received += n;
	/* What was read makes room, at the cost of moving each byte once at most. */
	if (st->in_at && st->in_at >= st->in.len / 2) {
		buf_consume(&st->in, st->in_at);
		st->in_at = 0;
	}
	if (buf_append(&st->in, p, n) < 0)
		(void)nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, id,
						NGHTTP2_FLOW_CONTROL_ERROR);
	return 0;
}

static int on_close(nghttp2_session *ng, int32_t id, uint32_t error, void *user)
{
	struct h2_stream *st = find(user, id);

	if (!st)
		return 0;
	st->closed = true;
	st->failed |= error != NGHTTP2_NO_ERROR || !st->in_end;
	return 0;
}

/* An answer is complete before its request: the rest is not wanted. */
static int on_sent(nghttp2_session *ng, const nghttp2_frame *f, void *user)
{
	struct h2 *h = user;
	struct h2_stream *st = f->hd.stream_id ? find(h, f->hd.stream_id) : NULL;

	if (f->hd.type == NGHTTP2_DATA || f->hd.type == NGHTTP2_HEADERS)
		h2_earn(h);
	if (st && h->server && (f->hd.flags & NGHTTP2_FLAG_END_STREAM) &&
	    (f->hd.type == NGHTTP2_DATA || f->hd.type == NGHTTP2_HEADERS) && !st->in_end)
		(void)nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, st->id, NGHTTP2_NO_ERROR);
	return 0;
}

static nghttp2_session_callbacks *callbacks(void)
{
	static nghttp2_session_callbacks *cb;

	if (cb || nghttp2_session_callbacks_new(&cb) != 0)
		return cb;
	nghttp2_session_callbacks_set_on_begin_frame_callback(cb, on_begin_frame);
	nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_invalid_header_callback(cb, on_invalid_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
	nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_sent);
	return cb;
}

static int settle(struct h2 *h)
{
	const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_WINDOW},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, H2_HEADERS_MAX},
		{NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, H2_TABLE_MAX},
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, H2_STREAMS_MAX},
		/* Of a server: priorities have no meaning, so nobody can make cycles of them. */
		{h->server ? NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES : NGHTTP2_SETTINGS_ENABLE_PUSH,
		 h->server},
		{NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1}, /* of a server alone */
	};
	size_t n = ARRAY_SIZE(settings) - !h->server;

	if (nghttp2_submit_settings(h->ng, NGHTTP2_FLAG_NONE, settings, n) != 0)
		return -ENOMEM;
	return nghttp2_session_set_local_window_size(h->ng, NGHTTP2_FLAG_NONE, 0, H2_WINDOWS) == 0
		       ? 0
		       : -ENOMEM;
}

static void on_run(struct ev *ev, struct ev_defer *d);

int h2_init(struct h2 *h, struct gw *gw, bool server, struct stream *io, const struct h2_ops *ops)
{
	nghttp2_option *o;
	int r;

	h->gw = gw;
	h->server = server;
	h->io = io;
	h->ops = ops;
	h->run.fn = on_run;
	buf_init(&h->out, H2_PENDING_MAX + 2 * H2_HEADERS_MAX); /* and one frame, or one head */
	if (nghttp2_option_new(&o) != 0)
		return -ENOMEM;
	nghttp2_option_set_no_auto_window_update(o, 1);
	nghttp2_option_set_max_deflate_dynamic_table_size(o, H2_TABLE_MAX);
	nghttp2_option_set_no_closed_streams(o, 1);
	r = server ? nghttp2_session_server_new2(&h->ng, callbacks(), h, o)
		   : nghttp2_session_client_new2(&h->ng, callbacks(), h, o);
	nghttp2_option_del(o);
	return r == 0 ? settle(h) : -ENOMEM;
}

void h2_close(struct h2 *h, void (*free_fn)(struct h2 *h))
{
	if (h->dead)
		return;
	h->dead = true;
	h->free_fn = free_fn;
	for (struct h2_stream *st = h->streams; st; st = st->next) {
		st->failed |= !st->closed && !st->in_end;
		st->closed = true;
		if (h->server && st->s)
			h->ops->reset(st);
	}
	/* Owners of a client's streams may still read what has come. */
	h2_run_later(h);
}

void h2_run_later(struct h2 *h)
{
	ev_defer(h->gw->ev, &h->run);
}

void h2_last_words(struct h2 *h, struct buf *out)
{
	const uint8_t *p;
	ssize_t n;

	(void)buf_append(out, h->out.data, h->out.len);
	while (buf_room(out) > 2 * H2_HEADERS_MAX && (n = nghttp2_session_mem_send(h->ng, &p)) > 0)
		(void)buf_append(out, p, (size_t)n);
}

bool h2_receive(struct h2 *h, const char *p, size_t n)
{
	ssize_t r = nghttp2_session_mem_recv(h->ng, (const uint8_t *)p, n);

	if (h->flood || r < 0) {
		h->ops->over(h, h->flood ? h->flood : nghttp2_strerror((int)r));
		return false;
	}
	return true;
}

static void deliver(struct h2 *h)
{
	for (struct h2_stream *st = h->streams, *next; st; st = next) {
		uint32_t events;

		next = st->next;
		if (h->server && st->head_done && !st->opened && !st->bad && !h->dead) {
			st->opened = true;
			h->ops->opened(st);
		}
		events = st->s ? h2_stream_events(st) : 0;
		if (!events)
			continue;
		st->told |= st->failed;
		if (h->server && st->failed)
			h->ops->reset(st);
		else
			st->s->io.fn(h->gw->ev, &st->s->io, events);
	}
}

static void reap(struct h2 *h)
{
	for (struct h2_stream *st = h->streams, *next; st; st = next) {
		next = st->next;
		if (st->closed && !st->s) {
			if (st->id && !h->dead)
				(void)nghttp2_session_set_stream_user_data(h->ng, st->id, NULL);
			h2_stream_free(st);
		}
	}
}

/* Frames to the socket: 0, -EAGAIN or -errno. */
static int flush(struct h2 *h)
{
	const uint8_t *p;
	ssize_t n = 1;
	int r = 0;

	while (r == 0 && n > 0) {
		n = 0;
		while (h->out.len < H2_PENDING_MAX && (n = nghttp2_session_mem_send(h->ng, &p)) > 0)
			(void)buf_append(&h->out, p, (size_t)n);
		if (n < 0)
			return -EPROTO;
		r = h->out.len ? stream_flush(h->io, &h->out, &h->sent) : 0;
	}
	return r;
}

static bool has_events(const struct h2 *h)
{
	const struct h2_stream *st = h->streams;

	while (st && !(st->s && h2_stream_events(st)))
		st = st->next;
	return st != NULL;
}

bool h2_run(struct h2 *h)
{
	int r;

	if (h->dead)
		return false;
	deliver(h);
	if (h->dead)
		return false;
	r = flush(h);
	reap(h);
	h->blocked = r == -EAGAIN;
	if (r < 0 && !h->blocked) {
		h->ops->over(h, "");
		return false;
	}
	if (!h->blocked && !nghttp2_session_want_read(h->ng) &&
	    !nghttp2_session_want_write(h->ng)) {
		h->ops->over(h, "");
		return false;
	}
	/* Frames that went out have made room. */
	if (has_events(h))
		h2_run_later(h);
	h->ops->want(h);
	return !h->dead;
}

static void on_run(struct ev *ev, struct ev_defer *d)
{
	struct h2 *h = ev_owner(d, struct h2, run);

	if (!h->dead) {
		(void)h2_run(h);
		return;
	}
	deliver(h);
	reap(h);
	if (h->streams || h->run.queued)
		return;
	nghttp2_session_del(h->ng);
	buf_done(&h->out);
	h->free_fn(h);
}
