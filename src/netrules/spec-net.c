#include "netrules/spec-net.h"

#include <assert.h>
#include <sys/stat.h>

#include "netrules/net-listeners.h"

static_assert((int)POLICY_TIER_N == (int)SPEC_NET_N, "the tiers of both are the same");

int net_policy(const struct spec_net *net, struct policy **ret, struct err *err)
{
	cleanup_(policy_freep) struct policy *p = policy_new((enum policy_tier)net->tier);

	for (size_t i = 0; i < net->n_rules; i++) {
		const struct spec_net_rule *r = &net->rules[i];
		const struct policy_rule_text text = {
			.deny = r->deny,
			.pattern = r->pattern,
			.source = r->source,
			.credential = r->credential,
			.methods = &r->methods,
			.paths = &r->paths,
			.git = &r->git,
		};
		int res = policy_add(p, &text, err);

		if (res < 0)
			return err_wrap(err, res, "%s", r->source ? r->source : "network");
	}
	*ret = take_ptr(p);
	return 0;
}

bool net_has_ipv6(void)
{
	struct stat st;

	return stat("/proc/net/if_inet6", &st) == 0;
}

int net_sockets(const struct spec_net *net, struct gw_listener **ret, size_t *ret_n,
		struct err *err)
{
	cleanup_(policy_freep) struct policy *p = NULL;
	struct gw_listener *rows = NULL;
	size_t all = 0, n = 0;
	bool v6 = net_has_ipv6();
	int r = net_policy(net, &p, err);

	if (r == 0)
		r = net_listeners(p, &rows, &all, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < all; i++)
		if (v6 || !rows[i].optional)
			rows[n++] = rows[i];
	*ret = rows;
	*ret_n = n;
	return 0;
}

bool net_rule_is_service(const struct spec_net_rule *rule)
{
	struct pattern p;
	struct err ignored;

	return pattern_parse(rule->pattern, rule->deny, &p, &ignored) == 0 &&
	       p.kind == PATTERN_SERVICE;
}

void net_to_gw(const struct spec_net *net, struct gw_policy *ret)
{
	*ret = (struct gw_policy){.tier = (uint32_t)net->tier};
	for (size_t i = 0; i < net->n_rules; i++) {
		const struct spec_net_rule *from = &net->rules[i];
		struct gw_rule *to = gw_policy_add(ret, from->deny, from->pattern,
						   from->source ? from->source : "");

		strv_extend(&to->methods, &from->methods);
		strv_extend(&to->paths, &from->paths);
		strv_extend(&to->git, &from->git);
		to->credential = from->credential ? xstrdup(from->credential) : NULL;
	}
}

void net_from_gw(const struct gw_policy *p, struct sandbox_spec *spec)
{
	spec_net_clear(spec);
	spec->net.tier = p->tier < SPEC_NET_N ? (enum spec_tier)p->tier : SPEC_NET_NONE;
	for (size_t i = 0; i < p->n_rules; i++) {
		const struct gw_rule *from = &p->rules[i];
		struct spec_net_rule *to =
			spec_net_add(spec, from->deny, from->pattern, from->source);

		strv_extend(&to->methods, &from->methods);
		strv_extend(&to->paths, &from->paths);
		strv_extend(&to->git, &from->git);
		to->credential = from->credential ? xstrdup(from->credential) : NULL;
	}
}

bool net_inspects(const struct spec_net *net)
{
	for (size_t i = 0; i < net->n_rules; i++) {
		const struct spec_net_rule *r = &net->rules[i];

		if (r->methods.n || r->paths.n || r->git.n || r->credential)
			return true;
	}
	return false;
}
