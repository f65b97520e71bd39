/* One stream of HTTP/2 as the bytes of HTTP/1.1: see h2.h. */
#include "gateway/h2/h2.h"

#include <string.h>

struct h2_stream *h2_stream_new(struct h2 *h)
{
	struct h2_stream *st = xcalloc(1, sizeof(*st));

	st->h2 = h;
	buf_init(&st->text, 2 * HTTP1_HEAD_MAX);
	buf_init(&st->in, 2 * H2_WINDOW_FAST + H2_WINDOW); /* what was read lies in it, too */
	buf_init(&st->tail, 2 * HTTP1_HEAD_MAX);
	buf_init(&st->out, H2_OUT_MAX);
	buf_init(&st->trailers, CHUNKED_TRAILER_TOTAL_MAX + CHUNKED_TRAILER_LINE_MAX);
	st->next = h->streams;
	if (st->next)
		st->next->prev = st;
	h->streams = st;
	h->n_streams++;
	return st;
}

void h2_stream_free(struct h2_stream *st)
{
	struct h2 *h = st->h2;

	*(st->prev ? &st->prev->next : &h->streams) = st->next;
	if (st->next)
		st->next->prev = st->prev;
	h->n_streams--;
	h->n_fast -= st->fast;
	if (st->head)
		h2_head_done(st->head);
	free(st->head);
	buf_done(&st->text);
	buf_done(&st->in);
	buf_done(&st->tail);
	buf_done(&st->out);
	buf_done(&st->trailers);
	free(st);
}

/* Bytes that wait in b from *at on, into p. */
static size_t take(struct buf *b, size_t *at, char *p, size_t n)
{
	n = b->len - *at < n ? b->len - *at : n;
	if (n)
		memcpy(p, b->data + *at, n);
	*at += n;
	if (*at == b->len) {
		buf_done(b);
		*at = 0;
	}
	return n;
}

/* Payload, in a chunk where the message has chunks. */
static size_t take_payload(struct h2_stream *st, char *p, size_t n)
{
	size_t head, waits = st->in.len - st->in_at;

	if (st->frames == H2_RAW)
		return take(&st->in, &st->in_at, p, n);
	if (waits == 0 || n <= CHUNKED_HEAD_MAX + 2)
		return 0;
	n -= CHUNKED_HEAD_MAX + 2;
	n = waits < n ? waits : n;
	head = chunked_put_head(p, (uint32_t)n);
	(void)take(&st->in, &st->in_at, p + head, n);
	p[head + n] = '\r';
	p[head + n + 1] = '\n';
	return head + n + 2;
}

/* The owner has taken n bytes of payload: as many may come, and more where it keeps up. */
static void open_window(struct h2_stream *st, size_t n)
{
	nghttp2_session *ng = st->h2->ng;

	if (n == 0 || st->h2->dead)
		return;
	if (st->closed) {
		(void)nghttp2_session_consume_connection(ng, n);
	} else {
		(void)nghttp2_session_consume(ng, st->id, n);
		if (!st->fast && !st->h2->server && st->in.len == 0 &&
		    st->received > 2 * H2_WINDOW && st->h2->n_fast < H2_FAST_MAX) {
			st->fast = true;
			st->h2->n_fast++;
			(void)nghttp2_session_set_local_window_size(ng, NGHTTP2_FLAG_NONE, st->id,
								    H2_WINDOW_FAST);
		}
	}
	h2_run_later(st->h2);
}

static bool has_input(const struct h2_stream *st)
{
	return st->text.len || st->in.len || st->tail.len;
}

static ssize_t virtual_read(struct stream *s, void *p, size_t n)
{
	struct h2_stream *st = s->below;
	size_t got = take(&st->text, &st->text_at, p, n), waits = st->in.len - st->in_at;

	if (st->text.len == 0)
		got += take_payload(st, (char *)p + got, n - got);
	open_window(st, waits - (st->in.len - st->in_at));
	if (st->text.len == 0 && st->in.len == 0)
		got += take(&st->tail, &st->tail_at, (char *)p + got, n - got);
	if (got) {
		s->readable = has_input(st) || st->in_end || st->failed;
		return (ssize_t)got;
	}
	if (st->cut || (st->in_end && !st->failed))
		return 0;
	return st->failed ? -ECONNRESET : -EAGAIN;
}

/* Room for payload that waits for the peer's windows. */
static size_t room(struct h2_stream *st)
{
	if (st->out_at) {
		buf_consume(&st->out, st->out_at);
		st->out_at = 0;
	}
	return buf_room(&st->out);
}

