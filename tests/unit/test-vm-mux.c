#include "tests.h"

#include "vm/mux.h"
#include "base/fd.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Two ends of a line, without a machine between them. */
struct pair {
	struct mux near, far;
	int frames, overs;
	uint32_t last_over;
};

static int on_frame(struct mux *m, struct wire_msg *msg, struct buf *program)
{
	struct pair *p = m->owner;

	p->frames++;
	return msg->type == WIRE_GW_FIRST ? -EPROTO : 0;
}

static int on_over(struct mux *m, enum wire_type type, uint32_t id, const struct buf *body)
{
	struct pair *p = m->owner;

	p->overs++;
	p->last_over = id;
	return 0;
}

static void set_up(struct pair *p)
{
	struct mux *both[] = {&p->near, &p->far};
	int line[2];

	*p = (struct pair){0};
	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, line),
			 0);
	for (int i = 0; i < 2; i++) {
		mux_init(both[i], line[i]);
		both[i]->frame = on_frame;
		both[i]->over = on_over;
		both[i]->owner = p;
	}
}

static void tear_down(struct pair *p)
{
	mux_done(&p->near);
	mux_done(&p->far);
}

static int turn(struct mux *m)
{
	static struct pollfd p[MUX_ROWS_MAX];
	size_t n = mux_gather(m, p);

	assert_true(poll(p, n, 0) >= 0);
	return mux_turn(m, p);
}

/* Until nothing moves any more. */
static int settle(struct pair *p)
{
	int r = 0;

	for (int i = 0; i < 64 && r == 0; i++) {
		r = turn(&p->near);
		if (r == 0)
			r = turn(&p->far);
	}
	return r;
}

/* A pipe; our end does not block. */
static void stream(int ret[2])
{
	assert_int_equal(pipe2(ret, O_CLOEXEC), 0);
}

static void all_bytes_of_a_stream_arrive_in_order_and_its_end(void **state)
{
	static char in[3 * MiB], out[sizeof(in)];
	int from[2], to[2];
	size_t given = 0, got = 0;
	struct pair p;

	set_up(&p);
	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (char)(i * 2654435761u >> 13);
	stream(from);
	stream(to);
	(void)fd_set_nonblock(from[1], true);
	(void)fd_set_nonblock(to[0], true);
	assert_non_null(mux_add(&p.near, 7, MUX_IN, from[0], MUX_READS));
	assert_non_null(mux_add(&p.far, 7, MUX_IN, to[1], MUX_WRITES));
	for (int i = 0; i < 1000000 && got < sizeof(in); i++) {
		ssize_t n = given < sizeof(in) ? write(from[1], in + given, sizeof(in) - given) : 0;

		given += n > 0 ? (size_t)n : 0;
		assert_int_equal(turn(&p.near), 0);
		assert_int_equal(turn(&p.far), 0);
		n = read(to[0], out + got, sizeof(out) - got);
		got += n > 0 ? (size_t)n : 0;
	}
	assert_int_equal(got, sizeof(in));
	assert_memory_equal(in, out, sizeof(in));
	(void)close(from[1]);
	assert_int_equal(settle(&p), 0);
	assert_int_equal(read(to[0], out, 1), 0);
	assert_int_equal(p.near.n_channels + p.far.n_channels, 0);
	(void)close(to[0]);
	tear_down(&p);
}

