#include "edge/outpost-port.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "edge/edge.h"
#include "edge/reach/dnsserve.h"
#include "flow/event.h"
#include "edge/listen.h"
#include "wire/remote.h"

/* Somebody who has connected, and not yet said who it is. */
struct knock {
	struct gw *gw;
	struct ev_io io;
	struct ev_timer limit;
	struct ev_defer gone;
	size_t got;
	uint8_t hello[REMOTE_HELLO_LEN];
};

static void on_gone(struct ev *ev, struct ev_defer *d)
{
	struct knock *a = ev_owner(d, struct knock, gone);

	a->gw->edge->knocks--;
	a->gw->health.connections--;
	listeners_resume(a->gw);
	free(a);
}

/* The descriptor, which is the caller's from now on. */
static int leave(struct knock *a)
{
	(void)ev_want(a->gw->ev, &a->io, 0);
	ev_timer_stop(a->gw->ev, &a->limit);
	ev_defer(a->gw->ev, &a->gone);
	return take_fd(a->io.fd);
}

static void refuse(struct knock *a)
{
	static const char no[] = "HTTP/1.1 407 Proxy Authentication Required\r\n"
				 "Content-Length: 0\r\nConnection: close\r\n\r\n";
	const struct gw_event e = {
		.verb = GW_VERB_TCP,
		.verdict = GW_DENY,
		.phase = GW_END,
		.flow = ++a->gw->last_id,
		.status = 407,
		.reason = "a connection to the gateway's port without this sandbox's token",
	};
	cleanup_fd int fd = leave(a);

	event_send(a->gw, &e);
	/*
	 * With unread bytes in the socket the kernel would reset the connection and drop the
	 * answer.
	 */
	(void)recv(fd, a->gw->scratch, SCRATCH, MSG_DONTWAIT);
	(void)send(fd, no, sizeof(no) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)shutdown(fd, SHUT_WR);
}

static bool is_ours(const struct gw *gw, const struct remote_hello *h)
{
	const char *token = gw->config->outpost;
	unsigned char other = 0;

	if (!token || strlen(token) != REMOTE_TOKEN_LEN)
		return false;
	/* In constant time: whoever knocks may measure. */
	for (size_t i = 0; i < REMOTE_TOKEN_LEN; i++)
		other |= (unsigned char)(token[i] ^ h->token[i]);
	return other == 0;
}

/* A row that the outpost may speak for: its listener is not here. */
static const struct listener *row_of(const struct gw *gw, uint16_t row)
{
	return row < gw->edge->n_listeners && gw->edge->listeners[row].io.fd < 0
		       ? &gw->edge->listeners[row]
		       : NULL;
}

static void serve(struct knock *a, const struct remote_hello *h)
{
	const struct listener *l = row_of(a->gw, h->row);
	union sockaddr_any dialled = {0};
	struct gw *gw = a->gw;
	int fd = leave(a);

	if (!l) {
		(void)close(fd);
		return;
	}
	if (l->row.kind == GW_LISTEN_DNS_UDP || l->row.kind == GW_LISTEN_DNS_TCP) {
		dns_accept(gw, fd); /* a datagram comes as a query over TCP */
		return;
	}
	if (h->v6) {
		dialled.v6.sin6_family = AF_INET6;
		dialled.v6.sin6_port = htons(h->port);
		memcpy(&dialled.v6.sin6_addr, h->addr, 16);
	} else {
		dialled.v4.sin_family = AF_INET;
		dialled.v4.sin_port = htons(h->port);
		memcpy(&dialled.v4.sin_addr, h->addr, 4);
	}
	listener_serve(l, fd, &dialled);
}

static void on_io(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct knock *a = ev_owner(io, struct knock, io);
	struct remote_hello h;
	/* Nothing beyond the hello is read: the bytes after it belong to the connection. */
	ssize_t n = recv(io->fd, a->hello + a->got, sizeof(a->hello) - a->got, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 && a->got == 0) {
		int fd = leave(a); /* a look whether somebody is here */

		(void)close(fd);
		return;
	}
	a->got += n > 0 ? (size_t)n : 0;
	if (n > 0 && a->got < sizeof(a->hello) && remote_hello_may(a->hello, a->got))
		return;
	if (a->got < sizeof(a->hello) || remote_hello_get(a->hello, &h) < 0 || !is_ours(a->gw, &h))
		refuse(a);
	else
		serve(a, &h);
}

static void on_late(struct ev *ev, struct ev_timer *t)
{
	refuse(ev_owner(t, struct knock, limit));
}

void outpost_accept(struct gw *gw, int fd)
{
	struct knock *a;

	if (gw->edge->knocks >= KNOCKS_MAX) {
		(void)close(fd);
		return;
	}
	a = xcalloc(1, sizeof(*a));
	a->gw = gw;
	a->io = (struct ev_io){.fd = fd, .fn = on_io};
	a->limit.fn = on_late;
	a->gone.fn = on_gone;
	gw->edge->knocks++;
	gw->health.connections++;
	ev_timer_set(gw->ev, &a->limit, gw->config->head_ms ? gw->config->head_ms : HEAD_MS);
	if (ev_want(gw->ev, &a->io, EPOLLIN) < 0)
		refuse(a);
}
