#include "tests.h"

#include "loop/loop.h"
#include "loop/notify/notice.h"

#define BUDGET (1U << NOTICE_BUDGET)
#define OUTAGE (1U << NOTICE_OUTAGE)

static void an_exit_code_is_one_event_and_the_users_own_end_none(void **state)
{
	assert_int_equal(notice_of_exit(LOOP_DONE), NOTICE_DONE);
	assert_int_equal(notice_of_exit(LOOP_STUCK), NOTICE_STUCK);
	assert_int_equal(notice_of_exit(LOOP_DECIDE), NOTICE_NEEDS_YOU);
	assert_int_equal(notice_of_exit(LOOP_CREDENTIAL), NOTICE_NEEDS_YOU);
	assert_int_equal(notice_of_exit(LOOP_LIMIT), NOTICE_NEEDS_YOU);
	assert_int_equal(notice_of_exit(LOOP_PAUSED), NOTICE_N);
	assert_int_equal(notice_of_exit(130), NOTICE_N);
}

static void a_budget_is_told_once_at_80_percent_and_again_after_it_was_raised(void **state)
{
	struct notice_facts f = {.spent = 79, .limit = 100};
	uint64_t told = 0;

	assert_int_equal(notices_due(&f, &told), 0);
	f.spent = 80;
	assert_int_equal(notices_due(&f, &told), BUDGET);
	f.spent = 90;
	assert_int_equal(notices_due(&f, &told), 0);
	f.limit = 200;
	assert_int_equal(notices_due(&f, &told), 0);
	f.spent = 160;
	assert_int_equal(notices_due(&f, &told), BUDGET);
	f = (struct notice_facts){.spent = 5, .limit = 0};
	assert_int_equal(notices_due(&f, &told), 0);
}

static void an_outage_is_told_once_after_15_minutes(void **state)
{
	struct notice_facts f = {.outage = 1000, .now = 1000 + 899};
	uint64_t told = 0;

	assert_int_equal(notices_due(&f, &told), 0);
	f.now++;
	assert_int_equal(notices_due(&f, &told), OUTAGE);
	assert_int_equal(notices_due(&f, &told), 0);
	f.outage = 0;
	assert_int_equal(notices_due(&f, &told), 0);
	f.outage = 1;
	assert_int_equal(notices_due(&f, &told), OUTAGE);
	/* A clock that was set back is no outage. */
	f.outage = f.now + 5;
	assert_int_equal(notices_due(&f, &told), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exit_code_is_one_event_and_the_users_own_end_none),
		cmocka_unit_test(a_budget_is_told_once_at_80_percent_and_again_after_it_was_raised),
		cmocka_unit_test(an_outage_is_told_once_after_15_minutes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
