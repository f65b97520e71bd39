#include "tests.h"

#include "flow/conn.h"
#include "gateway/h2/h2.h"

#include <stdio.h>
#include <string.h>

/* The gateway's end of a connection and its peer, both in memory. */
struct bed {
	struct gw gw;
	struct h2 h;
	struct stream io;
	nghttp2_session *peer;
	struct h2_stream *opened; /* the last one of a client */
	struct buf wire;	  /* from the gateway to the peer */
	bool stuck;		  /* the peer's socket takes no more */
};

static struct bed *bed_of_io(struct stream *s)
{
	return ev_owner(s, struct bed, io);
}

static ssize_t on_write(struct stream *s, const void *p, size_t n)
{
	struct bed *b = bed_of_io(s);

	if (b->stuck)
		return -EAGAIN;
	assert_int_equal(buf_append(&b->wire, p, n), 0);
	return (ssize_t)n;
}

static void on_opened(struct h2_stream *st)
{
	ev_owner(st->h2, struct bed, h)->opened = st;
}

static void on_owner(struct ev *ev, struct ev_io *io, uint32_t events)
{
}

static void on_event(struct h2 *h, const char *why)
{
	if (why[0])
		fail_msg("%s", why);
}

static void on_reset(struct h2_stream *st)
{
	fail();
}

static void on_want(struct h2 *h)
{
}

/* The loop waits for something before it runs what was deferred. */
static void on_kick(struct ev *ev, struct ev_timer *t)
{
}

static void on_free(struct h2 *h)
{
	ev_stop(h->gw->ev);
}

/* As long an answer as the windows let through. */
static ssize_t endless(nghttp2_session *ng, int32_t id, uint8_t *p, size_t n, uint32_t *flags,
		       nghttp2_data_source *source, void *user)
{
	memset(p, 'x', n);
	return (ssize_t)n;
}

/* The peer as a server: it answers every request without an end. */
static int on_request(nghttp2_session *ng, const nghttp2_frame *f, void *user)
{
	nghttp2_nv ok = {(uint8_t *)":status", (uint8_t *)"200", 7, 3, NGHTTP2_NV_FLAG_NONE};
	nghttp2_data_provider body = {.read_callback = endless};

	if (f->hd.type == NGHTTP2_HEADERS && f->headers.cat == NGHTTP2_HCAT_REQUEST)
		return nghttp2_submit_response(ng, f->hd.stream_id, &ok, 1, &body);
	return 0;
}

static void begin(struct bed *b, bool server)
{
	static const struct h2_ops ops = {.opened = on_opened,
					  .reset = on_reset,
					  .malformed = on_event,
					  .over = on_event,
					  .want = on_want};
	static const struct stream_ops io = {.write = on_write};
	nghttp2_session_callbacks *cb;
	struct err err;

	*b = (struct bed){.gw.max_conns = MAX_CONNS, .io.ops = &io};
	buf_init(&b->wire, 64 * MiB);
	assert_int_equal(ev_new(&b->gw.ev, &err), 0);
	assert_int_equal(h2_init(&b->h, &b->gw, server, &b->io, &ops), 0);
	assert_int_equal(nghttp2_session_callbacks_new(&cb), 0);
	if (!server)
		nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_request);
	assert_int_equal(server ? nghttp2_session_client_new(&b->peer, cb, b)
				: nghttp2_session_server_new(&b->peer, cb, b),
			 0);
	nghttp2_session_callbacks_del(cb);
	assert_int_equal(nghttp2_submit_settings(b->peer, NGHTTP2_FLAG_NONE, NULL, 0), 0);
}

static void end(struct bed *b, struct stream *owners, size_t n)
{
	struct ev_timer kick = {.fn = on_kick};
	struct err err;

	ev_timer_set(b->gw.ev, &kick, 0);
	h2_close(&b->h, on_free);
	for (size_t i = 0; i < n; i++)
		stream_done(&owners[i], b->gw.ev);
	assert_int_equal(ev_run(b->gw.ev, &err), 0);
	nghttp2_session_del(b->peer);
	buf_done(&b->wire);
	ev_free(b->gw.ev);
}

/* Frames both ways, until neither has more; false: nothing moved. */
static bool talk(struct bed *b)
{
	bool moved = false, more = true;

	while (more) {
		const uint8_t *p;
		ssize_t n;

		more = false;
		while ((n = nghttp2_session_mem_send(b->peer, &p)) > 0) {
			more = true;
			assert_true(h2_receive(&b->h, (const char *)p, (size_t)n));
		}
		assert_true(h2_run(&b->h));
		if (b->wire.len) {
			more = true;
			n = nghttp2_session_mem_recv(b->peer, (const uint8_t *)b->wire.data,
						     b->wire.len);
			assert_int_equal(n, b->wire.len);
			buf_clear(&b->wire);
		}
		moved |= more;
	}
	return moved;
}

