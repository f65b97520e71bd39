#include "tests.h"

#include "web/web-request.h"

#include <stdio.h>

#define C "0123456789abcdef0123456789abcdef"
#define K "fedcba9876543210fedcba9876543210"

static struct request_rules rules;

static unsigned check(enum request_kind kind, const char *fields)
{
	static struct http1_head h;
	char text[2048];
	int n = snprintf(text, sizeof(text), "POST /api/act HTTP/1.1\r\n%s\r\n", fields);

	http1_reset(&h);
	assert_int_equal(http1_parse_request(text, (size_t)n, &h), n);
	return request_check(&rules, &h, kind);
}

#define JSON "Content-Type: application/json\r\nContent-Length: 0\r\n"

static void our_own_page_may_change_something(void **state)
{
	assert_int_equal(check(REQUEST_CHANGE,
			       "Host: 127.0.0.1:8400\r\nOrigin: http://127.0.0.1:8400\r\n"
			       "Sec-Fetch-Site: same-origin\r\n" JSON),
			 0);
	assert_int_equal(
		check(REQUEST_CHANGE, "Host: localhost:9\r\nOrigin: http://localhost:9\r\n" JSON),
		0);
	assert_int_equal(check(REQUEST_CHANGE, "Host: [::1]:9\r\nOrigin: http://[::1]:9\r\n" JSON),
			 0);
}

static void a_request_for_another_name_is_misdirected(void **state)
{
	static const char *const hosts[] = {"evil.test",
					    "127.0.0.1.evil.test",
					    "localhost.evil.test",
					    "127.0.0.2",
					    "2130706433",
					    "[::2]",
					    "0.0.0.0",
					    "0",
					    "[::ffff:127.0.0.1]"};

	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		char text[256];

		(void)snprintf(text, sizeof(text), "Host: %s:8400\r\n", hosts[i]);
		assert_int_equal(check(REQUEST_PAGE, text), 421);
	}
}

static void a_change_needs_an_origin_that_is_ours(void **state)
{
	static const char *const origins[] = {
		"",
		"Origin: null\r\n",
		"Origin: http://127.0.0.1:9999\r\n",
		"Origin: http://127.0.0.1\r\n",
		"Origin: https://127.0.0.1:8400\r\n",
		"Origin: http://localhost:8400\r\n",
		"Origin: http://127.0.0.1:8400.evil.test\r\n",
		"Origin: http://evil.test\r\n",
		"Origin: http://127.0.0.1:8400\r\nOrigin: http://evil.test\r\n",
		"Origin: http://127.0.0.1:8400\r\nSec-Fetch-Site: same-site\r\n",
		"Origin: http://127.0.0.1:8400\r\nSec-Fetch-Site: cross-site\r\n"};

	for (size_t i = 0; i < ARRAY_SIZE(origins); i++) {
		char text[512];

		(void)snprintf(text, sizeof(text), "Host: 127.0.0.1:8400\r\n%s" JSON, origins[i]);
		assert_int_equal(check(REQUEST_CHANGE, text), 403);
	}
}

static void a_change_is_json_and_nothing_else(void **state)
{
	assert_int_equal(check(REQUEST_CHANGE, "Host: localhost\r\nOrigin: http://localhost\r\n"
					       "Content-Type: text/plain\r\nContent-Length: 0\r\n"),
			 415);
	assert_int_equal(
		check(REQUEST_CHANGE,
		      "Host: localhost\r\nOrigin: http://localhost\r\nContent-Length: 0\r\n"),
		415);
}

static void reading_from_another_site_is_refused(void **state)
{
	assert_int_equal(check(REQUEST_READ, "Host: localhost\r\n"), 0);
	assert_int_equal(check(REQUEST_READ, "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n"),
			 403);
	assert_int_equal(check(REQUEST_READ, "Host: localhost\r\nOrigin: http://evil.test\r\n"),
			 403);
}

static void a_name_of_the_user_is_ours_too(void **state)
{
	assert_int_equal(check(REQUEST_PAGE, "Host: box.tail.test\r\n"), 421);
	strv_push(&rules.hosts, "box.tail.test");
	assert_int_equal(check(REQUEST_PAGE, "Host: box.tail.test\r\n"), 0);
	assert_int_equal(check(REQUEST_CHANGE,
			       "Host: box.tail.test\r\nOrigin: https://box.tail.test\r\n" JSON),
			 0);
	assert_int_equal(check(REQUEST_PAGE, "Host: x.box.tail.test\r\n"), 421);
	strv_done(&rules.hosts);
	rules = (struct request_rules){0};
}

static bool halves(const char *fields, char *cookie, char *key)
{
	static struct http1_head h;
	static char text[2048];
	int n = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", fields);

	http1_reset(&h);
	assert_int_equal(http1_parse_request(text, (size_t)n, &h), n);
	return request_halves(&h, false, cookie, key);
}

static void a_session_is_both_halves(void **state)
{
	char cookie[REQUEST_HALF_LEN + 1], key[REQUEST_HALF_LEN + 1];

	assert_true(halves("Cookie: a=1; ralph=" C "\r\nX-Ralph-Key: " K "\r\n", cookie, key));
	assert_string_equal(cookie, C);
	assert_string_equal(key, K);
	assert_false(halves("Cookie: ralph=" C "\r\n", cookie, key));
	assert_false(halves("X-Ralph-Key: " K "\r\n", cookie, key));
	assert_false(halves("Cookie: xralph=" C "\r\nX-Ralph-Key: " K "\r\n", cookie, key));
	assert_false(halves("Cookie: ralph=" C "0\r\nX-Ralph-Key: " K "\r\n", cookie, key));
	assert_false(halves("Cookie: ralph=G" C "\r\nX-Ralph-Key: " K "\r\n", cookie, key));
	/* A cookie that a neighbour has set in front does not hide ours. */
	assert_true(halves("Cookie: ralph=x; ralph=" C "\r\nX-Ralph-Key: " K "\r\n", cookie, key));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_own_page_may_change_something),
		cmocka_unit_test(a_request_for_another_name_is_misdirected),
		cmocka_unit_test(a_change_needs_an_origin_that_is_ours),
		cmocka_unit_test(a_change_is_json_and_nothing_else),
		cmocka_unit_test(reading_from_another_site_is_refused),
		cmocka_unit_test(a_name_of_the_user_is_ours_too),
		cmocka_unit_test(a_session_is_both_halves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
