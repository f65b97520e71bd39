/* Rules by name hold however the server was reached: by an address, by another name, by a
 * stand-in. */
#include "live.h"

#include "flow/gateway-limits.h"

#include <stdio.h>

static const struct live_rule rules[] = {
	{.pattern = "inspected.test", .methods = "GET", .paths = "/hello /seen"},
	{.deny = true, .pattern = "other.test"},
	{.pattern = "8.1.1.1:5432"},
	{.pattern = "8.1.1.2:443"},
};

static const struct live_options options = {
	.rules = rules, .n_rules = ARRAY_SIZE(rules), .tier = POLICY_INET, .head_ms = 2000};

static int up(void **state)
{
	live_start(&options);
	return 0;
}

static int down(void **state)
{
	live_stop();
	return 0;
}

/* The connection is one to inspected.test, whoever was dialled: requests are judged. */
static void is_inspected(int fd, const char *sni)
{
	cleanup_free char *good = NULL, *bad = NULL;
	SSL *s = tls_over(fd, sni, TRUST_SANDBOX);

	assert_non_null(s);
	tls_put(s, "GET /seen HTTP/1.1\r\nHost: inspected.test\r\n\r\n");
	good = tls_get(s, "Host: inspected.test\r\n");
	starts(good, "HTTP/1.1 200 ");
	tls_put(s, "DELETE /seen HTTP/1.1\r\nHost: inspected.test\r\n\r\n");
	bad = tls_get(s, NULL);
	has(bad, "HTTP/1.1 403 ");
	tls_close(s);
	(void)live_event(GW_VERB_HTTP, GW_DENY, "inspected.test");
}

static void an_address_whose_hello_names_an_inspected_host_is_inspected(void **state)
{
	is_inspected(tunnel_to("8.1.1.3:443"), "inspected.test");
	is_inspected(tunnel_to("8.1.1.1:443"), "inspected.test");
	is_inspected(tunnel_to("8.1.1.1:443"), "INSPECTED.Test");
}

static void an_address_that_a_rule_allows_is_inspected_by_its_hello_too(void **state)
{
	is_inspected(tunnel_to("8.1.1.2:443"), "inspected.test");
}

static void another_allowed_name_whose_hello_names_an_inspected_host_is_inspected(void **state)
{
	char a[46];

	is_inspected(tunnel_to("allowed.test:443"), "inspected.test");
	assert_int_equal(dns_ask("allowed.test", 1, false, a), 0);
	is_inspected(client(a, 443), "inspected.test");
}

static void is_refused(const char *authority, const char *sni, const char *host, const char *why)
{
	int fd = tunnel_to(authority);
	unsigned char *hello;
	size_t n = hello_bytes(sni, &hello);
	cleanup_free char *answer = NULL;

	put_bytes(fd, hello, n);
	answer = get(fd, NULL);
	has(live_event(GW_VERB_CONNECT, GW_DENY, host)->reason, why);
	(void)close(fd);
	free(hello);
}

static void an_address_whose_hello_names_a_denied_host_is_refused(void **state)
{
	is_refused("8.1.1.2:443", "other.test", "other.test", "deny rule 'other.test'");
	is_refused("8.1.1.1:443", "OTHER.test", "other.test", "deny rule 'other.test'");
	is_refused("8.1.1.1:8443", "other.test.", "other.test", "deny rule 'other.test'");
	is_refused("[2600:beef::10]:443", "other.test", "other.test", "deny rule 'other.test'");
}

static void an_address_without_a_name_is_refused_with_the_rule_it_could_evade(void **state)
{
	is_refused("8.1.1.1:443", NULL, "8.1.1.1", "could evade the rule 'inspected.test'");
	is_refused("8.1.1.1:443", "8.1.1.1", "8.1.1.1", "could evade the rule 'inspected.test'");
	is_refused("8.1.1.1:8443", NULL, "8.1.1.1", "could evade the rule 'other.test'");
	is_refused("8.1.1.1:443", "8.1.1.2", "8.1.1.1", "another server");
	is_refused("8.1.1.1:443", "0x8.1.1.1", "8.1.1.1", "no host");
	is_refused("[2600:beef::10]:443", NULL, "2600:beef::10", "could evade");
}

