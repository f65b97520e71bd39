#include "tests.h"

#include "base/buf.h"
#include "base/json/jscan.h"

/* Every token as text, pieces of one string joined. */
static void take(struct jscan *j, struct buf *out, bool skip)
{
	static const char *const marks[] = {
		[JSCAN_OBJECT] = "{",	 [JSCAN_OBJECT_END] = "}", [JSCAN_ARRAY] = "[",
		[JSCAN_ARRAY_END] = "]", [JSCAN_TRUE] = "T",	   [JSCAN_FALSE] = "F",
		[JSCAN_NULL] = "N",	 [JSCAN_ERROR] = "!",	   [JSCAN_SKIPPED] = "~",
		[JSCAN_STRING] = "",	 [JSCAN_KEY] = "",	   [JSCAN_NUMBER] = "",
	};
	enum jscan_token t;

	while ((t = jscan_next(j)) != JSCAN_MORE) {
		(void)buf_puts(out, marks[t]);
		(void)buf_append(out, j->text, j->len);
		if (t == JSCAN_KEY)
			(void)buf_putc(out, j->cut ? '+' : ':');
		if ((t == JSCAN_STRING && j->last) || t == JSCAN_NUMBER)
			(void)buf_putc(out, ';');
		if (t == JSCAN_KEY && skip)
			jscan_skip(j);
		if (t == JSCAN_ERROR)
			return;
	}
}

/* The input cut into pieces of n bytes. */
static char *scan(const char *text, size_t n, bool skip)
{
	size_t len = strlen(text);
	struct jscan j;
	struct buf out;

	buf_init(&out, 64 * KiB);
	jscan_init(&j);
	for (size_t at = 0; at < len; at += n) {
		/* A copy of its own, so that a sanitizer sees a byte too far. */
		size_t part = len - at < n ? len - at : n;
		cleanup_free char *piece = xmalloc(part);

		memcpy(piece, text + at, part);
		jscan_feed(&j, piece, part);
		take(&j, &out, skip);
	}
	(void)buf_puts(&out, jscan_end(&j) ? "." : "?");
	return buf_take(&out);
}

static void gives(const char *text, bool skip, const char *expected)
{
	for (size_t n = 1; n <= strlen(text) + 1; n++) {
		cleanup_free char *got = scan(text, n, skip);

		assert_string_equal(got, expected);
	}
}

static void every_kind_of_value_is_read_however_the_input_is_cut(void **state)
{
	gives("{\"a\": [1, -2.5e+3, true,false ,null, \"x\"], \"b\":{}, \"c\":[] }", false,
	      "{a:[1;-2.5e+3;TFNx;]b:{}c:[]}.");
	gives("\"\" {} [[]]\n7", false, ";{}[[]].");
	gives("  ", false, ".");
}

static void escapes_become_the_characters_they_stand_for(void **state)
{
	gives("[\"a\\n\\t\\\"\\\\\\/b\"]", false, "[a\n\t\"\\/b;].");
	gives("[\"\\u00e9\\u20ac\\ud83d\\ude00\"]", false, "[é€😀;].");
	gives("{\"\\u006b\\u0065y\": 1 }", false, "{key:1;}.");
}

static void half_a_surrogate_pair_becomes_a_replacement_character(void **state)
{
	gives("[\"\\ud83dx\", \"\\ude00\", \"\\ud83d\", \"\\ud83d\\n\", \"\\ud83d\\u0041\"]", false,
	      "[\xef\xbf\xbdx;\xef\xbf\xbd;\xef\xbf\xbd;\xef\xbf\xbd\n;\xef\xbf\xbd"
	      "A;].");
}

static void skipping_a_value_leaves_what_follows(void **state)
{
	gives("{\"a\":{\"x\":[1,\"]}\\\"\",{}]},\"b\":\"q\\\\\",\"c\" : "
	      "-1.5,\"d\":null,\"e\":[[]]} {}",
	      true, "{a:~b:~c:~d:~e:~}{}.");
}

static void an_object_an_array_and_the_rest_of_a_string_can_be_skipped(void **state)
{
	const char text[] = "[{\"a\":[1,2]},[3,[4]],\"abc\\\"def\",5]";
	struct jscan j;

	jscan_init(&j);
	jscan_feed(&j, text, strlen(text));
	assert_int_equal(jscan_next(&j), JSCAN_ARRAY);
	assert_int_equal(jscan_next(&j), JSCAN_OBJECT);
	jscan_skip(&j);
	assert_int_equal(jscan_next(&j), JSCAN_SKIPPED);
	assert_int_equal(j.depth, 1);
	assert_int_equal(jscan_next(&j), JSCAN_ARRAY);
	jscan_skip(&j);
	assert_int_equal(jscan_next(&j), JSCAN_SKIPPED);
	assert_int_equal(jscan_next(&j), JSCAN_STRING);
	assert_false(j.last);
	jscan_skip(&j);
	assert_int_equal(jscan_next(&j), JSCAN_SKIPPED);
	assert_int_equal(jscan_next(&j), JSCAN_NUMBER);
	assert_true(jscan_is(&j, "5"));
	assert_int_equal(jscan_next(&j), JSCAN_ARRAY_END);
	assert_true(jscan_end(&j));
}

