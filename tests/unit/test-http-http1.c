#include "tests.h"

#include "http/http1.h"

#include <stdio.h>

#define H "Host: a.test\r\n"

static const struct {
	const char *text;
	enum http1_reason reason;
} bad_requests[] = {
	/* framing that peers read differently */
	{"POST / HTTP/1.1\r\n" H "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
	 HTTP1_LENGTH_AND_CODING},
	{"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
	 HTTP1_LENGTH_AND_CODING},
	{"POST / HTTP/1.1\r\n" H "Content-Length: 3\r\nContent-Length: 4\r\n\r\n",
	 HTTP1_LENGTH_TWICE},
	{"POST / HTTP/1.1\r\n" H "Content-Length: 3\r\nContent-Length: 3\r\n\r\n",
	 HTTP1_LENGTH_TWICE},
	{"POST / HTTP/1.1\r\n" H "Content-Length: 3, 3\r\n\r\n", HTTP1_LENGTH_BAD},
	{"POST / HTTP/1.1\r\n" H "Content-Length: +3\r\n\r\n", HTTP1_LENGTH_BAD},
	{"POST / HTTP/1.1\r\n" H "Content-Length: -3\r\n\r\n", HTTP1_LENGTH_BAD},
	{"POST / HTTP/1.1\r\n" H "Content-Length: 0x3\r\n\r\n", HTTP1_LENGTH_BAD},
	{"POST / HTTP/1.1\r\n" H "Content-Length: 3 3\r\n\r\n", HTTP1_LENGTH_BAD},
	{"POST / HTTP/1.1\r\n" H "Content-Length:\r\n\r\n", HTTP1_LENGTH_BAD},
	{"POST / HTTP/1.1\r\n" H "Content-Length: 18446744073709551619\r\n\r\n", HTTP1_LENGTH_BAD},
	{"POST / HTTP/1.1\r\n" H "Content-Length: 9223372036854775808\r\n\r\n", HTTP1_LENGTH_BAD},
	{"POST / HTTP/1.1\r\n" H "Content_Length: 3\r\n\r\n", HTTP1_NAME},
	{"POST / HTTP/1.1\r\n" H "Transfer_Encoding: chunked\r\n\r\n", HTTP1_NAME},
	{"POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip\r\n\r\n", HTTP1_CODING},
	{"POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n", HTTP1_CODING},
	{"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked, identity\r\n\r\n", HTTP1_CODING},
	{"POST / HTTP/1.1\r\n" H "Transfer-Encoding: xchunked\r\n\r\n", HTTP1_CODING},
	{"POST / HTTP/1.1\r\n" H "Transfer-Encoding: \"chunked\"\r\n\r\n", HTTP1_CODING},
	{"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked;q=1\r\n\r\n", HTTP1_CODING},
	{"POST / HTTP/1.1\r\n" H "Transfer-Encoding:\r\n\r\n", HTTP1_CODING},
	{"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
	 HTTP1_CODING},
	{"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nTransfer-encoding: x\r\n\r\n",
	 HTTP1_CODING},
	{"POST / HTTP/1.1\r\n" H "Transfer-Encoding: \vchunked\r\n\r\n", HTTP1_VALUE},
	{"POST / HTTP/1.1\r\n" H "Transfer-Encoding:\r\n chunked\r\n\r\n", HTTP1_FOLD},
	{"POST / HTTP/1.1\r\n" H "Transfer-Encoding: x\r\n\tchunked\r\n\r\n", HTTP1_FOLD},
	{"POST / HTTP/1.1\r\n" H "Transfer-Encoding : chunked\r\n\r\n", HTTP1_NAME},
	{"POST / HTTP/1.1\r\n" H "Transfer-Encoding\r\n : chunked\r\n\r\n", HTTP1_NAME},
	{"POST / HTTP/1.1\r\n" H "X: y\rTransfer-Encoding: chunked\r\n\r\n", HTTP1_BARE_CR},
	{"POST / HTTP/1.1\r\n" H "X: y\nTransfer-Encoding: chunked\r\n\r\n", HTTP1_BARE_LF},
	{"POST / HTTP/1.1\r\n" H " Transfer-Encoding: chunked\r\n\r\n", HTTP1_FOLD},
	{"POST / HTTP/1.1\r\n Transfer-Encoding: chunked\r\n" H "\r\n", HTTP1_FOLD},
	{"POST / HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n", HTTP1_CODING_OLD},
	{"POST / HTTP/1.1\r\n" H "Connection: close, content-length\r\nContent-Length: 1\r\n\r\n",
	 HTTP1_CONNECTION},
	/* lines */
	{"GET / HTTP/1.1\n" H "\r\n", HTTP1_BARE_LF},
	{"GET / HTTP/1.1\r\nHost: a.test\n\r\n", HTTP1_BARE_LF},
	{"GET / HTTP/1.1\r\n" H "\n", HTTP1_BARE_LF},
	{"GET / HTTP/1.1\r\n" H "A: b\r\r\n\r\n", HTTP1_BARE_CR},
	{"GET / HTTP/1.1\r\r\n" H "\r\n", HTTP1_BARE_CR},
	{"\r\nGET / HTTP/1.1\r\n" H "\r\n", HTTP1_METHOD},
	{"GET / HTTP/1.1\r\n" H "A: b\r\n folded\r\n\r\n", HTTP1_FOLD},
	{"GET / HTTP/1.1\r\n" H "A : b\r\n\r\n", HTTP1_NAME},
	{"GET / HTTP/1.1\r\n" H "no colon\r\n\r\n", HTTP1_NAME},
	{"GET / HTTP/1.1\r\n" H ": empty\r\n\r\n", HTTP1_NAME},
	{"GET / HTTP/1.1\r\n" H "A(b): c\r\n\r\n", HTTP1_NAME},
	{"GET / HTTP/1.1\r\n" H "A\x80: c\r\n\r\n", HTTP1_NAME},
	{"GET / HTTP/1.1\r\n" H "A: b\x01\r\n\r\n", HTTP1_VALUE},
	{"GET / HTTP/1.1\r\n" H "A: b\x7f\r\n\r\n", HTTP1_VALUE},
	/* start line */
	{"GET /\r\n" H "\r\n", HTTP1_VERSION},
	{"GET / HTTP/1.7\r\n" H "\r\n", HTTP1_VERSION},
	{"GET / HTTP/2.0\r\n" H "\r\n", HTTP1_VERSION},
	{"GET / HTTP/0.9\r\n" H "\r\n", HTTP1_VERSION},
	{"GET / http/1.1\r\n" H "\r\n", HTTP1_VERSION},
	{"GET / HTTP/1.1 \r\n" H "\r\n", HTTP1_VERSION},
	{"GET / HTTP/1.10\r\n" H "\r\n", HTTP1_VERSION},
	{"GET  / HTTP/1.1\r\n" H "\r\n", HTTP1_TARGET},
	{"GET /  HTTP/1.1\r\n" H "\r\n", HTTP1_VERSION},
	{"GET\t/ HTTP/1.1\r\n" H "\r\n", HTTP1_METHOD},
	{" GET / HTTP/1.1\r\n" H "\r\n", HTTP1_METHOD},
	{"GE(T / HTTP/1.1\r\n" H "\r\n", HTTP1_METHOD},
	{"GET\r\n" H "\r\n", HTTP1_METHOD},
	{"ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG / HTTP/1.1\r\n" H "\r\n", HTTP1_METHOD},
	{"GET /a#b HTTP/1.1\r\n" H "\r\n", HTTP1_TARGET},
	{"GET /a\x80 HTTP/1.1\r\n" H "\r\n", HTTP1_TARGET},
	{"GET /a\tb HTTP/1.1\r\n" H "\r\n", HTTP1_TARGET},
	{"GET a.test HTTP/1.1\r\n" H "\r\n", HTTP1_TARGET},
	{"GET * HTTP/1.1\r\n" H "\r\n", HTTP1_TARGET},
	{"GET a.test:80 HTTP/1.1\r\n" H "\r\n", HTTP1_TARGET},
	{"GET ftp://a.test/ HTTP/1.1\r\n" H "\r\n", HTTP1_TARGET},
	{"GET http://u:p@a.test/ HTTP/1.1\r\n" H "\r\n", HTTP1_TARGET},
	{"CONNECT / HTTP/1.1\r\n" H "\r\n", HTTP1_TARGET},
	{"CONNECT a.test HTTP/1.1\r\n" H "\r\n", HTTP1_TARGET},
	{"CONNECT http://a.test:443 HTTP/1.1\r\n" H "\r\n", HTTP1_TARGET},
	{"CONNECT a.test:0 HTTP/1.1\r\n" H "\r\n", HTTP1_TARGET},
	{"CONNECT a.test:65536 HTTP/1.1\r\n" H "\r\n", HTTP1_TARGET},
	{"CONNECT u@a.test:443 HTTP/1.1\r\n" H "\r\n", HTTP1_TARGET},
	{"CONNECT a.test:443 HTTP/1.1\r\n" H "Content-Length: 1\r\n\r\n", HTTP1_CONNECT_BODY},
	{"CONNECT a.test:443 HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n",
	 HTTP1_CONNECT_BODY},
	{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HTTP1_VERSION},
	/* host */
	{"GET / HTTP/1.1\r\n\r\n", HTTP1_HOST_MISSING},
	{"GET / HTTP/1.1\r\n" H H "\r\n", HTTP1_HOST_TWICE},
	{"GET / HTTP/1.1\r\n" H "host: b.test\r\n\r\n", HTTP1_HOST_TWICE},
	{"GET / HTTP/1.1\r\nHost:\r\n\r\n", HTTP1_HOST_BAD},
	{"GET / HTTP/1.1\r\nHost: a.test, b.test\r\n\r\n", HTTP1_HOST_BAD},
	{"GET / HTTP/1.1\r\nHost: a.test b.test\r\n\r\n", HTTP1_HOST_BAD},
	{"GET / HTTP/1.1\r\nHost: u@a.test\r\n\r\n", HTTP1_HOST_BAD},
	{"GET / HTTP/1.1\r\nHost: a.test:\r\n\r\n", HTTP1_HOST_BAD},
	{"GET / HTTP/1.1\r\nHost: a.test:080\r\n\r\n", HTTP1_HOST_BAD},
	{"GET / HTTP/1.1\r\nHost: a.test/x\r\n\r\n", HTTP1_HOST_BAD},
	{"GET / HTTP/1.1\r\nHost: a%2etest\r\n\r\n", HTTP1_HOST_BAD},
	{"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", HTTP1_HOST_BAD},
	{"GET / HTTP/1.1\r\nHost: ::1\r\n\r\n", HTTP1_HOST_BAD},
	{"GET http://b.test/ HTTP/1.1\r\n" H "\r\n", HTTP1_HOST_DIFFERS},
	{"GET http://a.test:81/ HTTP/1.1\r\n" H "\r\n", HTTP1_HOST_DIFFERS},
	{"GET http://a.test/ HTTP/1.1\r\nHost: a.test:443\r\n\r\n", HTTP1_HOST_DIFFERS},
	{"CONNECT a.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n", HTTP1_HOST_DIFFERS},
	{"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:80\r\n\r\n", HTTP1_HOST_DIFFERS},
	{"GET / HTTP/1.1\r\n" H "Connection: host\r\n\r\n", HTTP1_CONNECTION},
	{"GET / HTTP/1.1\r\n" H "Connection: a b\r\n\r\n", HTTP1_CONNECTION},
	{"GET / HTTP/1.1\r\n" H "Connection: \"x\"\r\n\r\n", HTTP1_CONNECTION},
	{"GET / HTTP/1.1\r\n" H "Expect: 200-ok\r\n\r\n", HTTP1_EXPECT},
	{"GET / HTTP/1.1\r\n" H "Upgrade: a\r\nUpgrade: b\r\n\r\n", HTTP1_UPGRADE},
};

