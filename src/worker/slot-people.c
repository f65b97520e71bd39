/*
 * What agents ask and what people answer, on its way between the loop of a task (loop/home-line.c) and home.
 * Messages go through as they are, each way of the kinds that this way may have; nothing here judges.
 * Rules may come before the loop runs: they wait in the line.
 */
#include "worker/node.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

struct people {
	struct slot *s;
	int fd, theirs; /* theirs: until the loop has it */
	struct ev_io io;
	struct fleet_in in;
	struct fleet_out out;
};

static void end(struct people *p)
{
	if (p->fd >= 0)
		(void)ev_want(p->s->n->ev, &p->io, 0);
	closep(&p->fd);
	slot_people_over(p->s);
}

static void want(struct people *p)
{
	uint32_t events = node_has_room(p->s->n) ? EPOLLIN : 0;

	if (p->fd >= 0)
		(void)ev_want(p->s->n->ev, &p->io,
			      events | (fleet_out_pending(&p->out) ? EPOLLOUT : 0));
}

static int pass_on(struct people *p)
{
	struct fleet_msg m;
	int r;

	while ((r = fleet_next(&p->in, &m)) > 0) {
		if (m.type != FLEET_EVENT && m.type != FLEET_QUESTION)
			return -EPROTO;
		(void)fleet_put(&p->s->n->out, m.type, p->s->id, m.data, m.len);
	}
	node_flush(p->s->n);
	return r;
}

static void on_line(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct people *p = ev_owner(io, struct people, io);
	int r = 1;

	if (events & EPOLLOUT)
		(void)fleet_out_write(&p->out, p->fd);
	if (events & ~(uint32_t)EPOLLOUT) {
		r = fleet_in_read(&p->in, p->fd);
		if (r > 0)
			r = pass_on(p) < 0 ? -EPROTO : 1;
	}
	if (r <= 0 && r != -EAGAIN)
		end(p);
	else
		want(p);
}

struct people *people_new(struct slot *s, struct err *err)
{
	struct people *p;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
		(void)err_sys(err, errno, "cannot make a pair of sockets");
		return NULL;
	}
	p = xcalloc(1, sizeof(*p));
	p->s = s;
	p->fd = fds[0];
	p->theirs = fds[1];
	(void)fd_set_nonblock(p->fd, true);
	fleet_in_init(&p->in, FLEET_NODE);
	fleet_out_init(&p->out);
	p->io = (struct ev_io){.fd = p->fd, .fn = on_line};
	want(p);
	return p;
}

struct people *people_free(struct people *p)
{
	if (!p)
		return NULL;
	if (p->fd >= 0)
		(void)ev_want(p->s->n->ev, &p->io, 0);
	closep(&p->fd);
	closep(&p->theirs);
	fleet_in_done(&p->in);
	fleet_out_done(&p->out);
	free(p);
	return NULL;
}

int people_theirs(const struct people *p)
{
	return p->theirs;
}

void people_given(struct people *p)
{
	closep(&p->theirs);
}

bool people_over(const struct people *p)
{
	return !p || p->fd < 0 || p->theirs >= 0;
}

int people_take(struct people *p, const struct fleet_msg *m)
{
	int r = p->fd < 0 ? 0 : fleet_put(&p->out, m->type, 0, m->data, m->len);

	if (p->fd >= 0)
		(void)fleet_out_write(&p->out, p->fd);
	want(p);
	return r;
}

void people_resume(struct people *p)
{
	want(p);
}
