#include "tests.h"

#include <stdio.h>

#include "netrules/net-listeners.h"

static struct gw_listener *rows;
static size_t n_rows;

static int make(enum policy_tier tier, const char *const *patterns, size_t n)
{
	cleanup_(policy_freep) struct policy *p = policy_new(tier);
	struct err err = {0};

	free(rows);
	rows = NULL;
	n_rows = 0;
	for (size_t i = 0; i < n; i++)
		assert_int_equal(policy_add_pattern(p, false, patterns[i], "test", &err), 0);
	return net_listeners(p, &rows, &n_rows, &err);
}

static const struct gw_listener *row(enum gw_listen_kind kind, const char *addr, uint16_t port)
{
	for (size_t i = 0; i < n_rows; i++)
		if (rows[i].kind == kind && rows[i].port == port && streq(rows[i].addr, addr))
			return &rows[i];
	return NULL;
}

static void tier_none_listens_on_nothing(void **state)
{
	static const char *const p[] = {"example.com:5432"};

	assert_int_equal(make(POLICY_NONE, p, 1), 0);
	assert_int_equal(n_rows, 0);
}

static void an_empty_allowlist_has_proxy_dns_and_web_ports(void **state)
{
	assert_int_equal(make(POLICY_ALLOWLIST, NULL, 0), 0);
	assert_non_null(row(GW_LISTEN_PROXY, "127.0.0.1", 3128));
	assert_non_null(row(GW_LISTEN_PROXY, "::1", 3128));
	assert_non_null(row(GW_LISTEN_DNS_UDP, "127.0.0.53", 53));
	assert_non_null(row(GW_LISTEN_DNS_TCP, "127.0.0.53", 53));
	assert_non_null(row(GW_LISTEN_PORT, "0.0.0.0", 443));
	assert_non_null(row(GW_LISTEN_PORT, "::", 80));
	assert_null(row(GW_LISTEN_PORT, "0.0.0.0", 22));
	assert_int_equal(n_rows, 8);
}

static void a_host_that_is_denied_gets_no_port(void **state)
{
	cleanup_(policy_freep) struct policy *p = policy_new(POLICY_ALLOWLIST);
	struct err err = {0};

	free(rows);
	rows = NULL;
	n_rows = 0;
	assert_int_equal(policy_add_pattern(p, true, "a.example:22", "test", &err), 0);
	assert_int_equal(policy_add_pattern(p, true, "b.example:5432", "test", &err), 0);
	assert_int_equal(net_listeners(p, &rows, &n_rows, &err), 0);
	assert_null(row(GW_LISTEN_PORT, "0.0.0.0", 22));
	assert_int_equal(n_rows, 8);
}

static void low_ports_of_rules_are_taken_on_all_addresses_once(void **state)
{
	static const char *const p[] = {"a.example:22", "b.example:22", "*.c.example:25"};

	assert_int_equal(make(POLICY_ALLOWLIST, p, 3), 0);
	assert_non_null(row(GW_LISTEN_PORT, "0.0.0.0", 22));
	assert_non_null(row(GW_LISTEN_PORT, "0.0.0.0", 25));
	assert_int_equal(n_rows, 12);
}

static void high_ports_live_on_the_stand_in_of_their_host(void **state)
{
	static const char *const p[] = {"db.example:5432", "cache.example:6379", "db.example:5433",
					"*.wild.example:9000", "10.0.0.0/8:9001"};

	assert_int_equal(make(POLICY_ALLOWLIST, p, 5), 0);
	assert_string_equal(row(GW_LISTEN_STANDIN, "198.18.0.1", 5432)->host, "db.example");
	assert_string_equal(row(GW_LISTEN_STANDIN, "198.18.0.1", 5433)->host, "db.example");
	assert_string_equal(row(GW_LISTEN_STANDIN, "198.18.0.2", 6379)->host, "cache.example");
	assert_true(row(GW_LISTEN_STANDIN, "fd00:7261:6c70::1", 5432)->optional);
	assert_int_equal(n_rows, 8 + 6);
}

static void host_services_appear_on_the_loopback(void **state)
{
	static const char *const p[] = {"localhost:5432", "localhost:631"};
	static const char *const own[] = {"localhost:3128"};

	assert_int_equal(make(POLICY_ALLOWLIST, p, 2), 0);
	assert_non_null(row(GW_LISTEN_SERVICE, "127.0.0.1", 5432));
	assert_non_null(row(GW_LISTEN_SERVICE, "::1", 5432));
	assert_non_null(row(GW_LISTEN_PORT, "0.0.0.0", 631));
	assert_int_equal(make(POLICY_ALLOWLIST, own, 1), -EINVAL);
}

static void too_many_ports_are_an_error(void **state)
{
	char text[200][32];
	const char *p[200];

	for (size_t i = 0; i < 200; i++) {
		(void)snprintf(text[i], sizeof(text[i]), "h%zu.example:5432", i);
		p[i] = text[i];
	}
	assert_int_equal(make(POLICY_ALLOWLIST, p, 200), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tier_none_listens_on_nothing),
		cmocka_unit_test(an_empty_allowlist_has_proxy_dns_and_web_ports),
		cmocka_unit_test(a_host_that_is_denied_gets_no_port),
		cmocka_unit_test(low_ports_of_rules_are_taken_on_all_addresses_once),
		cmocka_unit_test(high_ports_live_on_the_stand_in_of_their_host),
		cmocka_unit_test(host_services_appear_on_the_loopback),
		cmocka_unit_test(too_many_ports_are_an_error),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);

	free(rows);
	return r;
}