static void a_name_given_to_an_address_is_dialled_itself(void **state)
{
	/* The client chose the address of another server: that one is not asked. */
	SSL *s = tls_over(tunnel_to("8.1.1.3:443"), "allowed.test", TRUST_SERVERS);
	cleanup_free char *back = NULL;

	assert_non_null(s);
	tls_put(s, "ping\n");
	back = tls_get(s, "ping\n");
	assert_string_equal(back, "ping\n");
	tls_close(s);
	(void)live_event(GW_VERB_CONNECT, GW_ALLOW, "allowed.test");
}

static void other_protocols_to_an_address_are_refused_unless_a_rule_names_it(void **state)
{
	static const char *const first[] = {"SSH-2.0-client\r\n", "\x05\x01", "ping\r\n",
					    "\x7f\x01\x02\x03"};
	cleanup_free char *back = NULL;
	int fd;

	for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
		cleanup_free char *answer = NULL;

		fd = tunnel_to("8.1.1.1:9000");
		put(fd, first[i]);
		answer = get(fd, NULL);
		assert_null(strstr(answer, first[i]));
		has(live_event(GW_VERB_CONNECT, GW_DENY, "8.1.1.1")->reason, "could evade");
		(void)close(fd);
	}
	/* The server would begin, and is not asked. */
	fd = tunnel_to("8.1.1.1:22");
	assert_true(is_closed(fd));
	has(live_event(GW_VERB_CONNECT, GW_DENY, "8.1.1.1")->reason, "could evade");
	(void)close(fd);
	fd = tunnel_to("8.1.1.1:5432");
	put(fd, "a database");
	back = get(fd, "a database");
	assert_string_equal(back, "a database");
	(void)close(fd);
}

static char *plain(const char *authority, const char *method, const char *path, const char *host)
{
	cleanup_free char *rq = xasprintf("%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
					  method, path, host);
	int fd = tunnel_to(authority);
	char *a;

	put(fd, rq);
	a = get(fd, NULL);
	(void)close(fd);
	return a;
}

static void the_host_field_of_plain_http_is_judged_like_a_dialled_name(void **state)
{
	static const struct {
		const char *authority, *method, *path, *host, *want;
	} rows[] = {
		{"8.1.1.1:80", "GET", "/hello", "other.test", "403 "},
		{"8.1.1.1:80", "GET", "/hello", "8.1.1.1", "403 "},
		{"8.1.1.1:80", "GET", "/hello", "8.1.1.2", "403 "},
		{"[2600:beef::10]:80", "GET", "/hello", "[2600:beef::10]", "403 "},
		{"8.1.1.1:9000", "GET", "/hello", "other.test:9000", "403 "},
		{"8.1.1.1:80", "GET", "/hello", "Inspected.test", "200 "},
		{"8.1.1.1:80", "DELETE", "/hello", "inspected.test", "403 "},
		{"allowed.test:80", "GET", "/hello", "inspected.test", "200 "},
		{"allowed.test:80", "DELETE", "/hello", "inspected.test.", "403 "},
		{"allowed.test:80", "GET", "/hello", "other.test", "403 "},
		{"8.1.1.2:80", "GET", "/hello", "allowed.test", "200 "},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_free char *a =
			plain(rows[i].authority, rows[i].method, rows[i].path, rows[i].host);
		cleanup_free char *want = xasprintf("HTTP/1.1 %s", rows[i].want);

		if (strncmp(a, want, strlen(want)) != 0)
			fail_msg("%s for %s: '%s'", rows[i].authority, rows[i].host, a);
	}
}

