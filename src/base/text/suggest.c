#include "base/text/suggest.h"

#include <string.h>

#include "base/mem.h"

/* Longer words are not typing mistakes; this also bounds the work a hostile file can cause. */
#define WORD_MAX 64

static size_t min2(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Optimal string alignment: three rows of the usual table. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t rows[3][WORD_MAX + 1];
	size_t *before = rows[0], *prev = rows[1], *cur = rows[2];

	for (size_t j = 0; j <= nb; j++)
		prev[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *spare = before;

		cur[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			cur[j] = min2(min2(prev[j], cur[j - 1]) + 1,
				      prev[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				cur[j] = min2(cur[j], before[j - 2] + 1);
		}
		before = prev;
		prev = cur;
		cur = spare;
	}
	return prev[nb];
}

const char *suggest(const char *word, const char *const *candidates, size_t n)
{
	size_t len = strnlen(word, WORD_MAX + 1);
	const char *best = NULL;
	/* A third of the word may be wrong, never more than three letters of it. */
	size_t limit = min2(len < 4 ? 1 : (len + 2) / 3, 3) + 1;

	if (len == 0 || len > WORD_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t n_cand = strnlen(candidates[i], WORD_MAX + 1);
		size_t d;

		if (n_cand > WORD_MAX)
			continue;
		d = distance(word, len, candidates[i], n_cand);
		if (d < limit && d < n_cand) {
			limit = d;
			best = candidates[i];
		}
	}
	return best;
}
