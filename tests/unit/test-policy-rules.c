#include "tests.h"

#include "policy/policy.h"

/* "-pattern" denies, "pattern" allows. */
static struct policy *make(enum policy_tier tier, const char *const *rules)
{
	struct policy *p = policy_new(tier);
	struct err e = {0};

	for (; *rules; rules++) {
		bool deny = **rules == '-';

		if (policy_add_pattern(p, deny, *rules + deny, "test", &e) < 0)
			fail_msg("%s", e.msg);
	}
	return p;
}

#define RULES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_RULES ((const char *const[]){NULL})

static struct host host(const char *text)
{
	struct err e = {0};
	struct host h;

	if (host_parse(text, strlen(text), &h, &e) < 0)
		fail_msg("%s", e.msg);
	return h;
}

static struct verdict ask(const struct policy *p, const char *name, uint16_t port)
{
	struct host h = host(name);
	struct verdict v;

	policy_name(p, &h, port, &v);
	return v;
}

/* Both steps: the name, then the address it led to. */
static struct verdict dial(const struct policy *p, const char *name, const char *answer,
			   uint16_t port)
{
	struct host h = host(answer);
	struct verdict v = ask(p, name, port), v2;

	policy_addr(p, &v, &h.ip, port, &v2);
	return v2;
}

struct row {
	const char *rules[4];
	const char *host;
	uint16_t port;
	bool allow;
	enum policy_reason reason;
};

static const struct row allowlist[] = {
	{{NULL}, "example.com", 443, false, POLICY_DENY_NO_RULE},
	{{"example.com"}, "example.com", 443, true, POLICY_BY_RULE},
	{{"example.com"}, "example.com", 22, false, POLICY_DENY_PORT},
	{{"example.com"}, "www.example.com", 443, false, POLICY_DENY_NO_RULE},
	{{"*.example.com"}, "example.com", 443, false, POLICY_DENY_NO_RULE},
	/* the header's examples */
	{{"*.example.com", "-secret.example.com"},
	 "secret.example.com",
	 443,
	 false,
	 POLICY_DENY_RULE},
	{{"*.example.com", "-secret.example.com"}, "www.example.com", 443, true, POLICY_BY_RULE},
	{{"-*.example.com", "www.example.com"}, "www.example.com", 443, true, POLICY_BY_RULE},
	{{"-*.example.com", "www.example.com"}, "x.example.com", 443, false, POLICY_DENY_RULE},
	{{"example.com", "-example.com"}, "example.com", 443, false, POLICY_DENY_RULE},
	{{"-example.com", "example.com"}, "example.com", 443, false, POLICY_DENY_RULE},
	{{"-example.com", "example.com:443"}, "example.com", 443, true, POLICY_BY_RULE},
	{{"-example.com", "example.com:443"}, "example.com", 80, false, POLICY_DENY_RULE},
	{{"example.com:443", "-example.com:443"}, "example.com", 443, false, POLICY_DENY_RULE},
	{{"example.com:*", "-example.com:25"}, "example.com", 25, false, POLICY_DENY_RULE},
	{{"example.com:*", "-example.com:25"}, "example.com", 26, true, POLICY_BY_RULE},
	{{"*.a.example.com", "-*.example.com"}, "x.a.example.com", 443, true, POLICY_BY_RULE},
	{{"-*.a.example.com", "*.example.com"}, "x.a.example.com", 443, false, POLICY_DENY_RULE},
	{{"-*.com", "example.com"}, "example.com", 443, true, POLICY_BY_RULE},
	/* literals: only address rules speak of them */
	{{"example.com"}, "8.8.8.8", 443, false, POLICY_DENY_NO_RULE},
	{{"8.8.8.8"}, "8.8.8.8", 443, true, POLICY_BY_RULE},
	{{"8.8.8.8"}, "::ffff:8.8.8.8", 443, true, POLICY_BY_RULE},
	{{"8.8.8.8"}, "8.8.8.8", 53, false, POLICY_DENY_PORT},
	{{"8.8.0.0/16", "-8.8.8.0/24"}, "8.8.8.8", 443, false, POLICY_DENY_RULE},
	{{"8.8.8.8", "-8.8.8.0/24"}, "8.8.8.8", 443, true, POLICY_BY_RULE},
	{{"10.0.0.0/8"}, "10.1.2.3", 443, true, POLICY_BY_RULE},
	{{"10.0.0.0/8"}, "10.1.2.3", 22, false, POLICY_DENY_CLASS},
	{{NULL}, "10.1.2.3", 443, false, POLICY_DENY_CLASS},
	{{NULL}, "198.18.0.5", 443, false, POLICY_DENY_CLASS},
	{{"198.18.0.0/15"}, "198.18.0.5", 443, true, POLICY_BY_RULE},
	/* this machine */
	{{NULL}, "localhost", 80, false, POLICY_DENY_LOOPBACK},
	{{NULL}, "127.0.0.1", 80, false, POLICY_DENY_LOOPBACK},
	{{NULL}, "127.9.9.9", 80, false, POLICY_DENY_LOOPBACK},
	{{NULL}, "::1", 80, false, POLICY_DENY_LOOPBACK},
	{{NULL}, "0.0.0.0", 80, false, POLICY_DENY_CLASS},
	{{NULL}, "::", 80, false, POLICY_DENY_CLASS},
	{{NULL}, "a.localhost", 80, false, POLICY_DENY_LOOPBACK},
	{{"localhost:5432"}, "localhost", 5432, true, POLICY_BY_RULE},
	{{"localhost:5432"}, "127.0.0.1", 5432, true, POLICY_BY_RULE},
	{{"localhost:5432"}, "::1", 5432, true, POLICY_BY_RULE},
	{{"localhost:5432"}, "127.0.0.1", 5433, false, POLICY_DENY_LOOPBACK},
	{{"localhost:5432"}, "127.0.0.2", 5432, false, POLICY_DENY_LOOPBACK},
	{{"localhost:5432"}, "a.localhost", 5432, false, POLICY_DENY_LOOPBACK},
	{{"localhost:5432"}, "2002:7f00:1::", 5432, false, POLICY_DENY_LOOPBACK},
	{{"localhost:5432", "-localhost"}, "localhost", 5432, true, POLICY_BY_RULE},
	{{"localhost:5432", "-localhost:5432"}, "127.0.0.1", 5432, false, POLICY_DENY_RULE},
	/* metadata */
	{{NULL}, "169.254.169.254", 80, false, POLICY_DENY_METADATA},
	{{"169.254.0.0/16"}, "169.254.169.254", 80, false, POLICY_DENY_METADATA},
	{{"169.254.169.254"}, "169.254.169.254", 80, true, POLICY_BY_RULE},
	{{"169.254.0.0/16"}, "169.254.1.1", 80, true, POLICY_BY_RULE},
	{{"*.google.internal"}, "metadata.google.internal", 80, false, POLICY_DENY_METADATA},
	{{"metadata.google.internal"}, "metadata.google.internal", 80, true, POLICY_BY_RULE},
};

