/* The states of the gateway, and how a connection begins, ends and is refused. */
#include "gateway/gateway-conn.h"

#include <jansson.h>
#include <string.h>

#include "base/fd.h"
#include "flow/event.h"
#include "flow/refuse.h"
#include "gateway/question.h"
#include "gateway/exchange/ask-route.h"
#include "gateway/exchange/exchange.h"
#include "gateway/exchange/inject.h"
#include "gateway/exchange/pool.h"
#include "gateway/h2/h2-server.h"
#include "gateway/h2/h2-up.h"
#include "wire/edge-proto.h"

static uint32_t head_limit(const struct conn *c)
{
	return c->flow && c->in.len == 0 ? KEEPALIVE_MS : conn_head_limit(c);
}

/* The edge gives up first and says why. */
static uint32_t dial_limit(const struct conn *c)
{
	const struct gw_config *cfg = c->gw->config;

	return (cfg->lookup_ms ? cfg->lookup_ms : LOOKUP_MS) +
	       (cfg->dial_ms ? cfg->dial_ms : DIAL_MS) + DIAL_MS + 4000;
}

/* See edge/edge-conn.c about waiting states. */
static const struct conn_row rows[CONN_N] = {
	/* clang-format off */
	[CONN_FIRST]      = {DYNAMIC, LEAF_MS, NULL, conn_on_wait, NULL, 0, NULL},
	[CONN_HEAD]       = {DYNAMIC, 0, head_limit, conn_on_head, refuse_late,
			     408, "the request's head did not arrive in time"},
	[CONN_LEAF]       = {DYNAMIC, LEAF_MS, NULL, conn_on_wait, refuse_late,
			     504, "no certificate was issued in time"},
	[CONN_ACCEPT]     = {DYNAMIC, HANDSHAKE_MS, NULL, conn_on_accept, refuse_late,
			     408, "the TLS handshake took too long"},
	[CONN_OFFER]      = {DYNAMIC, HANDSHAKE_MS, NULL, conn_on_wait, conn_offered, 0, NULL},
	[CONN_H2]         = {DYNAMIC, 0, conn_h2_limit, conn_on_h2, conn_h2_late, 0, NULL},
	[CONN_CREDENTIAL] = {DYNAMIC, HEADER_MS, NULL, conn_on_wait, refuse_late,
			     504, "no credential was given in time"},
	[CONN_BUDGET]     = {DYNAMIC, BUDGET_MS, NULL, conn_on_wait, refuse_late,
			     429, "the rest of the budget is reserved by requests under way"},
	[CONN_ASKS]       = {DYNAMIC, ASKS_MS, NULL, conn_on_asks, refuse_late,
			     408, "the ask did not arrive in time, or has no answer"},
	[CONN_BODY]       = {DYNAMIC, BODY_MS, NULL, conn_on_body, refuse_late,
			     408, "the request's body did not arrive in time"},
	[CONN_DIAL]       = {DYNAMIC, 0, dial_limit, conn_on_wait, refuse_late,
			     504, "no address answered in time"},
	[CONN_SECURE]     = {DYNAMIC, HANDSHAKE_MS, NULL, conn_on_secure, refuse_late,
			     504, "the server's TLS handshake took too long"},
	[CONN_TUNNEL]     = {DYNAMIC, 0, conn_upgrade_limit, conn_on_upgrade, conn_upgrade_late, 0, NULL},
	[CONN_EXCHANGE]   = {DYNAMIC, RESPONSE_MS, NULL, conn_on_exchange, refuse_late,
			     504, "the server did not answer in time"},
	[CONN_CLOSING]    = {DYNAMIC, CLOSING_MS, NULL, conn_on_closing, conn_on_closing_late, 0, NULL},
	[CONN_DEAD]       = {0, 0, NULL, conn_on_wait, NULL, 0, NULL},
	/* clang-format on */
};

static void on_end(struct conn *c)
{
	conn_upgrade_end(c);
	exchange_end(c);
	ask_cancel(&c->ask);
	h2_up_forget(c);
	conn_drop_upstream(c);
	conn_h2_end(c);
}

static void on_freed(struct conn *c)
{
	exchange_free(c->x);
}

void answer_json(struct conn *c, unsigned int status, const char *json)
{
	refuse_answer(c, status, NULL, false, json, !exchange_is_head(c));
}

/* In the form in which clients of this provider look for a message. */
static char *provider_json(const struct conn *c, const struct refusal *no)
{
	cleanup_free char *message = xasprintf("ralph: %s", no->reason);
	const char *provider = exchange_provider(c);
	bool used_up = no->status == 402 || no->status == 429;
	json_t *j;
	char *text;

	if (streq(provider, "gemini"))
		j = json_pack("{s:{s:i, s:s, s:s}}", "error", "code", (int)no->status, "message",
			      message, "status",
			      used_up ? "RESOURCE_EXHAUSTED" : "PERMISSION_DENIED");
	else if (streq(provider, "bedrock"))
		j = json_pack("{s:s}", "message", message);
	else
		j = json_pack("{s:s, s:{s:s, s:s}}", "type", "error", "error", "type",
			      "ralph_error", "message", message);
	text = json_dumps(j, JSON_COMPACT);
	json_decref(j);
	return text;
}

