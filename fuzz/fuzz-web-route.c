#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "web/web-request.h"
#include "web/web-route.h"

/* A path that is found has parts of the form that its row says, and any head is judged. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http1_head h;
	const struct request_rules rules = {0};
	char cookie[REQUEST_HALF_LEN + 1], key[REQUEST_HALF_LEN + 1];
	struct route r;

	if (size < 1)
		return 0;
	if (route_find(data[0] & 1, (const char *)data + 1, size - 1, &r) == 0 &&
	    (strlen(r.word) > ROUTE_WORD_MAX || strchr(r.word, '/') || strchr(r.word, '.')))
		abort();
	http1_reset(&h);
	if (http1_parse_request((const char *)data + 1, size - 1, &h) > 0) {
		(void)request_check(&rules, &h, (enum request_kind)(data[0] % 3));
		(void)request_halves(&h, data[0] & 1, cookie, key);
	}
	return 0;
}
