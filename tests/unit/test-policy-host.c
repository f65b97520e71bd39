#include "tests.h"

#include "policy/host.h"

#define BYTES(s) s, sizeof(s) - 1

struct good {
	const char *in;
	size_t n;
	enum host_kind kind;
	const char *name;
};

static const struct good goods[] = {
	{BYTES("example.com"), HOST_NAME, "example.com"},
	{BYTES("EXAMPLE.Com"), HOST_NAME, "example.com"},
	{BYTES("example.com."), HOST_NAME, "example.com"},
	{BYTES("localhost"), HOST_NAME, "localhost"},
	{BYTES("LOCALHOST."), HOST_NAME, "localhost"},
	{BYTES("a_b.example.com"), HOST_NAME, "a_b.example.com"},
	{BYTES("_dmarc.example.com"), HOST_NAME, "_dmarc.example.com"},
	{BYTES("XN--BCHER-KVA.example"), HOST_NAME, "xn--bcher-kva.example"},
	{BYTES("r3---sn-a.example"), HOST_NAME, "r3---sn-a.example"},
	{BYTES("1.example"), HOST_NAME, "1.example"},
	{BYTES("127.0.0.1.example"), HOST_NAME, "127.0.0.1.example"},
	{BYTES("0xg.0xg"), HOST_NAME, "0xg.0xg"},
	{BYTES("1a"), HOST_NAME, "1a"},
	{BYTES("0x7f-1"), HOST_NAME, "0x7f-1"},
	{BYTES("127.0.0.1"), HOST_IP4, "127.0.0.1"},
	{BYTES("0.0.0.0"), HOST_IP4, "0.0.0.0"},
	{BYTES("255.255.255.255"), HOST_IP4, "255.255.255.255"},
	{BYTES("[::1]"), HOST_IP6, "::1"},
	{BYTES("::1"), HOST_IP6, "::1"},
	{BYTES("[2001:DB8:0:0:0:0:0:1]"), HOST_IP6, "2001:db8::1"},
	{BYTES("0:0:0:0:0:0:0:1"), HOST_IP6, "::1"},
	{BYTES("[::ffff:127.0.0.1]"), HOST_IP4, "127.0.0.1"},
	{BYTES("::FFFF:7f00:1"), HOST_IP4, "127.0.0.1"},
	{BYTES("[0:0:0:0:0:ffff:a9fe:a9fe]"), HOST_IP4, "169.254.169.254"},
	{BYTES("::127.0.0.1"), HOST_IP6, "::127.0.0.1"},
	{BYTES("64:ff9b::7f00:1"), HOST_IP6, "64:ff9b::7f00:1"},
};

static void host_spellings_have_one_form(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(goods); i++) {
		struct err e = {0};
		struct host h;

		if (host_parse(goods[i].in, goods[i].n, &h, &e) < 0)
			fail_msg("'%s' is refused: %s", goods[i].in, e.msg);
		assert_string_equal(h.name, goods[i].name);
		assert_int_equal(h.kind, goods[i].kind);
		assert_int_equal(h.len, strlen(h.name));
	}
}

static void host_canonical_form_is_a_fixed_point(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(goods); i++) {
		struct host h, again;
		struct err e;

		assert_int_equal(host_parse(goods[i].in, goods[i].n, &h, &e), 0);
		assert_int_equal(host_parse(h.name, h.len, &again, &e), 0);
		assert_true(host_equal(&h, &again));
	}
}

struct bad {
	const char *in;
	size_t n;
	const char *says;
};

