/*
 * Rules of a spec in the words of Docker's network policies. Patterns are ralph's
 * (policy/pattern.h) and have been checked; what the other side has no words for is an error, never
 * something near it.
 */
#include "engine/sbx/sbx.h"

#include <string.h>

/* "*.example.com:8080" in parts. */
struct target {
	bool below;
	char *host;	  /* without "*." */
	const char *port; /* "": none; points into the pattern */
};

static void target_done(struct target *t)
{
	free(t->host);
}

static bool is_range(const char *host)
{
	return strchr(host, '/') != NULL;
}

static void split(const char *pattern, struct target *ret)
{
	const char *colon = strrchr(pattern, ':');

	ret->below = strncmp(pattern, "*.", 2) == 0;
	if (ret->below)
		pattern += 2;
	ret->host = xstrndup(pattern, colon ? (size_t)(colon - pattern) : strlen(pattern));
	ret->port = colon ? colon + 1 : "";
}

static int no_words(const struct sbx_dialect *d, const struct net_rule *r, const char *why,
		    struct err *err)
{
	return err_usage(err,
			 "engine %s cannot hold the network rule '%s' (%s): %s; take it out, or "
			 "use another engine",
			 d->engine, r->pattern, r->source ? r->source : "network", why);
}

static void push_target(struct strv *to, const struct sbx_dialect *d, const struct target *t,
			const char *port)
{
	strv_pushf(to, "%s%s%s%s", t->below ? d->below : "", t->host, *port ? ":" : "", port);
}

static int add_rule(struct sbx_plan *p, const struct sbx_dialect *d, const struct net_rule *r,
		    struct err *err)
{
	struct strv *to = r->deny ? &p->deny : &p->allow;
	cleanup_(target_done) struct target t = {0};

	if (net_rule_inspects(r))
		return no_words(d, r, "it reads no requests", err);
	if (r->pattern[0] == '[' || strchr(r->pattern, ':') != strrchr(r->pattern, ':'))
		return no_words(d, r, "addresses of IPv6 are not told apart there", err);
	split(r->pattern, &t);
	if (is_range(t.host) && !r->deny && d->ranges_apart)
		return no_words(d, r, "it allows hosts, not ranges of addresses", err);
	if (is_range(t.host) && r->deny && d->ranges_apart) {
		if (*t.port)
			return no_words(d, r, "it denies ranges for every port", err);
		strv_push(&p->deny_ranges, t.host);
		return 0;
	}
	if (r->deny || streq(t.port, "*"))
		push_target(to, d, &t, streq(t.port, "*") ? "" : t.port);
	else if (*t.port)
		push_target(to, d, &t, t.port);
	else {
		/* ralph's default: the two ports of the web. */
		push_target(to, d, &t, "80");
		push_target(to, d, &t, "443");
	}
	return 0;
}

int sbx_net_add(struct sbx_plan *p, const struct sbx_dialect *d, struct err *err)
{
	const struct net_policy *net = &p->spec->net;
	int r = 0;

	if (net->tier == POLICY_FULL)
		return err_usage(err,
				 "engine %s reaches no private hosts at large; use --net inet, or "
				 "--net allowlist with the hosts it needs",
				 d->engine);
	p->open = net->tier == POLICY_INET;
	if (p->spec->port)
		strv_pushf(&p->allow, "localhost:%u", p->spec->port);
	for (size_t i = 0; net->tier != POLICY_NONE && r == 0 && i < net->n_rules; i++)
		r = add_rule(p, d, &net->rules[i], err);
	return r;
}
