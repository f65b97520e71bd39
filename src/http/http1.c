#include "http/http1.h"

#include "http/http1-fields.h"

static const struct {
	const char *text;
	unsigned int status;
} reasons[HTTP1_REASON_N] = {
	[HTTP1_OK] = {"fine", 200},
	[HTTP1_HEAD_LONG] = {"the head is too long", 431},
	[HTTP1_FIELDS_MANY] = {"the head has too many fields", 431},
	[HTTP1_METHOD] = {"the method is not a token", 400},
	[HTTP1_TARGET] = {"the request target is malformed or of the wrong form", 400},
	[HTTP1_TARGET_LONG] = {"the request target is too long", 414},
	[HTTP1_VERSION] = {"the version is neither HTTP/1.0 nor HTTP/1.1", 505},
	[HTTP1_STATUS] = {"the status line is malformed", 400},
	[HTTP1_BARE_LF] = {"a line ends with LF alone", 400},
	[HTTP1_BARE_CR] = {"a CR stands without its LF", 400},
	[HTTP1_FOLD] = {"a header line begins with a blank", 400},
	[HTTP1_NAME] = {"a field name is malformed", 400},
	[HTTP1_VALUE] = {"a field value has a control byte", 400},
	[HTTP1_HOST_MISSING] = {"the Host field is missing", 400},
	[HTTP1_HOST_TWICE] = {"there is more than one Host field", 400},
	[HTTP1_HOST_BAD] = {"the Host field is malformed", 400},
	[HTTP1_HOST_DIFFERS] = {"the Host field and the target name different hosts", 400},
	[HTTP1_LENGTH_BAD] = {"the Content-Length is malformed", 400},
	[HTTP1_LENGTH_TWICE] = {"there is more than one Content-Length", 400},
	[HTTP1_LENGTH_AND_CODING] = {"there is both Content-Length and Transfer-Encoding", 400},
	[HTTP1_CODING] = {"the Transfer-Encoding is not exactly chunked", 400},
	[HTTP1_CODING_OLD] = {"there is a Transfer-Encoding in HTTP/1.0", 400},
	[HTTP1_CODING_NO_BODY] = {"there is a Transfer-Encoding where no body can be", 400},
	[HTTP1_CONNECTION] = {"the Connection field is malformed or names a framing field", 400},
	[HTTP1_EXPECT] = {"the expectation is not 100-continue", 417},
	[HTTP1_UPGRADE] = {"there is more than one Upgrade field", 400},
	[HTTP1_CONNECT_BODY] = {"a CONNECT request has a body", 400},
};

static unsigned int reason_index(int reason)
{
	unsigned int i = reason < 0 ? -(unsigned int)reason : (unsigned int)reason;

	return i < HTTP1_REASON_N ? i : HTTP1_METHOD;
}

const char *http1_reason_str(int reason)
{
	return reasons[reason_index(reason)].text;
}

unsigned int http1_reason_status(int reason)
{
	return reasons[reason_index(reason)].status;
}

void http1_reset(struct http1_head *h)
{
	/* fields[] is only ever read up to n_fields; clearing it would cost more than parsing. */
	memset(h, 0, offsetof(struct http1_head, fields));
}

bool http1_method_is(const struct http1_head *h, const char *method)
{
	return slice_eq(h->method, slice_of(method));
}

enum http1_to http1_to(const struct http1_head *request)
{
	if (http1_method_is(request, "HEAD"))
		return HTTP1_TO_HEAD;
	return http1_method_is(request, "CONNECT") ? HTTP1_TO_CONNECT : HTTP1_TO_OTHER;
}

const struct http1_field *http1_find(const struct http1_head *h, const char *name)
{
	struct slice s = slice_of(name);

	for (size_t i = 0; i < h->n_fields; i++) {
		if (slice_ieq(h->fields[i].name, s))
			return &h->fields[i];
	}
	return NULL;
}

/* "HTTP/1.0" or "HTTP/1.1" in exactly those bytes. */
static int parse_version(const char *p, size_t n, unsigned int *ret_minor)
{
	if (n != 8 || memcmp(p, "HTTP/1.", 7) != 0 || (p[7] != '0' && p[7] != '1'))
		return -HTTP1_VERSION;
	*ret_minor = (unsigned int)(p[7] - '0');
	return 0;
}

