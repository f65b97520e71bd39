#include "tests.h"

#include <stdlib.h>
#include <zlib.h>

#include "gateway/exchange/decode.h"
#include "gateway/gateway-limits.h"

#define RAW (-15)
#define ZLIB 15
#define GZIP (15 + 16)

/* text as such a stream, in a new buffer. */
static char *packed(int how, const char *text, size_t n, size_t *ret_n)
{
	size_t max = n + 1000;
	char *out = xmalloc(max);
	z_stream z = {0};

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, how, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (unsigned char *)(uintptr_t)text;
	z.avail_in = (unsigned int)n;
	z.next_out = (unsigned char *)out;
	z.avail_out = (unsigned int)max;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	*ret_n = max - z.avail_out;
	(void)deflateEnd(&z);
	return out;
}

/* All of it in pieces of that size: 0 or -EPROTO. */
static int unpack(const char *coding, const char *p, size_t n, size_t step, struct buf *out,
		  bool *over)
{
	struct decode *d = decode_new((struct slice){coding, strlen(coding)});
	int r = 0;

	assert_non_null(d);
	for (size_t at = 0; at < n && r == 0; at += step) {
		ssize_t got;
		char *plain;

		r = decode_feed(d, p + at, n - at < step ? n - at : step);
		while (r == 0 && (got = decode_next(d, &plain)) != 0) {
			assert_true(got <= (ssize_t)DECODED_TURN);
			if (got < 0)
				r = (int)got;
			else
				assert_int_equal(buf_append(out, plain, (size_t)got), 0);
		}
	}
	*over = decode_over(d);
	decode_free(d);
	return r;
}

static void comes_out(const char *coding, const char *p, size_t n, const char *want)
{
	for (size_t step = 1; step <= n; step++) {
		cleanup_buf struct buf out;
		bool over;

		buf_init(&out, MiB);
		assert_int_equal(unpack(coding, p, n, step, &out, &over), 0);
		assert_true(over);
		assert_int_equal(out.len, strlen(want));
		assert_memory_equal(out.data, want, out.len);
	}
}

static void every_coding_comes_out_whole_in_pieces_of_every_size(void **state)
{
	static const char text[] = "data: {\"type\":\"message_delta\"}\n\ndata: [DONE]\n\n";
	static const struct {
		const char *coding;
		int how;
	} rows[] = {{"gzip", GZIP},
		    {"x-gzip", GZIP},
		    {"GZIP", GZIP},
		    {"deflate", ZLIB},
		    {"deflate", RAW}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t n;
		cleanup_free char *p = packed(rows[i].how, text, strlen(text), &n);

		comes_out(rows[i].coding, p, n, text);
	}
}

static void gzip_may_be_followed_by_gzip_and_by_nothing_else(void **state)
{
	size_t a, b;
	cleanup_free char *one = packed(GZIP, "one", 3, &a), *two = packed(GZIP, "two", 3, &b);
	cleanup_free char *both = xmalloc(a + b);
	cleanup_buf struct buf out;
	bool over;

	memcpy(both, one, a);
	memcpy(both + a, two, b);
	comes_out("gzip", both, a + b, "onetwo");
	memset(both + a, 'x', b);
	buf_init(&out, MiB);
	assert_int_equal(unpack("gzip", both, a + b, a + b, &out, &over), -EPROTO);
}

static void answer_that_is_cut_is_not_over(void **state)
{
	static const char text[] = "the whole of it";
	size_t n;
	cleanup_free char *p = packed(GZIP, text, strlen(text), &n);

	for (size_t cut = 1; cut < n; cut++) {
		cleanup_buf struct buf out;
		bool over = true;

		buf_init(&out, MiB);
		if (unpack("gzip", p, cut, cut, &out, &over) == 0)
			assert_false(over);
	}
}

static void what_is_not_compressed_is_refused(void **state)
{
	static const char text[] = "HTTP is not compressed by itself";
	cleanup_buf struct buf out;
	bool over;

	buf_init(&out, MiB);
	assert_int_equal(unpack("gzip", text, strlen(text), 5, &out, &over), -EPROTO);
	assert_int_equal(out.len, 0);
	assert_null(decode_new((struct slice){"br", 2}));
	assert_null(decode_new((struct slice){"", 0}));
	decode_free(NULL);
}

/* unpack() looks at the size of each turn. */
static void bomb_is_made_a_turn_at_a_time(void **state)
{
	size_t n, size = 16 * MiB;
	cleanup_free char *zeros = xcalloc(1, size), *p = packed(GZIP, zeros, size, &n);
	cleanup_buf struct buf out;
	bool over;

	buf_init(&out, 32 * MiB);
	assert_true(n < 64 * KiB);
	assert_int_equal(unpack("gzip", p, n, n, &out, &over), 0);
	assert_true(over);
	assert_int_equal(out.len, size);
}

/* Fills size bytes with text that is compressed well or badly, and unpacks it in small pieces. */
static void fill(bool well, size_t size)
{
	cleanup_free char *text = xmalloc(size), *p = NULL;
	struct decode *d = decode_new((struct slice){"gzip", 4});
	size_t n, made = 0;
	char *plain;

	for (size_t i = 0; i < size; i++)
		text[i] = (char)(well ? 'x' : rand());
	p = packed(GZIP, text, size, &n);
	decode_fill(d);
	for (size_t at = 0; at < n; at += 100) {
		ssize_t got;

		assert_int_equal(decode_feed(d, p + at, n - at < 100 ? n - at : 100), 0);
		while ((got = decode_next(d, &plain)) != 0) {
			assert_int_equal(got, DECODED_TURN);
			assert_memory_equal(plain, text + made, DECODED_TURN);
			made += DECODED_TURN;
		}
	}
	assert_true(decode_over(d));
	assert_int_equal(decode_rest(d, &plain), size - made);
	assert_memory_equal(plain, text + made, size - made);
	decode_free(d);
}

static void what_comes_out_does_not_tell_how_well_it_was_compressed(void **state)
{
	fill(true, 5 * DECODED_TURN + 17);
	fill(false, 5 * DECODED_TURN + 17);
	fill(true, 3);
	fill(false, DECODED_TURN);
}

static void more_than_may_wait_is_refused(void **state)
{
	struct decode *d = decode_new((struct slice){"gzip", 4});
	char piece[4096] = {0};
	int r = 0;

	for (size_t i = 0; i < 1024 && r == 0; i++)
		r = decode_feed(d, piece, sizeof(piece));
	assert_int_equal(r, -EPROTO);
	decode_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_coding_comes_out_whole_in_pieces_of_every_size),
		cmocka_unit_test(gzip_may_be_followed_by_gzip_and_by_nothing_else),
		cmocka_unit_test(answer_that_is_cut_is_not_over),
		cmocka_unit_test(what_is_not_compressed_is_refused),
		cmocka_unit_test(bomb_is_made_a_turn_at_a_time),
		cmocka_unit_test(what_comes_out_does_not_tell_how_well_it_was_compressed),
		cmocka_unit_test(more_than_may_wait_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
