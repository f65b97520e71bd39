/* From the first byte to a decided target: the proxy port, SOCKS5, transparent connections. */
#include "edge/edge.h"

#include <string.h>
#include <sys/socket.h>

#include "edge/listen.h"
#include "edge/reach/names.h"
#include "flow/refuse.h"
#include "flow/sniff.h"
#include "edge/parse/socks5.h"

enum { SOCKS_GREETING, SOCKS_USERPASS, SOCKS_REQUEST };

/* More bytes? false: not now, or the connection is over. */
static bool fill(struct conn *c)
{
	ssize_t n = conn_fill(c);

	if (n > 0)
		return true;
	if (n != -EAGAIN)
		conn_end(c, "client gone");
	return false;
}

static const char connect_word[] = "CONNECT ";

/* 1: the request is CONNECT; 0: it may become one; -1: it is another. */
static int is_connect(const struct buf *in)
{
	size_t n = sizeof(connect_word) - 1;

	if (memcmp(in->data, connect_word, in->len < n ? in->len : n) != 0)
		return -1;
	return in->len >= n;
}

/* The edge reads no other request than CONNECT. */
static void on_http(struct conn *c)
{
	int r = c->listen_kind == GW_LISTEN_ENDPOINTS ? -1 : is_connect(&c->in);

	if (r == 0)
		return;
	c->speaks = SPEAKS_HTTP;
	c->verb = GW_VERB_HTTP;
	if (r < 0 && c->listen_kind == GW_LISTEN_NODE) {
		refuse_as(c, GW_DENY, 400, "a node's gateway sends CONNECT alone");
		return;
	}
	if (r < 0) {
		pass_conn(c, EDGE_PROXY);
		return;
	}
	conn_go(c, CONN_HEAD, "connect");
	edge_on_head(c);
}

static void on_sniffed(struct conn *c, enum sniff p)
{
	/*
	 * A client without a phantom gets no information, and a protocol other than HTTP cannot
	 * send one.
	 */
	if ((c->listen_kind == GW_LISTEN_ENDPOINTS || c->listen_kind == GW_LISTEN_NODE) &&
	    p != SNIFF_HTTP && p != SNIFF_MORE) {
		conn_reset(c, "no HTTP");
		return;
	}
	switch (p) {
	case SNIFF_MORE:
		return;
	case SNIFF_HTTP:
		on_http(c);
		return;
	case SNIFF_SOCKS5:
		c->speaks = SPEAKS_SOCKS;
		c->verb = GW_VERB_SOCKS;
		conn_go(c, CONN_SOCKS, "socks");
		edge_on_socks(c);
		return;
	case SNIFF_TLS:
		refuse_as(c, GW_DENY, 400, "TLS to the proxy port itself");
		return;
	case SNIFF_UNKNOWN:
		break;
	}
	refuse_as(c, GW_DENY, 400, "neither HTTP nor SOCKS5");
}

void edge_on_first(struct conn *c)
{
	/* A connection that the gateway has given back brings its bytes. */
	if (c->in.len)
		on_sniffed(c, sniff_protocol(c->in.data, c->in.len));
	if (c->state == CONN_FIRST && fill(c))
		on_sniffed(c, sniff_protocol(c->in.data, c->in.len));
}

static void await_hello(struct conn *c)
{
	edge_say_yes(c);
	if (c->state == CONN_DEAD)
		return;
	conn_go(c, CONN_HELLO, "allowed");
	if (c->in.len)
		conn_again(c);
}

/*
 * For the gateway of a sandbox on a node. That gateway ends the TLS of inspected hosts, because the sandbox trusts
 * its certificates, so every tunnel is opaque here. It names its target: an address that needs a name
 * from the first bytes is refused. The services of this machine's loopback are not the node's.
 */
