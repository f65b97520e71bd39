#include "tests.h"

#include "base/err.h"

static void err_set_returns_the_negative_errno(void **state)
{
	struct err e = {0};

	assert_int_equal(err_set(&e, ENOENT, "no %s", "luck"), -ENOENT);
	assert_string_equal(e.msg, "no luck");
}

static void err_sys_adds_what_the_system_said(void **state)
{
	struct err e = {0};

	(void)err_sys(&e, ENOENT, "cannot open '%s'", "x");
	assert_string_equal(e.msg, "cannot open 'x': No such file or directory");
}

static void err_wrap_puts_context_first(void **state)
{
	struct err e = {0};
	int r = err_set(&e, EINVAL, "bad value");

	assert_int_equal(err_wrap(&e, r, "%s", "dev.yaml"), -EINVAL);
	assert_string_equal(e.msg, "dev.yaml: bad value");
}

static void err_usage_exits_with_two(void **state)
{
	struct err e = {0};

	assert_int_equal(err_usage(&e, "what"), -EINVAL);
	assert_int_equal(err_exit_code(&e, EXIT_RALPH), EXIT_USAGE);
}

static void err_without_a_code_takes_the_fallback(void **state)
{
	struct err e = {0};

	(void)err_set(&e, EIO, "x");
	assert_int_equal(err_exit_code(&e, EXIT_RALPH), 125);
}

static void a_newline_in_a_name_cannot_forge_a_second_message(void **state)
{
	struct err e = {0};

	(void)err_set(&e, EIO, "cannot open 'a\nralph: all is well'");
	assert_null(strchr(e.msg, '\n'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(err_set_returns_the_negative_errno),
		cmocka_unit_test(err_sys_adds_what_the_system_said),
		cmocka_unit_test(err_wrap_puts_context_first),
		cmocka_unit_test(err_usage_exits_with_two),
		cmocka_unit_test(err_without_a_code_takes_the_fallback),
		cmocka_unit_test(a_newline_in_a_name_cannot_forge_a_second_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
