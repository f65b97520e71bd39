#include "policy/policy.h"

#include "policy/policy-own.h"
#include <errno.h>
#include <string.h>

struct policy *policy_new(enum policy_tier tier)
{
	struct policy *p = xcalloc(1, sizeof(*p));

	p->tier = tier;
	return p;
}

static void rule_done(struct policy_rule *r)
{
	net_rule_done(&r->text);
}

struct policy *policy_free(struct policy *p)
{
	if (!p)
		return NULL;
	for (size_t i = 0; i < p->n_rules; i++)
		rule_done(&p->rules[i]);
	free(p->rules);
	free(p);
	return NULL;
}

int policy_take(struct policy *p, struct policy_rule *r)
{
	if (p->n_rules == NET_RULES_MAX) {
		rule_done(r);
		return -E2BIG;
	}
	if (p->n_rules == p->cap) {
		p->cap = p->cap ? p->cap * 2 : 16;
		p->rules = xrealloc(p->rules, p->cap, sizeof(*p->rules));
	}
	r->inspects = net_rule_inspects(&r->text);
	p->rules[p->n_rules++] = *r;
	*r = (struct policy_rule){0};
	return 0;
}

/* The header's order: specificity, then deny, then inspection. */
bool policy_outranks(const struct policy_rule *a, const struct policy_rule *b)
{
	unsigned sa = pattern_specificity(&a->pattern), sb = pattern_specificity(&b->pattern);

	if (sa != sb)
		return sa > sb;
	if (a->text.deny != b->text.deny)
		return a->text.deny;
	return a->inspects && !b->inspects;
}

static int best_for_host(const struct policy *p, const struct host *h, uint16_t port)
{
	int best = -1;

	for (size_t i = 0; i < p->n_rules; i++) {
		const struct policy_rule *r = &p->rules[i];

		if (pattern_has_host(&r->pattern, h) && pattern_has_port(&r->pattern, port) &&
		    (best < 0 || policy_outranks(r, &p->rules[best])))
			best = (int)i;
	}
	return best;
}

/* An allow rule for the host on some other port: worth saying in the refusal. */
static int rule_on_other_port(const struct policy *p, const struct host *h)
{
	for (size_t i = 0; i < p->n_rules; i++)
		if (!p->rules[i].text.deny && pattern_has_host(&p->rules[i].pattern, h))
			return (int)i;
	return -1;
}

static void deny(struct verdict *v, enum policy_reason reason, int rule)
{
	v->allow = false;
	v->inspect = false;
	v->service = false;
	v->reason = reason;
	v->rule = rule;
}

static void deny_unlisted(const struct policy *p, const struct host *h, struct verdict *v)
{
	int other = rule_on_other_port(p, h);

	deny(v, other < 0 ? POLICY_DENY_NO_RULE : POLICY_DENY_PORT, other);
}

static void allow_by_rule(const struct policy *p, int rule, struct verdict *v)
{
	const struct policy_rule *r = &p->rules[rule];

	v->allow = true;
	v->reason = POLICY_BY_RULE;
	v->rule = rule;
	v->inspect = r->inspects;
	v->service = r->pattern.kind == PATTERN_SERVICE;
}

/* Is an address of this class dialled, given the allow rule that names it (or NULL)? */
static bool class_passes(enum policy_tier tier, enum addr_class class, const struct policy_rule *r)
{
	switch (class) {
	case ADDR_PUBLIC:
		return true;
	case ADDR_DOCUMENTATION:
	case ADDR_RESERVED:
	case ADDR_CGNAT:
	case ADDR_PRIVATE:
	case ADDR_LINK_LOCAL:
		return r || tier == POLICY_FULL;
	case ADDR_STANDIN:
		return r;
	case ADDR_LOOPBACK:
		return r && r->pattern.kind == PATTERN_SERVICE;
	case ADDR_METADATA:
		return r && r->pattern.kind == PATTERN_CIDR && cidr_is_single(&r->pattern.cidr);
	case ADDR_MULTICAST:
	case ADDR_BROADCAST:
	case ADDR_UNSPECIFIED:
	case ADDR_CLASS_N:
		return false;
	}
	return false;
}

