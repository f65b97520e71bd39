/* From rules as people write them to those that decide. */
#include "policy/policy.h"

#include "policy/request.h"

static int check_combination(const struct policy_rule *r, struct err *err)
{
	if (!r->inspects)
		return 0;
	if (r->text.deny)
		return err_usage(err,
				 "'%s': a deny rule refuses the whole host; leave methods, "
				 "paths, git and credential out",
				 r->text.pattern);
	if (r->pattern.kind == PATTERN_SERVICE && r->text.credential)
		return err_usage(err, "'%s': a credential is not sent to a host service",
				 r->text.pattern);
	return 0;
}

static int rule_fill(struct policy_rule *r, const struct net_rule *from, struct err *err)
{
	int q;

	net_rule_copy(&r->text, from);
	if (!r->text.source)
		r->text.source = xstrdup("");
	q = pattern_parse(from->pattern, from->deny, &r->pattern, err);
	if (q == 0)
		q = request_read_lists(&r->text, err);
	r->inspects = net_rule_inspects(&r->text);
	return q < 0 ? q : check_combination(r, err);
}

int policy_add(struct policy *p, const struct net_rule *rule, struct err *err)
{
	struct policy_rule r = {0};
	int q;

	if (p->n_rules == NET_RULES_MAX)
		return err_usage(err, "more than %d network rules", NET_RULES_MAX);
	q = rule_fill(&r, rule, err);
	if (q < 0) {
		net_rule_done(&r.text);
		return q;
	}
	return policy_take(p, &r);
}

int policy_add_pattern(struct policy *p, bool deny, const char *pattern, const char *source,
		       struct err *err)
{
	/* Only read: policy_add() copies. */
	const struct net_rule rule = {
		.deny = deny, .pattern = (char *)pattern, .source = (char *)source};

	return policy_add(p, &rule, err);
}

int policy_compile(const struct net_policy *from, struct policy **ret, struct err *err)
{
	cleanup_(policy_freep) struct policy *p = policy_new(from->tier);

	for (size_t i = 0; i < from->n_rules; i++) {
		const struct net_rule *rule = &from->rules[i];
		int r = policy_add(p, rule, err);

		if (r < 0)
			return err_wrap(err, r, "%s", rule->source ? rule->source : "network");
	}
	*ret = take_ptr(p);
	return 0;
}
