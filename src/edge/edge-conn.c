/* The states of the edge, and how a connection begins, ends and is refused. */
#include "edge/edge.h"

#include <assert.h>
#include <string.h>

#include "base/fd.h"
#include "edge/listen.h"
#include "edge/parse/socks5.h"
#include "edge/reach/dial.h"
#include "edge/reach/names.h"
#include "flow/event.h"
#include "flow/refuse.h"

#define PHRASE_SIZE 512 /* of an answer to CONNECT */

static uint32_t lookup_limit(const struct conn *c)
{
	/* The helper gives up first and says why. */
	return (c->gw->config->lookup_ms ? c->gw->config->lookup_ms : LOOKUP_MS) + 2000;
}

static uint32_t dial_limit(const struct conn *c)
{
	return c->gw->config->dial_ms ? c->gw->config->dial_ms : DIAL_MS;
}

/*
 * Waiting states leave the epoll interest as it is and drop it with the first event: mostly there
 * is none, and two system calls are saved. Bytes that a client sends meanwhile stay in the kernel,
 * which is the back-pressure. The client's end is seen with the next write.
 */
static const struct conn_row rows[CONN_N] = {
	/* clang-format off */
	[CONN_FIRST]   = {CLIENT_IN, 0, conn_head_limit, edge_on_first, NULL, 0, NULL},
	[CONN_SOCKS]   = {CLIENT_IN, 0, conn_head_limit, edge_on_socks, NULL, 0, NULL},
	[CONN_HEAD]    = {CLIENT_IN, 0, conn_head_limit, edge_on_head, refuse_late,
			  408, "the request's head did not arrive in time"},
	[CONN_HELLO]   = {CLIENT_IN, 0, conn_head_limit, edge_on_hello, refuse_late,
			  408, "nothing arrived in time"},
	[CONN_PASS]    = {DYNAMIC, PASS_MS, NULL, conn_on_wait, NULL, 0, NULL},
	[CONN_LOOKUP]  = {DYNAMIC, 0, lookup_limit, conn_on_wait, refuse_late,
			  504, "the name was not resolved in time"},
	[CONN_DIAL]    = {DYNAMIC, 0, dial_limit, conn_on_wait, refuse_late,
			  504, "no address answered in time"},
	[CONN_VIA]     = {UP_IN, DIAL_MS, NULL, edge_on_via, refuse_late,
			  504, "the host's proxy did not answer in time"},
	[CONN_TUNNEL]  = {DYNAMIC, 0, edge_tunnel_limit, edge_on_tunnel, edge_tunnel_late, 0, NULL},
	[CONN_CLOSING] = {DYNAMIC, CLOSING_MS, NULL, conn_on_closing, conn_on_closing_late, 0, NULL},
	[CONN_DEAD]    = {0, 0, NULL, conn_on_wait, NULL, 0, NULL},
	/* clang-format on */
};

struct conn *edge_accept(struct gw *gw, const struct listener *l, int fd,
			 const union sockaddr_any *dialled)
{
	struct conn *c = conn_new(gw, fd);

	c->listen_kind = l->row.kind;
	c->listen_port = l->row.port;
	c->row = (uint16_t)(l - gw->edge->listeners);
	own(c)->dialled = *dialled;
	buf_init(&own(c)->via_in, IN_MAX);
	return c;
}

static void on_end(struct conn *c)
{
	struct edge_conn *e = own(c);

	edge_tunnel_end(c);
	lookup_cancel(&e->lookup);
	e->dial = dial_cancel(e->dial);
	if (e->name)
		name_release(c->gw->edge->names, e->name);
	e->name = NULL;
	edge_drop_server(c);
}

static void on_freed(struct conn *c)
{
	buf_done(&own(c)->via_in);
}

/*
 * Many clients show nothing of the answer to their CONNECT but its reason phrase, so that one has to
 * explain. A phrase is one line of ASCII, and the reason may quote what the client sent.
 */
static void answer(struct conn *c, const struct refusal *no)
{
	bool denied = no->verdict == GW_DENY;
	cleanup_free char *json = refuse_json(c, no);
	cleanup_free char *text = xasprintf(
		"%s: %s%s%s", denied ? "refused by ralph" : "failed in ralph's gateway",
		no->brief ? no->brief : no->reason, no->remedy[0] ? "; " : "", no->remedy);
	char phrase[PHRASE_SIZE];

	(void)event_text(phrase, sizeof(phrase), text, strlen(text));
	refuse_answer(c, no->status, c->speaks == SPEAKS_CONNECT ? phrase : NULL,
		      denied || no->final, json, true);
}

