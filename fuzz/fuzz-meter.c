#include "fuzz.h"

#include "reader/parse/meter.h"

#include <stdlib.h>

static void feed(struct meter *m, enum meter_form form, const uint8_t *p, size_t n, size_t step)
{
	meter_init(m, form);
	for (size_t at = 0; at < n; at += step)
		meter_feed(m, (const char *)p + at, n - at < step ? n - at : step);
	meter_done(m);
}

/* The pieces an answer comes in change nothing about what it has used. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct meter whole, pieces;
	enum meter_form form;

	if (size < 2)
		return 0;
	form = (enum meter_form)(1 + data[0] % 3);
	feed(&whole, form, data + 1, size - 1, size);
	feed(&pieces, form, data + 1, size - 1, 1 + data[0] / 3);
	if (memcmp(whole.counts, pieces.counts, sizeof(whole.counts)) != 0 ||
	    !streq(whole.model, pieces.model))
		abort();
	for (size_t i = 0; i < COUNT_N; i++)
		if (whole.counts[i] > METER_TOKENS_MAX)
			abort();
	return 0;
}
