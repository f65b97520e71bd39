#include "tests.h"

#include "loop/workers/pace.h"

#define MINUTE ((uint64_t)60 * 1000)
#define T0 (100 * MINUTE)

static void a_limit_halves_the_workers_once_and_holds_until_its_end(void **state)
{
	struct pace p = {0};

	assert_int_equal(pace_slots(&p, T0, 16), 16);
	assert_int_equal(pace_next(&p, T0), 0);
	assert_true(pace_limited(&p, T0, 5 * MINUTE, 16));
	/* The others of the sixteen meet the same limit. */
	assert_false(pace_limited(&p, T0 + 1, 5 * MINUTE, 16));
	assert_false(pace_limited(&p, T0 + 4 * MINUTE, 2 * MINUTE, 16));
	assert_int_equal(pace_holds(&p, T0 + 4 * MINUTE), 2 * MINUTE);
	assert_int_equal(pace_slots(&p, T0 + 5 * MINUTE, 16), 1);
	assert_int_equal(pace_holds(&p, T0 + 6 * MINUTE), 0);
	assert_int_equal(pace_slots(&p, T0 + 6 * MINUTE, 16), 8);
}

static void a_limit_that_ends_nobody_knows_when_halves_and_holds_nothing(void **state)
{
	struct pace p = {0};

	assert_true(pace_limited(&p, T0, 0, 16));
	assert_int_equal(pace_holds(&p, T0), 0);
	assert_int_equal(pace_slots(&p, T0, 16), 8);
	assert_false(pace_limited(&p, T0 + PACE_ONCE_MS - 1, 0, 16));
	assert_true(pace_limited(&p, T0 + 2 * MINUTE, 0, 8));
	assert_int_equal(pace_slots(&p, T0 + 2 * MINUTE, 16), 4);
}

static void each_quiet_ten_minutes_add_one_worker(void **state)
{
	struct pace p = {0};

	assert_true(pace_limited(&p, T0, 0, 8));
	assert_int_equal(pace_slots(&p, T0 + 10 * MINUTE - 1, 8), 4);
	assert_int_equal(pace_next(&p, T0 + 10 * MINUTE - 1), 1);
	assert_int_equal(pace_slots(&p, T0 + 10 * MINUTE, 8), 5);
	assert_int_equal(pace_slots(&p, T0 + 19 * MINUTE, 8), 5);
	assert_int_equal(pace_slots(&p, T0 + 35 * MINUTE, 8), 7);
	assert_int_equal(pace_slots(&p, T0 + 40 * MINUTE, 8), 8);
	assert_int_equal(pace_next(&p, T0 + 40 * MINUTE), 0);
}

static void time_under_a_limit_is_not_quiet_and_one_worker_always_stays(void **state)
{
	struct pace p = {0};

	assert_true(pace_limited(&p, T0, 60 * MINUTE, 3));
	assert_int_equal(pace_slots(&p, T0 + 60 * MINUTE, 3), 1);
	assert_int_equal(pace_slots(&p, T0 + 69 * MINUTE, 3), 1);
	assert_false(pace_limited(&p, T0 + 69 * MINUTE, 0, 1));
	assert_int_equal(pace_slots(&p, T0 + 70 * MINUTE, 3), 1);
	assert_int_equal(pace_slots(&p, T0 + 79 * MINUTE, 3), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_halves_the_workers_once_and_holds_until_its_end),
		cmocka_unit_test(a_limit_that_ends_nobody_knows_when_halves_and_holds_nothing),
		cmocka_unit_test(each_quiet_ten_minutes_add_one_worker),
		cmocka_unit_test(time_under_a_limit_is_not_quiet_and_one_worker_always_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
