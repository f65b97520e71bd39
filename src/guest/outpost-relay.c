#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/duplex.h"
#include "base/fd.h"
#include "guest/outpost.h"
#include "wire/guest-proto.h"

#define PASSED_MAX 1024	       /* connections at once; more wait in the backlogs */
#define WAITING_MAX (64 * KiB) /* bytes on their way, each direction */
#define ACCEPT_BURST 16
#define REACH_MS 10000	/* for the gateway's machine to answer */
#define QUERY_MS 10000	/* for an answer to a datagram */
#define QUERIES_MAX 128 /* datagrams that wait for one */
#define DATAGRAM_MAX 4096

union address {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct row {
	struct relay *relay;
	struct ev_io io;
	uint16_t number;
	bool udp;
};

struct relay {
	struct ev *ev;
	struct row rows[GUEST_LISTENERS_MAX];
	size_t n_rows, n_passed, n_queries;
	struct sockaddr_storage gate;
	socklen_t gate_len;
	char token[REMOTE_TOKEN_LEN];
};

/* A connection of the sandbox. */
struct passed {
	struct relay *relay;
	struct duplex d;
	struct ev_defer free;
};

/* A datagram, which goes on as a query over TCP. */
struct query {
	struct row *row;
	struct ev_io io;
	struct ev_timer limit;
	struct ev_defer free;
	union address from;
	socklen_t from_len;
	struct buf out, in;
};

struct relay *relay_new(struct ev *ev)
{
	struct relay *r = xcalloc(1, sizeof(*r));

	r->ev = ev;
	return r;
}

static int dial_inside(const struct relay *r)
{
	const int on = 1;
	int fd = socket(r->gate.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (const struct sockaddr *)&r->gate, r->gate_len) < 0 &&
	    errno != EINPROGRESS) {
		int r2 = -errno;

		(void)close(fd);
		return r2;
	}
	return fd;
}

static int reach(const struct relay *r)
{
	cleanup_fd int fd = dial_inside(r);
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	socklen_t len = sizeof(int);
	int eno = 0;

	if (fd < 0)
		return fd;
	if (poll(&p, 1, REACH_MS) != 1)
		return -ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &eno, &len) < 0)
		return -errno;
	return -eno;
}

int relay_gate(struct relay *r, const struct wire_msg *m, struct err *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	const char *host, *token;
	struct wire_reader rd;
	char port[8];
	uint32_t n;
	int ret;

	wire_read(&rd, m);
	host = wire_get_str(&rd);
	n = wire_get_u32(&rd);
	token = wire_get_str(&rd);
	if (wire_read_end(&rd) < 0 || n > 65535 || strlen(token) != REMOTE_TOKEN_LEN)
		return err_set(err, EPROTO, "the outpost was not told where the gateway is");
	memcpy(r->token, token, REMOTE_TOKEN_LEN);
	(void)snprintf(port, sizeof(port), "%u", n);
	if (getaddrinfo(host, port, &hints, &found) != 0 || !found ||
	    found->ai_addrlen > sizeof(r->gate))
		return err_set(err, ENOENT, "containers there do not know '%s', this machine",
			       host);
	memcpy(&r->gate, found->ai_addr, found->ai_addrlen);
	r->gate_len = found->ai_addrlen;
	freeaddrinfo(found);
	ret = reach(r);
	return ret < 0 ? err_sys(err, -ret,
				 "containers there cannot reach this machine at %s port %u; let "
				 "them through its firewall, or use an engine of this machine",
				 host, n)
		       : 0;
}

/* ---- connections ---- */

static void set_accepting(struct relay *r, bool on)
{
	for (size_t i = 0; i < r->n_rows; i++)
		if (!r->rows[i].udp)
			(void)ev_want(r->ev, &r->rows[i].io, on ? EPOLLIN : 0);
}

static void passed_free(struct ev *ev, struct ev_defer *d)
{
	struct passed *p = ev_owner(d, struct passed, free);

	if (p->relay->n_passed-- == PASSED_MAX)
		set_accepting(p->relay, true);
	duplex_done(&p->d);
	free(p);
}

static void on_over(struct duplex *d)
{
	struct passed *p = ev_owner(d, struct passed, d);

	ev_defer(p->relay->ev, &p->free);
}

static void put_hello(const struct row *row, const union address *dialled, struct buf *out)
{
	struct remote_hello h = {.row = row->number};
	uint8_t bytes[REMOTE_HELLO_LEN];

	memcpy(h.token, row->relay->token, REMOTE_TOKEN_LEN);
	h.v6 = dialled->sa.sa_family == AF_INET6;
	if (h.v6) {
		memcpy(h.addr, &dialled->v6.sin6_addr, 16);
		h.port = ntohs(dialled->v6.sin6_port);
	} else {
		memcpy(h.addr, &dialled->v4.sin_addr, 4);
		h.port = ntohs(dialled->v4.sin_port);
	}
	remote_hello_put(bytes, &h);
	(void)buf_append(out, bytes, sizeof(bytes));
}