/* As gRPC tells it: a status of its own and a message, in the head of an answer without a body. */
static void refuse_grpc(struct conn *c, const struct refusal *no)
{
	static const struct {
		unsigned int status, grpc;
	} codes[] = {{401, 16}, {402, 8}, {403, 7},  {404, 12}, {408, 4}, {413, 8},
		     {429, 8},	{431, 8}, {502, 14}, {503, 14}, {504, 4}};
	unsigned int code = no->verdict == GW_DENY ? 7 : 13;

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (codes[i].status == no->status)
			code = codes[i].grpc;
	(void)buf_printf(&c->out,
			 "HTTP/1.1 200 OK\r\nContent-Type: application/grpc\r\ngrpc-status: %u\r\n"
			 "grpc-message: ralph: ",
			 code);
	for (const char *p = no->reason; *p; p++)
		(void)buf_printf(&c->out, *p < ' ' || *p > '~' || *p == '%' ? "%%%02X" : "%c",
				 (unsigned char)*p);
	(void)buf_puts(&c->out, "\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
	conn_finish(c, "answered");
}

static void on_refuse(struct conn *c, const struct refusal *no)
{
	cleanup_free char *json = NULL;

	exchange_status(c, no->status);
	refuse_event(c, no->verdict, no->reason);
	exchange_quiet(c);
	if (c->speaks == SPEAKS_HTTP && !exchange_answered(c) && conn_is_grpc(c)) {
		refuse_grpc(c, no);
	} else if (c->speaks == SPEAKS_HTTP && !exchange_answered(c)) {
		json = exchange_is_provider(c) ? provider_json(c, no) : refuse_json(c, no);
		refuse_answer(c, no->status, NULL, no->verdict == GW_DENY || no->final,
			      json ? json : "{}", !exchange_is_head(c));
	} else if (c->speaks == SPEAKS_RESET && refuse_has_hello(c)) {
		refuse_by_alert(c, no);
	} else {
		conn_reset(c, no->reason);
	}
}

/* Judged anew, by the rules that this program has. */
static void begin(struct conn *c, enum edge_first first)
{
	c->speaks = first == EDGE_TLS ? SPEAKS_RESET : SPEAKS_HTTP;
	if (first != EDGE_PROXY) {
		c->flow = ++c->gw->last_id;
		c->has_target = c->fixed = true;
		policy_name(c->gw->policy, &c->host, c->port, &c->verdict);
		conn_set_rule(c, policy_rule_of(c->gw->policy, &c->verdict));
		if (!c->verdict.allow && !conn_is_nameless(c)) {
			refuse_verdict(c, &c->verdict);
			return;
		}
	}
	if (first != EDGE_TLS) {
		conn_go(c, CONN_HEAD, "arrived");
		conn_on_head(c);
	} else if (c->verdict.inspect) {
		conn_start_tls(c);
	} else {
		conn_reset(c, "not inspected");
	}
}

/* The descriptor's number, or -EPROTO. */
static int arrive(struct gw *gw, struct wire_msg *m)
{
	struct edge_conn_frame f;
	struct err err = {0};
	struct host host = {0};
	struct conn *c;
	int fd;

	if ((int)m->type != EDGE_CONN || edge_get_conn(m, &f) < 0 ||
	    (f.first != EDGE_PROXY && host_parse(f.host, strlen(f.host), &host, &err) < 0))
		return -EPROTO;
	fd = wire_take_fd(m, 0);
	c = conn_new(gw, fd);
	c->listen_kind = f.kind;
	c->listen_port = f.listen_port;
	c->row = f.row;
	c->verb = f.verb;
	c->host = host;
	c->port = f.port;
	c->client.readable = true;
	(void)buf_append(&c->in, f.bytes, f.n_bytes);
	if (fd_set_nonblock(fd, true) < 0)
		conn_end(c, "no connection");
	else
		begin(c, f.first);
	return fd;
}

/* At most a burst, so that a flood leaves the others their turn. */
static void on_arrivals(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct gw *gw = ev_owner(io, struct gw, arrivals);
	int r = 0;

	for (int i = 0; i < ACCEPT_BURST; i++) {
		cleanup_wire_msg struct wire_msg m;

		/* The lowest free number is given out first: this many are in use. The rest is for
		 * the servers' side. */
		if (gw->health.connections >= gw->max_conns || r >= (int)gw->max_fd) {
			(void)ev_want(ev, io, 0);
			return;
		}
		wire_msg_init(&m);
		r = wire_recv(io->fd, &m);
		if (r == -EAGAIN)
			return;
		if (r == -EPROTO)
			continue; /* without its descriptor: there are too many */
		r = r <= 0 ? -EPIPE : arrive(gw, &m);
		if (r < 0) {
			gw_quit(gw);
			return;
		}
	}
}

int arrivals_attach(struct gw *gw, struct err *err)
{
	int r;

	gw->arrivals.fn = on_arrivals;
	r = gw->arrivals.fd < 0 ? -ENOTCONN : ev_want(gw->ev, &gw->arrivals, EPOLLIN);
	return r < 0 ? err_sys(err, -r, "cannot watch the edge") : 0;
}

/* Some room, so that one connection's end does not toggle everything. */
static void on_room(struct gw *gw)
{
	if (!gw->arrivals.want && gw->health.connections + ACCEPT_BURST <= gw->max_conns)
		(void)ev_want(gw->ev, &gw->arrivals, EPOLLIN);
}

static bool has_route(const struct conn *c)
{
	return exchange_route(c) != NULL;
}

static void on_new_policy(struct gw *gw)
{
	pool_clear(gw);
	h2_ups_clear(gw);
	inject_forget(gw);
	conns_recheck(gw, has_route);
}

const struct program gateway_program = {
	.rows = rows,
	.conn_size = sizeof(struct conn),
	.end = on_end,
	.freed = on_freed,
	.refuse = on_refuse,
	.describe = exchange_describe,
	.set_up = ask_set_up,
	.frame = ask_frame,
	.new_policy = on_new_policy,
	.room = on_room,
};
