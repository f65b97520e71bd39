#include "fuzz.h"

#include "http/http1.h"

#include <stdlib.h>

static void check(bool ok)
{
	if (!ok)
		abort();
}

static ssize_t parse(const char *p, size_t n, int kind, struct http1_head *h)
{
	if (kind == 0)
		return http1_parse_request(p, n, h);
	return http1_parse_response(p, n, (enum http1_to)(kind - 1), h);
}

static int write_head(struct buf *out, const struct http1_head *h, int kind)
{
	static const struct http1_edit plain;

	return kind == 0 ? http1_write_request(out, h, &plain)
			 : http1_write_response(out, h, &plain);
}

/* What is written parses again, frames the same body, and is written the same way. */
static void check_written(const struct http1_head *h, int kind)
{
	cleanup_buf struct buf one, two;
	struct http1_head again;

	buf_init(&one, HTTP1_HEAD_MAX + 1024);
	buf_init(&two, HTTP1_HEAD_MAX + 1024);
	if (write_head(&one, h, kind) < 0)
		return;
	http1_reset(&again);
	/* ": " may add a byte per field, and framing and Connection are fields of the writer's own:
	 * a head at its limits may grow past them. */
	if (one.len >= HTTP1_HEAD_MAX || h->n_fields + 3 > HTTP1_FIELDS_MAX)
		return;
	check(parse(one.data, one.len, kind, &again) == (ssize_t)one.len);
	check(again.body == h->body && again.length == h->length && again.status == h->status);
	check(slice_eq(again.method, h->method));
	check(write_head(&two, &again, kind) == 0);
	check(one.len == two.len && memcmp(one.data, two.data, one.len) == 0);
}

/* A head in two pieces gives what it gives whole, and a request may not be bad and good. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http1_head whole, split;
	const char *p = (const char *)data;
	ssize_t r, first;
	int kind;
	size_t cut;

	if (size < 2)
		return 0;
	kind = data[0] & 3;
	cut = data[1] * (size - 2) / 255;
	p += 2;
	size -= 2;
	http1_reset(&whole);
	http1_reset(&split);
	r = parse(p, size, kind, &whole);
	first = parse(p, cut, kind, &split);
	if (first == 0)
		check(parse(p, size, kind, &split) == r);
	else
		check(first < 0 ? r < 0 : r == first);
	if (r > 0)
		check_written(&whole, kind);
	return 0;
}
