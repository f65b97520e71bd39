#include "fuzz.h"

#include "flow/conn.h"
#include "gateway/h2/h2.h"

#include <stdlib.h>
#include <sys/epoll.h>

/*
 * A server's bytes into a client's end with three requests under way: whatever comes out of a stream
 * is answers of HTTP/1.1, and a stream that did not fail has a whole one.
 */
#define REQUESTS 3

static struct owner {
	struct stream s;
	struct h2_stream *st;
	char got[64 * 1024];
	size_t n;
} owners[REQUESTS];
static bool over;

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* The bytes so far begin with a head that the gateway refuses, or passes on; or with a part of one,
 * when not all of it was read. */
static bool read_head(struct owner *o, bool more)
{
	static struct http1_head head;
	enum http1_to to = o == &owners[1] ? HTTP1_TO_HEAD : HTTP1_TO_OTHER;
	ssize_t n;

	http1_reset(&head);
	n = http1_parse_response(o->got, o->n, to, &head);
	check(n != 0 || more);
	return n >= 0;
}

static void on_owner(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct owner *o = ev_owner(io, struct owner, s.io);
	ssize_t n = 1;

	while (n > 0 && o->n + 4096 <= sizeof(o->got)) {
		n = stream_read(&o->s, o->got + o->n, 4096);
		o->n += n > 0 ? (size_t)n : 0;
		if (n > 0 && !read_head(o, n == 4096))
			n = -EPROTO;
	}
	check(n != 0 || o->n > 0);
	if (n != -EAGAIN)
		stream_done(&o->s, ev);
}

static void on_malformed(struct h2 *h, const char *why)
{
	check(why[0]);
}

static void on_over(struct h2 *h, const char *why)
{
	over = true;
}

static void on_want(struct h2 *h)
{
}

static void on_free(struct h2 *h)
{
	ev_stop(h->gw->ev);
}

/* The loop waits for something before it runs what was deferred. */
static void on_kick(struct ev *ev, struct ev_timer *t)
{
}

static ssize_t sink(struct stream *s, const void *p, size_t n)
{
	return (ssize_t)n;
}

static void ask(struct h2 *h, size_t i)
{
	static const char *const requests[REQUESTS] = {
		"GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"HEAD /b HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"POST /c HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n"
		"3\r\nabc\r\n",
	};
	struct owner *o = &owners[i];

	*o = (struct owner){.st = h2_stream_new(h)};
	h2_stream_attach(o->st, &o->s, on_owner);
	check(stream_write(&o->s, requests[i], strlen(requests[i])) > 0);
	(void)stream_want(&o->s, h->gw->ev, true, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct h2_ops ops = {
		.malformed = on_malformed, .over = on_over, .want = on_want};
	static const struct stream_ops sinks = {.write = sink};
	static struct ev_timer kick = {.fn = on_kick};
	static struct gw *gw;
	struct stream io = {.ops = &sinks};
	struct h2 h = {.https = true};
	struct err err;

	if (!gw) {
		gw = xcalloc(1, sizeof(*gw));
		gw->max_conns = MAX_CONNS;
		check(ev_new(&gw->ev, &err) == 0);
	}
	over = false;
	check(h2_init(&h, gw, false, &io, &ops) == 0);
	for (size_t i = 0; i < REQUESTS; i++)
		ask(&h, i);
	(void)h2_run(&h);
	for (size_t at = 0; at < size && !over; at += 1024)
		if (h2_receive(&h, (const char *)data + at, size - at < 1024 ? size - at : 1024) &&
		    !over)
			(void)h2_run(&h);
	h2_close(&h, on_free);
	ev_timer_set(gw->ev, &kick, 0);
	check(ev_run(gw->ev, &err) == 0);
	return 0;
}
