#include "tests.h"

#include "http/url.h"

static void authority_splits_into_host_and_port(void **state)
{
	static const struct {
		const char *in, *host;
		uint16_t port;
		bool v6;
	} rows[] = {
		{"a.test", "a.test", 0, false},
		{"a.test:1", "a.test", 1, false},
		{"A_b-c.test.:65535", "A_b-c.test.", 65535, false},
		{"127.0.0.1:80", "127.0.0.1", 80, false},
		{"[::]", "::", 0, true},
		{"[::ffff:1.2.3.4]:443", "::ffff:1.2.3.4", 443, true},
		{"b\xc3\xbc.test", "b\xc3\xbc.test", 0, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct url_authority a;

		assert_int_equal(url_split_authority(rows[i].in, strlen(rows[i].in), &a), 0);
		assert_true(slice_eq(a.host, slice_of(rows[i].host)));
		assert_int_equal(a.port, rows[i].port);
		assert_int_equal(a.v6, rows[i].v6);
	}
}

static void authority_that_is_malformed_is_refused(void **state)
{
	static const struct {
		const char *in;
		enum url_reason reason;
	} rows[] = {
		{"", URL_HOST},
		{":80", URL_HOST},
		{"a:", URL_PORT},
		{"a:0", URL_PORT},
		{"a:00080", URL_PORT},
		{"a:65536", URL_PORT},
		{"a:999999", URL_PORT},
		{"a:+8", URL_PORT},
		{"a:8 ", URL_PORT},
		{"a:80:80", URL_PORT},
		{"::1", URL_HOST},
		{"u@a", URL_USERINFO},
		{"a@b:80", URL_USERINFO},
		{"u:p@a:80", URL_USERINFO},
		{"a b", URL_HOST},
		{"a/b", URL_HOST},
		{"a\\b", URL_HOST},
		{"a%00b", URL_HOST},
		{"a,b", URL_HOST},
		{"[::1", URL_HOST},
		{"[::1]x", URL_HOST},
		{"[::1]:", URL_PORT},
		{"[]", URL_HOST},
		{"[fe80::1%25eth0]", URL_HOST},
		{"[fe80::1%eth0]", URL_HOST},
		{"[a.test]", URL_HOST},
		{"a\nb", URL_HOST},
	};
	struct url_authority a;
	char name[URL_HOST_MAX + 1];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int r = url_split_authority(rows[i].in, strlen(rows[i].in), &a);

		if (r != -(int)rows[i].reason)
			fail_msg("%s: %d", rows[i].in, r);
	}
	assert_int_equal(url_split_authority("a\0b", 3, &a), -URL_HOST);
	memset(name, 'a', sizeof(name));
	assert_int_equal(url_split_authority(name, URL_HOST_MAX, &a), 0);
	assert_int_equal(url_split_authority(name, URL_HOST_MAX + 1, &a), -URL_HOST);
	assert_int_equal(url_split_host_port("a.test", 6, &a), -URL_NO_PORT);
}

static void url_splits_into_its_parts(void **state)
{
	const char *in = "HTTPS://a.test:8443/p/q?x=http://b?&y";
	struct url u;

	assert_int_equal(url_parse(in, strlen(in), &u), 0);
	assert_int_equal(u.scheme, URL_HTTPS);
	assert_true(slice_is(u.authority.host, "a.test"));
	assert_int_equal(u.authority.port, 8443);
	assert_true(slice_is(u.path, "/p/q"));
	assert_true(slice_is(u.query, "x=http://b?&y"));
	assert_int_equal(url_parse("http://a", 8, &u), 0);
	assert_int_equal(u.path.n, 0);
	assert_null(u.query.p);
	assert_int_equal(url_port(u.scheme, 0), 80);
	assert_int_equal(url_parse("http://a?", 9, &u), 0);
	assert_non_null(u.query.p);
}

static void url_that_is_malformed_is_refused(void **state)
{
	static const struct {
		const char *in;
		enum url_reason reason;
	} rows[] = {
		{"", URL_SCHEME},
		{"http:", URL_SCHEME},
		{"http:/a", URL_SCHEME},
		{"ftp://a/", URL_SCHEME},
		{"//a/", URL_SCHEME},
		{"http://", URL_HOST},
		{"http:///x", URL_HOST},
		{"http://?x", URL_HOST},
		{"http://a@b/", URL_USERINFO},
		{"http://a\\@b/", URL_USERINFO},
		{"http://a#@b/", URL_BYTES},
		{"http://a/#f", URL_BYTES},
		{"http://a/ b", URL_BYTES},
		{"http://a/\x7f", URL_BYTES},
		{"http://a/\xc3", URL_BYTES},
		{"http://a:/", URL_PORT},
	};
	struct url u;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int r = url_parse(rows[i].in, strlen(rows[i].in), &u);

		if (r != -(int)rows[i].reason)
			fail_msg("%s: %d", rows[i].in, r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(authority_splits_into_host_and_port),
		cmocka_unit_test(authority_that_is_malformed_is_refused),
		cmocka_unit_test(url_splits_into_its_parts),
		cmocka_unit_test(url_that_is_malformed_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