static void check(enum policy_tier tier, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		cleanup_(policy_freep) struct policy *p = make(tier, rows[i].rules);
		struct verdict v = ask(p, rows[i].host, rows[i].port);

		if (v.allow != rows[i].allow || v.reason != rows[i].reason)
			fail_msg("row %zu: %s:%u under %s is %s (%s)", i, rows[i].host,
				 rows[i].port, policy_tier_name(tier),
				 v.allow ? "allowed" : "refused", policy_reason_name(v.reason));
	}
}

static void allowlist_lets_the_most_specific_rule_decide(void **state)
{
	check(POLICY_ALLOWLIST, allowlist, ARRAY_SIZE(allowlist));
}

static void rules_decide_the_same_in_any_order(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(allowlist); i++) {
		struct row r = allowlist[i];

		if (!r.rules[0] || !r.rules[1])
			continue;
		r.rules[0] = allowlist[i].rules[1];
		r.rules[1] = allowlist[i].rules[0];
		check(POLICY_ALLOWLIST, &r, 1);
	}
}

static void tier_none_allows_nothing_whatever_rules_say(void **state)
{
	cleanup_(policy_freep) struct policy *p =
		make(POLICY_NONE, RULES("example.com", "localhost:5432", "8.8.8.8"));

	assert_int_equal(ask(p, "example.com", 443).reason, POLICY_DENY_NONE);
	assert_int_equal(ask(p, "localhost", 5432).reason, POLICY_DENY_NONE);
	assert_false(ask(p, "8.8.8.8", 443).allow);
	assert_false(dial(p, "example.com", "8.8.8.8", 443).allow);
}

