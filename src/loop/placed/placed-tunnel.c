/* Tunnels that a node asks for: see placed-gate.h. */
#include "loop/placed/placed.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "compose/cred-place.h"
#include "loop/placed/placed-gate.h"
#include "wire/fleet-tunnel.h"

#define TUNNELS_MAX 128	     /* of one worker: what they hold of a hostile one is bounded by this */
#define ANSWER_MAX (8 * KiB) /* the head of the edge's answer to CONNECT */

struct placed_tunnel {
	struct fleet_tunnel f;
	struct placed_tunnels *all;
	bool endpoints; /* for `dial: home` */
};

struct placed_tunnels {
	struct placed *p;
	struct fleet_line line;
	struct placed_tunnel v[TUNNELS_MAX];
};

static void flush(struct fleet_line *line)
{
	placed_flush(ev_owner(line, struct placed_tunnels, line)->p);
}

static bool has_room(const struct fleet_line *line)
{
	return fleet_out_pending(line->out) < FLEET_QUEUE_LOW;
}

static struct placed_tunnels *tunnels_of(struct placed *p)
{
	struct placed_tunnels *all = p->tunnels;

	if (all)
		return all;
	all = p->tunnels = xcalloc(1, sizeof(*all));
	all->p = p;
	all->line = (struct fleet_line){.ev = p->w->l->ev,
					.out = &p->s->to,
					.id = p->slot,
					.flush = flush,
					.has_room = has_room};
	return all;
}

/* ---- a tunnel's beginning ---- */

static void say_opened(struct placed *p, uint32_t channel, int eno)
{
	(void)fleet_pair_put(&p->s->to, FLEET_OPENED, p->slot, channel, (uint32_t)eno);
	placed_flush(p);
}

/* As the edge's answer has it; 0: the tunnel stands. */
static int errno_of(const char *head)
{
	static const char version[] = "HTTP/1.1 ";
	const char *at = head + strlen(version);
	char digits[4] = "";
	uint64_t status = 0;

	if (strncmp(head, version, strlen(version)) == 0 && strlen(at) > 3)
		memcpy(digits, at, 3);
	if (parse_uint(digits, 100, 599, &status) < 0)
		return EPROTO;
	return status == 200 ? 0 : status == 403 ? EPERM : status == 504 ? ETIMEDOUT : EHOSTUNREACH;
}

/* Nothing behind the head is read here: it is the server's first bytes. */
static void on_answer(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct placed_tunnel *t =
		ev_owner(ev_owner(io, struct fleet_tunnel, io), struct placed_tunnel, f);
	struct placed *p = t->all->p;
	uint32_t channel = t->f.channel;
	char head[ANSWER_MAX + 1];
	ssize_t n = recv(t->f.fd, head, ANSWER_MAX, MSG_PEEK);
	const char *end;
	int eno;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	head[n > 0 ? n : 0] = '\0';
	end = strstr(head, "\r\n\r\n");
	if (n > 0 && !end && n < (ssize_t)ANSWER_MAX)
		return;
	eno = end ? errno_of(head) : EHOSTUNREACH;
	if (end)
		(void)recv(t->f.fd, head, (size_t)(end + 4 - head), 0);
	if (eno)
		fleet_tunnel_drop(&t->f);
	say_opened(p, channel, eno);
	if (!eno)
		fleet_tunnel_begin(&t->f);
}

/* The target is one word of printable ASCII: fleet_open_read(). */
static int ask_edge(struct placed_tunnel *t, const char *target)
{
	cleanup_free char *text =
		xasprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target);

	/* A new socket takes a request of this size at once. */
	if (send(t->f.fd, text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text))
		return -EHOSTUNREACH;
	t->f.io.fn = on_answer;
	return ev_want(t->f.line->ev, &t->f.io, EPOLLIN);
}

static bool has_home_credential(const struct loop *l)
{
	for (size_t i = 0; l->build.spec && i < l->build.spec->n_credentials; i++)
		if (cred_place(&l->build.spec->credentials[i], l->placement) == CRED_PLACE_HOME)
			return true;
	return false;
}

