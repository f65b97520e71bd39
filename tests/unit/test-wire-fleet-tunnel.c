#include "tests.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/fleet-tunnel.h"

#define CHANNEL 7

/* A tunnel between this test's end of a socket pair and a stream that is `out`. */
static struct ev *ev;
static struct fleet_out out;
static struct fleet_line line;
static struct fleet_tunnel t;
static int peer; /* the socket's other end */
static bool room;
static struct fleet_in in;

static void flush(struct fleet_line *l)
{
}

static bool has_room(const struct fleet_line *l)
{
	return room;
}

static int set_up(void **state)
{
	int pair[2];
	struct err err;

	room = true;
	assert_int_equal(ev_new(&ev, &err), 0);
	fleet_out_init(&out);
	fleet_in_init(&in, FLEET_HOME);
	line = (struct fleet_line){.ev = ev, .out = &out, .flush = flush, .has_room = has_room};
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair),
			 0);
	peer = pair[1];
	fleet_tunnel_init(&t, &line, CHANNEL, pair[0]);
	return 0;
}

static int tear_down(void **state)
{
	fleet_tunnel_drop(&t);
	if (peer >= 0)
		(void)close(peer);
	fleet_in_done(&in);
	fleet_out_done(&out);
	ev_free(ev);
	return 0;
}

static void on_end(struct ev *e, struct ev_timer *timer)
{
	ev_stop(e);
}

/* All that is ready now is handled. */
static void turn(void)
{
	struct ev_timer end = {.fn = on_end};
	struct err err;

	ev_timer_set(ev, &end, 1);
	assert_int_equal(ev_run(ev, &err), 0);
}

/* The next message that went to the other end; FLEET_NONE: there is none. */
static enum fleet_type sent(uint32_t *ret_value, size_t *ret_n)
{
	struct fleet_msg m;
	uint32_t channel = 0;
	const char *p;
	int r = fleet_next(&in, &m);

	while (r == 0 && fleet_out_pending(&out)) {
		size_t n = fleet_out_pending(&out) < 4096 ? fleet_out_pending(&out) : 4096;

		assert_int_equal(fleet_in_add(&in, out.queue.data + out.sent, n), 0);
		out.sent += n;
		r = fleet_next(&in, &m);
	}
	assert_true(r >= 0);
	if (r == 0)
		return FLEET_NONE;
	if (m.type == FLEET_DATA)
		assert_int_equal(fleet_data_read(&m, &channel, &p, ret_n), 0);
	else
		assert_int_equal(fleet_pair_read(&m, &channel, ret_value), 0);
	assert_int_equal(channel, CHANNEL);
	return m.type;
}

static int take_pair(enum fleet_type type, uint32_t value)
{
	uint32_t body[2] = {CHANNEL, value};
	const struct fleet_msg m = {.type = type, .data = (const char *)body, .len = sizeof(body)};

	return fleet_tunnel_take(&t, &m);
}

static int take_data(size_t n)
{
	char *body = calloc(1, 4 + n);
	const struct fleet_msg m = {.type = FLEET_DATA, .data = body, .len = 4 + n};
	int r;

	body[0] = CHANNEL;
	r = fleet_tunnel_take(&t, &m);
	free(body);
	return r;
}

/* Writes to the socket until it takes no more. */
static size_t fill_socket(void)
{
	static const char piece[4096];
	size_t all = 0;
	ssize_t n;

	while ((n = write(peer, piece, sizeof(piece))) > 0)
		all += (size_t)n;
	return all;
}

static size_t empty_socket(void)
{
	static char piece[65536];
	size_t all = 0;
	ssize_t n;

	while ((n = read(peer, piece, sizeof(piece))) > 0)
		all += (size_t)n;
	return all;
}

/* What was sent of the socket's bytes since the last call. */
static size_t data_sent(void)
{
	size_t all = 0, n = 0;
	uint32_t value;

	while (sent(&value, &n) == FLEET_DATA)
		all += n;
	return all;
}

static void no_more_is_sent_than_the_other_end_has_room_for(void **state)
{
	size_t all = 0;

	fleet_tunnel_begin(&t);
	for (int i = 0; i < 40; i++) {
		(void)fill_socket();
		turn();
		all += data_sent();
	}
	assert_int_equal(all, FLEET_CREDIT);
	assert_int_equal(take_pair(FLEET_WINDOW, 1000), 0);
	turn();
	assert_int_equal(data_sent(), 1000);
}

static void nothing_is_read_while_the_stream_is_full(void **state)
{
	room = false;
	fleet_tunnel_begin(&t);
	(void)fill_socket();
	turn();
	assert_int_equal(data_sent(), 0);
	room = true;
	fleet_tunnel_resume(&t);
	turn();
	assert_true(data_sent() > 0);
}

