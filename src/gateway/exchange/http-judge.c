/* Requests: read, decided, written anew. */
#include "gateway/exchange/http-judge.h"

#include <stdio.h>
#include <string.h>

#include "flow/host-proxy.h"
#include "gateway/exchange/response-guard.h"
#include "gateway/exchange/inject.h"
#include "gateway/exchange/phantom.h"
#include "flow/refuse.h"
#include "http/override.h"
#include "gateway/exchange/route.h"
#include "gateway/h2/h2-server.h"
#include "policy/request.h"
#include "wire/edge-proto.h"

#define SET_MAX GW_HEADER_FIELDS_MAX

struct edits {
	struct http1_set set[SET_MAX];
	struct slice drop[SET_MAX];
	size_t n_set, n_drop;
	bool reframe; /* the body is sent from what was kept of it: this long */
	uint64_t length;
};

/* The head for the server, into c->x->head. */
static int write_head(struct conn *c, const struct http1_head *h, const struct edits *edits)
{
	const struct host_proxy *p =
		c->up_tls ? NULL : host_proxy_for(c->gw->host_proxies, &c->host, c->port, true);
	char authority[HOST_PORT_TEXT_SIZE], prefix[HOST_PORT_TEXT_SIZE + 8];
	struct http1_set set[SET_MAX + 1];
	struct http1_edit e = {.set = set,
			       .keep_upgrade = c->x->upgrade,
			       .no_overrides = c->x->request.no_overrides};
	uint16_t standard = c->up_tls ? 443 : 80;

	for (; edits && e.n_set < edits->n_set; e.n_set++)
		set[e.n_set] = edits->set[e.n_set];
	if (edits) {
		e.drop = edits->drop;
		e.n_drop = edits->n_drop;
		e.reframe = edits->reframe;
		e.body = HTTP1_BODY_LENGTH;
		e.length = edits->length;
	}
	/* The usual case without printf, which would take longer than the rest of the head. */
	if (c->port == standard && c->host.kind == HOST_NAME)
		memcpy(authority, c->host.name, c->host.len + 1u);
	else
		host_format(&c->host, c->port, authority);
	if (c->port == standard && c->host.kind != HOST_NAME)
		*strrchr(authority, ':') = '\0';
	e.host = slice_of(authority);
	if (c->x->target)
		e.target = slice_of(c->x->target);
	if (p && !c->verdict.service) {
		(void)snprintf(prefix, sizeof(prefix), "http://%s", authority);
		e.target_prefix = slice_of(prefix);
		if (p->auth)
			set[e.n_set++] = (struct http1_set){slice_of("Proxy-Authorization"),
							    slice_of(p->auth)};
	}
	(void)buf_reserve(&c->x->head, HEAD_USUAL);
	return http1_write_request(&c->x->head, h, &e);
}

/* Everything is decided: writes the request and goes to the server. head_len: of the head in c->in.
 */
static void send_request(struct conn *c, const struct http1_head *h, size_t head_len,
			 const struct edits *edits)
{
	/* Who asks for a decision by method and path sends what was decided. */
	c->x->request.no_overrides = c->verdict.inspect || c->x->guard;
	c->x->request.no_keys = c->x->guard && c->x->guard->carries;
	if (write_head(c, h, edits) < 0) {
		refuse_as(c, GW_ERROR, 400, "the request cannot be passed on");
		return;
	}
	buf_consume(&c->in, head_len);
	/* The last attempt does not use a pooled connection, which may have died meanwhile. */
	c->retried = c->x->guard && c->x->guard->rejected;
	conn_open_upstream(c);
}

static bool read_edits(const struct gw_header *h, struct edits *ret)
{
	if (h->set.n >= SET_MAX || h->drop.n > SET_MAX)
		return false;
	for (size_t i = 0; i < h->set.n; i++) {
		char *colon = strstr(h->set.v[i], ": ");

		if (!colon)
			return false;
		ret->set[ret->n_set++] = (struct http1_set){
			{h->set.v[i], (size_t)(colon - h->set.v[i])}, slice_of(colon + 2)};
	}
	for (size_t i = 0; i < h->drop.n; i++)
		ret->drop[ret->n_drop++] = slice_of(h->drop.v[i]);
	return true;
}

