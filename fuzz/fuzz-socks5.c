#include "fuzz.h"

#include "edge/parse/socks5.h"

#include <stdlib.h>

static ssize_t parse(int kind, const void *p, size_t n)
{
	struct socks5_greeting greeting;
	struct socks5_userpass userpass;
	struct socks5_request request;

	if (kind == 0)
		return socks5_parse_greeting(p, n, &greeting);
	if (kind == 1)
		return socks5_parse_userpass(p, n, &userpass);
	return socks5_parse_request(p, n, &request);
}

/* Once refused, always refused; once read, the same length with any bytes behind. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ssize_t whole, last = 0;

	if (size < 1)
		return 0;
	whole = parse(data[0] % 3, data + 1, size - 1);
	if (whole > (ssize_t)size - 1)
		abort();
	for (size_t n = 0; n < size && last == 0; n++)
		last = parse(data[0] % 3, data + 1, n);
	if (last != whole && (last >= 0 || whole >= 0))
		abort();
	return 0;
}