/* The connection's own protocol, where nothing of ours was to stand between client and server. */
static enum conn_speaks speaks_now(const struct conn *c)
{
	bool fresh = c->state == CONN_FIRST; /* transparent, and nothing was read */

	if (c->speaks != SPEAKS_RESET)
		return c->speaks;
	if ((!own(c)->tunnel.retried && refuse_has_hello(c)) || (fresh && c->verb == GW_VERB_TLS))
		return SPEAKS_TLS;
	return fresh && c->verb == GW_VERB_HTTP ? SPEAKS_HTTP : SPEAKS_RESET;
}

static enum socks5_code socks_code(unsigned int status)
{
	return status == 403   ? SOCKS5_NOT_ALLOWED
	       : status == 504 ? SOCKS5_TTL_EXPIRED
	       : status == 502 ? SOCKS5_HOST_UNREACHABLE
			       : SOCKS5_FAILURE;
}

static void on_refuse(struct conn *c, const struct refusal *no)
{
	uint8_t reply[SOCKS5_REPLY_MAX];

	if (c->speaks == SPEAKS_DIAL) { /* the gateway's to record */
		pass_dialled(c, no);
		return;
	}
	refuse_event(c, no->verdict, no->reason);
	switch (speaks_now(c)) {
	case SPEAKS_TLS:
		refuse_by_alert(c, no);
		return;
	case SPEAKS_SOCKS:
		(void)buf_append(&c->out, reply, socks5_put_reply(reply, socks_code(no->status)));
		conn_finish(c, no->reason);
		return;
	case SPEAKS_CONNECT:
	case SPEAKS_HTTP:
		answer(c, no);
		return;
	case SPEAKS_DIAL:
	case SPEAKS_RESET:
		break;
	}
	conn_reset(c, no->reason);
}

static void on_describe(const struct conn *c, struct gw_event *e)
{
	(void)c;
	(void)e;
}

static bool all_met(const struct gw_listener *of, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (of[i].kind != GW_LISTEN_NODE && of[i].kind != GW_LISTEN_ENDPOINTS)
			return false;
	return true;
}

static int on_listen(struct gw *gw, struct wire_msg *m, struct err *err)
{
	cleanup_free struct gw_listener *rows_of = NULL;
	struct edge *e = gw->edge;
	size_t n;

	if (gw_get_listeners(m, &rows_of, &n) < 0 || e->n_listeners + n > GW_LISTENERS_MAX)
		return err_set(err, EPROTO, "the supervisor's listeners are malformed");
	/* An outpost has the sockets, or connections come by GW_MEET. */
	if (n && m->n_fds == 0 && !(gw->config && gw->config->outpost) && !all_met(rows_of, n))
		return err_set(err, EPROTO, "the supervisor's listeners have no sockets");
	e->listeners = xrealloc(e->listeners, e->n_listeners + n, sizeof(*e->listeners));
	for (size_t i = 0; i < n; i++)
		e->listeners[e->n_listeners++] =
			(struct listener){.io = {.fd = wire_take_fd(m, i)}, .row = rows_of[i]};
	return 0;
}

static int on_set_up(struct gw *gw, struct wire_msg *m, struct err *err)
{
	int lines[2];

	if ((int)m->type == GW_LISTEN)
		return on_listen(gw, m, err);
	if ((int)m->type != GW_LINES || super_take_lines(m, lines, 2) < 0)
		return err_set(err, EPROTO, "frame %d came before GW_START", (int)m->type);
	gw->edge->arrivals.fd = lines[0];
	gw->edge->dials.fd = lines[1];
	return 0;
}

/* After GW_START: connections that no listener here has accepted, and the frames that both programs take. */
static void on_frame(struct gw *gw, struct wire_msg *m)
{
	if ((int)m->type != GW_MEET || listener_meet(gw, m) < 0)
		gw_quit(gw);
}

static bool is_own(const struct conn *c)
{
	return c->speaks == SPEAKS_DIAL || own(c)->route;
}

static void on_new_policy(struct gw *gw)
{
	conns_recheck(gw, is_own);
}

const struct program edge_program = {
	.rows = rows,
	.conn_size = sizeof(struct edge_conn),
	.end = on_end,
	.freed = on_freed,
	.refuse = on_refuse,
	.describe = on_describe,
	.set_up = on_set_up,
	.frame = on_frame,
	.new_policy = on_new_policy,
	.room = listeners_resume,
};