/* A compressed answer cannot be searched, nor can a part of one. */
static void ask_searchable(struct http1_head *h, struct edits *edits)
{
	edits->set[edits->n_set++] =
		(struct http1_set){slice_of("Accept-Encoding"), slice_of("identity")};
	for (size_t i = 0; i < h->n_fields; i++)
		h->fields[i].hop |= slice_is(h->fields[i].name, "range") ||
				    slice_is(h->fields[i].name, "if-range") ||
				    slice_is(h->fields[i].name, "grpc-accept-encoding");
}

/* Sends the whole body from the kept copy, so the client need not be asked for it. */
static void replay_body(struct http1_head *h, struct response_guard *g, struct edits *edits)
{
	for (size_t i = 0; i < h->n_fields; i++)
		h->fields[i].hop |= h->fields[i].id == HTTP1_F_EXPECT;
	edits->reframe = true;
	edits->length = g->body.len;
	g->replay = true;
	g->sent = 0;
}

void http_send(struct conn *c, struct http1_head *h, size_t head_len,
	       const struct gw_header *header)
{
	struct response_guard *g = c->x->guard;
	struct edits edits = {0};

	if (!read_edits(header, &edits)) {
		refuse_final(c, GW_ERROR, 503, "there is no credential for this request");
		return;
	}
	phantom_strip(h);
	ask_searchable(h, &edits);
	if (g->whole && h->body != HTTP1_BODY_NONE)
		replay_body(h, g, &edits);
	if (g->rejected) {
		exchange_rewind(c);
		buf_clear(&c->x->head);
	}
	send_request(c, h, head_len, &edits);
}

/* The target in origin-form, as it was received. */
static void put_target(struct buf *b, const struct http1_head *h)
{
	if (h->form == HTTP1_ASTERISK) {
		(void)buf_putc(b, '*');
		return;
	}
	(void)buf_append(b, h->url.path.n ? h->url.path.p : "/", h->url.path.n ? h->url.path.n : 1);
	if (h->url.query.p) {
		(void)buf_putc(b, '?');
		(void)buf_append(b, h->url.query.p, h->url.query.n);
	}
}

static bool names_second_path(const struct http1_head *h)
{
	for (size_t i = 0; i < h->n_fields; i++)
		if (override_names_path(h->fields[i].name))
			return true;
	return false;
}

/* Asks policy about the request itself; false: refused. */
static bool judge_request(struct conn *c, const struct http1_head *h)
{
	cleanup_buf struct buf target, canonical;
	const char *received = c->x->target;
	struct verdict v;

	buf_init(&target, REQUEST_TARGET_MAX + 2);
	buf_init(&canonical, REQUEST_TARGET_MAX + 2);
	if (received)
		(void)buf_puts(&target, received);
	else
		put_target(&target, h);
	policy_request(c->gw->policy, &c->verdict, &c->host, c->port, c->x->method,
		       buf_str(&target), target.len, &canonical, &v);
	if (!v.allow) {
		refuse_verdict(c, &v);
		return false;
	}
	if (policy_by_path(c->gw->policy, &v) && names_second_path(h)) {
		refuse_final(
			c, GW_DENY, 403,
			"a field of the request names another path, and the rule goes by path");
		return false;
	}
	c->verdict = v;
	conn_set_rule(c, policy_rule_of(c->gw->policy, &c->verdict));
	free(c->x->target);
	c->x->target = buf_take(&canonical);
	return true;
}

/* The host was given a credential, or may be: it could show that here too. */
static void send_guarded(struct conn *c, size_t head_len)
{
	struct http1_head *h = &c->gw->head;
	struct edits edits = {0};

	if (h->upgrade.n) {
		refuse_final(c, GW_DENY, 426,
			     "no upgrade of a connection to a host with a credential");
		return;
	}
	c->x->guard = response_guard_new(c->gw, NULL);
	ask_searchable(h, &edits);
	send_request(c, h, head_len, &edits);
}