static void decide_for_node(struct conn *c)
{
	const struct gw_route *r = edge_route_to(c);

	own(c)->route = r && *r->provider ? r : NULL;
	if (own(c)->route)
		c->verdict = (struct verdict){.allow = true, .rule = -1};
	else
		policy_name(c->gw->policy, &c->host, c->port, &c->verdict);
	if (c->verdict.service) {
		refuse_final(c, GW_DENY, 403, "a service of home's own loopback is not for a node");
		return;
	}
	if (!c->verdict.allow) {
		refuse_verdict(c, &c->verdict);
		return;
	}
	c->verdict.inspect = false;
	conn_set_rule(c, policy_rule_of(c->gw->policy, &c->verdict));
	if (c->port == 80 && !own(c)->route)
		await_hello(c);
	else
		edge_open_server(c);
}

/* The target is set: decides, then goes on to the tunnel or to the first bytes. */
static void decide(struct conn *c)
{
	c->flow = ++c->gw->last_id;
	c->has_target = c->fixed = true;
	if (c->listen_kind == GW_LISTEN_NODE) {
		decide_for_node(c);
		return;
	}
	policy_name(c->gw->policy, &c->host, c->port, &c->verdict);
	if (!c->verdict.allow && !conn_is_nameless(c)) {
		refuse_verdict(c, &c->verdict);
		return;
	}
	conn_set_rule(c, policy_rule_of(c->gw->policy, &c->verdict));
	/* Plain HTTP is always read: its Host must be the name that was allowed. */
	if (conn_is_nameless(c) || c->verdict.inspect || (c->port == 80 && !c->verdict.service)) {
		await_hello(c);
		return;
	}
	edge_open_server(c);
}

static void on_connect(struct conn *c, const struct http1_head *h, size_t head_len)
{
	struct err err = {0};

	c->verb = GW_VERB_CONNECT;
	c->speaks = SPEAKS_CONNECT;
	c->port = h->url.authority.port;
	if (host_parse(h->url.authority.host.p, h->url.authority.host.n, &c->host, &err) < 0) {
		refuse_host(c, h->url.authority.host, &err);
		return;
	}
	buf_consume(&c->in, head_len);
	decide(c);
}

void edge_on_head(struct conn *c)
{
	struct http1_head *h = &c->gw->head;

	for (;;) {
		ssize_t n;

		http1_reset(h);
		h->scanned = c->scanned;
		h->line_start = c->line_start;
		n = http1_parse_request(c->in.data, c->in.len, h);
		if (n > 0) {
			on_connect(c, h, (size_t)n);
			return;
		}
		if (n < 0) {
			refuse_as(c, GW_DENY, http1_reason_status((int)n),
				  http1_reason_str((int)n));
			return;
		}
		c->scanned = h->scanned;
		c->line_start = h->line_start;
		if (buf_room(&c->in) == 0) {
			refuse_as(c, GW_DENY, 431, "the request's head is too long");
			return;
		}
		if (!fill(c))
			return;
	}
}

static void socks_target(struct conn *c, const struct socks5_request *rq)
{
	struct err err = {0};
	struct ip ip;

	c->port = rq->port;
	if (rq->atyp == SOCKS5_DOMAIN) {
		if (host_parse(rq->name.p, rq->name.n, &c->host, &err) < 0) {
			refuse_host(c, rq->name, &err);
			return;
		}
	} else {
		(void)ip_from_bytes(rq->addr, rq->atyp == SOCKS5_IP4 ? 4 : 16, &ip);
		host_from_ip(&ip, &c->host);
	}
	decide(c);
}

