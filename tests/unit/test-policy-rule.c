#include "tests.h"

#include "base/mem.h"
#include "policy/rule-json.h"

/* One rule with every field set. */
static void fill(struct net_policy *p)
{
	struct net_rule *r = net_policy_add(p, false, "api.example", "network.rules");

	strv_push(&r->methods, "GET");
	strv_push(&r->methods, "POST");
	strv_push(&r->paths, "/v1/");
	strv_push(&r->git, "fetch");
	r->credential = xstrdup("token");
}

/* Users have these words in their files, older supervisors these numbers on the wire, and a project
 * file may only choose a smaller one. */
static void a_tier_keeps_its_number_and_its_name(void **state)
{
	static const char *const names[] = {"none", "allowlist", "inet", "full"};
	enum policy_tier t = POLICY_FULL;

	assert_int_equal(POLICY_NONE, 0);
	assert_int_equal(POLICY_ALLOWLIST, 1);
	assert_int_equal(POLICY_INET, 2);
	assert_int_equal(POLICY_FULL, 3);
	assert_int_equal(POLICY_TIER_N, ARRAY_SIZE(names));
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		assert_string_equal(policy_tier_name(i), names[i]);
		assert_true(policy_tier_parse(names[i], &t));
		assert_int_equal(t, i);
	}
	assert_null(policy_tier_names[POLICY_TIER_N]);
	assert_false(policy_tier_parse("most", &t));
	assert_int_equal(t, POLICY_FULL);
}

static size_t size_of(enum net_rule_kind kind)
{
	static const size_t sizes[] = {
		[NET_RULE_VERDICT] = sizeof(bool),
		[NET_RULE_TEXT] = sizeof(char *),
		[NET_RULE_NAME] = sizeof(char *),
		[NET_RULE_LIST] = sizeof(struct strv),
	};

	return sizes[kind];
}

/* A member that has no row would be copied, sent and written nowhere. */
static void every_member_of_a_rule_is_in_the_table(void **state)
{
	unsigned char covered[sizeof(struct net_rule)] = {0};
	size_t gap = 0;

	for (const struct net_rule_field *f = net_rule_fields; f->name; f++)
		for (size_t i = 0; i < size_of(f->kind); i++)
			assert_int_equal(covered[f->offset + i]++, 0);
	for (size_t i = 0; i < sizeof(covered); i++) {
		gap = covered[i] ? 0 : gap + 1;
		if (gap == sizeof(void *))
			fail_msg("the bytes before %zu belong to no row", i + 1);
	}
}

static void change(struct net_rule *r, const struct net_rule_field *f)
{
	char **text = net_rule_at(r, f);

	if (f->kind == NET_RULE_VERDICT) {
		*(bool *)net_rule_at(r, f) = true;
	} else if (f->kind == NET_RULE_LIST) {
		strv_push(net_rule_at(r, f), "more");
	} else {
		free(*text);
		*text = xstrdup("other");
	}
}

static void a_copy_is_equal_until_anything_but_its_source_changes(void **state)
{
	cleanup_(net_policy_clear) struct net_policy p = {.tier = POLICY_INET};

	fill(&p);
	for (const struct net_rule_field *f = net_rule_fields; f->name; f++) {
		cleanup_(net_policy_clear) struct net_policy copy = {0};

		net_policy_copy(&copy, &p);
		assert_int_equal(copy.tier, POLICY_INET);
		assert_true(net_rule_equal(&p.rules[0], &copy.rules[0]));
		change(&copy.rules[0], f);
		if (net_rule_equal(&p.rules[0], &copy.rules[0]) != streq(f->name, "source"))
			fail_msg("a rule with another %s", f->name);
	}
}

