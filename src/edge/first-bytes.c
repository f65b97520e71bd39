/* The first bytes behind a decided target, and the name in a ClientHello. */
#include "edge/edge.h"

#include "edge/parse/hello.h"
#include "flow/refuse.h"
#include "flow/sniff.h"

static enum named refused(struct conn *c, const char *why)
{
	refuse_as(c, GW_DENY, 403, why);
	return NAMED_REFUSED;
}

static enum named refused_by(struct conn *c, const struct verdict *v)
{
	refuse_verdict(c, v);
	return NAMED_REFUSED;
}

static enum named name_of_hello(struct conn *c, const struct hello *h)
{
	struct err err = {0};
	struct host server;

	if (h->name_len == 0 && c->host.kind == HOST_NAME)
		return refused(c, "the ClientHello names no server");
	if (h->name_len == 0)
		return conn_is_nameless(c) ? refused_by(c, &c->verdict) : NAMED_SAME;
	if (host_parse(h->name, h->name_len, &server, &err) < 0)
		return refused(c, "the ClientHello's server name is no host");
	if (c->listen_kind == GW_LISTEN_NODE && !host_equal(&server, &c->host))
		return refused(c, "the client names another server than the one allowed");
	return conn_named(c, &server, own(c)->tunnel.retried);
}

enum named edge_named_by_hello(struct conn *c, const struct hello *h)
{
	enum named named = name_of_hello(c, h);

	/* A tunnel to the old target has carried none of the client's bytes yet. */
	if (named == NAMED_ANEW && c->state == CONN_TUNNEL) {
		edge_tunnel_end(c);
		edge_drop_server(c);
		conn_go(c, CONN_HELLO, "another name");
	}
	/* Where TLS ends here, nobody behind reads the encrypted one. */
	if (named == NAMED_REFUSED || !h->ech || c->verdict.inspect)
		return named;
	return refused(c,
		       "the ClientHello has the extension Encrypted Client Hello (ECH), which can "
		       "hide another server's name; switch ECH off in this program, or let ralph "
		       "inspect the host (network.rules)");
}

/* 0: more bytes are needed; else c has gone on. */
static int on_client_hello(struct conn *c)
{
	struct hello h;
	ssize_t used = hello_parse(c->in.data, c->in.len, &h);

	if (used == 0)
		return 0;
	if (used < 0)
		refuse_as(c, GW_DENY, 403, hello_reason_str((int)used));
	else if (edge_named_by_hello(c, &h) == NAMED_REFUSED)
		return 1;
	else if (c->verdict.inspect)
		pass_conn(c, EDGE_TLS);
	else
		edge_open_server(c); /* TLS on port 80: a tunnel like any other */
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
		pass_conn(c, EDGE_HTTP);
		return 1;
	case SNIFF_SOCKS5:
	case SNIFF_UNKNOWN:
		break;
	}
	refuse_bytes(c, 403, "neither TLS nor HTTP");
	return 1;
}

void edge_on_hello(struct conn *c)
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
