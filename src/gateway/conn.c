#include "gateway/conn.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "gateway/reach/dial.h"
#include "gateway/event.h"
#include "gateway/exchange/exchange.h"
#include "gateway/exchange/response-guard.h"
#include "gateway/exchange/inject.h"
#include "gateway/listen.h"
#include "gateway/reach/names.h"
#include "gateway/refuse.h"

typedef void step_fn(struct conn *c);

static void on_closing(struct conn *c);
static void on_closing_late(struct conn *c);

/* A state that is left by an answer: whoever speaks meanwhile waits in the kernel. */
static void on_wait(struct conn *c)
{
	conn_want(c, false, false, false, false);
}

enum want {
	CLIENT_IN = 1 << 0,
	CLIENT_OUT = 1 << 1,
	UP_IN = 1 << 2,
	UP_OUT = 1 << 3,
	DYNAMIC = 1 << 4
};

/*
 * Waiting states leave the epoll interest as it is and drop it with the first event: mostly there
 * is none, and two system calls are saved. Bytes that a client sends meanwhile stay in the kernel,
 * which is the back-pressure. The client's end is seen with the next write.
 */
static const struct {
	const char *name;
	enum want want;
	uint32_t limit_ms;
	step_fn *step;
	step_fn *late; /* the deadline; NULL: the connection just ends */
} states[] = {
	/* clang-format off */
	[CONN_FIRST]      = {"first",      CLIENT_IN, HEAD_MS,      conn_on_first,    NULL},
	[CONN_SOCKS]      = {"socks",      CLIENT_IN, HEAD_MS,      conn_on_socks,    NULL},
	[CONN_HEAD]       = {"head",       DYNAMIC,   HEAD_MS,      conn_on_head,     refuse_late},
	[CONN_HELLO]      = {"hello",      CLIENT_IN, HEAD_MS,      conn_on_hello,    refuse_late},
	[CONN_LEAF]       = {"leaf",       DYNAMIC,   LEAF_MS,      on_wait,          refuse_late},
	[CONN_ACCEPT]     = {"accept",     DYNAMIC,   HANDSHAKE_MS, conn_on_accept,   refuse_late},
	[CONN_CREDENTIAL] = {"credential", DYNAMIC,   HEADER_MS,    on_wait,          refuse_late},
	[CONN_BUDGET]     = {"budget",     DYNAMIC,   BUDGET_MS,    on_wait,          refuse_late},
	[CONN_BODY]       = {"body",       DYNAMIC,   BODY_MS,      conn_on_body,     refuse_late},
	[CONN_LOOKUP]     = {"lookup",     DYNAMIC,   LOOKUP_MS + 2000, on_wait,      refuse_late},
	[CONN_DIAL]       = {"dial",       DYNAMIC,   DIAL_MS,      on_wait,          refuse_late},
	[CONN_VIA]        = {"via",        UP_IN,     DIAL_MS,      conn_on_via,      refuse_late},
	[CONN_SECURE]     = {"secure",     DYNAMIC,   HANDSHAKE_MS, conn_on_secure,   refuse_late},
	[CONN_TUNNEL]     = {"tunnel",     DYNAMIC,   0,            conn_on_tunnel,   conn_tunnel_late},
	[CONN_EXCHANGE]   = {"exchange",   DYNAMIC,   RESPONSE_MS,  conn_on_exchange, refuse_late},
	[CONN_CLOSING]    = {"closing",    DYNAMIC,   CLOSING_MS,   on_closing,       on_closing_late},
	[CONN_DEAD]       = {"dead",       0,         0,            on_wait,          NULL},
	/* clang-format on */
};
static_assert(ARRAY_SIZE(states) == CONN_N, "one row per state");

