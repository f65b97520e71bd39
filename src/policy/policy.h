#pragma once

/*
 * ROOM: policy
 *
 * Decisions: host patterns, rules, tiers, address classes, protected names. Pure: no file, no
 * socket, no clock, so that every decision can be tested and shown beforehand.
 */

#include "policy/pattern.h"
#include "policy/rule.h"

/*
 * The decision. Two steps, because a name must be judged before it is looked up, and the address
 * that comes back must be judged before it is dialled:
 *
 *	policy_name(p, &host, port, &v);             // before resolving; v.allow or stop
 *	policy_addr(p, &v, &ip, port, &v2);          // for each address; dial only one that passed
 *	policy_request(p, &v, &host, port, …);       // request.h: each request, when v.inspect
 *
 * An IP literal goes through the same two steps; its first one already judges the address.
 *
 * Which rule decides
 *
 * Default deny. Of all rules that match host and port the most specific one decides: a whole name
 * (or one address) before '*.longer.example.com' before '*.example.com', a longer range before a
 * shorter one; then a rule that names its port before one that does not. Among equals deny wins,
 * then rules that inspect before rules that do not; several inspecting equals are joined (a request
 * passes when one of them lets it). The order of rules never matters.
 *
 *	allow *.example.com, deny secret.example.com           secret refused, others allowed
 *	deny *.example.com, allow www.example.com              www allowed, others refused
 *	allow example.com, deny example.com                    refused
 *	deny example.com, allow example.com:443                443 allowed, other ports refused
 *	allow example.com, and a rule for it with methods      inspected
 *
 * Tiers
 *
 *	none       nothing at all, whatever rules say.
 *	allowlist  what a rule allows.
 *	inet       any name that no rule denies, any public address, any port. An address could
 *	           evade rules by name, so it is refused on ports where such a rule denies or
 *	           inspects, unless a rule names it (POLICY_DENY_NAMELESS). A caller that finds the
 *	           name of the server in the connection's first bytes asks again with that name. A
 *	           name that somebody else points at the same address is another name.
 *	full       inet, and private, link-local, carrier-grade NAT, documentation and reserved
 *	           addresses.
 *
 * Addresses, in every tier
 *
 * A name's rule covers public addresses only. Any other class needs a rule that names the address
 * or a range around it for that port as well, so a name that suddenly points into the local
 * network (rebinding) is refused. Metadata needs a rule for that very address, even under full;
 * loopback a host service rule; stand-in addresses a rule, even under full; unspecified, multicast
 * and broadcast ones are never dialled. A range rule that inspects speaks for literals only. A deny
 * rule for an address or range also refuses the names that lead there.
 */
struct policy_rule {
	struct net_rule text; /* its lists in canonical form, its source not NULL */
	bool inspects;
	struct pattern pattern;
};

struct policy {
	enum policy_tier tier;
	struct policy_rule *rules;
	size_t n_rules, cap;
};

struct policy *policy_new(enum policy_tier tier);
struct policy *policy_free(struct policy *p);

static inline void policy_freep(struct policy **p)
{
	(void)policy_free(*p);
}

/* Tier and rules as decisions are made on them; a rule that makes no sense is an error with exit
 * code 2 that names its source. */
int policy_compile(const struct net_policy *from, struct policy **ret, struct err *err);
/* Adds a rule, or says what is wrong with it (exit code 2) and adds nothing. */
int policy_add(struct policy *p, const struct net_rule *rule, struct err *err);
/* Adds a rule that was compiled already, and takes its content; -E2BIG: there are too many. */
int policy_take(struct policy *p, struct policy_rule *r);
/* The short form: no inspection. */
int policy_add_pattern(struct policy *p, bool deny, const char *pattern, const char *source,
		       struct err *err);

enum policy_reason {
	POLICY_BY_RULE,	      /* allowed by the rule */
	POLICY_BY_TIER,	      /* allowed by inet or full */
	POLICY_DENY_NONE,     /* the tier is none */
	POLICY_DENY_RULE,     /* a deny rule */
	POLICY_DENY_NO_RULE,  /* nothing allows this host */
	POLICY_DENY_PORT,     /* a rule allows the host, on other ports */
	POLICY_DENY_CLASS,    /* not a public address, and no rule names it */
	POLICY_DENY_LOOPBACK, /* the host's own services */
	POLICY_DENY_METADATA,
	POLICY_DENY_NAMELESS, /* an address, which could evade the rule: that one goes by name */
	POLICY_DENY_METHOD,
	POLICY_DENY_PATH,
	POLICY_DENY_AMBIGUOUS, /* a path that two servers would read differently */
	POLICY_DENY_GIT,
	POLICY_DENY_CREDENTIALS, /* two rules name a credential for the same request */
	POLICY_REASON_N,
};

struct verdict {
	bool allow;
	bool inspect; /* terminate TLS and ask policy_request() for each request */
	bool service; /* a host service: dial the host's loopback */
	enum policy_reason reason;
	int rule;	       /* index of the rule that decided, -1 for none */
	enum addr_class class; /* POLICY_DENY_CLASS, …: of the address below */
	struct ip ip;
	bool has_ip; /* the refusal is about this address */
};

void policy_name(const struct policy *p, const struct host *h, uint16_t port, struct verdict *ret);
void policy_addr(const struct policy *p, const struct verdict *name, const struct ip *ip,
		 uint16_t port, struct verdict *ret);

/* A DNS question has no port: may this name be reached on any? */
bool policy_any_port(const struct policy *p, const struct host *h);

/* The rule behind a verdict, or NULL. */
const struct policy_rule *policy_rule_of(const struct policy *p, const struct verdict *v);

/* For people, made only when somebody reads it. A whole sentence, no newline: what was decided,
 * by which rule. `ret` is cut to `size`. */
void verdict_explain(const struct policy *p, const struct verdict *v, const struct host *h,
		     uint16_t port, char *ret, size_t size);
/* The command that would allow it, as in "ralph net allow example.com:22"; "" where there is
 * none. */
void verdict_remedy(const struct policy *p, const struct verdict *v, const struct host *h,
		    uint16_t port, char *ret, size_t size);
const char *policy_reason_name(enum policy_reason r); /* "no-rule" …: for logs and JSON */