void http_decide(struct conn *c, const struct http1_head *h, size_t head_len)
{
	const char *credential = NULL;
	struct verdict name;

	policy_name(c->gw->policy, &c->host, c->port, &c->verdict);
	if (!c->verdict.allow) {
		refuse_verdict(c, &c->verdict);
		return;
	}
	conn_set_rule(c, policy_rule_of(c->gw->policy, &c->verdict));
	name = c->verdict;
	if (name.inspect) {
		if (!judge_request(c, h))
			return;
		credential = policy_credential(c->gw->policy, &c->verdict);
		c->x->rule = c->verdict.rule;
		c->verdict = name;
	}
	if (phantom_astray(c, h, credential)) {
		phantom_hide(c->gw, c->x->path);
		refuse_as(c, GW_DENY, 403, "a phantom is sent where it does not belong");
		return;
	}
	if (credential) {
		c->x->credential = inject_name(c->gw, credential);
		if (c->x->target)
			phantom_strip_tokens(&c->x->target);
		inject_start(c, NULL, head_len);
	} else if (name.inspect && (policy_has_credential(c->gw->policy, &c->host) ||
				    route_has_credential(c->gw, &c->host))) {
		send_guarded(c, head_len);
	} else {
		c->x->upgrade = h->websocket && c->x->request.done;
		send_request(c, h, head_len, NULL);
	}
}

static const char another_server[] = "the Host field names another server than the one allowed";

/* CONNECT, SOCKS and transparent connections have their target: the request must name it, or a
 * server that it may become. false: refused. */
static bool names_target(struct conn *c, const struct http1_head *h)
{
	uint16_t standard = c->terminated ? 443 : 80;
	struct err err = {0};
	struct host host;

	if (h->host.host.n == 0 || host_parse(h->host.host.p, h->host.host.n, &host, &err) < 0 ||
	    (h->host.port ? h->host.port : standard) != c->port ||
	    (c->terminated && !host_equal(&host, &c->host))) {
		refuse_as(c, GW_DENY, 403, another_server);
		return false;
	}
	switch (conn_named(c, &host, false)) {
	case NAMED_REFUSED:
		return false;
	case NAMED_ANEW:
		return true;
	case NAMED_SAME:
		break;
	}
	/* The server would be told a name, and policy an address. */
	if (!host_equal(&host, &c->host))
		refuse_as(c, GW_DENY, 403, another_server);
	return host_equal(&host, &c->host);
}

static void on_fixed(struct conn *c, const struct http1_head *h, size_t head_len)
{
	if (http1_method_is(h, "CONNECT")) {
		refuse_as(c, GW_DENY, 400, "a CONNECT inside a connection that has its target");
		return;
	}
	if (h->form == HTTP1_ABSOLUTE && (h->url.scheme == URL_HTTPS) != c->terminated) {
		refuse_as(c, GW_DENY, 400, "the request's scheme is not the connection's");
		return;
	}
	if (!names_target(c, h))
		return;
	c->up_tls = c->terminated;
	http_decide(c, h, head_len);
}

/* CONNECT behind other requests: the edge opens tunnels. All of our answers are with the client. */
static void give_back(struct conn *c)
{
	const struct edge_conn_frame f = {
		.first = EDGE_PROXY,
		.verb = GW_VERB_HTTP,
		.kind = c->listen_kind,
		.row = c->row,
		.host = "",
		.bytes = c->in.data,
		.n_bytes = c->in.len,
	};
	cleanup_buf struct buf b;

	exchange_quiet(c);
	buf_init(&b, WIRE_BODY_MAX);
	edge_put_conn(&b, &f);
	conn_want(c, false, false, false, false);
	if (c->state != CONN_DEAD) {
		(void)wire_send(c->gw->dials, (enum wire_type)EDGE_BACK, 0, &b, &c->client.io.fd,
				1);
		conn_end(c, "given back");
	}
}

