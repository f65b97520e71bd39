#include "gateway/question.h"

#include <string.h>

#include "base/fd.h"
#include "gateway/exchange/provider-request.h"
#include "wire/edge-proto.h"

static struct ask *take(struct gw *gw, int line, uint32_t id)
{
	for (struct ask **p = &gw->asks; *p; p = &(*p)->next)
		if ((*p)->id == id && (*p)->line == line) {
			struct ask *a = *p;

			*p = a->next;
			a->id = 0;
			return a;
		}
	return NULL;
}

int ask_line(struct gw *gw, int line, struct ask *a, enum gw_type type, const struct buf *body,
	     ask_fn *fn)
{
	uint32_t id = ++gw->last_id ? gw->last_id : ++gw->last_id;
	int r = line < 0 ? -EPIPE : wire_send(line, (enum wire_type)type, id, body, NULL, 0);

	if (r < 0 || !a)
		return r;
	*a = (struct ask){.gw = gw, .id = id, .line = line, .fn = fn, .next = gw->asks};
	gw->asks = a;
	return 0;
}

int ask_cred(struct gw *gw, struct ask *a, const struct buf *body, ask_fn *fn)
{
	return ask_line(gw, gw->cred, a, GW_HEADER, body, fn);
}

void ask_cancel(struct ask *a)
{
	if (a->id)
		(void)take(a->gw, a->line, a->id);
}

static bool waits_for(const struct gw *gw, int line)
{
	const struct ask *a = gw->asks;

	while (a && a->line != line)
		a = a->next;
	return a != NULL;
}

/* The helper has ended: nobody waits for it any longer. */
static void drop_cred(struct gw *gw)
{
	struct ask *a = gw->asks;
	int line = gw->cred;

	if (line < 0)
		return;
	(void)ev_want(gw->ev, &gw->cred_io, 0);
	gw->cred = -1;
	while (a) {
		if (a->line != line) {
			a = a->next;
			continue;
		}
		(void)take(gw, line, a->id);
		a->fn(a, NULL);
		a = gw->asks; /* the answer may have ended other connections */
	}
	(void)close(line);
}

static void on_cred(struct ev *ev, struct ev_io *io, uint32_t events)
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
			drop_cred(gw);
			return;
		}
		a = take(gw, gw->cred, m.id);
		if (a)
			a->fn(a, &m);
		if (m.body.data)
			explicit_bzero(m.body.data, m.body.cap);
	} while (gw->cred >= 0 && waits_for(gw, gw->cred));
}

static void on_dials(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct gw *gw = ev_owner(io, struct gw, dials_io);

	do {
		cleanup_wire_msg struct wire_msg m;
		struct ask *a;
		int r;

		wire_msg_init(&m);
		r = wire_recv(io->fd, &m);
		if (r == -EAGAIN)
			return;
		/* Without its descriptor, of which there are too many: the question's deadline passes. */
		if (r == -EPROTO)
			continue;
		if (r <= 0 || (int)m.type != EDGE_DIAL_IS) {
			gw_quit(gw);
			return;
		}
		a = take(gw, io->fd, m.id);
		if (a)
			a->fn(a, &m);
	} while (waits_for(gw, io->fd));
}

static int watch_cred(struct gw *gw)
{
	gw->cred_io = (struct ev_io){.fd = gw->cred, .fn = on_cred};
	return gw->cred < 0 ? 0 : ev_want(gw->ev, &gw->cred_io, EPOLLIN);
}

int ask_attach(struct gw *gw, struct err *err)
{
	int r = watch_cred(gw);

	gw->dials_io = (struct ev_io){.fd = gw->dials, .fn = on_dials};
	if (r == 0)
		r = gw->dials < 0 ? -ENOTCONN : ev_want(gw->ev, &gw->dials_io, EPOLLIN);
	return r < 0 ? err_sys(err, -r, "cannot watch the edge") : 0;
}

static int take_cred(struct gw *gw, struct wire_msg *m)
{
	gw->has_cred = true;
	return super_take_lines(m, &gw->cred, 1);
}

int ask_set_up(struct gw *gw, struct wire_msg *m, struct err *err)
{
	int lines[2];

	if ((int)m->type == GW_CRED && gw->cred < 0 && take_cred(gw, m) == 0)
		return 0;
	if ((int)m->type != GW_LINES || super_take_lines(m, lines, 2) < 0)
		return err_set(err, EPROTO, "frame %d came before GW_START", (int)m->type);
	gw->arrivals.fd = lines[0];
	gw->dials = lines[1];
	return 0;
}

void ask_frame(struct gw *gw, struct wire_msg *m)
{
	struct ask *a;

	switch ((int)m->type) {
	case GW_CRED:
		drop_cred(gw);
		if (take_cred(gw, m) < 0 || watch_cred(gw) < 0)
			gw_quit(gw);
		break;
	case GW_LEAF_IS:
	case GW_ASK_IS:
	case GW_SPEND_IS:
		a = take(gw, gw->sock, m->id);
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
