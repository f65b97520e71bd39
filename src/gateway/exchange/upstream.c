/* The server's side: look-up, address check, dial, the host's proxy, TLS, the pool. */
#include "gateway/conn.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "gateway/reach/host-proxy.h"
#include "gateway/reach/dial.h"
#include "gateway/exchange/exchange.h"
#include "gateway/exchange/pool.h"
#include "gateway/refuse.h"
#include "gateway/tls.h"

static const struct host_proxy *proxy_of(const struct conn *c)
{
	bool plain = c->x && !c->up_tls;

	return c->verdict.service ? NULL
				  : host_proxy_for(c->gw->host_proxies, &c->host, c->port, plain);
}

static struct pool_key key_of(const struct conn *c, bool tls)
{
	return (struct pool_key){&c->up_host, c->up_port, tls, c->via, c->up_credential};
}

void conn_drop_upstream(struct conn *c)
{
	struct pool_key key = key_of(c, c->up.tls != NULL);

	if (stream_open(&c->up) && c->up_idle && !c->up.readable)
		pool_put(c->gw, &c->up, &key);
	stream_done(&c->up, c->gw->ev);
	c->up_idle = false;
}

static void stands(struct conn *c)
{
	c->up_idle = false;
	if (!c->x) {
		conn_upstream_ready(c);
		return;
	}
	conn_start_exchange(c);
}

void conn_upstream_ready(struct conn *c)
{
	conn_say_yes(c);
	if (c->state != CONN_DEAD)
		conn_start_tunnel(c, !c->verdict.service);
}

static void start_tls(struct conn *c)
{
	if (tls_client(c->gw, &c->up, c->host.name, c->host.kind != HOST_NAME, exchange_trust(c)) <
	    0) {
		refuse_as(c, GW_ERROR, 502, "TLS to the server cannot be set up");
		return;
	}
	conn_go(c, CONN_SECURE, "connected");
	conn_on_secure(c);
}

void conn_on_secure(struct conn *c)
{
	int r = tls_handshake(&c->up);

	if (r == -EAGAIN) {
		conn_want(c, false, false, true, false);
		return;
	}
	if (r < 0) {
		refuse_as(c, GW_ERROR, 502, tls_failure(&c->up));
		return;
	}
	/* Tickets of TLS 1.3 may wait behind the handshake. */
	c->up.readable = true;
	stands(c);
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

void conn_on_via(struct conn *c)
{
	struct http1_head *h = &c->gw->head;
	ssize_t n = stream_read(&c->up, c->gw->scratch, 4 * KiB);
	char why[128];

	if (n == -EAGAIN)
		return;
	if (n > 0 && buf_append(&c->via_in, c->gw->scratch, (size_t)n) == 0) {
		http1_reset(h);
		n = http1_parse_response(c->via_in.data, c->via_in.len, HTTP1_TO_CONNECT, h);
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
	buf_consume(&c->via_in, (size_t)n);
	if (c->up_tls && c->via_in.len) {
		refuse_as(c, GW_ERROR, 502, "the host's proxy sent bytes of its own");
		return;
	}
	if (c->up_tls)
		start_tls(c);
	else
		stands(c);
}

static void on_dialled(void *arg, struct ev_io *io, uint32_t events, int error)
{
	struct conn *c = arg;
	const struct host_proxy *p = c->via ? proxy_of(c) : NULL;
	char why[128];

	c->dial = NULL;
	if (!io) {
		(void)snprintf(why, sizeof(why), "%s cannot be reached: %s",
			       c->via ? "the host's proxy" : "the server", strerror(error));
		refuse_as(c, GW_ERROR, error == ETIMEDOUT ? 504 : 502, why);
		return;
	}
	stream_init(&c->up, -1, conn_up_fn());
	ev_move(c->gw->ev, io, &c->up.io);
	stream_event(&c->up, events);
	if (p && (!c->x || c->up_tls))
		ask_proxy(c, p);
	else if (c->up_tls)
		start_tls(c);
	else
		stands(c);
}

static void dial(struct conn *c, const struct ip *addrs, size_t n, uint16_t port)
{
	conn_go(c, CONN_DIAL, "resolved");
	c->dial = dial_start(c->gw, addrs, n, port, on_dialled, c);
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
	else if (exchange_route(c))
		dial_route(c, exchange_route(c), addrs, n);
	else
		dial_checked(c, addrs, n);
}

static void on_looked_up(struct lookup *l, int error, const struct ip *addrs, size_t n)
{
	struct conn *c = ev_owner(l, struct conn, lookup);
	char why[160];

	if (error) {
		(void)snprintf(why, sizeof(why), "%s cannot be resolved: %s",
			       c->via ? "the host's proxy" : "the name", gai_strerror(error));
		refuse_as(c, GW_ERROR, error == EAI_AGAIN ? 504 : 502, why);
	} else {
		resolved(c, c->via ? proxy_of(c) : NULL, addrs, n);
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
	if (lookup_start(c->gw, &c->lookup, h->name, on_looked_up) < 0)
		refuse_as(c, GW_ERROR, 503, "too many names are being resolved");
}

void conn_open_upstream(struct conn *c)
{
	const struct host_proxy *p = proxy_of(c);
	const char *credential = c->x ? c->x->credential : NULL;
	bool via = p != NULL;

	if (stream_open(&c->up)) {
		/* The one of the last request, if it leads to the same place and still lives. */
		if (c->up_idle && !c->up.readable && c->via == via && c->up_port == c->port &&
		    (c->up.tls != NULL) == c->up_tls && c->up_credential == credential &&
		    host_equal(&c->up_host, &c->host)) {
			c->pooled = true;
			stands(c);
			return;
		}
		conn_drop_upstream(c);
	}
	c->via = via;
	c->up_host = c->host;
	c->up_port = c->port;
	c->up_credential = credential;
	c->pooled = false;
	if (c->x && !c->retried) {
		struct pool_key key = key_of(c, c->up_tls);

		c->pooled = pool_get(c->gw, &key, &c->up, conn_up_fn());
		if (c->pooled) {
			stands(c);
			return;
		}
	}
	reach(c, p);
}