static void a_request_for_an_address_says_why_it_is_refused_and_what_to_do(void **state)
{
	cleanup_free char *a = ask("GET http://8.1.1.1/hello HTTP/1.1\r\nHost: 8.1.1.1\r\n\r\n");

	starts(a, "HTTP/1.1 403 ");
	has(a, "could evade the rule 'inspected.test'");
	has(a, "connect by name");
	has(a, "ralph net allow 8.1.1.1");
}

static void a_tunnel_to_an_address_ends_with_the_first_rule_it_could_evade(void **state)
{
	static const struct live_options none = {.tier = POLICY_INET};
	cleanup_free char *banner = NULL;
	int fd, named;

	live_policy(&none);
	fd = tunnel_to("8.1.1.1:22");
	banner = get(fd, "SSH-2.0-test\r\n");
	starts(banner, "SSH-2.0-test");
	named = tunnel_to("allowed.test:9000");
	live_policy(&options);
	assert_true(is_closed(fd));
	(void)close(fd);
	put(named, "still here");
	free(banner);
	banner = get(named, "still here");
	assert_string_equal(banner, "still here");
	(void)close(named);
}

/* Stand-in addresses */

/* More names of a wildcard than there are stand-in addresses to have at once. */
static void
names_of_a_wildcard_without_end_get_addresses_and_a_connection_keeps_its_own(void **state)
{
	static const struct live_rule few[] = {{.pattern = "allowed.test"},
					       {.pattern = "*.wild.test"}};
	const struct live_options o = {.rules = few, .n_rules = ARRAY_SIZE(few)};
	char held[46], first[46], addr[46], name[32];
	cleanup_free char *back = NULL;
	SSL *s;
	int fd;

	live_stop();
	live_start(&o);
	assert_int_equal(dns_ask("allowed.test", 1, false, held), 0);
	fd = client(held, 443);
	s = tls_over(fd, "allowed.test", TRUST_SERVERS);
	assert_non_null(s);
	for (int i = 0; i < STANDINS_MAX + 64; i++) {
		(void)snprintf(name, sizeof(name), "n%d.wild.test", i);
		assert_int_equal(dns_ask(name, 1, false, addr), 0);
		starts(addr, "198.1");
		assert_string_not_equal(addr, held);
		if (i == 0)
			memcpy(first, addr, sizeof(first));
		else
			assert_string_not_equal(addr, first);
	}
	/* The name with a connection has its address still, and the connection its server. */
	assert_int_equal(dns_ask("allowed.test", 1, false, addr), 0);
	assert_string_equal(addr, held);
	tls_put(s, "ping\n");
	back = tls_get(s, "ping\n");
	assert_string_equal(back, "ping\n");
	tls_close(s);
	/* The oldest name has none, and a program that remembers it reaches nobody by it. */
	fd = client(first, 443);
	assert_true(fd >= 0);
	assert_null(tls_over(fd, "n0.wild.test", TRUST_SERVERS));
	(void)close(fd);
	/* Asked again it gets another one, and the newest name is as good as any. */
	assert_int_equal(dns_ask("n0.wild.test", 1, false, addr), 0);
	assert_string_not_equal(addr, first);
	assert_int_equal(live_dns_questions(), 0);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_address_whose_hello_names_an_inspected_host_is_inspected),
		T(an_address_that_a_rule_allows_is_inspected_by_its_hello_too),
		T(another_allowed_name_whose_hello_names_an_inspected_host_is_inspected),
		T(an_address_whose_hello_names_a_denied_host_is_refused),
		T(an_address_without_a_name_is_refused_with_the_rule_it_could_evade),
		T(a_name_given_to_an_address_is_dialled_itself),
		T(other_protocols_to_an_address_are_refused_unless_a_rule_names_it),
		T(the_host_field_of_plain_http_is_judged_like_a_dialled_name),
		T(a_request_for_an_address_says_why_it_is_refused_and_what_to_do),
		T(a_tunnel_to_an_address_ends_with_the_first_rule_it_could_evade),
		T(names_of_a_wildcard_without_end_get_addresses_and_a_connection_keeps_its_own),
	};

	live_world();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
