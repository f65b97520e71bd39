#include "gateway/h2/h2-up.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "flow/host-proxy.h"
#include "flow/refuse.h"
#include "gateway/exchange/exchange.h"
#include "gateway/exchange/pool.h"
#include "gateway/exchange/route.h"
#include "gateway/h2/h2.h"
#include "gateway/question.h"
#include "gateway/tls.h"
#include "wire/edge-proto.h"

#define FRAME_HEAD 9

enum up_state {
	UP_DIAL,    /* the edge's answer */
	UP_SECURE,  /* the TLS handshake */
	UP_PREFACE, /* without TLS: the server's first frame, or whatever it says instead */
	UP_READY,
	UP_GONE,
};

struct h2_up {
	struct h2 h2; /* from UP_PREFACE or UP_READY on */
	struct gw *gw;
	struct h2_up *prev, *next;
	enum up_state state;
	struct stream s;
	struct host host;
	uint16_t port;
	bool tls, route; /* route: to where no rule has to lead */
	bool bound;	 /* to the credential, which may be NULL */
	const char *credential;
	const struct gw_route *trust;
	struct ask ask;
	struct ev_timer timer, again; /* again: more to read, after the others had their turn */
	struct ev_defer gone;
	char first[FRAME_HEAD]; /* of a server without TLS */
	size_t n_first;
};

struct origin {
	struct host host;
	uint16_t port;
	bool tls, h2;
	uint64_t until;
};

struct h2_ups {
	struct h2_up *first;
	size_t n;
	struct origin origins[H2_ORIGINS_MAX];
	size_t next;
};

static struct h2_ups *ups_of(struct gw *gw)
{
	if (!gw->h2_ups)
		gw->h2_ups = xcalloc(1, sizeof(*gw->h2_ups));
	return gw->h2_ups;
}

static struct origin *origin_of(struct gw *gw, const struct host *host, uint16_t port, bool tls)
{
	struct h2_ups *all = ups_of(gw);

	for (size_t i = 0; i < H2_ORIGINS_MAX; i++) {
		struct origin *o = &all->origins[i];

		if (o->until > ev_now(gw->ev) && o->port == port && o->tls == tls &&
		    host_equal(&o->host, host))
			return o;
	}
	return NULL;
}

static void learn(const struct h2_up *u, bool h2)
{
	struct h2_ups *all = ups_of(u->gw);
	struct origin *o = origin_of(u->gw, &u->host, u->port, u->tls);

	if (!o)
		o = &all->origins[all->next++ % H2_ORIGINS_MAX];
	*o = (struct origin){u->host, u->port, u->tls, h2, ev_now(u->gw->ev) + H2_ORIGIN_MS};
}

static void up_free(struct h2 *h)
{
	free(ev_owner(h, struct h2_up, h2));
}

static void on_gone(struct ev *ev, struct ev_defer *d)
{
	free(ev_owner(d, struct h2_up, gone));
}

static void up_end(struct h2_up *u)
{
	if (u->state == UP_GONE)
		return;
	u->state = UP_GONE;
	*(u->prev ? &u->prev->next : &u->gw->h2_ups->first) = u->next;
	if (u->next)
		u->next->prev = u->prev;
	u->gw->h2_ups->n--;
	ask_cancel(&u->ask);
	ev_timer_stop(u->gw->ev, &u->timer);
	ev_timer_stop(u->gw->ev, &u->again);
	if (u->h2.ng)
		h2_close(&u->h2, up_free);
	else
		ev_defer(u->gw->ev, &u->gone);
	stream_done(&u->s, u->gw->ev);
}

/* The server has said what it speaks: the clients that waited for it go on. */
static void wake(struct h2_up *u)
{
	for (struct conn *c = u->gw->conns, *next; c; c = next) {
		next = c->next;
		if (c->waits != u || c->state == CONN_DEAD)
			continue;
		c->waits = NULL;
		if (c->state == CONN_OFFER)
			conn_offered(c);
		else
			conn_open_upstream(c);
	}
}

