#include "tests.h"

#include "events/fold.h"

#include <stdio.h>

static struct {
	size_t n;
	uint64_t count;
	struct folded last;
	char host[256];
} out;

static void on_record(void *arg, const struct folded *f)
{
	out.n++;
	out.count += f->e.count;
	out.last = *f;
	(void)snprintf(out.host, sizeof(out.host), "%s", f->e.host);
}

static struct fold *f;
static uint64_t now;

static int set_up(void **state)
{
	memset(&out, 0, sizeof(out));
	now = 1000000;
	f = fold_new(on_record, NULL, false);
	return 0;
}

static int tear_down(void **state)
{
	f = fold_free(f);
	return 0;
}

static void decide(enum gw_verdict verdict, const char *host, const char *path)
{
	const struct gw_event e = {.time_ms = 5000000 + now,
				   .verdict = verdict,
				   .phase = GW_END,
				   .port = 443,
				   .count = 1,
				   .up = 3,
				   .host = host,
				   .method = "GET",
				   .path = path,
				   .rule = "",
				   .reason = "no rule allows it"};

	fold_add(f, &e, now);
}

static void pass(uint64_t ms)
{
	for (uint64_t end = now + ms; now < end; now += 100)
		if (fold_due(f) && fold_due(f) <= now)
			fold_flush(f, now, false);
}

static void refusal_is_written_at_once_and_the_same_again_is_counted(void **state)
{
	for (int i = 0; i < 1000; i++) {
		decide(GW_DENY, "a.test", "/");
		now++;
	}
	assert_int_equal(out.n, 1);
	assert_int_equal(out.last.e.count, 1);
	pass(FOLD_WINDOW_MS);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.last.e.count, 999);
	assert_int_equal(out.last.e.up, 999 * 3);
	assert_int_equal(out.last.first_ms, 5000000 + 1000001);
	assert_int_equal(out.last.last_ms, 5000000 + 1000999);
}

static void refusals_that_differ_are_told_apart(void **state)
{
	decide(GW_DENY, "a.test", "/");
	decide(GW_DENY, "a.test", "/other");
	decide(GW_DENY, "b.test", "/");
	decide(GW_ERROR, "a.test", "/");
	assert_int_equal(out.n, 4);
}

static void what_is_allowed_is_written_each_time(void **state)
{
	for (int i = 0; i < 100; i++)
		decide(GW_ALLOW, "a.test", "/");
	assert_int_equal(out.n, 100);
}

static void what_is_allowed_is_counted_where_that_was_asked_for(void **state)
{
	f = fold_free(f);
	f = fold_new(on_record, NULL, true);
	for (int i = 0; i < 100; i++)
		decide(GW_ALLOW, "a.test", "/");
	assert_int_equal(out.n, 1);
	fold_flush(f, now, true);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.count, 100);
}

static void after_the_window_the_same_refusal_is_new(void **state)
{
	decide(GW_DENY, "a.test", "/");
	pass(FOLD_WINDOW_MS + 1000);
	assert_int_equal(fold_due(f), 0);
	decide(GW_DENY, "a.test", "/");
	assert_int_equal(out.n, 2);
}

static void what_goes_on_is_told_ever_more_rarely_and_counted_in_full(void **state)
{
	uint64_t total = 0;

	/* A day of the same, ten times a second. */
	for (int i = 0; i < 24 * 3600 * 10; i++) {
		decide(GW_DENY, "a.test", "/");
		total++;
		pass(100);
	}
	fold_flush(f, now, true);
	assert_int_equal(out.count, total);
	assert_true(out.n < 200);
}

/* A day of names that never come again: 100 a second. */
static void flood_of_different_names_is_bounded_and_counted_in_full(void **state)
{
	uint64_t total = 0;
	char host[64];

	for (int i = 0; i < 24 * 3600 * 10; i++) {
		for (int k = 0; k < 10; k++) {
			(void)snprintf(host, sizeof(host), "h%llu.test", (unsigned long long)total);
			decide(GW_DENY, host, "/");
			total++;
		}
		pass(100);
	}
	fold_flush(f, now, true);
	assert_int_equal(out.count, total);
	/* What refills in a day, and the counted ones in between. */
	assert_true(out.n < FOLD_BURST + 24 * 3600 * 1000 / FOLD_REFILL_MS + 30000);
}

static void flood_of_what_is_allowed_is_bounded_too(void **state)
{
	uint64_t total = 0;

	for (int i = 0; i < 3600 * 10; i++) {
		for (int k = 0; k < 20; k++, total++)
			decide(GW_ALLOW, "a.test", "/");
		pass(100);
	}
	fold_flush(f, now, true);
	assert_int_equal(out.count, total);
	assert_true(out.n < FOLD_BURST + 3600 + 200);
}

static void nothing_is_told_twice_at_the_end(void **state)
{
	decide(GW_DENY, "a.test", "/");
	decide(GW_DENY, "a.test", "/");
	fold_flush(f, now, true);
	fold_flush(f, now, true);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.count, 2);
}

int main(void)
{
#define T(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(refusal_is_written_at_once_and_the_same_again_is_counted),
		T(refusals_that_differ_are_told_apart),
		T(what_is_allowed_is_written_each_time),
		T(what_is_allowed_is_counted_where_that_was_asked_for),
		T(after_the_window_the_same_refusal_is_new),
		T(what_goes_on_is_told_ever_more_rarely_and_counted_in_full),
		T(flood_of_different_names_is_bounded_and_counted_in_full),
		T(flood_of_what_is_allowed_is_bounded_too),
		T(nothing_is_told_twice_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