static int put_trailer(struct h2_stream *st, const struct chunked_item *i)
{
	for (size_t k = 0; k < i->name.n; k++)
		(void)buf_putc(&st->trailers, ascii_lower(i->name.p[k]));
	(void)buf_puts(&st->trailers, ": ");
	(void)buf_append(&st->trailers, i->value.p, i->value.n);
	return buf_puts(&st->trailers, "\r\n");
}

static ssize_t put_chunks(struct h2_stream *st, const char *p, size_t n)
{
	size_t used = 0;

	while (!st->out_end && room(st)) {
		struct chunked_item item = {0};
		size_t most = n - used < room(st) ? n - used : room(st);
		ssize_t r = chunked_next(&st->chunked, p + used, most, &item);

		if (r < 0)
			return -EPROTO;
		used += (size_t)r;
		if (item.kind == CHUNKED_DATA)
			(void)buf_append(&st->out, item.data.p, item.data.n);
		else if (item.kind == CHUNKED_TRAILER && put_trailer(st, &item) < 0)
			return -EPROTO;
		else if (item.kind == CHUNKED_END)
			st->out_end = true;
		else if (item.kind == CHUNKED_MORE)
			break;
	}
	return (ssize_t)used;
}

/* The body of the owner's message: bytes taken, or -EPROTO. */
static ssize_t put_body(struct h2_stream *st, const char *p, size_t n)
{
	bool sized = st->kind == HTTP1_BODY_LENGTH;

	if (st->kind == HTTP1_BODY_CHUNKED)
		return put_chunks(st, p, n);
	if (st->kind == HTTP1_BODY_NONE || st->kind == HTTP1_BODY_TUNNEL)
		return n ? -EPROTO : 0;
	n = room(st) < n ? room(st) : n;
	if (sized && st->left < n)
		return -EPROTO;
	(void)buf_append(&st->out, p, n);
	st->left -= sized ? n : 0;
	st->out_end |= sized && st->left == 0;
	return (ssize_t)n;
}

/* The length of the owner's head, which it always writes as a whole; or -EPROTO. */
static ssize_t read_head(struct h2_stream *st, const char *p, size_t n, struct http1_head *h)
{
	ssize_t r;

	http1_reset(h);
	if (st->h2->server)
		r = http1_parse_response(p, n, st->to_head ? HTTP1_TO_HEAD : HTTP1_TO_OTHER, h);
	else
		r = http1_parse_request(p, n, h);
	return r > 0 ? r : -EPROTO;
}

static int submit(struct h2_stream *st, struct h2_fields *f, bool last)
{
	nghttp2_data_provider data = {{.ptr = st}, h2_stream_source}, *source = last ? NULL : &data;
	nghttp2_session *ng = st->h2->ng;
	int r;

	if (st->h2->server)
		return nghttp2_submit_response(ng, st->id, f->nv, f->n, source);
	r = nghttp2_submit_request(ng, NULL, f->nv, f->n, source, st);
	st->id = r > 0 ? r : 0;
	return r;
}

/* The answer to a WebSocket: 101 is 200 in HTTP/2, and no other 2xx is an agreement. 0 or -EPROTO. */
static int answer_websocket(struct http1_head *h)
{
	if (h->status / 100 == 2)
		return -EPROTO;
	if (h->status != 101)
		return 0;
	h->status = 200;
	h->body = HTTP1_BODY_CLOSE;
	for (size_t i = 0; i < h->n_fields; i++)
		h->fields[i].hop |= slice_is(h->fields[i].name, "sec-websocket-accept");
	return 0;
}

/* A head, and what follows it in p: as stream_write(). */
static ssize_t write_head(struct h2_stream *st, const char *p, size_t n)
{
	struct http1_head head, *h = &head;
	struct h2_fields f;
	ssize_t used = read_head(st, p, n, h), body = 0;
	bool server = st->h2->server, last;
	int r;

	if (used < 0)
		return used;
	if (server && st->websocket && answer_websocket(h) < 0)
		return -EPROTO;
	/* nghttp2 keeps heads without a bound, and a server may send 1xx for ever. */
	st->waits = server && head.status < 200 && st->h2->blocked;
	if (st->waits)
		return 0;
	h2_fields_init(&f);
	if (server)
		h2_fields_response(&f, h);
	else
		h2_fields_request(&f, h, st->h2->https);
	if (server && h->status < 200) {
		r = h->status == 101 ? -1
				     : nghttp2_submit_headers(st->h2->ng, NGHTTP2_FLAG_NONE, st->id,
							      NULL, f.nv, f.n, NULL);
	} else {
		st->kind = h->body;
		st->left = h->length;
		st->to_head |= !server && http1_method_is(h, "HEAD");
		st->out_end = h->body == HTTP1_BODY_NONE ||
			      (h->body == HTTP1_BODY_LENGTH && h->length == 0);
		if (!st->out_end)
			body = put_body(st, p + used, n - (size_t)used);
		last = st->out_end && st->out.len == 0 && st->trailers.len == 0;
		st->submitted = true;
		r = body < 0 ? -1 : submit(st, &f, last);
	}
	h2_fields_done(&f);
	return r < 0 ? -EPROTO : used + body;
}

