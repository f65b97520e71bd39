/* For those who resolve names and dial: the addresses of a name, and a name without a port. */
#include "policy/policy-own.h"

/* Finds the best rule for an address that a name resolved to. A rule that inspects applies to
 * literal addresses only. */
static int best_for_answer(const struct policy *p, const struct ip *ip, uint16_t port)
{
	int best = -1;

	for (size_t i = 0; i < p->n_rules; i++) {
		const struct policy_rule *r = &p->rules[i];

		if (!r->inspects && pattern_has_ip(&r->pattern, ip) &&
		    pattern_has_port(&r->pattern, port) &&
		    (best < 0 || policy_outranks(r, &p->rules[best])))
			best = (int)i;
	}
	return best;
}

void policy_addr(const struct policy *p, const struct verdict *name, const struct ip *ip,
		 uint16_t port, struct verdict *ret)
{
	struct verdict v = *name;
	const struct policy_rule *r = policy_rule_of(p, name);
	bool literal = name->has_ip && ip_equal(&name->ip, ip);
	bool service = name->service && r && pattern_has_ip(&r->pattern, ip);

	/* A literal was judged whole in the first step, by rules that may inspect it, and so was
	 * a host service, which has no address but the loopback. */
	if (name->allow && !literal && !service)
		policy_judge_ip(p, ip, best_for_answer(p, ip, port), &v);
	*ret = v;
}

bool policy_any_port(const struct policy *p, const struct host *h)
{
	/* Ports that can differ: those of the rules, the two of the web, and one that nobody
	 * names, which is what inet and ':*' are about. */
	static const uint16_t common[] = {443, 80, 0};
	struct verdict v;

	for (size_t i = 0; i < ARRAY_SIZE(common); i++) {
		policy_name(p, h, common[i], &v);
		if (v.allow)
			return true;
	}
	for (size_t i = 0; i < p->n_rules; i++) {
		const struct pattern *pat = &p->rules[i].pattern;

		if (p->rules[i].text.deny || pat->ports != PORTS_ONE || !pattern_has_host(pat, h))
			continue;
		policy_name(p, h, pat->port, &v);
		if (v.allow)
			return true;
	}
	return false;
}
