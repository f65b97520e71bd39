#include "edge/listen.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "edge/edge.h"
#include "edge/reach/dnsserve.h"
#include "edge/reach/names.h"
#include "edge/outpost-port.h"
#include "flow/stream.h"

void socket_tune(int fd)
{
	int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void listener_serve(const struct listener *l, int fd, const union sockaddr_any *dialled)
{
	struct conn *c = edge_accept(l->gw, l, fd, dialled);

	if (l->row.kind == GW_LISTEN_PROXY || l->row.kind == GW_LISTEN_ENDPOINTS)
		conn_go(c, CONN_FIRST, "accepted");
	else
		edge_start_transparent(c);
}

static void accept_one(struct listener *l, int fd)
{
	struct gw *gw = l->gw;

	gw->health.accepted++;
	if (l->row.kind == GW_LISTEN_DNS_TCP)
		dns_accept(gw, fd);
	else if (l->row.kind == GW_LISTEN_OUTPOST)
		outpost_accept(gw, fd);
	else
		listener_serve(l, fd, &l->at);
}

/* At most a burst, so that a flood on one listener leaves the others their turn. */
static void on_accept(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct listener *l = ev_owner(io, struct listener, io);

	for (int i = 0; i < ACCEPT_BURST; i++) {
		int fd;

		if (l->gw->health.connections >= l->gw->max_conns) {
			listeners_pause(l->gw);
			return;
		}
		fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0) {
			/* Out of descriptors: wait until a connection ends. */
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			    errno == ENOMEM)
				listeners_pause(l->gw);
			return;
		}
		accept_one(l, fd);
		/* The lowest free number is given out first: this many are in use. The rest is for
		 * the servers' side of what has been accepted. */
		if ((size_t)fd >= l->gw->max_fd) {
			listeners_pause(l->gw);
			return;
		}
	}
}

static void on_datagram(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct listener *l = ev_owner(io, struct listener, io);

	dns_datagrams(l->gw, io->fd);
}

/* What a connection was dialled to need not be asked for where there is one address only. */
static void note_address(struct listener *l)
{
	socklen_t len = sizeof(l->at);
	struct ip ip;
	uint16_t port;

	if (getsockname(l->io.fd, &l->at.sa, &len) < 0 ||
	    ip_from_sockaddr(&l->at.sa, &ip, &port) < 0 || addr_class(&ip) == ADDR_UNSPECIFIED)
		l->at.sa.sa_family = AF_UNSPEC;
}

int listeners_start(struct gw *gw, struct err *err)
{
	for (size_t i = 0; i < gw->edge->n_listeners; i++) {
		struct listener *l = &gw->edge->listeners[i];
		int r;

		l->gw = gw;
		l->io.fn = l->row.kind == GW_LISTEN_DNS_UDP ? on_datagram : on_accept;
		if (l->row.kind == GW_LISTEN_STANDIN) {
			r = names_pin(gw->edge->names, l->row.host, l->row.addr);
			if (r < 0)
				return err_set(err, -r, "'%s' cannot stand for '%s'", l->row.addr,
					       l->row.host);
		}
		if (l->io.fd < 0)
			continue; /* of a sandbox elsewhere: its outpost accepts */
		note_address(l);
		/* Accepted connections inherit the socket options. */
		if (l->row.kind != GW_LISTEN_DNS_UDP)
			socket_tune(l->io.fd);
		r = fd_set_nonblock(l->io.fd, true);
		if (r == 0)
			r = ev_want(gw->ev, &l->io, EPOLLIN);
		if (r < 0)
			return err_sys(err, -r, "cannot serve %s port %d",
				       gw_listen_kind_name(l->row.kind), l->row.port);
	}
	gw->edge->accepting = true;
	return 0;
}

static void set_all(struct gw *gw, uint32_t want)
{
	for (size_t i = 0; i < gw->edge->n_listeners; i++)
		if (gw->edge->listeners[i].row.kind != GW_LISTEN_DNS_UDP &&
		    gw->edge->listeners[i].io.fd >= 0)
			(void)ev_want(gw->ev, &gw->edge->listeners[i].io, want);
}

void listeners_pause(struct gw *gw)
{
	if (gw->edge->accepting)
		set_all(gw, 0);
	gw->edge->accepting = false;
}

void listeners_resume(struct gw *gw)
{
	/* Some room, so that one connection's end does not toggle everything. */
	if (gw->edge->accepting || gw->health.connections + ACCEPT_BURST > gw->max_conns)
		return;
	set_all(gw, EPOLLIN);
	gw->edge->accepting = true;
}
