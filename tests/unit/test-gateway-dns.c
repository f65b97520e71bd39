#include "tests.h"

#include "base/mem.h"
#include "edge/parse/dns.h"

#define HEAD "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
#define HEAD_OPT "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01"
#define NAME                                                                                       \
	"\x01"                                                                                     \
	"A\x04"                                                                                    \
	"tEst\x00"
#define IN_A "\x00\x01\x00\x01"
#define OPT "\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x00"
#define BYTES(s) (s), sizeof(s) - 1

static void query_keeps_the_case_and_the_question(void **state)
{
	static const char in[] = HEAD NAME IN_A;
	struct dns_query q;

	assert_int_equal(dns_parse_query(BYTES(in), &q), 0);
	assert_string_equal(q.name, "A.tEst");
	assert_int_equal(q.name_len, 6);
	assert_int_equal(q.id, 0x1234);
	assert_int_equal(q.qtype, DNS_A);
	assert_true(q.rd);
	assert_false(q.edns);
	assert_int_equal(dns_udp_limit(&q), 512);
	assert_int_equal(q.question_len, sizeof(in) - 1 - DNS_HEADER);
	assert_int_equal(dns_parse_query(BYTES(HEAD_OPT NAME IN_A OPT), &q), 0);
	assert_true(q.edns);
	assert_int_equal(dns_udp_limit(&q), DNS_UDP_MAX);
	assert_int_equal(dns_parse_query(BYTES(HEAD "\x00\x00\x02\x00\x01"), &q), 0);
	assert_string_equal(q.name, "");
}

static void query_that_is_malformed_is_refused(void **state)
{
	static const struct {
		const char *in;
		size_t len;
		enum dns_reason reason;
		int rcode; /* -1: silence */
	} rows[] = {
		{BYTES("\x12\x34\x01"), DNS_SHORT, -1},
		{BYTES("\x12\x34\x81\x00\x00\x01\x00\x00\x00\x00\x00\x00" NAME IN_A), DNS_RESPONSE,
		 -1},
		{BYTES("\x12\x34\x29\x00\x00\x01\x00\x00\x00\x00\x00\x00" NAME IN_A), DNS_OPCODE,
		 DNS_NOTIMP},
		{BYTES("\x12\x34\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"), DNS_COUNTS,
		 DNS_FORMERR},
		{BYTES("\x12\x34\x01\x00\x00\x02\x00\x00\x00\x00\x00\x00" NAME IN_A NAME IN_A),
		 DNS_COUNTS, DNS_FORMERR},
		{BYTES("\x12\x34\x01\x00\x00\x01\x00\x01\x00\x00\x00\x00" NAME IN_A), DNS_COUNTS,
		 DNS_FORMERR},
		{BYTES(HEAD), DNS_NAME, DNS_FORMERR},
		{BYTES(HEAD "\x05"
			    "abc"),
		 DNS_NAME, DNS_FORMERR},
		{BYTES(HEAD "\xc0\x0c" IN_A), DNS_NAME, DNS_FORMERR},
		{BYTES(HEAD "\x40"
			    "a\x00" IN_A),
		 DNS_NAME, DNS_FORMERR},
		{BYTES(HEAD NAME "\x00\x01"), DNS_NAME, DNS_FORMERR},
		{BYTES(HEAD "\x03"
			    "a.b\x00" IN_A),
		 DNS_NAME_BYTES, DNS_FORMERR},
		{BYTES(HEAD "\x03"
			    "a\0b\x00" IN_A),
		 DNS_NAME_BYTES, DNS_FORMERR},
		{BYTES(HEAD "\x03"
			    "a b\x00" IN_A),
		 DNS_NAME_BYTES, DNS_FORMERR},
		{BYTES(HEAD NAME "\x00\x01\x00\x03"), DNS_CLASS, DNS_REFUSED},
		{BYTES(HEAD NAME IN_A "x"), DNS_TRAILING, DNS_FORMERR},
		{BYTES(HEAD NAME IN_A OPT), DNS_TRAILING, DNS_FORMERR},
		{BYTES(HEAD_OPT NAME IN_A), DNS_OPT, DNS_FORMERR},
		{BYTES(HEAD_OPT NAME IN_A "\x00\x00\x2a\x10\x00\x00\x00\x00\x00\x00\x00"), DNS_OPT,
		 DNS_FORMERR},
		{BYTES(HEAD_OPT NAME IN_A "\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x01"), DNS_OPT,
		 DNS_FORMERR},
		{BYTES(HEAD_OPT NAME IN_A "\x00\x00\x29\x10\x00\x00\x01\x00\x00\x00\x00"),
		 DNS_EDNS_VERSION, DNS_BADVERS},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct dns_query q;
		uint8_t out[64];
		size_t n;
		int r = dns_parse_query(rows[i].in, rows[i].len, &q);

		if (r != -(int)rows[i].reason)
			fail_msg("row %zu: %d", i, r);
		n = dns_put_refusal(out, sizeof(out), rows[i].in, rows[i].len, r);
		if (rows[i].rcode < 0) {
			assert_int_equal(n, 0);
			continue;
		}
		assert_int_equal(n, rows[i].rcode == DNS_BADVERS ? 23 : 12);
		assert_memory_equal(out, "\x12\x34", 2);
		assert_true(out[2] & 0x80);
		assert_int_equal(out[3] & 15, rows[i].rcode & 15);
	}
}

