#include "fuzz.h"

#include "base/jscan.h"

#include <jansson.h>
#include <stdlib.h>

struct told {
	uint64_t hash;
	enum jscan_token end;
};

static void note(struct told *r, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		r->hash = (r->hash ^ (uint8_t)p[i]) * 0x100000001b3;
}

/* skip: every how many keys' values are passed over; 0: none. */
static struct told scan(const char *p, size_t n, size_t step, unsigned int skip)
{
	struct told r = {.end = JSCAN_MORE};
	unsigned int keys = 0;
	size_t at = 0;
	struct jscan j;

	jscan_init(&j);
	do {
		size_t part = n - at < step ? n - at : step;
		enum jscan_token t;

		jscan_feed(&j, p + at, part, at + part == n);
		at += part;
		while ((t = jscan_next(&j)) > 0 && t != JSCAN_DONE) {
			bool text = t == JSCAN_KEY || t == JSCAN_STRING || t == JSCAN_NUMBER;
			char b = (char)t;

			if (j.depth > JSCAN_DEPTH_MAX)
				abort();
			note(&r, &b, 1);
			/* Longer ones are cut in one of the two. */
			if (text && j.len < JSCAN_HELD_MAX)
				note(&r, j.text, j.len);
			if (t == JSCAN_KEY && skip && ++keys % skip == 0)
				jscan_skip(&j);
		}
		r.end = t;
	} while (r.end == JSCAN_MORE && at < n);
	return r;
}

/* The pieces a document comes in change nothing about it, and what jansson reads we read. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data + 1;
	struct told whole, pieces;
	json_t *j;

	if (size < 2)
		return 0;
	size--;
	whole = scan(p, size, size, data[0] % 4);
	pieces = scan(p, size, 1 + data[0] / 4, data[0] % 4);
	if (whole.end != pieces.end || whole.hash != pieces.hash)
		abort();
	j = json_loadb(p, size, JSON_DECODE_ANY, NULL);
	if (j && whole.end != JSCAN_DONE && size <= JSCAN_DEPTH_MAX)
		abort(); /* a longer one may be nested deeper than we go */
	json_decref(j);
	return 0;
}
