/* The server's side: look-up, address check, dial, the host's proxy. */
#include "edge/edge.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "edge/reach/dial.h"
#include "flow/host-proxy.h"
#include "flow/refuse.h"

static const struct host_proxy *proxy_of(const struct conn *c)
{
	return c->verdict.service
		       ? NULL
		       : host_proxy_for(c->gw->host_proxies, &c->host, c->port, own(c)->plain);
}

void edge_drop_server(struct conn *c)
{
	stream_done(&c->up, c->gw->ev);
}

/* The server's side stands. */
static void stands(struct conn *c)
{
	if (c->speaks == SPEAKS_DIAL) {
		pass_dialled(c, NULL);
		return;
	}
	edge_say_yes(c);
	if (c->state != CONN_DEAD)
		edge_start_tunnel(c, !c->verdict.service);
}

static void ask_proxy(struct conn *c, const struct host_proxy *p)
{
	char authority[HOST_PORT_TEXT_SIZE];
	cleanup_buf struct buf b;
	uint64_t count = 0;
	int r;

	host_format(&c->host, c->port, authority);
	buf_init(&b, REPLY_MAX + GW_SECRET_MAX * 2);
	(void)buf_printf(&b, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", authority, authority);
	if (p->auth)
		(void)buf_printf(&b, "Proxy-Authorization: %s\r\n", p->auth);
	(void)buf_puts(&b, "\r\n");
	conn_go(c, CONN_VIA, "connected");
	/* A new socket takes a request of this size at once. */
	r = stream_flush(&c->up, &b, &count);
	if (r < 0)
		refuse_as(c, GW_ERROR, 502, "the host's proxy closed the connection");
}

void edge_on_via(struct conn *c)
{
	struct http1_head *h = &c->gw->head;
	ssize_t n = stream_read(&c->up, c->gw->scratch, 4 * KiB);
	char why[128];

	if (n == -EAGAIN)
		return;
	if (n > 0 && buf_append(&own(c)->via_in, c->gw->scratch, (size_t)n) == 0) {
		http1_reset(h);
		n = http1_parse_response(own(c)->via_in.data, own(c)->via_in.len, HTTP1_TO_CONNECT,
					 h);
		if (n == 0)
			return;
	} else {
		n = -1;
	}
	if (n < 0) {
		refuse_as(c, GW_ERROR, 502, "the host's proxy did not answer with HTTP");
		return;
	}
	if (h->status / 100 != 2) {
		(void)snprintf(why, sizeof(why), "the host's proxy answered with status %u",
			       h->status);
		refuse_as(c, GW_ERROR, 502, why);
		return;
	}
	buf_consume(&own(c)->via_in, (size_t)n);
	/* A server of the gateway's does not begin. */
	if (c->speaks == SPEAKS_DIAL && own(c)->via_in.len) {
		refuse_as(c, GW_ERROR, 502, "the host's proxy sent bytes of its own");
		return;
	}
	stands(c);
}

static void on_dialled(void *arg, struct ev_io *io, uint32_t events, int error)
{
	struct conn *c = arg;
	const struct host_proxy *p = own(c)->via ? proxy_of(c) : NULL;
	char why[128];

	own(c)->dial = NULL;
	if (!io) {
		(void)snprintf(why, sizeof(why), "%s cannot be reached: %s",
			       own(c)->via ? "the host's proxy" : "the server", strerror(error));
		refuse_as(c, GW_ERROR, error == ETIMEDOUT ? 504 : 502, why);
		return;
	}
	stream_init(&c->up, -1, conn_up_fn());
	ev_move(c->gw->ev, io, &c->up.io);
	stream_event(&c->up, events);
	/* A plain request is the proxy's own to read: the gateway writes it so. */
	if (p && !own(c)->plain)
		ask_proxy(c, p);
	else
		stands(c);
}

static void dial(struct conn *c, const struct ip *addrs, size_t n, uint16_t port)
{
	conn_go(c, CONN_DIAL, "resolved");
	own(c)->dial = dial_start(c->gw, addrs, n, port, on_dialled, c);
}

/* A route may dial public addresses, and private ones only if the user named its origin. */
static bool route_may_dial(const struct gw_route *r, const struct ip *ip)
{
	switch (addr_class(ip)) {
	case ADDR_PUBLIC:
		return true;
	case ADDR_CGNAT:
	case ADDR_PRIVATE:
	case ADDR_LINK_LOCAL:
	case ADDR_LOOPBACK:
		return r->private;
	case ADDR_DOCUMENTATION:
	case ADDR_RESERVED:
	case ADDR_STANDIN:
	case ADDR_MULTICAST:
	case ADDR_BROADCAST:
	case ADDR_UNSPECIFIED:
	case ADDR_METADATA:
	case ADDR_CLASS_N:
		break;
	}
	return false;
}

static void dial_route(struct conn *c, const struct gw_route *r, const struct ip *addrs, size_t n)
{
	struct ip good[ADDRS_MAX];
	size_t n_good = 0;

	for (size_t i = 0; i < n && n_good < ADDRS_MAX; i++)
		if (route_may_dial(r, &addrs[i]))
			good[n_good++] = addrs[i];
	if (n_good)
		dial(c, good, n_good, c->port);
	else
		refuse_final(c, GW_DENY, 403,
			     n ? "the provider's name leads to an address that is not public"
			       : "the provider's name has no address");
}

/* Dials those addresses of a name that policy allows it to have. */
static void dial_checked(struct conn *c, const struct ip *addrs, size_t n)
{
	struct verdict v = {0}, bad = {0};
	struct ip good[ADDRS_MAX];
	size_t n_good = 0;

	/* The rules may be others than when the name was judged. */
	policy_name(c->gw->policy, &c->host, c->port, &v);
	if (!v.allow) {
		refuse_verdict(c, &v);
		return;
	}
	for (size_t i = 0; i < n && n_good < ADDRS_MAX; i++) {
		struct verdict va;

		policy_addr(c->gw->policy, &v, &addrs[i], c->port, &va);
		if (va.allow)
			good[n_good++] = addrs[i];
		else
			bad = va;
	}
	if (n_good)
		dial(c, good, n_good, c->port);
	else if (n)
		refuse_verdict(c, &bad);
	else
		refuse_as(c, GW_ERROR, 502, "the name has no address");
}

static void resolved(struct conn *c, const struct host_proxy *p, const struct ip *addrs, size_t n)
{
	if (p)
		dial(c, addrs, n, p->port);
	else if (own(c)->route)
		dial_route(c, own(c)->route, addrs, n);
	else
		dial_checked(c, addrs, n);
}

static void on_looked_up(struct lookup *l, int error, const struct ip *addrs, size_t n)
{
	struct conn *c = &ev_owner(l, struct edge_conn, lookup)->c;
	char why[160];

	if (error) {
		(void)snprintf(why, sizeof(why), "%s cannot be resolved: %s",
			       own(c)->via ? "the host's proxy" : "the name", gai_strerror(error));
		refuse_as(c, GW_ERROR, error == EAI_AGAIN ? 504 : 502, why);
	} else {
		resolved(c, own(c)->via ? proxy_of(c) : NULL, addrs, n);
	}
}

/* The host's proxy is the user's own setting: its address needs no rule. */
static void reach(struct conn *c, const struct host_proxy *p)
{
	const struct host *h = p ? &p->host : &c->host;
	struct ip loopback[2], known[ADDRS_MAX];
	size_t n;

	if (c->verdict.service) {
		(void)ip_parse("127.0.0.1", 9, &loopback[0]);
		(void)ip_parse("::1", 3, &loopback[1]);
		dial_checked(c, loopback, 2);
		return;
	}
	if (h->kind != HOST_NAME) {
		resolved(c, p, &h->ip, 1);
		return;
	}
	n = lookup_known(c->gw, h->name, known);
	if (n) {
		resolved(c, p, known, n);
		return;
	}
	conn_go(c, CONN_LOOKUP, "allowed");
	if (lookup_start(c->gw, &own(c)->lookup, h->name, on_looked_up) < 0)
		refuse_as(c, GW_ERROR, 503, "too many names are being resolved");
}

void edge_open_server(struct conn *c)
{
	const struct host_proxy *p = proxy_of(c);

	own(c)->via = p != NULL;
	reach(c, p);
}
