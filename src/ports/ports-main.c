/*
 * ROOM: ports
 *
 * libexec/ralph/ports carries connections to published ports. It knows no spec and no policy.
 */
/*
 * libexec/ralph/ports: carries connections from ports of the host's loopback to servers in one
 * sandbox.
 *
 * DOC: Theory of operation
 *
 * Descriptor 3 leads to the supervisor, which hands over listeners (WIRE_PORT_OPEN) and takes them
 * back (WIRE_PORT_CLOSE). A connection that is accepted waits until the supervisor has answered
 * WIRE_DIAL with a socket of the sandbox's network; then bytes are copied both ways, each side read
 * only while the other takes them. The end of descriptor 3 is the end of everything.
 *
 *	WAITING ── WIRE_DIALLED ──► OPEN ── both ends done, or an error ──► closed
 */
#include <netinet/in.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/duplex.h"
#include "base/ev.h"
#include "base/fd.h"
#include "wire/wire.h"

#define SOCK_FD 3
#define PORTS_MAX 128 /* listeners: a port has two while it is shared */
#define PAIRS_MAX 512
#define WAITING_MAX (64 * KiB) /* bytes on their way, each direction */
#define ACCEPT_BURST 16
#define DIAL_MS 10000

struct relay;

struct port {
	struct relay *relay;
	struct ev_io io;
	uint32_t host, inside;
	bool used;
};

struct pair {
	struct relay *relay;
	struct pair *next;
	uint32_t id;
	struct duplex d; /* the host's client, the server inside */
	struct ev_timer limit;
	struct ev_defer free;
};

struct relay {
	struct ev *ev;
	struct ev_io sock;
	struct port ports[PORTS_MAX];
	struct pair *pairs;
	size_t n_pairs;
	uint32_t last_id;
};

static void pair_free(struct ev *ev, struct ev_defer *d)
{
	struct pair *p = ev_owner(d, struct pair, free), **at = &p->relay->pairs;

	(void)ev;
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	p->relay->n_pairs--;
	duplex_done(&p->d);
	free(p);
}

static void on_over(struct duplex *d)
{
	struct pair *p = ev_owner(d, struct pair, d);

	ev_timer_stop(p->relay->ev, &p->limit);
	ev_defer(p->relay->ev, &p->free);
}

static void on_limit(struct ev *ev, struct ev_timer *t)
{
	(void)ev;
	duplex_close(&ev_owner(t, struct pair, limit)->d);
}

static void pair_new(struct port *port, int fd)
{
	struct relay *r = port->relay;
	struct pair *p = xcalloc(1, sizeof(*p));
	cleanup_buf struct buf b;

	buf_init(&b, 64);
	*p = (struct pair){
		.relay = r, .next = r->pairs, .limit.fn = on_limit, .free.fn = pair_free};
	p->id = ++r->last_id ? r->last_id : ++r->last_id;
	duplex_init(&p->d, r->ev, fd, WAITING_MAX);
	p->d.over = on_over;
	r->pairs = p;
	r->n_pairs++;
	ev_timer_set(r->ev, &p->limit, DIAL_MS);
	wire_put_u32(&b, port->inside);
	if (wire_send(SOCK_FD, WIRE_DIAL, p->id, &b, NULL, 0) < 0)
		duplex_close(&p->d);
}

static void on_accept(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct port *port = ev_owner(io, struct port, io);

	(void)ev;
	(void)events;
	for (int i = 0; i < ACCEPT_BURST; i++) {
		int fd = accept4(io->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		if (port->relay->n_pairs >= PAIRS_MAX)
			(void)close(fd);
		else
			pair_new(port, fd);
	}
}

static void on_dialled(struct relay *r, struct wire_msg *m, uint32_t error)
{
	struct pair *p = r->pairs;
	int fd;

	while (p && (p->id != m->id || p->d.closed || p->d.io[1].fd >= 0))
		p = p->next;
	if (!p)
		return; /* the client has gone */
	fd = error ? -1 : wire_take_fd(m, 0);
	if (fd < 0 || fd_set_nonblock(fd, true) < 0) {
		closep(&fd);
		duplex_close(&p->d);
		return;
	}
	ev_timer_stop(r->ev, &p->limit);
	duplex_join(&p->d, fd);
}

static void on_open(struct relay *r, struct wire_msg *m, uint32_t host, uint32_t inside)
{
	for (size_t i = 0; i < PORTS_MAX; i++) {
		struct port *p = &r->ports[i];

		if (p->used)
			continue;
		*p = (struct port){.relay = r, .host = host, .inside = inside, .used = true};
		p->io = (struct ev_io){.fd = wire_take_fd(m, 0), .fn = on_accept};
		(void)ev_want(r->ev, &p->io, EPOLLIN);
		return;
	}
}

/* Stops accepting on this port; open connections stay. */
static void on_close(struct relay *r, uint32_t host)
{
	for (size_t i = 0; i < PORTS_MAX; i++) {
		struct port *p = &r->ports[i];

		if (!p->used || p->host != host)
			continue;
		(void)ev_want(r->ev, &p->io, 0);
		closep(&p->io.fd);
		p->used = false;
	}
}

static void on_frame(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct relay *r = ev_owner(io, struct relay, sock);
	cleanup_wire_msg struct wire_msg m;
	struct wire_reader rd;
	uint32_t a, b = 0;
	int got;

	(void)events;
	wire_msg_init(&m);
	got = wire_recv(io->fd, &m);
	if (got == -EAGAIN)
		return;
	wire_read(&rd, &m);
	a = got > 0 ? wire_get_u32(&rd) : 0;
	if (got > 0 && m.type != WIRE_DIALLED)
		b = wire_get_u32(&rd);
	if (got <= 0 || wire_read_end(&rd) < 0)
		ev_stop(ev);
	else if (m.type == WIRE_DIALLED)
		on_dialled(r, &m, a);
	else if (m.type == WIRE_PORT_OPEN && m.n_fds == 1)
		on_open(r, &m, a, b);
	else if (m.type == WIRE_PORT_CLOSE)
		on_close(r, a);
	else
		ev_stop(ev);
}

int main(void)
{
	const struct rlimit none = {0, 0};
	static struct relay r;
	struct err err = {0};

	(void)prctl(PR_SET_DUMPABLE, 0);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)setrlimit(RLIMIT_CORE, &none);
	if (ev_new(&r.ev, &err) < 0 || fd_set_nonblock(SOCK_FD, true) < 0)
		return EXIT_RUNTIME;
	r.sock = (struct ev_io){.fd = SOCK_FD, .fn = on_frame};
	if (ev_want(r.ev, &r.sock, EPOLLIN) < 0 || ev_run(r.ev, &err) < 0)
		return EXIT_RUNTIME;
	return EXIT_OK;
}
