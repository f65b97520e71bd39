#include "tests.h"

#include "base/mem.h"
#include "flow/sniff.h"
#include "edge/parse/socks5.h"

#define BYTES(s) (s), sizeof(s) - 1

static void greeting_offers_are_seen_at_every_split(void **state)
{
	const char in[] = "\x05\x03\x00\x01\x02rest";
	struct socks5_greeting g;

	for (size_t n = 0; n < 5; n++)
		assert_int_equal(socks5_parse_greeting(in, n, &g), 0);
	assert_int_equal(socks5_parse_greeting(in, sizeof(in) - 1, &g), 5);
	assert_true(g.no_auth && g.userpass);
	assert_int_equal(socks5_parse_greeting("\x05\x01\x01", 3, &g), 3);
	assert_false(g.no_auth || g.userpass);
	assert_int_equal(socks5_parse_greeting("\x04", 1, &g), -SOCKS5_VERSION);
	assert_int_equal(socks5_parse_greeting("\x05\x00", 2, &g), -SOCKS5_NO_METHODS);
}

static void userpass_is_read_at_every_split(void **state)
{
	const char in[] = "\x01\x04user\x05token";
	struct socks5_userpass u;

	for (size_t n = 0; n < sizeof(in) - 1; n++)
		assert_int_equal(socks5_parse_userpass(in, n, &u), 0);
	assert_int_equal(socks5_parse_userpass(in, sizeof(in) - 1, &u), sizeof(in) - 1);
	assert_true(slice_eq(u.user, slice_of("user")));
	assert_true(slice_eq(u.pass, slice_of("token")));
	assert_int_equal(socks5_parse_userpass("\x05", 1, &u), -SOCKS5_AUTH);
	assert_int_equal(socks5_parse_userpass("\x01\x00", 2, &u), -SOCKS5_AUTH);
	assert_int_equal(socks5_parse_userpass("\x01\x01u\x00", 4, &u), 4);
}

static void request_is_read_at_every_split(void **state)
{
	static const struct {
		const char *in;
		size_t len;
		enum socks5_atyp atyp;
	} rows[] = {
		{BYTES("\x05\x01\x00\x01\x01\x02\x03\x04\x01\xbb"), SOCKS5_IP4},
		{BYTES("\x05\x01\x00\x03\x06"
		       "a.test\x01\xbb"),
		 SOCKS5_DOMAIN},
		{BYTES("\x05\x01\x00\x04\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x01\xbb"),
		 SOCKS5_IP6},
	};
	struct socks5_request q;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (size_t n = 0; n < rows[i].len; n++)
			assert_int_equal(socks5_parse_request(rows[i].in, n, &q), 0);
		assert_int_equal(socks5_parse_request(rows[i].in, rows[i].len, &q), rows[i].len);
		assert_int_equal(q.atyp, rows[i].atyp);
		assert_int_equal(q.port, 443);
		if (q.atyp == SOCKS5_DOMAIN)
			assert_true(slice_eq(q.name, slice_of("a.test")));
		else
			assert_memory_equal(q.addr, rows[i].in + 4, q.atyp == SOCKS5_IP4 ? 4 : 16);
	}
}

static void request_that_is_not_connect_is_refused_with_its_code(void **state)
{
	static const struct {
		const char *in;
		size_t len;
		enum socks5_reason reason;
		enum socks5_code code;
	} rows[] = {
		{BYTES("\x04"), SOCKS5_VERSION, SOCKS5_FAILURE},
		{BYTES("\x05\x02"), SOCKS5_COMMAND, SOCKS5_COMMAND_UNKNOWN},
		{BYTES("\x05\x03"), SOCKS5_COMMAND, SOCKS5_COMMAND_UNKNOWN},
		{BYTES("\x05\xf0"), SOCKS5_COMMAND, SOCKS5_COMMAND_UNKNOWN},
		{BYTES("\x05\x01\x01"), SOCKS5_RESERVED, SOCKS5_FAILURE},
		{BYTES("\x05\x01\x00\x02"), SOCKS5_ATYP, SOCKS5_ATYP_UNKNOWN},
		{BYTES("\x05\x01\x00\x03\x00"), SOCKS5_NAME, SOCKS5_HOST_UNREACHABLE},
		{BYTES("\x05\x01\x00\x03\x03"
		       "a\0b\x01\xbb"),
		 SOCKS5_NAME, SOCKS5_HOST_UNREACHABLE},
		{BYTES("\x05\x01\x00\x03\x03"
		       "a\nb\x01\xbb"),
		 SOCKS5_NAME, SOCKS5_HOST_UNREACHABLE},
		{BYTES("\x05\x01\x00\x01\x01\x02\x03\x04\0\0"), SOCKS5_PORT, SOCKS5_FAILURE},
	};
	struct socks5_request q;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ssize_t r = socks5_parse_request(rows[i].in, rows[i].len, &q);

		assert_int_equal(r, -(ssize_t)rows[i].reason);
		assert_int_equal(socks5_reason_code((int)r), rows[i].code);
	}
}

static void reply_tells_nothing_of_the_host(void **state)
{
	uint8_t out[SOCKS5_REPLY_MAX];

	assert_int_equal(socks5_put_reply(out, SOCKS5_NOT_ALLOWED), 10);
	assert_memory_equal(out, "\x05\x02\x00\x01\0\0\0\0\0\0", 10);
	socks5_put_method(out, SOCKS5_NONE);
	assert_memory_equal(out, "\x05\xff", 2);
	socks5_put_auth_status(out, false);
	assert_memory_equal(out, "\x01\x01", 2);
}

static void sniff_tells_protocols_by_their_first_bytes(void **state)
{
	assert_int_equal(sniff_protocol("", 0), SNIFF_MORE);
	assert_int_equal(sniff_protocol("C", 1), SNIFF_HTTP);
	assert_int_equal(sniff_protocol("\x05", 1), SNIFF_SOCKS5);
	assert_int_equal(sniff_protocol("\x04\x01", 2), SNIFF_UNKNOWN);
	assert_int_equal(sniff_protocol("\x16", 1), SNIFF_MORE);
	assert_int_equal(sniff_protocol("\x16\x03", 2), SNIFF_TLS);
	assert_int_equal(sniff_protocol("\x16\x02", 2), SNIFF_UNKNOWN);
	assert_int_equal(sniff_protocol("\x80\x2e\x01", 3), SNIFF_UNKNOWN);
	assert_int_equal(sniff_protocol("\r\n", 2), SNIFF_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(greeting_offers_are_seen_at_every_split),
		cmocka_unit_test(userpass_is_read_at_every_split),
		cmocka_unit_test(request_is_read_at_every_split),
		cmocka_unit_test(request_that_is_not_connect_is_refused_with_its_code),
		cmocka_unit_test(reply_tells_nothing_of_the_host),
		cmocka_unit_test(sniff_tells_protocols_by_their_first_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
