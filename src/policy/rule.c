#include "policy/rule.h"

#include <assert.h>
#include <string.h>

static_assert(POLICY_NONE < POLICY_ALLOWLIST && POLICY_ALLOWLIST < POLICY_INET &&
		      POLICY_INET < POLICY_FULL && POLICY_FULL + 1 == POLICY_TIER_N,
	      "every tier reaches more than the one before it");
static_assert(POLICY_NONE == 0 && POLICY_ALLOWLIST == 1 && POLICY_INET == 2 && POLICY_FULL == 3,
	      "supervisors of earlier versions count the tiers so");

const char *const policy_tier_names[POLICY_TIER_N + 1] = {
	[POLICY_NONE] = "none",
	[POLICY_ALLOWLIST] = "allowlist",
	[POLICY_INET] = "inet",
	[POLICY_FULL] = "full",
};

/* The order is the one of the wire and of JSON. */
/* clang-format off */
#define AT(member) offsetof(struct net_rule, member)
const struct net_rule_field net_rule_fields[] = {
	{ "verdict",    AT(deny),       .kind = NET_RULE_VERDICT, .required = true },
	{ "pattern",    AT(pattern),    .kind = NET_RULE_TEXT, .required = true },
	{ "source",     AT(source),     .kind = NET_RULE_TEXT, .origin = true },
	{ "methods",    AT(methods),    .kind = NET_RULE_LIST, .inspects = true },
	{ "paths",      AT(paths),      .kind = NET_RULE_LIST, .inspects = true },
	{ "git",        AT(git),        "git: ", .kind = NET_RULE_LIST, .inspects = true },
	{ "credential", AT(credential), "credential: ", .kind = NET_RULE_NAME, .inspects = true },
	{ 0 },
};
/* clang-format on */

const char *policy_tier_name(enum policy_tier t)
{
	return t < POLICY_TIER_N ? policy_tier_names[t] : "unknown";
}

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

static void field_done(void *at, enum net_rule_kind kind)
{
	switch (kind) {
	case NET_RULE_VERDICT:
		break;
	case NET_RULE_TEXT:
	case NET_RULE_NAME:
		free(*(char **)at);
		*(char **)at = NULL;
		break;
	case NET_RULE_LIST:
		strv_done(at);
		break;
	}
}

static void field_copy(void *to, const void *from, enum net_rule_kind kind)
{
	const char *text;

	field_done(to, kind);
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

static bool field_is_set(const void *at, enum net_rule_kind kind)
{
	switch (kind) {
	case NET_RULE_VERDICT:
		return *(const bool *)at;
	case NET_RULE_TEXT:
	case NET_RULE_NAME:
		return *(char *const *)at != NULL;
	case NET_RULE_LIST:
		return ((const struct strv *)at)->n > 0;
	}
	return true;
}

void net_rule_done(struct net_rule *r)
{
	for (const struct net_rule_field *f = net_rule_fields; f->name; f++)
		field_done(net_rule_at(r, f), f->kind);
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

bool net_rule_equal(const struct net_rule *a, const struct net_rule *b)
{
	for (const struct net_rule_field *f = net_rule_fields; f->name; f++)
		if (!f->origin && !field_equal(net_rule_at(a, f), net_rule_at(b, f), f->kind))
			return false;
	return true;
}

bool net_rule_inspects(const struct net_rule *r)
{
	for (const struct net_rule_field *f = net_rule_fields; f->name; f++)
		if (f->inspects && field_is_set(net_rule_at(r, f), f->kind))
			return true;
	return false;
}

struct net_rule *net_policy_push(struct net_policy *p)
{
	p->rules = xrealloc(p->rules, p->n_rules + 1, sizeof(*p->rules));
	p->rules[p->n_rules] = (struct net_rule){0};
	return &p->rules[p->n_rules++];
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

void net_policy_clear(struct net_policy *p)
{
	for (size_t i = 0; i < p->n_rules; i++)
		net_rule_done(&p->rules[i]);
	free(p->rules);
	p->rules = NULL;
	p->n_rules = 0;
}