static void query_cut_anywhere_is_refused(void **state)
{
	static const char in[] = HEAD_OPT NAME IN_A OPT;
	struct dns_query q;

	for (size_t n = 0; n < sizeof(in) - 1; n++)
		assert_true(dns_parse_query(in, n, &q) < 0);
	assert_int_equal(dns_parse_query(BYTES(in), &q), 0);
}

static void query_name_of_253_is_the_longest(void **state)
{
	uint8_t in[512];
	struct dns_query q;

	for (size_t last = 60; last <= 63; last++) {
		size_t at = DNS_HEADER;

		memcpy(in, HEAD, DNS_HEADER);
		for (size_t label = 0; label < 4; label++) {
			size_t n = label < 3 ? 63 : last;

			in[at++] = (uint8_t)n;
			memset(in + at, 'a', n);
			at += n;
		}
		in[at++] = 0;
		memcpy(in + at, IN_A, 4);
		/* 3 * 64 + 61 = 253 */
		assert_int_equal(dns_parse_query(in, at + 4, &q), last <= 61 ? 0 : -DNS_NAME);
	}
}

static void query_label_of_63_is_the_longest(void **state)
{
	uint8_t in[256] = HEAD;
	struct dns_query q;

	for (size_t n = 63; n <= 64; n++) {
		in[DNS_HEADER] = (uint8_t)n;
		memset(in + DNS_HEADER + 1, 'a', n);
		in[DNS_HEADER + 1 + n] = 0;
		memcpy(in + DNS_HEADER + 2 + n, IN_A, 4);
		assert_int_equal(dns_parse_query(in, DNS_HEADER + 6 + n, &q),
				 n == 63 ? 0 : -DNS_NAME);
	}
}

static void answer_holds_addresses_of_the_asked_family_only(void **state)
{
	const struct in_addr a4[] = {{htonl(0xc6120001)}, {htonl(0xc6120002)}};
	const struct in6_addr a6[] = {IN6ADDR_LOOPBACK_INIT};
	const struct dns_answer a = {.ttl = 60, .a4 = a4, .n_a4 = 2, .a6 = a6, .n_a6 = 1};
	static const char want[] =
		"\x12\x34\x81\x80\x00\x01\x00\x02\x00\x00\x00\x01" NAME IN_A
		"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc6\x12\x00\x01"
		"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc6\x12\x00\x02"
		"\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00";
	struct dns_query q;
	uint8_t out[512];
	size_t n;

	assert_int_equal(dns_parse_query(BYTES(HEAD_OPT NAME IN_A OPT), &q), 0);
	assert_int_equal(dns_put_answer(out, sizeof(out), &q, &a), sizeof(want) - 1);
	assert_memory_equal(out, want, sizeof(want) - 1);

	assert_int_equal(dns_parse_query(BYTES(HEAD NAME "\x00\x1c\x00\x01"), &q), 0);
	n = dns_put_answer(out, sizeof(out), &q, &a);
	assert_int_equal(n, DNS_HEADER + q.question_len + 28);
	assert_memory_equal(out + n - 16, &a6[0], 16);
}

