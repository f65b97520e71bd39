#include "tests.h"

#include <signal.h>
#include <unistd.h>

#include "base/ev.h"
#include "base/fd.h"

struct fixture {
	struct ev *ev;
	int pipes[2][2];
	struct ev_io io[2];
	int seen[2];
	struct ev_timer timers[5];
	int fired[5], n_fired;
	struct ev_defer defer;
	int deferred;
};

static struct fixture fx;

static int set_up(void **state)
{
	struct err e;

	fx = (struct fixture){0};
	for (size_t i = 0; i < 2; i++)
		if (pipe(fx.pipes[i]) < 0)
			return -1;
	return ev_new(&fx.ev, &e);
}

static int tear_down(void **state)
{
	for (size_t i = 0; i < 2; i++) {
		closep(&fx.pipes[i][0]);
		closep(&fx.pipes[i][1]);
	}
	ev_free(fx.ev);
	return 0;
}

static void on_timer(struct ev *ev, struct ev_timer *t)
{
	fx.fired[fx.n_fired++] = (int)(t - fx.timers);
	if (t == &fx.timers[4])
		ev_stop(ev);
}

static void timers_fire_by_due_time_and_not_by_order_of_setting(void **state)
{
	static const uint64_t due[] = {30, 10, 40, 20, 50};
	struct err e;

	for (size_t i = 0; i < 5; i++) {
		fx.timers[i].fn = on_timer;
		ev_timer_set(fx.ev, &fx.timers[i], due[i]);
	}
	ev_timer_stop(fx.ev, &fx.timers[2]);
	ev_timer_stop(fx.ev, &fx.timers[2]);
	assert_int_equal(ev_run(fx.ev, &e), 0);
	assert_int_equal(fx.n_fired, 4);
	assert_int_equal(fx.fired[0], 1);
	assert_int_equal(fx.fired[1], 3);
	assert_int_equal(fx.fired[2], 0);
	assert_int_equal(fx.fired[3], 4);
	assert_true(ev_now(fx.ev) >= fx.timers[4].at);
}

static void timers_fire_by_due_time_with_an_alarm_as_well(void **state)
{
	struct err e;

	assert_int_equal(ev_keep_alarm(fx.ev, &e), 0);
	timers_fire_by_due_time_and_not_by_order_of_setting(state);
	/* Once more, with one that has rung and one that is set for later than needed. */
	fx.n_fired = 0;
	timers_fire_by_due_time_and_not_by_order_of_setting(state);
}

static void on_byte(struct ev *ev, struct ev_io *io, uint32_t events)
{
	ev_timer_set(ev, &fx.timers[4], 1);
	(void)ev_want(ev, io, 0);
}

static void a_timer_that_becomes_the_soonest_later_moves_the_alarm(void **state)
{
	struct err e;

	assert_int_equal(ev_keep_alarm(fx.ev, &e), 0);
	fx.timers[0].fn = fx.timers[4].fn = on_timer;
	fx.io[0] = (struct ev_io){.fd = fx.pipes[0][0], .fn = on_byte};
	assert_int_equal(ev_want(fx.ev, &fx.io[0], EPOLLIN), 0);
	ev_timer_set(fx.ev, &fx.timers[0], 60000);
	assert_int_equal(write(fx.pipes[0][1], "x", 1), 1);
	assert_int_equal(ev_run(fx.ev, &e), 0);
	assert_int_equal(fx.n_fired, 1);
	assert_int_equal(fx.fired[0], 4);
}

static void timer_set_again_fires_once_at_the_new_time(void **state)
{
	struct err e;

	fx.timers[0].fn = fx.timers[4].fn = on_timer;
	ev_timer_set(fx.ev, &fx.timers[0], 60000);
	ev_timer_set(fx.ev, &fx.timers[4], 20);
	ev_timer_set(fx.ev, &fx.timers[0], 1);
	assert_int_equal(ev_run(fx.ev, &e), 0);
	assert_int_equal(fx.n_fired, 2);
	assert_int_equal(fx.fired[0], 0);
}

static void on_timer_again(struct ev *ev, struct ev_timer *t)
{
	if (++fx.n_fired == 3)
		ev_stop(ev);
	else
		ev_timer_set(ev, t, 0);
}

static void timer_may_set_itself_again(void **state)
{
	struct err e;

	fx.timers[0].fn = on_timer_again;
	ev_timer_set(fx.ev, &fx.timers[0], 0);
	assert_int_equal(ev_run(fx.ev, &e), 0);
	assert_int_equal(fx.n_fired, 3);
}