static void a_reader_that_does_not_read_stops_its_own_stream_alone(void **state)
{
	char piece[64 * KiB] = {0};
	int slow[2], stuck[2], from[2], to[2];
	struct pair p;

	set_up(&p);
	stream(slow);
	stream(stuck);
	stream(from);
	stream(to);
	(void)fd_set_nonblock(slow[1], true);
	assert_non_null(mux_add(&p.near, 1, MUX_OUT, slow[0], MUX_READS));
	assert_non_null(mux_add(&p.far, 1, MUX_OUT, stuck[1], MUX_WRITES));
	assert_non_null(mux_add(&p.near, 2, MUX_OUT, from[0], MUX_READS));
	assert_non_null(mux_add(&p.far, 2, MUX_OUT, to[1], MUX_WRITES));
	for (int i = 0; i < 100; i++) {
		(void)!write(slow[1], piece, sizeof(piece));
		assert_int_equal(settle(&p), 0);
	}
	/* The pipe before, the credit, and the pipe behind; nothing waits in between. */
	assert_true(write(slow[1], piece, 1) < 0);
	assert_true(mux_find(&p.far, 1, MUX_OUT)->out.len <= MUX_CREDIT);
	assert_true(p.near.out.len < 4 * KiB && p.far.out.len < 4 * KiB);
	assert_int_equal(write(from[1], "goes on", 7), 7);
	assert_int_equal(settle(&p), 0);
	assert_int_equal(read(to[0], piece, sizeof(piece)), 7);
	tear_down(&p);
	(void)close(slow[1]);
	(void)close(stuck[0]);
	(void)close(from[1]);
	(void)close(to[0]);
}

static void a_reader_that_goes_away_ends_the_writer(void **state)
{
	int from[2], to[2];
	struct pair p;

	set_up(&p);
	stream(from);
	stream(to);
	assert_non_null(mux_add(&p.near, 3, MUX_OUT, from[0], MUX_READS));
	assert_non_null(mux_add(&p.far, 3, MUX_OUT, to[1], MUX_WRITES));
	(void)close(to[0]);
	assert_int_equal(settle(&p), 0);
	assert_true(write(from[1], "x", 1) < 0 && errno == EPIPE);
	(void)close(from[1]);
	tear_down(&p);
}

static void a_connection_has_two_directions_that_end_apart(void **state)
{
	int a[2], b[2];
	char text[16];
	struct pair p;

	set_up(&p);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, a), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, b), 0);
	assert_non_null(mux_add(&p.near, 9, MUX_CONNECTION, a[0], MUX_READS | MUX_WRITES));
	assert_non_null(mux_add(&p.far, 9, MUX_CONNECTION, b[0], MUX_READS | MUX_WRITES));
	assert_int_equal(write(a[1], "ask", 3), 3);
	(void)shutdown(a[1], SHUT_WR);
	assert_int_equal(settle(&p), 0);
	assert_int_equal(read(b[1], text, sizeof(text)), 3);
	assert_int_equal(read(b[1], text, sizeof(text)), 0);
	assert_int_equal(write(b[1], "answer", 6), 6);
	(void)close(b[1]);
	assert_int_equal(settle(&p), 0);
	assert_int_equal(read(a[1], text, sizeof(text)), 6);
	assert_int_equal(read(a[1], text, sizeof(text)), 0);
	assert_int_equal(p.near.n_channels + p.far.n_channels, 0);
	(void)close(a[1]);
	tear_down(&p);
}

static void the_end_of_a_command_comes_after_its_output(void **state)
{
	int from[2], to[2];
	char text[16];
	struct buf b;
	struct pair p;

	set_up(&p);
	buf_init(&b, 64);
	wire_put_u32(&b, 0);
	stream(from);
	stream(to);
	assert_non_null(mux_add(&p.near, 4, MUX_OUT, from[0], MUX_READS));
	assert_non_null(mux_add(&p.far, 4, MUX_OUT, to[1], MUX_WRITES));
	assert_int_equal(mux_hold(&p.near, WIRE_ENDED, 4, &b), 0);
	assert_int_equal(write(from[1], "last", 4), 4);
	assert_int_equal(settle(&p), 0);
	assert_int_equal(p.overs, 0);
	(void)close(from[1]);
	assert_int_equal(settle(&p), 0);
	assert_int_equal(p.overs, 1);
	assert_int_equal(p.last_over, 4);
	assert_int_equal(read(to[0], text, sizeof(text)), 4);
	/* What has no output is over at once. */
	assert_int_equal(mux_hold(&p.near, WIRE_ENDED, 5, &b), 0);
	assert_int_equal(p.overs, 2);
	buf_done(&b);
	(void)close(to[0]);
	tear_down(&p);
}

