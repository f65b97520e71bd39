#include "fuzz.h"

#include "edge/parse/hello.h"

#include <stdlib.h>

/* A prefix is never good, and once refused it stays refused. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct hello whole, part;
	ssize_t r, first;
	size_t cut;

	if (size < 1)
		return 0;
	cut = data[0] * (size - 1) / 255;
	r = hello_parse(data + 1, size - 1, &whole);
	first = hello_parse(data + 1, cut, &part);
	if (r > (ssize_t)size - 1 || (first < 0 && r >= 0) || (first > 0 && first != r))
		abort();
	if (r > 0 && (strlen(whole.name) != whole.name_len || whole.n_versions < 1))
		abort();
	return 0;
}