static const char *const good_requests[] = {
	"GET / HTTP/1.1\r\n" H "\r\n",
	"GET /a?b=c&d HTTP/1.1\r\nhOsT:a.test:8080\r\nX-Empty:\r\nY: \t z \t\r\n\r\n",
	"GET http://a.test/x?y HTTP/1.1\r\nHost: A.TEST:80\r\nProxy-Connection: keep-alive\r\n\r\n",
	"GET http://a.test HTTP/1.1\r\n" H "\r\n",
	"GET http://a.test?q HTTP/1.1\r\n" H "\r\n",
	"GET https://[2001:db8::1]:8443/ HTTP/1.1\r\nHost: [2001:DB8::1]:8443\r\n\r\n",
	"GET http://a.test/ HTTP/1.0\r\n\r\n",
	"GET / HTTP/1.0\r\n" H "Connection: keep-alive\r\n\r\n",
	"OPTIONS * HTTP/1.1\r\n" H "\r\n",
	"OPTIONS http://a.test HTTP/1.1\r\n" H "\r\n",
	"POST /p HTTP/1.1\r\n" H "Content-Length: 007\r\nExpect: 100-Continue\r\n\r\n",
	"POST /p HTTP/1.1\r\n" H
	"Transfer-Encoding: Chunked\r\nTrailer: x-sum\r\nTE: trailers\r\n\r\n",
	"GET /ws HTTP/1.1\r\n" H "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n",
	"GET / HTTP/1.1\r\n" H "Connection: close,, x-hop ,\r\nX-Hop: 1\r\nX-End: 2\r\n\r\n",
	"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\nContent-Length: 0\r\n\r\n",
	"CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]\r\n\r\n",
	"!#$%&'*+-.^_`|~09azAZ /{}|\\^\"<> HTTP/1.1\r\n" H "X: caf\xc3\xa9\r\n\r\n",
};

