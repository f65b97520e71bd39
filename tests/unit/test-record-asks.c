#include "tree.h"

#include <fcntl.h>

#include "base/fd.h"
#include "record/asks.h"

#define NOW 1000000

static int dir;

static int set_up(void **state)
{
	if (tree_make(state) < 0)
		return -1;
	dir = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	closep(&dir);
	return tree_remove(state);
}

static int put(const char *what, uint64_t now, char id[ASK_ID_LEN + 1])
{
	const struct ask_wish w = {
		.kind = ASK_HOST, .what = what, .why = "for the test", .now = now};
	cleanup_json json_t *ask = NULL;
	struct err err = {0};
	int r = asks_put(dir, &w, &ask, &err);

	if (r == 0 && id)
		(void)snprintf(id, ASK_ID_LEN + 1, "%s",
			       json_string_value(json_object_get(ask, "id")));
	return r;
}

static int answer(const char *id, bool allow, const char *text)
{
	const struct ask_answer a = {
		.id = id, .allow = allow, .text = text, .scope = "", .now = NOW};
	struct err err = {0};

	return asks_answer(dir, &a, NULL, &err);
}

static size_t count(bool open_ones)
{
	cleanup_json json_t *asks = NULL;
	struct err err = {0};
	size_t n = 0, i;
	json_t *a;

	assert_int_equal(asks_read(dir, &asks, &err), 0);
	json_array_foreach (asks, i, a)
		n += !open_ones || ask_is_open(a);
	return n;
}

static void asks_same_thing_joins_the_open_ask(void **state)
{
	char one[ASK_ID_LEN + 1], two[ASK_ID_LEN + 1];

	assert_int_equal(count(false), 0);
	assert_int_equal(put("a.test:443", NOW, one), 0);
	assert_int_equal(put("a.test:443", NOW, two), 0);
	assert_string_equal(one, two);
	assert_int_equal(put("b.test:443", NOW, two), 0);
	assert_string_not_equal(one, two);
	assert_int_equal(count(true), 2);
}

static void asks_are_bounded_open_ones_in_a_minute_and_in_a_day(void **state)
{
	uint64_t now = NOW;
	char id[ASK_ID_LEN + 1], what[32];
	int day = 0;

	for (int i = 0; i < ASKS_MINUTE_MAX; i++) {
		(void)snprintf(what, sizeof(what), "m%d.test:443", i);
		assert_int_equal(put(what, now, id), 0);
		assert_int_equal(answer(id, true, ""), 0);
	}
	assert_int_equal(put("more.test:443", now, NULL), -EDQUOT);
	now += 60;
	for (int i = 0; i < ASKS_OPEN_MAX; i++, now += 60) {
		(void)snprintf(what, sizeof(what), "o%d.test:443", i);
		assert_int_equal(put(what, now, NULL), 0);
	}
	assert_int_equal(put("more.test:443", now, NULL), -EDQUOT);
	for (day = 0; count(true) > 0; day++) {
		cleanup_json json_t *asks = NULL;
		struct err err = {0};
		size_t i;
		json_t *a;

		assert_int_equal(asks_read(dir, &asks, &err), 0);
		json_array_foreach (asks, i, a)
			if (ask_is_open(a))
				(void)answer(json_string_value(json_object_get(a, "id")), true, "");
	}
	for (day = ASKS_MINUTE_MAX + ASKS_OPEN_MAX; day < ASKS_DAY_MAX; day++, now += 60) {
		(void)snprintf(what, sizeof(what), "d%d.test:443", day);
		assert_int_equal(put(what, now, id), 0);
		assert_int_equal(answer(id, true, ""), 0);
	}
	assert_int_equal(put("more.test:443", now, NULL), -EDQUOT);
	assert_int_equal(put("more.test:443", now + 86400, NULL), 0);
}

static void asks_what_was_denied_twice_is_not_asked_again(void **state)
{
	char id[ASK_ID_LEN + 1];

	for (int i = 0; i < ASKS_DENIALS_MAX; i++) {
		assert_int_equal(put("no.test:443", NOW, id), 0);
		assert_int_equal(answer(id, false, "no"), 0);
	}
	assert_int_equal(put("no.test:443", NOW, NULL), -EPERM);
	assert_int_equal(put("no.test:80", NOW, NULL), 0);
}

static void asks_an_answer_counts_once(void **state)
{
	char id[ASK_ID_LEN + 1];

	assert_int_equal(put("a.test:443", NOW, id), 0);
	assert_int_equal(answer("00000000", true, ""), -ENOENT);
	assert_int_equal(answer(id, true, "yes"), 0);
	assert_int_equal(answer(id, false, "no"), -EALREADY);
	assert_int_equal(count(true), 0);
}

static void asks_stand_still_for_a_bounded_time(void **state)
{
	cleanup_json json_t *asks = NULL;
	char id[ASK_ID_LEN + 1];
	struct err err = {0};

	assert_int_equal(put("a.test:443", NOW, id), 0);
	assert_int_equal(asks_wait(dir, id, NOW + 100000, &err), 0);
	assert_int_equal(asks_read(dir, &asks, &err), 0);
	assert_true(asks_any_waits(asks, NOW + ASK_WAIT_S - 1));
	assert_false(asks_any_waits(asks, NOW + ASK_WAIT_S));
}

static void asks_that_are_damaged_are_an_error(void **state)
{
	cleanup_json json_t *asks = NULL;
	struct err err = {0};

	tree_file(ASKS_FILE, 0600, "{]");
	assert_true(asks_read(dir, &asks, &err) < 0);
	assert_true(put("a.test:443", NOW, NULL) < 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(asks_same_thing_joins_the_open_ask),
		T(asks_are_bounded_open_ones_in_a_minute_and_in_a_day),
		T(asks_what_was_denied_twice_is_not_asked_again),
		T(asks_an_answer_counts_once),
		T(asks_stand_still_for_a_bounded_time),
		T(asks_that_are_damaged_are_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
