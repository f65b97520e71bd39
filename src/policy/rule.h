#pragma once

#include "base/strv.h"

/*
 * A network as people describe it: a tier, and rules as text. These types go unchanged from the
 * configuration through the spec and the wire to the gateway, which compiles them (policy.h). One
 * table of fields drives copying, comparing, JSON and the wire: a new field is a member here, a row
 * in rule.c, and whatever it means.
 */

/* The numbers travel on the wire; a project file may only choose a smaller one than the user's. */
enum policy_tier {
	POLICY_NONE = 0,
	POLICY_ALLOWLIST = 1,
	POLICY_INET = 2,
	POLICY_FULL = 3,
	POLICY_TIER_N = 4,
};

extern const char *const policy_tier_names[POLICY_TIER_N + 1]; /* NULL at the end */
const char *policy_tier_name(enum policy_tier t);
bool policy_tier_parse(const char *name, enum policy_tier *ret);

#define NET_RULES_MAX 4096

/* All zero is an empty rule. */
struct net_rule {
	bool deny;
	char *pattern;	     /* a host as pattern.h reads it; in a configuration also a group */
	char *source;	     /* the setting it came from; NULL: not known */
	struct strv methods; /* inspected: empty means all */
	struct strv paths;   /* inspected: prefixes; empty means all */
	struct strv git;     /* inspected: "fetch", "fetch OWNER/REPO", "push OWNER/REPO" */
	char *credential;    /* inspected: what to inject, or NULL */
	char *until; /* seconds since 1970: the supervisor takes it out then; NULL: it stays */
};

enum net_rule_kind {
	NET_RULE_VERDICT, /* bool: "deny", or "allow" */
	NET_RULE_TEXT,	  /* char *; NULL reaches the other end of a wire as "" */
	NET_RULE_NAME,	  /* char *; NULL stays NULL */
	NET_RULE_LIST,	  /* struct strv */
};

struct net_rule_field {
	const char *name; /* in JSON, and in a configuration where people write it */
	size_t offset;
	const char *label; /* shown before the value where that does not explain itself; or NULL */
	enum net_rule_kind kind;
	bool required; /* JSON without it is refused */
	bool inspects; /* a rule that has it needs every request to be read */
	bool origin;   /* says where a rule comes from: equal rules may differ in it */
};

extern const struct net_rule_field net_rule_fields[]; /* name NULL at the end */

static inline void *net_rule_at(const struct net_rule *r, const struct net_rule_field *f)
{
	return (char *)r + f->offset;
}

void net_rule_done(struct net_rule *r);
/* Replaces everything in `to`. */
void net_rule_copy(struct net_rule *to, const struct net_rule *from);
/* Replaces only the fields that inspect in `to`; host, verdict and source stay. */
void net_rule_copy_inspection(struct net_rule *to, const struct net_rule *from);
bool net_rule_equal(const struct net_rule *a, const struct net_rule *b);
/* Does the gateway terminate TLS and read every request? */
bool net_rule_inspects(const struct net_rule *r);

struct net_policy {
	enum policy_tier tier;
	struct net_rule *rules;
	size_t n_rules;
};

struct net_rule *net_policy_push(struct net_policy *p); /* an empty rule at the end */
/* Adds a rule with copies of these strings; the caller may fill in the rest. */
struct net_rule *net_policy_add(struct net_policy *p, bool deny, const char *pattern,
				const char *source);
void net_policy_copy(struct net_policy *to, const struct net_policy *from); /* `to` is empty */
bool net_policy_inspects(const struct net_policy *p);			    /* does any rule? */
void net_policy_clear(struct net_policy *p); /* no rule is left; the tier stays */
