#include "gateway/exchange/pool.h"

#include <string.h>
#include <sys/socket.h>

struct entry {
	struct pool *pool;
	struct stream s;
	struct host host;
	uint16_t port;
	bool tls;
	const char *credential;
	struct ev_timer timer;
	struct ev_defer gone;
	struct entry *prev, *next; /* newest first */
};

struct pool {
	struct gw *gw;
	struct entry *newest, *oldest;
};

struct pool *pool_new(struct gw *gw)
{
	struct pool *p = xcalloc(1, sizeof(*p));

	p->gw = gw;
	return p;
}

static void on_gone(struct ev *ev, struct ev_defer *d)
{
	free(ev_owner(d, struct entry, gone));
}

/* Out of the list; freed after this batch. */
static void detach(struct entry *e)
{
	struct pool *p = e->pool;

	*(e->prev ? &e->prev->next : &p->newest) = e->next;
	*(e->next ? &e->next->prev : &p->oldest) = e->prev;
	ev_timer_stop(p->gw->ev, &e->timer);
	p->gw->health.idle_upstreams--;
	ev_defer(p->gw->ev, &e->gone);
}

static void drop(struct entry *e)
{
	stream_done(&e->s, e->pool->gw->ev);
	detach(e);
}

/* Whatever an idle server says, the connection is of no more use: mostly it says goodbye. */
static void on_io(struct ev *ev, struct ev_io *io, uint32_t events)
{
	drop(ev_owner(io, struct entry, s.io));
}

static void on_late(struct ev *ev, struct ev_timer *t)
{
	drop(ev_owner(t, struct entry, timer));
}

static bool is(const struct entry *e, const struct pool_key *k)
{
	return e->port == k->port && e->tls == k->tls && e->credential == k->credential &&
	       host_equal(&e->host, k->host);
}

void pool_put(struct gw *gw, struct stream *s, const struct pool_key *k)
{
	struct entry *e = xcalloc(1, sizeof(*e)), *same = NULL;
	size_t n = 0;

	for (struct entry *i = gw->pool->newest; i; i = i->next)
		if (is(i, k)) {
			same = i;
			n++;
		}
	if (n >= POOL_PER_HOST)
		drop(same);
	else if (gw->health.idle_upstreams >= POOL_MAX)
		drop(gw->pool->oldest);
	*e = (struct entry){.pool = gw->pool,
			    .s = *s,
			    .host = *k->host,
			    .port = k->port,
			    .tls = k->tls,
			    .credential = k->credential,
			    .next = gw->pool->newest};
	ev_move(gw->ev, &s->io, &e->s.io);
	s->tls = s->below = NULL;
	e->s.io.fn = on_io;
	e->timer.fn = on_late;
	e->gone.fn = on_gone;
	*(e->next ? &e->next->prev : &gw->pool->oldest) = e;
	gw->pool->newest = e;
	gw->health.idle_upstreams++;
	ev_timer_set(gw->ev, &e->timer, UPSTREAM_IDLE_MS);
	if (ev_want(gw->ev, &e->s.io, EPOLLIN | EPOLLRDHUP) < 0)
		drop(e);
}

/* Has the server closed it while nobody looked? */
static bool is_quiet(const struct entry *e)
{
	char c;

	return recv(e->s.io.fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

bool pool_get(struct gw *gw, const struct pool_key *k, struct stream *s, ev_io_fn *fn)
{
	for (struct entry *e = gw->pool->newest, *next; e; e = next) {
		next = e->next;
		if (!is(e, k))
			continue;
		if (!is_quiet(e)) {
			drop(e);
			continue;
		}
		*s = e->s;
		ev_move(gw->ev, &e->s.io, &s->io);
		s->io.fn = fn;
		s->readable = false;
		detach(e);
		return true;
	}
	return false;
}

void pool_clear(struct gw *gw)
{
	while (gw->pool->newest)
		drop(gw->pool->newest);
}
