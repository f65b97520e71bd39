#include "wire/gateway-proto.h"

#include <assert.h>
#include <string.h>

static const char *const verbs[] = {
	[GW_VERB_CONNECT] = "connect", [GW_VERB_HTTP] = "http", [GW_VERB_SOCKS] = "socks",
	[GW_VERB_TLS] = "tls",	       [GW_VERB_TCP] = "tcp",	[GW_VERB_DNS] = "dns",
};
static_assert(ARRAY_SIZE(verbs) == GW_VERB_N, "one name per verb");

static const char *const verdicts[] = {
	[GW_ALLOW] = "allow",
	[GW_DENY] = "deny",
	[GW_ERROR] = "error",
};
static_assert(ARRAY_SIZE(verdicts) == GW_VERDICT_N, "one name per verdict");

static const char *const kinds[] = {
	[GW_LISTEN_PROXY] = "proxy",	     [GW_LISTEN_DNS_UDP] = "dns-udp",
	[GW_LISTEN_DNS_TCP] = "dns-tcp",     [GW_LISTEN_PORT] = "port",
	[GW_LISTEN_STANDIN] = "standin",     [GW_LISTEN_SERVICE] = "service",
	[GW_LISTEN_ENDPOINTS] = "endpoints", [GW_LISTEN_OUTPOST] = "outpost",
};
static_assert(ARRAY_SIZE(kinds) == GW_LISTEN_N, "one name per kind of listener");

const char *gw_verb_name(enum gw_verb v)
{
	return v < GW_VERB_N ? verbs[v] : "?";
}

const char *gw_verdict_name(enum gw_verdict v)
{
	return v < GW_VERDICT_N ? verdicts[v] : "?";
}

const char *gw_listen_kind_name(enum gw_listen_kind k)
{
	return k < GW_LISTEN_N ? kinds[k] : "?";
}

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

