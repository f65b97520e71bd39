#include "tests.h"

#include "base/text/spelling.h"
#include "gateway/parse/scrub.h"
#include "spell.h"

static const char *const token = "sk-test-Zz0PqL3v9XkR7_mW2nB4cD6eF8gH1jK5";
static const char *const phrase = "AQoDYXdzE+/=Jr<1>\"quoted\"/token";

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
		struct slice before, after;

		memcpy(piece, text + at, part);
		at += part;
		scrub_run(&s, piece, part, at == len, &before, &after);
		(void)buf_append(&out, before.p, before.n);
		(void)buf_append(&out, after.p, after.n);
	}
	*count = s.count;
	scrub_done(&s);
	assert_int_equal(out.len, len);
	return buf_take(&out);
}

/* Of the text before + secret + after, nothing but the secret becomes stars. */
static void must_go(const char *of, const char *before, const char *secret, const char *after)
{
	struct needles *n = needles_new(&of, 1);
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
	must_go(token, "", token, "");
	must_go(token, "{\"token\":\"", token, "\"}");
	must_go(token, "sk-test-sk-test-Zz0 ", token, "sk-test-");
	must_go(token, "url?key=", token, "&more=1");
	must_go(phrase, "x", phrase, "y");
	must_go(phrase, "{\"text\": ", phrase, "}\n");
}

/* Stars and line breaks are all that is left of b between what stands around it. */
static void must_be_gone(struct needles *n, const struct buf *b, size_t step, const char *name)
{
	static const char before[] = "data: (", after[] = ")\n\n";
	cleanup_buf struct buf text;
	cleanup_free char *out = NULL;
	uint32_t count;
	size_t left = 0;

	buf_init(&text, MiB);
	(void)buf_puts(&text, before);
	(void)buf_append(&text, b->data, b->len);
	(void)buf_puts(&text, after);
	out = scrubbed(n, text.data, text.len, step, &count);
	for (size_t i = 0; i < b->len; i++)
		left += !strchr("*\r\n", out[sizeof(before) - 1 + i]);
	if (left || memcmp(out, before, sizeof(before) - 1) != 0 ||
	    memcmp(out + text.len - sizeof(after) + 1, after, sizeof(after) - 1) != 0)
		fail_msg("%s by %zu became '%s'", name, step, out);
}

static void every_spelling_and_any_two_of_them_are_found(void **state)
{
	static const size_t steps[] = {1, 61, 100000};
	struct needles *n = needles_new(&token, 1);

	for (size_t i = 0; i < n_spellings * n_spellings; i++) {
		const struct spelling *outer = &spellings[i / n_spellings],
				      *inner = &spellings[i % n_spellings];
		cleanup_buf struct buf b = spell_twice(outer, inner, token, strlen(token));
		cleanup_free char *name = xasprintf("%s of %s", outer->name, inner->name);

		for (size_t k = 0; k < ARRAY_SIZE(steps); k++)
			must_be_gone(n, &b, steps[k], name);
	}
	(void)needles_unref(n);
}

/* The stretch of a pass phrase is its line, so more than the phrase goes. */
static void a_pass_phrase_is_found_in_every_spelling(void **state)
{
	struct needles *n = needles_new(&phrase, 1);

	for (size_t i = 0; i < n_spellings; i++) {
		cleanup_buf struct buf b, text;
		cleanup_free char *out = NULL;
		uint32_t count;

		buf_init(&b, MiB);
		buf_init(&text, MiB);
		spellings[i].put(&b, phrase, strlen(phrase));
		(void)buf_printf(&text, "one\ntwo ");
		(void)buf_append(&text, b.data, b.len);
		(void)buf_printf(&text, " three\n\nfour");
		out = scrubbed(n, text.data, text.len, 11, &count);
		if (count != 1 || memmem(out, text.len, b.data, b.len) || strncmp(out, "one\n", 4))
			fail_msg("%s became '%s'", spellings[i].name, out);
	}
	(void)needles_unref(n);
}

