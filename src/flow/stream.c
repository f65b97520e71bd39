#include "flow/stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "flow/gateway-limits.h"

static ssize_t sock_read(struct stream *s, void *p, size_t n)
{
	ssize_t r;

	do
		r = recv(s->io.fd, p, n, 0);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	/* A short read has emptied the socket; what comes later brings another event. An end that
	 * came before does not. */
	if ((size_t)r < n && !s->ended)
		s->readable = false;
	return r;
}

static ssize_t sock_write(struct stream *s, const void *p, size_t n)
{
	ssize_t r;

	do
		r = send(s->io.fd, p, n, MSG_NOSIGNAL);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}

static int sock_shutdown(struct stream *s)
{
	(void)shutdown(s->io.fd, SHUT_WR);
	return 0;
}

static void sock_done(struct stream *s)
{
	(void)s;
}

static bool sock_holds(const struct stream *s)
{
	return false;
}

static const struct stream_ops sock_ops = {sock_read, sock_write, sock_shutdown,
					   sock_done, sock_holds, NULL};

void stream_init(struct stream *s, int fd, ev_io_fn *fn)
{
	*s = (struct stream){.ops = &sock_ops, .io = {.fd = fd, .fn = fn}};
}

void stream_done(struct stream *s, struct ev *ev)
{
	if (!stream_open(s))
		return;
	ev_closing(ev, &s->io);
	s->ops->done(s);
	closep(&s->io.fd);
}

ssize_t stream_read(struct stream *s, void *p, size_t n)
{
	ssize_t r = s->ops->read(s, p, n);

	if (r == 0)
		s->eof = true;
	if (r <= 0)
		s->readable = false;
	return r;
}

ssize_t stream_write(struct stream *s, const void *p, size_t n)
{
	return s->ops->write(s, p, n);
}

int stream_shutdown(struct stream *s)
{
	return s->ops->shutdown(s);
}

bool stream_holds(const struct stream *s)
{
	return s->ops->holds(s);
}

static int want(struct stream *s, struct ev *ev, uint32_t events)
{
	return s->ops->want ? s->ops->want(s, events) : ev_want(ev, &s->io, events);
}

int stream_want(struct stream *s, struct ev *ev, bool in, bool out)
{
	uint32_t events = 0;

	if (!stream_open(s))
		return 0;
	if (in)
		events |= s->read_wants_out ? EPOLLOUT : EPOLLIN;
	if (out)
		events |= s->write_wants_in ? EPOLLIN : EPOLLOUT;
	return want(s, ev, events);
}

/* Edge-triggered, since a stream that has ended stays so; and more than nothing, which would take it
 * out of the loop. */
int stream_want_gone(struct stream *s, struct ev *ev)
{
	return want(s, ev, EPOLLET);
}

void stream_event(struct stream *s, uint32_t events)
{
	s->event = true;
	s->ended |= (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
	s->gone |= (events & (EPOLLHUP | EPOLLERR)) != 0;
	if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) ||
	    (s->read_wants_out && (events & EPOLLOUT)))
		s->readable = true;
}

int stream_flush(struct stream *s, struct buf *b, uint64_t *count)
{
	size_t sent = 0;
	ssize_t r = 0;

	while (sent < b->len) {
		r = stream_write(s, b->data + sent, b->len - sent);
		if (r < 0)
			break;
		sent += (size_t)r;
	}
	*count += sent;
	buf_consume(b, sent);
	if (r < 0)
		return (int)r;
	buf_done(b);
	return 0;
}

int stream_send(struct stream *s, struct buf *b, const void *p, size_t n, uint64_t *count)
{
	size_t sent = 0;

	while (b->len == 0 && sent < n) {
		ssize_t r = stream_write(s, (const char *)p + sent, n - sent);

		if (r == -EAGAIN)
			break;
		if (r < 0)
			return (int)r;
		sent += (size_t)r;
	}
	*count += sent;
	return sent < n ? buf_append(b, (const char *)p + sent, n - sent) : 0;
}

void socket_probe(int fd)
{
	int on = 1, seconds = PROBE_MS / 1000, probes = PROBES_MAX;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

void socket_reset_on_close(int fd)
{
	struct linger l = {.l_onoff = 1, .l_linger = 0};

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
}
