/* The supervisor's side of the frames: what it writes to the gateway, and reads from it. */
#include "wire/gateway-proto.h"

#include <assert.h>
#include <string.h>

#include "policy/policy.h"
#include "wire/proto-fields.h"

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

const char *gw_verb_name(enum gw_verb v)
{
	return v < GW_VERB_N ? verbs[v] : "?";
}

const char *gw_verdict_name(enum gw_verdict v)
{
	return v < GW_VERDICT_N ? verdicts[v] : "?";
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
		gw_get_rule(r, net_policy_push(p));
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

static void put_pattern(struct buf *b, const struct pattern *p)
{
	wire_put_u32(b, p->kind);
	wire_put_u32(b, p->ports);
	wire_put_u32(b, p->port);
	wire_put_u32(b, p->cidr.ip.v6);
	wire_put_u32(b, p->cidr.len);
	wire_put_bytes(b, p->cidr.ip.b, sizeof(p->cidr.ip.b));
	wire_put_str(b, p->name);
}

void gw_put_rules(struct buf *b, const struct net_policy *rules)
{
	cleanup_(policy_freep) struct policy *p = NULL;
	struct err ignored;

	if (policy_compile(rules, &p, &ignored) < 0) {
		b->full = true;
		return;
	}
	wire_put_u32(b, p->tier);
	wire_put_u32(b, (uint32_t)p->n_rules);
	for (size_t i = 0; i < p->n_rules; i++) {
		put_rule(b, &p->rules[i].text);
		put_pattern(b, &p->rules[i].pattern);
	}
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
	gw_put_rules(b, &c->policy);
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

int gw_get_ask(const struct wire_msg *m, struct gw_ask *ret)
{
	struct wire_reader r;

	*ret = (struct gw_ask){0};
	wire_read(&r, m);
	ret->verb = get_below(&r, GW_ASK_N);
	ret->kind = get_text(&r, GW_TEXT_MAX);
	ret->what = get_text(&r, GW_ASK_TEXT_MAX);
	ret->why = get_text(&r, GW_ASK_TEXT_MAX);
	wire_get_strv(&r, &ret->choices);
	ret->wait_s = get_below(&r, GW_ASK_WAIT_MAX_S + 1);
	ret->since = wire_get_u64(&r);
	if (wire_read_end(&r) == 0 && m->n_fds == 0 && ret->choices.n <= GW_ASK_CHOICES_MAX)
		return 0;
	strv_done(&ret->choices);
	return -EPROTO;
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
