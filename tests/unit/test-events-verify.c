/* Random logs, each harmed once in every way: `ralph events verify` finds it, and says where. */
#include "tests.h"

#include "events/events-verify.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/strv.h"

static uint32_t seed;

static uint32_t any(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

/* A log of n records, in memory, as one writes it. */
static struct head make_log(struct strv *lines, unsigned n)
{
	struct head h = {.first = 1};

	for (unsigned i = 0; i < n; i++) {
		cleanup_free char *body = NULL;
		char hash[CHAIN_HASH_LEN + 1];

		/* Some are equal but for their number. */
		body = xasprintf("{\"seq\":%u,\"time\":\"2026-01-31T12:00:00.000Z\",\"type\":\"%"
				 "s\",\"n\":%u",
				 i + 1, any(2) ? "net" : "exec", any(3));
		chain_of(h.last.hash, body, strlen(body), hash);
		strv_pushf(lines, "%s,\"chain\":\"%s\"}", body, hash);
		h.last.seq = i + 1;
		memcpy(h.last.hash, hash, sizeof(hash));
	}
	return h;
}

static struct verify check(const struct strv *lines, const struct head *h)
{
	struct verify v;

	verify_init(&v, h);
	for (size_t i = 0; i < lines->n && !v.broken; i++) {
		const struct events_line l = {
			.text = lines->v[i], .n = strlen(lines->v[i]), .number = (unsigned)i + 1};

		(void)verify_line(&v, &l);
	}
	verify_end(&v);
	verify_done(&v);
	return v;
}

static void copy(const struct strv *from, struct strv *to)
{
	for (size_t i = 0; i < from->n; i++)
		strv_push(to, from->v[i]);
}

static void swap(struct strv *l, size_t a, size_t b)
{
	char *t = l->v[a];

	l->v[a] = l->v[b];
	l->v[b] = t;
}

static void drop(struct strv *l, size_t i)
{
	free(l->v[i]);
	memmove(l->v + i, l->v + i + 1, (l->n - i) * sizeof(*l->v)); /* and the NULL */
	l->n--;
}

static void put_in(struct strv *l, size_t at, const char *text)
{
	strv_push(l, text);
	for (size_t i = l->n - 1; i > at; i--)
		swap(l, i, i - 1);
}

typedef void harm_fn(struct strv *l, size_t i);

/* One byte of it, anywhere, becomes another that could stand there. */
static void change(struct strv *l, size_t i)
{
	char *p = &l->v[i][any((uint32_t)strlen(l->v[i]))], old = *p;

	while (*p == old)
		*p = "0123456789abcdef{}\",:x"[any(22)];
}

static void repeat(struct strv *l, size_t i)
{
	cleanup_free char *text = xstrdup(l->v[i]);

	put_in(l, i + any((uint32_t)(l->n - i)), text);
}

/* With the right number, and a chain made from what stands before it. */
static void forge_in(struct strv *l, size_t i)
{
	struct chain_record before = {0};
	cleanup_free char *body = NULL, *text = NULL;
	char hash[CHAIN_HASH_LEN + 1];

	if (i > 0)
		assert_true(chain_split(l->v[i - 1], strlen(l->v[i - 1]), &before));
	body = xasprintf("{\"seq\":%zu,\"time\":\"x\",\"type\":\"forged\"", i + 1);
	chain_of(before.hash, body, strlen(body), hash);
	text = xasprintf("%s,\"chain\":\"%s\"}", body, hash);
	put_in(l, i, text);
}

/* In the place of another, and well chained to what is before it. */
static void forge_over(struct strv *l, size_t i)
{
	forge_in(l, i);
	drop(l, i + 1);
}

static void garbage(struct strv *l, size_t i)
{
	put_in(l, i, any(2) ? "" : "{\"seq\":");
}

static void move(struct strv *l, size_t i)
{
	size_t to = any((uint32_t)l->n);

	if (to == i)
		to = i ? 0 : l->n - 1;
	for (; i < to; i++)
		swap(l, i, i + 1);
	for (; i > to; i--)
		swap(l, i, i - 1);
}

static void truncate_here(struct strv *l, size_t i)
{
	while (l->n > i)
		drop(l, l->n - 1);
}

static void every_single_harm_is_found(void **state)
{
	static const struct {
		const char *name;
		harm_fn *fn;
	} harms[] = {{"changed", change},  {"dropped", drop},	      {"repeated", repeat},
		     {"put in", forge_in}, {"replaced", forge_over},  {"garbage", garbage},
		     {"moved", move},	   {"cut off", truncate_here}};

	for (unsigned round = 0; round < 60; round++) {
		cleanup_strv struct strv lines = {0};
		struct head h;
		unsigned n;

		seed = round * 7919 + 1;
		n = 2 + any(30);
		h = make_log(&lines, n);
		assert_false(check(&lines, &h).broken);
		for (size_t k = 0; k < ARRAY_SIZE(harms); k++)
			for (size_t i = 0; i < n; i++) {
				cleanup_strv struct strv harmed = {0};

				copy(&lines, &harmed);
				harms[k].fn(&harmed, i);
				if (!check(&harmed, &h).broken)
					fail_msg("round %u: record %zu %s, and not found", round,
						 i + 1, harms[k].name);
			}
	}
}

static void first_wrong_record_is_named(void **state)
{
	for (size_t i = 0; i < 9; i++) {
		cleanup_strv struct strv lines = {0}, changed = {0}, dropped = {0}, forged = {0};
		char number[32];
		struct head h;
		struct verify v;

		h = make_log(&lines, 9);
		(void)snprintf(number, sizeof(number), ":%zu", i + 1);
		copy(&lines, &changed);
		changed.v[i][30] ^= 1;
		v = check(&changed, &h);
		assert_int_equal(v.at, i + 1);
		assert_non_null(strstr(v.where, number));
		assert_non_null(strstr(v.how, "was changed"));
		copy(&lines, &dropped);
		drop(&dropped, i);
		v = check(&dropped, &h);
		assert_int_equal(v.at, i == 8 ? 9 : i + 1);
		assert_non_null(strstr(v.how, "missing"));
		copy(&lines, &forged);
		put_in(&forged, i, "{\"seq\":1,\"x\":1");
		free(forged.v[i]);
		forged.v[i] = xstrdup(lines.v[i]);
		forged.v[i][30] ^= 1;
		v = check(&forged, &h);
		assert_int_equal(v.at, i + 1);
		assert_non_null(strstr(v.how, "put in"));
	}
}

/* Whoever can write the log can make a new chain, but not without the head knowing. */
static void log_that_was_written_anew_is_found_by_its_head(void **state)
{
	cleanup_strv struct strv lines = {0}, other = {0};
	struct head h;

	seed = 1;
	h = make_log(&lines, 8);
	seed = 2;
	(void)make_log(&other, 8);
	assert_true(check(&other, &h).broken);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_single_harm_is_found),
		cmocka_unit_test(first_wrong_record_is_named),
		cmocka_unit_test(log_that_was_written_anew_is_found_by_its_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
