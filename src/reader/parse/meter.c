#include "reader/parse/meter.h"

#include <endian.h>

#include "base/text/base64.h"

#define AWS_PRELUDE 12 /* length of all, length of the headers, checksum of the two */
#define AWS_CRC 4

static const char data[] = "data:";
#define DATA_LEN 5
#define OTHER_LINE 0xff

enum meter_form meter_form(struct slice type)
{
	const char *semi = type.p ? memchr(type.p, ';', type.n) : NULL;

	if (semi)
		type.n = (size_t)(semi - type.p);
	while (type.n && type.p[type.n - 1] == ' ')
		type.n--;
	if (slice_is(type, "application/json"))
		return METER_JSON;
	if (slice_is(type, "text/event-stream"))
		return METER_SSE;
	return slice_is(type, "application/vnd.amazon.eventstream") ? METER_AWS : METER_NONE;
}

void meter_init(struct meter *m, enum meter_form form)
{
	memset(m, 0, sizeof(*m));
	m->form = form;
	m->blank = true;
	buf_init(&m->frame, METER_FRAME_MAX);
	meter_doc_start(m);
}

void meter_done(struct meter *m)
{
	buf_done(&m->frame);
}

/* The byte behind a line's end; an empty line ends the event, and with it the document. */
static void sse_line_over(struct meter *m)
{
	if (m->blank)
		meter_doc_start(m);
	else if (m->in_data)
		meter_doc_feed(m, "\n", 1);
	m->line = 0;
	m->in_data = false;
	m->blank = true;
}

static void sse_feed(struct meter *m, const char *p, size_t n)
{
	const char *end = p + n;

	while (p < end) {
		const char *lf;

		/* The field's name, byte by byte: a piece may end anywhere. */
		while (p < end && !m->in_data && m->line != OTHER_LINE && *p != '\n') {
			if (*p != '\r')
				m->blank = false;
			m->line = *p == data[m->line] ? m->line + 1 : OTHER_LINE;
			m->in_data = m->line == DATA_LEN;
			p++;
		}
		lf = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
		if (m->in_data && p < end)
			meter_doc_feed(m, p, (size_t)((lf ? lf : end) - p));
		if (!lf)
			return;
		p = lf + 1;
		sse_line_over(m);
	}
}

/* The text of a frame's member "bytes", the last of several; false: it has none. */
static bool bytes_of(const struct buf *frame, struct slice *ret)
{
	struct jscan j;
	bool found = false;

	jscan_init(&j);
	jscan_feed(&j, frame->data, frame->len);
	if (jscan_next(&j) != JSCAN_OBJECT)
		return false;
	while (jscan_next(&j) == JSCAN_KEY) {
		if (!jscan_is(&j, "bytes")) {
			jscan_skip(&j);
			if (jscan_next(&j) != JSCAN_SKIPPED)
				break;
			continue;
		}
		/* Base64 has nothing to escape, so it comes in one piece. */
		found = jscan_next(&j) == JSCAN_STRING && j.last;
		if (!found)
			break;
		*ret = (struct slice){j.text, j.len};
	}
	return found;
}

/* {"bytes": "…base64 of an event…"} of invoke; of converse, the event itself. */
static void aws_payload(struct meter *m)
{
	struct slice bytes;
	cleanup_buf struct buf event;

	buf_init(&event, METER_FRAME_MAX);
	meter_doc_start(m);
	if (!bytes_of(&m->frame, &bytes))
		meter_doc_feed(m, m->frame.data, m->frame.len);
	else if (base64_get(&event, bytes.p, bytes.n) == 0)
		meter_doc_feed(m, buf_str(&event), event.len);
}

/* Both lengths of a frame are known: what of it is skipped, what is payload. */
static void aws_prelude(struct meter *m)
{
	uint32_t total, headers;

	memcpy(&total, m->frame.data, 4);
	memcpy(&headers, m->frame.data + 4, 4);
	total = be32toh(total);
	headers = be32toh(headers);
	buf_clear(&m->frame);
	/* The bytes are not a stream of frames, or not any more. */
	if (total < AWS_PRELUDE + AWS_CRC || headers > total - AWS_PRELUDE - AWS_CRC) {
		m->form = METER_NONE;
		return;
	}
	m->left = total - AWS_PRELUDE - AWS_CRC - headers;
	m->skip = headers;
	if (m->left > METER_FRAME_MAX || m->left == 0) {
		m->skip = total - AWS_PRELUDE;
		m->left = 0;
	}
}

static void aws_feed(struct meter *m, const char *p, size_t n)
{
	while (n && m->form == METER_AWS) {
		size_t part;

		if (m->skip) {
			part = n < m->skip ? n : m->skip;
			m->skip -= (uint32_t)part;
		} else if (m->left) {
			part = n < m->left ? n : m->left;
			(void)buf_append(&m->frame, p, part);
			m->left -= (uint32_t)part;
			if (m->left == 0) {
				aws_payload(m);
				buf_done(&m->frame);
				m->skip = AWS_CRC;
			}
		} else {
			part = AWS_PRELUDE - m->frame.len;
			part = n < part ? n : part;
			(void)buf_append(&m->frame, p, part);
			if (m->frame.len == AWS_PRELUDE)
				aws_prelude(m);
		}
		p += part;
		n -= part;
	}
}

void meter_feed(struct meter *m, const char *p, size_t n)
{
	switch (m->form) {
	case METER_NONE:
		break;
	case METER_JSON:
		meter_doc_feed(m, p, n);
		break;
	case METER_SSE:
		sse_feed(m, p, n);
		break;
	case METER_AWS:
		aws_feed(m, p, n);
		break;
	}
}

bool meter_between(const struct meter *m)
{
	return m->form == METER_AWS && m->skip == 0 && m->left == 0 && m->frame.len == 0;
}

struct meter_sum meter_sum(const struct meter *m)
{
	const uint64_t *c = m->counts;
	uint64_t cached = c[COUNT_CACHED] < c[COUNT_INPUT] ? c[COUNT_CACHED] : c[COUNT_INPUT];

	return (struct meter_sum){
		.input = c[COUNT_INPUT] - cached + c[COUNT_TOOL_INPUT],
		.output = c[COUNT_OUTPUT] + c[COUNT_THOUGHTS],
		.cache_read = c[COUNT_CACHE_READ] + cached,
		.cache_write = c[COUNT_CACHE_WRITE],
	};
}
