/* The server's side: a connection of the edge's, TLS, the pool. */
#include "gateway/gateway-conn.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "gateway/exchange/exchange.h"
#include "gateway/exchange/pool.h"
#include "gateway/h2/h2-up.h"
#include "flow/refuse.h"
#include "gateway/question.h"
#include "gateway/tls.h"
#include "wire/edge-proto.h"

static struct pool_key key_of(const struct conn *c, bool tls)
{
	return (struct pool_key){&c->up_host, c->up_port, tls, c->up_credential};
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
	conn_start_exchange(c);
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

static void refused(struct conn *c, const struct edge_dialled_frame *f)
{
	(void)snprintf(c->rule, sizeof(c->rule), "%s", f->rule);
	refuse_told(c,
		    &(struct refusal){f->verdict, f->status, f->reason, f->remedy, f->final, NULL});
}

/* The edge's answer. Its socket may be anybody's: nothing but verified TLS makes it the server. */
static void on_dialled(struct ask *a, struct wire_msg *m)
{
	struct conn *c = ev_owner(a, struct conn, ask);
	struct edge_dialled_frame f;
	int fd;

	if (!m || edge_get_dialled(m, &f) < 0) {
		gw_quit(c->gw);
		return;
	}
	if (f.status) {
		refused(c, &f);
		return;
	}
	fd = wire_take_fd(m, 0);
	stream_init(&c->up, fd, conn_up_fn());
	if (fd_set_nonblock(fd, true) < 0)
		refuse_as(c, GW_ERROR, 502, "the server cannot be reached");
	else if (c->up_tls)
		start_tls(c);
	else
		stands(c);
}

static void ask_edge(struct conn *c)
{
	const struct edge_dial_frame f = {
		.host = c->host.name,
		.port = c->port,
		.plain = !c->up_tls,
		.route = exchange_route(c) != NULL,
	};
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	edge_put_dial(&b, &f);
	conn_go(c, CONN_DIAL, "allowed");
	if (ask_line(c->gw, c->gw->dials, &c->ask, EDGE_DIAL, &b, on_dialled) < 0)
		refuse_as(c, GW_ERROR, 503, "too many connections are being opened");
}

void conn_open_upstream(struct conn *c)
{
	const char *credential = c->x->credential;
	struct pool_key key;

	if (h2_up_open(c))
		return;
	if (stream_open(&c->up)) {
		/* The one of the last request, if it leads to the same place and still lives. */
		if (c->up_idle && !c->up.readable && c->up_port == c->port &&
		    (c->up.tls != NULL) == c->up_tls && c->up_credential == credential &&
		    host_equal(&c->up_host, &c->host)) {
			c->pooled = true;
			stands(c);
			return;
		}
		conn_drop_upstream(c);
	}
	c->up_host = c->host;
	c->up_port = c->port;
	c->up_credential = credential;
	key = key_of(c, c->up_tls);
	c->pooled = !c->retried && pool_get(c->gw, &key, &c->up, conn_up_fn());
	if (c->pooled)
		stands(c);
	else
		ask_edge(c);
}