/* An optional string: u32 0, or u32 1 and the string. */
static void put_opt(struct buf *b, const char *s)
{
	wire_put_u32(b, s ? 1 : 0);
	if (s)
		wire_put_str(b, s);
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

/* A string of the message itself, at most max bytes. */
static const char *get_text(struct wire_reader *r, size_t max)
{
	const char *s = wire_get_str(r);

	if (s && strlen(s) <= max)
		return s;
	r->bad = true;
	return "";
}

static uint32_t get_below(struct wire_reader *r, uint32_t n)
{
	uint32_t v = wire_get_u32(r);

	if (v >= n) {
		r->bad = true;
		return 0;
	}
	return v;
}

static void put_rule(struct buf *b, const struct net_rule *r)
{
	for (const struct net_rule_field *f = net_rule_fields; f->name; f++) {
		const void *at = net_rule_at(r, f);
		const char *text;

		switch (f->kind) {
		case NET_RULE_VERDICT:
			wire_put_u32(b, *(const bool *)at);
			break;
		case NET_RULE_TEXT:
			text = *(char *const *)at;
			wire_put_str(b, text ? text : "");
			break;
		case NET_RULE_NAME:
			put_opt(b, *(char *const *)at);
			break;
		case NET_RULE_LIST:
			wire_put_strv(b, at);
			break;
		}
	}
}

static void get_rule(struct wire_reader *r, struct net_rule *rule)
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

void gw_put_policy(struct buf *b, const struct net_policy *p)
{
	wire_put_u32(b, p->tier);
	wire_put_u32(b, (uint32_t)p->n_rules);
	for (size_t i = 0; i < p->n_rules; i++)
		put_rule(b, &p->rules[i]);
}

static void get_policy(struct wire_reader *r, struct net_policy *p)
{
	uint32_t n;

	p->tier = get_below(r, POLICY_TIER_N);
	n = get_below(r, NET_RULES_MAX + 1);
	for (uint32_t i = 0; i < n && !r->bad; i++)
		get_rule(r, net_policy_push(p));
}

int gw_get_policy(const struct wire_msg *m, struct net_policy *ret)
{
	struct net_policy p = {0};
	struct wire_reader r;

	wire_read(&r, m);
	get_policy(&r, &p);
	if (wire_read_end(&r) < 0) {
		net_policy_clear(&p);
		return -EPROTO;
	}
	*ret = p;
	return 0;
}

void gw_put_config(struct buf *b, const struct gw_config *c)
{
	wire_put_str(b, c->sandbox ? c->sandbox : "");
	put_opt(b, c->http_proxy);
	put_opt(b, c->https_proxy);
	put_opt(b, c->no_proxy);
	put_opt(b, c->ca_file);
	put_opt(b, c->ca_dir);
	put_opt(b, c->standin4);
	put_opt(b, c->standin6);
	put_opt(b, c->outpost);
	wire_put_u32(b, c->budget);
	wire_put_strv(b, &c->tools);
	wire_put_u32(b, c->before);
	wire_put_u32(b, c->head_ms);
	wire_put_u32(b, c->dial_ms);
	wire_put_u32(b, c->keepalive_ms);
	wire_put_u32(b, c->lookup_ms);
	wire_put_u32(b, (uint32_t)c->n_routes);
	for (size_t i = 0; i < c->n_routes; i++) {
		const struct gw_route *r = &c->routes[i];

		wire_put_str(b, r->provider);
		wire_put_str(b, r->url);
		put_opt(b, r->credential);
		put_opt(b, r->phantom);
		put_opt(b, r->ca_file);
		wire_put_u32(b, r->private);
		wire_put_strv(b, &r->requests);
	}
	gw_put_policy(b, &c->policy);
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
	get_policy(&r, &c->policy);
	if (wire_read_end(&r) < 0)
		return -EPROTO;
	*ret = take_ptr(c);
	return 0;
}

void gw_put_listeners(struct buf *b, const struct gw_listener *l, size_t n)
{
	wire_put_u32(b, (uint32_t)n);
	for (size_t i = 0; i < n; i++) {
		wire_put_u32(b, l[i].kind);
		wire_put_str(b, l[i].addr);
		wire_put_u32(b, l[i].port);
		wire_put_u32(b, l[i].optional);
		wire_put_str(b, l[i].host);
	}
}

int gw_get_listeners(const struct wire_msg *m, struct gw_listener **ret, size_t *ret_n)
{
	cleanup_free struct gw_listener *l = NULL;
	struct wire_reader r;
	uint32_t n;

	wire_read(&r, m);
	n = get_below(&r, WIRE_FDS_MAX + 1);
	l = xcalloc(n ? n : 1, sizeof(*l));
	for (uint32_t i = 0; i < n && !r.bad; i++) {
		l[i].kind = get_below(&r, GW_LISTEN_N);
		strncpy(l[i].addr, get_text(&r, sizeof(l[i].addr) - 1), sizeof(l[i].addr) - 1);
		l[i].port = (uint16_t)get_below(&r, 65536);
		l[i].optional = get_below(&r, 2);
		strncpy(l[i].host, get_text(&r, GW_NAME_MAX), GW_NAME_MAX);
	}
	/* Rows of a sandbox elsewhere have no descriptors: all of a frame or none. */
	if (wire_read_end(&r) < 0 || (m->n_fds != n && m->n_fds != 0))
		return -EPROTO;
	*ret = take_ptr(l);
	*ret_n = n;
	return 0;
}

int gw_send_listeners(int sock, const struct gw_listener *l, const int *fds, size_t n)
{
	while (n) {
		size_t part = n < WIRE_FDS_MAX ? n : WIRE_FDS_MAX;
		cleanup_buf struct buf b;
		int r;

		buf_init(&b, WIRE_BODY_MAX);
		gw_put_listeners(&b, l, part);
		r = wire_send(sock, (enum wire_type)GW_LISTEN, 0, &b, fds, fds ? part : 0);
		if (r < 0)
			return r;
		l += part;
		fds = fds ? fds + part : NULL;
		n -= part;
	}
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

/* Takes printable ASCII only, else the frame is refused: a logged text cannot forge a line. */
static const char *get_plain(struct wire_reader *r, size_t max)
{
	const char *s = get_text(r, max);

	for (const char *p = s; *p; p++)
		if (*p < 0x20 || *p > 0x7e) {
			r->bad = true;
			return "";
		}
	return s;
}

int gw_get_event(const struct wire_msg *m, struct gw_event *ret)
{
	struct gw_event e = {0};
	struct wire_reader r;

	wire_read(&r, m);
	e.time_ms = wire_get_u64(&r);
	e.verb = get_below(&r, GW_VERB_N);
	e.verdict = get_below(&r, GW_VERDICT_N);
	e.phase = get_below(&r, GW_PHASE_N);
	e.flow = wire_get_u32(&r);
	e.count = wire_get_u32(&r);
	e.port = get_below(&r, 65536);
	e.status = get_below(&r, 1000);
	e.ms = wire_get_u32(&r);
	e.up = wire_get_u64(&r);
	e.down = wire_get_u64(&r);
	e.host = get_plain(&r, GW_TEXT_MAX);
	e.method = get_plain(&r, GW_NAME_MAX);
	e.path = get_plain(&r, GW_TEXT_MAX);
	e.rule = get_plain(&r, GW_TEXT_MAX);
	e.reason = get_plain(&r, GW_TEXT_MAX);
	if (wire_read_end(&r) < 0)
		return -EPROTO;
	*ret = e;
	return 0;
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
	strv_init(&h->set);
	strv_init(&h->drop);
	strv_init(&h->secrets);
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

int gw_get_use(const struct wire_msg *m, struct cred_use *ret)
{
	struct cred_use u = {0};
	struct wire_reader r;

	wire_read(&r, m);
	u.credential = get_text(&r, GW_TEXT_MAX);
	u.host = get_text(&r, GW_NAME_MAX);
	u.port = get_below(&r, 65536);
	u.method = get_text(&r, GW_NAME_MAX);
	u.rule = get_text(&r, GW_TEXT_MAX);
	if (wire_read_end(&r) < 0)
		return -EPROTO;
	*ret = u;
	return 0;
}

void gw_put_spend(struct buf *b, const struct gw_spend *s)
{
	wire_put_str(b, s->credential);
	wire_put_str(b, s->model);
	wire_put_u64(b, s->input);
	wire_put_u64(b, s->output);
	wire_put_u64(b, s->answers);
}

int gw_get_spend(const struct wire_msg *m, struct gw_spend *ret)
{
	struct gw_spend s = {0};
	struct wire_reader r;

	wire_read(&r, m);
	s.credential = get_plain(&r, GW_TEXT_MAX);
	s.model = get_plain(&r, GW_NAME_MAX);
	s.input = wire_get_u64(&r);
	s.output = wire_get_u64(&r);
	s.answers = wire_get_u64(&r);
	if (wire_read_end(&r) < 0 || s.input > GW_TOKENS_MAX || s.output > GW_TOKENS_MAX ||
	    s.answers == 0 || s.answers > GW_TOKENS_MAX)
		return -EPROTO;
	*ret = s;
	return 0;
}

void gw_put_usage(struct buf *b, const struct gw_usage *u)
{
	wire_put_str(b, u->credential);
	wire_put_str(b, u->model);
	wire_put_u32(b, u->reservation);
	wire_put_u32(b, u->cost);
	wire_put_u32(b, u->status);
	wire_put_u64(b, u->input);
	wire_put_u64(b, u->output);
	wire_put_u64(b, u->cache_read);
	wire_put_u64(b, u->cache_write);
	wire_put_str(b, u->limits ? u->limits : "");
}

int gw_get_usage(const struct wire_msg *m, struct gw_usage *ret)
{
	struct gw_usage u = {0};
	struct wire_reader r;

	wire_read(&r, m);
	u.credential = get_plain(&r, GW_TEXT_MAX);
	u.model = get_plain(&r, GW_NAME_MAX);
	u.reservation = wire_get_u32(&r);
	u.cost = (enum gw_cost)get_below(&r, GW_COST_N);
	u.status = get_below(&r, 1000);
	u.input = wire_get_u64(&r);
	u.output = wire_get_u64(&r);
	u.cache_read = wire_get_u64(&r);
	u.cache_write = wire_get_u64(&r);
	u.limits = get_text(&r, GW_LIMITS_MAX);
	if (wire_read_end(&r) < 0)
		return -EPROTO;
	*ret = u;
	return 0;
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

int gw_get_health(const struct wire_msg *m, struct gw_health *ret)
{
	struct gw_health h;
	struct wire_reader r;

	wire_read(&r, m);
	h.connections = wire_get_u32(&r);
	h.tunnels = wire_get_u32(&r);
	h.idle_upstreams = wire_get_u32(&r);
	h.lookups = wire_get_u32(&r);
	h.accepted = wire_get_u64(&r);
	h.denied = wire_get_u64(&r);
	h.bytes_up = wire_get_u64(&r);
	h.bytes_down = wire_get_u64(&r);
	if (wire_read_end(&r) < 0)
		return -EPROTO;
	*ret = h;
	return 0;
}
