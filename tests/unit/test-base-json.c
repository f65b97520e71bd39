#include "tests.h"

#include "base/json/json.h"
#include "base/mem.h"

static json_t *doc(const char *text)
{
	json_t *j = NULL;
	struct err e;

	assert_int_equal(json_parse(text, strlen(text), &j, &e), 0);
	return j;
}

static void json_parse_says_where_a_document_is_wrong(void **state)
{
	static const char *const bad[] = {
		"",   "{",   "{\"a\": 1} x",	     "{\"a\":\n 1,}", "{\"a\":1,\"a\":2}",
		"[1", "nul", "{\"a\": \"\\u0000\"}", "\"\xff\""};
	json_t *j = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err e = {0};

		assert_int_equal(json_parse(bad[i], strlen(bad[i]), &j, &e), -EINVAL);
		assert_non_null(strstr(e.msg, "line "));
		assert_null(j);
	}
}

static void json_readers_name_the_key_that_is_wrong(void **state)
{
	cleanup_json json_t *j = doc("{\"s\": \"x\", \"n\": -1, \"b\": 1}");
	const char *s = NULL;
	uint64_t n = 7;
	struct err e;
	bool b;

	assert_int_equal(json_get_str(j, "none", &s, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "'none'"));
	assert_int_equal(json_get_str(j, "n", &s, &e), -EINVAL);
	assert_int_equal(json_get_uint(j, "n", &n, &e), -ERANGE);
	assert_int_equal(json_get_uint(j, "s", &n, &e), -EINVAL);
	assert_int_equal(json_get_bool(j, "b", &b, &e), -EINVAL);
	assert_null(s);
	assert_int_equal(n, 7);
	assert_int_equal(json_get_str(j, "s", &s, &e), 0);
	assert_string_equal(s, "x");
}

static void json_readers_of_what_is_no_object_find_nothing(void **state)
{
	cleanup_json json_t *j = doc("[1]");
	const char *s = NULL;
	struct err e;

	assert_int_equal(json_get_str(j, "a", &s, &e), -ENOENT);
}

static void json_opt_str_absent_or_null_is_left_alone(void **state)
{
	cleanup_json json_t *j = doc("{\"a\": null, \"b\": 1}");
	const char *s = "before";
	struct err e;

	assert_int_equal(json_opt_str(j, "none", &s, &e), 0);
	assert_int_equal(json_opt_str(j, "a", &s, &e), 0);
	assert_string_equal(s, "before");
	assert_int_equal(json_opt_str(j, "b", &s, &e), -EINVAL);
}

static void json_text_takes_any_bytes(void **state)
{
	cleanup_json json_t *good = json_text("\xc3\xa4"), *bad = json_text("a\xff"
									    "b");

	assert_string_equal(json_string_value(good), "\xc3\xa4");
	assert_string_equal(json_string_value(bad), "a\xef\xbf\xbd"
						    "b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_parse_says_where_a_document_is_wrong),
		cmocka_unit_test(json_readers_name_the_key_that_is_wrong),
		cmocka_unit_test(json_readers_of_what_is_no_object_find_nothing),
		cmocka_unit_test(json_opt_str_absent_or_null_is_left_alone),
		cmocka_unit_test(json_text_takes_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
