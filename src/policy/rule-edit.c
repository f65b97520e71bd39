#include "policy/rule.h"

#include "policy/policy-own.h"

#include <string.h>

bool policy_tier_parse(const char *name, enum policy_tier *ret)
{
	for (enum policy_tier t = POLICY_NONE; t < POLICY_TIER_N; t++) {
		if (streq(policy_tier_names[t], name)) {
			*ret = t;
			return true;
		}
	}
	return false;
}

static void field_copy(void *to, const void *from, enum net_rule_kind kind)
{
	const char *text;

	net_rule_field_done(to, kind);
	switch (kind) {
	case NET_RULE_VERDICT:
		*(bool *)to = *(const bool *)from;
		break;
	case NET_RULE_TEXT:
	case NET_RULE_NAME:
		text = *(char *const *)from;
		*(char **)to = text ? xstrdup(text) : NULL;
		break;
	case NET_RULE_LIST:
		strv_extend(to, from);
		break;
	}
}

void net_rule_copy(struct net_rule *to, const struct net_rule *from)
{
	for (const struct net_rule_field *f = net_rule_fields; f->name; f++)
		field_copy(net_rule_at(to, f), net_rule_at(from, f), f->kind);
}

void net_rule_copy_inspection(struct net_rule *to, const struct net_rule *from)
{
	for (const struct net_rule_field *f = net_rule_fields; f->name; f++)
		if (f->inspects)
			field_copy(net_rule_at(to, f), net_rule_at(from, f), f->kind);
}

struct net_rule *net_policy_push(struct net_policy *p)
{
	p->rules = xrealloc(p->rules, p->n_rules + 1, sizeof(*p->rules));
	p->rules[p->n_rules] = (struct net_rule){0};
	return &p->rules[p->n_rules++];
}

static bool field_equal(const void *a, const void *b, enum net_rule_kind kind)
{
	const char *x, *y;

	switch (kind) {
	case NET_RULE_VERDICT:
		return *(const bool *)a == *(const bool *)b;
	case NET_RULE_TEXT:
	case NET_RULE_NAME:
		x = *(char *const *)a;
		y = *(char *const *)b;
		return x == y || (x && y && streq(x, y));
	case NET_RULE_LIST:
		return strv_same(a, b);
	}
	return false;
}

bool net_rule_equal(const struct net_rule *a, const struct net_rule *b)
{
	for (const struct net_rule_field *f = net_rule_fields; f->name; f++)
		if (!f->origin && !field_equal(net_rule_at(a, f), net_rule_at(b, f), f->kind))
			return false;
	return true;
}

struct net_rule *net_policy_add(struct net_policy *p, bool deny, const char *pattern,
				const char *source)
{
	struct net_rule *r = net_policy_push(p);

	r->deny = deny;
	r->pattern = xstrdup(pattern);
	r->source = source ? xstrdup(source) : NULL;
	return r;
}

void net_policy_copy(struct net_policy *to, const struct net_policy *from)
{
	to->tier = from->tier;
	for (size_t i = 0; i < from->n_rules; i++)
		net_rule_copy(net_policy_push(to), &from->rules[i]);
}

bool net_policy_inspects(const struct net_policy *p)
{
	for (size_t i = 0; i < p->n_rules; i++)
		if (net_rule_inspects(&p->rules[i]))
			return true;
	return false;
}
