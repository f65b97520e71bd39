/* From the first byte to a decided target: the proxy port, SOCKS5, transparent connections. */
#include "gateway/conn.h"

#include <string.h>
#include <sys/socket.h>

#include "gateway/listen.h"
#include "gateway/reach/names.h"
#include "gateway/refuse.h"
#include "gateway/parse/sniff.h"
#include "gateway/parse/socks5.h"

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

void conn_on_first(struct conn *c)
{
	enum sniff p;

	if (!fill(c))
		return;
	p = sniff_protocol(c->in.data, c->in.len);
	/*
	 * A client without a phantom gets no information, and a protocol other than HTTP cannot
	 * send one.
	 */
	if (c->listener->row.kind == GW_LISTEN_ENDPOINTS && p != SNIFF_HTTP && p != SNIFF_MORE) {
		conn_reset(c, "no HTTP");
		return;
	}
	switch (p) {
	case SNIFF_MORE:
		return;
	case SNIFF_HTTP:
		c->speaks = SPEAKS_HTTP;
		c->verb = GW_VERB_HTTP;
		conn_go(c, CONN_HEAD, "http");
		conn_on_head(c);
		return;
	case SNIFF_SOCKS5:
		c->speaks = SPEAKS_SOCKS;
		c->verb = GW_VERB_SOCKS;
		conn_go(c, CONN_SOCKS, "socks");
		conn_on_socks(c);
		return;
	case SNIFF_TLS:
		refuse_as(c, GW_DENY, 400, "TLS to the proxy port itself");
		return;
	case SNIFF_UNKNOWN:
		break;
	}
	refuse_as(c, GW_DENY, 400, "neither HTTP nor SOCKS5");
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
	conn_decide_fixed(c);
}

/* Bytes consumed, 0: more are needed, -1: c is over or no longer in this state. */
static ssize_t socks_one(struct conn *c)
{
	uint8_t reply[SOCKS5_REPLY_MAX];
	struct socks5_greeting g;
	struct socks5_userpass up;
	struct socks5_request rq;
	ssize_t used;

	switch (c->socks_step) {
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
		c->socks_step = g.no_auth ? SOCKS_REQUEST : SOCKS_USERPASS;
		break;
	case SOCKS_USERPASS:
		used = socks5_parse_userpass(c->in.data, c->in.len, &up);
		if (used <= 0)
			break;
		socks5_put_auth_status(reply, true);
		(void)buf_append(&c->out, reply, 2);
		c->socks_step = SOCKS_REQUEST;
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
		c->speaks = c->socks_step == SOCKS_REQUEST ? SPEAKS_SOCKS : SPEAKS_RESET;
		refuse_as(c, GW_DENY, 400, socks5_reason_str((int)used));
		return -1;
	}
	return used;
}

void conn_on_socks(struct conn *c)
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

void conn_start_transparent(struct conn *c)
{
	union sockaddr_any a = c->dialled;
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
	if (c->listener->row.kind == GW_LISTEN_SERVICE || addr_class(&ip) == ADDR_LOOPBACK) {
		c->verb = GW_VERB_TCP;
		(void)host_parse("localhost", 9, &c->host, &err);
		conn_decide_fixed(c);
		return;
	}
	c->name = names_find(c->gw->names, &a);
	if (!c->name) {
		host_from_ip(&ip, &c->host);
		refuse_as(c, GW_DENY, 403, "the address stands for no name");
		return;
	}
	name_hold(c->gw->names, c->name);
	if (host_parse(name_host(c->name), strlen(name_host(c->name)), &c->host, &err) < 0) {
		refuse_as(c, GW_DENY, 403, err.msg);
		return;
	}
	conn_decide_fixed(c);
}

void conn_decide_fixed(struct conn *c)
{
	c->flow = ++c->gw->last_id;
	c->has_target = c->fixed = true;
	policy_name(c->gw->policy, &c->host, c->port, &c->verdict);
	if (!c->verdict.allow && !conn_is_nameless(c)) {
		refuse_verdict(c, &c->verdict);
		return;
	}
	conn_set_rule(c, policy_rule_of(c->gw->policy, &c->verdict));
	/* Plain HTTP is always read: its Host must be the name that was allowed. */
	if (conn_is_nameless(c) || c->verdict.inspect || (c->port == 80 && !c->verdict.service)) {
		conn_say_yes(c);
		if (c->state == CONN_DEAD)
			return;
		conn_go(c, CONN_HELLO, "allowed");
		if (c->in.len)
			conn_again(c);
		return;
	}
	conn_open_upstream(c);
}

void conn_say_yes(struct conn *c)
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
	case SPEAKS_RESET:
		return;
	}
	/* From here on nothing of ours may stand between the two. */
	c->speaks = SPEAKS_RESET;
	r = stream_flush(&c->client, &c->out, &c->down_bytes);
	if (r < 0)
		conn_end(c, "client gone");
}