static ssize_t parse(const char *text, struct http1_head *h)
{
	http1_reset(h);
	return http1_parse_request(text, strlen(text), h);
}

static void parse_ok(const char *text, struct http1_head *h)
{
	assert_int_equal(parse(text, h), strlen(text));
}

static void request_that_is_ambiguous_is_refused(void **state)
{
	struct http1_head h;

	for (size_t i = 0; i < ARRAY_SIZE(bad_requests); i++) {
		ssize_t r = parse(bad_requests[i].text, &h);

		if (r != -(ssize_t)bad_requests[i].reason)
			fail_msg("row %zu: %zd (%s): %s", i, r, http1_reason_str((int)r),
				 bad_requests[i].text);
		assert_in_range(http1_reason_status((int)r), 400, 505);
	}
}

static void request_that_is_bad_stays_bad_at_every_split(void **state)
{
	struct http1_head h;

	for (size_t i = 0; i < ARRAY_SIZE(bad_requests); i++) {
		const char *text = bad_requests[i].text;
		ssize_t r = 0;

		http1_reset(&h);
		for (size_t n = 0; n <= strlen(text) && r == 0; n++)
			r = http1_parse_request(text, n, &h);
		assert_true(r < 0);
	}
}

static void assert_same_slice(const char *base, struct slice a, const char *other, struct slice b)
{
	assert_int_equal(a.n, b.n);
	assert_int_equal(a.p ? a.p - base : -1, b.p ? b.p - other : -1);
}

