#include "tests.h"

#include "base/mem.h"
#include "web/web-route.h"

#define KEY "0123456789abcdef"

static int find(bool post, const char *path, struct route *r)
{
	return route_find(post, path, strlen(path), r);
}

static void every_path_of_the_table_is_found_with_its_parts(void **state)
{
	struct route r;

	assert_int_equal(find(false, "/", &r), 0);
	assert_int_equal(r.id, ROUTE_PAGE);
	assert_int_equal(find(false, "/api/loop/" KEY, &r), 0);
	assert_int_equal(r.id, ROUTE_LOOP);
	assert_string_equal(r.word, KEY);
	assert_int_equal(find(false, "/api/loop/" KEY "/iter/12/log?at=4096&n=20", &r), 0);
	assert_int_equal(r.id, ROUTE_LOG);
	assert_int_equal(r.number, 12);
	assert_int_equal(r.at, 4096);
	assert_int_equal(r.n, 20);
	assert_int_equal(find(false, "/api/loop/" KEY "/iter/12/log?at=end", &r), 0);
	assert_true(r.at == ROUTE_TAIL);
	assert_int_equal(find(false, "/api/events/agent-loop-x/verify", &r), 0);
	assert_int_equal(r.id, ROUTE_VERIFY);
	assert_int_equal(find(false, "/api/quarantine/01234567", &r), 0);
	assert_int_equal(r.id, ROUTE_HELD);
	assert_int_equal(find(false, "/api/loop/" KEY "/iter/3/verify", &r), 0);
	assert_int_equal(r.id, ROUTE_CHECKS);
	assert_int_equal(find(false, "/api/loop/" KEY "/iter/3/diff", &r), 0);
	assert_int_equal(r.id, ROUTE_DIFF);
	assert_int_equal(r.number, 3);
	assert_int_equal(find(false, "/api/audit/agent-loop-x", &r), 0);
	assert_int_equal(r.id, ROUTE_AUDIT);
	assert_int_equal(find(false, "/api/talk/" KEY "?at=131072", &r), 0);
	assert_int_equal(r.id, ROUTE_TALK);
	assert_int_equal(r.at, 131072);
	assert_int_equal(find(true, "/api/act", &r), 0);
	assert_int_equal(r.id, ROUTE_ACT);
}

static void a_path_of_any_other_form_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"/x",
		"//",
		"/app.js?x",
		"/app.js/",
		"/api/loop/",
		"/api/loop/../etc",
		"/api/loop/0123456789ABCDEF",
		"/api/loop/" KEY "0",
		"/api/loop/" KEY "/iter/012/log",
		"/api/loop/" KEY "/iter/1234567890123456/log",
		"/api/loop/" KEY "/iter/1/log?",
		"/api/loop/" KEY "/iter/1/log?at=1&at=2",
		"/api/loop/" KEY "/iter/1/log?at=1&",
		"/api/loop/" KEY "/iter/1/log?path=/etc/passwd",
		"/api/audit/..",
		"/api/audit/-x",
		"/api/talk/2026-01-01",
		"/api/loop/" KEY "/iter/-1/diff",
		"/api/events/-x",
		"/api/events/x-",
		"/api/events/..",
		"/api/events/a%2fb",
		"/api/net/" KEY KEY KEY KEY,
		"/api/quarantine/0123456",
		"/api/quarantine/../../x",
	};
	struct route r;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(find(false, bad[i], &r), 404);
}

static void a_path_is_there_for_one_method_alone(void **state)
{
	struct route r;

	assert_int_equal(find(true, "/", &r), 405);
	assert_int_equal(find(true, "/api/overview", &r), 405);
	assert_int_equal(find(false, "/api/act", &r), 405);
	assert_int_equal(find(false, "/login", &r), 405);
	assert_int_equal(find(true, "/api/act?x=1", &r), 404);
}

static void topics_are_those_of_the_table(void **state)
{
	struct route r;

	assert_true(route_topic("overview", &r));
	assert_true(route_topic("log/" KEY "/3", &r));
	assert_int_equal(r.number, 3);
	assert_true(route_topic("events/box", &r));
	assert_false(route_topic("usage", &r));
	assert_false(route_topic("log/" KEY "/../../x", &r));
	assert_false(route_topic("events/..", &r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_path_of_the_table_is_found_with_its_parts),
		cmocka_unit_test(a_path_of_any_other_form_is_refused),
		cmocka_unit_test(a_path_is_there_for_one_method_alone),
		cmocka_unit_test(topics_are_those_of_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