static void a_slow_reader_costs_one_window_and_more_breaks_the_rules(void **state)
{
	int taken = 0;

	fleet_tunnel_begin(&t);
	/* Nobody reads: beyond the socket's own buffer and one window nothing is taken. */
	while (taken < 1000 && take_data(4096) == 0)
		taken++;
	assert_in_range(taken, FLEET_CREDIT / 4096, 999);
	assert_true(t.down.len <= FLEET_CREDIT);
	assert_true(t.down.len + t.taken + 4096 > FLEET_CREDIT);
}

static void what_the_reader_took_is_told_and_may_come_again(void **state)
{
	uint32_t value = 0;
	size_t n, all = 0;

	fleet_tunnel_begin(&t);
	assert_int_equal(take_data(1000), 0);
	assert_int_equal(sent(&value, &n), FLEET_WINDOW);
	assert_int_equal(value, 1000);
	/* Ten windows pass, of which the other end holds one at a time. */
	for (int i = 0; i < 640; i++) {
		assert_int_equal(take_data(4096), 0);
		all += empty_socket();
		turn();
	}
	all += empty_socket();
	assert_int_equal(all, 1000 + 640 * 4096);
}

static void a_window_that_was_never_used_breaks_the_rules(void **state)
{
	fleet_tunnel_begin(&t);
	assert_int_equal(take_pair(FLEET_WINDOW, 1), -EPROTO);
	assert_int_equal(take_pair(FLEET_WINDOW, UINT32_MAX), -EPROTO);
}

static void each_direction_ends_by_itself(void **state)
{
	uint32_t value = 1;
	char byte;
	size_t n;

	fleet_tunnel_begin(&t);
	/* The other end says no more: the socket's peer sees the end, and may still speak. */
	assert_int_equal(take_data(10), 0);
	assert_int_equal(sent(&value, &n), FLEET_WINDOW);
	assert_int_equal(take_pair(FLEET_CLOSE, 0), 0);
	assert_int_equal(empty_socket(), 10);
	assert_int_equal(read(peer, &byte, 1), 0);
	assert_int_equal(write(peer, "late", 4), 4);
	turn();
	assert_int_equal(sent(&value, &n), FLEET_DATA);
	assert_int_equal(n, 4);
	assert_true(fleet_tunnel_used(&t));
	assert_int_equal(take_data(1), -EPROTO);
	assert_int_equal(shutdown(peer, SHUT_WR), 0);
	turn();
	assert_int_equal(sent(&value, &n), FLEET_CLOSE);
	assert_int_equal(value, 0);
	assert_false(fleet_tunnel_used(&t));
}

static void bytes_that_wait_reach_the_socket_before_the_end(void **state)
{
	char byte;
	size_t all;

	fleet_tunnel_begin(&t);
	for (size_t i = 0; i < FLEET_CREDIT / 4096; i++)
		assert_int_equal(take_data(4096), 0);
	assert_int_equal(take_pair(FLEET_CLOSE, 0), 0);
	all = empty_socket();
	for (int i = 0; i < 100 && all < FLEET_CREDIT; i++) {
		turn();
		all += empty_socket();
	}
	assert_int_equal(all, FLEET_CREDIT);
	assert_int_equal(read(peer, &byte, 1), 0);
}

static void an_error_ends_it_at_once(void **state)
{
	fleet_tunnel_begin(&t);
	assert_int_equal(take_pair(FLEET_CLOSE, ECONNRESET), 0);
	assert_false(fleet_tunnel_used(&t));
	assert_int_equal(read(peer, (char[1]){0}, 1), 0);
}

static void nothing_passes_before_both_ends_know(void **state)
{
	(void)fill_socket();
	turn();
	assert_int_equal(data_sent(), 0);
	assert_int_equal(take_data(1), -EPROTO);
	assert_int_equal(take_pair(FLEET_WINDOW, 1), -EPROTO);
	assert_int_equal(take_pair(FLEET_CLOSE, 0), 0);
	assert_false(fleet_tunnel_used(&t));
}

static void a_reader_that_is_gone_is_told(void **state)
{
	uint32_t value = 0;
	size_t n;

	fleet_tunnel_begin(&t);
	(void)close(peer);
	peer = -1;
	assert_int_equal(take_data(10), 0);
	assert_int_equal(sent(&value, &n), FLEET_CLOSE);
	assert_int_equal(value, ECONNRESET);
	assert_false(fleet_tunnel_used(&t));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(no_more_is_sent_than_the_other_end_has_room_for),
		TEST(nothing_is_read_while_the_stream_is_full),
		TEST(a_slow_reader_costs_one_window_and_more_breaks_the_rules),
		TEST(what_the_reader_took_is_told_and_may_come_again),
		TEST(a_window_that_was_never_used_breaks_the_rules),
		TEST(each_direction_ends_by_itself),
		TEST(bytes_that_wait_reach_the_socket_before_the_end),
		TEST(an_error_ends_it_at_once),
		TEST(nothing_passes_before_both_ends_know),
		TEST(a_reader_that_is_gone_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
