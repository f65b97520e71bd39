#include "tests.h"

#include "base/buf.h"
#include "base/jscan.h"

#include <stdio.h>
#include <string.h>

/* Everything the scanner says of a document that is fed `step` bytes at a time, as text. */
static char *tell(const char *doc, size_t step)
{
	static const char *const names[] = {
		[JSCAN_OBJECT] = "{",	    [JSCAN_OBJECT_END] = "}", [JSCAN_ARRAY] = "[",
		[JSCAN_ARRAY_END] = "]",    [JSCAN_KEY] = "k",	      [JSCAN_STRING] = "s",
		[JSCAN_NUMBER] = "n",	    [JSCAN_TRUE] = "T",	      [JSCAN_FALSE] = "F",
		[JSCAN_NULL] = "N",	    [JSCAN_DONE] = ".",
	};
	size_t n = strlen(doc), at = 0;
	enum jscan_token t = JSCAN_MORE;
	struct jscan j;
	struct buf b;

	buf_init(&b, 64 * KiB);
	jscan_init(&j);
	do {
		size_t part = n - at < step ? n - at : step;

		jscan_feed(&j, doc + at, part, at + part == n);
		at += part;
		while ((t = jscan_next(&j)) > 0 && t != JSCAN_DONE) {
			(void)buf_puts(&b, names[t]);
			if (t == JSCAN_KEY || t == JSCAN_STRING || t == JSCAN_NUMBER)
				(void)buf_printf(&b, "(%.*s)", (int)j.len, j.text);
		}
	} while (t == JSCAN_MORE && at < n);
	(void)buf_puts(&b, t == JSCAN_DONE ? "." : t == JSCAN_BAD ? "!" : "?");
	return buf_take(&b);
}

static const struct {
	const char *doc, *told;
} cases[] = {
	{"{}", "{}."},
	{" [ ] \n", "[]."},
	{"[1,-2.5e+3,0]", "[n(1)n(-2.5e+3)n(0)]."},
	{"17", "n(17)."},
	{"\"a\"", "s(a)."},
	{"{\"a\":{\"b\":[true,false,null]},\"c\":\"d\"}", "{k(a){k(b)[TFN]}k(c)s(d)}."},
	{"\"a\\\"b\\\\\"", "s(a\\\"b\\\\)."},
	{"{\"a\" : 1 , \"b\" : \"long enough to be read eight at a time\"}",
	 "{k(a)n(1)k(b)s(long enough to be read eight at a time)}."},
	/* not JSON */
	{"", "!"},
	{"{", "{!"},
	{"[1,]", "[n(1)!"},
	{"[1 2]", "[n(1)!"},
	{"{\"a\" 1}", "{k(a)!"},
	{"{\"a\":1,}", "{k(a)n(1)!"},
	{"{1:2}", "{!"},
	{"[}", "[!"},
	{"{]", "{!"},
	{"[\"a", "[!"},
	{"[01]", "[!"},
	{"[1.]", "[!"},
	{"[-]", "[!"},
	{"[1e]", "[!"},
	{"[nul]", "[!"},
	{"[True]", "[!"},
	{"]", "!"},
	{"[,1]", "[!"},
};

static void documents_are_told_as_they_are_however_they_are_cut(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (size_t step = 1; step <= 64; step++) {
			cleanup_free char *told = tell(cases[i].doc, step);

			if (!streq(told, cases[i].told))
				fail_msg("'%s' by %zu: '%s', not '%s'", cases[i].doc, step, told,
					 cases[i].told);
		}
}

static void what_is_skipped_is_not_told(void **state)
{
	static const char doc[] = "{\"a\":{\"x\":[1,{\"y\":2}]},\"b\":3,\"c\":[4,[5]],\"d\":\"e\"}";

	for (size_t step = 1; step < sizeof(doc); step++) {
		cleanup_buf struct buf b;
		enum jscan_token t = JSCAN_MORE;
		struct jscan j;

		buf_init(&b, KiB);
		jscan_init(&j);
		for (size_t at = 0; at < sizeof(doc) - 1 && t == JSCAN_MORE; at += step) {
			size_t left = sizeof(doc) - 1 - at, part = left < step ? left : step;

			jscan_feed(&j, doc + at, part, part == left);
			while ((t = jscan_next(&j)) > 0 && t != JSCAN_DONE) {
				(void)buf_printf(&b, "%d", (int)t);
				if (t == JSCAN_KEY)
					(void)buf_append(&b, j.text, j.len);
				if (t == JSCAN_KEY && (jscan_is(&j, "a") || jscan_is(&j, "b")))
					jscan_skip(&j);
				if (t == JSCAN_ARRAY)
					jscan_skip(&j);
			}
		}
		assert_int_equal(t, JSCAN_DONE);
		assert_string_equal(buf_str(&b), "15a5b5c35d62");
	}
}