static void fail(struct h2_up *u, const struct refusal *no, const char *rule)
{
	up_end(u);
	for (struct conn *c = u->gw->conns, *next; c; c = next) {
		next = c->next;
		if (c->waits != u || c->state == CONN_DEAD)
			continue;
		c->waits = NULL;
		if (c->state == CONN_OFFER) {
			conn_offered(c); /* each request is told why */
			continue;
		}
		if (rule)
			(void)snprintf(c->rule, sizeof(c->rule), "%s", rule);
		refuse_told(c, no);
	}
}

static void fail_as(struct h2_up *u, unsigned int status, const char *reason)
{
	fail(u, &(struct refusal){GW_ERROR, status, reason, "", false, NULL}, NULL);
}

static void speaks_http1(struct h2_up *u)
{
	const struct pool_key key = {&u->host, u->port, u->tls, u->credential};

	learn(u, false);
	if (u->tls)
		pool_put(u->gw, &u->s, &key);
	up_end(u);
	wake(u);
}

static void on_malformed(struct h2 *h, const char *why)
{
	/* The stream is reset: its owner tells. */
}

static void on_over(struct h2 *h, const char *why)
{
	struct h2_up *u = ev_owner(h, struct h2_up, h2);

	if (u->state == UP_PREFACE)
		speaks_http1(u);
	else
		up_end(u);
}

static void on_want(struct h2 *h)
{
	struct h2_up *u = ev_owner(h, struct h2_up, h2);

	if (h->streams)
		ev_timer_stop(u->gw->ev, &u->timer);
	else if (u->state == UP_READY && h->leaving)
		up_end(u);
	else if (!u->timer.slot)
		ev_timer_set(u->gw->ev, &u->timer, UPSTREAM_IDLE_MS);
	if (u->state != UP_GONE && stream_want(&u->s, u->gw->ev, true, h->blocked) < 0)
		up_end(u);
}

static const struct h2_ops ops = {
	.malformed = on_malformed,
	.over = on_over,
	.want = on_want,
};

static int start_h2(struct h2_up *u)
{
	u->h2.https = u->tls;
	return h2_init(&u->h2, u->gw, false, &u->s, &ops);
}

static void on_secure(struct h2_up *u)
{
	int r = tls_handshake(&u->s);

	if (r == -EAGAIN) {
		if (stream_want(&u->s, u->gw->ev, true, false) < 0)
			fail_as(u, 502, "the server cannot be reached");
		return;
	}
	if (r < 0) {
		fail_as(u, 502, tls_failure(&u->s));
		return;
	}
	if (!tls_is_h2(&u->s)) {
		u->s.readable = false;
		speaks_http1(u);
		return;
	}
	ev_timer_stop(u->gw->ev, &u->timer);
	u->state = UP_READY;
	u->s.readable = true;
	learn(u, true);
	if (start_h2(u) < 0)
		fail_as(u, 502, "HTTP/2 cannot be set up");
	else
		wake(u);
	h2_run_later(&u->h2);
}

static void read_frames(struct h2_up *u)
{
	for (int i = 0; i < RELAY_ROUNDS && u->s.readable; i++) {
		ssize_t n = stream_read(&u->s, u->gw->scratch, SCRATCH);

		if (n == -EAGAIN)
			break;
		if (n <= 0) {
			up_end(u);
			return;
		}
		if (!h2_receive(&u->h2, u->gw->scratch, (size_t)n))
			return;
	}
	if (u->s.readable)
		ev_timer_set(u->gw->ev, &u->again, 0);
	(void)h2_run(&u->h2);
}