/* Bytes consumed, 0: more are needed, -1: c is over or no longer in this state. */
static ssize_t socks_one(struct conn *c)
{
	uint8_t reply[SOCKS5_REPLY_MAX];
	struct socks5_greeting g;
	struct socks5_userpass up;
	struct socks5_request rq;
	ssize_t used;

	switch (own(c)->socks_step) {
	case SOCKS_GREETING:
		used = socks5_parse_greeting(c->in.data, c->in.len, &g);
		if (used <= 0)
			break;
		/* A user name is let in, since some clients always send one; it means nothing. */
		socks5_put_method(reply, g.no_auth    ? SOCKS5_NO_AUTH
					 : g.userpass ? SOCKS5_USERPASS
						      : SOCKS5_NONE);
		(void)buf_append(&c->out, reply, 2);
		if (!g.no_auth && !g.userpass) {
			conn_finish(c, "no method");
			return -1;
		}
		own(c)->socks_step = g.no_auth ? SOCKS_REQUEST : SOCKS_USERPASS;
		break;
	case SOCKS_USERPASS:
		used = socks5_parse_userpass(c->in.data, c->in.len, &up);
		if (used <= 0)
			break;
		socks5_put_auth_status(reply, true);
		(void)buf_append(&c->out, reply, 2);
		own(c)->socks_step = SOCKS_REQUEST;
		break;
	default:
		used = socks5_parse_request(c->in.data, c->in.len, &rq);
		if (used <= 0)
			break;
		socks_target(c, &rq);
		if (c->state != CONN_DEAD)
			buf_consume(&c->in, (size_t)used);
		return -1;
	}
	if (used < 0) {
		c->speaks = own(c)->socks_step == SOCKS_REQUEST ? SPEAKS_SOCKS : SPEAKS_RESET;
		refuse_as(c, GW_DENY, 400, socks5_reason_str((int)used));
		return -1;
	}
	return used;
}

void edge_on_socks(struct conn *c)
{
	for (;;) {
		ssize_t used = c->in.len ? socks_one(c) : 0;
		int r;

		if (used < 0)
			return;
		buf_consume(&c->in, (size_t)used);
		r = stream_flush(&c->client, &c->out, &c->down_bytes);
		if (r < 0 && r != -EAGAIN) {
			conn_end(c, "client gone");
			return;
		}
		if (used == 0 && !fill(c))
			return;
	}
}

static void verb_of_port(struct conn *c)
{
	c->verb = c->port == 443 ? GW_VERB_TLS : c->port == 80 ? GW_VERB_HTTP : GW_VERB_TCP;
}

void edge_start_transparent(struct conn *c)
{
	union sockaddr_any a = own(c)->dialled;
	socklen_t len = sizeof(a);
	struct err err = {0};
	struct ip ip = {0};

	c->speaks = SPEAKS_RESET;
	if ((a.sa.sa_family == AF_UNSPEC && getsockname(c->client.io.fd, &a.sa, &len) < 0) ||
	    ip_from_sockaddr(&a.sa, &ip, &c->port) < 0) {
		conn_reset(c, "no address");
		return;
	}
	verb_of_port(c);
	if (c->listen_kind == GW_LISTEN_SERVICE || addr_class(&ip) == ADDR_LOOPBACK) {
		c->verb = GW_VERB_TCP;
		(void)host_parse("localhost", 9, &c->host, &err);
		decide(c);
		return;
	}
	own(c)->name = names_find(c->gw->edge->names, &a);
	if (!own(c)->name) {
		host_from_ip(&ip, &c->host);
		refuse_as(c, GW_DENY, 403, "the address stands for no name");
		return;
	}
	name_hold(c->gw->edge->names, own(c)->name);
	if (host_parse(name_host(own(c)->name), strlen(name_host(own(c)->name)), &c->host, &err) <
	    0) {
		refuse_as(c, GW_DENY, 403, err.msg);
		return;
	}
	decide(c);
}

void edge_say_yes(struct conn *c)
{
	static const char yes[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	uint8_t reply[SOCKS5_REPLY_MAX];
	int r;

	switch (c->speaks) {
	case SPEAKS_CONNECT:
		(void)buf_append(&c->out, yes, sizeof(yes) - 1);
		break;
	case SPEAKS_SOCKS:
		(void)buf_append(&c->out, reply, socks5_put_reply(reply, SOCKS5_SUCCEEDED));
		break;
	case SPEAKS_HTTP:
	case SPEAKS_TLS:
	case SPEAKS_DIAL:
	case SPEAKS_RESET:
		return;
	}
	/* From here on nothing of ours may stand between the two. */
	c->speaks = SPEAKS_RESET;
	r = stream_flush(&c->client, &c->out, &c->down_bytes);
	if (r < 0)
		conn_end(c, "client gone");
}
