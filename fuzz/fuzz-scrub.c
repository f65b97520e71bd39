#include "fuzz.h"

#include "gateway/parse/scrub.h"

#include <stdlib.h>
#include <string.h>

static void run(struct needles *n, const uint8_t *in, size_t len, size_t step, char *out)
{
	struct scrub s;
	size_t o = 0;

	scrub_init(&s, n);
	for (size_t at = 0; at < len;) {
		size_t part = len - at < step ? len - at : step, may;
		char *piece = malloc(part);
		struct slice before;

		if (!piece)
			abort();
		memcpy(piece, in + at, part);
		at += part;
		may = scrub_run(&s, piece, part, at == len, &before);
		if (before.n + may > len - o || may > part)
			abort();
		if (before.n)
			memcpy(out + o, before.p, before.n);
		memcpy(out + o + before.n, piece, may);
		o += before.n + may;
		free(piece);
	}
	if (o != len)
		abort();
	scrub_done(&s);
}

/* Lengths stay, no secret does, and the pieces change nothing. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const secrets[] = {"aabaabaaab", "abababab", "k/+=\"1234"};
	static struct needles *n;
	char *whole = malloc(size + 1), *pieces = malloc(size + 1);

	if (!n)
		n = needles_new(secrets, 3);
	if (!n || !whole || !pieces)
		abort();
	if (size > 1) {
		run(n, data + 1, size - 1, size, whole);
		run(n, data + 1, size - 1, 1 + data[0] % 64, pieces);
		for (size_t i = 0; i < 3; i++)
			if (memmem(whole, size - 1, secrets[i], strlen(secrets[i])) ||
			    memmem(pieces, size - 1, secrets[i], strlen(secrets[i])))
				abort();
	}
	free(whole);
	free(pieces);
	return 0;
}
