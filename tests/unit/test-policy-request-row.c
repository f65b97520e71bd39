#include "tests.h"

#include "base/mem.h"
#include "policy/request-row.h"

#include <stdlib.h>
#include <string.h>

static void a_pattern_is_the_whole_path(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool fits;
	} cases[] = {
		{"/v1/messages", "/v1/messages", true},
		{"/v1/messages", "/v1/messages/", false},
		{"/v1/messages", "/v1/messages/batches", false},
		{"/v1/messages", "/v1/messagesx", false},
		{"/v1/messages", "/v1/message", false},
		{"/v1/messages/**", "/v1/messages/batches/1/cancel", true},
		{"/v1/messages/**", "/v1/messages", false},
		{"/v1/messages/**", "/v1/messages/", false},
		{"/v1/models/*", "/v1/models/a", true},
		{"/v1/models/*", "/v1/models/", false},
		{"/v1/models/*", "/v1/models/a/b", false},
		{"/m/*:generateContent", "/m/gemini:generateContent", true},
		{"/m/*:generateContent", "/m/:generateContent", false},
		{"/m/*:generateContent", "/m/veo:predictLongRunning", false},
		{"/m/*:generateContent", "/m/a:generateContent/b", false},
		{"/m/*:generateContent", "/m/a:generateContentX", false},
		{"/m/*:generateContent", "/m/a%3AgenerateContent", false},
		{"/model/*/invoke", "/model/eu.anthropic.x-v1:0/invoke", true},
		{"/model/*/invoke", "/model/arn%3Aaws%2Fx/invoke", true},
		{"/model/*/invoke", "/model/a/b/invoke", false},
		{"/model/*/invoke", "/model/a/async-invoke", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (request_pattern_fits(cases[i].pattern, strlen(cases[i].pattern), cases[i].path,
					 strlen(cases[i].path)) != cases[i].fits)
			fail_msg("%s and %s", cases[i].pattern, cases[i].path);
}

static void a_row_has_a_kind_and_what_is_not_known_costs(void **state)
{
	struct request_row r;

	assert_true(request_row_parse("POST /v1/messages messages", &r));
	assert_int_equal(r.kind, REQUEST_MESSAGES);
	assert_true(request_row_is(&r, "POST"));
	assert_false(request_row_is(&r, "GET"));
	assert_true(request_row_parse("POST /x", &r));
	assert_int_equal(r.kind, REQUEST_UNKNOWN);
	assert_true(request_row_parse("GET /x", &r));
	assert_int_equal(r.kind, REQUEST_FREE);
	assert_true(request_row_is(&r, "HEAD"));
	assert_false(request_row_parse("POST /x no-such-kind", &r));
	assert_false(request_row_parse("POST", &r));
	assert_false(request_row_parse("POST x", &r));
	assert_false(request_row_parse("", &r));
}

static void a_url_stands_for_what_comes_before_the_star(void **state)
{
	struct request_row r;
	char *whole;

	assert_true(request_row_parse("GET /profiles/* https://other.example/x/profiles", &r));
	assert_string_equal(r.url, "https://other.example/x/profiles");
	assert_int_equal(request_row_fixed(&r), strlen("/profiles"));
	whole = request_row_whole(&r, "/x/profiles");
	assert_string_equal(whole, "/x/profiles/*");
	free(whole);
	assert_true(request_row_parse("POST /v1/messages messages", &r));
	whole = request_row_whole(&r, "/base/");
	assert_string_equal(whole, "/base/v1/messages");
	free(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pattern_is_the_whole_path),
		cmocka_unit_test(a_row_has_a_kind_and_what_is_not_known_costs),
		cmocka_unit_test(a_url_stands_for_what_comes_before_the_star),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
