/*
 * The supervisor's side of published ports.
 *
 * DOC: Theory of operation
 *
 * Each sandbox has a loopback address of its own, because browsers send a cookie of 127.0.0.1 to every
 * port of it, a server inside included. A port there is listened on here and handed to libexec/ralph/ports, which
 * accepts and copies bytes; this process reads none. For each connection ports asks for one to the
 * server inside (WIRE_DIAL), the question goes on to the guest, and the socket it made in the
 * sandbox's network comes back the same way (WIRE_DIALLED). Nothing inside ever holds a socket of
 * the host's network, and nothing inside can ask for a port to be published.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "supervisor/broker.h"

#define BACKLOG 64
#define SHARED_TRIES 16 /* of a port that is free at both addresses */

static void on_end(struct supervisor *s)
{
	if (s->ev && s->ports.sock >= 0)
		(void)ev_want(s->ev, &s->ports.io, 0);
	closep(&s->ports.sock);
	child_done(&s->ports.child);
	s->ports.n = 0; /* the listeners are gone with the program */
}

/* A question for a connection; nothing else comes from there. */
static void on_frame(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct supervisor *s = ev_owner(io, struct supervisor, ports.io);
	cleanup_wire_msg struct wire_msg m;
	int r;

	(void)ev;
	(void)events;
	wire_msg_init(&m);
	r = wire_recv(io->fd, &m);
	if (r == -EAGAIN)
		return;
	if (r <= 0 || m.type != WIRE_DIAL || m.id == 0 ||
	    wire_send(s->guest, WIRE_DIAL, m.id, &m.body, NULL, 0) < 0)
		on_end(s);
}

void ports_link_dialled(struct supervisor *s, const struct wire_msg *m)
{
	if (s->ports.sock >= 0 && m->n_fds <= 1 &&
	    wire_send(s->ports.sock, WIRE_DIALLED, m->id, &m->body, m->fds, m->n_fds) < 0)
		on_end(s);
}

static int start(struct supervisor *s, struct err *err)
{
	int r;

	if (s->ports.sock >= 0)
		return 0;
	r = sup_spawn(s, "ports", &s->ports.child, &s->ports.sock, err);
	if (r < 0)
		return r;
	(void)fd_set_nonblock(s->ports.sock, true);
	s->ports.io = (struct ev_io){.fd = s->ports.sock, .fn = on_frame};
	return ev_want(s->ev, &s->ports.io, EPOLLIN);
}

/*
 * Returns one of 127.64.0.1 to 127.127.255.254, by the name: FNV-1a. Two sandboxes that have the same
 * one share cookies, as all did before; nothing else depends on it.
 */
static uint32_t own_address(const char *name)
{
	uint32_t h = 2166136261U;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619U;
	h ^= h >> 16;
	return 0x7f400000U | (h & 0x3fff00U) | (1 + (h >> 24) % 254);
}

static void address_text(uint32_t address, char ret[INET_ADDRSTRLEN])
{
	const struct in_addr a = {.s_addr = htonl(address)};

	(void)inet_ntop(AF_INET, &a, ret, INET_ADDRSTRLEN);
}

int ports_listen(const char *name, uint16_t port, uint16_t *ret_port, int *ret, struct err *err)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(port)};
	cleanup_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	uint32_t address = name ? own_address(name) : INADDR_LOOPBACK;
	char text[INET_ADDRSTRLEN];
	socklen_t len = sizeof(sa);
	const int on = 1;

	sa.sin_addr.s_addr = htonl(address);
	address_text(address, text);
	if (fd < 0)
		return err_sys(err, errno, "cannot create a socket");
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&sa, len) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		return err_sys(err, errno, "cannot listen on %s port %u", text, port);
	*ret_port = ntohs(sa.sin_port);
	*ret = take_fd(fd);
	return 0;
}

static int tell(struct supervisor *s, enum wire_type type, const struct sup_port *p, int fd)
{
	cleanup_buf struct buf b;

	buf_init(&b, 64);
	wire_put_u32(&b, p->host);
	wire_put_u32(&b, p->inside);
	return wire_send(s->ports.sock, type, 0, &b, &fd, fd >= 0);
}

static int listen_at(struct supervisor *s, bool shared, uint16_t port, uint16_t *ret_port, int *ret,
		     struct err *err)
{
	return s->broker >= 0
		       ? broker_listen(s, shared, port, ret_port, ret, err)
		       : ports_listen(shared ? NULL : s->spec->name, port, ret_port, ret, err);
}

