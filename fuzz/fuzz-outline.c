#include "fuzz.h"

#include "reader/parse/outline.h"

#include <stdlib.h>
#include <string.h>

static bool feed(struct outline *o, const struct strv *allowed, const uint8_t *p, size_t n,
		 size_t step)
{
	bool good = true;

	outline_init(o, (enum outline_form)(p[0] % 6), allowed);
	for (size_t at = 1; good && at < n; at += step)
		good = outline_feed(o, (const char *)p + at, n - at < step ? n - at : step);
	return good && outline_end(o);
}

/* The pieces a body comes in change nothing about what is found. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outline whole, pieces;
	struct strv none = {0};
	bool a, b;

	if (size < 2)
		return 0;
	a = feed(&whole, &none, data, size, size);
	b = feed(&pieces, &none, data, size, 1 + data[0] / 6);
	if (a != b || (a && (whole.output != pieces.output || whole.answers != pieces.answers ||
			     !streq(whole.model, pieces.model) || whole.unseen != pieces.unseen)))
		abort();
	return 0;
}
