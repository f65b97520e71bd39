#include "tests.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "edge/reach/dial.h"
#include "edge/reach/names.h"

static struct names *names;

static int up(void **state)
{
	struct gw_config c = {.standin4 = (char[]){GW_STANDIN4}, .standin6 = (char[]){GW_STANDIN6}};
	struct err err = {0};

	names = names_new(&c, &err);
	return names ? 0 : -1;
}

static int down(void **state)
{
	names = names_free(names);
	return 0;
}

static struct name *fill(size_t from, size_t n)
{
	struct name *last = NULL;
	char host[32];

	for (size_t i = from; i < from + n; i++) {
		(void)snprintf(host, sizeof(host), "h%zu.example", i);
		last = names_get(names, host);
	}
	return last;
}

static const char *v4_of(const struct name *nm)
{
	static char text[46];
	struct in_addr a;

	name_v4(names, nm, &a);
	return inet_ntop(AF_INET, &a, text, sizeof(text));
}

static struct name *find(const char *addr)
{
	union sockaddr_any a = {0};

	if (inet_pton(AF_INET, addr, &a.v4.sin_addr) == 1) {
		a.sa.sa_family = AF_INET;
	} else {
		assert_int_equal(inet_pton(AF_INET6, addr, &a.v6.sin6_addr), 1);
		a.sa.sa_family = AF_INET6;
	}
	return names_find(names, &a);
}

static void a_name_keeps_its_address(void **state)
{
	struct name *a = names_get(names, "a.example"), *b = names_get(names, "b.example");

	assert_ptr_equal(names_get(names, "a.example"), a);
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(find(v4_of(a)), a);
	assert_string_equal(name_host(find(v4_of(b))), "b.example");
}

static void both_families_lead_to_the_same_name(void **state)
{
	struct name *a = names_get(names, "a.example");
	char mapped[64], text[46];
	struct in6_addr six;

	assert_true(name_v6(names, a, &six));
	assert_ptr_equal(find(inet_ntop(AF_INET6, &six, text, sizeof(text))), a);
	(void)snprintf(mapped, sizeof(mapped), "::ffff:%s", v4_of(a));
	assert_ptr_equal(find(mapped), a);
}

static void addresses_outside_the_ranges_stand_for_nothing(void **state)
{
	static const char *const others[] = {"198.17.255.255", "198.20.0.0", "8.8.8.8",
					     "198.18.0.0",     "::1",	     "fd00:7261:6c70::"};

	(void)fill(0, 10);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_null(find(others[i]));
}

static void a_pinned_name_has_exactly_its_address(void **state)
{
	assert_int_equal(names_pin(names, "db.example", "198.18.0.1"), 0);
	assert_int_equal(names_pin(names, "db.example", "fd00:7261:6c70::1"), 0);
	assert_int_equal(names_pin(names, "other.example", "198.18.0.1"), -EEXIST);
	assert_int_equal(names_pin(names, "db.example", "8.8.8.8"), -EINVAL);
	assert_string_equal(v4_of(names_get(names, "db.example")), "198.18.0.1");
	/* Nobody else ever gets it, however many come. */
	(void)fill(0, STANDINS_MAX - 1);
	assert_string_equal(name_host(find("198.18.0.1")), "db.example");
}

static void a_full_table_gives_up_the_longest_unused_only(void **state)
{
	struct name *held = names_get(names, "held.example"), *old;
	const char *old_addr;
	char copy[46];

	name_hold(names, held);
	old = names_get(names, "old.example");
	old_addr = v4_of(old);
	(void)snprintf(copy, sizeof(copy), "%s", old_addr);
	(void)fill(0, STANDINS_MAX - 2);
	assert_non_null(names_get(names, "late.example"));
	assert_null(find(copy));
	assert_string_equal(name_host(find(v4_of(held))), "held.example");
	/* The address that became free waits its turn. */
	assert_string_not_equal(v4_of(names_get(names, "late.example")), copy);
	name_release(names, held);
}

