#include "fuzz.h"

#include "transcript/text-filter.h"

#include <stdlib.h>
#include <string.h>

/* One value is a word, the other is not. */
static const char *const values[] = {"Zz0PqL3v9XkR", "two words, 9!"};

static void append(void *arg, const char *p, size_t n)
{
	if (buf_append(arg, p, n) < 0)
		abort();
}

static void filter(const struct known *known, const char *p, size_t n, size_t step, struct buf *ret)
{
	struct tr_filter f;

	tr_filter_init(&f, known);
	buf_init(ret, TR_FILTERED(n) + 64);
	tr_filter_begin(&f, append, ret);
	for (size_t at = 0; at < n; at += step)
		tr_filter_put(&f, p + at, n - at < step ? n - at : step);
	tr_filter_end(&f);
	if (n && tr_filter_tail(&f, p, n) > n)
		abort();
	tr_filter_done(&f);
}

/* No known value passes, whatever stands around it, and the pieces of a text change nothing. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct known known;
	struct buf whole, pieces;

	if (!known.n)
		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
			if ((i == 0 && known_init(&known) < 0) || !known_add(&known, values[i]))
				abort();
	if (size < 2)
		return 0;
	filter(&known, (const char *)data + 1, size - 1, size, &whole);
	filter(&known, (const char *)data + 1, size - 1, 1 + data[0], &pieces);
	if (whole.len != pieces.len ||
	    (whole.len && memcmp(whole.data, pieces.data, whole.len) != 0))
		abort();
	for (size_t i = 0; whole.len && i < sizeof(values) / sizeof(values[0]); i++)
		if (memmem(whole.data, whole.len, values[i], strlen(values[i])))
			abort();
	buf_done(&whole);
	buf_done(&pieces);
	return 0;
}
