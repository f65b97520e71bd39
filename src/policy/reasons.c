#include "policy/policy.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* "'*.example.com' (user file)" */
static void rule_text(const struct policy *p, const struct verdict *v, char *ret, size_t size)
{
	const struct policy_rule *r = policy_rule_of(p, v);

	if (!r)
		(void)snprintf(ret, size, "no rule");
	else if (r->text.source[0])
		(void)snprintf(ret, size, "'%s' (%s)", r->text.pattern, r->text.source);
	else
		(void)snprintf(ret, size, "'%s'", r->text.pattern);
}

static void ports_text(const struct policy_rule *r, char *ret, size_t size)
{
	if (r && r->pattern.ports == PORTS_ONE)
		(void)snprintf(ret, size, "port %u", r->pattern.port);
	else
		(void)snprintf(ret, size, "ports 80 and 443");
}

/* "example.com:443", or where it led: "example.com:443 (10.0.0.7)". */
static void target_text(const struct verdict *v, const struct host *h, uint16_t port, char *ret,
			size_t size)
{
	char target[HOST_PORT_TEXT_SIZE], ip[IP_TEXT_SIZE];

	host_format(h, port, target);
	if (v->has_ip && h->kind == HOST_NAME) {
		ip_format(&v->ip, ip);
		(void)snprintf(ret, size, "%s (%s)", target, ip);
	} else {
		(void)snprintf(ret, size, "%s", target);
	}
}

static void explain_address(const struct verdict *v, const char *target, char *ret, size_t size)
{
	if (v->reason == POLICY_DENY_METADATA)
		(void)snprintf(ret, size,
			       "%s is refused: a cloud metadata service hands out "
			       "credentials",
			       target);
	else if (v->reason == POLICY_DENY_LOOPBACK)
		(void)snprintf(ret, size,
			       "%s is refused: it is this machine, and no host service "
			       "rule names that port",
			       target);
	else
		(void)snprintf(ret, size, "%s is refused: it is %s address, and no rule names it",
			       target, addr_class_name(v->class));
}

static void explain_request(const struct verdict *v, const char *target, const char *rule,
			    char *ret, size_t size)
{
	const char *what = "path";

	if (v->reason == POLICY_DENY_AMBIGUOUS) {
		(void)snprintf(ret, size,
			       "%s is refused: the path can be read in two ways, and %s "
			       "decides by path",
			       target, rule);
		return;
	}
	if (v->reason == POLICY_DENY_CREDENTIALS) {
		(void)snprintf(ret, size,
			       "%s is refused: %s and another rule name different credentials for "
			       "this request",
			       target, rule);
		return;
	}
	if (v->reason == POLICY_DENY_METHOD)
		what = "method";
	else if (v->reason == POLICY_DENY_GIT)
		what = "git operation";
	(void)snprintf(ret, size, "%s is refused: %s does not allow this %s", target, rule, what);
}

void verdict_explain(const struct policy *p, const struct verdict *v, const struct host *h,
		     uint16_t port, char *ret, size_t size)
{
	char target[HOST_PORT_TEXT_SIZE + IP_TEXT_SIZE + 4], rule[400], ports[32];

	target_text(v, h, port, target, sizeof(target));
	rule_text(p, v, rule, sizeof(rule));
	switch (v->reason) {
	case POLICY_BY_RULE:
		(void)snprintf(ret, size, "%s is allowed by %s", target, rule);
		break;
	case POLICY_BY_TIER:
		(void)snprintf(ret, size, "%s is allowed by the tier '%s'", target,
			       policy_tier_name(p->tier));
		break;
	case POLICY_DENY_NONE:
		(void)snprintf(ret, size, "%s is refused: this sandbox has no network", target);
		break;
	case POLICY_DENY_RULE:
		(void)snprintf(ret, size, "%s is refused by the deny rule %s", target, rule);
		break;
	case POLICY_DENY_NO_RULE:
		(void)snprintf(ret, size, "%s is refused: no rule allows it", target);
		break;
	case POLICY_DENY_PORT:
		ports_text(policy_rule_of(p, v), ports, sizeof(ports));
		(void)snprintf(ret, size, "%s is refused: %s allows %s only", target, rule, ports);
		break;
	case POLICY_DENY_NAMELESS:
		(void)snprintf(ret, size,
			       "%s is refused: a connection by address could evade the rule %s; "
			       "connect by name",
			       target, rule);
		break;
	case POLICY_DENY_CLASS:
	case POLICY_DENY_LOOPBACK:
	case POLICY_DENY_METADATA:
		explain_address(v, target, ret, size);
		break;
	case POLICY_DENY_METHOD:
	case POLICY_DENY_PATH:
	case POLICY_DENY_AMBIGUOUS:
	case POLICY_DENY_GIT:
	case POLICY_DENY_CREDENTIALS:
		explain_request(v, target, rule, ret, size);
		break;
	case POLICY_REASON_N:
		(void)snprintf(ret, size, "%s is refused", target);
		break;
	}
}