static uint32_t limit_of(const struct conn *c)
{
	const struct gw_config *cfg = c->gw->config;

	switch (c->state) {
	case CONN_FIRST:
	case CONN_SOCKS:
	case CONN_HELLO:
		return cfg->head_ms ? cfg->head_ms : HEAD_MS;
	case CONN_HEAD:
		if (c->flow && c->in.len == 0)
			return KEEPALIVE_MS;
		return cfg->head_ms ? cfg->head_ms : HEAD_MS;
	case CONN_LOOKUP: /* the helper gives up first and says why */
		return (cfg->lookup_ms ? cfg->lookup_ms : LOOKUP_MS) + 2000;
	case CONN_DIAL:
		return cfg->dial_ms ? cfg->dial_ms : DIAL_MS;
	case CONN_TUNNEL:
		if (c->tunnel.answer)
			return ANSWER_MS;
		if (c->tunnel.check && c->tunnel.tls_only)
			return cfg->head_ms ? cfg->head_ms : HEAD_MS;
		return c->tunnel.probed ? 0 : cfg->keepalive_ms;
	case CONN_LEAF:
	case CONN_ACCEPT:
	case CONN_CREDENTIAL:
	case CONN_BUDGET:
	case CONN_BODY:
	case CONN_VIA:
	case CONN_SECURE:
	case CONN_EXCHANGE:
	case CONN_CLOSING:
	case CONN_DEAD:
	case CONN_N:
		break;
	}
	return states[c->state].limit_ms;
}

/* Deadlines mostly move on: the timer is set only when it would come too late, and goes on
 * sleeping when it wakes too early. */
void conn_touch(struct conn *c)
{
	uint32_t ms = limit_of(c);

	c->due = ms ? ev_now(c->gw->ev) + ms : 0;
	if (!ms)
		ev_timer_stop(c->gw->ev, &c->timer);
	else if (!c->timer.slot || c->timer.at > c->due)
		ev_timer_set(c->gw->ev, &c->timer, ms);
}

void conn_go(struct conn *c, enum conn_state next, const char *why)
{
	enum want w = states[next].want;

	log_debug("gateway", "flow=%u host='%s' state=%s next=%s %s", c->flow, c->host.name,
		  states[c->state].name, states[next].name, why);
	c->state = next;
	conn_touch(c);
	if (!(w & DYNAMIC))
		conn_want(c, w & CLIENT_IN, w & CLIENT_OUT, w & UP_IN, w & UP_OUT);
}

void conn_want(struct conn *c, bool client_in, bool client_out, bool up_in, bool up_out)
{
	if (stream_want(&c->client, c->gw->ev, client_in, client_out) < 0 ||
	    stream_want(&c->up, c->gw->ev, up_in, up_out) < 0)
		conn_end(c, "epoll refused");
}

void conn_again(struct conn *c)
{
	if (!c->again.slot)
		ev_timer_set(c->gw->ev, &c->again, 0);
}

static void step(struct conn *c)
{
	if (c->state != CONN_DEAD)
		states[c->state].step(c);
}

static void on_again(struct ev *ev, struct ev_timer *t)
{
	step(ev_owner(t, struct conn, again));
}

static void on_client(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct conn *c = ev_owner(io, struct conn, client.io);

	stream_event(&c->client, events);
	step(c);
}

static void on_up(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct conn *c = ev_owner(io, struct conn, up.io);

	stream_event(&c->up, events);
	step(c);
}

ev_io_fn *conn_up_fn(void)
{
	return on_up;
}

static void on_late(struct ev *ev, struct ev_timer *t)
{
	struct conn *c = ev_owner(t, struct conn, timer);

	if (c->due > ev_now(ev)) {
		ev_timer_set(ev, t, c->due - ev_now(ev));
		return;
	}
	/* Between two requests nobody is kept waiting. */
	if (states[c->state].late && !(c->state == CONN_HEAD && c->in.len == 0))
		states[c->state].late(c);
	else
		conn_end(c, "deadline");
}

static void on_gone(struct ev *ev, struct ev_defer *d)
{
	struct conn *c = ev_owner(d, struct conn, gone);

	if (c->prev)
		c->prev->next = c->next;
	else
		c->gw->conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	c->gw->health.connections--;
	listeners_resume(c->gw);
	exchange_free(c->x);
	buf_done(&c->in);
	buf_done(&c->out);
	buf_done(&c->via_in);
	free(c);
}

