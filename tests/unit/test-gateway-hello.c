#include "tests.h"

#include "base/buf.h"
#include "edge/parse/hello.h"
#include "edge/parse/server-hello.h"

#define SNI_OK                                                                                     \
	"\x00\x00\x00\x0b\x00\x09\x00\x00\x06"                                                     \
	"a.test"
#define ALPN "\x00\x10\x00\x0e\x00\x0c\x02h2\x08http/1.1"
#define VERSIONS "\x00\x2b\x00\x05\x04\x03\x04\x03\x03"
#define ECH "\xfe\x0d\x00\x01x"
#define GREASE "\x0a\x0a\x00\x00"
#define BYTES(s) (s), sizeof(s) - 1

static void put16(struct buf *b, size_t v)
{
	(void)buf_putc(b, (char)(v >> 8));
	(void)buf_putc(b, (char)v);
}

/* The handshake message around these extensions; NULL: the field is left out. */
static void make_message(struct buf *b, const char *ext, size_t n)
{
	size_t body = 2 + 32 + 1 + 2 + 2 + 2 + (ext ? 2 + n : 0);

	(void)buf_append(b, "\x01\x00", 2);
	put16(b, body);
	(void)buf_append(b, "\x03\x03", 2);
	for (int i = 0; i < 32; i++)
		(void)buf_putc(b, 'r');
	(void)buf_append(b, "\x00\x00\x02\x13\x01\x01\x00", 7);
	if (ext) {
		put16(b, n);
		(void)buf_append(b, ext, n);
	}
}

/* The message in records of at most `size` bytes. */
static void make_records(struct buf *out, const struct buf *msg, size_t size)
{
	for (size_t at = 0; at < msg->len; at += size) {
		size_t n = msg->len - at < size ? msg->len - at : size;

		(void)buf_append(out, "\x16\x03\x01", 3);
		put16(out, n);
		(void)buf_append(out, msg->data + at, n);
	}
}

static ssize_t parse_ext(const char *ext, size_t n, struct hello *h)
{
	cleanup_buf struct buf msg, out;

	buf_init(&msg, 128 * KiB);
	buf_init(&out, 128 * KiB);
	make_message(&msg, ext, n);
	make_records(&out, &msg, HELLO_RECORD_MAX);
	return hello_parse(out.data, out.len, h);
}

static void check_full(const struct hello *h)
{
	assert_string_equal(h->name, "a.test");
	assert_int_equal(h->name_len, 6);
	assert_int_equal(h->n_alpn, 2);
	assert_true(hello_offers_alpn(h, "h2"));
	assert_true(hello_offers_alpn(h, "http/1.1"));
	assert_false(hello_offers_alpn(h, "http"));
	assert_true(hello_offers_version(h, 0x0304));
	assert_true(h->ech);
}

static void hello_reads_the_same_over_records_of_every_size(void **state)
{
	static const char ext[] = GREASE SNI_OK ALPN VERSIONS ECH;

	for (size_t size = 1; size < 200; size++) {
		cleanup_buf struct buf msg, out;
		struct hello h;
		ssize_t r;

		buf_init(&msg, 4096);
		buf_init(&out, 4096);
		make_message(&msg, BYTES(ext));
		make_records(&out, &msg, size);
		(void)buf_puts(&out, "next");
		r = hello_parse(out.data, out.len, &h);
		if ((msg.len + size - 1) / size > HELLO_RECORDS_MAX) {
			assert_int_equal(r, -HELLO_TOO_MANY_RECORDS);
			continue;
		}
		assert_int_equal(r, out.len - 4);
		check_full(&h);
		for (size_t n = 0; n < out.len - 4; n++)
			assert_int_equal(hello_parse(out.data, n, &h), 0);
	}
}

/* X25519MLKEM768 takes 1216 bytes, and a ticket may stand beside it. */
static void hello_with_large_key_shares_reads_in_the_smallest_records_of_tls(void **state)
{
	cleanup_buf struct buf ext, msg, out;
	struct hello h;

	buf_init(&ext, 4096);
	buf_init(&msg, 4096);
	buf_init(&out, 8192);
	put16(&ext, 51); /* key_share: its list, and in it the group and its key */
	put16(&ext, 2806);
	put16(&ext, 2804);
	put16(&ext, 0x11ec);
	put16(&ext, 2800);
	for (int i = 0; i < 2800; i++)
		(void)buf_putc(&ext, 'k');
	(void)buf_append(&ext, BYTES(SNI_OK ALPN VERSIONS ECH));
	make_message(&msg, ext.data, ext.len);
	make_records(&out, &msg, 64);
	assert_int_equal(hello_parse(out.data, out.len, &h), out.len);
	check_full(&h);
}

