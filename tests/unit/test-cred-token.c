#include "tests.h"

#include <string.h>

#include "cred/token.h"

static void when_reads_the_forms_that_tools_write(void **state)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} good[] = {
		{"1970-01-01T00:00:00Z", 0},
		{"2026-11-15T20:00:00Z", 1794772800000},
		{"2026-11-15T20:00:00+00:00", 1794772800000},
		{"2026-11-15T21:30:00+01:30", 1794772800000},
		{"2026-11-15T15:00:00-0500", 1794772800000},
		{"2024-02-29T12:34:56.789123456Z", 1709210096789},
		{"2000-03-01 00:00:00Z", 951868800000},
	};
	static const char *const bad[] = {
		"",
		"2026-11-15",
		"2026-11-15T20:00:00",
		"2026-13-15T20:00:00Z",
		"2026-11-15T24:00:00Z",
		"2026-11-15T20:00:00Zx",
		"1969-12-31T23:59:59Z",
		"1970-01-01T00:00:00+01:00",
		"0000-00-00T00:00:00Z",
		"2026-11-15T20:00:00+",
	};
	uint64_t ms;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(when_parse(good[i].text, &ms), 0);
		assert_int_equal(ms, good[i].ms);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(when_parse(bad[i], &ms), -EINVAL);
}

static void expiry_of_a_signed_token_is_its_own_claim(void **state)
{
	/* {"alg":"none"}.{"exp":1794772800,"x":"é"} */
	assert_int_equal(
		jwt_expires_ms("eyJhbGciOiJub25lIn0.eyJleHAiOjE3OTQ3NzI4MDAsIngiOiLDqSJ9.sig"),
		1794772800000);
	assert_int_equal(jwt_expires_ms("eyJhbGciOiJub25lIn0.e30.sig"), 0);
	assert_int_equal(jwt_expires_ms("no token"), 0);
	assert_int_equal(jwt_expires_ms("a.b"), 0);
	assert_int_equal(jwt_expires_ms("a.!!.c"), 0);
	assert_int_equal(jwt_expires_ms("a..c"), 0);
}

static void token_with_a_line_end_is_none(void **state)
{
	cleanup_free char *big = xcalloc(TOKEN_MAX + 2, 1);

	assert_true(token_is_sane("sk-ant-x"));
	assert_true(token_is_sane("two words"));
	assert_false(token_is_sane(""));
	assert_false(token_is_sane("a\r\nHost: evil"));
	assert_false(token_is_sane(" a"));
	assert_false(token_is_sane("a\x7f"));
	assert_false(token_is_sane("\xc3\xa9"));
	memset(big, 'a', TOKEN_MAX + 1);
	assert_false(token_is_sane(big));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(when_reads_the_forms_that_tools_write),
		cmocka_unit_test(expiry_of_a_signed_token_is_its_own_claim),
		cmocka_unit_test(token_with_a_line_end_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
