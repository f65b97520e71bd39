#include "fuzz.h"

#include "flow/sniff.h"
#include "http/url.h"

#include <stdlib.h>

static void check_inside(const uint8_t *data, size_t size, struct slice s)
{
	if (s.p && (s.p < (const char *)data || s.p + s.n > (const char *)data + size))
		abort();
}

/* All parts lie inside the input, and the host is never one that could be read in two ways. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct url_authority a = {0};
	struct url u = {0};
	const char *p = (const char *)data;

	(void)sniff_protocol(data, size);
	if (url_split_authority(p, size, &a) == 0) {
		check_inside(data, size, a.host);
		if (a.host.n == 0 || a.host.n > URL_HOST_MAX)
			abort();
	}
	if (url_parse(p, size, &u) == 0) {
		check_inside(data, size, u.authority.host);
		check_inside(data, size, u.path);
		check_inside(data, size, u.query);
		for (size_t i = 0; i < u.authority.host.n; i++) {
			if (memchr("@/\\?# \t\r\n", u.authority.host.p[i], 10))
				abort();
		}
	}
	(void)url_split_path(p, size, &u.path, &u.query);
	return 0;
}