/* 0, or why there is no such tunnel for this worker at all. */
static int judge(const struct placed *p, enum fleet_open_kind kind)
{
	const struct loop *l = p->w->l;

	if (kind == FLEET_OPEN_HOST)
		return l->placement->egress && streq(l->placement->egress, "home") ? 0 : EPERM;
	if (!has_home_credential(l))
		return EPERM;
	return placed_share_is_used(p) ? EDQUOT : 0;
}

static struct placed_tunnel *find(struct placed_tunnels *all, uint32_t channel)
{
	for (size_t i = 0; i < TUNNELS_MAX; i++)
		if (fleet_tunnel_used(&all->v[i].f) && all->v[i].f.channel == channel)
			return &all->v[i];
	return NULL;
}

static int begin(struct placed_tunnels *all, const struct fleet_open *o)
{
	struct placed_tunnel *t = NULL;
	struct err err = {0};
	int fd = -1, r = judge(all->p, o->kind);

	if (r)
		return r;
	for (size_t i = 0; !t && i < TUNNELS_MAX; i++)
		if (!fleet_tunnel_used(&all->v[i].f))
			t = &all->v[i];
	if (!t)
		return EMFILE;
	if (placed_gate_meet(all->p->w->l, o->kind, &fd, &err) < 0)
		return EHOSTUNREACH;
	t->all = all;
	t->endpoints = o->kind == FLEET_OPEN_ROUTE;
	fleet_tunnel_init(&t->f, &all->line, o->channel, fd);
	if (!t->endpoints && ask_edge(t, o->target) < 0) {
		fleet_tunnel_drop(&t->f);
		return EHOSTUNREACH;
	}
	if (t->endpoints) {
		say_opened(all->p, o->channel, 0);
		fleet_tunnel_begin(&t->f);
	}
	return 0;
}

/* ---- from the stream ---- */

static int on_open(struct placed *p, const struct fleet_msg *m)
{
	struct placed_tunnels *all = tunnels_of(p);
	struct fleet_open o;
	int eno;

	if (fleet_open_read(m, &o) < 0 || find(all, o.channel))
		return -EPROTO;
	eno = begin(all, &o);
	if (eno)
		say_opened(p, o.channel, eno);
	return 0;
}

void placed_tunnel(struct placed *p, const struct fleet_msg *m)
{
	struct placed_tunnel *t = NULL;
	uint32_t channel;
	int r;

	if (m->type == FLEET_OPEN) {
		r = on_open(p, m);
	} else {
		r = fleet_tunnel_channel(m, &channel);
		t = r == 0 && p->tunnels ? find(p->tunnels, channel) : NULL;
		/* Without one: what was on its way when a tunnel ended. */
		r = t ? fleet_tunnel_take(&t->f, m) : r;
	}
	if (r < 0)
		stream_lost(p->s, "its tunnels break the rules of the stream");
}

void placed_tunnels_resume(struct placed *p)
{
	for (size_t i = 0; p->tunnels && i < TUNNELS_MAX; i++)
		if (fleet_tunnel_used(&p->tunnels->v[i].f))
			fleet_tunnel_resume(&p->tunnels->v[i].f);
}

void placed_tunnels_judge(struct placed *p)
{
	for (size_t i = 0; p->tunnels && placed_share_is_used(p) && i < TUNNELS_MAX; i++)
		if (fleet_tunnel_used(&p->tunnels->v[i].f) && p->tunnels->v[i].endpoints)
			fleet_tunnel_fail(&p->tunnels->v[i].f, EDQUOT);
}

void placed_tunnels_free(struct placed *p)
{
	struct placed_tunnels *all = take_ptr(p->tunnels);

	for (size_t i = 0; all && i < TUNNELS_MAX; i++)
		fleet_tunnel_drop(&all->v[i].f);
	free(all);
}
