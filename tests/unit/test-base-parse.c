#include "tests.h"

#include "base/mem.h"
#include "base/parse.h"

static void parse_uint_takes_plain_decimal_numbers(void **state)
{
	uint64_t v;

	assert_int_equal(parse_uint("0", 0, 10, &v), 0);
	assert_int_equal(v, 0);
	assert_int_equal(parse_uint("18446744073709551615", 0, UINT64_MAX, &v), 0);
	assert_true(v == UINT64_MAX);
}

static void parse_uint_refuses_every_other_spelling(void **state)
{
	static const char *const bad[] = {"",	 " 1",	"1 ",  "+1", "-1",    "010",	 "0x10",
					  "1e3", "1.0", "1\n", "00", "1,000", "\xd9\xa1"};
	uint64_t v = 77;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(parse_uint(bad[i], 0, UINT64_MAX, &v), -EINVAL);
	assert_int_equal(v, 77);
}

static void parse_uint_outside_its_bounds_is_a_range_error(void **state)
{
	uint64_t v;

	assert_int_equal(parse_uint("4", 5, 10, &v), -ERANGE);
	assert_int_equal(parse_uint("11", 5, 10, &v), -ERANGE);
	assert_int_equal(parse_uint("18446744073709551616", 0, UINT64_MAX, &v), -ERANGE);
}

static void parse_size_knows_powers_of_1024(void **state)
{
	uint64_t v;

	assert_int_equal(parse_size("512", &v), 0);
	assert_int_equal(v, 512);
	assert_int_equal(parse_size("64M", &v), 0);
	assert_int_equal(v, 64 * MiB);
	assert_int_equal(parse_size("1T", &v), 0);
	assert_true(v == 1024 * GiB);
	assert_int_equal(parse_size("18446744073709551615T", &v), -ERANGE);
	assert_int_equal(parse_size("64m", &v), -EINVAL);
	assert_int_equal(parse_size("64MB", &v), -EINVAL);
	assert_int_equal(parse_size("M", &v), -EINVAL);
	assert_int_equal(parse_size("", &v), -EINVAL);
}

static void parse_duration_gives_milliseconds(void **state)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} good[] = {{"90", 90000},   {"500ms", 500},	{"30s", 30000}, {"5m", 300000},
		    {"2h", 7200000}, {"2d", 172800000}, {"0", 0}};
	uint64_t v;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(parse_duration(good[i].text, &v), 0);
		assert_true(v == good[i].ms);
	}
	assert_int_equal(parse_duration("5 m", &v), -EINVAL);
	assert_int_equal(parse_duration("m", &v), -EINVAL);
	assert_int_equal(parse_duration("18446744073709551615d", &v), -ERANGE);
}

static void parse_micro_gives_millionths(void **state)
{
	static const struct {
		const char *text;
		uint64_t v;
	} good[] = {{"20", 20000000}, {"0.5", 500000},	   {"0", 0},
		    {"0.000001", 1},  {"12.34", 12340000}, {"18446744073709.551615", UINT64_MAX}};
	static const char *const bad[] = {"",	".5",	     "5.",  "-1", "1,5",
					  "01", "0.1234567", "1e3", "5 "};
	uint64_t v;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(parse_micro(good[i].text, &v), 0);
		assert_true(v == good[i].v);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(parse_micro(bad[i], &v), -EINVAL);
	assert_int_equal(parse_micro("18446744073709.551616", &v), -ERANGE);
}

static void a_word_of_a_table_loses_its_escapes_and_nothing_else(void **state)
{
	char escaped[] = "/a\\040b\\134c\\", plain[] = "/x/y";

	parse_table_word(escaped);
	parse_table_word(plain);
	assert_string_equal(escaped, "/a b\\c\\");
	assert_string_equal(plain, "/x/y");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_of_a_table_loses_its_escapes_and_nothing_else),
		cmocka_unit_test(parse_uint_takes_plain_decimal_numbers),
		cmocka_unit_test(parse_uint_refuses_every_other_spelling),
		cmocka_unit_test(parse_uint_outside_its_bounds_is_a_range_error),
		cmocka_unit_test(parse_size_knows_powers_of_1024),
		cmocka_unit_test(parse_duration_gives_milliseconds),
		cmocka_unit_test(parse_micro_gives_millionths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