/* The narrowest pattern that would do; the two web ports need not be named. */
static void remedy_pattern(const struct host *h, uint16_t port, char *ret, size_t size)
{
	char target[HOST_PORT_TEXT_SIZE];

	host_format(h, port, target);
	if ((port == 80 || port == 443) && h->kind != HOST_IP6)
		(void)snprintf(ret, size, "ralph net allow %s", h->name);
	else
		(void)snprintf(ret, size, "ralph net allow %s", target);
}

static bool could_be_dialled(enum addr_class c)
{
	return c != ADDR_UNSPECIFIED && c != ADDR_MULTICAST && c != ADDR_BROADCAST;
}

/* A deny rule yields to a more specific allow; the narrowest of all yields to nothing. */
static bool can_be_outranked(const struct policy_rule *r)
{
	return r && r->pattern.ports != PORTS_ONE;
}

static void remedy_deny_rule(const struct policy *p, const struct verdict *v, const struct host *h,
			     uint16_t port, char *ret, size_t size)
{
	const struct policy_rule *r = policy_rule_of(p, v);
	char target[HOST_PORT_TEXT_SIZE];
	struct host at = *h;

	if (!can_be_outranked(r)) {
		(void)snprintf(ret, size, "remove the deny rule '%s'", r ? r->text.pattern : "");
		return;
	}
	if (v->has_ip)
		host_from_ip(&v->ip, &at);
	host_format(&at, port, target);
	(void)snprintf(ret, size, "ralph net allow %s", target);
}

void verdict_remedy(const struct policy *p, const struct verdict *v, const struct host *h,
		    uint16_t port, char *ret, size_t size)
{
	struct host at = *h;

	ret[0] = '\0';
	if (v->has_ip)
		host_from_ip(&v->ip, &at);
	switch (v->reason) {
	case POLICY_DENY_NONE:
		(void)snprintf(ret, size, "choose another tier, as in '--net allowlist'");
		break;
	case POLICY_DENY_RULE:
		remedy_deny_rule(p, v, h, port, ret, size);
		break;
	case POLICY_DENY_NO_RULE:
	case POLICY_DENY_PORT:
	case POLICY_DENY_NAMELESS:
		remedy_pattern(h, port, ret, size);
		break;
	case POLICY_DENY_CLASS:
		if (could_be_dialled(v->class))
			remedy_pattern(&at, port, ret, size);
		break;
	case POLICY_DENY_LOOPBACK:
		(void)snprintf(ret, size, "ralph net allow localhost:%u", port);
		break;
	case POLICY_DENY_METHOD:
	case POLICY_DENY_PATH:
	case POLICY_DENY_GIT:
		(void)snprintf(ret, size, "extend the rule for '%s' in network.rules", h->name);
		break;
	case POLICY_DENY_CREDENTIALS:
		(void)snprintf(
			ret, size,
			"give the rules for '%s' in network.rules different paths or methods",
			h->name);
		break;
	case POLICY_DENY_METADATA:
	case POLICY_DENY_AMBIGUOUS:
	case POLICY_BY_RULE:
	case POLICY_BY_TIER:
	case POLICY_REASON_N:
		break;
	}
}