static const struct bad bads[] = {
	{BYTES(""), "empty"},
	{BYTES("."), "empty label"},
	{BYTES(".."), "empty label"},
	{BYTES("a..b"), "empty label"},
	{BYTES(".a"), "empty label"},
	{BYTES("a.."), "empty label"},
	{BYTES("example.com\0.evil.test"), "NUL"},
	{BYTES("\0"), "NUL"},
	{BYTES("a\tb"), "control"},
	{BYTES("a\r\nb"), "control"},
	{BYTES("a\x7f"), "control"},
	{BYTES(" a"), "blank"},
	{BYTES("a b"), "blank"},
	{BYTES("a "), "blank"},
	{BYTES("user@host"), "user information"},
	{BYTES("%61.com"), "percent"},
	{BYTES("a%00.com"), "percent"},
	{BYTES("*.example.com"), "patterns only"},
	{BYTES("a/b"), "character"},
	{BYTES("a\\b"), "character"},
	{BYTES("a?b"), "character"},
	{BYTES("a#b"), "character"},
	{BYTES("a,b"), "character"},
	{BYTES("-a.com"), "begins or ends"},
	{BYTES("a-.com"), "begins or ends"},
	{BYTES("a.-"), "begins or ends"},
	{BYTES("b\xc3\xbc"
	       "cher.example"),
	 "not ASCII"},
	/* U+3002, the ideographic full stop that IDNA reads as a dot; full-width digits */
	{BYTES("a\xe3\x80\x82"
	       "b"),
	 "not ASCII"},
	{BYTES("\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1"), "not ASCII"},
	{BYTES("127.1"), "ambiguous"},
	{BYTES("127.0.1"), "ambiguous"},
	{BYTES("127.0.0.1."), "ambiguous"},
	{BYTES("127.0.0.1.."), "empty label"},
	{BYTES("0177.0.0.1"), "ambiguous"},
	{BYTES("127.0.0.01"), "ambiguous"},
	{BYTES("127.0.0.08"), "ambiguous"},
	{BYTES("00127.0.0.1"), "ambiguous"},
	{BYTES("0x7f.0.0.1"), "ambiguous"},
	{BYTES("0X7F.0.0.1"), "ambiguous"},
	{BYTES("127.0.0.0x1"), "ambiguous"},
	{BYTES("0x7f000001"), "ambiguous"},
	{BYTES("0x7f000001."), "ambiguous"},
	{BYTES("0x"), "ambiguous"},
	{BYTES("a.0x"), "ambiguous"},
	{BYTES("2130706433"), "ambiguous"},
	{BYTES("017700000001"), "ambiguous"},
	{BYTES("0"), "ambiguous"},
	{BYTES("256.0.0.1"), "ambiguous"},
	{BYTES("1.2.3.4.5"), "ambiguous"},
	{BYTES("999999999999"), "ambiguous"},
	{BYTES("example.1"), "ambiguous"},
	{BYTES("127.0.0.1.1"), "ambiguous"},
	{BYTES("[::1"), "bracket"},
	{BYTES("[]"), "bracket"},
	{BYTES("["), "bracket"},
	{BYTES("::1]"), "not an IPv6"},
	{BYTES("[127.0.0.1]"), "not an IPv6"},
	{BYTES("[example.com]"), "not an IPv6"},
	{BYTES("[[::1]]"), "not an IPv6"},
	{BYTES("[::1%eth0]"), "zone"},
	{BYTES("fe80::1%25eth0"), "zone"},
	{BYTES("[::1%]"), "zone"},
	{BYTES("[::1\0]"), "not an IPv6"},
	{BYTES("1:2"), "not an IPv6"},
	{BYTES(":::1"), "not an IPv6"},
	{BYTES("[v1.x]"), "not an IPv6"},
	{BYTES("::ffff:127.1"), "not an IPv6"},
	{BYTES("::ffff:0177.0.0.1"), "not an IPv6"},
	{BYTES("example.com:80"), "not an IPv6"},
};

static void host_refusals_say_what_is_wrong(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(bads); i++) {
		struct err e = {0};
		struct host h;

		if (host_parse(bads[i].in, bads[i].n, &h, &e) == 0)
			fail_msg("'%s' passes as '%s'", bads[i].in, h.name);
		if (!strstr(e.msg, bads[i].says))
			fail_msg("'%s': '%s' does not say '%s'", bads[i].in, e.msg, bads[i].says);
	}
}

static void host_lengths_are_held_to_the_byte(void **state)
{
	char text[300];
	struct host h;
	struct err e;

	memset(text, 'a', sizeof(text));
	assert_int_equal(host_parse(text, 63, &h, &e), 0);
	assert_int_equal(host_parse(text, 64, &h, &e), -EINVAL);
	for (size_t i = 63; i < sizeof(text); i += 64)
		text[i] = '.';
	assert_int_equal(host_parse(text, 253, &h, &e), 0);
	assert_int_equal(h.len, 253);
	assert_int_equal(host_parse(text, 254, &h, &e), -EINVAL);
	text[253] = '.';
	assert_int_equal(host_parse(text, 254, &h, &e), 0);
	assert_int_equal(h.len, 253);
	text[253] = 'a';
	text[254] = '.';
	assert_int_equal(host_parse(text, 255, &h, &e), -EINVAL);
}