static int parse_target(struct http1_head *h)
{
	const char *p = h->target.p;
	size_t n = h->target.n;
	bool connect = http1_method_is(h, "CONNECT");
	int r;

	if (connect) {
		h->form = HTTP1_AUTHORITY;
		r = url_split_host_port(p, n, &h->url.authority);
	} else if (p[0] == '/') {
		h->form = HTTP1_ORIGIN;
		r = url_split_path(p, n, &h->url.path, &h->url.query);
	} else if (n == 1 && p[0] == '*') {
		h->form = HTTP1_ASTERISK;
		r = http1_method_is(h, "OPTIONS") ? 0 : -1;
	} else {
		h->form = HTTP1_ABSOLUTE;
		r = url_parse(p, n, &h->url);
	}
	return r < 0 ? -HTTP1_TARGET : 0;
}

/* The request line without its CRLF. */
static int parse_request_line(const char *p, size_t len, struct http1_head *h)
{
	const char *end = p + len, *target, *space;
	size_t n = http1_token_span(p, end);

	if (n == 0 || n > HTTP1_METHOD_MAX || n == len || p[n] != ' ')
		return -HTTP1_METHOD;
	h->method = (struct slice){p, n};
	target = p + n + 1;
	if (memchr(p, '\r', len))
		return -HTTP1_BARE_CR;
	space = memchr(target, ' ', (size_t)(end - target));
	if (space == target || target == end)
		return -HTTP1_TARGET;
	if (!space)
		return -HTTP1_VERSION;
	if (space - target > HTTP1_TARGET_MAX)
		return -HTTP1_TARGET_LONG;
	h->target = (struct slice){target, (size_t)(space - target)};
	if (parse_version(space + 1, (size_t)(end - space - 1), &h->minor) < 0)
		return -HTTP1_VERSION;
	return parse_target(h);
}

/* A status line without its CRLF; some servers leave the space before an empty reason out. */
static int parse_status_line(const char *p, size_t len, struct http1_head *h)
{
	int r = parse_version(p, len < 8 ? len : 8, &h->minor);

	if (r < 0)
		return r;
	if (memchr(p, '\r', len))
		return -HTTP1_BARE_CR;
	if (len < 12 || p[8] != ' ' || (len > 12 && p[12] != ' '))
		return -HTTP1_STATUS;
	if (p[9] < '1' || p[9] > '5' || p[10] < '0' || p[10] > '9' || p[11] < '0' || p[11] > '9')
		return -HTTP1_STATUS;
	h->status = (unsigned int)((p[9] - '0') * 100 + (p[10] - '0') * 10 + (p[11] - '0'));
	h->reason = len > 13 ? (struct slice){p + 13, len - 13} : (struct slice){p + 12, 0};
	return http1_is_value(h->reason.p, h->reason.n) ? 0 : -HTTP1_STATUS;
}

typedef int start_line_fn(const char *p, size_t len, struct http1_head *h);

/*
 * Looks for the empty line from where the last call stopped. Bare LFs are seen here, and the start
 * line is judged as soon as it is whole: who speaks HTTP/0.9 sends nothing behind it and waits.
 */
