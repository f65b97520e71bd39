/*
 * guard-bench ROUNDS TURNS: how long the response guard takes for a piece of an answer, in ns, one
 * line a round. A piece holds all but the last character of a token: while the secret is this token,
 * while it is another of the same shape, and both again in base64. Then an event, a KiB of JSON with
 * identifiers and addresses, and a KiB of base64.
 */
#include "gateway/parse/scrub.h"

#include <stdio.h>
#include <time.h>

#include "base/parse.h"
#include "base/text/base64.h"

#define SECRET "sk-bench-Zz0PqL3v9XkR7_mW2nB4cD6eF8gH1jK5yGtU7RiOp_AsDf3GhJkL9ZxCvBn4Mq2"
#define OTHER "sk-bench-a8Hy5TgB6rFv4EdC3wSx2Qaz1NhY7_uJm3Kl8OpWqEr_Ty6UiPa0SdFgHj5Kl1Z"
#define KINDS 7

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* All but the last byte, spelled or not, and then a byte that ends the stretch. */
static void put_guess(struct buf *b, const char *secret, bool spelled)
{
	size_t n = strlen(secret) - 1;

	(void)buf_puts(b, "data: {\"text\": \"");
	if (spelled)
		base64_put(b, secret, n);
	else
		(void)buf_append(b, secret, n);
	(void)buf_puts(b, "\"}\n\n");
}

static void make(struct buf pieces[KINDS])
{
	for (size_t i = 0; i < KINDS; i++)
		buf_init(&pieces[i], MiB);
	put_guess(&pieces[0], SECRET, false);
	put_guess(&pieces[1], SECRET, false);
	put_guess(&pieces[2], SECRET, true);
	put_guess(&pieces[3], SECRET, true);
	(void)buf_puts(&pieces[4],
		       "event: content_block_delta\ndata: {\"type\":\"content_block_delta\","
		       "\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" hello\"}}\n\n");
	while (pieces[5].len < KiB)
		(void)buf_printf(
			&pieces[5],
			"{\"id\":\"msg_01XFDUDYJgAACzvnptVUeFkw\",\"url\":\"https://example.com/"
			"repos/one/two/issues/%zu\",\"title\":\"what is said of it\"},",
			pieces[5].len);
	while (pieces[6].len < KiB)
		base64_put(&pieces[6], &(OTHER SECRET)[pieces[6].len % 16], 48);
}

static double time_of(struct scrub *s, const struct buf *piece, char *copy)
{
	struct slice before, after;
	double start;

	memcpy(copy, piece->data, piece->len);
	start = now();
	scrub_run(s, copy, piece->len, true, &before, &after);
	return now() - start;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The medians of one round; s[1] looks for the other secret. */
static void measure(struct scrub s[2], const struct buf pieces[KINDS], size_t turns, double *times)
{
	static char copy[4 * KiB];

	for (size_t t = 0; t < turns; t++)
		for (size_t k = 0; k < KINDS; k++) {
			/* In another order each time: none always follows the same one. */
			size_t i = (k * (1 + t % (KINDS - 1)) + t) % KINDS;

			times[i * turns + t] = time_of(&s[i == 1 || i == 3], &pieces[i], copy);
		}
	for (size_t i = 0; i < KINDS; i++) {
		qsort(times + i * turns, turns, sizeof(*times), compare);
		(void)printf("%.1f%c", times[i * turns + turns / 2], i + 1 < KINDS ? ' ' : '\n');
	}
}

int main(int argc, char **argv)
{
	static const char *const secrets[] = {SECRET, OTHER};
	cleanup_free double *times = NULL;
	struct buf pieces[KINDS];
	uint64_t rounds, turns;
	struct scrub s[2];

	if (argc != 3 || parse_uint(argv[1], 1, 1000, &rounds) < 0 ||
	    parse_uint(argv[2], 1, 1000000, &turns) < 0)
		return 2;
	times = xcalloc(KINDS * turns, sizeof(*times));
	make(pieces);
	for (size_t i = 0; i < 2; i++)
		scrub_init(&s[i], needles_new(&secrets[i], 1));
	for (uint64_t r = 0; r < rounds; r++)
		measure(s, pieces, turns, times);
	return 0;
}