/* Every call gets the bytes at another address, as a buffer that grows would give them. */
static void request_gives_the_same_at_every_split(void **state)
{
	struct http1_head whole, split;

	for (size_t i = 0; i < ARRAY_SIZE(good_requests); i++) {
		const char *text = good_requests[i];
		size_t len = strlen(text);

		if (parse(text, &whole) != (ssize_t)len)
			fail_msg("row %zu: %zd", i, parse(text, &whole));
		for (size_t cut = 0; cut < len; cut++) {
			cleanup_free char *first = xmalloc(cut + 1), *all = xmalloc(len);

			memcpy(first, text, cut);
			memcpy(all, text, len);
			http1_reset(&split);
			assert_int_equal(http1_parse_request(first, cut, &split), 0);
			assert_int_equal(http1_parse_request(all, len, &split), len);
			assert_int_equal(split.body, whole.body);
			assert_int_equal(split.keep_alive, whole.keep_alive);
			assert_int_equal(split.n_fields, whole.n_fields);
			assert_same_slice(all, split.target, text, whole.target);
			assert_same_slice(all, split.url.query, text, whole.url.query);
			for (size_t f = 0; f < whole.n_fields; f++) {
				assert_same_slice(all, split.fields[f].name, text,
						  whole.fields[f].name);
				assert_same_slice(all, split.fields[f].value, text,
						  whole.fields[f].value);
			}
		}
	}
}

static void request_bytes_behind_the_head_are_left_alone(void **state)
{
	struct http1_head h;
	const char *text = "GET / HTTP/1.1\r\n" H "\r\nGET /two HTTP/1.1\r\n" H "\r\n";
	ssize_t r = parse(text, &h);

	assert_int_equal(r, 32);
	assert_true(http1_parse_request(text + r, strlen(text) - (size_t)r, &h) > 0);
	assert_true(slice_is(h.url.path, "/two"));
}

