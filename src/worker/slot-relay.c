/*
 * Questions of gateways for credentials. Each sandbox's supervisor connects here in place of a
 * credential helper of its own, and hands over a line to its gateway. The questions go home as they
 * are, and so do the answers back; nothing is kept, and nothing here judges: home does, with its own
 * rules. What the supervisor says to a helper (rules, budget) is of the node, and goes nowhere.
 */
#include "worker/node.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "wire/gateway-proto.h"

#define BACKLOG 8

struct line {
	struct relay *r;
	uint32_t number;
	int sock;     /* to the supervisor; -1: this place is free */
	int gate;     /* to the gateway; -1: none yet */
	char *closed; /* NULL or "": the budget is not used up; else why there is no header */
	struct ev_io sock_io, gate_io;
};

struct question {
	uint32_t number; /* 0: this place is free */
	uint32_t line, id;
};

struct relay {
	struct slot *s;
	int listener;
	struct ev_io io;
	uint32_t last;
	struct line lines[FLEET_LINES_MAX];
	struct question asked[FLEET_ASKS_MAX];
};

static void close_gate(struct line *l)
{
	if (l->gate < 0)
		return;
	(void)ev_want(l->r->s->n->ev, &l->gate_io, 0);
	closep(&l->gate);
	for (size_t i = 0; i < FLEET_ASKS_MAX; i++)
		if (l->r->asked[i].number && l->r->asked[i].line == l->number)
			l->r->asked[i].number = 0;
}

static void close_line(struct line *l)
{
	close_gate(l);
	if (l->sock >= 0)
		(void)ev_want(l->r->s->n->ev, &l->sock_io, 0);
	closep(&l->sock);
	free(take_ptr(l->closed));
}

/* ---- from a gateway ---- */

static void refuse(struct line *l, uint32_t id, int eno, const char *why)
{
	const struct gw_header h = {.error = (uint32_t)eno, .message = (char *)(uintptr_t)why};
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	gw_put_header(&b, &h);
	(void)wire_send(l->gate, (enum wire_type)GW_HEADER_IS, id, &b, NULL, 0);
}

static struct question *free_place(struct relay *r)
{
	for (size_t i = 0; i < FLEET_ASKS_MAX; i++)
		if (!r->asked[i].number)
			return &r->asked[i];
	return NULL;
}

/* The budget of this sandbox is used up: what providers are paid for is not asked. */
static bool is_closed(const struct line *l, const struct gw_header_ask *a)
{
	const json_t *row;
	size_t i;

	if (!l->closed || !*l->closed)
		return false;
	json_array_foreach (l->r->s->task.credentials, i, row) {
		const char *name = json_string_value(json_object_get(row, "name"));

		if (name && streq(name, a->credential))
			return json_is_string(json_object_get(row, "endpoint"));
	}
	return false;
}

static void ask(struct line *l, const struct wire_msg *m)
{
	struct relay *r = l->r;
	struct question *q = free_place(r);
	struct gw_header_ask a;
	struct fleet_ask out;

	if (gw_get_header_ask(m, &a) < 0) {
		close_gate(l);
		return;
	}
	if (is_closed(l, &a)) {
		refuse(l, m->id, EDQUOT, l->closed);
		return;
	}
	if (!q || r->s->n->deaf) {
		refuse(l, m->id, q ? EPIPE : EBUSY,
		       q ? "home cannot be reached" : "too many questions wait for home");
		return;
	}
	r->last = r->last == UINT32_MAX ? 1 : r->last + 1;
	*q = (struct question){.number = r->last, .line = l->number, .id = m->id};
	out = (struct fleet_ask){.line = l->number,
				 .number = q->number,
				 .kind = GW_HEADER,
				 .body = m->body.data,
				 .len = m->body.len};
	if (fleet_ask_put(&r->s->n->out, FLEET_ASK, r->s->id, &out) < 0) {
		q->number = 0;
		refuse(l, m->id, EBUSY, "home takes no more questions");
	}
	node_flush(r->s->n);
}

static void on_gate(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct line *l = ev_owner(io, struct line, gate_io);
	cleanup_wire_msg struct wire_msg m;
	int n;

	wire_msg_init(&m);
	n = wire_recv(l->gate, &m);
	if (n == -EAGAIN)
		return;
	if (n <= 0 || (int)m.type != GW_HEADER)
		close_gate(l);
	else
		ask(l, &m);
}

/* ---- from a supervisor ---- */

static void take_gate(struct line *l, struct wire_msg *m)
{
	close_gate(l);
	l->gate = wire_take_fd(m, 0);
	if (l->gate < 0)
		return;
	(void)fd_set_nonblock(l->gate, true);
	l->gate_io = (struct ev_io){.fd = l->gate, .fn = on_gate};
	(void)ev_want(l->r->s->n->ev, &l->gate_io, EPOLLIN);
}

static void take_budget(struct line *l, const struct wire_msg *m)
{
	struct wire_reader rd;
	const char *why;

	wire_read(&rd, m);
	why = wire_get_str(&rd);
	if (wire_read_end(&rd) < 0)
		return;
	free(l->closed);
	l->closed = xstrdup(why);
}