static ssize_t find_end(const char *p, size_t len, struct http1_head *h, start_line_fn *start_line)
{
	size_t limit = len < HTTP1_HEAD_MAX ? len : HTTP1_HEAD_MAX;
	bool had_line = h->line_start > 0;
	const char *lf;

	while (h->scanned < limit && (lf = memchr(p + h->scanned, '\n', limit - h->scanned))) {
		size_t at = (size_t)(lf - p);

		if (at == 0 || lf[-1] != '\r')
			return -HTTP1_BARE_LF;
		if (at - 1 == h->line_start)
			return at == 1 ? -HTTP1_METHOD : (ssize_t)at + 1;
		if (h->line_start == 0)
			h->target.n = at - 1; /* the start line's length, for below */
		h->line_start = h->scanned = at + 1;
	}
	h->scanned = limit;
	if (limit == HTTP1_HEAD_MAX)
		return -HTTP1_HEAD_LONG;
	if (!had_line && h->line_start > 0) {
		int r = start_line(p, h->target.n, h);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Start line and fields of a head that is whole: `len` ends with the empty line. */
static int parse_whole(const char *p, size_t len, struct http1_head *h, struct http1_known *s,
		       start_line_fn *start_line)
{
	const char *lf = memchr(p, '\n', len);
	int r;

	/* options[] is only read up to n_options. */
	memset(s, 0, offsetof(struct http1_known, options));
	http1_reset(h);
	r = start_line(p, (size_t)(lf - p) - 1, h);
	if (r < 0)
		return r;
	r = http1_read_fields(lf + 1, p + len - 2, h, s);
	if (r < 0)
		return r;
	r = http1_read_framing(s, h);
	return r < 0 ? r : http1_read_connection(s, h);
}

static bool same_host(const struct url_authority *a, const struct url_authority *b)
{
	return a->v6 == b->v6 && slice_ieq(a->host, b->host);
}

static int read_host(const struct http1_known *s, struct http1_head *h)
{
	const struct http1_field *host = s->one[HTTP1_F_HOST];
	uint16_t port, target_port;

	if (!host)
		return h->minor == 1 ? -HTTP1_HOST_MISSING : 0;
	if (url_split_authority(host->value.p, host->value.n, &h->host) < 0)
		return -HTTP1_HOST_BAD;
	if (h->form != HTTP1_ABSOLUTE && h->form != HTTP1_AUTHORITY)
		return 0;
	target_port = url_port(h->url.scheme, h->url.authority.port);
	port = url_port(h->url.scheme, h->host.port);
	/* Clients that CONNECT often leave the port out of Host. */
	if (h->form == HTTP1_AUTHORITY && port == 0)
		port = target_port;
	if (!same_host(&h->host, &h->url.authority) || port != target_port)
		return -HTTP1_HOST_DIFFERS;
	return 0;
}

static int read_request(const struct http1_known *s, struct http1_head *h)
{
	const struct http1_field *expect = s->one[HTTP1_F_EXPECT];
	int r = read_host(s, h);

	if (r < 0)
		return r;
	if (expect) {
		if (!slice_is(expect->value, "100-continue"))
			return -HTTP1_EXPECT;
		h->expect_continue = h->minor == 1;
	}
	if (h->form == HTTP1_AUTHORITY) {
		if (h->chunked || (h->has_length && h->length > 0))
			return -HTTP1_CONNECT_BODY;
		h->body = HTTP1_BODY_NONE;
	} else if (h->chunked) {
		h->body = HTTP1_BODY_CHUNKED;
	} else {
		h->body = h->has_length ? HTTP1_BODY_LENGTH : HTTP1_BODY_NONE;
	}
	return 0;
}

ssize_t http1_parse_request(const char *p, size_t len, struct http1_head *ret)
{
	struct http1_known s;
	ssize_t end = find_end(p, len, ret, parse_request_line);
	int r;

	if (end <= 0)
		return end;
	r = parse_whole(p, (size_t)end, ret, &s, parse_request_line);
	if (r < 0)
		return r;
	r = read_request(&s, ret);
	return r < 0 ? r : end;
}

static int read_response(enum http1_to to, struct http1_head *h)
{
	bool bodiless = h->status < 200 || h->status == 204;

	if (h->status == 101 || (to == HTTP1_TO_CONNECT && h->status / 100 == 2)) {
		if (h->minor == 0 && h->status == 101)
			return -HTTP1_STATUS;
		/* RFC 9110 9.3.6: framing fields in such an answer mean nothing. */
		h->has_length = h->chunked = false;
		h->length = 0;
		h->body = HTTP1_BODY_TUNNEL;
		return 0;
	}
	if (bodiless && h->chunked)
		return -HTTP1_CODING_NO_BODY;
	if (bodiless) {
		h->has_length = false;
		h->length = 0;
	}
	if (bodiless || h->status == 304 || to == HTTP1_TO_HEAD)
		h->body = HTTP1_BODY_NONE;
	else if (h->chunked)
		h->body = HTTP1_BODY_CHUNKED;
	else
		h->body = h->has_length ? HTTP1_BODY_LENGTH : HTTP1_BODY_CLOSE;
	if (h->body == HTTP1_BODY_CLOSE)
		h->keep_alive = false;
	return 0;
}

ssize_t http1_parse_response(const char *p, size_t len, enum http1_to to, struct http1_head *ret)
{
	struct http1_known s;
	ssize_t end = find_end(p, len, ret, parse_status_line);
	int r;

	if (end <= 0)
		return end;
	r = parse_whole(p, (size_t)end, ret, &s, parse_status_line);
	if (r < 0)
		return r;
	r = read_response(to, ret);
	return r < 0 ? r : end;
}