/*
 * Listens at the sandbox's own address, and with p->shared at 127.0.0.1 too. Where another program has
 * the port there, the own address alone leads inside.
 */
static int listen_both(struct supervisor *s, struct sup_port *p, int fds[2], struct err *err)
{
	uint16_t wanted = p->host, ignored;
	bool shared = p->shared;
	struct err other = {0};

	for (int i = 0; i < SHARED_TRIES; i++) {
		int r = listen_at(s, false, wanted, &p->host, &fds[0], err);

		if (r < 0)
			return r;
		p->shared = shared && listen_at(s, true, p->host, &ignored, &fds[1], &other) == 0;
		if (p->shared == shared || wanted)
			return 0;
		if (i + 1 < SHARED_TRIES)
			closep(&fds[0]);
	}
	return 0;
}

static int publish(struct supervisor *s, struct sup_port p, struct err *err)
{
	int r, fds[2] = {-1, -1};

	if (s->spec->container.remote_dial)
		return err_set(
			err, ENOTSUP,
			"engine %s is on another machine, and no port of a sandbox there can "
			"be published here; run the client with ralph exec, or use an engine "
			"of this machine",
			s->spec->engine);
	if (s->ports.n == SUP_PORTS_MAX)
		return err_set(err, E2BIG, "more than %d ports of one sandbox", SUP_PORTS_MAX);
	r = listen_both(s, &p, fds, err);
	if (r == 0)
		r = start(s, err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0 && (r = tell(s, WIRE_PORT_OPEN, &p, fds[i])) < 0)
			r = err_sys(err, -r, "cannot hand the port over");
	closep(&fds[0]);
	closep(&fds[1]);
	if (r < 0)
		return r;
	s->ports.v[s->ports.n++] = p;
	sup_event(s, "port-open", json_pack("{si si}", "host", p.host, "inside", p.inside));
	return 0;
}

static int unpublish(struct supervisor *s, struct sup_port p, struct err *err)
{
	for (size_t i = 0; i < s->ports.n; i++) {
		if (s->ports.v[i].host != p.host)
			continue;
		(void)tell(s, WIRE_PORT_CLOSE, &p, -1);
		s->ports.v[i] = s->ports.v[--s->ports.n];
		sup_event(s, "port-close", json_pack("{si}", "host", p.host));
		return 0;
	}
	return err_set(err, ENOENT, "port %u is not published", p.host);
}

static json_t *list(const struct supervisor *s)
{
	char address[INET_ADDRSTRLEN];
	json_t *a = json_array();

	address_text(own_address(s->spec->name), address);
	for (size_t i = 0; i < s->ports.n; i++) {
		const struct sup_port *p = &s->ports.v[i];

		(void)json_array_append_new(
			a, json_pack("{si si ss so sb}", "host", p->host, "inside", p->inside,
				     "address", address, "url",
				     json_sprintf("http://%s:%u/", address, p->host), "shared",
				     p->shared));
	}
	return json_pack("{so}", "ports", a);
}

void ports_update(struct client *c, const struct wire_msg *m)
{
	struct supervisor *s = c->sup;
	cleanup_json json_t *j = NULL;
	struct wire_reader r;
	struct sup_port p;
	struct err err = {0};
	uint32_t verb, host, inside;
	bool publishes;
	int result = 0;

	wire_read(&r, m);
	verb = wire_get_u32(&r);
	host = wire_get_u32(&r);
	inside = wire_get_u32(&r);
	if (wire_read_end(&r) < 0 || host > UINT16_MAX || inside > UINT16_MAX ||
	    verb >= WIRE_PORTS_N) {
		client_drop(c);
		return;
	}
	p = (struct sup_port){.host = (uint16_t)host,
			      .inside = (uint16_t)inside,
			      .shared = verb == WIRE_PORTS_PUBLISH_SHARED};
	publishes = verb == WIRE_PORTS_PUBLISH || p.shared;
	if (publishes && s->guest < 0)
		result = err_set(&err, ENOTSUP, "engine %s publishes no ports", s->spec->engine);
	else if (publishes)
		result = publish(s, p, &err);
	else if (verb == WIRE_PORTS_UNPUBLISH)
		result = unpublish(s, p, &err);
	if (result < 0) {
		client_failed(c, EXIT_RUNTIME, err.msg);
		return;
	}
	j = list(s);
	client_info(c, j);
}

void ports_link_stop(struct supervisor *s)
{
	on_end(s);
}