static int say(struct pair *p, enum wire_type type, uint32_t id, uint32_t which, const char *bytes,
	       size_t n)
{
	struct buf b;
	int r;

	buf_init(&b, WIRE_BODY_MAX);
	wire_put_u32(&b, which);
	if (type == WIRE_FAR_DATA)
		wire_put_bytes(&b, bytes, n);
	else
		wire_put_u32(&b, (uint32_t)n);
	r = mux_send(&p->near, type, id, &b, NULL);
	buf_done(&b);
	return r < 0 ? r : settle(p);
}

static void who_sends_more_than_it_may_is_broken(void **state)
{
	static char much[MUX_CREDIT + 1];
	int to[2];
	struct pair p;

	set_up(&p);
	stream(to);
	(void)fd_set_nonblock(to[1], true);
	assert_non_null(mux_add(&p.far, 1, MUX_IN, to[1], MUX_WRITES));
	assert_int_equal(say(&p, WIRE_FAR_DATA, 1, MUX_IN, much, sizeof(much)), -EPROTO);
	(void)close(to[0]);
	tear_down(&p);
}

static void credit_beyond_what_was_used_and_unknown_streams_are_no_frames(void **state)
{
	static const uint32_t bad[][3] = {{WIRE_FAR_SPACE, MUX_IN, 1},
					  {WIRE_FAR_SPACE, MUX_OUT, MUX_CREDIT + 1},
					  {WIRE_FAR_SHUT, MUX_OUT, 2},
					  {WIRE_FAR_SHUT, MUX_WHICH_N, 0},
					  {WIRE_GW_FIRST, 0, 0}};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		int to[2];
		struct pair p;

		set_up(&p);
		stream(to);
		assert_non_null(mux_add(&p.far, 1, MUX_IN, to[0], MUX_READS));
		assert_int_equal(say(&p, (enum wire_type)bad[i][0], 1, bad[i][1], NULL, bad[i][2]),
				 -EPROTO);
		(void)close(to[1]);
		tear_down(&p);
	}
}

static void a_head_that_announces_too_much_is_no_frame(void **state)
{
	static const uint32_t heads[][4] = {{WIRE_SPAWN, 1, WIRE_BODY_MAX + 1, 0},
					    {WIRE_SPAWN, 1, 0, REMOTE_PROGRAM_MAX + 1},
					    {WIRE_SPAWN, 1, UINT32_MAX, UINT32_MAX}};

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		struct pair p;

		set_up(&p);
		assert_int_equal(write(p.near.line, heads[i], sizeof(heads[i])), sizeof(heads[i]));
		assert_int_equal(settle(&p), -EPROTO);
		tear_down(&p);
	}
}

static void bytes_for_a_stream_that_is_over_are_dropped(void **state)
{
	struct pair p;

	set_up(&p);
	assert_int_equal(say(&p, WIRE_FAR_DATA, 99, MUX_IN, "late", 4), 0);
	assert_int_equal(say(&p, WIRE_FAR_SHUT, 99, MUX_IN, NULL, 1), 0);
	assert_int_equal(p.far.n_channels, 0);
	tear_down(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_bytes_of_a_stream_arrive_in_order_and_its_end),
		cmocka_unit_test(a_reader_that_does_not_read_stops_its_own_stream_alone),
		cmocka_unit_test(a_reader_that_goes_away_ends_the_writer),
		cmocka_unit_test(a_connection_has_two_directions_that_end_apart),
		cmocka_unit_test(the_end_of_a_command_comes_after_its_output),
		cmocka_unit_test(who_sends_more_than_it_may_is_broken),
		cmocka_unit_test(credit_beyond_what_was_used_and_unknown_streams_are_no_frames),
		cmocka_unit_test(a_head_that_announces_too_much_is_no_frame),
		cmocka_unit_test(bytes_for_a_stream_that_is_over_are_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