static void an_unknown_tier_allows_nothing(void **state)
{
	cleanup_(policy_freep) struct policy *p = make((enum policy_tier)77, RULES("example.com"));

	assert_false(ask(p, "example.com", 443).allow);
}

static const struct row inet[] = {
	{{NULL}, "example.com", 443, true, POLICY_BY_TIER},
	{{NULL}, "example.com", 6667, true, POLICY_BY_TIER},
	{{NULL}, "8.8.8.8", 53, true, POLICY_BY_TIER},
	{{NULL}, "10.0.0.1", 443, false, POLICY_DENY_CLASS},
	{{NULL}, "fd00::1", 443, false, POLICY_DENY_CLASS},
	{{NULL}, "169.254.1.1", 443, false, POLICY_DENY_CLASS},
	{{NULL}, "100.64.0.1", 443, false, POLICY_DENY_CLASS},
	{{NULL}, "64:ff9b::10.0.0.1", 443, false, POLICY_DENY_CLASS},
	{{NULL}, "169.254.169.254", 80, false, POLICY_DENY_METADATA},
	{{NULL}, "127.0.0.1", 80, false, POLICY_DENY_LOOPBACK},
	{{NULL}, "localhost", 80, false, POLICY_DENY_LOOPBACK},
	{{NULL}, "metadata.google.internal", 80, false, POLICY_DENY_METADATA},
	{{"-*.example.com"}, "a.example.com", 22, false, POLICY_DENY_RULE},
	{{"-*.com"}, "example.com", 443, false, POLICY_DENY_RULE},
	{{"-8.0.0.0/8"}, "8.8.8.8", 443, false, POLICY_DENY_RULE},
	{{"localhost:5432"}, "localhost", 5432, true, POLICY_BY_RULE},
	{{"10.0.0.1"}, "10.0.0.1", 443, true, POLICY_BY_RULE},
	{{"-example.com"}, "8.8.8.8", 443, false, POLICY_DENY_NAMELESS},
	{{"-example.com"}, "2001:4860::8", 22, false, POLICY_DENY_NAMELESS},
	{{"-*.example.com:25"}, "8.8.8.8", 25, false, POLICY_DENY_NAMELESS},
	{{"-*.example.com:25"}, "8.8.8.8", 443, true, POLICY_BY_TIER},
	{{"-example.com"}, "example.org", 443, true, POLICY_BY_TIER},
	{{"-example.com", "8.8.8.8"}, "8.8.8.8", 443, true, POLICY_BY_RULE},
	{{"-example.com", "8.8.8.8:443"}, "8.8.8.8", 80, false, POLICY_DENY_NAMELESS},
	{{"-example.com"}, "10.0.0.1", 443, false, POLICY_DENY_CLASS},
	{{"example.com", "localhost:5432"}, "8.8.8.8", 443, true, POLICY_BY_TIER},
	{{"-9.9.9.9"}, "8.8.8.8", 443, true, POLICY_BY_TIER},
};

static const struct row full[] = {
	{{NULL}, "example.com", 443, true, POLICY_BY_TIER},
	{{NULL}, "10.0.0.1", 22, true, POLICY_BY_TIER},
	{{NULL}, "fd00::1", 443, true, POLICY_BY_TIER},
	{{NULL}, "169.254.1.1", 443, true, POLICY_BY_TIER},
	{{NULL}, "100.64.0.1", 443, true, POLICY_BY_TIER},
	{{NULL}, "169.254.169.254", 80, false, POLICY_DENY_METADATA},
	{{NULL}, "::ffff:a9fe:a9fe", 80, false, POLICY_DENY_METADATA},
	{{NULL}, "fd00:ec2::254", 80, false, POLICY_DENY_METADATA},
	{{NULL}, "64:ff9b::a9fe:a9fe", 80, false, POLICY_DENY_METADATA},
	{{NULL}, "64:ff9b:1::a9fe:a9fe", 80, false, POLICY_DENY_METADATA},
	{{NULL}, "2002:a9fe:a9fe::", 80, false, POLICY_DENY_METADATA},
	{{NULL}, "metadata.google.internal", 80, false, POLICY_DENY_METADATA},
	{{NULL}, "127.0.0.1", 80, false, POLICY_DENY_LOOPBACK},
	{{NULL}, "::127.0.0.1", 80, false, POLICY_DENY_LOOPBACK},
	{{NULL}, "0.0.0.0", 80, false, POLICY_DENY_CLASS},
	{{NULL}, "198.18.0.1", 80, false, POLICY_DENY_CLASS},
	{{NULL}, "224.0.0.1", 80, false, POLICY_DENY_CLASS},
	{{"-10.0.0.0/8"}, "10.0.0.1", 22, false, POLICY_DENY_RULE},
	{{"169.254.169.254"}, "169.254.169.254", 80, true, POLICY_BY_RULE},
};

