#include "tests.h"

#include "policy/idna.h"
#include "policy/pattern.h"

static const struct {
	const char *pattern, *host;
	uint16_t port;
	bool matches;
} matches[] = {
	{"example.com", "example.com", 443, true},
	{"example.com", "example.com", 80, true},
	{"example.com", "example.com", 22, false},
	{"example.com", "www.example.com", 443, false},
	{"example.com", "badexample.com", 443, false},
	{"example.com", "example.com.evil.test", 443, false},
	{"EXAMPLE.com.", "example.com", 443, true},
	{"example.com:22", "example.com", 22, true},
	{"example.com:22", "example.com", 443, false},
	{"example.com:*", "example.com", 1, true},
	{"example.com:*", "example.com", 65535, true},
	{"*.example.com", "www.example.com", 443, true},
	{"*.example.com", "a.b.c.example.com", 443, true},
	{"*.example.com", "example.com", 443, false},
	{"*.example.com", "wwwexample.com", 443, false},
	{"*.example.com", "www.example.com", 8443, false},
	{"*.example.com:8443", "www.example.com", 8443, true},
	{"192.0.2.7", "192.0.2.7", 443, true},
	{"192.0.2.7", "::ffff:192.0.2.7", 443, true},
	{"192.0.2.7:22", "192.0.2.7", 22, true},
	{"192.0.2.7", "192.0.2.8", 443, false},
	{"10.0.0.0/8", "10.1.2.3", 443, true},
	{"10.0.0.0/8", "10.1.2.3", 5432, false},
	{"10.0.0.0/8:5432", "10.1.2.3", 5432, true},
	{"10.0.0.0/8:*", "10.1.2.3", 1, true},
	{"10.0.0.0/8", "11.0.0.0", 443, false},
	{"fd00::/8", "fd12::1", 443, true},
	{"[fd00::/8]:22", "fd12::1", 22, true},
	{"[2001:db8::7]:443", "2001:db8::7", 443, true},
	{"2001:db8::7", "2001:db8:0:0::7", 80, true},
	{"[2001:db8::7]", "2001:db8::7", 80, true},
	{"localhost:5432", "localhost", 5432, true},
	{"localhost:5432", "127.0.0.1", 5432, true},
	{"localhost:5432", "::1", 5432, true},
	{"localhost:5432", "::ffff:127.0.0.1", 5432, true},
	{"localhost:5432", "127.0.0.2", 5432, false},
	{"localhost:5432", "127.0.0.1", 5433, false},
	{"localhost:5432", "x.localhost", 5432, false},
	{"127.0.0.1:5432", "localhost", 5432, true},
	{"[::1]:5432", "127.0.0.1", 5432, true},
	{"intranet", "intranet", 443, true},
	{"xn--bcher-kva.example", "XN--Bcher-KVA.example", 443, true},
	{"*.uk.com", "a.uk.com", 443, true},
	{"*.example.co.uk", "a.example.co.uk", 443, true},
	{"*.me.github.io", "x.me.github.io", 443, true},
	{"*.corp.internal", "git.corp.internal", 443, true},
};

static void patterns_match_what_they_say_and_no_more(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(matches); i++) {
		struct err e = {0};
		struct pattern p;
		struct host h;
		bool got;

		if (pattern_parse(matches[i].pattern, false, &p, &e) < 0)
			fail_msg("'%s' is refused: %s", matches[i].pattern, e.msg);
		assert_int_equal(host_parse(matches[i].host, strlen(matches[i].host), &h, &e), 0);
		got = pattern_has_host(&p, &h) && pattern_has_port(&p, matches[i].port);
		if (got != matches[i].matches)
			fail_msg("'%s' against %s:%u", matches[i].pattern, matches[i].host,
				 matches[i].port);
	}
}

static const struct {
	const char *pattern, *says;
} mistakes[] = {
	{"*", "'*' is too broad; name hosts, or choose the tier 'inet'"},
	{"**", "too broad"},
	{"*:443", "too broad"},
	{"*.com", "'*.com' is too broad; name a registrable domain"},
	{"*.dev.", "too broad"},
	{"*.co.uk", "'*.co.uk' is too broad; name a registrable domain"},
	{"*.COM.au", "registrable"},
	{"*.ne.jp:443", "registrable"},
	{"*.github.io", "anybody can publish there"},
	{"*.s3.amazonaws.com", "anybody can publish there"},
	{"0.0.0.0/0", "'0.0.0.0/0' is too broad"},
	{"0.0.0.0/1", "too broad"},
	{"128.0.0.0/1", "too broad"},
	{"64.0.0.0/7", "too broad"},
	{"::/0", "too broad"},
	{"2000::/3", "too broad"},
	{"64:ff9b::/96", "all of IPv4"},
	{"2002::/16", "all of IPv4"},
	{"127.0.0.0/8", "localhost:PORT"},
	{"127.0.0.2:80", "localhost:PORT"},
	{"localhost", "'localhost:5432'"},
	{"localhost:*", "'localhost:5432'"},
	{"127.0.0.1", "'localhost:5432'"},
	{"[::1]", "'localhost:5432'"},
	{"*.localhost", "localhost:PORT"},
	{"a.localhost:80", "localhost:PORT"},
	{"ip6-localhost:80", "localhost:PORT"},
	{"0.0.0.0:80", "cannot be allowed"},
	{"224.0.0.1", "cannot be allowed"},
	{"255.255.255.255", "cannot be allowed"},
	{"ff02::1", "cannot be allowed"},
	{"10.0.0.1/8", "did you mean '10.0.0.0/8'"},
	{"https://example.com/x", "as in 'example.com'"},
	{"https://example.com:8443", "as in 'example.com:8443'"},
	{"example.com/path", "network.rules"},
	{"user@example.com", "user name"},
	{"@npm", "group"},
	{"**.example.com", "write '*.example.com'"},
	{".example.com", "write '*.example.com'"},
	{"a.*.com", "whole labels"},
	{"*example.com", "whole labels"},
	{"*.*.example.com", "whole labels"},
	{"example.*", "whole labels"},
	{"*.10.0.0.1", "before an address"},
	{"example.com:0", "1 to 65535"},
	{"example.com:", "1 to 65535"},
	{"example.com:65536", "1 to 65535"},
	{"example.com:https", "1 to 65535"},
	{"example.com:80-90", "1 to 65535"},
	{"", "empty pattern"},
	{"exa mple.com", "blank"},
	{"example.com\n", "blank"},
	{"127.1", "ambiguous"},
	{"0x7f000001:80", "ambiguous"},
	{"[example.com]:80", "brackets"},
	{"[::1", "brackets"},
	{"[2001:db8::1]x", "brackets"},
	{"fe80::1%eth0", "not an address"},
	{"-a.com", "begins or ends"},
	{"b\xc3\xbc"
	 "cher.example",
	 "xn--"},
};

