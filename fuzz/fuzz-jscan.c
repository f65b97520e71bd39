#include "fuzz.h"

#include "base/buf.h"
#include "base/json/jscan.h"
#include "base/json/json.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX (1 << 20)

/* All tokens as one text; false where it is no JSON. Pieces of a string are joined. */
static bool scan(const char *data, size_t size, size_t step, bool skip, struct buf *out)
{
	struct jscan j;

	jscan_init(&j);
	for (size_t at = 0; at < size; at += step) {
		size_t n = size - at < step ? size - at : step;
		cleanup_free char *piece = xmalloc(n);
		enum jscan_token t;

		memcpy(piece, data + at, n);
		jscan_feed(&j, piece, n);
		while ((t = jscan_next(&j)) != JSCAN_MORE) {
			if (t == JSCAN_ERROR)
				return false;
			(void)buf_append(out, j.text, j.len);
			if (t != JSCAN_STRING || j.last)
				(void)buf_putc(out, (char)('A' + t));
			if (skip && (t == JSCAN_KEY || t == JSCAN_ARRAY))
				jscan_skip(&j);
		}
	}
	return jscan_end(&j);
}

/* However the input is cut, the same comes out; and what jansson reads is read. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	cleanup_json json_t *j = NULL;
	struct buf whole, parts;
	bool ok;

	if (size < 2 || size > 4096)
		return 0;
	for (int skip = 0; skip < 2; skip++) {
		buf_init(&whole, TEXT_MAX);
		buf_init(&parts, TEXT_MAX);
		ok = scan(text + 1, size - 1, size, skip, &whole);
		if (scan(text + 1, size - 1, data[0] % 7 + 1, skip, &parts) != ok)
			abort();
		if (ok && !skip &&
		    (whole.len != parts.len ||
		     (whole.len && memcmp(whole.data, parts.data, whole.len) != 0)))
			abort();
		buf_done(&whole);
		buf_done(&parts);
		if (skip)
			continue;
		j = json_loadb(text + 1, size - 1, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		if (j && !ok && size < JSCAN_DEPTH && !memchr(data, 0, size))
			abort();
	}
	return 0;
}