static void depth_has_a_limit(void **state)
{
	char deep[JSCAN_DEPTH_MAX + 2];
	struct jscan j;
	enum jscan_token t;
	size_t n = 0;

	memset(deep, '[', sizeof(deep));
	jscan_init(&j);
	jscan_feed(&j, deep, sizeof(deep), true);
	while ((t = jscan_next(&j)) == JSCAN_ARRAY)
		n++;
	assert_int_equal(t, JSCAN_BAD);
	assert_int_equal(n, JSCAN_DEPTH_MAX);
	assert_int_equal(jscan_next(&j), JSCAN_BAD);
}

static void a_string_that_was_cut_is_held_in_part_and_says_so(void **state)
{
	char doc[2000];
	struct jscan j;

	memset(doc, 'x', sizeof(doc));
	doc[0] = doc[1999] = '"';
	jscan_init(&j);
	jscan_feed(&j, doc, 1000, false);
	assert_int_equal(jscan_next(&j), JSCAN_MORE);
	jscan_feed(&j, doc + 1000, 1000, true);
	assert_int_equal(jscan_next(&j), JSCAN_STRING);
	assert_true(j.cut);
	assert_int_equal(j.len, JSCAN_HELD_MAX);
	assert_false(jscan_is(&j, "x"));
	jscan_init(&j);
	jscan_feed(&j, doc, 2000, true);
	assert_int_equal(jscan_next(&j), JSCAN_STRING);
	assert_false(j.cut);
	assert_int_equal(j.len, 1998);
}

static void what_stands_behind_a_document_is_left(void **state)
{
	static const char two[] = "{\"a\":1} {\"b\":2}";
	struct jscan j;

	jscan_init(&j);
	jscan_feed(&j, two, sizeof(two) - 1, false);
	while (jscan_next(&j) != JSCAN_DONE)
		;
	assert_int_equal(jscan_left(&j), 7);
}

static void numbers_are_read_whole_or_not_at_all(void **state)
{
	static const struct {
		const char *text;
		int r;
		uint64_t v;
	} rows[] = {{"0", 0, 0},
		    {"18446744073709551615", 0, UINT64_MAX},
		    {"18446744073709551616", -ERANGE, 0},
		    {"-1", -EINVAL, 0},
		    {"1.5", -EINVAL, 0},
		    {"1e3", -EINVAL, 0}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t v = 0;
		struct jscan j;

		jscan_init(&j);
		jscan_feed(&j, rows[i].text, strlen(rows[i].text), true);
		assert_int_equal(jscan_next(&j), JSCAN_NUMBER);
		assert_int_equal(jscan_uint(&j, &v), rows[i].r);
		assert_true(v == rows[i].v);
	}
}

static void escapes_are_resolved(void **state)
{
	static const struct {
		const char *from, *to; /* to NULL: no escape */
	} rows[] = {
		{"plain", "plain"},
		{"a\\n\\t\\\"\\\\\\/\\b\\f\\r", "a\n\t\"\\/\b\f\r"},
		{"\\u0041\\u00e9\\u20ac", "A\xc3\xa9\xe2\x82\xac"},
		{"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
		{"\\ud83dx", "\xef\xbf\xbdx"},
		{"\\udc00", "\xef\xbf\xbd"},
		{"\\q", NULL},
		{"\\u12", NULL},
		{"\\u12g4", NULL},
		{"\\", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char out[64];
		ssize_t n = jscan_unescape(rows[i].from, strlen(rows[i].from), out);

		if (!rows[i].to) {
			assert_int_equal(n, -EINVAL);
			continue;
		}
		assert_int_equal(n, strlen(rows[i].to));
		assert_memory_equal(out, rows[i].to, (size_t)n);
	}
}

static void a_key_is_the_same_however_it_is_spelled(void **state)
{
	static const char doc[] = "{\"us\\u0061ge\":1}";
	struct jscan j;

	jscan_init(&j);
	jscan_feed(&j, doc, sizeof(doc) - 1, true);
	assert_int_equal(jscan_next(&j), JSCAN_OBJECT);
	assert_int_equal(jscan_next(&j), JSCAN_KEY);
	assert_true(jscan_is(&j, "usage"));
	assert_false(jscan_is(&j, "usag"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documents_are_told_as_they_are_however_they_are_cut),
		cmocka_unit_test(what_is_skipped_is_not_told),
		cmocka_unit_test(depth_has_a_limit),
		cmocka_unit_test(a_string_that_was_cut_is_held_in_part_and_says_so),
		cmocka_unit_test(what_stands_behind_a_document_is_left),
		cmocka_unit_test(numbers_are_read_whole_or_not_at_all),
		cmocka_unit_test(escapes_are_resolved),
		cmocka_unit_test(a_key_is_the_same_however_it_is_spelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
