/* The end of the client's TLS. */
#include "gateway/gateway-conn.h"

#include <string.h>

#include "flow/refuse.h"
#include "gateway/h2/h2-server.h"
#include "gateway/h2/h2-up.h"
#include "gateway/question.h"
#include "gateway/tls.h"

static void accept_tls(struct conn *c, const struct leaf *leaf)
{
	if (tls_server(c->gw, &c->client, leaf, &c->in) < 0) {
		refuse_as(c, GW_ERROR, 502, "TLS cannot be set up");
		return;
	}
	conn_go(c, CONN_ACCEPT, "leaf");
	conn_on_accept(c);
}

static void on_leaf(struct ask *a, struct wire_msg *m)
{
	struct conn *c = ev_owner(a, struct conn, ask);
	const struct leaf *leaf = m ? tls_leaf_add(c->gw, c->host.name, m) : NULL;

	if (leaf)
		accept_tls(c, leaf);
	else
		refuse_as(c, GW_ERROR, 502, "no certificate was issued for this host");
}

void conn_start_tls(struct conn *c)
{
	const struct leaf *leaf = tls_leaf_find(c->gw, c->host.name);
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	if (leaf) {
		accept_tls(c, leaf);
		return;
	}
	wire_put_str(&b, c->host.name);
	conn_go(c, CONN_LEAF, "hello");
	if (ask_line(c->gw, c->gw->sock, &c->ask, GW_LEAF, &b, on_leaf) < 0)
		refuse_as(c, GW_ERROR, 502, "no certificate can be asked for");
}

void conn_on_accept(struct conn *c)
{
	int r = tls_handshake(&c->client);

	/* The client would speak HTTP/2 or HTTP/1.1: it is offered what the server speaks. */
	if (r == -EINPROGRESS) {
		r = h2_up_speaks(c);
		if (r >= 0) {
			tls_choose(&c->client, r > 0);
			conn_on_accept(c);
		}
		return;
	}
	if (r == -EAGAIN) {
		conn_want(c, true, false, false, false);
		return;
	}
	if (r < 0) {
		refuse_as(c, GW_ERROR, 400, "the client did not finish the TLS handshake");
		return;
	}
	c->terminated = true;
	c->speaks = SPEAKS_HTTP;
	c->client.readable = true;
	if (tls_is_h2(&c->client)) {
		conn_start_h2(c);
		return;
	}
	conn_go(c, CONN_HEAD, "tls");
	conn_on_head(c);
}

void conn_offered(struct conn *c)
{
	int r;

	h2_up_forget(c);
	conn_go(c, CONN_ACCEPT, "offered");
	r = h2_up_known(c);
	tls_choose(&c->client, r > 0);
	conn_on_accept(c);
}
