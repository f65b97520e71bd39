#include "fuzz.h"

#include "http/chunked.h"

#include <stdlib.h>

struct result {
	ssize_t end; /* bytes up to the end, 0: not there, < 0: refused */
	uint64_t total, hash;
	size_t trailers;
};

static void hash_bytes(struct result *r, struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		r->hash = (r->hash ^ (uint8_t)s.p[i]) * 0x100000001b3;
}

static struct result decode(const char *p, size_t len, size_t step)
{
	struct result res = {0};
	struct chunked c = {0};
	size_t at = 0, have = 0;

	for (;;) {
		struct chunked_item item;
		ssize_t r = chunked_next(&c, p + at, have - at, &item);

		if (r < 0) {
			res.end = r;
			return res;
		}
		if ((size_t)r > have - at)
			abort();
		at += (size_t)r;
		hash_bytes(&res, item.data);
		res.total += item.data.n;
		if (item.kind == CHUNKED_TRAILER) {
			res.trailers++;
			hash_bytes(&res, item.name);
			hash_bytes(&res, item.value);
		} else if (item.kind == CHUNKED_END) {
			res.end = (ssize_t)at;
			return res;
		} else if (item.kind == CHUNKED_MORE) {
			if (have == len)
				return res;
			have = len - have < step ? len : have + step;
		}
	}
}

/* The pieces a body comes in change nothing about what it says. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct result whole, pieces;

	if (size < 1)
		return 0;
	whole = decode((const char *)data + 1, size - 1, size);
	pieces = decode((const char *)data + 1, size - 1, 1 + data[0] % 64);
	if ((whole.end < 0) != (pieces.end < 0))
		abort();
	if (whole.end >= 0 && (whole.end != pieces.end || whole.total != pieces.total ||
			       whole.hash != pieces.hash || whole.trailers != pieces.trailers))
		abort();
	return 0;
}