/* Ways that bring values into a sandbox: there are none from home. */
static void refuse_values(struct line *l, const struct wire_msg *m)
{
	bool spawn = (int)m->type == CRED_SPAWN;
	cleanup_strv struct strv none = {0};
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	wire_put_u32(&b, EPERM);
	wire_put_str(&b, "a credential of home's has only the way of a phantom");
	if (spawn)
		wire_put_u32(&b, 0);
	else
		wire_put_strv(&b, &none);
	(void)wire_send(l->sock, (enum wire_type)(spawn ? CRED_SPAWN_IS : CRED_VARS_IS), m->id, &b,
			NULL, 0);
}

static void on_supervisor(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct line *l = ev_owner(io, struct line, sock_io);
	cleanup_wire_msg struct wire_msg m;
	int n;

	wire_msg_init(&m);
	n = wire_recv(l->sock, &m);
	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		close_line(l);
		return;
	}
	switch ((int)m.type) {
	case CRED_LINE:
		take_gate(l, &m);
		break;
	case CRED_BUDGET:
		take_budget(l, &m);
		break;
	case CRED_SPAWN:
	case CRED_VARS:
		refuse_values(l, &m);
		break;
	default: /* rules: home has its own */
		break;
	}
}

static void on_connection(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct relay *r = ev_owner(io, struct relay, io);
	cleanup_fd int fd = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
	    peer.uid != geteuid())
		return;
	for (size_t i = 0; i < FLEET_LINES_MAX; i++) {
		struct line *l = &r->lines[i];

		if (l->sock >= 0)
			continue;
		l->sock = take_fd(fd);
		l->sock_io = (struct ev_io){.fd = l->sock, .fn = on_supervisor};
		(void)ev_want(ev, &l->sock_io, EPOLLIN);
		return;
	}
}

/* ---- from home ---- */

/* The gateway asks again for each request: nothing of an answer is kept on this machine. */
static void pass_header(struct line *l, uint32_t id, const struct fleet_ask *a)
{
	cleanup_wire_msg struct wire_msg m;
	struct gw_header h = {0};
	cleanup_buf struct buf b;

	wire_msg_init(&m);
	buf_init(&b, WIRE_BODY_MAX);
	(void)buf_append(&m.body, a->body, a->len);
	if (gw_get_header(&m, &h) < 0) {
		refuse(l, id, EPROTO, "home's answer is malformed");
	} else {
		h.keep_ms = 0;
		/* At once: a buffer that grows leaves what it held in freed memory. */
		(void)buf_reserve(&b, a->len + KiB);
		gw_put_header(&b, &h);
		(void)wire_send(l->gate, (enum wire_type)GW_HEADER_IS, id, &b, NULL, 0);
		gw_header_done(&h);
	}
	if (b.data)
		explicit_bzero(b.data, b.cap);
	if (m.body.data)
		explicit_bzero(m.body.data, m.body.cap);
}

int relay_answer(struct relay *r, const struct fleet_ask *a)
{
	struct line *l = &r->lines[a->line];

	if (a->number == 0) {
		cleanup_buf struct buf b;

		if (a->kind != CRED_USED && a->kind != CRED_EVENT)
			return -EPROTO;
		buf_init(&b, WIRE_INLINE_MAX);
		if (l->sock >= 0 && buf_append(&b, a->body, a->len) == 0)
			(void)wire_send(l->sock, (enum wire_type)a->kind, 0, &b, NULL, 0);
		return 0;
	}
	if (a->kind != GW_HEADER_IS)
		return -EPROTO;
	for (size_t i = 0; i < FLEET_ASKS_MAX; i++) {
		struct question *q = &r->asked[i];

		if (q->number != a->number || q->line != a->line)
			continue;
		q->number = 0;
		if (l->gate >= 0)
			pass_header(l, q->id, a);
		return 0;
	}
	return 0; /* the gateway is gone */
}

/* ---- all of it ---- */

static int listen_at(const char *path, int *ret, struct err *err)
{
	cleanup_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un sa = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(sa.sun_path))
		return err_set(err, ENAMETOOLONG, "the path '%s' is too long for a socket", path);
	memcpy(sa.sun_path, path, strlen(path) + 1);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || chmod(path, 0600) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return err_sys(err, errno, "cannot listen on '%s'", path);
	*ret = take_fd(fd);
	return 0;
}

struct relay *relay_new(struct slot *s, const char *path, struct err *err)
{
	struct relay *r;
	int fd;

	if (listen_at(path, &fd, err) < 0)
		return NULL;
	r = xcalloc(1, sizeof(*r));
	r->s = s;
	r->listener = fd;
	for (uint32_t i = 0; i < FLEET_LINES_MAX; i++)
		r->lines[i] = (struct line){.r = r, .number = i, .sock = -1, .gate = -1};
	r->io = (struct ev_io){.fd = fd, .fn = on_connection};
	(void)ev_want(s->n->ev, &r->io, EPOLLIN);
	return r;
}

struct relay *relay_free(struct relay *r)
{
	if (!r)
		return NULL;
	for (size_t i = 0; i < FLEET_LINES_MAX; i++)
		close_line(&r->lines[i]);
	(void)ev_want(r->s->n->ev, &r->io, 0);
	closep(&r->listener);
	free(r);
	return NULL;
}