static void a_rule_inspects_as_soon_as_a_field_needs_requests_to_be_read(void **state)
{
	static const char *const needs[] = {"methods", "paths", "git", "credential"};
	size_t n = 0;

	for (const struct net_rule_field *f = net_rule_fields; f->name; f++) {
		cleanup_(net_rule_done) struct net_rule r = {0}, to = {0};

		change(&r, f);
		if (!net_rule_inspects(&r))
			continue;
		assert_true(n < ARRAY_SIZE(needs));
		assert_string_equal(f->name, needs[n++]);
		net_rule_copy_inspection(&to, &r);
		assert_true(net_rule_equal(&to, &r));
	}
	assert_int_equal(n, ARRAY_SIZE(needs));
}

/* As the records of sandboxes have it, whichever version wrote them. */
static const char text[] = "{\"tier\":\"allowlist\",\"rules\":["
			   "{\"verdict\":\"allow\",\"pattern\":\"api.example\","
			   "\"source\":\"network.rules\",\"methods\":[\"GET\",\"POST\"],"
			   "\"paths\":[\"/v1/\"],\"git\":[\"fetch\"],\"credential\":\"token\"},"
			   "{\"verdict\":\"deny\",\"pattern\":\"evil.example\"}]}";

static void rules_are_written_as_ever_and_read_back(void **state)
{
	cleanup_(net_policy_clear) struct net_policy p = {.tier = POLICY_ALLOWLIST}, back = {0};
	cleanup_json json_t *j = NULL;
	cleanup_free char *written = NULL;
	struct err e = {0};

	fill(&p);
	(void)net_policy_add(&p, true, "evil.example", NULL);
	j = net_policy_to_json(&p);
	written = json_dumps(j, JSON_COMPACT);
	assert_string_equal(written, text);
	assert_int_equal(net_policy_from_json(j, &back, &e), 0);
	assert_int_equal(back.tier, POLICY_ALLOWLIST);
	assert_int_equal(back.n_rules, 2);
	for (size_t i = 0; i < 2; i++)
		assert_true(net_rule_equal(&p.rules[i], &back.rules[i]));
	assert_string_equal(back.rules[0].source, "network.rules");
	assert_null(back.rules[1].source);
}

static void refused(const char *json, const char *key)
{
	cleanup_(net_policy_clear) struct net_policy p = {0};
	cleanup_json json_t *j = json_loads(json, 0, NULL);
	struct err e = {0};

	assert_non_null(j);
	if (net_policy_from_json(j, &p, &e) == 0 || !strstr(e.msg, key))
		fail_msg("%s: '%s' does not name %s", json, e.msg, key);
}

#define RULE(members) "{\"tier\":\"full\",\"rules\":[{" members "}]}"
static void rules_that_were_not_written_so_are_refused(void **state)
{
	refused("{\"rules\":[]}", "tier");
	refused("{\"tier\":\"most\",\"rules\":[]}", "tier");
	refused("{\"tier\":2,\"rules\":[]}", "tier");
	refused("{\"tier\":\"full\"}", "rules");
	refused(RULE("\"pattern\":\"a\""), "verdict");
	refused(RULE("\"verdict\":\"maybe\",\"pattern\":\"a\""), "verdict");
	refused(RULE("\"verdict\":\"allow\""), "pattern");
	refused(RULE("\"verdict\":\"allow\",\"pattern\":\"a\",\"source\":1"), "source");
	refused(RULE("\"verdict\":\"allow\",\"pattern\":\"a\",\"methods\":\"GET\""), "methods");
	refused(RULE("\"verdict\":\"allow\",\"pattern\":\"a\",\"git\":[1]"), "git");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tier_keeps_its_number_and_its_name),
		cmocka_unit_test(every_member_of_a_rule_is_in_the_table),
		cmocka_unit_test(a_copy_is_equal_until_anything_but_its_source_changes),
		cmocka_unit_test(a_rule_inspects_as_soon_as_a_field_needs_requests_to_be_read),
		cmocka_unit_test(rules_are_written_as_ever_and_read_back),
		cmocka_unit_test(rules_that_were_not_written_so_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