static void escapes_that_are_cut_by_a_stretch_stay_whole(void **state)
{
	cleanup_buf struct buf b;

	buf_init(&b, MiB);
	spellings[1].put(&b, token, strlen(token));
	must_go(token, "\"{\\\"auth\\\":\\\"", buf_str(&b), "\\\"}\"");
}

static void what_is_no_secret_is_left_alone(void **state)
{
	static const char *const texts[] = {
		"data: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"hello\"}}\n\n",
		"sk-test-Zz0PqL3v9XkR7_mW2nB4cD6eF8gH1jK",
		"sk-test-sk-test-sk-test-sk-test-sk-test-",
		"c2stdGVzdC1aejBQcUwzdjlYa1I3X21XMm5CNGNENmVGOGdIMWpL\n%%%\\\\\\&&&#&#;&#x;"
		"\\u\\u00",
		"",
	};
	struct needles *n = needles_new(&token, 1);

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

/* Gives a piece: how much goes now. */
static size_t goes(struct scrub *s, const char *text, size_t n)
{
	cleanup_free char *p = xstrndup(text, n);
	struct slice before, after;

	scrub_run(s, p, n, false, &before, &after);
	return before.n + after.n;
}

static void events_and_lines_are_never_late(void **state)
{
	static const char *const pieces[] = {
		"event: content_block_delta\ndata: {\"text\":\"sk-test\"}\n\n",
		"{\"type\":\"item.completed\"}\n",
		"data: [DONE]\n\n",
		"[{\"a\": 1}\n,",
		": ping\n\n",
		"id: 0123456789012345678901234567890123456789012345678901234567890123\n\n",
	};
	const char *const secrets[] = {token, phrase};

	for (size_t k = 0; k < 2; k++) {
		struct needles *n = needles_new(&secrets[k], 1);
		struct scrub s;

		scrub_init(&s, n);
		for (size_t i = 0; i < ARRAY_SIZE(pieces); i++)
			if (k == 0 || pieces[i][strlen(pieces[i]) - 1] == '\n')
				assert_int_equal(goes(&s, pieces[i], strlen(pieces[i])),
						 strlen(pieces[i]));
		scrub_done(&s);
		(void)needles_unref(n);
	}
}

static void a_stretch_waits_until_it_is_over_and_not_longer_than_allowed(void **state)
{
	static char x[3 * SPELLED_MAX];
	struct needles *n = needles_new(&token, 1);
	struct scrub s;

	memset(x, 'x', sizeof(x));
	scrub_init(&s, n);
	assert_int_equal(goes(&s, "so far hel", 10), 7);
	assert_int_equal(goes(&s, "lo", 2), 0);
	assert_int_equal(goes(&s, " w", 2), 6);
	/* One more than a stretch may have, with the "w". */
	assert_int_equal(goes(&s, x, 2 * SPELLED_MAX - 2), 0);
	assert_int_equal(goes(&s, x, 1), SPELLED_MAX);
	assert_int_equal(goes(&s, x, sizeof(x)), sizeof(x));
	assert_int_equal(goes(&s, " ", 1), SPELLED_MAX + 1);
	scrub_done(&s);
	(void)needles_unref(n);
}

static void of_a_longer_secret_the_end_never_passes(void **state)
{
	char secret[3 * SPELLED_MAX + 1];
	const char *p = secret;
	struct needles *n;
	uint32_t count;
	cleanup_free char *by_one = NULL, *at_once = NULL;

	for (size_t i = 0; i < sizeof(secret) - 1; i++)
		secret[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[i * i % 97 % 36];
	secret[sizeof(secret) - 1] = '\0';
	n = needles_new(&p, 1);
	by_one = scrubbed(n, secret, strlen(secret), 1, &count);
	at_once = scrubbed(n, secret, strlen(secret), sizeof(secret), &count);
	assert_int_equal(strspn(at_once, "*"), strlen(secret));
	assert_true(strspn(by_one + 2 * SPELLED_MAX, "*") == SPELLED_MAX);
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
	const char *const secrets[] = {token, phrase};
	struct needles *n = needles_new(secrets, 2);
	cleanup_buf struct buf b;

	buf_init(&b, 4 * MiB);
	for (int i = 0; i < 1000; i++)
		(void)buf_printf(&b, "%d:%s,\n", i, secrets[i % 2]);
	for (size_t step = 1000; step < b.len; step += 9973) {
		uint32_t count;
		cleanup_free char *out = scrubbed(n, b.data, b.len, step, &count);

		assert_int_equal(count, 1000);
		assert_null(strstr(out, "sk-test"));
		assert_null(strstr(out, "quoted"));
	}
	(void)needles_unref(n);
}

static void a_field_of_a_head_does_not_take_the_next_one_with_it(void **state)
{
	struct needles *n = needles_new(&token, 1);
	cleanup_buf struct buf b;
	struct scrub s;

	buf_init(&b, MiB);
	(void)buf_puts(&b, "x-echo: ");
	spellings[1].put(&b, token, strlen(token));
	(void)buf_puts(&b, "\r\nContent-Length: 12\r\n");
	scrub_init(&s, n);
	scrub_text(&s, b.data, b.len);
	assert_int_equal(s.count, 1);
	assert_null(strstr(buf_str(&b), "736b2d"));
	assert_non_null(strstr(buf_str(&b), "x-echo: *"));
	assert_non_null(strstr(buf_str(&b), "*\r\nContent-Length: 12\r\n"));
	scrub_done(&s);
	(void)needles_unref(n);
}

static void of_a_secret_in_lines_the_longest_is_found(void **state)
{
	static const char *const key = "-----BEGIN-----\n0123456789abcdefghij\nshort\n";
	struct needles *n = needles_new(&key, 1);
	uint32_t count;
	cleanup_free char *out = scrubbed(n, key, strlen(key), 5, &count);

	assert_string_equal(out, "-----BEGIN-----\n********************\nshort\n");
	(void)needles_unref(n);
}

static void what_is_too_short_is_not_looked_for(void **state)
{
	static const char *const few[] = {"short", ""};

	assert_null(needles_new(few, 2));
	assert_null(needles_new(NULL, 0));
}

/* A secret that is no ASCII is found too where a server shows it as JSON, HTML or in a URL. */
static void escapes_stand_for_any_character(void **state)
{
	static const struct {
		char escape;
		const char *spelled, *is;
	} rows[] = {
		{'\\', "caf\\u00e9", "caf\xc3\xa9"}, {'\\', "\\u20ac", "\xe2\x82\xac"},
		{'\\', "a\\r\\t\\nb", "a\r\t\nb"},   {'&', "caf&#xe9;", "caf\xc3\xa9"},
		{'&', "&#8364;", "\xe2\x82\xac"},    {'%', "caf%C3%A9", "caf\xc3\xa9"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char out[64];
		size_t n = spelling_unescape(rows[i].spelled, strlen(rows[i].spelled),
					     rows[i].escape, out);

		assert_int_equal(n, strlen(rows[i].is));
		assert_memory_equal(out, rows[i].is, n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escapes_stand_for_any_character),
		cmocka_unit_test(a_secret_is_replaced_wherever_the_pieces_are_cut),
		cmocka_unit_test(every_spelling_and_any_two_of_them_are_found),
		cmocka_unit_test(a_pass_phrase_is_found_in_every_spelling),
		cmocka_unit_test(escapes_that_are_cut_by_a_stretch_stay_whole),
		cmocka_unit_test(what_is_no_secret_is_left_alone),
		cmocka_unit_test(events_and_lines_are_never_late),
		cmocka_unit_test(a_stretch_waits_until_it_is_over_and_not_longer_than_allowed),
		cmocka_unit_test(of_a_longer_secret_the_end_never_passes),
		cmocka_unit_test(secrets_that_overlap_go_both),
		cmocka_unit_test(many_secrets_in_one_piece_all_go),
		cmocka_unit_test(a_field_of_a_head_does_not_take_the_next_one_with_it),
		cmocka_unit_test(of_a_secret_in_lines_the_longest_is_found),
		cmocka_unit_test(what_is_too_short_is_not_looked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
