#include "tests.h"

#include "base/json/jpick.h"

static struct jtext text(const char *s)
{
	return (struct jtext){s, strlen(s)};
}

static void members_are_found_whatever_lies_between_them(void **state)
{
	static const char *const names[] = {"type", "message", "n", "absent"};
	struct jtext v[4];

	assert_true(jpick(
		text("{ \"x\":[{\"type\":\"no\"},\"}\\\"\"], \"message\" : {\"role\":\"user\"},"
		     "\"n\":12 , \"type\":\"user\"}"),
		names, v, 4));
	assert_true(jtext_eq(v[0], "user"));
	assert_true(jtext_eq(jpick_one(v[1], "role"), "user"));
	assert_int_equal(jtext_uint(v[2]), 12);
	assert_null(v[3].p);
}

static void what_is_torn_or_no_object_is_said(void **state)
{
	static const char *const bad[] = {
		"",	   "[]",       "\"a\"",	      "{",	     "{\"a\"",
		"{\"a\":", "{\"a\":1", "{\"a\":1 2}", "{\"a\":\"x}", "{1:2}"};
	static const char *const names[] = {"a"};
	struct jtext v;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(jpick(text(bad[i]), names, &v, 1));
	assert_false(jpick((struct jtext){0}, names, &v, 1));
}

static void an_array_is_gone_through_in_order(void **state)
{
	struct jtext a = text("[ 1, \"b\" ,{\"c\":[2]},[],null ]"), v;
	size_t at = 0, n = 0;
	cleanup_buf struct buf seen;

	buf_init(&seen, 100);
	while (jpick_each(a, &at, &v)) {
		(void)buf_append(&seen, v.p, v.n);
		(void)buf_putc(&seen, '|');
		n++;
	}
	assert_int_equal(n, 5);
	assert_string_equal(buf_str(&seen), "1|\"b\"|{\"c\":[2]}|[]|null|");
	at = 0;
	assert_false(jpick_each(text("[]"), &at, &v));
	assert_false(jpick_each(text("{}"), &at, &v));
}

static void a_string_is_cut_between_characters(void **state)
{
	cleanup_buf struct buf b;
	char *whole = jtext_dup(text("\"a\\n\\u00e9\""), 100);

	buf_init(&b, 100);
	assert_int_equal(jtext_append(text("\"h\xc3\xa9llo\""), &b, 2), 1);
	assert_string_equal(buf_str(&b), "h");
	assert_string_equal(whole, "a\n\xc3\xa9");
	assert_null(jtext_dup(text("17"), 10));
	free(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_are_found_whatever_lies_between_them),
		cmocka_unit_test(what_is_torn_or_no_object_is_said),
		cmocka_unit_test(an_array_is_gone_through_in_order),
		cmocka_unit_test(a_string_is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
