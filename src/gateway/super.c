#include "gateway/super.h"

#include <string.h>

#include "base/fd.h"
#include "gateway/conn.h"
#include "gateway/exchange/inject.h"
#include "gateway/exchange/provider-request.h"
#include "gateway/listen.h"
#include "gateway/exchange/pool.h"
#include "policy/policy.h"

void gw_quit(struct gw *gw)
{
	ev_stop(gw->ev);
}

static int on_config(struct gw *gw, const struct wire_msg *m, struct err *err)
{
	if (gw->config || gw_get_config(m, &gw->config) < 0)
		return err_set(err, EPROTO, "the supervisor's configuration is malformed");
	/* An answer to a question of the gateway before this one is no answer to ours. */
	gw->last_id = gw->config->before << 24;
	return policy_compile(&gw->config->policy, &gw->policy, err);
}

static int on_listen(struct gw *gw, struct wire_msg *m, struct err *err)
{
	cleanup_free struct gw_listener *rows = NULL;
	size_t n;

	if (gw_get_listeners(m, &rows, &n) < 0 || gw->n_listeners + n > GW_LISTENERS_MAX)
		return err_set(err, EPROTO, "the supervisor's listeners are malformed");
	/* Listeners without sockets are allowed only with an outpost, which has the sockets. */
	if (n && m->n_fds == 0 && !(gw->config && gw->config->outpost))
		return err_set(err, EPROTO, "the supervisor's listeners have no sockets");
	gw->listeners = xrealloc(gw->listeners, gw->n_listeners + n, sizeof(*gw->listeners));
	for (size_t i = 0; i < n; i++)
		gw->listeners[gw->n_listeners++] =
			(struct listener){.io = {.fd = wire_take_fd(m, i)}, .row = rows[i]};
	return 0;
}

/* A line that is not watched yet is watched from super_attach() on. */
static int take_line(struct gw *gw, struct wire_msg *m)
{
	if (m->n_fds != 1)
		return -EPROTO;
	closep(&gw->cred);
	gw->cred = wire_take_fd(m, 0);
	gw->has_cred = true;
	return fd_set_nonblock(gw->cred, true);
}

int super_setup(struct gw *gw, struct err *err)
{
	for (;;) {
		cleanup_wire_msg struct wire_msg m;
		int r;

		wire_msg_init(&m);
		r = wire_recv(gw->sock, &m);
		if (r <= 0)
			return err_set(err, r < 0 ? -r : EPIPE, "the supervisor is gone");
		switch ((int)m.type) {
		case GW_CONFIG:
			r = on_config(gw, &m, err);
			break;
		case GW_LISTEN:
			r = on_listen(gw, &m, err);
			break;
		case GW_CRED:
			r = take_line(gw, &m);
			break;
		case GW_START:
			return gw->config ? 0 : err_set(err, EPROTO, "no configuration came");
		default:
			return err_set(err, EPROTO, "frame %d came before GW_START", (int)m.type);
		}
		if (r < 0)
			return r;
	}
}

static struct ask *take(struct gw *gw, uint32_t id)
{
	for (struct ask **p = &gw->asks; *p; p = &(*p)->next)
		if ((*p)->id == id) {
			struct ask *a = *p;

			*p = a->next;
			a->id = 0;
			return a;
		}
	return NULL;
}

static int send_to(struct gw *gw, int line, struct ask *a, enum gw_type type,
		   const struct buf *body, ask_fn *fn)
{
	uint32_t id = ++gw->last_id ? gw->last_id : ++gw->last_id;
	int r = line < 0 ? -EPIPE : wire_send(line, (enum wire_type)type, id, body, NULL, 0);

	if (r < 0 || !a)
		return r;
	*a = (struct ask){
		.gw = gw, .id = id, .of_cred = line == gw->cred, .fn = fn, .next = gw->asks};
	gw->asks = a;
	return 0;
}

int ask_send(struct gw *gw, struct ask *a, enum gw_type type, const struct buf *body, ask_fn *fn)
{
	return send_to(gw, gw->sock, a, type, body, fn);
}

int ask_cred(struct gw *gw, struct ask *a, const struct buf *body, ask_fn *fn)
{
	return send_to(gw, gw->cred, a, GW_HEADER, body, fn);
}

