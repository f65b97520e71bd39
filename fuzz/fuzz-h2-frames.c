#include "fuzz.h"

#include "flow/conn.h"
#include "gateway/h2/h2.h"

#include <stdlib.h>
#include <sys/epoll.h>

/* A client's bytes into a server's end: whatever comes out of a stream is one request of HTTP/1.1,
 * and every stream gets an answer. */
static struct stream owners[H2_STREAMS_MAX + 1];
static size_t n_owners;
static bool over;

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void on_owner(struct ev *ev, struct ev_io *io, uint32_t events)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
				     "3\r\nabc\r\n0\r\nx-t: 1\r\n\r\n";
	static char read[64 * 1024];
	static struct http1_head head;
	struct stream *s = ev_owner(io, struct stream, io);
	ssize_t n = stream_read(s, read, sizeof(read));

	if (n > 0 && !s->event) {
		http1_reset(&head);
		check(http1_parse_request(read, (size_t)n, &head) != 0);
		s->event = true;
	}
	if (n > 0)
		return;
	if (n == 0)
		(void)stream_write(s, answer, sizeof(answer) - 1);
	if (n != -EAGAIN)
		stream_done(s, ev);
}

static void on_opened(struct h2_stream *st)
{
	struct stream *s = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(owners) && !s; i++)
		if (i >= n_owners || !stream_open(&owners[i])) {
			s = &owners[i];
			n_owners = i < n_owners ? n_owners : i + 1;
		}
	check(s != NULL);
	h2_stream_attach(st, s, on_owner);
	(void)stream_want(s, st->h2->gw->ev, true, false);
}

static void on_reset(struct h2_stream *st)
{
	stream_done(st->s, st->h2->gw->ev);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct h2_ops ops = {.opened = on_opened,
					  .reset = on_reset,
					  .malformed = on_malformed,
					  .over = on_over,
					  .want = on_want};
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
	n_owners = 0;
	check(h2_init(&h, gw, true, &io, &ops) == 0);
	for (size_t at = 0; at < size && !over; at += 1024)
		if (h2_receive(&h, (const char *)data + at, size - at < 1024 ? size - at : 1024) &&
		    !over)
			(void)h2_run(&h);
	h2_close(&h, on_free);
	ev_timer_set(gw->ev, &kick, 0);
	check(ev_run(gw->ev, &err) == 0);
	return 0;
}
