/* The first bytes behind a decided target, and the end of the client's TLS. */
#include "gateway/conn.h"

#include <string.h>

#include "gateway/parse/hello.h"
#include "gateway/refuse.h"
#include "gateway/parse/sniff.h"
#include "gateway/tls.h"

const char *conn_hello_objection(struct conn *c, const struct hello *h)
{
	struct err err = {0};
	struct verdict v;
	struct host sni;

	/* Where TLS ends here, nobody behind reads the encrypted one. */
	if (h->ech && !c->verdict.inspect)
		return "the ClientHello has the extension Encrypted Client Hello (ECH), which can "
		       "hide another server's name; switch ECH off in this program, or let ralph "
		       "inspect the host (network.rules)";
	if (h->name_len == 0)
		return c->host.kind == HOST_NAME ? "the ClientHello names no server" : NULL;
	if (host_parse(h->name, h->name_len, &sni, &err) < 0)
		return "the ClientHello's server name is no host";
	if (c->host.kind == HOST_NAME)
		return host_equal(&sni, &c->host)
			       ? NULL
			       : "the ClientHello names another server than the one allowed";
	/* A tunnel to an address: the name must be allowed as well. */
	policy_name(c->gw->policy, &sni, c->port, &v);
	return v.allow ? NULL : "the ClientHello names a server that is not allowed";
}

static void accept_tls(struct conn *c, const struct leaf *leaf)
{
	if (tls_server(c->gw, &c->client, leaf, &c->in) < 0) {
		refuse_as(c, GW_ERROR, 502, "TLS cannot be set up");
		return;
	}
	conn_go(c, CONN_ACCEPT, "leaf");
	conn_on_accept(c);
}

static void on_leaf(struct ask *a, const struct wire_msg *m)
{
	struct conn *c = ev_owner(a, struct conn, ask);
	const struct leaf *leaf = m ? tls_leaf_add(c->gw, c->host.name, m) : NULL;

	if (leaf)
		accept_tls(c, leaf);
	else
		refuse_as(c, GW_ERROR, 502, "no certificate was issued for this host");
}

static void want_leaf(struct conn *c)
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
	if (ask_send(c->gw, &c->ask, GW_LEAF, &b, on_leaf) < 0)
		refuse_as(c, GW_ERROR, 502, "no certificate can be asked for");
}

/* 0: more bytes are needed; else c has gone on. */
static int on_client_hello(struct conn *c)
{
	struct hello h;
	ssize_t used = hello_parse(c->in.data, c->in.len, &h);
	const char *objection;

	if (used == 0)
		return 0;
	objection = used < 0 ? hello_reason_str((int)used) : conn_hello_objection(c, &h);
	if (objection)
		refuse_as(c, GW_DENY, 403, objection);
	else if (c->verdict.inspect)
		want_leaf(c);
	else
		conn_open_upstream(c); /* TLS on port 80: a tunnel like any other */
	return 1;
}

static int judge_first_bytes(struct conn *c)
{
	switch (sniff_protocol(c->in.data, c->in.len)) {
	case SNIFF_MORE:
		return 0;
	case SNIFF_TLS:
		return on_client_hello(c);
	case SNIFF_HTTP:
		if (c->port == 443) {
			refuse_as(c, GW_DENY, 403, "plain bytes on port 443");
			return 1;
		}
		c->speaks = SPEAKS_HTTP;
		conn_go(c, CONN_HEAD, "http");
		conn_on_head(c);
		return 1;
	case SNIFF_SOCKS5:
	case SNIFF_UNKNOWN:
		break;
	}
	refuse_as(c, GW_DENY, 403, "neither TLS nor HTTP");
	return 1;
}

void conn_on_hello(struct conn *c)
{
	for (;;) {
		ssize_t n;

		if (c->in.len && judge_first_bytes(c))
			return;
		n = conn_fill(c);
		if (n == -EAGAIN)
			return;
		if (n <= 0) {
			conn_end(c, "client gone");
			return;
		}
	}
}

void conn_on_accept(struct conn *c)
{
	int r = tls_handshake(&c->client);

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
	conn_go(c, CONN_HEAD, "tls");
	conn_on_head(c);
}
