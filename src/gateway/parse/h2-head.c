#include "gateway/parse/h2-head.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/parse.h"
#include "base/text/base64.h"

#define HEADERS_MAX (64 * 1024) /* H2_HEADERS_MAX: this file links nothing of flow/ */
#define OVERHEAD 32		/* of each field, RFC 9113 6.5.2 */

static const char *const reasons[H2_REASON_N] = {
	[H2_FINE] = "fine",
	[H2_NAME] = "a field name of HTTP/2 is no token in lower case",
	[H2_VALUE] = "a field value of HTTP/2 has a control byte or blanks around it",
	[H2_PSEUDO] = "a pseudo-field of HTTP/2 is unknown, repeated, late or missing",
	[H2_HOP] = "a field of the connection stands in a head of HTTP/2",
	[H2_HOST] = "the Host field is not :authority, or both are missing",
	[H2_TARGET] = "a pseudo-field of HTTP/2 is malformed",
	[H2_LENGTH] = "the Content-Length is malformed, repeated or of a message without a body",
	[H2_STATUS] = "the status is no status",
	[H2_LONG] = "the head is too long",
};

const char *h2_reason_str(int reason)
{
	unsigned int i = reason < 0 ? -(unsigned int)reason : (unsigned int)reason;

	return i < H2_REASON_N ? reasons[i] : reasons[H2_PSEUDO];
}

void h2_head_init(struct h2_head *h, enum h2_kind kind, bool https)
{
	*h = (struct h2_head){.kind = kind, .https = https};
	buf_init(&h->text, HTTP1_HEAD_MAX);
	buf_init(&h->cookies, HTTP1_HEAD_MAX);
}

void h2_head_done(struct h2_head *h)
{
	free(h->path);
	free(h->authority);
	free(h->host);
	buf_done(&h->text);
	buf_done(&h->cookies);
	*h = (struct h2_head){0};
}

bool h2_is_grpc(struct slice type)
{
	struct slice begin = {type.p, type.n < 16 ? type.n : 16};

	return slice_is(begin, "application/grpc") &&
	       (type.n == 16 || type.p[16] == ';' || type.p[16] == '+' ||
		(type.n >= 20 && slice_is((struct slice){type.p + 16, 4}, "-web")));
}

static bool is_lower_token(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] >= 'A' && s.p[i] <= 'Z')
			return false;
	return http1_is_token(s.p, s.n);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_value(struct slice s)
{
	return http1_is_value(s.p, s.n) &&
	       (s.n == 0 || (!is_blank(s.p[0]) && !is_blank(s.p[s.n - 1])));
}

static int keep(char **ret, struct slice value)
{
	if (*ret)
		return -H2_PSEUDO;
	*ret = xstrndup(value.p, value.n);
	return 0;
}

static int request_pseudo(struct h2_head *h, struct slice name, struct slice value)
{
	struct url_authority a;

	if (slice_eq(name, slice_of(":method"))) {
		if (h->method[0])
			return -H2_PSEUDO;
		if (value.n > HTTP1_METHOD_MAX || !http1_is_token(value.p, value.n))
			return -H2_TARGET;
		memcpy(h->method, value.p, value.n);
		return 0;
	}
	if (slice_eq(name, slice_of(":scheme"))) {
		if (h->scheme)
			return -H2_PSEUDO;
		h->scheme = true;
		return slice_eq(value, slice_of(h->https ? "https" : "http")) ? 0 : -H2_TARGET;
	}
	if (slice_eq(name, slice_of(":authority")))
		return url_split_authority(value.p, value.n, &a) < 0 ? -H2_HOST
								     : keep(&h->authority, value);
	if (slice_eq(name, slice_of(":path")))
		return keep(&h->path, value);
	if (!slice_eq(name, slice_of(":protocol")) || h->websocket ||
	    !slice_eq(value, slice_of("websocket")))
		return -H2_PSEUDO;
	h->websocket = true;
	return 0;
}

static int response_pseudo(struct h2_head *h, struct slice name, struct slice value)
{
	if (!slice_eq(name, slice_of(":status")) || h->status)
		return -H2_PSEUDO;
	if (value.n != 3)
		return -H2_STATUS;
	for (size_t i = 0; i < 3; i++) {
		if (value.p[i] < '0' || value.p[i] > '9')
			return -H2_STATUS;
		h->status = h->status * 10 + (unsigned int)(value.p[i] - '0');
	}
	/* There is no switch of protocols in HTTP/2. */
	return h->status < 100 || h->status == 101 || h->status > 599 ? -H2_STATUS : 0;
}

static int pseudo(struct h2_head *h, struct slice name, struct slice value)
{
	if (h->fields || h->kind == H2_TRAILERS)
		return -H2_PSEUDO;
	return h->kind == H2_REQUEST ? request_pseudo(h, name, value)
				     : response_pseudo(h, name, value);
}

