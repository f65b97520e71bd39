#include "fuzz.h"

#include "base/text/needles.h"
#include "base/text/spelling.h"

#include <stdlib.h>
#include <string.h>

static const char *const secret = "Zz0PqL3v9XkR7_mW2nB4cD6eF8gH1jK5";

/* No decoder writes more than it reads. */
static void decode(const char *p, size_t n)
{
	char *out = malloc(n ? n : 1);

	if (!out)
		abort();
	if (spelling_squeeze(p, n, out) > n || spelling_unescape(p, n, '%', out) > n ||
	    spelling_unescape(p, n, '\\', out) > n || spelling_unescape(p, n, '&', out) > n)
		abort();
	for (size_t skip = 0; skip < 4; skip++)
		if (spelling_base64(p, spelling_base64_span(p, n), skip, out) > n ||
		    spelling_hex(p, spelling_hex_span(p, n), skip, out) > n)
			abort();
	free(out);
}

/* Spells the secret as the bytes of `how` say: each of its own escaped or not, with NULs or not. */
static size_t spell(const uint8_t *how, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	size_t o = 0;

	for (size_t i = 0; i < strlen(secret); i++) {
		unsigned char c = (unsigned char)secret[i], h = i < n ? how[i] : 0;
		const char *d = digits + (h & 4 ? 16 : 0);

		if (h & 1)
			out[o++] = '%';
		if (h & 1)
			out[o++] = d[c >> 4];
		out[o++] = h & 1 ? d[c & 15] : (char)c;
		if (h & 2)
			out[o++] = '\0';
	}
	return o;
}

/* Whatever is found lies in the text; the secret is found however it is spelled. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct needles *n;
	char *p = malloc(size + 1), spelled[4 * 32];
	size_t len, at;

	if (!n)
		n = needles_new(&secret, 1);
	if (!p || !n)
		abort();
	memcpy(p, data, size);
	decode(p, size);
	at = needles_find(n, p, size, &len);
	if (at > size || len > size - at || (at < size) != (len > 0))
		abort();
	(void)needles_find(n, spelled, spell(data, size, spelled), &len);
	if (!len)
		abort();
	free(p);
	return 0;
}