/* A request over the gateway's end. */
static void ask(struct bed *b, struct stream *s)
{
	static const char get[] = "GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n";

	h2_stream_attach(h2_stream_new(&b->h), s, on_owner);
	assert_int_equal(stream_write(s, get, sizeof(get) - 1), sizeof(get) - 1);
}

static size_t drain(struct stream *s, size_t most)
{
	static char sink[64 * KiB];
	size_t got = 0;
	ssize_t n;

	while (got < most && (n = stream_read(s, sink, sizeof(sink))) > 0)
		got += (size_t)n;
	return got;
}

/* Readers that kept up for a while and then stopped hold as much of the connection's window as they
 * may: what is left has to be enough for everybody else. */
static void stopped_readers_leave_the_window_to_others(void **state)
{
	enum { STOPPED = 60 };
	struct stream s[STOPPED + 1];
	struct bed b;
	size_t got[STOPPED] = {0};

	begin(&b, false);
	for (size_t i = 0; i < STOPPED; i++)
		ask(&b, &s[i]);
	for (bool more = true; more;) {
		more = false;
		(void)talk(&b);
		for (size_t i = 0; i < STOPPED; i++)
			if (got[i] < 4 * H2_WINDOW) {
				got[i] += drain(&s[i], SIZE_MAX);
				more = true;
			}
	}
	(void)talk(&b);
	ask(&b, &s[STOPPED]);
	for (size_t total = 0; total < 1 * MiB;) {
		size_t n;

		(void)talk(&b);
		n = drain(&s[STOPPED], SIZE_MAX);
		assert_int_not_equal(n, 0);
		total += n;
	}
	end(&b, s, STOPPED + 1);
}

/* What was read of an answer takes no room, also where there is always more to read. */
static void a_reader_that_is_always_behind_gets_all_of_a_long_answer(void **state)
{
	static char sink[10 * KiB];
	struct stream s;
	struct bed b;

	begin(&b, false);
	ask(&b, &s);
	for (size_t total = 0; total < 8 * MiB;) {
		ssize_t n;

		(void)talk(&b);
		n = stream_read(&s, sink, sizeof(sink));
		assert_true(n > 0);
		total += (size_t)n;
		assert_true(h2_stream_of(&s)->in.len <= 4 * H2_WINDOW);
	}
	end(&b, &s, 1);
}

/* A server can send answers of 1xx without an end, and a client need not read: they wait at the
 * server, not in the gateway. */
static void interim_answers_wait_for_their_reader(void **state)
{
	static char hint[8 * KiB];
	static const nghttp2_nv get[] = {
		{(uint8_t *)":method", (uint8_t *)"GET", 7, 3, 0},
		{(uint8_t *)":scheme", (uint8_t *)"http", 7, 4, 0},
		{(uint8_t *)":authority", (uint8_t *)"a.test", 10, 6, 0},
		{(uint8_t *)":path", (uint8_t *)"/", 5, 1, 0},
	};
	struct stream s;
	struct bed b;
	size_t taken = 0;
	int n = snprintf(hint, sizeof(hint), "HTTP/1.1 103 \r\nlink: %07000d\r\n\r\n", 1);
	ssize_t r;

	begin(&b, true);
	assert_true(nghttp2_submit_request(b.peer, NULL, get, 4, NULL, NULL) > 0);
	(void)talk(&b);
	assert_non_null(b.opened);
	h2_stream_attach(b.opened, &s, on_owner);
	(void)drain(&s, SIZE_MAX);
	b.stuck = true;
	while ((r = stream_write(&s, hint, (size_t)n)) == n && taken < 1000) {
		taken++;
		assert_true(h2_run(&b.h));
	}
	assert_int_equal(r, -EAGAIN);
	assert_true(taken < 100);
	/* And go on when it reads. */
	assert_int_equal(stream_want(&s, b.gw.ev, false, true), 0);
	assert_int_equal(h2_stream_events(b.opened), 0);
	b.stuck = false;
	(void)talk(&b);
	assert_int_equal(h2_stream_events(b.opened), EPOLLOUT);
	assert_int_equal(stream_write(&s, hint, (size_t)n), n);
	nghttp2_session_set_user_data(b.peer, &b);
	stream_done(&s, b.gw.ev);
	end(&b, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stopped_readers_leave_the_window_to_others),
		cmocka_unit_test(a_reader_that_is_always_behind_gets_all_of_a_long_answer),
		cmocka_unit_test(interim_answers_wait_for_their_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
