#include "tests.h"

#include "policy/addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static struct ip ip(const char *text)
{
	struct ip ret;

	if (ip_parse(text, strlen(text), &ret) < 0)
		fail_msg("'%s' is not an address", text);
	return ret;
}

static const struct {
	const char *text;
	enum addr_class class;
} classes[] = {
	{"8.8.8.8", ADDR_PUBLIC},
	{"1.1.1.1", ADDR_PUBLIC},
	{"9.255.255.255", ADDR_PUBLIC},
	{"11.0.0.0", ADDR_PUBLIC},
	{"223.255.255.255", ADDR_PUBLIC},
	{"0.0.0.0", ADDR_UNSPECIFIED},
	{"0.1.2.3", ADDR_UNSPECIFIED},
	{"10.0.0.0", ADDR_PRIVATE},
	{"10.255.255.255", ADDR_PRIVATE},
	{"100.63.255.255", ADDR_PUBLIC},
	{"100.64.0.0", ADDR_CGNAT},
	{"100.127.255.255", ADDR_CGNAT},
	{"100.128.0.0", ADDR_PUBLIC},
	{"100.100.100.200", ADDR_METADATA},
	{"126.255.255.255", ADDR_PUBLIC},
	{"127.0.0.1", ADDR_LOOPBACK},
	{"127.255.255.255", ADDR_LOOPBACK},
	{"128.0.0.0", ADDR_PUBLIC},
	{"168.63.129.16", ADDR_METADATA},
	{"168.63.129.17", ADDR_PUBLIC},
	{"169.253.255.255", ADDR_PUBLIC},
	{"169.254.0.0", ADDR_LINK_LOCAL},
	{"169.254.0.23", ADDR_METADATA},
	{"169.254.169.254", ADDR_METADATA},
	{"169.254.169.253", ADDR_METADATA},
	{"169.254.170.2", ADDR_METADATA},
	{"169.254.170.23", ADDR_METADATA},
	{"169.254.171.1", ADDR_LINK_LOCAL},
	{"169.255.0.0", ADDR_PUBLIC},
	{"172.15.255.255", ADDR_PUBLIC},
	{"172.16.0.0", ADDR_PRIVATE},
	{"172.31.255.255", ADDR_PRIVATE},
	{"172.32.0.0", ADDR_PUBLIC},
	{"192.0.0.1", ADDR_RESERVED},
	{"192.0.0.192", ADDR_METADATA},
	{"192.0.1.1", ADDR_PUBLIC},
	{"192.0.2.1", ADDR_DOCUMENTATION},
	{"192.88.99.1", ADDR_RESERVED},
	{"192.167.255.255", ADDR_PUBLIC},
	{"192.168.0.0", ADDR_PRIVATE},
	{"192.169.0.0", ADDR_PUBLIC},
	{"198.17.255.255", ADDR_PUBLIC},
	{"198.18.0.0", ADDR_STANDIN},
	{"198.19.255.255", ADDR_STANDIN},
	{"198.20.0.0", ADDR_PUBLIC},
	{"198.51.100.7", ADDR_DOCUMENTATION},
	{"203.0.113.7", ADDR_DOCUMENTATION},
	{"224.0.0.1", ADDR_MULTICAST},
	{"239.255.255.255", ADDR_MULTICAST},
	{"240.0.0.0", ADDR_RESERVED},
	{"255.255.255.254", ADDR_RESERVED},
	{"255.255.255.255", ADDR_BROADCAST},

	{"::", ADDR_UNSPECIFIED},
	{"::1", ADDR_LOOPBACK},
	{"::2", ADDR_UNSPECIFIED}, /* compatible form of 0.0.0.2 */
	{"2606:4700::1111", ADDR_PUBLIC},
	{"2001:200::1", ADDR_PUBLIC},
	{"2001:1ff::1", ADDR_RESERVED},
	{"2001:2::1", ADDR_RESERVED},
	{"2001:20::1", ADDR_RESERVED},
	{"2001:db8::1", ADDR_DOCUMENTATION},
	{"3fff::1", ADDR_DOCUMENTATION},
	{"3fff:fff::1", ADDR_DOCUMENTATION},
	{"3fff:1000::1", ADDR_PUBLIC},
	{"4000::1", ADDR_RESERVED},
	{"5f00::1", ADDR_RESERVED},
	{"100::1", ADDR_RESERVED},
	{"100:0:0:1::1", ADDR_RESERVED},
	{"fc00::1", ADDR_PRIVATE},
	{"fdff::1", ADDR_PRIVATE},
	{"fe00::1", ADDR_RESERVED},
	{"fe80::1", ADDR_LINK_LOCAL},
	{"febf::1", ADDR_LINK_LOCAL},
	{"fec0::1", ADDR_PRIVATE},
	{"ff02::1", ADDR_MULTICAST},
	{"ff0e::1", ADDR_MULTICAST},
	{"fd00:ec2::254", ADDR_METADATA},
	{"fd00:ec2::253", ADDR_METADATA},
	{"fd00:ec2::23", ADDR_METADATA},
	{"fd20:ce::254", ADDR_METADATA},
	{"fd20:ce::253", ADDR_PRIVATE},
	{"fd00:c1::a9fe:a9fe", ADDR_METADATA},
	{"fd00:42::42", ADDR_METADATA},
	{"fe80::a9fe:a9fe", ADDR_METADATA},

	/* mapped: the same as IPv4 */
	{"::ffff:8.8.8.8", ADDR_PUBLIC},
	{"::ffff:127.0.0.1", ADDR_LOOPBACK},
	{"::ffff:a9fe:a9fe", ADDR_METADATA},
	{"::ffff:10.0.0.1", ADDR_PRIVATE},
	/* compatible and translated: never public, worse where the inside is worse */
	{"::8.8.8.8", ADDR_RESERVED},
	{"::127.0.0.1", ADDR_LOOPBACK},
	{"::169.254.169.254", ADDR_METADATA},
	{"::ffff:0:8.8.8.8", ADDR_RESERVED},
	{"::ffff:0:127.0.0.1", ADDR_LOOPBACK},
	/* 6to4 */
	{"2002:808:808::1", ADDR_PUBLIC},
	{"2002:7f00:1::", ADDR_LOOPBACK},
	{"2002:a9fe:a9fe::1", ADDR_METADATA},
	{"2002:a00:1::1", ADDR_PRIVATE},
	{"2002:c0a8:101::1", ADDR_PRIVATE},
	/* Teredo: server, then client behind the XOR */
	{"2001:0:808:808::f7f7:f7f7", ADDR_RESERVED},
	{"2001:0:7f00:1::f7f7:f7f7", ADDR_LOOPBACK},
	{"2001:0:808:808::80ff:fffe", ADDR_LOOPBACK},
	{"2001:0:808:808::5601:5601", ADDR_METADATA},
	/* NAT64 */
	{"64:ff9b::8.8.8.8", ADDR_PUBLIC},
	{"64:ff9b::127.0.0.1", ADDR_LOOPBACK},
	{"64:ff9b::10.0.0.1", ADDR_PRIVATE},
	{"64:ff9b::a9fe:a9fe", ADDR_METADATA},
	{"64:ff9b::100.64.0.1", ADDR_CGNAT},
	{"64:ff9b::1:0:0:1", ADDR_RESERVED}, /* outside the /96 */
	{"64:ff9b:1::8.8.8.8", ADDR_PRIVATE},
	{"64:ff9b:1::a9fe:a9fe", ADDR_METADATA},
	{"64:ff9b:1::127.0.0.1", ADDR_LOOPBACK},
	{"64:ff9b:1:a9fe:a9:fe00::", ADDR_METADATA},   /* RFC 6052, /48 */
	{"64:ff9b:1:a9:fe:a9fe::", ADDR_METADATA},     /* /56 */
	{"64:ff9b:1:0:a9:fea9:fe00:0", ADDR_METADATA}, /* /64 */
	/* ISATAP, under any prefix */
	{"2606:4700::5efe:808:808", ADDR_PUBLIC},
	{"2606:4700::5efe:7f00:1", ADDR_LOOPBACK},
	{"2606:4700::200:5efe:a9fe:a9fe", ADDR_METADATA},
	{"2606:4700::200:5efe:c0a8:1", ADDR_PRIVATE},
};

