/*
 * Nothing that a sandbox sees of an answer tells it a part of the secret: bodies that hold every
 * beginning of one secret are scrubbed for that one and for another of the same shape, cut at every
 * place, in every spelling. What goes, when, and in which lengths, must be equal.
 */
#include "tests.h"

#include "gateway/parse/scrub.h"
#include "spell.h"

static const char *const tokens[] = {"sk-test-Zz0PqL3v9XkR7_mW2nB4cD6eF8gH1jK5",
				     "sk-test-a8Hy5TgB6rFv4EdC3wSx2Qaz1NhY7_uJ"};
static const char *const phrases[] = {"correct \"horse\" battery, staples",
				      "harmful (boxes) nowhere; appears"};

/* The lengths that go with each piece, and the bytes. */
struct trace {
	struct buf lengths, bytes;
};

static void trace_init(struct trace *t)
{
	buf_init(&t->lengths, MiB);
	buf_init(&t->bytes, MiB);
}

static void trace_done(struct trace *t)
{
	buf_done(&t->lengths);
	buf_done(&t->bytes);
}

static void put_piece(struct scrub *s, const char *p, size_t n, bool over, struct trace *t)
{
	cleanup_free char *copy = xmalloc(n + 1);
	struct slice before, after;
	size_t len;

	memcpy(copy, p, n);
	scrub_run(s, copy, n, over, &before, &after);
	len = before.n + after.n;
	(void)buf_append(&t->lengths, &len, sizeof(len));
	(void)buf_append(&t->bytes, before.p, before.n);
	(void)buf_append(&t->bytes, after.p, after.n);
}

/* In pieces of `step` bytes after a first one of `cut`. */
static void trace_of(struct needles *n, const struct buf *body, size_t cut, size_t step,
		     struct trace *t)
{
	struct scrub s;

	scrub_init(&s, n);
	put_piece(&s, body->data, cut, cut == body->len, t);
	for (size_t at = cut; at < body->len;) {
		size_t part = body->len - at < step ? body->len - at : step;

		at += part;
		put_piece(&s, body->data + at - part, part, at == body->len, t);
	}
	scrub_done(&s);
}

static bool same(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* Only where all of the secret is there may the bytes differ, and there they must. */
static void compare(struct needles *const n[2], const struct buf *body, size_t cut, size_t step,
		    bool whole, const char *name)
{
	struct trace t[2];

	for (size_t i = 0; i < 2; i++) {
		trace_init(&t[i]);
		trace_of(n[i], body, cut, step, &t[i]);
	}
	if (!same(&t[0].lengths, &t[1].lengths))
		fail_msg("%s: '%.*s' cut at %zu: other lengths", name, (int)body->len, body->data,
			 cut);
	if (same(&t[0].bytes, &t[1].bytes) == whole)
		fail_msg("%s: '%.*s' cut at %zu: %s", name, (int)body->len, body->data, cut,
			 whole ? "not found" : "other bytes");
	for (size_t i = 0; i < 2; i++)
		trace_done(&t[i]);
}

static void try_beginning(struct needles *const n[2], const struct spelling *sp, const char *secret,
			  size_t len, const char *after)
{
	cleanup_buf struct buf body;
	bool whole = len == strlen(secret);

	buf_init(&body, MiB);
	(void)buf_puts(&body, "{\"text\":\"");
	if (len)
		sp->put(&body, secret, len);
	(void)buf_puts(&body, after);
	for (size_t cut = 0; cut <= body.len; cut++)
		compare(n, &body, cut, body.len, whole, sp->name);
	compare(n, &body, 0, 1, whole, sp->name);
}

static void try_all(const char *const secrets[2])
{
	struct needles *n[2] = {needles_new(&secrets[0], 1), needles_new(&secrets[1], 1)};
	size_t longest = strlen(secrets[0]);

	assert_int_equal(longest, strlen(secrets[1]));
	for (size_t i = 0; i < n_spellings; i++)
		for (size_t len = 0; len <= longest; len++) {
			try_beginning(n, &spellings[i], secrets[0], len, "");
			try_beginning(n, &spellings[i], secrets[0], len, "\"}\n\n");
		}
	(void)needles_unref(n[0]);
	(void)needles_unref(n[1]);
}

static void a_beginning_of_a_token_is_treated_as_any_other_text(void **state)
{
	try_all(tokens);
}

static void a_beginning_of_a_pass_phrase_is_treated_as_any_other_text(void **state)
{
	try_all(phrases);
}

/* The end of a secret, and its middle, are no more than its beginning. */
static void no_part_of_a_token_is_treated_otherwise(void **state)
{
	struct needles *n[2] = {needles_new(&tokens[0], 1), needles_new(&tokens[1], 1)};
	size_t longest = strlen(tokens[0]);
	cleanup_buf struct buf body;

	buf_init(&body, MiB);
	for (size_t from = longest - NEEDLE_CORE + 1; from < longest; from++)
		for (size_t cut = 0; cut < longest; cut++) {
			buf_clear(&body);
			(void)buf_printf(&body, "%s.%.*s", tokens[0] + from, (int)cut, tokens[0]);
			compare(n, &body, cut, 1 + from % 7, false, "a part");
		}
	(void)needles_unref(n[0]);
	(void)needles_unref(n[1]);
}

/* Stretches that are longer than what may wait: right up to the limits, and past them. */
static void a_beginning_in_a_long_stretch_is_treated_as_any_other_text(void **state)
{
	struct needles *n[2] = {needles_new(&tokens[0], 1), needles_new(&tokens[1], 1)};
	static char long_one[3 * SPELLED_MAX];
	cleanup_buf struct buf body;

	memset(long_one, 'x', sizeof(long_one));
	buf_init(&body, MiB);
	for (size_t i = 0; i < n_spellings; i++)
		for (size_t before = 0; before <= sizeof(long_one);
		     before += SPELLED_MAX / 2 - 20) {
			buf_clear(&body);
			(void)buf_append(&body, long_one, before);
			spellings[i].put(&body, tokens[0], strlen(tokens[0]) - 2);
			compare(n, &body, before, 900, false, spellings[i].name);
			compare(n, &body, body.len, 1, false, spellings[i].name);
		}
	(void)needles_unref(n[0]);
	(void)needles_unref(n[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_beginning_of_a_token_is_treated_as_any_other_text),
		cmocka_unit_test(a_beginning_of_a_pass_phrase_is_treated_as_any_other_text),
		cmocka_unit_test(no_part_of_a_token_is_treated_otherwise),
		cmocka_unit_test(a_beginning_in_a_long_stretch_is_treated_as_any_other_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
