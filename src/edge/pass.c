/*
 * DOC: Theory of operation
 *
 * The edge's side of wire/edge-proto.h. A connection that is handed over leaves the event loop first,
 * since a closed copy of a descriptor would stay in it; then the frame goes with the descriptor, and
 * the copy here is closed. A line that is full leaves the connection in CONN_PASS until it takes
 * more; its listener's backlog holds the rest.
 *
 * A dial of the gateway's is a connection without a client: it walks the states that a tunnel's way to
 * its server has, with the same judgements and deadlines, and is over with the answer.
 */
#include "edge/edge.h"

#include <assert.h>
#include <string.h>

#include "edge/listen.h"
#include "flow/refuse.h"
#include "flow/route-url.h"
#include "policy/request-row.h"

static_assert(IN_MAX <= EDGE_BYTES_MAX, "what was read of a connection fits its frame");

static int send_conn(const struct conn *c)
{
	const struct edge_conn_frame f = {
		.first = own(c)->first,
		.verb = c->verb,
		.kind = c->listen_kind,
		.listen_port = c->listen_port,
		.row = c->row,
		.host = c->has_target ? c->host.name : "",
		.port = c->port,
		.bytes = c->in.data,
		.n_bytes = c->in.len,
	};
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	edge_put_conn(&b, &f);
	return wire_send(c->gw->edge->arrivals.fd, (enum wire_type)EDGE_CONN, 0, &b,
			 &c->client.io.fd, 1);
}

static int send_answer(const struct conn *c)
{
	return wire_send(c->gw->edge->dials.fd, (enum wire_type)EDGE_DIAL_IS, own(c)->question,
			 &own(c)->via_in, &c->up.io.fd, stream_open(&c->up));
}

/* 0: it is handed over, and over here; -EAGAIN: the line is full. */
static int try_pass(struct conn *c)
{
	struct edge *e = c->gw->edge;
	bool dials = c->speaks == SPEAKS_DIAL;
	int r = dials ? send_answer(c) : send_conn(c);

	if (r == -EAGAIN) {
		if (ev_want(c->gw->ev, dials ? &e->dials : &e->arrivals, EPOLLIN | EPOLLOUT) < 0)
			gw_quit(c->gw);
		return r;
	}
	conn_end(c, r < 0 ? "not taken" : "handed over");
	return 0;
}

static void start(struct conn *c)
{
	conn_go(c, CONN_PASS, "for the gateway");
	conn_want(c, false, false, false, false);
	if (c->state == CONN_PASS)
		(void)try_pass(c);
}

void pass_conn(struct conn *c, enum edge_first first)
{
	own(c)->first = first;
	start(c);
}

void pass_dialled(struct conn *c, const struct refusal *no)
{
	const struct edge_dialled_frame f = {
		.status = no ? no->status : 0,
		.verdict = no ? no->verdict : GW_ALLOW,
		.final = no && no->final,
		.reason = no ? no->reason : "",
		.remedy = no ? no->remedy : "",
		.rule = c->rule,
	};

	if (c->state == CONN_PASS)
		return;
	if (!no)
		socket_tune(c->up.io.fd);
	/* The answer may have to wait for room in the line: nothing else of it goes on meanwhile. */
	if (no)
		c->gw->program->end(c);
	buf_clear(&own(c)->via_in);
	edge_put_dialled(&own(c)->via_in, &f);
	start(c);
}

/* Does this URL lead to c's target? */
static bool leads_to(const char *text, const struct conn *c)
{
	struct host host;
	struct url url;

	return route_url_parse(text, &url, &host) && host_equal(&host, &c->host) &&
	       url_port(url.scheme, url.authority.port) == c->port;
}

const struct gw_route *edge_route_to(const struct conn *c)
{
	const struct gw_config *cfg = c->gw->config;

	for (size_t i = 0; i < cfg->n_routes; i++) {
		const struct gw_route *r = &cfg->routes[i];
		struct request_row row;

		if (leads_to(r->url, c))
			return r;
		for (size_t k = 0; k < r->requests.n; k++)
			if (request_row_parse(r->requests.v[k], &row) && leads_to(row.url, c))
				return r;
	}
	return NULL;
}

