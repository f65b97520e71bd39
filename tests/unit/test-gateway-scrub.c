#include "tests.h"

#include "base/buf.h"
#include "gateway/parse/scrub.h"

#include <string.h>

static const char *const secrets[] = {"sk-test-ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
				      "AQoDYXdzE+/=Jr<1>\"quoted\"/token"};

/* What comes out when `text` comes in pieces of `step` bytes. */
static char *scrubbed(struct needles *n, const char *text, size_t len, size_t step, uint32_t *count)
{
	struct scrub s;
	struct buf out;

	buf_init(&out, 4 * MiB);
	scrub_init(&s, n);
	for (size_t at = 0; at < len;) {
		size_t part = len - at < step ? len - at : step;
		/* A copy of its own: a sanitizer sees what is read behind it. */
		cleanup_free char *piece = xmalloc(part);
		struct slice before;
		size_t may;

		memcpy(piece, text + at, part);
		at += part;
		may = scrub_run(&s, piece, part, at == len, &before);
		(void)buf_append(&out, before.p ? before.p : "", before.n);
		(void)buf_append(&out, piece, may);
	}
	*count = s.count;
	scrub_done(&s);
	assert_int_equal(out.len, len);
	return buf_take(&out);
}

/* Of the text before + secret + after, nothing but the secret becomes stars. */
static void must_go(const char *before, const char *secret, const char *after)
{
	struct needles *n = needles_new(secrets, 2);
	cleanup_free char *text = xasprintf("%s%s%s", before, secret, after);
	size_t len = strlen(text), b = strlen(before), l = strlen(secret);

	for (size_t step = 1; step <= len; step++) {
		uint32_t count;
		cleanup_free char *out = scrubbed(n, text, len, step, &count);

		if (count != 1 || memcmp(out, before, b) != 0 || strspn(out + b, "*") != l ||
		    strcmp(out + b + l, after) != 0)
			fail_msg("'%s' by %zu became '%s' (%u)", text, step, out, count);
	}
	(void)needles_unref(n);
}

static void a_secret_is_replaced_wherever_the_pieces_are_cut(void **state)
{
	must_go("", secrets[0], "");
	must_go("{\"token\":\"", secrets[0], "\"}");
	must_go("sk-test-sk-test-ABC ", secrets[0], "sk-test-");
	must_go("x", secrets[1], "y");
}

static void a_secret_in_base64_is_replaced_at_each_of_its_places(void **state)
{
	/* "sk-test-ABC…" behind none, one, and two bytes; what is left holds bits of others. */
	must_go("", "c2stdGVzdC1BQkNERUZHSElKS0xNTk9QUVJTVFVWV1hZWjAxMjM0NTY3OD", "k=");
	must_go("eH", "NrLXRlc3QtQUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVowMTIzNDU2Nzg5", "");
	must_go("eHl", "zay10ZXN0LUFCQ0RFRkdISUpLTE1OT1BRUlNUVVZXWFlaMDEyMzQ1Njc4O", "Q==");
}

static void a_secret_escaped_for_a_url_is_replaced(void **state)
{
	must_go("?t=", "AQoDYXdzE%2B%2F%3DJr%3C1%3E%22quoted%22%2Ftoken", "&x");
	must_go("?t=", "AQoDYXdzE%2b%2f%3dJr%3c1%3e%22quoted%22%2ftoken", "&x");
}

static void a_secret_escaped_for_json_is_replaced(void **state)
{
	must_go("\"", "AQoDYXdzE+/=Jr<1>\\\"quoted\\\"/token", "\"");
	must_go("\"", "AQoDYXdzE+\\/=Jr<1>\\\"quoted\\\"\\/token", "\"");
}

static void what_is_no_secret_is_left_alone(void **state)
{
	static const char *const texts[] = {
		"data: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"hello\"}}\n\n",
		"sk-test-ABCDEFGHIJKLMNOPQRSTUVWXYZ012345678",
		"sk-test-sk-test-sk-test-sk-test-sk-test-",
		"",
	};
	struct needles *n = needles_new(secrets, 2);

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		for (size_t step = 1; step < 80; step++) {
			uint32_t count;
			size_t len = strlen(texts[i]);
			cleanup_free char *out = scrubbed(n, texts[i], len, step, &count);

			assert_int_equal(count, 0);
			if (len)
				assert_memory_equal(out, texts[i], len);
		}
	(void)needles_unref(n);
}

static void only_the_beginning_of_a_secret_waits(void **state)
{
	struct needles *n = needles_new(secrets, 2);
	char event[] = "data: {\"text\":\"sk-test\"}\n\n", begun[] = "so far sk-test-ABC";
	struct slice before;
	struct scrub s;

	scrub_init(&s, n);
	assert_int_equal(scrub_run(&s, event, sizeof(event) - 1, false, &before),
			 sizeof(event) - 1);
	assert_int_equal(scrub_run(&s, begun, sizeof(begun) - 1, false, &before), 7);
	assert_int_equal(before.n, 0);
	/* It was none: it goes before the next piece. */
	assert_int_equal(scrub_run(&s, event, 1, false, &before), 0);
	assert_int_equal(before.n, 12);
	assert_memory_equal(before.p, "sk-test-ABCd", 12);
	scrub_done(&s);
	(void)needles_unref(n);
}

static void secrets_that_overlap_go_both(void **state)
{
	static const char *const two[] = {"0123456789abcdef", "abcdefghijklmnop"};
	struct needles *n = needles_new(two, 2);
	uint32_t count;
	cleanup_free char *out = scrubbed(n, "<0123456789abcdefghijklmnop>", 28, 28, &count);

	assert_string_equal(out, "<**************************>");
	(void)needles_unref(n);
}

static void many_secrets_in_one_piece_all_go(void **state)
{
	struct needles *n = needles_new(secrets, 2);
	cleanup_buf struct buf b;

	buf_init(&b, 4 * MiB);
	for (int i = 0; i < 1000; i++)
		(void)buf_printf(&b, "%d:%s,", i, secrets[i % 2]);
	for (size_t step = 1000; step < b.len; step += 9973) {
		uint32_t count;
		cleanup_free char *out = scrubbed(n, b.data, b.len, step, &count);

		assert_int_equal(count, 1000);
		assert_null(strstr(out, "sk-test"));
		assert_null(strstr(out, "quoted"));
	}
	(void)needles_unref(n);
}

static void what_is_too_short_is_not_looked_for(void **state)
{
	static const char *const few[] = {"short", ""};

	assert_null(needles_new(few, 2));
	assert_null(needles_new(NULL, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_secret_is_replaced_wherever_the_pieces_are_cut),
		cmocka_unit_test(a_secret_in_base64_is_replaced_at_each_of_its_places),
		cmocka_unit_test(a_secret_escaped_for_a_url_is_replaced),
		cmocka_unit_test(a_secret_escaped_for_json_is_replaced),
		cmocka_unit_test(what_is_no_secret_is_left_alone),
		cmocka_unit_test(only_the_beginning_of_a_secret_waits),
		cmocka_unit_test(secrets_that_overlap_go_both),
		cmocka_unit_test(many_secrets_in_one_piece_all_go),
		cmocka_unit_test(what_is_too_short_is_not_looked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