static void addresses_have_their_class_in_every_spelling(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		struct ip a = ip(classes[i].text);

		if (addr_class(&a) != classes[i].class)
			fail_msg("%s is %s address, not %s", classes[i].text,
				 addr_class_name(addr_class(&a)),
				 addr_class_name(classes[i].class));
	}
}

static void ip_parse_reads_nothing_but_the_strict_forms(void **state)
{
	static const char *const bad[] = {
		"",	     "1",	  "1.2",       "1.2.3",	   "1.2.3.4.5",
		"01.2.3.4",  "1.2.3.256", "0x1.2.3.4", "1.2.3.4 ", " 1.2.3.4",
		"1.2.3.4\n", "1..2.3",	  "+1.2.3.4",  "[::1]",	   "::1%lo",
		"::1::",     ":",	  "1::2::3",   "12345::",  "::ffff:01.2.3.4",
		"g::",	     "1.2.3.4/8"};
	struct ip a;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (ip_parse(bad[i], strlen(bad[i]), &a) == 0)
			fail_msg("'%s' passes", bad[i]);
	assert_int_equal(ip_parse("1.2.3.4\0x", 9, &a), -EINVAL);
}

static void mapped_bytes_and_sockaddrs_become_ipv4(void **state)
{
	struct sockaddr_in6 s6 = {.sin6_family = AF_INET6, .sin6_port = htons(443)};
	struct sockaddr_storage ss;
	struct ip a, want = ip("127.0.0.1");
	uint16_t port;

	assert_int_equal(inet_pton(AF_INET6, "::ffff:127.0.0.1", &s6.sin6_addr), 1);
	assert_int_equal(ip_from_bytes(&s6.sin6_addr, 16, &a), 0);
	assert_true(ip_equal(&a, &want));
	assert_int_equal(ip_from_sockaddr((struct sockaddr *)&s6, &a, &port), 0);
	assert_true(ip_equal(&a, &want));
	assert_int_equal(port, 443);
	assert_int_equal(ip_to_sockaddr(&a, 80, &ss), sizeof(struct sockaddr_in));
	assert_int_equal(ss.ss_family, AF_INET);
	assert_int_equal(ip_from_bytes("abc", 3, &a), -EINVAL);
}