static int take_length(struct h2_head *h, struct slice value)
{
	char digits[21] = "";

	if (h->has_length || value.n == 0 || value.n >= sizeof(digits))
		return -H2_LENGTH;
	memcpy(digits, value.p, value.n);
	for (size_t i = 0; i < value.n; i++)
		if (digits[i] < '0' || digits[i] > '9')
			return -H2_LENGTH;
	h->has_length = true;
	return parse_uint(digits, 0, INT64_MAX, &h->length) < 0 ? -H2_LENGTH : 0;
}

static void put_line(struct buf *b, struct slice name, struct slice value)
{
	(void)buf_append(b, name.p, name.n);
	(void)buf_puts(b, ": ");
	(void)buf_append(b, value.p, value.n);
	(void)buf_puts(b, "\r\n");
}

static int put_crumb(struct h2_head *h, struct slice value)
{
	if (h->cookies.len)
		(void)buf_puts(&h->cookies, "; ");
	return buf_append(&h->cookies, value.p, value.n) < 0 ? -H2_LONG : 0;
}

static bool is_hop(enum http1_id id)
{
	return id == HTTP1_F_CONNECTION || id == HTTP1_F_KEEP_ALIVE ||
	       id == HTTP1_F_PROXY_CONNECTION || id == HTTP1_F_TRANSFER_ENCODING ||
	       id == HTTP1_F_UPGRADE || id == HTTP1_F_HTTP2_SETTINGS;
}

static int field(struct h2_head *h, struct slice name, struct slice value)
{
	enum http1_id id = http1_field_id(name.p, name.n);
	bool request = h->kind == H2_REQUEST;

	if (is_hop(id))
		return -H2_HOP;
	if (id == HTTP1_F_TE) /* written anew for those who need it, see h2_fields_request() */
		return request && slice_is(value, "trailers") ? 0 : -H2_HOP;
	if (id == HTTP1_F_HOST)
		return request && !h->host ? keep(&h->host, value) : -H2_HOST;
	if (id == HTTP1_F_CONTENT_LENGTH)
		return h->kind == H2_TRAILERS ? -H2_LENGTH : take_length(h, value);
	if (id == HTTP1_F_COOKIE && request)
		return put_crumb(h, value);
	if (h->websocket && slice_is(name, "sec-websocket-key"))
		return 0;
	h->grpc |= id == HTTP1_F_CONTENT_TYPE && h2_is_grpc(value);
	put_line(&h->text, name, value);
	return h->text.full ? -H2_LONG : 0;
}

int h2_head_field(struct h2_head *h, struct slice name, struct slice value)
{
	bool is_pseudo = name.n && name.p[0] == ':';

	h->size += name.n + value.n + OVERHEAD;
	if (h->size > HEADERS_MAX)
		return -H2_LONG;
	if (!is_value(value))
		return -H2_VALUE;
	if (is_pseudo)
		return pseudo(h, name, value);
	h->fields = true;
	if (name.n > HTTP1_NAME_MAX || !is_lower_token(name))
		return -H2_NAME;
	return field(h, name, value);
}

static int put_framing(const struct h2_head *h, enum h2_frames frames, bool tells, struct buf *out)
{
	if (frames == H2_CHUNKS)
		(void)buf_puts(out, "Transfer-Encoding: chunked\r\n");
	else if (h->has_length && tells)
		(void)buf_printf(out, "Content-Length: %llu\r\n", (unsigned long long)h->length);
	(void)buf_puts(out, "Connection: close\r\n\r\n");
	return out->full ? -H2_LONG : 0;
}

static int put_upgrade(struct buf *out)
{
	unsigned char key[16];

	if (getrandom(key, sizeof(key), 0) != sizeof(key))
		return -H2_TARGET;
	(void)buf_puts(out, "Sec-WebSocket-Key: ");
	base64_put(out, key, sizeof(key));
	/* No other request follows: bytes behind a refusal are nobody's. */
	(void)buf_puts(out, "\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\n\r\n");
	return out->full ? -H2_LONG : 0;
}

static int put_request(const struct h2_head *h, bool last, struct buf *out, enum h2_frames *ret)
{
	const char *authority = h->authority ? h->authority : h->host;
	bool connects = streq(h->method, "CONNECT") && !h->websocket;
	struct slice path, query;

	if (!h->method[0] || (connects ? h->scheme || h->path : !h->scheme || !h->path))
		return -H2_PSEUDO;
	if (h->websocket && (!streq(h->method, "CONNECT") || h->has_length || last))
		return -H2_PSEUDO;
	if (!authority || (h->host && !slice_ieq(slice_of(h->host), slice_of(authority))))
		return -H2_HOST;
	if (!connects && !(streq(h->method, "OPTIONS") && streq(h->path, "*")) &&
	    url_split_path(h->path, strlen(h->path), &path, &query) < 0)
		return -H2_TARGET;
	if (last && h->has_length && h->length)
		return -H2_LENGTH;
	/* Bytes behind CONNECT are no body; whatever comes is dropped with the refusal. */
	*ret = last || h->has_length || connects || h->websocket ? H2_RAW : H2_CHUNKS;
	(void)buf_printf(out, "%s %s HTTP/1.1\r\nHost: %s\r\n", h->websocket ? "GET" : h->method,
			 connects ? authority : h->path, authority);
	(void)buf_append(out, h->text.data, h->text.len);
	if (h->cookies.len) {
		(void)buf_puts(out, "cookie: ");
		(void)buf_append(out, h->cookies.data, h->cookies.len);
		(void)buf_puts(out, "\r\n");
	}
	return h->websocket ? put_upgrade(out) : put_framing(h, *ret, !connects, out);
}