/* A client that asks the proxy for the proxy's own endpoints, as one without NO_PROXY does. */
static bool is_ourselves(const struct conn *c, const struct http1_head *h)
{
	return h->url.scheme == URL_HTTP && c->port == c->listen_port &&
	       (streq(c->host.name, "localhost") ||
		(c->host.kind != HOST_NAME && addr_class(&c->host.ip) == ADDR_LOOPBACK)) &&
	       route_has(h->url.path);
}

static void on_absolute(struct conn *c, const struct http1_head *h, size_t head_len)
{
	struct err err = {0};

	c->port = url_port(h->url.scheme, h->url.authority.port);
	if (host_parse(h->url.authority.host.p, h->url.authority.host.n, &c->host, &err) < 0) {
		refuse_host(c, h->url.authority.host, &err);
		return;
	}
	if (is_ourselves(c, h)) {
		route_request(c, h, head_len);
		return;
	}
	if (h->url.scheme != URL_HTTP) {
		refuse_as(c, GW_DENY, 400, "https:// goes through CONNECT");
		return;
	}
	if (c->port == 443) {
		refuse_as(c, GW_DENY, 403, "plain bytes on port 443");
		return;
	}
	c->has_target = true;
	c->up_tls = false;
	http_decide(c, h, head_len);
}

static void on_request(struct conn *c, const struct http1_head *h, size_t head_len)
{
	c->flow = ++c->gw->last_id;
	c->since = ev_now(c->gw->ev);
	c->up_bytes = c->down_bytes = 0;
	exchange_free(c->x);
	c->x = exchange_new(h);
	c->verb = GW_VERB_HTTP;
	if (http1_method_is(h, "TRACE")) {
		refuse_final(c, GW_DENY, 405,
			     "TRACE would show what the gateway adds to a request");
		return;
	}
	if (c->fixed) {
		on_fixed(c, h, head_len);
		return;
	}
	c->has_target = false;
	c->rule[0] = '\0';
	if (c->listen_kind == GW_LISTEN_ENDPOINTS)
		route_endpoint(c, h, head_len);
	else if (http1_method_is(h, "CONNECT") && h2_stream_of(&c->client))
		refuse_as(c, GW_DENY, 400,
			  "a CONNECT over HTTP/2: the proxy opens tunnels over HTTP/1.1");
	else if (http1_method_is(h, "CONNECT"))
		give_back(c);
	else if (h->form == HTTP1_ABSOLUTE)
		on_absolute(c, h, head_len);
	else
		route_request(c, h, head_len);
}

/* false: c waits or is over. */
static bool more(struct conn *c)
{
	ssize_t n;

	if (c->client.readable || c->in.len == 0) {
		n = conn_fill(c);
		if (n > 0)
			return true;
		if (n == -ENOBUFS) {
			refuse_as(c, GW_DENY, 431, "the request's head is too long");
			return false;
		}
		if (n != -EAGAIN) {
			conn_end(c, "client gone");
			return false;
		}
	}
	conn_want(c, true, false, true, false);
	return false;
}

void conn_on_head(struct conn *c)
{
	struct http1_head *h = &c->gw->head;

	/* A server that speaks between two requests mostly says goodbye. */
	if (stream_open(&c->up) && c->up.readable) {
		c->up_idle = false;
		conn_drop_upstream(c);
	}
	for (;;) {
		ssize_t n = 0;

		http1_reset(h);
		h->scanned = c->scanned;
		h->line_start = c->line_start;
		if (c->in.len)
			n = http1_parse_request(c->in.data, c->in.len, h);
		if (n == 0) {
			bool first = c->in.len == 0;

			c->scanned = h->scanned;
			c->line_start = h->line_start;
			if (!more(c))
				return;
			if (first && c->flow)
				conn_touch(c);
			continue;
		}
		c->scanned = c->line_start = 0;
		if (n < 0 && conn_is_preface(c))
			conn_start_h2(c);
		else if (n < 0)
			refuse_bytes(c, http1_reason_status((int)n), http1_reason_str((int)n));
		else
			on_request(c, h, (size_t)n);
		return;
	}
}