void conn_new(struct gw *gw, const struct listener *l, int fd, const union sockaddr_any *dialled)
{
	struct conn *c = xcalloc(1, sizeof(*c));

	c->gw = gw;
	c->listener = l;
	c->dialled = *dialled;
	stream_init(&c->client, fd, on_client);
	stream_init(&c->up, -1, on_up);
	buf_init(&c->in, IN_MAX);
	buf_init(&c->out, PENDING_MAX);
	buf_init(&c->via_in, IN_MAX);
	c->timer.fn = on_late;
	c->again.fn = on_again;
	c->gone.fn = on_gone;
	c->since = ev_now(gw->ev);
	c->next = gw->conns;
	if (c->next)
		c->next->prev = c;
	gw->conns = c;
	gw->health.connections++;
	if (l->row.kind == GW_LISTEN_PROXY || l->row.kind == GW_LISTEN_ENDPOINTS)
		conn_go(c, CONN_FIRST, "accepted");
	else
		conn_start_transparent(c);
}

void conn_end(struct conn *c, const char *why)
{
	struct ev *ev = c->gw->ev;

	if (c->state == CONN_DEAD)
		return;
	tunnel_end(c);
	exchange_end(c);
	lookup_cancel(&c->lookup);
	ask_cancel(&c->ask);
	c->dial = dial_cancel(c->dial);
	if (c->name)
		name_release(c->gw->names, c->name);
	c->name = NULL;
	conn_drop_upstream(c);
	stream_done(&c->client, ev);
	ev_timer_stop(ev, &c->again);
	conn_go(c, CONN_DEAD, why);
	ev_defer(ev, &c->gone);
}

void conn_reset(struct conn *c, const char *why)
{
	if (stream_open(&c->client))
		socket_reset_on_close(c->client.io.fd);
	conn_end(c, why);
}

void conn_finish(struct conn *c, const char *why)
{
	tunnel_end(c);
	exchange_end(c);
	conn_drop_upstream(c);
	conn_go(c, CONN_CLOSING, why);
	on_closing(c);
}

/*
 * Our answer goes out whole: after it the writing side is shut, and what the client still sends
 * is read and dropped for a while. Closing at once would make the kernel send RST for unread
 * bytes, which can destroy the answer on its way.
 */
static void on_closing(struct conn *c)
{
	int r = stream_flush(&c->client, &c->out, &c->down_bytes);

	if (r == -EAGAIN) {
		conn_want(c, false, true, false, false);
		return;
	}
	if (r == 0)
		r = stream_shutdown(&c->client);
	if (r < 0 && r != -EAGAIN) {
		conn_end(c, "client gone");
		return;
	}
	for (int i = 0; i < RELAY_ROUNDS; i++) {
		ssize_t n = stream_read(&c->client, c->gw->scratch, SCRATCH);

		if (n == -EAGAIN)
			break;
		if (n <= 0) {
			conn_end(c, "closed");
			return;
		}
	}
	conn_want(c, true, false, false, false);
}

static void on_closing_late(struct conn *c)
{
	conn_end(c, "closed");
}

ssize_t conn_fill(struct conn *c)
{
	size_t room = buf_room(&c->in);
	ssize_t n;

	if (room > SCRATCH)
		room = SCRATCH;
	if (room == 0)
		return -ENOBUFS;
	n = stream_read(&c->client, c->gw->scratch, room);
	if (n > 0)
		(void)buf_append(&c->in, c->gw->scratch, (size_t)n);
	return n;
}

void conn_set_rule(struct conn *c, const struct policy_rule *rule)
{
	size_t n = rule ? strnlen(rule->text.pattern, sizeof(c->rule) - 1) : 0;

	if (n)
		memcpy(c->rule, rule->text.pattern, n);
	c->rule[n] = '\0';
}

void conns_recheck(struct gw *gw)
{
	for (struct conn *c = gw->conns, *next; c; c = next) {
		struct verdict v;

		next = c->next;
		if (!c->has_target || c->state == CONN_DEAD || c->state == CONN_CLOSING)
			continue;
		/* A route is a permission of its own. */
		if (exchange_route(c))
			continue;
		policy_name(gw->policy, &c->host, c->port, &v);
		if ((v.allow || (conn_is_nameless(c) && v.reason == POLICY_DENY_NAMELESS)) &&
		    v.inspect == c->verdict.inspect) {
			c->verdict = v;
			continue;
		}
		refuse_event(c, GW_DENY, "the policy changed");
		conn_reset(c, "policy changed");
	}
}