static void pass_on(struct row *row, int fd)
{
	struct relay *r = row->relay;
	struct passed *p = xcalloc(1, sizeof(*p));
	union address dialled = {0};
	socklen_t len = sizeof(dialled);
	int out;

	p->relay = r;
	p->free.fn = passed_free;
	p->d.over = on_over;
	duplex_init(&p->d, r->ev, fd, WAITING_MAX);
	if (++r->n_passed == PASSED_MAX)
		set_accepting(r, false);
	(void)getsockname(fd, &dialled.sa, &len);
	put_hello(row, &dialled, &p->d.out[1]);
	out = dial_inside(r);
	if (out < 0)
		duplex_close(&p->d);
	else
		duplex_join(&p->d, out);
}

static void on_accept(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct row *row = ev_owner(io, struct row, io);

	for (int i = 0; i < ACCEPT_BURST && row->relay->n_passed < PASSED_MAX; i++) {
		int fd = accept4(io->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		pass_on(row, fd);
	}
}

/* ---- datagrams ---- */

static void query_free(struct ev *ev, struct ev_defer *d)
{
	struct query *q = ev_owner(d, struct query, free);

	q->row->relay->n_queries--;
	buf_done(&q->out);
	buf_done(&q->in);
	free(q);
}

static void query_end(struct query *q)
{
	struct ev *ev = q->row->relay->ev;

	if (q->io.fd < 0)
		return;
	(void)ev_want(ev, &q->io, 0);
	closep(&q->io.fd);
	ev_timer_stop(ev, &q->limit);
	ev_defer(ev, &q->free);
}

static void on_query_late(struct ev *ev, struct ev_timer *t)
{
	query_end(ev_owner(t, struct query, limit));
}

/* The answer as a datagram, when all of it is there. false: it is over. */
static bool answer(struct query *q)
{
	const uint8_t *b = (const uint8_t *)q->in.data;
	size_t len = q->in.len >= 2 ? (size_t)(b[0] << 8 | b[1]) : 0;

	if (q->in.len < 2 || q->in.len < 2 + len)
		return buf_room(&q->in) > 0;
	(void)sendto(q->row->io.fd, b + 2, len, MSG_NOSIGNAL | MSG_DONTWAIT, &q->from.sa,
		     q->from_len);
	return false;
}

static void on_query(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct query *q = ev_owner(io, struct query, io);
	char piece[DATAGRAM_MAX];
	ssize_t n;

	if (q->out.len > 0) {
		n = send(io->fd, q->out.data, q->out.len, MSG_NOSIGNAL);
		if (n > 0)
			buf_consume(&q->out, (size_t)n);
	} else {
		n = recv(io->fd, piece, sizeof(piece), 0);
		if (n > 0 && buf_append(&q->in, piece, (size_t)n) < 0)
			n = 0;
	}
	if ((n < 0 && errno != EAGAIN && errno != EINTR) || n == 0 || !answer(q))
		query_end(q);
	else
		(void)ev_want(ev, io, q->out.len ? EPOLLOUT : EPOLLIN);
}

static void on_datagram(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct row *row = ev_owner(io, struct row, io);
	struct relay *r = row->relay;
	uint8_t text[2 + DATAGRAM_MAX];
	union address from, dialled = {.v4.sin_family = AF_INET};
	socklen_t len = sizeof(from);
	ssize_t n = recvfrom(io->fd, text + 2, DATAGRAM_MAX, MSG_DONTWAIT, &from.sa, &len);
	struct query *q;

	if (n <= 0 || r->n_queries >= QUERIES_MAX)
		return;
	text[0] = (uint8_t)((size_t)n >> 8);
	text[1] = (uint8_t)n;
	q = xcalloc(1, sizeof(*q));
	*q = (struct query){.row = row, .from = from, .from_len = len};
	q->free.fn = query_free;
	q->limit.fn = on_query_late;
	buf_init(&q->out, REMOTE_HELLO_LEN + sizeof(text));
	buf_init(&q->in, 2 + DATAGRAM_MAX);
	put_hello(row, &dialled, &q->out);
	(void)buf_append(&q->out, text, 2 + (size_t)n);
	r->n_queries++;
	q->io = (struct ev_io){.fd = dial_inside(r), .fn = on_query};
	if (q->io.fd < 0) {
		ev_defer(ev, &q->free);
		return;
	}
	ev_timer_set(ev, &q->limit, QUERY_MS);
	(void)ev_want(ev, &q->io, EPOLLOUT);
}

int relay_listen(struct relay *r, int fd)
{
	struct row *row = &r->rows[r->n_rows];
	socklen_t len = sizeof(int);
	int type = 0;

	if (r->n_rows == GUEST_LISTENERS_MAX ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || fd_set_nonblock(fd, true) < 0) {
		(void)close(fd);
		return -EPROTO;
	}
	*row = (struct row){.relay = r, .number = (uint16_t)r->n_rows++, .udp = type == SOCK_DGRAM};
	row->io = (struct ev_io){.fd = fd, .fn = row->udp ? on_datagram : on_accept};
	return ev_want(r->ev, &row->io, EPOLLIN);
}
