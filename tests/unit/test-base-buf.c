#include "tests.h"

#include "base/buf.h"

static void buf_beyond_its_maximum_refuses_and_keeps_what_it_had(void **state)
{
	cleanup_buf struct buf b;

	buf_init(&b, 4);
	assert_int_equal(buf_puts(&b, "abcd"), 0);
	assert_int_equal(buf_putc(&b, 'e'), -ENOBUFS);
	assert_true(b.full);
	assert_string_equal(buf_str(&b), "abcd");
	buf_clear(&b);
	assert_false(b.full);
	assert_int_equal(buf_puts(&b, "abcde"), -ENOBUFS);
	assert_int_equal(b.len, 0);
}

static void buf_huge_request_does_not_wrap_around(void **state)
{
	cleanup_buf struct buf b;

	buf_init(&b, 64);
	assert_int_equal(buf_puts(&b, "x"), 0);
	assert_int_equal(buf_reserve(&b, SIZE_MAX), -ENOBUFS);
	assert_int_equal(buf_reserve(&b, SIZE_MAX - 1), -ENOBUFS);
	assert_string_equal(buf_str(&b), "x");
}

static void buf_holds_any_bytes_and_stays_terminated(void **state)
{
	cleanup_buf struct buf b;

	buf_init(&b, 64);
	assert_int_equal(buf_append(&b, "a\0b", 3), 0);
	assert_int_equal(b.len, 3);
	assert_memory_equal(b.data, "a\0b", 4);
	assert_int_equal(buf_append(&b, NULL, 0), 0);
	assert_int_equal(buf_printf(&b, "%d-%s", 7, "x"), 0);
	assert_memory_equal(b.data, "a\0b7-x", 7);
}

static void buf_consume_drops_from_the_front(void **state)
{
	cleanup_buf struct buf b;

	buf_init(&b, 64);
	(void)buf_puts(&b, "abcdef");
	buf_consume(&b, 2);
	assert_string_equal(buf_str(&b), "cdef");
	buf_consume(&b, 100);
	assert_int_equal(b.len, 0);
	assert_string_equal(buf_str(&b), "");
}

static void buf_take_gives_the_bytes_and_leaves_it_usable(void **state)
{
	cleanup_free char *first = NULL, *empty = NULL;
	cleanup_buf struct buf b;

	buf_init(&b, 64);
	(void)buf_puts(&b, "abc");
	first = buf_take(&b);
	assert_string_equal(first, "abc");
	empty = buf_take(&b);
	assert_string_equal(empty, "");
	assert_int_equal(buf_puts(&b, "def"), 0);
	assert_string_equal(buf_str(&b), "def");
}

static void buf_never_written_is_an_empty_string(void **state)
{
	cleanup_buf struct buf b;

	buf_init(&b, 8);
	assert_string_equal(buf_str(&b), "");
	buf_consume(&b, 0);
	buf_clear(&b);
}

static void buf_put_quoted_escapes_what_would_end_the_string(void **state)
{
	cleanup_buf struct buf b;

	buf_init(&b, 64);
	assert_int_equal(buf_put_quoted(&b, "a\"b\\c\n\x1b"), 0);
	assert_string_equal(buf_str(&b), "\"a\\\"b\\\\c\\u000a\\u001b\"");
}

static void lines_of_others_keep_their_ends_and_nothing_that_acts(void **state)
{
	static const char text[] = "a\tb\n\0\033[31m\302\233K\342\200\256x\377\303\244";
	struct buf b;

	buf_init(&b, 200);
	assert_int_equal(buf_put_lines(&b, text, sizeof(text) - 1), 0);
	assert_string_equal(buf_str(&b), "a\tb\n\\x00\\x1b[31m\\u{9B}K\\u{202E}x\\xff\303\244");
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buf_put_quoted_escapes_what_would_end_the_string),
		cmocka_unit_test(buf_beyond_its_maximum_refuses_and_keeps_what_it_had),
		cmocka_unit_test(buf_huge_request_does_not_wrap_around),
		cmocka_unit_test(buf_holds_any_bytes_and_stays_terminated),
		cmocka_unit_test(buf_consume_drops_from_the_front),
		cmocka_unit_test(buf_take_gives_the_bytes_and_leaves_it_usable),
		cmocka_unit_test(lines_of_others_keep_their_ends_and_nothing_that_acts),
		cmocka_unit_test(buf_never_written_is_an_empty_string),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