static void a_refused_host_leaves_the_output_alone(void **state)
{
	struct host h = {.name = "before"};
	struct err e;

	assert_int_equal(host_parse(BYTES("a b"), &h, &e), -EINVAL);
	assert_string_equal(h.name, "before");
}

static void a_host_in_an_error_is_printable(void **state)
{
	struct err e = {0};
	struct host h;

	(void)host_parse(BYTES("a\x1b[31m\xff\nb"), &h, &e);
	for (const char *s = e.msg; *s; s++)
		assert_in_range(*s, 0x20, 0x7e);
}

static const struct {
	const char *in, *name; /* NULL: refused */
	uint16_t fallback, port;
} authorities[] = {
	{"example.com:443", "example.com", 0, 443},
	{"EXAMPLE.com.:8080", "example.com", 0, 8080},
	{"example.com", "example.com", 80, 80},
	{"example.com", NULL, 0, 0},
	{"[::1]:443", "::1", 0, 443},
	{"[::1]", "::1", 443, 443},
	{"[::ffff:10.0.0.1]:443", "10.0.0.1", 0, 443},
	{"10.0.0.1:22", "10.0.0.1", 0, 22},
	{"::1:443", NULL, 0, 0},
	{"2001:db8::1", NULL, 443, 0},
	{"example.com:", NULL, 80, 0},
	{"example.com:0", NULL, 80, 0},
	{"example.com:0443", NULL, 80, 0},
	{"example.com:65535", "example.com", 80, 65535},
	{"example.com:65536", NULL, 80, 0},
	{"example.com:443443", NULL, 80, 0},
	{"example.com:+443", NULL, 80, 0},
	{"example.com: 443", NULL, 80, 0},
	{"example.com:443 ", NULL, 80, 0},
	{"example.com:80:443", NULL, 80, 0},
	{"user:pw@example.com:443", NULL, 80, 0},
	{"example.com:80@evil.test:443", NULL, 80, 0},
	{"[::1]443", NULL, 80, 0},
	{"[::1", NULL, 80, 0},
	{"[::1]:", NULL, 80, 0},
	{":443", NULL, 80, 0},
	{"", NULL, 80, 0},
	{"127.1:80", NULL, 80, 0},
	{"example.com/:80", NULL, 80, 0},
};

static void authority_is_split_strictly(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(authorities); i++) {
		const char *in = authorities[i].in;
		struct err e = {0};
		struct host h;
		uint16_t port = 0;
		int r = host_parse_authority(in, strlen(in), authorities[i].fallback, &h, &port,
					     &e);

		if (!authorities[i].name) {
			if (r == 0)
				fail_msg("'%s' passes", in);
			continue;
		}
		if (r < 0)
			fail_msg("'%s' is refused: %s", in, e.msg);
		assert_string_equal(h.name, authorities[i].name);
		assert_int_equal(port, authorities[i].port);
	}
}

static void host_format_puts_brackets_around_ipv6(void **state)
{
	char text[HOST_PORT_TEXT_SIZE];
	struct host h;
	struct err e;

	assert_int_equal(host_parse(BYTES("[::1]"), &h, &e), 0);
	host_format(&h, 443, text);
	assert_string_equal(text, "[::1]:443");
}

static void loopback_and_metadata_names_are_known(void **state)
{
	static const struct {
		const char *name;
		bool loopback, metadata;
	} rows[] = {
		{"localhost", true, false},
		{"a.b.localhost", true, false},
		{"localhost.localdomain", true, false},
		{"notlocalhost", false, false},
		{"localhost.example.com", false, false},
		{"metadata.google.internal", false, true},
		{"x.metadata.google.internal", false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct host h;
		struct err e;

		assert_int_equal(host_parse(rows[i].name, strlen(rows[i].name), &h, &e), 0);
		assert_int_equal(host_is_loopback_name(&h), rows[i].loopback);
		assert_int_equal(host_is_metadata_name(&h), rows[i].metadata);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_spellings_have_one_form),
		cmocka_unit_test(host_canonical_form_is_a_fixed_point),
		cmocka_unit_test(host_refusals_say_what_is_wrong),
		cmocka_unit_test(host_lengths_are_held_to_the_byte),
		cmocka_unit_test(a_refused_host_leaves_the_output_alone),
		cmocka_unit_test(a_host_in_an_error_is_printable),
		cmocka_unit_test(authority_is_split_strictly),
		cmocka_unit_test(host_format_puts_brackets_around_ipv6),
		cmocka_unit_test(loopback_and_metadata_names_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