static void pattern_mistakes_teach(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
		struct err e = {0};
		struct pattern p;

		if (pattern_parse(mistakes[i].pattern, false, &p, &e) == 0)
			fail_msg("'%s' passes", mistakes[i].pattern);
		if (!strstr(e.msg, mistakes[i].says))
			fail_msg("'%s' does not say '%s'", e.msg, mistakes[i].says);
		assert_int_equal(err_exit_code(&e, 1), EXIT_USAGE);
	}
}

static void a_deny_pattern_may_be_as_wide_as_it_likes(void **state)
{
	static const char *const wide[] = {"*.com",	  "*.co.uk",	 "*.github.io",
					   "0.0.0.0/0",	  "::/0",	 "localhost",
					   "127.0.0.0/8", "*.localhost", "224.0.0.0/4"};
	struct pattern p;
	struct err e;

	for (size_t i = 0; i < ARRAY_SIZE(wide); i++) {
		assert_int_equal(pattern_parse(wide[i], true, &p, &e), 0);
		assert_true(pattern_has_port(&p, 25));
	}
	assert_int_equal(pattern_parse("*", true, &p, &e), -EINVAL);
}

static void specificity_prefers_names_then_length_then_port(void **state)
{
	static const char *const order[] = {"*.example.com", "*.example.com:443", "*.a.example.com",
					    "b.a.example.com", "b.a.example.com:443"};
	static const char *const ranges[] = {"10.0.0.0/8", "10.0.0.0/8:22", "10.1.0.0/16",
					     "10.1.2.3", "10.1.2.3:22"};
	struct pattern p;
	struct err e;
	unsigned last = 0;

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		assert_int_equal(pattern_parse(order[i], false, &p, &e), 0);
		assert_true(pattern_specificity(&p) > last);
		last = pattern_specificity(&p);
	}
	last = 0;
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		assert_int_equal(pattern_parse(ranges[i], false, &p, &e), 0);
		assert_true(pattern_specificity(&p) > last);
		last = pattern_specificity(&p);
	}
}

static void idna_turns_written_names_into_ascii(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"b\xc3\xbc"
		 "cher.example",
		 "xn--bcher-kva.example"},
		{"*.B\xc3\x9c"
		 "CHER.example:443",
		 "*.xn--bcher-kva.example:443"},
		{"stra\xc3\x9f"
		 "e.example",
		 "xn--strae-oqa.example"}, /* non-transitional: not "strasse" */
		{"\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97\xef\xbc\x8e\xef\xbc\x90.0.1", "127.0.0.1"},
		{"a\xe3\x80\x82"
		 "example",
		 "a.example"},
		{"Plain.Example:*", "Plain.Example:*"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_free char *out = NULL;
		struct err e = {0};

		if (idna_to_ascii(rows[i].in, &out, &e) < 0)
			fail_msg("%s", e.msg);
		assert_string_equal(out, rows[i].out);
	}
}

static void idna_refuses_what_is_no_name(void **state)
{
	static const char *const bad[] = {"\xff\xfe.example", "\xc3\xbc:\xef\xbc\x91",
					  "\xe2\x80\xae.example"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		cleanup_free char *out = NULL;
		struct err e = {0};

		if (idna_to_ascii(bad[i], &out, &e) == 0)
			fail_msg("row %zu gives '%s'", i, out);
		assert_int_equal(err_exit_code(&e, 1), EXIT_USAGE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_match_what_they_say_and_no_more),
		cmocka_unit_test(pattern_mistakes_teach),
		cmocka_unit_test(a_deny_pattern_may_be_as_wide_as_it_likes),
		cmocka_unit_test(specificity_prefers_names_then_length_then_port),
		cmocka_unit_test(idna_turns_written_names_into_ascii),
		cmocka_unit_test(idna_refuses_what_is_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