/* A server of HTTP/1 answers the preface with an error, or closes. */
static void on_preface(struct h2_up *u)
{
	ssize_t n = stream_read(&u->s, u->first + u->n_first, FRAME_HEAD - u->n_first);

	if (n == -EAGAIN)
		return;
	if (n > 0)
		u->n_first += (size_t)n;
	if (n > 0 && u->n_first < FRAME_HEAD)
		return;
	if (n <= 0 || u->first[3] != NGHTTP2_SETTINGS || memcmp(u->first, "HTTP", 4) == 0) {
		speaks_http1(u);
		return;
	}
	ev_timer_stop(u->gw->ev, &u->timer);
	u->state = UP_READY;
	u->s.readable = true;
	learn(u, true);
	if (!h2_receive(&u->h2, u->first, FRAME_HEAD))
		return;
	wake(u);
	if (u->state == UP_READY)
		read_frames(u);
}

static void on_io(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct h2_up *u = ev_owner(io, struct h2_up, s.io);

	stream_event(&u->s, events);
	switch (u->state) {
	case UP_SECURE:
		on_secure(u);
		break;
	case UP_PREFACE:
		if (u->h2.blocked && (events & EPOLLOUT))
			(void)h2_run(&u->h2);
		if (u->s.readable && u->state == UP_PREFACE)
			on_preface(u);
		break;
	case UP_READY:
		read_frames(u);
		break;
	case UP_DIAL:
	case UP_GONE:
		break;
	}
}

static void on_again(struct ev *ev, struct ev_timer *t)
{
	read_frames(ev_owner(t, struct h2_up, again));
}

static void on_late(struct ev *ev, struct ev_timer *t)
{
	struct h2_up *u = ev_owner(t, struct h2_up, timer);

	if (u->state == UP_READY)
		up_end(u);
	else if (u->state == UP_PREFACE)
		speaks_http1(u);
	else
		fail_as(u, 504, "no address answered in time");
}

static void on_connected(struct h2_up *u)
{
	ev_timer_set(u->gw->ev, &u->timer, HANDSHAKE_MS);
	if (u->tls) {
		u->state = UP_SECURE;
		if (tls_client(u->gw, &u->s, u->host.name, u->host.kind != HOST_NAME, u->trust) <
			    0 ||
		    tls_offer_h2(&u->s) < 0)
			fail_as(u, 502, "TLS to the server cannot be set up");
		else
			on_secure(u);
		return;
	}
	u->state = UP_PREFACE;
	if (start_h2(u) < 0)
		fail_as(u, 502, "HTTP/2 cannot be set up");
	else
		(void)h2_run(&u->h2);
}

static void on_dialled(struct ask *a, struct wire_msg *m)
{
	struct h2_up *u = ev_owner(a, struct h2_up, ask);
	struct edge_dialled_frame f;
	int fd;

	if (!m || edge_get_dialled(m, &f) < 0) {
		gw_quit(u->gw);
		return;
	}
	if (f.status) {
		fail(u, &(struct refusal){f.verdict, f.status, f.reason, f.remedy, f.final, NULL},
		     f.rule);
		return;
	}
	fd = wire_take_fd(m, 0);
	stream_init(&u->s, fd, on_io);
	if (fd_set_nonblock(fd, true) < 0)
		fail_as(u, 502, "the server cannot be reached");
	else
		on_connected(u);
}

/* NULL: there are too many. */
static struct h2_up *up_new(struct conn *c, bool tls)
{
	const struct edge_dial_frame f = {.host = c->host.name,
					  .port = c->port,
					  .plain = !tls,
					  .route = exchange_route(c) != NULL};
	struct h2_ups *all = ups_of(c->gw);
	cleanup_buf struct buf b;
	struct h2_up *u;

	buf_init(&b, WIRE_INLINE_MAX);
	if (all->n >= H2_UPS_MAX)
		return NULL;
	u = xcalloc(1, sizeof(*u));
	u->gw = c->gw;
	u->host = c->host;
	u->port = c->port;
	u->tls = tls;
	u->route = f.route;
	u->timer.fn = on_late;
	u->again.fn = on_again;
	u->gone.fn = on_gone;
	u->s.io.fd = -1;
	u->next = all->first;
	if (u->next)
		u->next->prev = u;
	all->first = u;
	all->n++;
	edge_put_dial(&b, &f);
	ev_timer_set(u->gw->ev, &u->timer, LOOKUP_MS + 2 * DIAL_MS + 4000);
	if (ask_line(u->gw, u->gw->dials, &u->ask, EDGE_DIAL, &b, on_dialled) < 0) {
		up_end(u);
		return NULL;
	}
	return u;
}

