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
#include "base/ev.h"
#include "base/fd.h"
#include "wire/wire.h"

#define SOCK_FD 3
#define PORTS_MAX 64
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
	struct ev_io io[2];	/* the host's client, the server inside */
	struct buf out[2];	/* what that side has still to take */
	bool ended[2], told[2]; /* that side sends no more; it was told that the other does not */
	bool closed;
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
	for (int i = 0; i < 2; i++)
		buf_done(&p->out[i]);
	free(p);
}

static void pair_close(struct pair *p)
{
	if (p->closed)
		return;
	p->closed = true;
	ev_timer_stop(p->relay->ev, &p->limit);
	for (int i = 0; i < 2; i++) {
		if (p->io[i].fd < 0)
			continue;
		(void)ev_want(p->relay->ev, &p->io[i], 0);
		closep(&p->io[i].fd);
	}
	ev_defer(p->relay->ev, &p->free);
}

/* Interest follows from what there is to do. */
static void pair_want(struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		struct buf *mine = &p->out[i], *other = &p->out[1 - i];
		uint32_t want = 0;

		if (!p->ended[i] && buf_room(other) > 0)
			want |= EPOLLIN;
		if (mine->len > 0)
			want |= EPOLLOUT;
		else if (p->ended[1 - i] && !p->told[i]) {
			(void)shutdown(p->io[i].fd, SHUT_WR);
			p->told[i] = true;
		}
		(void)ev_want(p->relay->ev, &p->io[i], want);
	}
	if (p->told[0] && p->told[1])
		pair_close(p);
}

/* False when the connection is of no use any more. */
static bool take(struct pair *p, int i)
{
	char piece[16 * 1024];
	size_t room = buf_room(&p->out[1 - i]);
	ssize_t n = recv(p->io[i].fd, piece, room < sizeof(piece) ? room : sizeof(piece), 0);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		p->ended[i] = true;
	return n == 0 || buf_append(&p->out[1 - i], piece, (size_t)n) == 0;
}

static bool give(struct pair *p, int i)
{
	ssize_t n = send(p->io[i].fd, p->out[i].data, p->out[i].len, MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	buf_consume(&p->out[i], (size_t)n);
	return true;
}

static void move(struct pair *p, int i, uint32_t events)
{
	bool ok = true;

	if (ok && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && !p->ended[i] &&
	    buf_room(&p->out[1 - i]) > 0)
		ok = take(p, i);
	if (ok && (events & EPOLLOUT) && p->out[i].len > 0)
		ok = give(p, i);
	/* Somebody who is gone altogether takes nothing either. */
	if (!ok || ((events & EPOLLERR) && p->ended[i]))
		pair_close(p);
	else
		pair_want(p);
}

static void on_client(struct ev *ev, struct ev_io *io, uint32_t events)
{
	(void)ev;
	move(ev_owner(io, struct pair, io[0]), 0, events);
}

static void on_server(struct ev *ev, struct ev_io *io, uint32_t events)
{
	(void)ev;
	move(ev_owner(io, struct pair, io[1]), 1, events);
}

static void on_limit(struct ev *ev, struct ev_timer *t)
{
	(void)ev;
	pair_close(ev_owner(t, struct pair, limit));
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
	p->io[0] = (struct ev_io){.fd = fd, .fn = on_client};
	p->io[1] = (struct ev_io){.fd = -1, .fn = on_server};
	for (int i = 0; i < 2; i++)
		buf_init(&p->out[i], WAITING_MAX);
	r->pairs = p;
	r->n_pairs++;
	ev_timer_set(r->ev, &p->limit, DIAL_MS);
	wire_put_u32(&b, port->inside);
	if (wire_send(SOCK_FD, WIRE_DIAL, p->id, &b, NULL, 0) < 0)
		pair_close(p);
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

	while (p && (p->id != m->id || p->closed || p->io[1].fd >= 0))
		p = p->next;
	if (!p)
		return; /* its client has gone */
	p->io[1].fd = error ? -1 : wire_take_fd(m, 0);
	if (p->io[1].fd < 0 || fd_set_nonblock(p->io[1].fd, true) < 0) {
		pair_close(p);
		return;
	}
	ev_timer_stop(r->ev, &p->limit);
	pair_want(p);
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

/* What is open stays so; nothing new is accepted. */
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