static void answer_without_addresses_is_nodata_or_its_rcode(void **state)
{
	static const char *const types[] = {"\x00\x41", "\x00\x40", "\x00\x0c", "\x00\xff"};
	const struct in_addr a4[] = {{htonl(0xc6120001)}};
	struct dns_query q;
	uint8_t out[512];

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		uint8_t in[] = HEAD NAME IN_A;

		memcpy(in + sizeof(in) - 1 - 4, types[i], 2);
		assert_int_equal(dns_parse_query(in, sizeof(in) - 1, &q), 0);
		assert_int_equal(dns_put_answer(out, sizeof(out), &q,
						&(struct dns_answer){.a4 = a4, .n_a4 = 1}),
				 DNS_HEADER + q.question_len);
		assert_int_equal(out[3] & 15, DNS_NOERROR);
		assert_int_equal(out[7], 0);
	}
	assert_int_equal(dns_parse_query(BYTES(HEAD NAME IN_A), &q), 0);
	(void)dns_put_answer(out, sizeof(out), &q,
			     &(struct dns_answer){.rcode = DNS_NXDOMAIN, .a4 = a4, .n_a4 = 1});
	assert_int_equal(out[3] & 15, DNS_NXDOMAIN);
	assert_int_equal(out[7], 0);
}

static void answer_that_does_not_fit_is_truncated_whole(void **state)
{
	struct in_addr a4[4] = {0};
	const struct dns_answer a = {.a4 = a4, .n_a4 = 4};
	struct dns_query q;
	uint8_t out[512];
	size_t base;

	assert_int_equal(dns_parse_query(BYTES(HEAD NAME IN_A), &q), 0);
	base = DNS_HEADER + q.question_len;
	assert_int_equal(dns_put_answer(out, base + 64, &q, &a), base + 64);
	assert_false(out[2] & 2);
	assert_int_equal(dns_put_answer(out, base + 63, &q, &a), base);
	assert_true(out[2] & 2);
	assert_int_equal(out[7], 0);
	assert_int_equal(dns_put_answer(out, base - 1, &q, &a), 0);
}

static void tcp_frame_waits_for_its_length(void **state)
{
	static const char in[] = "\x00\x17" HEAD NAME IN_A "more";
	struct slice msg;

	for (size_t n = 0; n < 25; n++)
		assert_int_equal(dns_tcp_frame(in, n, &msg), 0);
	assert_int_equal(dns_tcp_frame(BYTES(in), &msg), 25);
	assert_int_equal(msg.n, 23);
	assert_ptr_equal(msg.p, in + 2);
	assert_int_equal(dns_tcp_frame("\x00\x0b", 2, &msg), -DNS_SHORT);
	assert_int_equal(dns_tcp_frame("\xff\xff", 2, &msg), -DNS_LONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(query_keeps_the_case_and_the_question),
		cmocka_unit_test(query_that_is_malformed_is_refused),
		cmocka_unit_test(query_cut_anywhere_is_refused),
		cmocka_unit_test(query_name_of_253_is_the_longest),
		cmocka_unit_test(query_label_of_63_is_the_longest),
		cmocka_unit_test(answer_holds_addresses_of_the_asked_family_only),
		cmocka_unit_test(answer_without_addresses_is_nodata_or_its_rcode),
		cmocka_unit_test(answer_that_does_not_fit_is_truncated_whole),
		cmocka_unit_test(tcp_frame_waits_for_its_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
