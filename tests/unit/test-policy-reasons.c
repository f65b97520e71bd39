#include "tests.h"

#include "base/mem.h"
#include "policy/policy.h"

/* What people and logs are told of a decision: every reason has its name, its sentence, and the way
 * out of it. */
static struct policy *policy(enum policy_tier tier, const char *source)
{
	struct policy *p = policy_new(tier);
	struct err e = {0};

	assert_int_equal(policy_add_pattern(p, false, "example.org:22", source, &e), 0);
	assert_int_equal(policy_add_pattern(p, true, "*.example.org", source, &e), 0);
	return p;
}

static struct host host(const char *text)
{
	struct err e = {0};
	struct host h;

	assert_int_equal(host_parse(text, strlen(text), &h, &e), 0);
	return h;
}

static void every_reason_has_a_name_of_its_own(void **state)
{
	for (int a = 0; a < POLICY_REASON_N; a++)
		for (int b = 0; b < a; b++)
			assert_string_not_equal(policy_reason_name(a), policy_reason_name(b));
	assert_string_equal(policy_reason_name(POLICY_DENY_NO_RULE), "no-rule");
	assert_string_equal(policy_reason_name(POLICY_REASON_N), "unknown");
	assert_string_equal(policy_tier_name(POLICY_ALLOWLIST), "allowlist");
	assert_string_equal(policy_tier_name(POLICY_TIER_N), "unknown");
}

struct row {
	enum policy_reason reason;
	int rule;
	uint16_t port;
	const char *says, *remedy;
};

static void every_reason_is_explained_with_its_remedy(void **state)
{
	static const struct row rows[] = {
		{POLICY_BY_RULE, 0, 22, "example.org:22 is allowed by 'example.org:22' (user file)",
		 ""},
		{POLICY_BY_TIER, -1, 443, "example.org:443 is allowed by the tier 'inet'", ""},
		{POLICY_DENY_NONE, -1, 443,
		 "example.org:443 is refused: this sandbox has no network",
		 "choose another tier, as in '--net allowlist'"},
		{POLICY_DENY_RULE, 1, 443,
		 "example.org:443 is refused by the deny rule '*.example.org' (user file)",
		 "ralph net allow example.org:443"},
		{POLICY_DENY_RULE, 0, 22,
		 "example.org:22 is refused by the deny rule 'example.org:22' (user file)",
		 "remove the deny rule 'example.org:22'"},
		{POLICY_DENY_NO_RULE, -1, 443, "example.org:443 is refused: no rule allows it",
		 "ralph net allow example.org"},
		{POLICY_DENY_PORT, 0, 8080,
		 "example.org:8080 is refused: 'example.org:22' (user file) allows port 22 only",
		 "ralph net allow example.org:8080"},
		{POLICY_DENY_PORT, 1, 8080,
		 "example.org:8080 is refused: '*.example.org' (user file) allows ports 80 and 443 "
		 "only",
		 "ralph net allow example.org:8080"},
		{POLICY_DENY_NAMELESS, 1, 443,
		 "example.org:443 is refused: a connection by address could evade the rule "
		 "'*.example.org' (user file); connect by name",
		 "ralph net allow example.org"},
		{POLICY_DENY_METHOD, 0, 443,
		 "example.org:443 is refused: 'example.org:22' (user file) does not allow this "
		 "method",
		 "extend the rule for 'example.org' in network.rules"},
		{POLICY_DENY_PATH, 0, 443,
		 "example.org:443 is refused: 'example.org:22' (user file) does not allow this "
		 "path",
		 "extend the rule for 'example.org' in network.rules"},
		{POLICY_DENY_GIT, 0, 443,
		 "example.org:443 is refused: 'example.org:22' (user file) does not allow this git "
		 "operation",
		 "extend the rule for 'example.org' in network.rules"},
		{POLICY_DENY_AMBIGUOUS, 0, 443,
		 "example.org:443 is refused: the path can be read in two ways, and "
		 "'example.org:22' (user file) decides by path",
		 ""},
		{POLICY_REASON_N, -1, 443, "example.org:443 is refused", ""},
	};
	cleanup_(policy_freep) struct policy *p = policy(POLICY_INET, "user file");
	struct host h = host("example.org");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct verdict v = {.reason = rows[i].reason, .rule = rows[i].rule};
		char text[512];

		verdict_explain(p, &v, &h, rows[i].port, text, sizeof(text));
		assert_string_equal(text, rows[i].says);
		verdict_remedy(p, &v, &h, rows[i].port, text, sizeof(text));
		assert_string_equal(text, rows[i].remedy);
	}
}

static void rule_without_a_source_is_named_alone(void **state)
{
	cleanup_(policy_freep) struct policy *p = policy(POLICY_ALLOWLIST, "");
	const struct verdict v = {.reason = POLICY_BY_RULE};
	struct host h = host("example.org");
	char text[512];

	verdict_explain(p, &v, &h, 22, text, sizeof(text));
	assert_string_equal(text, "example.org:22 is allowed by 'example.org:22'");
}

static void deny_rule_behind_an_address_is_outranked_by_that_address(void **state)
{
	cleanup_(policy_freep) struct policy *p = policy(POLICY_INET, "user file");
	struct host h = host("example.org"), at = host("192.0.2.7");
	const struct verdict v = {
		.reason = POLICY_DENY_RULE, .rule = 1, .has_ip = true, .ip = at.ip};
	char text[512];

	verdict_remedy(p, &v, &h, 443, text, sizeof(text));
	assert_string_equal(text, "ralph net allow 192.0.2.7:443");
}

/* Whoever asks for less gets the beginning. */
static void explanation_is_cut_where_there_is_no_room(void **state)
{
	cleanup_(policy_freep) struct policy *p = policy(POLICY_INET, "user file");
	const struct verdict v = {.reason = POLICY_DENY_NO_RULE, .rule = -1};
	struct host h = host("example.org");
	char text[12];

	verdict_explain(p, &v, &h, 443, text, sizeof(text));
	assert_string_equal(text, "example.org");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reason_has_a_name_of_its_own),
		cmocka_unit_test(every_reason_is_explained_with_its_remedy),
		cmocka_unit_test(rule_without_a_source_is_named_alone),
		cmocka_unit_test(deny_rule_behind_an_address_is_outranked_by_that_address),
		cmocka_unit_test(explanation_is_cut_where_there_is_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
