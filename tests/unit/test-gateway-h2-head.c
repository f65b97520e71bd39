#include "tests.h"

#include "gateway/parse/h2-head.h"

#include <string.h>

struct pair {
	const char *name, *value;
};

#define PSEUDO                                                                                     \
	{":method", "GET"}, {":scheme", "https"}, {":authority", "a.test"},                        \
	{                                                                                          \
		":path", "/x?q"                                                                    \
	}
#define FIELDS_MAX 12

/* The head of these fields in HTTP/1.1 into out, or -h2_reason. */
static int translate(enum h2_kind kind, const struct pair *fields, bool last, bool to_head,
		     struct buf *out, enum h2_frames *frames)
{
	struct h2_head h;
	int r = 0;

	h2_head_init(&h, kind, true);
	for (size_t i = 0; i < FIELDS_MAX && fields[i].name && r == 0; i++)
		r = h2_head_field(&h, slice_of(fields[i].name), slice_of(fields[i].value));
	if (r == 0)
		r = h2_head_put(&h, last, to_head, out, frames);
	h2_head_done(&h);
	return r;
}

static void a_request_becomes_one_of_http1(void **state)
{
	static const struct {
		struct pair fields[FIELDS_MAX];
		bool last;
		const char *want;
	} rows[] = {
		{{PSEUDO}, true, "GET /x?q HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"},
		{{PSEUDO, {"x-a", "1"}, {"x-a", "2"}, {"te", "trailers"}},
		 true,
		 "GET /x?q HTTP/1.1\r\nHost: a.test\r\nx-a: 1\r\nx-a: 2\r\nConnection: "
		 "close\r\n\r\n"},
		{{PSEUDO, {"cookie", "a=1"}, {"cookie", "b=2"}},
		 true,
		 "GET /x?q HTTP/1.1\r\nHost: a.test\r\ncookie: a=1; b=2\r\nConnection: "
		 "close\r\n\r\n"},
		{{PSEUDO, {"content-length", "5"}},
		 false,
		 "GET /x?q HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nConnection: "
		 "close\r\n\r\n"},
		{{PSEUDO},
		 false,
		 "GET /x?q HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n"
		 "Connection: close\r\n\r\n"},
		{{{":method", "GET"}, {":scheme", "https"}, {":path", "/"}, {"host", "b.test"}},
		 true,
		 "GET / HTTP/1.1\r\nHost: b.test\r\nConnection: close\r\n\r\n"},
		{{{":method", "OPTIONS"},
		  {":scheme", "https"},
		  {":path", "*"},
		  {":authority", "b.test"}},
		 true,
		 "OPTIONS * HTTP/1.1\r\nHost: b.test\r\nConnection: close\r\n\r\n"},
		{{{":method", "CONNECT"}, {":authority", "b.test:1"}},
		 false,
		 "CONNECT b.test:1 HTTP/1.1\r\nHost: b.test:1\r\nConnection: close\r\n\r\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_buf struct buf out;
		enum h2_frames frames;

		buf_init(&out, 4096);
		assert_int_equal(
			translate(H2_REQUEST, rows[i].fields, rows[i].last, false, &out, &frames),
			0);
		assert_string_equal(buf_str(&out), rows[i].want);
	}
}

static void a_request_that_http1_could_read_differently_is_refused(void **state)
{
	static const struct {
		struct pair fields[FIELDS_MAX];
		enum h2_reason reason;
	} rows[] = {
		{{PSEUDO, {"X-A", "1"}}, H2_NAME},
		{{PSEUDO, {"x a", "1"}}, H2_NAME},
		{{PSEUDO, {"", "1"}}, H2_NAME},
		{{PSEUDO, {"x:a", "1"}}, H2_NAME},
		{{PSEUDO, {"x-a", "1\r\nx-b: 2"}}, H2_VALUE},
		{{PSEUDO, {"x-a", "1\n"}}, H2_VALUE},
		{{PSEUDO, {"x-a", " 1"}}, H2_VALUE},
		{{PSEUDO, {"x-a", "1\t"}}, H2_VALUE},
		{{PSEUDO, {":path", "/y"}}, H2_PSEUDO},
		{{PSEUDO, {"a", "b"}, {":path", "/y"}}, H2_PSEUDO},
		{{PSEUDO, {":status", "200"}}, H2_PSEUDO},
		{{PSEUDO, {":protocol", "websocket"}}, H2_PSEUDO},
		{{{":method", "GET"}, {":method", "GET"}}, H2_PSEUDO},
		{{{":scheme", "https"}, {":scheme", "https"}}, H2_PSEUDO},
		{{{":method", "GET"}, {":scheme", "https"}, {":authority", "a.test"}}, H2_PSEUDO},
		{{{":scheme", "https"}, {":path", "/"}, {":authority", "a.test"}}, H2_PSEUDO},
		{{{":method", "CONNECT"}, {":authority", "a.test:1"}, {":path", "/"}}, H2_PSEUDO},
		{{{":scheme", "http"}}, H2_TARGET},
		{{{":method", "GE T"}}, H2_TARGET},
		{{{":method", "GET"},
		  {":scheme", "https"},
		  {":authority", "a.test"},
		  {":path", "x"}},
		 H2_TARGET},
		{{{":method", "GET"},
		  {":scheme", "https"},
		  {":authority", "a.test"},
		  {":path", "/ x"}},
		 H2_TARGET},
		{{{":method", "GET"},
		  {":scheme", "https"},
		  {":authority", "a.test"},
		  {":path", "*"}},
		 H2_TARGET},
		{{{":authority", "u@a.test"}}, H2_HOST},
		{{{":method", "GET"}, {":scheme", "https"}, {":path", "/"}}, H2_HOST},
		{{PSEUDO, {"host", "b.test"}}, H2_HOST},
		{{PSEUDO, {"host", "a.test"}, {"host", "a.test"}}, H2_HOST},
		{{PSEUDO, {"connection", "close"}}, H2_HOP},
		{{PSEUDO, {"keep-alive", "1"}}, H2_HOP},
		{{PSEUDO, {"proxy-connection", "x"}}, H2_HOP},
		{{PSEUDO, {"transfer-encoding", "chunked"}}, H2_HOP},
		{{PSEUDO, {"upgrade", "x"}}, H2_HOP},
		{{PSEUDO, {"http2-settings", "x"}}, H2_HOP},
		{{PSEUDO, {"te", "gzip"}}, H2_HOP},
		{{PSEUDO, {"content-length", "5"}}, H2_LENGTH},
		{{PSEUDO, {"content-length", ""}}, H2_LENGTH},
		{{PSEUDO, {"content-length", "+5"}}, H2_LENGTH},
		{{PSEUDO, {"content-length", "99999999999999999999"}}, H2_LENGTH},
		{{PSEUDO, {"content-length", "0"}, {"content-length", "0"}}, H2_LENGTH},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_buf struct buf out;
		enum h2_frames frames;
		int r;

		buf_init(&out, 4096);
		r = translate(H2_REQUEST, rows[i].fields, true, false, &out, &frames);
		if (r != -(int)rows[i].reason)
			fail_msg("row %zu: %s", i, h2_reason_str(r));
	}
}

static void an_answer_becomes_one_of_http1(void **state)
{
	static const struct {
		struct pair fields[FIELDS_MAX];
		bool last, to_head;
		int r;
		const char *want;
	} rows[] = {
		{{{":status", "200"}, {"a", "b"}},
		 false,
		 false,
		 0,
		 "HTTP/1.1 200 \r\na: b\r\nTransfer-Encoding: chunked\r\nConnection: "
		 "close\r\n\r\n"},
		{{{":status", "200"}, {"content-length", "3"}},
		 false,
		 false,
		 0,
		 "HTTP/1.1 200 \r\nContent-Length: 3\r\nConnection: close\r\n\r\n"},
		{{{":status", "200"}, {"content-length", "3"}},
		 true,
		 true,
		 0,
		 "HTTP/1.1 200 \r\nContent-Length: 3\r\nConnection: close\r\n\r\n"},
		{{{":status", "204"}, {"content-length", "0"}},
		 true,
		 false,
		 0,
		 "HTTP/1.1 204 \r\nConnection: close\r\n\r\n"},
		{{{":status", "103"}, {"link", "x"}},
		 false,
		 false,
		 0,
		 "HTTP/1.1 103 \r\nlink: x\r\n\r\n"},
		{{{":status", "200"}, {"content-length", "3"}}, true, false, -H2_LENGTH, ""},
		{{{":status", "100"}}, true, false, -H2_LENGTH, ""},
		{{{":status", "101"}}, false, false, -H2_STATUS, ""},
		{{{":status", "20"}}, false, false, -H2_STATUS, ""},
		{{{":status", "2x0"}}, false, false, -H2_STATUS, ""},
		{{{":status", "999"}}, false, false, -H2_STATUS, ""},
		{{{":status", "200"}, {":status", "200"}}, false, false, -H2_PSEUDO, ""},
		{{{"a", "b"}}, false, false, -H2_PSEUDO, ""},
		{{{":status", "200"}, {"te", "trailers"}}, false, false, -H2_HOP, ""},
		{{{":status", "200"}, {"host", "x"}}, false, false, -H2_HOST, ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_buf struct buf out;
		enum h2_frames frames;

		buf_init(&out, 4096);
		assert_int_equal(translate(H2_RESPONSE, rows[i].fields, rows[i].last,
					   rows[i].to_head, &out, &frames),
				 rows[i].r);
		assert_string_equal(buf_str(&out), rows[i].want);
	}
}

static void trailers_have_no_pseudo_field_and_no_length(void **state)
{
	struct h2_head h;

	h2_head_init(&h, H2_TRAILERS, true);
	assert_int_equal(h2_head_field(&h, slice_of("grpc-status"), slice_of("0")), 0);
	assert_string_equal(buf_str(&h.text), "grpc-status: 0\r\n");
	assert_int_equal(h2_head_field(&h, slice_of(":status"), slice_of("200")), -H2_PSEUDO);
	assert_int_equal(h2_head_field(&h, slice_of("content-length"), slice_of("1")), -H2_LENGTH);
	h2_head_done(&h);
}

static void a_head_above_64_kib_is_refused(void **state)
{
	char value[1000];
	struct h2_head h;
	int r = 0, n = 0;

	memset(value, 'x', sizeof(value));
	h2_head_init(&h, H2_REQUEST, true);
	while (r == 0 && n++ < 100)
		r = h2_head_field(&h, slice_of("a"), (struct slice){value, sizeof(value)});
	assert_int_equal(r, -H2_LONG);
	assert_in_range(n, 60, 64);
	h2_head_done(&h);
	assert_string_equal(h2_reason_str(-99), h2_reason_str(H2_PSEUDO));
}

static void check_field(const struct h2_fields *f, size_t i, const char *name, const char *value)
{
	assert_true(i < f->n);
	assert_true(
		slice_eq((struct slice){(char *)f->nv[i].name, f->nv[i].namelen}, slice_of(name)));
	assert_true(slice_eq((struct slice){(char *)f->nv[i].value, f->nv[i].valuelen},
			     slice_of(value)));
}

static void a_request_of_http1_becomes_fields(void **state)
{
	static const char text[] = "POST /a?b HTTP/1.1\r\nHost: a.test:1\r\nX-Big: Yes\r\n"
				   "Content-Type: application/grpc+proto\r\nKeep-Alive: 1\r\n"
				   "Content-Length: 7\r\n\r\n";
	struct http1_head h;
	struct h2_fields f;

	http1_reset(&h);
	assert_true(http1_parse_request(text, sizeof(text) - 1, &h) > 0);
	h2_fields_init(&f);
	h2_fields_request(&f, &h, true);
	assert_int_equal(f.n, 8);
	check_field(&f, 0, ":method", "POST");
	check_field(&f, 1, ":scheme", "https");
	check_field(&f, 2, ":authority", "a.test:1");
	check_field(&f, 3, ":path", "/a?b");
	check_field(&f, 4, "x-big", "Yes");
	check_field(&f, 5, "content-type", "application/grpc+proto");
	check_field(&f, 6, "content-length", "7");
	check_field(&f, 7, "te", "trailers");
	h2_fields_done(&f);
}

static void an_answer_of_http1_and_its_trailers_become_fields(void **state)
{
	static const char text[] = "HTTP/1.1 404 Not Found\r\nAlt-Svc: h3=\":443\"\r\nA: b\r\n"
				   "Connection: close, x-own\r\nX-Own: 1\r\n"
				   "Transfer-Encoding: chunked\r\n\r\n";
	static const char trailers[] = "grpc-status: 7\r\ngrpc-message: \r\n";
	struct http1_head h;
	struct h2_fields f;

	http1_reset(&h);
	assert_true(http1_parse_response(text, sizeof(text) - 1, HTTP1_TO_OTHER, &h) > 0);
	h2_fields_init(&f);
	h2_fields_response(&f, &h);
	assert_int_equal(f.n, 2);
	check_field(&f, 0, ":status", "404");
	check_field(&f, 1, "a", "b");
	h2_fields_trailers(&f, trailers, sizeof(trailers) - 1);
	check_field(&f, 2, "grpc-status", "7");
	check_field(&f, 3, "grpc-message", "");
	h2_fields_done(&f);
}

static void the_type_of_grpc_is_told_from_others(void **state)
{
	static const struct {
		const char *type;
		bool is;
	} rows[] = {{"application/grpc", true},
		    {"application/grpc+proto", true},
		    {"application/grpc;x", true},
		    {"application/grpc-web+proto", true},
		    {"application/grpcx", false},
		    {"application/json", false},
		    {"", false},
		    {"application/grp", false}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(h2_is_grpc(slice_of(rows[i].type)), rows[i].is);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_becomes_one_of_http1),
		cmocka_unit_test(a_request_that_http1_could_read_differently_is_refused),
		cmocka_unit_test(an_answer_becomes_one_of_http1),
		cmocka_unit_test(trailers_have_no_pseudo_field_and_no_length),
		cmocka_unit_test(a_head_above_64_kib_is_refused),
		cmocka_unit_test(a_request_of_http1_becomes_fields),
		cmocka_unit_test(an_answer_of_http1_and_its_trailers_become_fields),
		cmocka_unit_test(the_type_of_grpc_is_told_from_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