static void what_is_no_json_is_an_error(void **state)
{
	static const char *const bad[] = {
		"{,}",	   "[1,]",	  "{\"a\"}", "{\"a\":}", "[1 2]", "tru e",
		"nul1",	   "01 ",	  "-x",	     "1. ",	 "1e ",	  "\"\n\"",
		"\"\\x\"", "\"\\u12g4\"", "]",	     "}",	 "[}",	  "{]",
		"{1:2}",   "'a'",	  "[1}",     ":",	 ",",	  "{\"a\":1,}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		for (size_t n = 1; n < 9; n++) {
			cleanup_free char *got = scan(bad[i], n, false);

			assert_non_null(strchr(got, '!'));
		}
}

static void an_unfinished_document_is_not_an_end(void **state)
{
	static const char *const open[] = {"{", "[", "\"a", "[1,", "{\"a\":", "tru", "-", "\"\\"};

	for (size_t i = 0; i < ARRAY_SIZE(open); i++) {
		cleanup_free char *got = scan(open[i], 99, false);

		assert_int_equal(got[strlen(got) - 1], '?');
	}
}

static void too_deep_is_an_error_but_may_be_skipped(void **state)
{
	char text[4 * JSCAN_DEPTH + 16];
	struct jscan j;
	int n = 0;

	memset(text, '[', JSCAN_DEPTH + 1);
	jscan_init(&j);
	jscan_feed(&j, text, JSCAN_DEPTH + 1);
	while (jscan_next(&j) == JSCAN_ARRAY)
		n++;
	assert_int_equal(n, JSCAN_DEPTH);
	assert_int_equal(jscan_next(&j), JSCAN_ERROR);

	memset(text + 1, '[', 2 * JSCAN_DEPTH);
	memset(text + 1 + 2 * JSCAN_DEPTH, ']', 2 * JSCAN_DEPTH);
	text[0] = '[';
	text[1 + 4 * JSCAN_DEPTH] = ']';
	jscan_init(&j);
	jscan_feed(&j, text, 4 * JSCAN_DEPTH + 2);
	assert_int_equal(jscan_next(&j), JSCAN_ARRAY);
	assert_int_equal(jscan_next(&j), JSCAN_ARRAY);
	jscan_skip(&j);
	assert_int_equal(jscan_next(&j), JSCAN_SKIPPED);
	assert_int_equal(jscan_next(&j), JSCAN_ARRAY_END);
	assert_true(jscan_end(&j));
}

static void a_long_key_is_cut_and_says_so(void **state)
{
	char text[400];

	memset(text, 'k', sizeof(text));
	memcpy(text, "{\"", 2);
	memcpy(text + 302, "\":1}", 5);
	for (size_t n = 1; n < 400; n += 37) {
		cleanup_free char *got = scan(text, n, false);

		assert_int_equal(strlen(got), 1 + JSCAN_SHORT + 1 + 2 + 2);
		assert_non_null(strchr(got, '+'));
	}
}

static void whole_numbers_are_read_and_others_refused(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t value;
	} rows[] = {
		{"0 ", true, 0},
		{"18446744073709551615 ", true, UINT64_MAX},
		{"18446744073709551616 ", false, 0},
		{"-1 ", false, 0},
		{"1.5 ", false, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t v = 0;
		struct jscan j;

		jscan_init(&j);
		jscan_feed(&j, rows[i].text, strlen(rows[i].text));
		assert_int_equal(jscan_next(&j), JSCAN_NUMBER);
		assert_int_equal(jscan_uint(&j, &v), rows[i].ok);
		assert_true(v == rows[i].value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_value_is_read_however_the_input_is_cut),
		cmocka_unit_test(escapes_become_the_characters_they_stand_for),
		cmocka_unit_test(half_a_surrogate_pair_becomes_a_replacement_character),
		cmocka_unit_test(skipping_a_value_leaves_what_follows),
		cmocka_unit_test(an_object_an_array_and_the_rest_of_a_string_can_be_skipped),
		cmocka_unit_test(what_is_no_json_is_an_error),
		cmocka_unit_test(an_unfinished_document_is_not_an_end),
		cmocka_unit_test(too_deep_is_an_error_but_may_be_skipped),
		cmocka_unit_test(a_long_key_is_cut_and_says_so),
		cmocka_unit_test(whole_numbers_are_read_and_others_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
