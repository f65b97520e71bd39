#include "fuzz.h"

#include "policy/host.h"

#include <assert.h>
#include <string.h>

/* The canonical form is a fixed point, printable, and the same from an authority. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[HOST_PORT_TEXT_SIZE];
	struct host h, again;
	struct err err = {0};
	uint16_t port = 0;

	(void)host_parse_authority((const char *)data, size, 80, &h, &port, &err);
	if (host_parse((const char *)data, size, &h, &err) < 0) {
		for (const char *s = err.msg; *s; s++)
			assert(*s >= 0x20 && *s < 0x7f);
		return 0;
	}
	assert(h.len == strlen(h.name) && h.len > 0);
	for (const char *s = h.name; *s; s++)
		assert(*s > 0x20 && *s < 0x7f && !(*s >= 'A' && *s <= 'Z'));
	assert(host_parse(h.name, h.len, &again, &err) == 0);
	assert(host_equal(&h, &again));
	host_format(&h, 443, text);
	assert(host_parse_authority(text, strlen(text), 0, &again, &port, &err) == 0);
	assert(host_equal(&h, &again) && port == 443);
	if (h.kind != HOST_NAME)
		assert(addr_class(&h.ip) < ADDR_CLASS_N);
	return 0;
}
