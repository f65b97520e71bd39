#include "wire/fleet-tunnel.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

#define PIECE (32 * KiB)
#define WINDOW_STEP (64 * KiB) /* taken bytes are told in such steps */

static void say(struct fleet_tunnel *t, enum fleet_type type, uint32_t value)
{
	(void)fleet_pair_put(t->line->out, type, t->line->id, t->channel, value);
	t->line->flush(t->line);
}

void fleet_tunnel_drop(struct fleet_tunnel *t)
{
	if (!fleet_tunnel_used(t))
		return;
	(void)ev_want(t->line->ev, &t->io, 0);
	closep(&t->fd);
	buf_done(&t->down);
	t->fd = -1;
	t->open = false;
}

void fleet_tunnel_fail(struct fleet_tunnel *t, int eno)
{
	say(t, FLEET_CLOSE, (uint32_t)eno);
	fleet_tunnel_drop(t);
}

static void drop_if_over(struct fleet_tunnel *t)
{
	if (t->up_ended && t->down_ended && t->down.len == 0)
		fleet_tunnel_drop(t);
}

static bool may_read(const struct fleet_tunnel *t)
{
	return !t->up_ended && t->credit && t->line->has_room(t->line);
}

static void want(struct fleet_tunnel *t)
{
	if (t->open)
		(void)ev_want(t->line->ev, &t->io,
			      (t->down.len ? EPOLLOUT : 0u) | (may_read(t) ? EPOLLIN : 0u));
}

void fleet_tunnel_resume(struct fleet_tunnel *t)
{
	want(t);
}

void fleet_tunnel_send(struct fleet_tunnel *t, const void *p, size_t n)
{
	t->credit -= n;
	(void)fleet_data_put(t->line->out, t->line->id, t->channel, p, n);
	t->line->flush(t->line);
}

static void read_up(struct fleet_tunnel *t)
{
	char piece[PIECE];
	ssize_t n;

	if (!may_read(t))
		return;
	n = read(t->fd, piece, t->credit < sizeof(piece) ? t->credit : sizeof(piece));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		fleet_tunnel_fail(t, ECONNRESET);
		return;
	}
	if (n == 0) {
		t->up_ended = true;
		say(t, FLEET_CLOSE, 0);
		drop_if_over(t);
		return;
	}
	fleet_tunnel_send(t, piece, (size_t)n);
}

static void write_down(struct fleet_tunnel *t)
{
	ssize_t n = t->down.len ? send(t->fd, t->down.data, t->down.len, MSG_NOSIGNAL) : 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		fleet_tunnel_fail(t, ECONNRESET);
		return;
	}
	buf_consume(&t->down, (size_t)n);
	t->taken += (size_t)n;
	if (t->taken >= WINDOW_STEP || (t->taken && t->down.len == 0)) {
		say(t, FLEET_WINDOW, (uint32_t)t->taken);
		t->taken = 0;
	}
	if (t->down.len == 0 && t->down_ended)
		(void)shutdown(t->fd, SHUT_WR);
	drop_if_over(t);
}

static void on_io(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct fleet_tunnel *t = ev_owner(io, struct fleet_tunnel, io);

	if (t->open && events & EPOLLOUT)
		write_down(t);
	if (t->open && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		read_up(t);
	want(t);
}

void fleet_tunnel_init(struct fleet_tunnel *t, struct fleet_line *line, uint32_t channel, int fd)
{
	*t = (struct fleet_tunnel){
		.line = line, .channel = channel, .fd = fd, .io.fd = fd, .credit = FLEET_CREDIT};
	buf_init(&t->down, FLEET_CREDIT);
}

void fleet_tunnel_begin(struct fleet_tunnel *t)
{
	t->io.fn = on_io;
	t->open = true;
	want(t);
}

/* ---- from the stream ---- */

static int on_data(struct fleet_tunnel *t, const struct fleet_msg *m)
{
	uint32_t channel;
	const char *p;
	size_t n;

	/* More than was allowed to be on its way. */
	if (fleet_data_read(m, &channel, &p, &n) < 0 || !t->open || t->down_ended ||
	    t->down.len + t->taken + n > FLEET_CREDIT || buf_append(&t->down, p, n) < 0)
		return -EPROTO;
	write_down(t);
	return 0;
}

static int on_close(struct fleet_tunnel *t, uint32_t eno)
{
	if (eno || !t->open) {
		fleet_tunnel_drop(t);
		return 0;
	}
	if (t->down_ended)
		return -EPROTO;
	t->down_ended = true;
	if (t->down.len == 0)
		(void)shutdown(t->fd, SHUT_WR);
	drop_if_over(t);
	return 0;
}

static int on_window(struct fleet_tunnel *t, uint32_t n)
{
	if (!t->open || n > FLEET_CREDIT - t->credit)
		return -EPROTO;
	t->credit += n;
	return 0;
}

int fleet_tunnel_channel(const struct fleet_msg *m, uint32_t *ret)
{
	const char *p;
	uint32_t value;
	size_t n;

	return m->type == FLEET_DATA ? fleet_data_read(m, ret, &p, &n)
				     : fleet_pair_read(m, ret, &value);
}

int fleet_tunnel_take(struct fleet_tunnel *t, const struct fleet_msg *m)
{
	uint32_t channel, value;
	int r;

	if (m->type == FLEET_DATA) {
		r = on_data(t, m);
	} else if (fleet_pair_read(m, &channel, &value) < 0) {
		r = -EPROTO;
	} else {
		r = m->type == FLEET_CLOSE ? on_close(t, value) : on_window(t, value);
	}
	want(t);
	return r;
}