static int put_response(const struct h2_head *h, bool last, bool to_head, struct buf *out,
			enum h2_frames *ret)
{
	bool none = to_head || h->status == 204 || h->status == 304 || h->status < 200;

	if (!h->status)
		return -H2_PSEUDO;
	if (last && (h->status < 200 || (!none && h->has_length && h->length)))
		return -H2_LENGTH;
	*ret = none || h->has_length ? H2_RAW : H2_CHUNKS;
	(void)buf_printf(out, "HTTP/1.1 %u \r\n", h->status);
	(void)buf_append(out, h->text.data, h->text.len);
	if (h->status < 200)
		return buf_puts(out, "\r\n") < 0 ? -H2_LONG : 0;
	return put_framing(h, *ret, h->status != 204, out);
}

int h2_head_put(const struct h2_head *h, bool last, bool to_head, struct buf *out,
		enum h2_frames *ret)
{
	return h->kind == H2_REQUEST ? put_request(h, last, out, ret)
				     : put_response(h, last, to_head, out, ret);
}

void h2_fields_init(struct h2_fields *f)
{
	f->n = 0;
	buf_init(&f->text, HTTP1_HEAD_MAX);
}

void h2_fields_done(struct h2_fields *f)
{
	buf_done(&f->text);
}

static void add(struct h2_fields *f, struct slice name, struct slice value)
{
	if (f->n < ARRAY_SIZE(f->nv))
		f->nv[f->n++] = (nghttp2_nv){
			.name = (uint8_t *)name.p,
			.value = (uint8_t *)value.p,
			.namelen = name.n,
			.valuelen = value.n,
			.flags = NGHTTP2_NV_FLAG_NONE,
		};
}

/* Nothing of the connection, of its framing, or that is written from the parsed form. */
static bool passes(const struct http1_field *f)
{
	return !f->hop && f->id != HTTP1_F_HOST && f->id != HTTP1_F_CONTENT_LENGTH;
}

static void add_lower(struct h2_fields *f, struct slice name, struct slice value)
{
	const char *p = f->text.data + f->text.len;

	for (size_t i = 0; i < name.n; i++)
		(void)buf_putc(&f->text, ascii_lower(name.p[i]));
	add(f, (struct slice){p, name.n}, value);
}

static void add_fields(struct h2_fields *f, const struct http1_head *h)
{
	size_t names = 0;

	for (size_t i = 0; i < h->n_fields; i++)
		names += h->fields[i].name.n;
	(void)buf_reserve(
		&f->text,
		names); /* nothing points into it yet, and it does not move from here on */
	for (size_t i = 0; i < h->n_fields; i++)
		if (passes(&h->fields[i]))
			add_lower(f, h->fields[i].name, h->fields[i].value);
	if (h->has_length) {
		(void)snprintf(f->length, sizeof(f->length), "%llu", (unsigned long long)h->length);
		add(f, slice_of("content-length"), slice_of(f->length));
	}
}

void h2_fields_request(struct h2_fields *f, const struct http1_head *h, bool https)
{
	const struct http1_field *host = http1_find(h, "host");
	const struct http1_field *type = http1_find(h, "content-type");

	add(f, slice_of(":method"), h->method);
	add(f, slice_of(":scheme"), slice_of(https ? "https" : "http"));
	add(f, slice_of(":authority"), host ? host->value : slice_of(""));
	add(f, slice_of(":path"), h->target);
	add_fields(f, h);
	if (type && h2_is_grpc(type->value))
		add(f, slice_of("te"), slice_of("trailers"));
}

void h2_fields_response(struct h2_fields *f, const struct http1_head *h)
{
	(void)snprintf(f->status, sizeof(f->status), "%03u", h->status % 1000);
	add(f, slice_of(":status"), slice_of(f->status));
	add_fields(f, h);
}

void h2_fields_trailers(struct h2_fields *f, const char *p, size_t n)
{
	const char *end = p + n;

	while (p < end) {
		const char *colon = memchr(p, ':', (size_t)(end - p));
		const char *cr = memchr(p, '\r', (size_t)(end - p));

		add(f, (struct slice){p, (size_t)(colon - p)},
		    (struct slice){colon + 2, (size_t)(cr - colon) - 2});
		p = cr + 2;
	}
}