static void request_line_without_version_is_refused_before_the_head_ends(void **state)
{
	struct http1_head h;

	assert_int_equal(parse("GET /\r\n", &h), -HTTP1_VERSION);
}

static void request_parts_are_what_was_sent(void **state)
{
	struct http1_head h;

	parse_ok("GET https://[2001:db8::1]:8443/p?q HTTP/1.1\r\nHost: [2001:db8::1]:8443\r\n\r\n",
		 &h);
	assert_int_equal(h.form, HTTP1_ABSOLUTE);
	assert_int_equal(h.url.scheme, URL_HTTPS);
	assert_true(slice_is(h.url.authority.host, "2001:db8::1"));
	assert_int_equal(h.url.authority.port, 8443);
	assert_true(slice_is(h.url.path, "/p"));
	assert_true(slice_is(h.url.query, "q"));
	assert_int_equal(h.body, HTTP1_BODY_NONE);
	assert_true(h.keep_alive);

	parse_ok(good_requests[10], &h);
	assert_int_equal(h.body, HTTP1_BODY_LENGTH);
	assert_int_equal(h.length, 7);
	assert_true(h.expect_continue);

	parse_ok(good_requests[12], &h);
	assert_true(h.websocket);
	parse_ok("GET / HTTP/1.1\r\n" H "Upgrade: websocket\r\n\r\n", &h);
	assert_false(h.websocket);
	assert_null(h.upgrade.p);

	parse_ok(good_requests[13], &h);
	assert_false(h.keep_alive);
	assert_true(http1_find(&h, "x-hop")->hop);
	assert_false(http1_find(&h, "x-end")->hop);
	parse_ok("GET / HTTP/1.0\r\n\r\n", &h);
	assert_false(h.keep_alive);
}

static void request_beyond_a_limit_is_refused(void **state)
{
	cleanup_buf struct buf b;
	struct http1_head h;

	buf_init(&b, 200 * KiB);
	(void)buf_puts(&b, "GET / HTTP/1.1\r\n" H);
	for (int i = 0; i < HTTP1_FIELDS_MAX; i++)
		(void)buf_puts(&b, "a: b\r\n");
	(void)buf_puts(&b, "\r\n");
	assert_int_equal(parse(buf_str(&b), &h), -HTTP1_FIELDS_MANY);

	buf_clear(&b);
	(void)buf_puts(&b, "GET /");
	while (b.len < HTTP1_TARGET_MAX + 5)
		(void)buf_putc(&b, 'x');
	(void)buf_puts(&b, " HTTP/1.1\r\n" H "\r\n");
	assert_int_equal(parse(buf_str(&b), &h), -HTTP1_TARGET_LONG);

	buf_clear(&b);
	(void)buf_puts(&b, "GET / HTTP/1.1\r\n" H "X: ");
	while (b.len < HTTP1_HEAD_MAX - 1)
		(void)buf_putc(&b, 'x');
	assert_int_equal(parse(buf_str(&b), &h), 0);
	(void)buf_putc(&b, 'x');
	assert_int_equal(parse(buf_str(&b), &h), -HTTP1_HEAD_LONG);

	buf_clear(&b);
	(void)buf_puts(&b, "GET / HTTP/1.1\r\n" H);
	for (int i = 0; i <= HTTP1_NAME_MAX; i++)
		(void)buf_putc(&b, 'n');
	(void)buf_puts(&b, ": v\r\n\r\n");
	assert_int_equal(parse(buf_str(&b), &h), -HTTP1_NAME);
}

static void request_with_nul_is_refused(void **state)
{
	static const char value[] = "GET / HTTP/1.1\r\n" H "A: b\0c\r\n\r\n";
	static const char name[] = "GET / HTTP/1.1\r\n" H "A\0: bc\r\n\r\n";
	static const char target[] = "GET /\0 HTTP/1.1\r\n" H "\r\n";
	struct http1_head h = {0};

	assert_int_equal(http1_parse_request(value, sizeof(value) - 1, &h), -HTTP1_VALUE);
	http1_reset(&h);
	assert_int_equal(http1_parse_request(name, sizeof(name) - 1, &h), -HTTP1_NAME);
	http1_reset(&h);
	assert_int_equal(http1_parse_request(target, sizeof(target) - 1, &h), -HTTP1_TARGET);
}

