#include "netrules/net-listeners.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define LOW_PORTS 1024

struct rows {
	struct gw_listener *v;
	size_t n;
	uint32_t next_standin; /* number of the next host's address */
};

static bool has_row(const struct rows *r, enum gw_listen_kind kind, const char *addr, uint16_t port)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].kind == kind && r->v[i].port == port && streq(r->v[i].addr, addr))
			return true;
	return false;
}

static int add(struct rows *r, enum gw_listen_kind kind, const char *addr, uint16_t port,
	       const char *host)
{
	struct gw_listener *l;

	if (has_row(r, kind, addr, port))
		return 0;
	if (r->n == GW_LISTENERS_MAX)
		return -E2BIG;
	r->v = xrealloc(r->v, r->n + 1, sizeof(*r->v));
	l = &r->v[r->n++];
	*l = (struct gw_listener){
		.kind = kind, .port = port, .optional = strchr(addr, ':') != NULL};
	(void)snprintf(l->addr, sizeof(l->addr), "%s", addr);
	(void)snprintf(l->host, sizeof(l->host), "%s", host);
	return 0;
}

static int add_both(struct rows *r, enum gw_listen_kind kind, const char *v4, const char *v6,
		    uint16_t port, const char *host)
{
	int e = add(r, kind, v4, port, host);

	return e < 0 ? e : add(r, kind, v6, port, host);
}

/* A host keeps its address for all its ports. */
static const struct gw_listener *standin_of(const struct rows *r, const char *host, bool v6)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].kind == GW_LISTEN_STANDIN && r->v[i].optional == v6 &&
		    streq(r->v[i].host, host))
			return &r->v[i];
	return NULL;
}

static int add_standin(struct rows *r, const char *host, uint16_t port)
{
	const struct gw_listener *known4 = standin_of(r, host, false);
	const struct gw_listener *known6 = standin_of(r, host, true);
	char v4[46], v6[46];
	struct in6_addr a6;
	struct in_addr a4;

	if (known4 && known6) {
		(void)snprintf(v4, sizeof(v4), "%s", known4->addr);
		(void)snprintf(v6, sizeof(v6), "%s", known6->addr);
	} else {
		uint32_t index = ++r->next_standin;

		(void)inet_pton(AF_INET, "198.18.0.0", &a4);
		(void)inet_pton(AF_INET6, "fd00:7261:6c70::", &a6);
		a4.s_addr = htonl(ntohl(a4.s_addr) + index);
		a6.s6_addr32[3] = htonl(index);
		(void)inet_ntop(AF_INET, &a4, v4, sizeof(v4));
		(void)inet_ntop(AF_INET6, &a6, v6, sizeof(v6));
	}
	return add_both(r, GW_LISTEN_STANDIN, v4, v6, port, host);
}

static int add_rule(struct rows *r, const struct policy_rule *rule, struct err *err)
{
	const struct pattern *p = &rule->pattern;

	if (rule->text.deny || p->ports != PORTS_ONE)
		return 0;
	if (p->kind == PATTERN_SERVICE) {
		if (p->port == NET_PROXY_PORT)
			return err_set(err, EINVAL,
				       "'%s': port %d inside is the gateway's own; let the service "
				       "listen on another one",
				       rule->text.pattern, NET_PROXY_PORT);
		if (p->port >= LOW_PORTS)
			return add_both(r, GW_LISTEN_SERVICE, "127.0.0.1", "::1", p->port, "");
	}
	if (p->kind != PATTERN_CIDR && p->port < LOW_PORTS)
		return add_both(r, GW_LISTEN_PORT, "0.0.0.0", "::", p->port, "");
	return p->kind == PATTERN_NAME ? add_standin(r, p->name, p->port) : 0;
}

static int add_fixed(struct rows *r, enum policy_tier tier)
{
	static const uint16_t ports[] = {80, 443, 22};
	size_t n = tier == POLICY_ALLOWLIST ? 2 : 3;
	int e = add_both(r, GW_LISTEN_PROXY, "127.0.0.1", "::1", NET_PROXY_PORT, "");

	if (e == 0)
		e = add(r, GW_LISTEN_DNS_UDP, NET_DNS_ADDR, 53, "");
	if (e == 0)
		e = add(r, GW_LISTEN_DNS_TCP, NET_DNS_ADDR, 53, "");
	for (size_t i = 0; i < n && e == 0; i++)
		e = add_both(r, GW_LISTEN_PORT, "0.0.0.0", "::", ports[i], "");
	return e;
}

int net_listeners(const struct policy *p, struct gw_listener **ret, size_t *ret_n, struct err *err)
{
	struct rows r = {0};
	int e = p->tier == POLICY_NONE ? 0 : add_fixed(&r, p->tier);

	for (size_t i = 0; p->tier != POLICY_NONE && i < p->n_rules && e == 0; i++)
		e = add_rule(&r, &p->rules[i], err);
	if (e < 0) {
		free(r.v);
		return e == -E2BIG ? err_set(err, E2BIG,
					     "the network rules name more ports than a sandbox can "
					     "listen on (%d)",
					     GW_LISTENERS_MAX)
				   : e;
	}
	*ret = r.v;
	*ret_n = r.n;
	return 0;
}
