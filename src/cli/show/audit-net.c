#include "cli/show/audit.h"

#include <string.h>

#include "cli/net-common.h"
#include "base/text/table.h"
#include "compose/no-guest.h"
#include "netrules/spec-net.h"

static const char *tier_words(enum policy_tier t)
{
	static const char *const words[] = {
		[POLICY_NONE] = "none: nothing can be reached",
		[POLICY_ALLOWLIST] = "allowlist: what is allowed here, and nothing else",
		[POLICY_INET] = "inet: every public host, but for what is denied here",
		[POLICY_FULL] = ("full: every host, private and local ones too, but for what is "
				 "denied here"),
	};

	return words[t];
}

static void print_rules(const struct net_policy *net, FILE *out, bool color)
{
	static const struct table_column columns[] = {
		{NULL, .keep = true}, {NULL, .keep = true}, {NULL, .keep = true}, {NULL}};
	cleanup_(table_freep) struct table *t = table_new(columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < net->n_rules; i++) {
		const struct net_rule *r = &net->rules[i];
		cleanup_free char *what = net_inspection(r);
		bool service = net_rule_is_service(r);

		table_styled(t, r->deny ? STYLE_RED : STYLE_GREEN,
			     r->deny   ? "  deny"
			     : service ? "  service"
				       : "  allow");
		table_cell(t, r->pattern);
		table_cell(t, service && !r->deny ? "of this machine"
			      : streq(what, "-")  ? ""
						  : what);
		table_styled(t, STYLE_DIM, r->source);
	}
	table_print(t, out, 0, color);
}

/* A port from 1024 up belongs to servers inside: the gateway takes it only on the address that
 * stands for its host, and a program that is told another address finds nobody. */
static void print_standins(const struct gw_listener *rows, size_t n, FILE *out)
{
	bool said = false;

	for (size_t i = 0; i < n; i++) {
		if (rows[i].kind != GW_LISTEN_STANDIN || rows[i].optional)
			continue;
		if (!said)
			(void)fputs(
				"  ports from 1024 up are there only on the address that stands "
				"for their host:\n",
				out);
		said = true;
		(void)fputs("    ", out);
		term_puts(out, rows[i].host);
		(void)fprintf(out, ":%u at %s\n", rows[i].port, rows[i].addr);
	}
}

int audit_print_net(const struct sandbox_spec *s, FILE *out, bool color, struct err *err)
{
	cleanup_free struct gw_listener *rows = NULL;
	size_t n = 0;
	int r = net_sockets(&s->net, &rows, &n, err);

	if (r < 0)
		return r;
	(void)fprintf(out, "  %s\n", tier_words(s->net.tier));
	if (s->net.tier == POLICY_NONE)
		return 0;
	if (s->net.n_rules)
		print_rules(&s->net, out, color);
	else if (s->net.tier == POLICY_ALLOWLIST)
		(void)fputs("  nothing is allowed yet\n", out);
	if (!no_guest(s))
		print_standins(rows, n, out);
	return 0;
}

static const char *kind_name(enum gw_listen_kind k)
{
	static const char *const names[] = {
		[GW_LISTEN_PROXY] = "proxy",	     [GW_LISTEN_DNS_UDP] = "dns-udp",
		[GW_LISTEN_DNS_TCP] = "dns-tcp",     [GW_LISTEN_PORT] = "port",
		[GW_LISTEN_STANDIN] = "stand-in",    [GW_LISTEN_SERVICE] = "service",
		[GW_LISTEN_ENDPOINTS] = "endpoints", [GW_LISTEN_OUTPOST] = "outpost",
		[GW_LISTEN_NODE] = "node",
	};

	return names[k];
}

/*
 * An engine without a guest has no listeners inside: the row is the gateway's port on this machine,
 * if there is one.
 */
static int endpoint_row(const struct sandbox_spec *s, struct gw_listener **ret, size_t *ret_n)
{
	struct gw_listener *row = xcalloc(1, sizeof(*row));

	*row = (struct gw_listener){.kind = GW_LISTEN_ENDPOINTS, .port = s->port};
	(void)snprintf(row->addr, sizeof(row->addr), "127.0.0.1");
	*ret = row;
	*ret_n = s->port != 0;
	return 0;
}

int audit_sockets_json(const struct sandbox_spec *spec, json_t **ret, struct err *err)
{
	cleanup_free struct gw_listener *rows = NULL;
	size_t n = 0;
	int r = no_guest(spec) ? endpoint_row(spec, &rows, &n)
			       : net_sockets(&spec->net, &rows, &n, err);
	json_t *a;

	if (r < 0)
		return r;
	a = json_array();
	for (size_t i = 0; i < n; i++) {
		json_t *j = json_pack("{ss ss si}", "kind", kind_name(rows[i].kind), "address",
				      rows[i].addr, "port", (int)rows[i].port);

		if (rows[i].host[0])
			(void)json_object_set_new(j, "host", json_text(rows[i].host));
		(void)json_array_append_new(a, j);
	}
	*ret = a;
	return 0;
}