static ssize_t virtual_write(struct stream *s, const void *p, size_t n)
{
	struct h2_stream *st = s->below;
	ssize_t r;

	if (st->closed || st->failed || st->h2->dead)
		return -EPIPE;
	r = st->submitted ? put_body(st, p, n) : write_head(st, p, n);
	if (r < 0)
		return -EPIPE;
	if (st->deferred && (st->out.len || st->out_end)) {
		st->deferred = false;
		(void)nghttp2_session_resume_data(st->h2->ng, st->id);
	}
	h2_run_later(st->h2);
	return r == 0 ? -EAGAIN : r;
}

ssize_t h2_stream_source(nghttp2_session *ng, int32_t id, uint8_t *p, size_t n, uint32_t *flags,
			 nghttp2_data_source *source, void *user)
{
	struct h2_stream *st = source->ptr;
	size_t got = take(&st->out, &st->out_at, (char *)p, n);

	if (st->out.len)
		return (ssize_t)got;
	if (st->out_end) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		if (st->trailers.len) {
			struct h2_fields f;

			h2_fields_init(&f);
			h2_fields_trailers(&f, st->trailers.data, st->trailers.len);
			*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
			(void)nghttp2_submit_trailer(ng, id, f.nv, f.n);
			h2_fields_done(&f);
		}
		return (ssize_t)got;
	}
	if (got)
		return (ssize_t)got;
	st->deferred = true;
	return NGHTTP2_ERR_DEFERRED;
}

/* A server has said all: the rest of the request is not read. */
static int virtual_shutdown(struct stream *s)
{
	struct h2_stream *st = s->below;

	if (st->submitted && st->kind == HTTP1_BODY_CLOSE)
		st->out_end = true;
	if (st->deferred && !st->closed) {
		st->deferred = false;
		(void)nghttp2_session_resume_data(st->h2->ng, st->id);
	}
	st->cut = st->h2->server;
	h2_run_later(st->h2);
	return 0;
}

/* The owner lets go: a message that is not whole is taken back. */
static void virtual_done(struct stream *s)
{
	struct h2_stream *st = s->below;
	bool whole = st->submitted && st->out_end;

	st->s = NULL;
	s->below = NULL;
	s->io.fd = -1;
	if (st->h2->dead) {
		h2_run_later(st->h2);
		return;
	}
	open_window(st, st->in.len - st->in_at);
	buf_done(&st->in);
	st->in_at = 0;
	if (st->id == 0)
		st->closed = true;
	else if (!st->closed && (!whole || (!st->h2->server && !st->in_end)))
		(void)nghttp2_submit_rst_stream(st->h2->ng, NGHTTP2_FLAG_NONE, st->id,
						st->h2->server ? NGHTTP2_INTERNAL_ERROR
							       : NGHTTP2_CANCEL);
	h2_run_later(st->h2);
}

static bool virtual_holds(const struct stream *s)
{
	return has_input(s->below);
}

static int virtual_want(struct stream *s, uint32_t events)
{
	struct h2_stream *st = s->below;

	st->want = events & (EPOLLIN | EPOLLOUT);
	if (h2_stream_events(st))
		h2_run_later(st->h2);
	return 0;
}

static const struct stream_ops virtual_ops = {
	virtual_read, virtual_write, virtual_shutdown, virtual_done, virtual_holds, virtual_want,
};

void h2_stream_attach(struct h2_stream *st, struct stream *s, ev_io_fn *fn)
{
	*s = (struct stream){.ops = &virtual_ops, .io = {.fd = STREAM_OVER, .fn = fn}, .below = st};
	st->s = s;
	st->opened = true;
}

struct h2_stream *h2_stream_of(const struct stream *s)
{
	return s->ops == &virtual_ops && stream_open(s) ? s->below : NULL;
}

uint32_t h2_stream_events(const struct h2_stream *st)
{
	bool over = st->failed || st->closed;
	uint32_t events = 0;

	if ((st->want & EPOLLIN) && (has_input(st) || st->in_end || st->failed))
		events |= EPOLLIN;
	if ((st->want & EPOLLOUT) &&
	    ((st->out.len - st->out_at < H2_OUT_MAX / 2 && !(st->waits && st->h2->blocked)) ||
	     over))
		events |= EPOLLOUT;
	if (st->failed && !st->told)
		events |= EPOLLIN | EPOLLHUP;
	return events;
}