static void names_without_end_are_answered_and_the_newest_are_known(void **state)
{
	struct name *held = names_get(names, "held.example");
	size_t n = 3 * STANDINS_MAX;

	name_hold(names, held);
	(void)fill(0, n);
	assert_string_equal(name_host(find(v4_of(held))), "held.example");
	name_release(names, held);
	/* It was used last, so it goes last. */
	(void)fill(n, STANDINS_MAX - 1);
	assert_string_equal(name_host(find(v4_of(held))), "held.example");
	(void)fill(2 * n, 1);
	assert_ptr_not_equal(names_get(names, "held.example"), held);
}

static void an_address_stands_for_nobody_before_it_is_second_hand(void **state)
{
	struct name *first = names_get(names, "first.example"), *again = NULL;
	size_t given = 1;
	char addr[46];

	(void)snprintf(addr, sizeof(addr), "%s", v4_of(first));
	for (size_t i = 0; !again; i++) {
		const struct name *nm = fill(i, 1);

		given++;
		if (streq(v4_of(nm), addr))
			again = find(addr);
		else if (i > STANDINS_MAX)
			assert_null(find(addr));
		assert_true(again == nm || given > 65000 || !name_is_second_hand(nm));
	}
	assert_true(given > 65000);
	assert_true(name_is_second_hand(again));
}

static void each_gateway_gives_out_addresses_that_none_before_it_had(void **state)
{
	struct gw_config c = {.standin4 = (char[]){GW_STANDIN4}};
	cleanup_free bool *given = xcalloc(1 << 17, sizeof(*given));
	struct err err = {0};

	for (c.before = 0; c.before <= 8; c.before++) {
		names = names_new(&c, &err);
		for (size_t i = 0; i < STANDINS_MAX + 1000; i++) {
			const struct name *nm = fill(i, 1);
			struct in_addr a;

			name_v4(names, nm, &a);
			assert_false(name_is_second_hand(nm));
			assert_false(given[ntohl(a.s_addr) & 0x1ffff]);
			given[ntohl(a.s_addr) & 0x1ffff] = true;
		}
		names = names_free(names);
	}
}

static void after_too_many_gateways_every_address_is_second_hand(void **state)
{
	struct gw_config many = {.standin4 = (char[]){GW_STANDIN4}, .before = 9};
	struct gw_config few = {.standin4 = (char[]){"198.18.0.0/19"}, .before = 1};
	const struct gw_config *c[] = {&many, &few};
	struct err err = {0};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		names = names_new(c[i], &err);
		assert_true(name_is_second_hand(names_get(names, "first.example")));
		assert_int_equal(names_pin(names, "pinned.example", "198.18.31.1"), 0);
		assert_false(name_is_second_hand(names_get(names, "pinned.example")));
		assert_null(find("198.18.30.200"));
		names = names_free(names);
	}
}

static struct ip ip(const char *text)
{
	struct ip r;

	assert_int_equal(ip_parse(text, strlen(text), &r), 0);
	return r;
}

static void addresses_of_two_families_take_turns(void **state)
{
	struct ip v[] = {ip("2600::1"), ip("2600::2"), ip("8.0.0.1"), ip("2600::3"), ip("8.0.0.2")};
	static const bool want[] = {true, false, true, false, true};

	dial_order(v, ARRAY_SIZE(v));
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		assert_int_equal(v[i].v6, want[i]);
	assert_int_equal(v[1].b[3], 1);
	assert_int_equal(v[3].b[3], 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_name_keeps_its_address, up, down),
		cmocka_unit_test_setup_teardown(both_families_lead_to_the_same_name, up, down),
		cmocka_unit_test_setup_teardown(addresses_outside_the_ranges_stand_for_nothing, up,
						down),
		cmocka_unit_test_setup_teardown(a_pinned_name_has_exactly_its_address, up, down),
		cmocka_unit_test_setup_teardown(a_full_table_gives_up_the_longest_unused_only, up,
						down),
		cmocka_unit_test_setup_teardown(
			names_without_end_are_answered_and_the_newest_are_known, up, down),
		cmocka_unit_test_setup_teardown(
			an_address_stands_for_nobody_before_it_is_second_hand, up, down),
		cmocka_unit_test(each_gateway_gives_out_addresses_that_none_before_it_had),
		cmocka_unit_test(after_too_many_gateways_every_address_is_second_hand),
		cmocka_unit_test(addresses_of_two_families_take_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