static void inet_allows_public_addresses_on_any_port(void **state)
{
	check(POLICY_INET, inet, ARRAY_SIZE(inet));
}

static void full_adds_private_addresses_but_never_metadata(void **state)
{
	check(POLICY_FULL, full, ARRAY_SIZE(full));
}

static void a_name_that_leads_inside_is_refused(void **state)
{
	static const struct {
		const char *answer;
		enum policy_reason reason;
	} rows[] = {
		{"10.0.0.7", POLICY_DENY_CLASS},
		{"192.168.1.1", POLICY_DENY_CLASS},
		{"100.64.0.1", POLICY_DENY_CLASS},
		{"169.254.1.1", POLICY_DENY_CLASS},
		{"198.18.0.1", POLICY_DENY_CLASS},
		{"0.0.0.0", POLICY_DENY_CLASS},
		{"fd00::1", POLICY_DENY_CLASS},
		{"fe80::1", POLICY_DENY_CLASS},
		{"::", POLICY_DENY_CLASS},
		{"64:ff9b::10.0.0.1", POLICY_DENY_CLASS},
		{"127.0.0.1", POLICY_DENY_LOOPBACK},
		{"::1", POLICY_DENY_LOOPBACK},
		{"::ffff:127.0.0.1", POLICY_DENY_LOOPBACK},
		{"169.254.169.254", POLICY_DENY_METADATA},
	};
	static const enum policy_tier tiers[] = {POLICY_ALLOWLIST, POLICY_INET};

	for (size_t t = 0; t < ARRAY_SIZE(tiers); t++) {
		cleanup_(policy_freep) struct policy *p =
			make(tiers[t], RULES("example.com", "*.example.com"));

		assert_true(dial(p, "example.com", "8.8.8.8", 443).allow);
		assert_true(dial(p, "example.com", "2606:4700::1", 443).allow);
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			struct verdict v = dial(p, "example.com", rows[i].answer, 443);

			assert_false(v.allow);
			assert_int_equal(v.reason, rows[i].reason);
			assert_false(dial(p, "a.example.com", rows[i].answer, 443).allow);
		}
	}
}

static void a_name_may_lead_inside_when_a_rule_names_the_range_and_port(void **state)
{
	cleanup_(policy_freep) struct policy *p =
		make(POLICY_ALLOWLIST, RULES("db.example.com:5432", "10.0.0.0/8:5432"));

	assert_true(dial(p, "db.example.com", "10.0.0.7", 5432).allow);
	assert_false(dial(p, "db.example.com", "192.168.0.7", 5432).allow);
	assert_false(dial(p, "other.example.com", "10.0.0.7", 5432).allow);
}

static void a_range_rule_alone_resolves_no_name(void **state)
{
	cleanup_(policy_freep) struct policy *p = make(POLICY_ALLOWLIST, RULES("10.0.0.0/8"));

	assert_int_equal(ask(p, "example.com", 443).reason, POLICY_DENY_NO_RULE);
}

static void a_denied_range_refuses_the_names_that_lead_there(void **state)
{
	cleanup_(policy_freep) struct policy *p =
		make(POLICY_INET, RULES("example.com", "-8.8.8.0/24"));
	struct verdict v = dial(p, "example.com", "8.8.8.8", 443);

	assert_int_equal(v.reason, POLICY_DENY_RULE);
	assert_int_equal(v.rule, 1);
	assert_true(dial(p, "example.com", "8.8.9.8", 443).allow);
}

static void a_refused_name_stays_refused_whatever_it_leads_to(void **state)
{
	cleanup_(policy_freep) struct policy *p =
		make(POLICY_ALLOWLIST, RULES("8.8.8.8", "-evil.test"));

	assert_int_equal(dial(p, "evil.test", "8.8.8.8", 443).reason, POLICY_DENY_RULE);
	assert_int_equal(dial(p, "other.test", "8.8.8.8", 443).reason, POLICY_DENY_NO_RULE);
}

