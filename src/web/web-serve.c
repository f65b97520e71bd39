#include "web/web-serve.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "web/web-conn.h"
#include "web/frames.h"

#define ACCEPT_BURST 16
#define AGAIN_MS 200

static struct web_conn *conn_of(struct web *w, uint32_t id)
{
	for (struct web_conn *c = w->conns; c; c = c->next)
		if (id && c->id == id && !c->closed)
			return c;
	return NULL;
}

static void lose_desk(struct web *w)
{
	if (w->desk.fd < 0)
		return;
	(void)ev_want(w->ev, &w->desk, 0);
	closep(&w->desk.fd);
	for (struct web_conn *c = w->conns; c; c = c->next)
		if (!c->closed && (c->state == WEB_DESKED || c->state == WEB_STREAMS))
			conn_answer(c, &(struct web_answer){.status = 503,
							    .body = "{\"error\":\"desk\"}",
							    .n_body = 16});
}

static void on_desk(struct ev *ev, struct ev_io *io, uint32_t events);

static void take_desk(struct web *w, struct wire_msg *m)
{
	lose_desk(w);
	w->desk = (struct ev_io){.fd = wire_take_fd(m, 0), .fn = on_desk};
	if (w->desk.fd >= 0 &&
	    (fd_set_nonblock(w->desk.fd, true) < 0 || ev_want(w->ev, &w->desk, EPOLLIN) < 0))
		closep(&w->desk.fd);
}

static void revoked(struct web *w, const struct wire_msg *m)
{
	struct wire_reader r;
	const char *id;

	wire_read(&r, m);
	id = wire_get_str(&r);
	for (struct web_conn *c = w->conns; id && c; c = c->next)
		if (!c->closed && c->session[0] && streq(c->session, id))
			conn_close(c);
}

static void answered(struct web *w, const struct wire_msg *m)
{
	struct web_conn *c = conn_of(w, m->id);
	struct web_answer a;

	if (c && web_get_answer(m, &a) == 0)
		conn_answer(c, &a);
}

static void on_desk(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct web *w = ev_owner(io, struct web, desk);
	cleanup_wire_msg struct wire_msg m;
	int r;

	(void)ev;
	(void)events;
	wire_msg_init(&m);
	r = wire_recv(io->fd, &m);
	if (r == -EAGAIN)
		return;
	if (r <= 0)
		lose_desk(w);
	else
		answered(w, &m);
}

static void on_hand(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct web *w = ev_owner(io, struct web, hand);
	cleanup_wire_msg struct wire_msg m;
	int r;

	(void)events;
	wire_msg_init(&m);
	r = wire_recv(io->fd, &m);
	if (r == -EAGAIN)
		return;
	if (r <= 0)
		ev_stop(ev); /* without the hand there is no session */
	else if ((unsigned)m.type == WEB_DESK)
		take_desk(w, &m);
	else if ((unsigned)m.type == WEB_REVOKED)
		revoked(w, &m);
	else
		answered(w, &m);
}

static void on_again(struct ev *ev, struct ev_timer *t)
{
	(void)ev_want(ev, &ev_owner(t, struct web, again)->listener, EPOLLIN);
}

/* A new browser is worth more than one that has said nothing yet: that one makes room. Those that
 * are closed in this batch of events leave their places after it. */
static void admit(struct web *w, int fd)
{
	if (fd < 0)
		return;
	if (w->n_conns >= 2 * WEB_CONNS_MAX || (w->n_conns >= WEB_CONNS_MAX && !conn_evict(w)))
		(void)close(fd);
	else
		conn_open(w, fd);
}

static void on_accept(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct web *w = ev_owner(io, struct web, listener);

	(void)events;
	for (int i = 0; i < ACCEPT_BURST; i++) {
		int fd = accept4(io->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0 && errno != EAGAIN && errno != ECONNABORTED) {
			(void)ev_want(ev, io, 0);
			ev_timer_set(ev, &w->again, AGAIN_MS);
		}
		if (fd < 0)
			return;
		admit(w, fd);
	}
}

/* TLS ends in another process, which hands over what it has accepted. */
static void on_handed(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct web *w = ev_owner(io, struct web, listener);
	cleanup_wire_msg struct wire_msg m;
	int r;

	(void)events;
	wire_msg_init(&m);
	r = wire_recv(io->fd, &m);
	if (r <= 0 && r != -EAGAIN)
		ev_stop(ev); /* the hand starts both again */
	else if (r > 0 && (unsigned)m.type == WEB_CONN)
		admit(w, wire_take_fd(&m, 0));
}

int web_start(struct web *w, struct err *err)
{
	int r = ev_new(&w->ev, err);

	if (r < 0)
		return r;
	w->again.fn = on_again;
	w->listener =
		(struct ev_io){.fd = WEB_LISTEN_FD, .fn = w->rules.tls ? on_handed : on_accept};
	w->hand = (struct ev_io){.fd = WEB_HAND_FD, .fn = on_hand};
	w->desk = (struct ev_io){.fd = WEB_OTHER_FD, .fn = on_desk};
	if (fd_set_nonblock(WEB_LISTEN_FD, true) < 0 || fd_set_nonblock(WEB_HAND_FD, true) < 0 ||
	    fd_set_nonblock(WEB_OTHER_FD, true) < 0 || ev_want(w->ev, &w->listener, EPOLLIN) < 0 ||
	    ev_want(w->ev, &w->hand, EPOLLIN) < 0 || ev_want(w->ev, &w->desk, EPOLLIN) < 0)
		return err_sys(err, errno ? errno : EIO, "cannot watch the sockets");
	return 0;
}
