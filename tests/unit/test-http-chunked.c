#include "tests.h"

#include "http/chunked.h"

/* Feeds text in pieces of at most `step` bytes; what was left over comes again, as in a proxy. */
static ssize_t decode(const char *text, size_t len, size_t step, struct buf *out, size_t *ret_used)
{
	struct chunked c = {0};
	size_t at = 0, have = 0;

	for (;;) {
		struct chunked_item item;
		ssize_t r = chunked_next(&c, text + at, have - at, &item);

		if (r < 0)
			return r;
		at += (size_t)r;
		switch (item.kind) {
		case CHUNKED_DATA:
			(void)buf_append(out, item.data.p, item.data.n);
			break;
		case CHUNKED_TRAILER:
			(void)buf_puts(out, "|");
			(void)buf_append(out, item.name.p, item.name.n);
			(void)buf_puts(out, "=");
			(void)buf_append(out, item.value.p, item.value.n);
			break;
		case CHUNKED_END:
			*ret_used = at;
			return 1;
		case CHUNKED_MORE:
			if (have == len)
				return 0;
			have = len - have < step ? len : have + step;
			break;
		}
	}
}

static void body_decodes_the_same_in_pieces_of_every_size(void **state)
{
	static const struct {
		const char *in, *want;
	} rows[] = {
		{"0\r\n\r\n", ""},
		{"5\r\nhello\r\n0\r\n\r\n", "hello"},
		{"5\r\nhello\r\nA\r\n 123456789\r\n00\r\n\r\n", "hello 123456789"},
		{"00000003;a=b;c=\"d e\"\r\nabc\r\n0;x\r\nX-Sum: 1\r\nY:\r\n\r\n",
		 "abc|X-Sum=1|Y="},
		{"2\r\n\r\n\r\n0\r\n\r\n", "\r\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t len = strlen(rows[i].in);

		for (size_t step = 1; step <= len; step++) {
			cleanup_buf struct buf out;
			cleanup_free char *more = xasprintf("%sGET /", rows[i].in);
			size_t used = 0;

			buf_init(&out, 4096);
			assert_int_equal(decode(more, len + 5, step, &out, &used), 1);
			assert_string_equal(buf_str(&out), rows[i].want);
			assert_int_equal(used, len);
		}
	}
}

static void body_that_is_malformed_is_refused_in_pieces_of_every_size(void **state)
{
	static const struct {
		const char *in;
		enum chunked_reason reason;
	} rows[] = {
		{"\r\n", CHUNKED_SIZE},
		{"g\r\n", CHUNKED_SIZE},
		{"-1\r\n", CHUNKED_SIZE},
		{"+1\r\n", CHUNKED_SIZE},
		{" 1\r\n", CHUNKED_SIZE},
		{"1 \r\n", CHUNKED_SIZE},
		{"0x1\r\n", CHUNKED_SIZE},
		{"1_0\r\n", CHUNKED_SIZE},
		{"1 ;a\r\n", CHUNKED_SIZE},
		{";a\r\n", CHUNKED_SIZE},
		{"100000000\r\n", CHUNKED_SIZE},
		{"000000001\r\n", CHUNKED_SIZE},
		{"fffffffffffffffff\r\n", CHUNKED_SIZE},
		{"1\nx\r\n", CHUNKED_SIZE},
		{"1\rx", CHUNKED_LINE_END},
		{"1;a\nx", CHUNKED_EXT_BYTE},
		{"1;a\x01\r\n", CHUNKED_EXT_BYTE},
		{"1;a\rb\r\n", CHUNKED_LINE_END},
		{"1\r\nxy\r\n", CHUNKED_LINE_END},
		{"1\r\nx\n", CHUNKED_LINE_END},
		{"1\r\nx\rz", CHUNKED_LINE_END},
		{"1\r\nx0\r\n\r\n", CHUNKED_LINE_END},
		{"0\r\n\n", CHUNKED_LINE_END},
		{"0\r\nX: y\n\r\n", CHUNKED_LINE_END},
		{"0\r\nX : y\r\n\r\n", CHUNKED_TRAILER_BAD},
		{"0\r\n X: y\r\n\r\n", CHUNKED_TRAILER_BAD},
		{"0\r\nGET / HTTP/1.1\r\n\r\n", CHUNKED_TRAILER_BAD},
		{"0\r\nX: y\rz\r\n\r\n", CHUNKED_TRAILER_BAD},
		{"0\r\nContent-Length: 5\r\n\r\n", CHUNKED_TRAILER_FORBIDDEN},
		{"0\r\ntransfer-encoding: chunked\r\n\r\n", CHUNKED_TRAILER_FORBIDDEN},
		{"0\r\nHost: x\r\n\r\n", CHUNKED_TRAILER_FORBIDDEN},
		{"0\r\nAuthorization: x\r\n\r\n", CHUNKED_TRAILER_FORBIDDEN},
		{"0\r\nSet-Cookie: x\r\n\r\n", CHUNKED_TRAILER_FORBIDDEN},
		{"0\r\nX-API-Key: x\r\n\r\n", CHUNKED_TRAILER_FORBIDDEN},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (size_t step = 1; step <= strlen(rows[i].in); step++) {
			cleanup_buf struct buf out;
			size_t used;
			ssize_t r;

			buf_init(&out, 4096);
			r = decode(rows[i].in, strlen(rows[i].in), step, &out, &used);
			if (r != -(ssize_t)rows[i].reason)
				fail_msg("row %zu step %zu: %zd", i, step, r);
		}
	}
}

static void body_that_stops_early_never_ends(void **state)
{
	const char *text = "5\r\nhello\r\n0\r\nX: y\r\n\r\n";

	for (size_t n = 0; n < strlen(text); n++) {
		cleanup_buf struct buf out;
		size_t used;

		buf_init(&out, 4096);
		assert_int_equal(decode(text, n, n + 1, &out, &used), 0);
	}
}

static void body_with_endless_framing_is_refused(void **state)
{
	cleanup_buf struct buf in, out;
	size_t used;

	buf_init(&in, 4 * MiB);
	buf_init(&out, MiB);
	(void)buf_puts(&in, "1;");
	while (in.len < CHUNKED_EXT_MAX + 3)
		(void)buf_putc(&in, 'x');
	assert_int_equal(decode(in.data, in.len, 100, &out, &used), -CHUNKED_EXT_LONG);

	buf_clear(&in);
	for (int i = 0; i < 1000; i++)
		(void)buf_printf(&in, "1;%0200d\r\nx\r\n", 0);
	assert_int_equal(decode(in.data, in.len, 1000, &out, &used), -CHUNKED_EXT_LONG);

	buf_clear(&in);
	(void)buf_puts(&in, "0\r\n");
	for (int i = 0; i <= CHUNKED_TRAILERS_MAX; i++)
		(void)buf_puts(&in, "a: b\r\n");
	assert_int_equal(decode(in.data, in.len, 1000, &out, &used), -CHUNKED_TRAILER_LONG);

	buf_clear(&in);
	(void)buf_puts(&in, "0\r\nX: ");
	while (in.len < CHUNKED_TRAILER_LINE_MAX + 3)
		(void)buf_putc(&in, 'x');
	assert_int_equal(decode(in.data, in.len, 1000, &out, &used), -CHUNKED_TRAILER_LONG);
}

static void encoder_writes_what_the_decoder_reads(void **state)
{
	static const struct {
		uint32_t n;
		const char *want;
	} heads[] = {
		{1, "1\r\n"}, {16, "10\r\n"}, {0xffff, "ffff\r\n"}, {UINT32_MAX, "ffffffff\r\n"}};
	cleanup_buf struct buf in, out;
	char head[CHUNKED_HEAD_MAX];
	size_t used;

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		assert_int_equal(chunked_put_head(head, heads[i].n), strlen(heads[i].want));
		assert_memory_equal(head, heads[i].want, strlen(heads[i].want));
	}
	buf_init(&in, 4096);
	buf_init(&out, 4096);
	assert_int_equal(chunked_put(&in, "hello, ", 7), 0);
	assert_int_equal(chunked_put(&in, "world of 16 bytes", 17), 0);
	(void)buf_puts(&in, CHUNKED_LAST_END);
	assert_int_equal(decode(in.data, in.len, 3, &out, &used), 1);
	assert_string_equal(buf_str(&out), "hello, world of 16 bytes");
	in.max = in.len + 5;
	assert_int_equal(chunked_put(&in, "hello", 5), -ENOBUFS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(body_decodes_the_same_in_pieces_of_every_size),
		cmocka_unit_test(body_that_is_malformed_is_refused_in_pieces_of_every_size),
		cmocka_unit_test(body_that_stops_early_never_ends),
		cmocka_unit_test(body_with_endless_framing_is_refused),
		cmocka_unit_test(encoder_writes_what_the_decoder_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