static void a_host_service_dials_the_loopback_and_nothing_else(void **state)
{
	cleanup_(policy_freep) struct policy *p = make(POLICY_ALLOWLIST, RULES("localhost:5432"));

	assert_true(ask(p, "localhost", 5432).service);
	assert_true(dial(p, "localhost", "127.0.0.1", 5432).allow);
	assert_true(dial(p, "localhost", "::1", 5432).allow);
	assert_false(dial(p, "localhost", "127.0.0.2", 5432).allow);
	assert_false(dial(p, "localhost", "10.0.0.1", 5432).allow);
}

static void a_dns_question_is_allowed_when_some_port_is(void **state)
{
	cleanup_(policy_freep) struct policy *p = make(
		POLICY_ALLOWLIST, RULES("git.example.com:22", "x.example.com:*", "-x.example.com"));
	struct host git = host("git.example.com"), x = host("x.example.com"),
		    other = host("secret-data.example.com");

	assert_true(policy_any_port(p, &git));
	assert_false(policy_any_port(p, &x));
	assert_false(policy_any_port(p, &other));
}

static void inspection_wins_over_a_plain_rule_of_the_same_host(void **state)
{
	cleanup_(policy_freep) struct policy *p = make(POLICY_ALLOWLIST, RULES("api.example.com"));
	cleanup_strv struct strv methods = {0};
	struct net_rule t = {.pattern = "api.example.com"};
	struct err e;

	strv_push(&methods, "GET");
	t.methods = methods;
	assert_false(ask(p, "api.example.com", 443).inspect);
	assert_int_equal(policy_add(p, &t, &e), 0);
	assert_true(ask(p, "api.example.com", 443).inspect);
	assert_true(dial(p, "api.example.com", "8.8.8.8", 443).inspect);
}

static void a_range_that_inspects_lifts_nothing_for_names(void **state)
{
	cleanup_(policy_freep) struct policy *p = make(POLICY_ALLOWLIST, RULES("example.com"));
	cleanup_strv struct strv methods = {0};
	struct net_rule t = {.pattern = "10.0.0.0/8"};
	struct err e;

	strv_push(&methods, "GET");
	t.methods = methods;
	assert_int_equal(policy_add(p, &t, &e), 0);
	assert_true(ask(p, "10.0.0.1", 443).inspect);
	assert_true(dial(p, "10.0.0.1", "10.0.0.1", 443).allow);
	assert_false(dial(p, "example.com", "10.0.0.1", 443).allow);
}