#define R "HTTP/1.1 200 OK\r\n"

static const struct {
	const char *text;
	enum http1_to to;
	enum http1_body body;
	bool keep_alive;
} good_responses[] = {
	{R "Content-Length: 5\r\n\r\n", HTTP1_TO_OTHER, HTTP1_BODY_LENGTH, true},
	{R "Content-Length: 5\r\n\r\n", HTTP1_TO_HEAD, HTTP1_BODY_NONE, true},
	{R "Transfer-Encoding: chunked\r\n\r\n", HTTP1_TO_OTHER, HTTP1_BODY_CHUNKED, true},
	{R "Transfer-Encoding: chunked\r\n\r\n", HTTP1_TO_HEAD, HTTP1_BODY_NONE, true},
	{R "Transfer-Encoding: chunked\r\n\r\n", HTTP1_TO_CONNECT, HTTP1_BODY_TUNNEL, true},
	{R "\r\n", HTTP1_TO_OTHER, HTTP1_BODY_CLOSE, false},
	{R "\r\n", HTTP1_TO_CONNECT, HTTP1_BODY_TUNNEL, true},
	{"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", HTTP1_TO_OTHER, HTTP1_BODY_LENGTH, false},
	{"HTTP/1.1 100 Continue\r\n\r\n", HTTP1_TO_OTHER, HTTP1_BODY_NONE, true},
	{"HTTP/1.1 101 Go\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", HTTP1_TO_OTHER,
	 HTTP1_BODY_TUNNEL, true},
	{"HTTP/1.1 204 None\r\nContent-Length: 0\r\n\r\n", HTTP1_TO_OTHER, HTTP1_BODY_NONE, true},
	{"HTTP/1.1 304 \r\nContent-Length: 9\r\n\r\n", HTTP1_TO_OTHER, HTTP1_BODY_NONE, true},
	{"HTTP/1.1 404\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", HTTP1_TO_CONNECT,
	 HTTP1_BODY_LENGTH, false},
};

static void response_body_follows_from_status_request_and_fields(void **state)
{
	struct http1_head h;

	for (size_t i = 0; i < ARRAY_SIZE(good_responses); i++) {
		const char *text = good_responses[i].text;
		ssize_t r = 0;

		http1_reset(&h);
		for (size_t n = 0; n <= strlen(text); n++) {
			r = http1_parse_response(text, n, good_responses[i].to, &h);
			if (n < strlen(text) && r != 0)
				fail_msg("row %zu at %zu: %zd", i, n, r);
		}
		assert_int_equal(r, strlen(text));
		assert_int_equal(h.body, good_responses[i].body);
		assert_int_equal(h.keep_alive, good_responses[i].keep_alive);
	}
}