static enum policy_reason class_reason(enum addr_class class)
{
	if (class == ADDR_METADATA)
		return POLICY_DENY_METADATA;
	return class == ADDR_LOOPBACK ? POLICY_DENY_LOOPBACK : POLICY_DENY_CLASS;
}

/* v holds an allowing verdict; `named` is the best rule for this address, or -1. */
void policy_judge_ip(const struct policy *p, const struct ip *ip, int named, struct verdict *v)
{
	const struct policy_rule *r = named < 0 ? NULL : &p->rules[named];

	v->ip = *ip;
	v->has_ip = true;
	v->class = addr_class(ip);
	if (r && r->text.deny)
		deny(v, POLICY_DENY_RULE, named);
	else if (!class_passes(p->tier, v->class, r))
		deny(v, class_reason(v->class), named);
}

static bool has_wide_tier(const struct policy *p)
{
	return p->tier == POLICY_INET || p->tier == POLICY_FULL;
}

/* Finds a rule that a connection to an address would evade; -1: none. */
static int rule_by_name(const struct policy *p, uint16_t port)
{
	for (size_t i = 0; i < p->n_rules; i++) {
		const struct policy_rule *r = &p->rules[i];
		bool names = r->pattern.kind == PATTERN_NAME || r->pattern.kind == PATTERN_BELOW;

		if (names && (r->text.deny || r->inspects) && pattern_has_port(&r->pattern, port))
			return (int)i;
	}
	return -1;
}

/* v holds an allowing verdict on an address that no rule names. */
static void judge_unlisted(const struct policy *p, const struct host *h, uint16_t port,
			   struct verdict *v)
{
	int evaded = rule_by_name(p, port);

	if (!has_wide_tier(p))
		deny_unlisted(p, h, v);
	else if (evaded >= 0)
		deny(v, POLICY_DENY_NAMELESS, evaded);
}

static void judge_name(const struct policy *p, const struct host *h, int rule, struct verdict *v)
{
	const struct policy_rule *r = rule < 0 ? NULL : &p->rules[rule];
	bool exact = r && !r->text.deny && r->pattern.kind != PATTERN_BELOW;

	if (r && r->text.deny)
		deny(v, POLICY_DENY_RULE, rule);
	else if (host_is_loopback_name(h) && !(exact && r->pattern.kind == PATTERN_SERVICE))
		deny(v, POLICY_DENY_LOOPBACK, -1);
	else if (host_is_metadata_name(h) && !exact)
		deny(v, POLICY_DENY_METADATA, -1);
	else if (!r && !has_wide_tier(p))
		deny_unlisted(p, h, v);
}

void policy_name(const struct policy *p, const struct host *h, uint16_t port, struct verdict *ret)
{
	struct verdict v = {.allow = true, .reason = POLICY_BY_TIER, .rule = -1};
	int rule = best_for_host(p, h, port);

	if (p->tier == POLICY_NONE || p->tier >= POLICY_TIER_N) {
		deny(&v, POLICY_DENY_NONE, -1);
		*ret = v;
		return;
	}
	if (rule >= 0 && !p->rules[rule].text.deny)
		allow_by_rule(p, rule, &v);
	if (h->kind == HOST_NAME) {
		judge_name(p, h, rule, &v);
	} else {
		policy_judge_ip(p, &h->ip, rule, &v);
		if (v.allow && rule < 0)
			judge_unlisted(p, h, port, &v);
	}
	*ret = v;
}

const struct policy_rule *policy_rule_of(const struct policy *p, const struct verdict *v)
{
	return v->rule < 0 || (size_t)v->rule >= p->n_rules ? NULL : &p->rules[v->rule];
}