static void refusals_name_the_rule_and_the_remedy(void **state)
{
	static const struct {
		const char *rules[3], *host, *answer;
		uint16_t port;
		const char *why, *remedy;
	} rows[] = {
		{{NULL},
		 "example.com",
		 NULL,
		 443,
		 "example.com:443 is refused: no rule allows it",
		 "ralph net allow example.com"},
		{{NULL},
		 "example.com",
		 NULL,
		 22,
		 "example.com:22 is refused: no rule allows it",
		 "ralph net allow example.com:22"},
		{{"example.com"},
		 "example.com",
		 NULL,
		 22,
		 "example.com:22 is refused: 'example.com' (test) allows ports 80 and 443 only",
		 "ralph net allow example.com:22"},
		{{"-*.example.com"},
		 "a.example.com",
		 NULL,
		 443,
		 "a.example.com:443 is refused by the deny rule '*.example.com' (test)",
		 "ralph net allow a.example.com:443"},
		{{"-a.example.com:443"},
		 "a.example.com",
		 NULL,
		 443,
		 "a.example.com:443 is refused by the deny rule 'a.example.com:443' (test)",
		 "remove the deny rule 'a.example.com:443'"},
		{{"example.com"},
		 "example.com",
		 "10.0.0.7",
		 443,
		 "example.com:443 (10.0.0.7) is refused: it is a private address, and no rule "
		 "names it",
		 "ralph net allow 10.0.0.7"},
		{{NULL},
		 "127.0.0.1",
		 NULL,
		 5432,
		 "127.0.0.1:5432 is refused: it is this machine, and no host service rule names "
		 "that port",
		 "ralph net allow localhost:5432"},
		{{NULL},
		 "169.254.169.254",
		 NULL,
		 80,
		 "169.254.169.254:80 is refused: a cloud metadata service hands out credentials",
		 ""},
		{{NULL},
		 "2606:4700::1",
		 NULL,
		 443,
		 "[2606:4700::1]:443 is refused: no rule allows it",
		 "ralph net allow [2606:4700::1]:443"},
		{{"example.com"},
		 "example.com",
		 "8.8.8.8",
		 443,
		 "example.com:443 (8.8.8.8) is allowed by 'example.com' (test)",
		 ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_(policy_freep) struct policy *p = make(POLICY_ALLOWLIST, rows[i].rules);
		struct host h = host(rows[i].host);
		char text[512];
		struct verdict v = rows[i].answer
					   ? dial(p, rows[i].host, rows[i].answer, rows[i].port)
					   : ask(p, rows[i].host, rows[i].port);

		verdict_explain(p, &v, &h, rows[i].port, text, sizeof(text));
		assert_string_equal(text, rows[i].why);
		verdict_remedy(p, &v, &h, rows[i].port, text, sizeof(text));
		assert_string_equal(text, rows[i].remedy);
	}
}

static void a_remedy_followed_allows_what_was_refused(void **state)
{
	static const char *const deny[] = {"-*.example.com", "-a.example.com", "-*.com"};
	static const char prefix[] = "ralph net allow ";

	for (size_t i = 0; i < ARRAY_SIZE(deny); i++) {
		cleanup_(policy_freep) struct policy *p = make(POLICY_ALLOWLIST, RULES(deny[i]));
		struct host h = host("a.example.com");
		struct verdict v = ask(p, "a.example.com", 443);
		char text[512];
		struct err e;

		verdict_remedy(p, &v, &h, 443, text, sizeof(text));
		assert_memory_equal(text, prefix, sizeof(prefix) - 1);
		assert_int_equal(
			policy_add_pattern(p, false, text + sizeof(prefix) - 1, "user", &e), 0);
		assert_true(ask(p, "a.example.com", 443).allow);
	}
}

static void a_bad_rule_is_refused_and_adds_nothing(void **state)
{
	cleanup_(policy_freep) struct policy *p = make(POLICY_ALLOWLIST, NO_RULES);
	cleanup_strv struct strv list = {0};
	struct net_rule deny = {.deny = true, .pattern = "a.example"};
	struct net_rule lower = {.pattern = "a.example"}, paths = lower, git = lower;
	struct err e = {0};

	strv_push(&list, "GET");
	deny.methods = paths.paths = git.git = list;
	assert_int_equal(policy_add(p, &deny, &e), -EINVAL);
	assert_int_equal(policy_add(p, &paths, &e), -EINVAL);
	assert_int_equal(policy_add(p, &git, &e), -EINVAL);
	strv_push(&list, "post");
	lower.methods = list;
	assert_int_equal(policy_add(p, &lower, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "capitals"));
	assert_int_equal(policy_add_pattern(p, false, "*.com", "x", &e), -EINVAL);
	assert_int_equal(p->n_rules, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allowlist_lets_the_most_specific_rule_decide),
		cmocka_unit_test(rules_decide_the_same_in_any_order),
		cmocka_unit_test(tier_none_allows_nothing_whatever_rules_say),
		cmocka_unit_test(an_unknown_tier_allows_nothing),
		cmocka_unit_test(inet_allows_public_addresses_on_any_port),
		cmocka_unit_test(full_adds_private_addresses_but_never_metadata),
		cmocka_unit_test(a_name_that_leads_inside_is_refused),
		cmocka_unit_test(a_name_may_lead_inside_when_a_rule_names_the_range_and_port),
		cmocka_unit_test(a_range_rule_alone_resolves_no_name),
		cmocka_unit_test(a_denied_range_refuses_the_names_that_lead_there),
		cmocka_unit_test(a_refused_name_stays_refused_whatever_it_leads_to),
		cmocka_unit_test(a_host_service_dials_the_loopback_and_nothing_else),
		cmocka_unit_test(a_dns_question_is_allowed_when_some_port_is),
		cmocka_unit_test(inspection_wins_over_a_plain_rule_of_the_same_host),
		cmocka_unit_test(a_range_that_inspects_lifts_nothing_for_names),
		cmocka_unit_test(refusals_name_the_rule_and_the_remedy),
		cmocka_unit_test(a_remedy_followed_allows_what_was_refused),
		cmocka_unit_test(a_bad_rule_is_refused_and_adds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
