#include "policy/rule.h"

#include "policy/policy-own.h"

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
	{ "until",      AT(until),      .kind = NET_RULE_NAME },
	{ 0 },
};
/* clang-format on */

const char *policy_tier_name(enum policy_tier t)
{
	return t < POLICY_TIER_N ? policy_tier_names[t] : "unknown";
}

void net_rule_field_done(void *at, enum net_rule_kind kind)
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
		net_rule_field_done(net_rule_at(r, f), f->kind);
}

bool net_rule_inspects(const struct net_rule *r)
{
	for (const struct net_rule_field *f = net_rule_fields; f->name; f++)
		if (f->inspects && field_is_set(net_rule_at(r, f), f->kind))
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