void ask_cancel(struct ask *a)
{
	if (a->id)
		(void)take(a->gw, a->id);
}

void super_health(struct gw *gw, uint32_t id)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	gw_put_health(&b, &gw->health);
	(void)wire_send(gw->sock, (enum wire_type)GW_HEALTH, id, &b, NULL, 0);
}

/* A policy that cannot be read leaves the old one in force: it was the user's last word. */
static void on_policy(struct gw *gw, const struct wire_msg *m)
{
	struct net_policy rules;
	struct policy *p = NULL;
	struct err ignored;
	int r;

	if (gw_get_policy(m, &rules) < 0)
		return;
	r = policy_compile(&rules, &p, &ignored);
	net_policy_clear(&rules);
	if (r < 0)
		return;
	(void)policy_free(gw->policy);
	gw->policy = p;
	pool_clear(gw);
	inject_forget(gw);
	conns_recheck(gw);
}

/* The helper has ended: nobody waits for it any longer. */
static void drop_line(struct gw *gw)
{
	struct ask *a = gw->asks;

	if (gw->cred >= 0)
		(void)ev_want(gw->ev, &gw->cred_io, 0);
	closep(&gw->cred);
	while (a) {
		if (!a->of_cred) {
			a = a->next;
			continue;
		}
		(void)take(gw, a->id);
		a->fn(a, NULL);
		a = gw->asks; /* the answer may have ended other connections */
	}
}

static bool waits_for_cred(const struct gw *gw)
{
	const struct ask *a = gw->asks;

	while (a && !a->of_cred)
		a = a->next;
	return a != NULL;
}

static void on_answer(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct gw *gw = ev_owner(io, struct gw, cred_io);

	/* After the last answer another look would mostly find nothing; if there is more, the next
	 * event tells. */
	do {
		cleanup_wire_msg struct wire_msg m;
		struct ask *a;
		int r;

		wire_msg_init(&m);
		r = wire_recv(gw->cred, &m);
		if (r == -EAGAIN)
			return;
		if (r <= 0 || (int)m.type != GW_HEADER_IS) {
			drop_line(gw);
			return;
		}
		a = take(gw, m.id);
		if (a)
			a->fn(a, &m);
		if (m.body.data)
			explicit_bzero(m.body.data, m.body.cap);
	} while (gw->cred >= 0 && waits_for_cred(gw));
}

static int watch_line(struct gw *gw)
{
	gw->cred_io = (struct ev_io){.fd = gw->cred, .fn = on_answer};
	return gw->cred < 0 ? 0 : ev_want(gw->ev, &gw->cred_io, EPOLLIN);
}

static void on_line(struct gw *gw, struct wire_msg *m)
{
	drop_line(gw);
	if (take_line(gw, m) < 0 || watch_line(gw) < 0)
		gw_quit(gw);
}

static void on_frame(struct gw *gw, struct wire_msg *m)
{
	struct ask *a;

	switch ((int)m->type) {
	case GW_POLICY:
		on_policy(gw, m);
		break;
	case GW_HEALTH:
		super_health(gw, m->id);
		break;
	case GW_CRED:
		on_line(gw, m);
		break;
	case GW_LEAF_IS:
	case GW_SPEND_IS:
		a = take(gw, m->id);
		if (a)
			a->fn(a, m);
		else if ((int)m->type == GW_SPEND_IS)
			provider_release(gw, m);
		break;
	default:
		gw_quit(gw);
		break;
	}
}

static void on_readable(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct gw *gw = ev_owner(io, struct gw, sock_io);

	for (;;) {
		cleanup_wire_msg struct wire_msg m;
		int r;

		wire_msg_init(&m);
		r = wire_recv(gw->sock, &m);
		if (r == -EAGAIN)
			return;
		if (r <= 0) {
			gw_quit(gw);
			return;
		}
		on_frame(gw, &m);
		buf_done(&m.body);
	}
}

int super_attach(struct gw *gw, struct err *err)
{
	int r = fd_set_nonblock(gw->sock, true);

	gw->sock_io = (struct ev_io){.fd = gw->sock, .fn = on_readable};
	if (r == 0)
		r = ev_want(gw->ev, &gw->sock_io, EPOLLIN);
	if (r == 0)
		r = watch_line(gw);
	return r < 0 ? err_sys(err, -r, "cannot watch the supervisor") : 0;
}
