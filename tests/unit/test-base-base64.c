#include "tests.h"

#include <string.h>

#include "base/text/base64.h"

static void base64_pads_and_comes_back(void **state)
{
	static const char *const pairs[][2] = {
		{"", ""},
		{"f", "Zg=="},
		{"fo", "Zm8="},
		{"foo", "Zm9v"},
		{"foobar", "Zm9vYmFy"},
		{"x-access-token:ghp_x", "eC1hY2Nlc3MtdG9rZW46Z2hwX3g="},
	};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		cleanup_buf struct buf b, back;

		buf_init(&b, 256);
		buf_init(&back, 256);
		base64_put(&b, pairs[i][0], strlen(pairs[i][0]));
		assert_string_equal(buf_str(&b), pairs[i][1]);
		assert_int_equal(base64url_get(&back, b.len ? b.data : "", b.len), 0);
		assert_string_equal(buf_str(&back), pairs[i][0]);
	}
}

static void what_is_not_base64_is_refused(void **state)
{
	static const char *const bad[] = {"a", "aaaaa", "ab+c", "ab/c", "a b", "=a"};
	cleanup_buf struct buf b, small;

	buf_init(&b, 256);
	buf_init(&small, 2);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(base64url_get(&b, bad[i], strlen(bad[i])), -EINVAL);
	assert_int_equal(base64url_get(&small, "Zm9vYmFy", 8), -ENOBUFS);
	buf_clear(&b);
	assert_int_equal(base64url_get(&b, "_-8", 3), 0);
	assert_memory_equal(b.data, "\xff\xef", 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(base64_pads_and_comes_back),
		cmocka_unit_test(what_is_not_base64_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
