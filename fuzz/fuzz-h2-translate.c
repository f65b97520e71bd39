#include "fuzz.h"

#include "gateway/parse/h2-head.h"

#include <stdlib.h>

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* A length byte and as many bytes. */
static struct slice next(const uint8_t **p, size_t *left)
{
	struct slice s = {(const char *)*p, 0};

	if (*left == 0)
		return s;
	s.n = **p < *left - 1 ? **p : *left - 1;
	s.p = (const char *)*p + 1;
	*left -= s.n + 1;
	*p += s.n + 1;
	return s;
}

/* Whatever fields come: a head that is taken is one whole message for the parser of HTTP/1.1, with
 * the method and the path that were sent, and as many fields. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http1_head parsed;
	static struct h2_fields back;
	cleanup_buf struct buf out;
	enum h2_frames frames;
	struct h2_head h;
	size_t fields = 0;
	bool last, to_head;
	int r = 0;

	buf_init(&out, 2 * HTTP1_HEAD_MAX);
	if (size < 1)
		return 0;
	last = data[0] & 1;
	to_head = data[0] & 2;
	h2_head_init(&h, data[0] & 4 ? H2_RESPONSE : H2_REQUEST, true);
	data++;
	size--;
	while (size && r == 0) {
		struct slice name = next(&data, &size), value = next(&data, &size);

		r = h2_head_field(&h, name, value);
		fields += name.n && name.p[0] != ':';
	}
	if (r == 0)
		r = h2_head_put(&h, last, to_head, &out, &frames);
	http1_reset(&parsed);
	if (r == 0) {
		ssize_t n = h.kind == H2_REQUEST
				    ? http1_parse_request(out.data, out.len, &parsed)
				    : http1_parse_response(out.data, out.len,
							   to_head ? HTTP1_TO_HEAD : HTTP1_TO_OTHER,
							   &parsed);

		check(n != 0);
		if (n > 0) {
			check(n == (ssize_t)out.len && parsed.n_fields <= fields + 4);
			check(h.kind == H2_RESPONSE ||
			      slice_eq(parsed.method, slice_of(h.websocket ? "GET" : h.method)));
			check(h.kind == H2_RESPONSE || !h.path ||
			      slice_eq(parsed.target, slice_of(h.path)));
			h2_fields_init(&back);
			if (h.kind == H2_REQUEST)
				h2_fields_request(&back, &parsed, true);
			else
				h2_fields_response(&back, &parsed);
			h2_fields_done(&back);
		}
	}
	h2_head_done(&h);
	return 0;
}
