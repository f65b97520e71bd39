#include "netrules/spec-net.h"

#include <assert.h>
#include <sys/stat.h>

#include "netrules/net-listeners.h"

bool net_has_ipv6(void)
{
	struct stat st;

	return stat("/proc/net/if_inet6", &st) == 0;
}

int net_sockets(const struct net_policy *net, struct gw_listener **ret, size_t *ret_n,
		struct err *err)
{
	cleanup_(policy_freep) struct policy *p = NULL;
	struct gw_listener *rows = NULL;
	size_t all = 0, n = 0;
	bool v6 = net_has_ipv6();
	int r = policy_compile(net, &p, err);

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

bool net_rule_is_service(const struct net_rule *rule)
{
	struct pattern p;
	struct err ignored;

	return pattern_parse(rule->pattern, rule->deny, &p, &ignored) == 0 &&
	       p.kind == PATTERN_SERVICE;
}
