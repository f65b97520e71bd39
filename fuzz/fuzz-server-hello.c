#include "fuzz.h"

#include "edge/parse/server-hello.h"

#include <stdbool.h>
#include <stdlib.h>

static bool is_over(enum server_hello_kind k)
{
	return k == SERVER_HELLO_FINAL || k == SERVER_HELLO_NOT_TLS;
}

/* Two pieces are read as the whole is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct server_hello whole = {0}, parts = {0};
	enum server_hello_kind all, first, rest;
	size_t cut;

	if (size < 1)
		return 0;
	cut = data[0] * (size - 1) / 255;
	all = server_hello_feed(&whole, data + 1, size - 1);
	first = server_hello_feed(&parts, data + 1, cut);
	if (is_over(first)) {
		if (first != all)
			abort();
		return 0;
	}
	rest = server_hello_feed(&parts, data + 1 + cut, size - 1 - cut);
	if ((rest == SERVER_HELLO_MORE ? first : rest) != all)
		abort();
	return 0;
}