static void sockaddr_round_trip_keeps_the_address(void **state)
{
	struct ip a = ip("2606:4700::1"), b;
	struct sockaddr_storage ss;
	uint16_t port;

	assert_int_equal(ip_to_sockaddr(&a, 8443, &ss), sizeof(struct sockaddr_in6));
	assert_int_equal(ip_from_sockaddr((struct sockaddr *)&ss, &b, &port), 0);
	assert_true(ip_equal(&a, &b));
	assert_int_equal(port, 8443);
}

static const struct {
	const char *range, *in, *out;
} ranges[] = {
	{"10.0.0.0/8", "10.255.255.255", "11.0.0.0"},
	{"192.168.4.0/22", "192.168.7.255", "192.168.8.0"},
	{"1.2.3.4", "1.2.3.4", "1.2.3.5"},
	{"1.2.3.4/32", "1.2.3.4", "1.2.3.5"},
	{"0.0.0.0/0", "8.8.8.8", "::1"},
	{"1.2.3.4/31", "1.2.3.5", "1.2.3.6"},
	{"fd00::/8", "fdff::1", "fc00::1"},
	{"2001:db8::/33", "2001:db8:7fff::1", "2001:db8:8000::1"},
	{"::/0", "::1", "127.0.0.1"},
	{"::1", "::1", "::2"},
	{"::ffff:1.2.3.4", "1.2.3.4", "1.2.3.5"},
};

static void cidr_holds_its_addresses_and_no_other(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		struct ip in = ip(ranges[i].in), out = ip(ranges[i].out);
		struct err e = {0};
		struct cidr c;

		if (cidr_parse(ranges[i].range, strlen(ranges[i].range), &c, &e) < 0)
			fail_msg("%s", e.msg);
		assert_true(cidr_contains(&c, &in));
		assert_false(cidr_contains(&c, &out));
	}
}

static void cidr_mistakes_are_named(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"10.0.0.1/8", "did you mean '10.0.0.0/8'"},
		{"2001:db8::1/32", "did you mean '2001:db8::/32'"},
		{"10.0.0.0/33", "0 to 32"},
		{"10.0.0.0/08", "0 to 32"},
		{"10.0.0.0/", "0 to 32"},
		{"10.0.0.0/-1", "0 to 32"},
		{"fd00::/129", "0 to 128"},
		{"10.0.0.0/8/8", "0 to 32"},
		{"10.0/8", "not an address"},
		{"/8", "not an address"},
		{"", "not an address"},
		{"::ffff:10.0.0.0/104", "write it as IPv4"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err e = {0};
		struct cidr c;

		assert_int_equal(cidr_parse(rows[i].text, strlen(rows[i].text), &c, &e), -EINVAL);
		if (!strstr(e.msg, rows[i].says))
			fail_msg("'%s' does not say '%s'", e.msg, rows[i].says);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_have_their_class_in_every_spelling),
		cmocka_unit_test(ip_parse_reads_nothing_but_the_strict_forms),
		cmocka_unit_test(mapped_bytes_and_sockaddrs_become_ipv4),
		cmocka_unit_test(sockaddr_round_trip_keeps_the_address),
		cmocka_unit_test(cidr_holds_its_addresses_and_no_other),
		cmocka_unit_test(cidr_mistakes_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