static void hello_without_a_name_says_so(void **state)
{
	struct hello h;

	assert_true(parse_ext(BYTES(ALPN), &h) > 0);
	assert_int_equal(h.name_len, 0);
	assert_true(parse_ext(NULL, 0, &h) > 0);
	assert_int_equal(h.name_len, 0);
	assert_true(hello_offers_version(&h, 0x0303));
	assert_false(h.ech);
}

static void hello_with_bad_extensions_is_refused(void **state)
{
	static const struct {
		const char *ext;
		size_t len;
		enum hello_reason reason;
	} rows[] = {
		{BYTES(SNI_OK SNI_OK), HELLO_DUPLICATE_EXTENSION},
		{BYTES(GREASE GREASE), HELLO_DUPLICATE_EXTENSION},
		{BYTES("\x00\x00\x00\x00"), HELLO_SERVER_NAME},
		{BYTES("\x00\x00\x00\x02\x00\x00"), HELLO_SERVER_NAME},
		{BYTES("\x00\x00\x00\x05\x00\x03\x00\x00\x00"), HELLO_SERVER_NAME},
		{BYTES("\x00\x00\x00\x06\x00\x04\x01\x00\x01"
		       "a"),
		 HELLO_SERVER_NAME},
		/* two names, a NUL, a space, a list longer and shorter than its extension */
		{BYTES("\x00\x00\x00\x0a\x00\x08\x00\x00\x01"
		       "a\x00\x00\x01"
		       "b"),
		 HELLO_SERVER_NAME},
		{BYTES("\x00\x00\x00\x08\x00\x06\x00\x00\x03"
		       "a\0b"),
		 HELLO_SERVER_NAME},
		{BYTES("\x00\x00\x00\x08\x00\x06\x00\x00\x03"
		       "a b"),
		 HELLO_SERVER_NAME},
		{BYTES("\x00\x00\x00\x06\x00\x05\x00\x00\x01"
		       "a"),
		 HELLO_SERVER_NAME},
		{BYTES("\x00\x00\x00\x07\x00\x04\x00\x00\x01"
		       "ab"),
		 HELLO_SERVER_NAME},
		{BYTES("\x00\x10\x00\x02\x00\x00"), HELLO_ALPN},
		{BYTES("\x00\x10\x00\x03\x00\x01\x00"), HELLO_ALPN},
		{BYTES("\x00\x10\x00\x04\x00\x02\x05h"), HELLO_ALPN},
		{BYTES("\x00\x2b\x00\x01\x00"), HELLO_VERSION},
		{BYTES("\x00\x2b\x00\x04\x03\x03\x04\x03"), HELLO_VERSION},
		{BYTES("\x00\x05\x00\x09x"), HELLO_SHAPE},
		{BYTES("\x00\x05\x00"), HELLO_SHAPE},
	};
	struct hello h;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ssize_t r = parse_ext(rows[i].ext, rows[i].len, &h);

		if (r != -(ssize_t)rows[i].reason)
			fail_msg("row %zu: %zd %s", i, r, hello_reason_str((int)r));
	}
}

static void hello_with_too_many_extensions_is_refused(void **state)
{
	cleanup_buf struct buf ext;
	struct hello h;

	buf_init(&ext, 4096);
	for (size_t i = 0; i <= HELLO_EXTENSIONS_MAX; i++) {
		put16(&ext, 0x1000 + i);
		put16(&ext, 0);
	}
	assert_int_equal(parse_ext(ext.data, ext.len - 4, &h) > 0, 1);
	assert_int_equal(parse_ext(ext.data, ext.len, &h), -HELLO_TOO_MANY_EXTENSIONS);
}