static void response_that_is_ambiguous_is_refused(void **state)
{
	static const struct {
		const char *text;
		enum http1_reason reason;
	} rows[] = {
		{R "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		 HTTP1_LENGTH_AND_CODING},
		{R "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", HTTP1_LENGTH_TWICE},
		{R "Transfer-Encoding: gzip, chunked\r\n\r\n", HTTP1_CODING},
		{"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP1_CODING_OLD},
		{"HTTP/1.1 204 N\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP1_CODING_NO_BODY},
		{"HTTP/1.1 100 C\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP1_CODING_NO_BODY},
		{"HTTP/1.1 099 C\r\n\r\n", HTTP1_STATUS},
		{"HTTP/1.1 600 C\r\n\r\n", HTTP1_STATUS},
		{"HTTP/1.1 20 C\r\n\r\n", HTTP1_STATUS},
		{"HTTP/1.1 2000 C\r\n\r\n", HTTP1_STATUS},
		{"HTTP/1.1  200 C\r\n\r\n", HTTP1_STATUS},
		{"HTTP/1.1 200 C\x01\r\n\r\n", HTTP1_STATUS},
		{"HTTP/1.0 101 C\r\n\r\n", HTTP1_STATUS},
		{"HTTP/2 200\r\n\r\n", HTTP1_VERSION},
		{"ICY 200 OK\r\n\r\n", HTTP1_VERSION},
		{R "A: b\n\r\n", HTTP1_BARE_LF},
		{R "A: b\r\n c\r\n\r\n", HTTP1_FOLD},
	};
	struct http1_head h;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ssize_t r;

		http1_reset(&h);
		r = http1_parse_response(rows[i].text, strlen(rows[i].text), HTTP1_TO_OTHER, &h);
		if (r != -(ssize_t)rows[i].reason)
			fail_msg("row %zu: %zd", i, r);
	}
}

static void assert_writes(const char *in, const struct http1_edit *e, const char *want)
{
	cleanup_buf struct buf out;
	struct http1_head h;

	buf_init(&out, 4096);
	parse_ok(in, &h);
	assert_int_equal(http1_write_request(&out, &h, e), 0);
	assert_string_equal(buf_str(&out), want);
}

static void write_request_drops_hop_by_hop_fields(void **state)
{
	static const struct http1_edit plain;

	assert_writes("POST http://a.test/p?q HTTP/1.1\r\nhost: a.test\r\nConnection: x-hop, "
		      "keep-alive\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nProxy-Connection: x\r\n"
		      "Proxy-Authorization: Basic eA==\r\nTE: trailers\r\nUpgrade: h2c\r\n"
		      "HTTP2-Settings: x\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\n"
		      "Accept:  */* \r\n\r\n",
		      &plain,
		      "POST /p?q HTTP/1.1\r\nHost: a.test\r\nTrailer: x-sum\r\nAccept: */*\r\n"
		      "Transfer-Encoding: chunked\r\n\r\n");
	assert_writes("OPTIONS http://a.test HTTP/1.1\r\n" H "\r\n", &plain,
		      "OPTIONS * HTTP/1.1\r\n" H "\r\n");
	assert_writes("GET http://a.test?q HTTP/1.1\r\n" H "\r\n", &plain,
		      "GET /?q HTTP/1.1\r\n" H "\r\n");
}

static void write_request_sets_a_credential_exactly_once(void **state)
{
	const struct http1_set set[] = {{slice_of("Authorization"), slice_of("Bearer real")}};
	const struct slice drop[] = {slice_of("x-api-key")};
	const struct http1_edit e = {
		.set = set,
		.n_set = 1,
		.drop = drop,
		.n_drop = 1,
		.host = slice_of("b.test:8443"),
		.target = slice_of("/v1/messages"),
		.close = true,
	};

	assert_writes(
		"POST /_ralph/x HTTP/1.1\r\n" H "authorization: a\r\nX-API-Key: b\r\n"
		"AUTHORIZATION: c\r\nContent-Length: 0\r\n\r\n",
		&e,
		"POST /v1/messages HTTP/1.1\r\nHost: b.test:8443\r\nAuthorization: Bearer real\r\n"
		"Content-Length: 0\r\nConnection: close\r\n\r\n");
}

static void write_request_can_speak_to_a_proxy_and_upgrade(void **state)
{
	const struct http1_edit proxy = {.target_prefix = slice_of("http://a.test:80")};
	const struct http1_edit upgrade = {.keep_upgrade = true};

	assert_writes("GET /x HTTP/1.1\r\n" H "\r\n", &proxy,
		      "GET http://a.test:80/x HTTP/1.1\r\n" H "\r\n");
	assert_writes(good_requests[12], &upgrade,
		      "GET /ws HTTP/1.1\r\n" H "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
}

static void write_request_refuses_an_edit_that_would_forge_lines(void **state)
{
	const struct http1_set forged[] = {{slice_of("A"), slice_of("b\r\nC: d")}};
	const struct http1_set framing[] = {{slice_of("content-length"), slice_of("1")}};
	const struct http1_edit edits[] = {
		{.set = forged, .n_set = 1},
		{.set = framing, .n_set = 1},
		{.host = slice_of("a b")},
		{.target = slice_of("/a b")},
		{.target = slice_of("http://x")},
		{.target_prefix = slice_of("http://a/b")},
		{.reframe = true, .body = HTTP1_BODY_CLOSE},
	};
	cleanup_buf struct buf out;
	struct http1_head h;

	buf_init(&out, 4096);
	parse_ok("GET / HTTP/1.1\r\n" H "\r\n", &h);
	for (size_t i = 0; i < ARRAY_SIZE(edits); i++)
		assert_int_equal(http1_write_request(&out, &h, &edits[i]), -EINVAL);
	assert_int_equal(out.len, 0);
	parse_ok("GET / HTTP/1.0\r\n\r\n", &h);
	assert_int_equal(http1_write_request(&out, &h, &(struct http1_edit){0}), -EINVAL);
}

static void write_request_leaves_a_full_buffer_as_it_was(void **state)
{
	cleanup_buf struct buf out;
	struct http1_head h;

	buf_init(&out, 20);
	(void)buf_puts(&out, "before");
	parse_ok("GET / HTTP/1.1\r\n" H "\r\n", &h);
	assert_int_equal(http1_write_request(&out, &h, &(struct http1_edit){0}), -ENOBUFS);
	assert_string_equal(buf_str(&out), "before");
}

static void write_response_frames_from_the_parsed_form(void **state)
{
	static const struct {
		const char *in;
		enum http1_to to;
		struct http1_edit e;
		const char *want;
	} rows[] = {
		{R "content-length: 05\r\nX: y\r\n\r\n",
		 HTTP1_TO_OTHER,
		 {.close = false},
		 R "X: y\r\nContent-Length: 5\r\n\r\n"},
		{R "Content-Length: 5\r\n\r\n",
		 HTTP1_TO_HEAD,
		 {.close = false},
		 R "Content-Length: 5\r\n\r\n"},
		{"HTTP/1.1 204 \r\nContent-Length: 0\r\n\r\n",
		 HTTP1_TO_OTHER,
		 {.close = false},
		 "HTTP/1.1 204 \r\n\r\n"},
		{"HTTP/1.0 200 OK\r\n\r\n",
		 HTTP1_TO_OTHER,
		 {.close = false},
		 R "Connection: close\r\n\r\n"},
		{"HTTP/1.0 200 OK\r\n\r\n",
		 HTTP1_TO_OTHER,
		 {.reframe = true, .body = HTTP1_BODY_CHUNKED},
		 R "Transfer-Encoding: chunked\r\n\r\n"},
	};
	struct http1_head h;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_buf struct buf out;

		buf_init(&out, 4096);
		http1_reset(&h);
		assert_true(http1_parse_response(rows[i].in, strlen(rows[i].in), rows[i].to, &h) >
			    0);
		assert_int_equal(http1_write_response(&out, &h, &rows[i].e), 0);
		assert_string_equal(buf_str(&out), rows[i].want);
	}
}

static void write_then_parse_is_a_fixed_point(void **state)
{
	struct http1_head h;

	for (size_t i = 0; i < ARRAY_SIZE(good_requests); i++) {
		cleanup_buf struct buf one, two;

		buf_init(&one, 4096);
		buf_init(&two, 4096);
		parse_ok(good_requests[i], &h);
		assert_int_equal(http1_write_request(&one, &h, &(struct http1_edit){0}), 0);
		parse_ok(buf_str(&one), &h);
		assert_int_equal(http1_write_request(&two, &h, &(struct http1_edit){0}), 0);
		assert_string_equal(buf_str(&one), buf_str(&two));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_that_is_ambiguous_is_refused),
		cmocka_unit_test(request_that_is_bad_stays_bad_at_every_split),
		cmocka_unit_test(request_gives_the_same_at_every_split),
		cmocka_unit_test(request_bytes_behind_the_head_are_left_alone),
		cmocka_unit_test(request_line_without_version_is_refused_before_the_head_ends),
		cmocka_unit_test(request_parts_are_what_was_sent),
		cmocka_unit_test(request_beyond_a_limit_is_refused),
		cmocka_unit_test(request_with_nul_is_refused),
		cmocka_unit_test(response_body_follows_from_status_request_and_fields),
		cmocka_unit_test(response_that_is_ambiguous_is_refused),
		cmocka_unit_test(write_request_drops_hop_by_hop_fields),
		cmocka_unit_test(write_request_sets_a_credential_exactly_once),
		cmocka_unit_test(write_request_can_speak_to_a_proxy_and_upgrade),
		cmocka_unit_test(write_request_refuses_an_edit_that_would_forge_lines),
		cmocka_unit_test(write_request_leaves_a_full_buffer_as_it_was),
		cmocka_unit_test(write_response_frames_from_the_parsed_form),
		cmocka_unit_test(write_then_parse_is_a_fixed_point),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
