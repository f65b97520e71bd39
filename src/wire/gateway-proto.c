#include "wire/gateway-proto.h"

#include <assert.h>
#include <string.h>

#include "policy/policy.h"
#include "wire/proto-fields.h"

struct gw_config *gw_config_new(void)
{
	return xcalloc(1, sizeof(struct gw_config));
}

static void wipe(char *s)
{
	if (s)
		explicit_bzero(s, strlen(s));
	free(s);
}

static void route_done(struct gw_route *r)
{
	free(r->provider);
	free(r->url);
	free(r->credential);
	wipe(r->phantom);
	free(r->ca_file);
	strv_done(&r->requests);
}

struct gw_config *gw_config_free(struct gw_config *c)
{
	if (!c)
		return NULL;
	free(c->sandbox);
	free(c->http_proxy);
	free(c->https_proxy);
	free(c->no_proxy);
	free(c->ca_file);
	free(c->ca_dir);
	free(c->standin4);
	free(c->standin6);
	free(c->outpost);
	strv_done(&c->tools);
	for (size_t i = 0; i < c->n_routes; i++)
		route_done(&c->routes[i]);
	free(c->routes);
	net_policy_clear(&c->policy);
	(void)policy_free(c->rules);
	free(c);
	return NULL;
}

struct gw_route *gw_route_add(struct gw_config *c, const char *provider, const char *url,
			      const char *credential)
{
	struct gw_route *r;

	c->routes = xrealloc(c->routes, c->n_routes + 1, sizeof(*c->routes));
	r = &c->routes[c->n_routes++];
	*r = (struct gw_route){
		.provider = xstrdup(provider),
		.url = xstrdup(url),
		.credential = xstrdup_or_null(credential),
	};
	strv_init(&r->requests);
	return r;
}

static char *get_opt(struct wire_reader *r, size_t max)
{
	uint32_t there = wire_get_u32(r);
	const char *s;

	if (there == 0 || r->bad)
		return NULL;
	s = there == 1 ? wire_get_str(r) : NULL;
	if (!s || strlen(s) > max) {
		r->bad = true;
		return NULL;
	}
	return xstrdup(s);
}

static char *get_dup(struct wire_reader *r, size_t max)
{
	const char *s = wire_get_str(r);

	if (s && strlen(s) <= max)
		return xstrdup(s);
	r->bad = true;
	return xstrdup("");
}

void gw_get_rule(struct wire_reader *r, struct net_rule *rule)
{
	for (const struct net_rule_field *f = net_rule_fields; f->name; f++) {
		void *at = net_rule_at(rule, f);

		switch (f->kind) {
		case NET_RULE_VERDICT:
			*(bool *)at = get_below(r, 2);
			break;
		case NET_RULE_TEXT:
			*(char **)at = get_dup(r, GW_TEXT_MAX);
			break;
		case NET_RULE_NAME:
			*(char **)at = get_opt(r, GW_TEXT_MAX);
			break;
		case NET_RULE_LIST:
			wire_get_strv(r, at);
			break;
		}
	}
}

static enum pattern_kind get_kind(struct wire_reader *r)
{
	return (enum pattern_kind)get_below(r, PATTERN_SERVICE + 1);
}

static void get_pattern(struct wire_reader *r, struct pattern *p)
{
	const char *name, *ip;
	size_t n;

	p->kind = get_kind(r);
	p->ports = (enum pattern_ports)get_below(r, PORTS_ANY + 1);
	p->port = (uint16_t)get_below(r, 65536);
	p->cidr.ip.v6 = get_below(r, 2);
	p->cidr.len = (uint8_t)get_below(r, p->cidr.ip.v6 ? 129 : 33);
	ip = wire_get_bytes(r, &n);
	name = get_text(r, sizeof(p->name) - 1);
	if (r->bad || n != sizeof(p->cidr.ip.b)) {
		r->bad = true;
		return;
	}
	memcpy(p->cidr.ip.b, ip, n);
	p->len = (uint8_t)strlen(name);
	memcpy(p->name, name, p->len + 1u);
}

static struct policy *get_rules(struct wire_reader *r)
{
	cleanup_(policy_freep) struct policy *p = policy_new(get_below(r, POLICY_TIER_N));
	uint32_t n = get_below(r, NET_RULES_MAX + 1);

	for (uint32_t i = 0; i < n && !r->bad; i++) {
		struct policy_rule rule = {0};

		gw_get_rule(r, &rule.text);
		get_pattern(r, &rule.pattern);
		r->bad |= policy_take(p, &rule) < 0;
	}
	return take_ptr(p);
}

int gw_get_rules(const struct wire_msg *m, struct policy **ret)
{
	cleanup_(policy_freep) struct policy *p = NULL;
	struct wire_reader r;

	wire_read(&r, m);
	p = get_rules(&r);
	if (wire_read_end(&r) < 0)
		return -EPROTO;
	*ret = take_ptr(p);
	return 0;
}