static void first_bytes_that_are_no_hello_are_refused_at_once(void **state)
{
	static const struct {
		const char *in;
		size_t len;
		enum hello_reason reason;
	} rows[] = {
		{BYTES("\x80\x2e\x01\x00\x02"), HELLO_SSLV2},
		{BYTES("G"), HELLO_NOT_HANDSHAKE},
		{BYTES("\x17\x03\x01"), HELLO_NOT_HANDSHAKE},
		{BYTES("\x16\x02"), HELLO_RECORD},
		{BYTES("\x16\x03\x05"), HELLO_RECORD},
		{BYTES("\x16\x03\x01\x40\x01"), HELLO_RECORD},
		{BYTES("\x16\x03\x01\x00\x00"), HELLO_EMPTY_RECORD},
		{BYTES("\x16\x03\x01\x00\x01\x01\x16\x03\x01\x00\x00"), HELLO_EMPTY_RECORD},
		{BYTES("\x16\x03\x01\x00\x01\x01\x15"), HELLO_RECORD},
		{BYTES("\x16\x03\x01\x00\x04\x02"), HELLO_NOT_CLIENT_HELLO},
		{BYTES("\x16\x03\x01\x00\x04\x01\x01\x00\x00"), HELLO_TOO_LONG},
		{BYTES("\x16\x03\x01\x00\x06\x01\x00\x00\x01xx"), HELLO_TRAILING},
		{BYTES("\x16\x03\x01\x00\x05\x01\x00\x00\x01x"), HELLO_SHAPE},
	};
	struct hello h;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ssize_t r = hello_parse(rows[i].in, rows[i].len, &h);

		if (r != -(ssize_t)rows[i].reason)
			fail_msg("row %zu: %zd %s", i, r, hello_reason_str((int)r));
	}
}

static void hello_with_lengths_off_by_one_is_refused(void **state)
{
	cleanup_buf struct buf msg, out;
	struct hello h;

	buf_init(&msg, 4096);
	buf_init(&out, 4096);
	make_message(&msg, BYTES(SNI_OK));
	make_records(&out, &msg, HELLO_RECORD_MAX);
	/* record header 5, message header 4, version 2, random 32, session id 1, ciphers 4 + 2 */
	static const size_t lengths[] = {43, 45, 48, 51};

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		assert_true(hello_parse(out.data, out.len, &h) > 0);
		out.data[lengths[i]]++;
		assert_true(hello_parse(out.data, out.len, &h) < 0);
		out.data[lengths[i]]--;
	}
}

/* A record of n bytes, of which a handshake message with this random is the beginning. */
static void put_server_hello(struct buf *b, const uint8_t random[static 32])
{
	static const uint8_t head[] = {22, 3, 3, 0, 44, 2, 0, 0, 40, 3, 3};

	(void)buf_append(b, head, sizeof(head));
	(void)buf_append(b, random, 32);
	(void)buf_append(b, "\0\x13\x02\0\0\0", 6);
}

static void a_retry_and_the_hello_behind_it_are_told_in_all_pieces(void **state)
{
	static const uint8_t retry[32] = {0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11,
					  0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
					  0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e,
					  0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c};
	static const uint8_t other[32] = {0xcf, 0x21};
	cleanup_buf struct buf b;
	size_t first;

	buf_init(&b, 4096);
	(void)buf_append(&b, "\x15\x03\x03\0\x02\x01\x70", 7);
	put_server_hello(&b, retry);
	(void)buf_append(&b, "\x14\x03\x03\0\x01\x01", 6);
	first = b.len;
	put_server_hello(&b, other);
	for (size_t cut = 1; cut < b.len; cut++) {
		struct server_hello s = {0};
		enum server_hello_kind last = SERVER_HELLO_MORE;
		bool retried = false;

		for (size_t at = 0; at < b.len; at += cut) {
			size_t n = b.len - at < cut ? b.len - at : cut;

			last = server_hello_feed(&s, b.data + at, n);
			retried |= last == SERVER_HELLO_RETRY;
			assert_true(last != SERVER_HELLO_NOT_TLS);
			if (last == SERVER_HELLO_FINAL)
				break;
		}
		assert_int_equal(last, SERVER_HELLO_FINAL);
		assert_true(retried || cut >= first);
	}
}

static void an_answer_that_is_no_tls_is_told(void **state)
{
	static const char *const texts[] = {"HTTP/1.1 400 Bad", "SSH-2.0-x\r\n",
					    "\x17\x03\x03\x01\x01\x01"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct server_hello s = {0};

		assert_int_equal(server_hello_feed(&s, texts[i], strlen(texts[i])),
				 SERVER_HELLO_NOT_TLS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello_reads_the_same_over_records_of_every_size),
		cmocka_unit_test(hello_with_large_key_shares_reads_in_the_smallest_records_of_tls),
		cmocka_unit_test(hello_without_a_name_says_so),
		cmocka_unit_test(hello_with_bad_extensions_is_refused),
		cmocka_unit_test(hello_with_too_many_extensions_is_refused),
		cmocka_unit_test(first_bytes_that_are_no_hello_are_refused_at_once),
		cmocka_unit_test(hello_with_lengths_off_by_one_is_refused),
		cmocka_unit_test(a_retry_and_the_hello_behind_it_are_told_in_all_pieces),
		cmocka_unit_test(an_answer_that_is_no_tls_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
