#include "base/duplex.h"

#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

/* Interest follows from what there is to do. */
static void want(struct duplex *d)
{
	for (int i = 0; i < 2; i++) {
		struct buf *mine = &d->out[i], *other = &d->out[1 - i];
		uint32_t events = 0;

		if (!d->ended[i] && buf_room(other) > 0)
			events |= EPOLLIN;
		if (mine->len > 0)
			events |= EPOLLOUT;
		else if (d->ended[1 - i] && !d->told[i]) {
			(void)shutdown(d->io[i].fd, SHUT_WR);
			d->told[i] = true;
		}
		(void)ev_want(d->ev, &d->io[i], events);
	}
	if (d->told[0] && d->told[1])
		duplex_close(d);
}

/* False when the connection is of no use any more. */
static bool take(struct duplex *d, int i)
{
	char piece[16 * 1024];
	size_t room = buf_room(&d->out[1 - i]);
	ssize_t n = recv(d->io[i].fd, piece, room < sizeof(piece) ? room : sizeof(piece), 0);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		d->ended[i] = true;
	return n == 0 || buf_append(&d->out[1 - i], piece, (size_t)n) == 0;
}

static bool give(struct duplex *d, int i)
{
	ssize_t n = send(d->io[i].fd, d->out[i].data, d->out[i].len, MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	buf_consume(&d->out[i], (size_t)n);
	return true;
}

static void move(struct duplex *d, int i, uint32_t events)
{
	bool ok = true;

	if (ok && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && !d->ended[i] &&
	    buf_room(&d->out[1 - i]) > 0)
		ok = take(d, i);
	if (ok && (events & EPOLLOUT) && d->out[i].len > 0)
		ok = give(d, i);
	/* Somebody who is gone altogether takes nothing either. */
	if (!ok || ((events & EPOLLERR) && d->ended[i]))
		duplex_close(d);
	else
		want(d);
}

static void on_first(struct ev *ev, struct ev_io *io, uint32_t events)
{
	(void)ev;
	move(ev_owner(io, struct duplex, io[0]), 0, events);
}

static void on_second(struct ev *ev, struct ev_io *io, uint32_t events)
{
	(void)ev;
	move(ev_owner(io, struct duplex, io[1]), 1, events);
}

void duplex_init(struct duplex *d, struct ev *ev, int fd, size_t max)
{
	d->ev = ev;
	d->io[0] = (struct ev_io){.fd = fd, .fn = on_first};
	d->io[1] = (struct ev_io){.fd = -1, .fn = on_second};
	for (int i = 0; i < 2; i++)
		buf_init(&d->out[i], max);
}

void duplex_join(struct duplex *d, int fd)
{
	d->io[1].fd = fd;
	want(d);
}

void duplex_close(struct duplex *d)
{
	if (d->closed)
		return;
	d->closed = true;
	for (int i = 0; i < 2; i++) {
		if (d->io[i].fd < 0)
			continue;
		(void)ev_want(d->ev, &d->io[i], 0);
		closep(&d->io[i].fd);
	}
	d->over(d);
}

void duplex_done(struct duplex *d)
{
	for (int i = 0; i < 2; i++)
		buf_done(&d->out[i]);
}
