#include "fuzz.h"

#include "gateway/exchange/decode.h"

#include <stdlib.h>

#include "gateway/gateway-limits.h"

#define INFLATES_TO 1040 /* bytes that one may become, at most; and a little */

struct result {
	uint64_t total, hash;
	bool bad, over;
};

static struct result decode(struct slice coding, const char *p, size_t len, size_t step)
{
	struct result res = {.hash = 0xcbf29ce484222325};
	struct decode *d = decode_new(coding);

	for (size_t at = 0; at < len && !res.bad; at += step) {
		char *out;
		ssize_t n = decode_feed(d, p + at, len - at < step ? len - at : step);

		while (n == 0 && (n = decode_next(d, &out)) > 0) {
			if (n > (ssize_t)DECODED_TURN)
				abort();
			for (ssize_t i = 0; i < n; i++)
				res.hash = (res.hash ^ (uint8_t)out[i]) * 0x100000001b3;
			res.total += (uint64_t)n;
			n = 0;
		}
		res.bad = n < 0;
	}
	res.over = !res.bad && decode_over(d);
	decode_free(d);
	return res;
}

/* An answer means the same in whatever pieces it comes, and never more than it can. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"gzip", "deflate"};
	struct slice coding;
	struct result whole, pieces;

	if (size < 2 || size > 16 * KiB)
		return 0;
	coding = (struct slice){names[data[0] & 1], strlen(names[data[0] & 1])};
	whole = decode(coding, (const char *)data + 2, size - 2, size);
	if (whole.total > size * INFLATES_TO)
		abort();
	pieces = decode(coding, (const char *)data + 2, size - 2, data[1] ? data[1] : 1);
	if (whole.bad != pieces.bad || whole.over != pieces.over ||
	    (!whole.bad && (whole.total != pieces.total || whole.hash != pieces.hash)))
		abort();
	return 0;
}
