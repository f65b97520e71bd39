#include "tests.h"

#include "flow/host-proxy.h"

static struct host_proxies *proxies_of(const char *https, const char *no_proxy)
{
	struct gw_config c = {.https_proxy = (char *)https, .no_proxy = (char *)no_proxy};
	struct err err = {0};

	return host_proxies_new(&c, &err);
}

static bool goes_through(const struct host_proxies *c, const char *host, uint16_t port)
{
	struct err err = {0};
	struct host h;

	assert_int_equal(host_parse(host, strlen(host), &h, &err), 0);
	return host_proxy_for(c, &h, port, false) != NULL;
}

static void no_proxy_is_read_as_others_read_it(void **state)
{
	static const struct {
		const char *entry, *host;
		bool direct;
	} cases[] = {
		{"example.com", "example.com", true},
		{"example.com", "www.example.com", true},
		{".example.com", "www.example.com", true},
		{".example.com", "example.com", true},
		{"*.example.com", "www.example.com", true},
		{"EXAMPLE.com", "example.com", true},
		{"example.com", "badexample.com", false},
		{"ample.com", "example.com", false},
		{"example.com:443", "example.com", true},
		{"example.com:8443", "example.com", false},
		{"a.test, example.com ,b.test", "example.com", true},
		{"*", "anything.test", true},
		{"", "example.com", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct host_proxies *c = proxies_of("http://proxy:8080", cases[i].entry);

		assert_non_null(c);
		if (goes_through(c, cases[i].host, 443) == cases[i].direct)
			fail_msg("NO_PROXY='%s' %s", cases[i].entry, cases[i].host);
		(void)host_proxies_free(c);
	}
}

static void literals_and_this_machine_never_go_through_it(void **state)
{
	struct host_proxies *c = proxies_of("http://proxy:8080", NULL);

	assert_false(goes_through(c, "8.8.8.8", 443));
	assert_false(goes_through(c, "2600::1", 443));
	assert_false(goes_through(c, "localhost", 443));
	assert_true(goes_through(c, "example.com", 443));
	(void)host_proxies_free(c);
}

static void a_proxy_is_read_with_port_and_credentials(void **state)
{
	struct host_proxies *c = proxies_of("http://me:p%40ss@proxy.example:3129/", NULL);

	assert_non_null(c);
	assert_string_equal(c->https.host.name, "proxy.example");
	assert_int_equal(c->https.port, 3129);
	assert_string_equal(c->https.auth, "Basic bWU6cEBzcw==");
	(void)host_proxies_free(c);
}

static void proxies_of_other_kinds_are_an_error(void **state)
{
	assert_null(proxies_of("https://proxy:443", NULL));
	assert_null(proxies_of("socks5://proxy:1080", NULL));
	assert_null(proxies_of("http://", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_proxy_is_read_as_others_read_it),
		cmocka_unit_test(literals_and_this_machine_never_go_through_it),
		cmocka_unit_test(a_proxy_is_read_with_port_and_credentials),
		cmocka_unit_test(proxies_of_other_kinds_are_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