int gw_get_config(const struct wire_msg *m, struct gw_config **ret)
{
	cleanup_(gw_config_freep) struct gw_config *c = gw_config_new();
	struct wire_reader r;
	uint32_t n;

	wire_read(&r, m);
	c->sandbox = get_dup(&r, GW_NAME_MAX);
	c->http_proxy = get_opt(&r, GW_SECRET_MAX);
	c->https_proxy = get_opt(&r, GW_SECRET_MAX);
	c->no_proxy = get_opt(&r, WIRE_INLINE_MAX);
	c->ca_file = get_opt(&r, GW_SECRET_MAX);
	c->ca_dir = get_opt(&r, GW_SECRET_MAX);
	c->standin4 = get_opt(&r, GW_NAME_MAX);
	c->standin6 = get_opt(&r, GW_NAME_MAX);
	c->outpost = get_opt(&r, GW_NAME_MAX);
	c->budget = get_below(&r, 2);
	wire_get_strv(&r, &c->tools);
	c->before = wire_get_u32(&r);
	c->head_ms = wire_get_u32(&r);
	c->dial_ms = wire_get_u32(&r);
	c->keepalive_ms = wire_get_u32(&r);
	c->lookup_ms = wire_get_u32(&r);
	n = get_below(&r, GW_ROUTES_MAX + 1);
	for (uint32_t i = 0; i < n && !r.bad; i++) {
		const char *provider = get_text(&r, GW_NAME_MAX), *url = get_text(&r, GW_TEXT_MAX);
		struct gw_route *route = gw_route_add(c, provider, url, NULL);

		route->credential = get_opt(&r, GW_TEXT_MAX);
		route->phantom = get_opt(&r, GW_SECRET_MAX);
		route->ca_file = get_opt(&r, GW_SECRET_MAX);
		route->private = get_below(&r, 2);
		wire_get_strv(&r, &route->requests);
	}
	c->rules = get_rules(&r);
	if (wire_read_end(&r) < 0)
		return -EPROTO;
	*ret = take_ptr(c);
	return 0;
}

void gw_put_event(struct buf *b, const struct gw_event *e)
{
	wire_put_u64(b, e->time_ms);
	wire_put_u32(b, e->verb);
	wire_put_u32(b, e->verdict);
	wire_put_u32(b, e->phase);
	wire_put_u32(b, e->flow);
	wire_put_u32(b, e->count);
	wire_put_u32(b, e->port);
	wire_put_u32(b, e->status);
	wire_put_u32(b, e->ms);
	wire_put_u64(b, e->up);
	wire_put_u64(b, e->down);
	wire_put_str(b, e->host);
	wire_put_str(b, e->method);
	wire_put_str(b, e->path);
	wire_put_str(b, e->rule);
	wire_put_str(b, e->reason);
}

void gw_put_header_ask(struct buf *b, const struct gw_header_ask *a)
{
	wire_put_str(b, a->credential);
	wire_put_str(b, a->host);
	wire_put_u32(b, a->port);
	wire_put_str(b, a->method);
	wire_put_str(b, a->target);
	wire_put_str(b, a->content_type ? a->content_type : "");
	wire_put_str(b, a->body_sha256 ? a->body_sha256 : "");
	wire_put_u32(b, a->rejected);
}

int gw_get_header_ask(const struct wire_msg *m, struct gw_header_ask *ret)
{
	struct gw_header_ask a = {0};
	struct wire_reader r;

	wire_read(&r, m);
	a.credential = get_text(&r, GW_TEXT_MAX);
	a.host = get_text(&r, GW_NAME_MAX);
	a.port = get_below(&r, 65536);
	a.method = get_text(&r, GW_NAME_MAX);
	a.target = get_text(&r, WIRE_INLINE_MAX);
	a.content_type = get_text(&r, GW_TEXT_MAX);
	a.body_sha256 = get_text(&r, GW_DIGEST_MAX);
	a.rejected = get_below(&r, 2);
	if (wire_read_end(&r) < 0)
		return -EPROTO;
	*ret = a;
	return 0;
}

static void wipe_strv(struct strv *s)
{
	for (size_t i = 0; i < s->n; i++)
		explicit_bzero(s->v[i], strlen(s->v[i]));
	strv_done(s);
}

void gw_header_init(struct gw_header *h)
{
	*h = (struct gw_header){0};
}

void gw_header_done(struct gw_header *h)
{
	wipe_strv(&h->set);
	wipe_strv(&h->secrets);
	strv_done(&h->drop);
	free(h->message);
	*h = (struct gw_header){0};
}

void gw_put_header(struct buf *b, const struct gw_header *h)
{
	wire_put_u32(b, h->error);
	wire_put_u32(b, h->keep_ms);
	wire_put_strv(b, &h->set);
	wire_put_strv(b, &h->drop);
	wire_put_strv(b, &h->secrets);
	put_opt(b, h->message);
}

int gw_get_header(const struct wire_msg *m, struct gw_header *ret)
{
	struct gw_header h;
	struct wire_reader r;

	gw_header_init(&h);
	wire_read(&r, m);
	h.error = wire_get_u32(&r);
	h.keep_ms = wire_get_u32(&r);
	wire_get_strv(&r, &h.set);
	wire_get_strv(&r, &h.drop);
	wire_get_strv(&r, &h.secrets);
	h.message = get_opt(&r, GW_TEXT_MAX);
	if (wire_read_end(&r) < 0 || h.set.n > GW_HEADER_FIELDS_MAX ||
	    h.drop.n > GW_HEADER_FIELDS_MAX || h.secrets.n > GW_HEADER_FIELDS_MAX) {
		gw_header_done(&h);
		return -EPROTO;
	}
	*ret = h;
	return 0;
}

void gw_put_use(struct buf *b, const struct cred_use *u)
{
	wire_put_str(b, u->credential);
	wire_put_str(b, u->host);
	wire_put_u32(b, u->port);
	wire_put_str(b, u->method);
	wire_put_str(b, u->rule);
}

void gw_put_health(struct buf *b, const struct gw_health *h)
{
	wire_put_u32(b, h->connections);
	wire_put_u32(b, h->tunnels);
	wire_put_u32(b, h->idle_upstreams);
	wire_put_u32(b, h->lookups);
	wire_put_u64(b, h->accepted);
	wire_put_u64(b, h->denied);
	wire_put_u64(b, h->bytes_up);
	wire_put_u64(b, h->bytes_down);
}
