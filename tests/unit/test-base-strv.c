#include "tests.h"

#include "base/strv.h"

static void strv_is_terminated_at_every_length(void **state)
{
	cleanup_strv struct strv s;

	strv_init(&s);
	for (size_t i = 0; i < 100; i++) {
		assert_null(s.v[s.n]);
		strv_pushf(&s, "%zu", i);
	}
	assert_int_equal(s.n, 100);
	assert_string_equal(s.v[99], "99");
	assert_null(s.v[100]);
}

static void strv_zeroed_one_can_be_used_and_released(void **state)
{
	cleanup_strv struct strv s = {0};

	strv_push(&s, "a");
	assert_true(strv_has(&s, "a"));
	strv_done(&s);
	strv_done(&s);
}

static void strv_split_drops_empty_parts(void **state)
{
	cleanup_strv struct strv s;

	strv_init(&s);
	strv_split(&s, "::a::b:", ':');
	strv_split(&s, "", ':');
	assert_int_equal(s.n, 2);
	assert_string_equal(s.v[0], "a");
	assert_string_equal(s.v[1], "b");
}

static void strv_env_finds_whole_names_only(void **state)
{
	cleanup_strv struct strv s;

	strv_init(&s);
	strv_env_set(&s, "PATHS", "no");
	strv_env_set(&s, "PATH", "a=b");
	assert_string_equal(strv_env_get(&s, "PATH"), "a=b");
	assert_null(strv_env_get(&s, "PAT"));
	assert_null(strv_env_get(&s, ""));
}

static void strv_env_set_again_replaces(void **state)
{
	cleanup_strv struct strv s;

	strv_init(&s);
	strv_env_set(&s, "A", "1");
	strv_env_set(&s, "A", "");
	assert_int_equal(s.n, 1);
	assert_string_equal(strv_env_get(&s, "A"), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strv_is_terminated_at_every_length),
		cmocka_unit_test(strv_zeroed_one_can_be_used_and_released),
		cmocka_unit_test(strv_split_drops_empty_parts),
		cmocka_unit_test(strv_env_finds_whole_names_only),
		cmocka_unit_test(strv_env_set_again_replaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
