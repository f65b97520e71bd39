#include "flow/conn.h"

#include <string.h>
#include <sys/resource.h>

#include "flow/event.h"
#include "flow/refuse.h"

static const struct conn_row *row_of(const struct conn *c)
{
	return &c->gw->program->rows[c->state];
}

/* A state that is left by an answer: whoever speaks meanwhile waits in the kernel. */
void conn_on_wait(struct conn *c)
{
	conn_want(c, false, false, false, false);
}

uint32_t conn_head_limit(const struct conn *c)
{
	return c->gw->config->head_ms ? c->gw->config->head_ms : HEAD_MS;
}

/* Deadlines mostly move on: the timer is set only when it would come too late, and goes on
 * sleeping when it wakes too early. */
void conn_touch(struct conn *c)
{
	const struct conn_row *row = row_of(c);
	uint32_t ms = row->limit ? row->limit(c) : row->limit_ms;

	c->due = ms ? ev_now(c->gw->ev) + ms : 0;
	if (!ms)
		ev_timer_stop(c->gw->ev, &c->timer);
	else if (!c->timer.slot || c->timer.at > c->due)
		ev_timer_set(c->gw->ev, &c->timer, ms);
}

void conn_go(struct conn *c, enum conn_state next, const char *why)
{
	enum conn_want w;

	c->state = next;
	c->why = why;
	w = row_of(c)->want;
	conn_touch(c);
	if (!(w & DYNAMIC))
		conn_want(c, w & CLIENT_IN, false, w & UP_IN, false);
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
		row_of(c)->step(c);
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
	if (row_of(c)->late && !(c->state == CONN_HEAD && c->in.len == 0))
		row_of(c)->late(c);
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
	c->gw->program->room(c->gw);
	c->gw->program->freed(c);
	buf_done(&c->in);
	buf_done(&c->out);
	free(c);
}

struct conn *conn_new(struct gw *gw, int fd)
{
	struct conn *c = xcalloc(1, gw->program->conn_size);

	c->gw = gw;
	stream_init(&c->client, fd, on_client);
	stream_init(&c->up, -1, on_up);
	buf_init(&c->in, IN_MAX);
	buf_init(&c->out, PENDING_MAX);
	c->timer.fn = on_late;
	c->again.fn = on_again;
	c->gone.fn = on_gone;
	c->since = ev_now(gw->ev);
	c->next = gw->conns;
	if (c->next)
		c->next->prev = c;
	gw->conns = c;
	gw->health.connections++;
	return c;
}

void conn_end(struct conn *c, const char *why)
{
	struct ev *ev = c->gw->ev;

	if (c->state == CONN_DEAD)
		return;
	c->gw->program->end(c);
	stream_done(&c->client, ev);
	ev_timer_stop(ev, &c->again);
	conn_go(c, CONN_DEAD, why);
	ev_defer(ev, &c->gone);
}

void conns_end(struct gw *gw)
{
	for (struct conn *c = gw->conns, *next; c; c = next) {
		next = c->next;
		conn_end(c, "the process ends");
	}
	events_flush(gw);
}

void conn_reset(struct conn *c, const char *why)
{
	if (stream_open(&c->client))
		socket_reset_on_close(c->client.io.fd);
	conn_end(c, why);
}

void conn_finish(struct conn *c, const char *why)
{
	c->gw->program->end(c);
	conn_go(c, CONN_CLOSING, why);
	conn_on_closing(c);
}

/*
 * Our answer goes out whole: after it the writing side is shut, and what the client still sends
 * is read and dropped for a while. Closing at once would make the kernel send RST for unread
 * bytes, which can destroy the answer on its way.
 */
void conn_on_closing(struct conn *c)
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

void conn_on_closing_late(struct conn *c)
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

void conns_recheck(struct gw *gw, bool (*own)(const struct conn *c))
{
	for (struct conn *c = gw->conns, *next; c; c = next) {
		struct verdict v;

		next = c->next;
		if (!c->has_target || c->state == CONN_DEAD || c->state == CONN_CLOSING || own(c))
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

void gw_set_max_conns(struct gw *gw)
{
	struct rlimit l = {0};

	(void)getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = l.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &l);
	gw->max_fd =
		l.rlim_cur > MAX_FDS_RESERVE * 2 ? l.rlim_cur - MAX_FDS_RESERVE : l.rlim_cur / 2;
	gw->max_conns = gw->max_fd < MAX_CONNS ? gw->max_fd : MAX_CONNS;
}