static void judge_dial(struct conn *c, const struct edge_dial_frame *f)
{
	struct err err = {0};

	c->port = f->port;
	own(c)->plain = f->plain;
	if (c->gw->health.connections > 2 * c->gw->max_conns) {
		refuse_as(c, GW_ERROR, 503, "too many connections are being opened");
		return;
	}
	if (host_parse(f->host, strlen(f->host), &c->host, &err) < 0) {
		refuse_as(c, GW_DENY, 403, err.msg);
		return;
	}
	own(c)->route = f->route ? edge_route_to(c) : NULL;
	if (f->route && !own(c)->route) {
		refuse_final(c, GW_DENY, 403, "no provider of this sandbox is at that host");
		return;
	}
	if (!f->route)
		policy_name(c->gw->policy, &c->host, c->port, &c->verdict);
	if (f->route || c->verdict.allow)
		edge_open_server(c);
	else
		refuse_verdict(c, &c->verdict);
}

static int on_dial(struct gw *gw, const struct wire_msg *m)
{
	struct edge_dial_frame f;
	struct conn *c;

	if (edge_get_dial(m, &f) < 0)
		return -EPROTO;
	c = conn_new(gw, -1);
	buf_init(&own(c)->via_in, IN_MAX);
	c->speaks = SPEAKS_DIAL;
	own(c)->question = m->id;
	judge_dial(c, &f);
	return 0;
}

/* A connection of the proxy port, whose next request is CONNECT. */
static int on_back(struct gw *gw, struct wire_msg *m)
{
	const struct edge *e = gw->edge;
	struct edge_conn_frame f;
	struct conn *c;

	if (edge_get_conn(m, &f) < 0 || f.row >= e->n_listeners ||
	    e->listeners[f.row].row.kind != GW_LISTEN_PROXY)
		return -EPROTO;
	if (gw->health.connections > 2 * gw->max_conns)
		return 0; /* closed with its frame */
	c = edge_accept(gw, &e->listeners[f.row], wire_take_fd(m, 0), &e->listeners[f.row].at);
	(void)buf_append(&c->in, f.bytes, f.n_bytes);
	conn_go(c, CONN_FIRST, "given back");
	conn_again(c);
	return 0;
}

/* A line has room again. */
static void pass_waiting(struct gw *gw, struct ev_io *line)
{
	bool dials = line == &gw->edge->dials;

	if (ev_want(gw->ev, line, EPOLLIN) < 0)
		gw_quit(gw);
	for (struct conn *c = gw->conns, *next; c; c = next) {
		next = c->next;
		if (c->state == CONN_PASS && (c->speaks == SPEAKS_DIAL) == dials && try_pass(c) < 0)
			return;
	}
}

static void on_dials(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct gw *gw = ev_owner(io, struct edge, dials)->gw;

	for (int i = 0; i < ACCEPT_BURST; i++) {
		cleanup_wire_msg struct wire_msg m;
		int r;

		wire_msg_init(&m);
		r = wire_recv(io->fd, &m);
		if (r == -EAGAIN)
			break;
		if (r == -EPROTO)
			continue; /* without its descriptor: there are too many */
		if (r > 0 && (int)m.type == EDGE_DIAL)
			r = on_dial(gw, &m);
		else if (r > 0)
			r = (int)m.type == EDGE_BACK ? on_back(gw, &m) : -EPROTO;
		else
			r = -EPIPE;
		if (r < 0) {
			gw_quit(gw);
			return;
		}
	}
	if (events & EPOLLOUT)
		pass_waiting(gw, io);
}

/* The gateway sends nothing here: anything but room is its end. */
static void on_arrivals(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct gw *gw = ev_owner(io, struct edge, arrivals)->gw;

	if (events & ~(uint32_t)EPOLLOUT)
		gw_quit(gw);
	else
		pass_waiting(gw, io);
}

int pass_attach(struct gw *gw, struct err *err)
{
	struct edge *e = gw->edge;
	int r = e->arrivals.fd < 0 ? -ENOTCONN : 0;

	e->arrivals.fn = on_arrivals;
	e->dials.fn = on_dials;
	if (r == 0)
		r = ev_want(gw->ev, &e->arrivals, EPOLLIN);
	if (r == 0)
		r = ev_want(gw->ev, &e->dials, EPOLLIN);
	return r < 0 ? err_sys(err, -r, "cannot watch the lines to the gateway") : 0;
}
