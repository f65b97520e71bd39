#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "cred/hold/sigv4.h"

#define DIGEST "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* Whatever the target is, what is signed has the same seven lines: method, path, query, one field,
 * an empty one, names, digest. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *target = xstrndup((const char *)data, size), *canonical = NULL;
	cleanup_strv struct strv fields;
	struct err err = {0};
	size_t lines = 1;

	strv_init(&fields);
	strv_push(&fields, "host:h.test");
	if (sigv4_canonical("POST", target, &fields, DIGEST, &canonical, &err) < 0)
		return 0;
	for (const char *p = canonical; *p; p++) {
		lines += *p == '\n';
		if ((unsigned char)*p > '~' || ((unsigned char)*p < ' ' && *p != '\n'))
			abort();
	}
	if (lines != 7)
		abort();
	return 0;
}