static bool has_room(const struct h2_up *u)
{
	uint32_t theirs;

	if (u->state != UP_READY)
		return true;
	theirs = nghttp2_session_get_remote_settings(u->h2.ng,
						     NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
	if (theirs == 0)
		theirs = 1; /* it may become more; another connection would be no better */
	return !u->h2.leaving && nghttp2_session_check_request_allowed(u->h2.ng) &&
	       u->h2.n_streams < (theirs < H2_STREAMS_MAX ? theirs : H2_STREAMS_MAX);
}

static struct h2_up *find(const struct conn *c)
{
	const struct gw_route *trust = exchange_trust(c);

	for (struct h2_up *u = ups_of(c->gw)->first; u; u = u->next)
		if (u->port == c->port && u->tls == c->up_tls && u->trust == trust &&
		    u->route == (exchange_route(c) != NULL) &&
		    (!u->bound || u->credential == c->x->credential) &&
		    host_equal(&u->host, &c->host) && has_room(u))
			return u;
	return NULL;
}

static bool never_h2(const struct conn *c)
{
	return !c->up_tls && !c->verdict.service &&
	       host_proxy_for(c->gw->host_proxies, &c->host, c->port, true);
}

bool h2_up_open(struct conn *c)
{
	const struct origin *o;
	struct h2_up *u;

	/* An upgrade is HTTP/1.1's, whatever the client speaks. */
	if (!h2_stream_of(&c->client) || c->x->upgrade || never_h2(c))
		return false;
	o = origin_of(c->gw, &c->host, c->port, c->up_tls);
	if (o && !o->h2)
		return false;
	conn_drop_upstream(c);
	u = c->retried ? NULL : find(c);
	c->pooled = u && u->state == UP_READY;
	if (!u)
		u = up_new(c, c->up_tls);
	if (!u) {
		refuse_as(c, GW_ERROR, 503, "too many connections are being opened");
		return true;
	}
	if (!u->bound) {
		u->bound = true;
		u->credential = c->x->credential;
		u->trust = exchange_trust(c);
	}
	if (u->state == UP_READY) {
		h2_stream_attach(h2_stream_new(&u->h2), &c->up, conn_up_fn());
		conn_start_exchange(c);
	} else {
		c->waits = u;
		conn_go(c, CONN_DIAL, "allowed");
		conn_want(c, false, false, false, false);
	}
	return true;
}

int h2_up_speaks(struct conn *c)
{
	const struct origin *o = origin_of(c->gw, &c->host, c->port, true);
	struct h2_up *u;

	if (o)
		return o->h2;
	u = up_new(c, true);
	if (!u)
		return 0;
	u->trust = route_trust(c, NULL);
	c->waits = u;
	conn_go(c, CONN_OFFER, "what does the server speak");
	conn_want(c, false, false, false, false);
	return -EAGAIN;
}

int h2_up_known(struct conn *c)
{
	const struct origin *o = origin_of(c->gw, &c->host, c->port, true);

	return o && o->h2;
}

void h2_up_forget(struct conn *c)
{
	c->waits = NULL;
}

void h2_ups_clear(struct gw *gw)
{
	if (!gw->h2_ups)
		return;
	memset(gw->h2_ups->origins, 0, sizeof(gw->h2_ups->origins));
	for (struct h2_up *u = gw->h2_ups->first, *next; u; u = next) {
		next = u->next;
		u->h2.leaving = true;
		if (u->state == UP_READY && !u->h2.streams)
			up_end(u);
	}
}