/* Whichever of the two comes first takes the other out. */
static void on_first(struct ev *ev, struct ev_io *io, uint32_t events)
{
	fx.seen[io - fx.io]++;
	(void)ev_want(ev, &fx.io[1 - (io - fx.io)], 0);
	ev_stop(ev);
}

static void on_stop_timer(struct ev *ev, struct ev_timer *t)
{
	ev_stop(ev);
}

static void on_other(struct ev *ev, struct ev_io *io, uint32_t events)
{
	fx.seen[io - fx.io]++;
	(void)ev_want(ev, &fx.io[0], 0);
	(void)ev_want(ev, &fx.io[1], 0);
	fx.timers[0].fn = on_stop_timer;
	ev_timer_set(ev, &fx.timers[0], 10);
}

static void event_of_an_io_that_nobody_wants_any_more_is_dropped(void **state)
{
	struct err e;

	for (size_t i = 0; i < 2; i++) {
		fx.io[i] = (struct ev_io){.fd = fx.pipes[i][0], .fn = on_other};
		assert_int_equal(write(fx.pipes[i][1], "x", 1), 1);
		assert_int_equal(ev_want(fx.ev, &fx.io[i], EPOLLIN), 0);
	}
	assert_int_equal(ev_run(fx.ev, &e), 0);
	assert_int_equal(fx.seen[0] + fx.seen[1], 1);
}

static void stop_in_a_callback_ends_the_batch(void **state)
{
	struct err e;

	for (size_t i = 0; i < 2; i++) {
		fx.io[i] = (struct ev_io){.fd = fx.pipes[i][0], .fn = on_first};
		assert_int_equal(write(fx.pipes[i][1], "x", 1), 1);
		assert_int_equal(ev_want(fx.ev, &fx.io[i], EPOLLIN), 0);
	}
	assert_int_equal(ev_run(fx.ev, &e), 0);
	assert_int_equal(fx.seen[0] + fx.seen[1], 1);
}

static void on_deferred(struct ev *ev, struct ev_defer *d)
{
	assert_true(fx.seen[0] == 1 && fx.seen[1] == 1); /* the batch is over */
	fx.deferred++;
	ev_stop(ev);
}

static void on_read(struct ev *ev, struct ev_io *io, uint32_t events)
{
	fx.seen[io - fx.io]++;
	assert_int_equal(fx.deferred, 0);
	(void)ev_want(ev, io, 0);
	ev_defer(ev, &fx.defer);
	ev_defer(ev, &fx.defer);
}

static void deferred_work_runs_once_after_the_batch(void **state)
{
	struct err e;

	fx.defer.fn = on_deferred;
	for (size_t i = 0; i < 2; i++) {
		fx.io[i] = (struct ev_io){.fd = fx.pipes[i][0], .fn = on_read};
		assert_int_equal(write(fx.pipes[i][1], "x", 1), 1);
		assert_int_equal(ev_want(fx.ev, &fx.io[i], EPOLLIN), 0);
	}
	assert_int_equal(ev_run(fx.ev, &e), 0);
	assert_int_equal(fx.deferred, 1);
}

static void signals_come_one_by_one_from_the_descriptor(void **state)
{
	static const int signals[] = {SIGUSR1, SIGUSR2};
	cleanup_fd int fd = -1;
	struct err e;
	int got;

	assert_int_equal(ev_signalfd(signals, 2, &fd, &e), 0);
	assert_int_equal(ev_signal_read(fd), 0);
	(void)raise(SIGUSR1);
	(void)raise(SIGUSR2);
	got = ev_signal_read(fd);
	assert_true(got == SIGUSR1 || got == SIGUSR2);
	assert_int_equal(ev_signal_read(fd), SIGUSR1 + SIGUSR2 - got);
	assert_int_equal(ev_signal_read(fd), 0);
}

static void want_for_a_closed_descriptor_is_an_error(void **state)
{
	struct ev_io io = {.fd = 9999, .fn = on_read};

	assert_int_equal(ev_want(fx.ev, &io, EPOLLIN), -EBADF);
	assert_int_equal(io.want, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(timers_fire_by_due_time_and_not_by_order_of_setting),
		T(timers_fire_by_due_time_with_an_alarm_as_well),
		T(a_timer_that_becomes_the_soonest_later_moves_the_alarm),
		T(timer_set_again_fires_once_at_the_new_time),
		T(timer_may_set_itself_again),
		T(event_of_an_io_that_nobody_wants_any_more_is_dropped),
		T(stop_in_a_callback_ends_the_batch),
		T(deferred_work_runs_once_after_the_batch),
		T(signals_come_one_by_one_from_the_descriptor),
		T(want_for_a_closed_descriptor_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
