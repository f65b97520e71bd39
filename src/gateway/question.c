#include "gateway/question.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "gateway/exchange/provider-request.h"
#include "wire/edge-proto.h"
#include "wire/reader-proto.h"

/* A frame for the reader that its line had no room for. */
struct late {
	struct late *next;
	enum gw_type type;
	uint32_t id;
	struct buf body;
	int file; /* -1: none */
};

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

static void wait_for(struct gw *gw, int line, uint32_t id, struct ask *a, ask_fn *fn)
{
	if (!a)
		return;
	*a = (struct ask){.gw = gw, .id = id, .line = line, .fn = fn, .next = gw->asks};
	gw->asks = a;
}

static uint32_t next_id(struct gw *gw)
{
	return ++gw->last_id ? gw->last_id : ++gw->last_id;
}

int ask_line(struct gw *gw, int line, struct ask *a, enum gw_type type, const struct buf *body,
	     ask_fn *fn)
{
	uint32_t id = next_id(gw);
	int r = line < 0 ? -EPIPE : wire_send(line, (enum wire_type)type, id, body, NULL, 0);

	if (r == 0)
		wait_for(gw, line, id, a, fn);
	return r;
}

int ask_cred(struct gw *gw, struct ask *a, const struct buf *body, ask_fn *fn)
{
	return ask_line(gw, gw->cred.fd, a, GW_HEADER, body, fn);
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
static void drop_helper(struct gw *gw, struct ev_io *io)
{
	struct ask *a = gw->asks;
	int line = io->fd;

	if (line < 0)
		return;
	(void)ev_want(gw->ev, io, 0);
	io->fd = -1;
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

/* Sends the frames that wait, as far as the line takes them; a line that ends drops them. */
static void flush_late(struct gw *gw)
{
	struct late *l;
	int r = 0;

	while ((l = gw->late) && r == 0) {
		if (gw->reader.fd >= 0)
			r = wire_send(gw->reader.fd, (enum wire_type)l->type, l->id, &l->body,
				      &l->file, l->file >= 0);
		if (r == -EAGAIN)
			break;
		gw->late = l->next;
		gw->late_bytes -= l->body.len;
		buf_done(&l->body);
		closep(&l->file);
		free(l);
	}
	if (gw->reader.fd >= 0)
		(void)ev_want(gw->ev, &gw->reader, gw->late ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

int ask_reader(struct gw *gw, struct ask *a, enum gw_type type, struct buf *body, int file,
	       ask_fn *fn)
{
	struct late **end = &gw->late;
	struct late *l;
	uint32_t id = next_id(gw);

	if (gw->reader.fd < 0)
		return -EPIPE;
	/* Something is reserved for answers that it does not get to see: its end settles that. */
	if (body->full || gw->late_bytes + body->len > READER_LATE_MAX) {
		(void)shutdown(gw->reader.fd, SHUT_RDWR);
		return -ENOBUFS;
	}
	l = xmalloc(sizeof(*l));
	*l = (struct late){.type = type, .id = id, .body = *body, .file = -1};
	buf_init(body, WIRE_BODY_MAX);
	if (file >= 0)
		l->file = fcntl(file, F_DUPFD_CLOEXEC, 3);
	while (*end)
		end = &(*end)->next;
	*end = l;
	gw->late_bytes += l->body.len;
	wait_for(gw, gw->reader.fd, id, a, fn);
	flush_late(gw);
	return 0;
}

/* An answer of one of the helpers; false: there is none, or no helper any more. */
static bool take_answer(struct gw *gw, struct ev_io *io, enum gw_type type)
{
	cleanup_wire_msg struct wire_msg m;
	struct ask *a;
	int r;

	wire_msg_init(&m);
	r = wire_recv(io->fd, &m);
	if (r == -EAGAIN)
		return false;
	if (r <= 0 || (enum gw_type)m.type != type) {
		drop_helper(gw, io);
		return false;
	}
	a = take(gw, io->fd, m.id);
	if (a)
		a->fn(a, &m);
	else if (io == &gw->reader)
		provider_release(gw, &m);
	if (m.body.data)
		explicit_bzero(m.body.data, m.body.cap);
	/* After the last answer another look would mostly find nothing; if there is more, the next
	 * event tells. */
	return io->fd >= 0 && waits_for(gw, io->fd);
}

static void on_cred(struct ev *ev, struct ev_io *io, uint32_t events)
{
	while (take_answer(ev_owner(io, struct gw, cred), io, GW_HEADER_IS))
		;
}

static void on_reader(struct ev *ev, struct ev_io *io, uint32_t events)
{
	flush_late(ev_owner(io, struct gw, reader));
	while (take_answer(ev_owner(io, struct gw, reader), io, READER_IS))
		;
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

static int watch_helper(struct gw *gw, struct ev_io *io, ev_io_fn *fn)
{
	io->fn = fn;
	return io->fd < 0 ? 0 : ev_want(gw->ev, io, EPOLLIN);
}

int ask_attach(struct gw *gw, struct err *err)
{
	int r = watch_helper(gw, &gw->cred, on_cred);

	gw->dials_io = (struct ev_io){.fd = gw->dials, .fn = on_dials};
	if (r == 0)
		r = watch_helper(gw, &gw->reader, on_reader);
	if (r == 0)
		r = gw->dials < 0 ? -ENOTCONN : ev_want(gw->ev, &gw->dials_io, EPOLLIN);
	return r < 0 ? err_sys(err, -r, "cannot watch the edge") : 0;
}

/* A line to one of the helpers, in place of the one that there was. */
static int take_helper(struct gw *gw, struct wire_msg *m, struct ev_io *io)
{
	drop_helper(gw, io);
	if (io == &gw->cred) {
		gw->has_cred = true;
	} else {
		flush_late(gw); /* nothing of the last reader's */
		gw->reader_turn++;
	}
	return super_take_lines(m, &io->fd, 1);
}

int ask_set_up(struct gw *gw, struct wire_msg *m, struct err *err)
{
	int lines[2];

	if ((int)m->type == GW_CRED && gw->cred.fd < 0 && take_helper(gw, m, &gw->cred) == 0)
		return 0;
	if ((int)m->type == GW_READER && gw->reader.fd < 0 && take_helper(gw, m, &gw->reader) == 0)
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
		if (take_helper(gw, m, &gw->cred) < 0 || watch_helper(gw, &gw->cred, on_cred) < 0)
			gw_quit(gw);
		break;
	case GW_READER:
		if (take_helper(gw, m, &gw->reader) < 0 ||
		    watch_helper(gw, &gw->reader, on_reader) < 0)
			gw_quit(gw);
		break;
	case GW_LEAF_IS:
		a = take(gw, gw->sock, m->id);
		if (a)
			a->fn(a, m);
		break;
	default:
		gw_quit(gw);
		break;
	}
}
