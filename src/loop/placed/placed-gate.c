#include "loop/placed/placed-gate.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "compose/cred-place.h"
#include "loop/placed/placed.h"
#include "wire/gateway-proto.h"
#include "wire/helper.h"
#include "wire/reader-proto.h"

#define QUICK_MS 60000 /* an end within this time of the start is a quick one */
#define TOLD_MAX 64    /* refusals that are shown */

enum gate_row { ROW_HOSTS, ROW_ENDPOINTS, ROW_N };
enum part_kind { PART_EDGE, PART_GATEWAY, PART_READER, PART_CRED, PART_N };

struct part {
	struct placed_gate *g;
	struct child child;
	int sock;
	struct ev_io io;
};

struct placed_gate {
	struct loop *l;
	struct part parts[PART_N];
	int lines[2]; /* the gateway's ends, until it is started */
	struct ev_io lines_io;
	struct strv phantoms; /* NAME=PHANTOM: the spec may be made anew meanwhile */
	uint64_t started_ms;
	unsigned quick;
	struct strv told;
};

static int place_sock(void *arg)
{
	return dup2(*(const int *)arg, HELPER_FD) < 0 ? -errno : 0;
}

int placed_program(const struct loop *l, const char *name, struct child *ret, int *ret_sock,
		   struct err *err)
{
	cleanup_free char *program = places_program(&l->q.places, name);
	cleanup_fd int ours = -1, theirs = -1;
	char *argv[] = {program, NULL};
	struct run run = RUN_INIT;
	int socks[2], r = wire_pair(socks, err);

	if (r < 0)
		return r;
	ours = socks[0];
	theirs = socks[1];
	run.argv = argv;
	run.dir = "/";
	run.flags = RUN_DIE_WITH_US | RUN_NEW_SESSION;
	run.before_exec = place_sock;
	run.arg = &theirs;
	r = run_start(&run, ret, err);
	if (r == 0)
		*ret_sock = take_fd(ours);
	return r;
}

/* ---- their end ---- */

static void stop_part(struct part *p)
{
	if (p->sock >= 0)
		(void)ev_want(p->g->l->ev, &p->io, 0);
	closep(&p->sock);
	if (p->child.pid > 0)
		child_done(&p->child);
	p->child = (struct child){.pid = -1, .pidfd = -1};
}

static void stop(struct placed_gate *g)
{
	if (g->lines[0] >= 0)
		(void)ev_want(g->l->ev, &g->lines_io, 0);
	closep(&g->lines[0]);
	closep(&g->lines[1]);
	for (size_t i = 0; i < PART_N; i++)
		stop_part(&g->parts[i]);
}

static void ended(struct placed_gate *g, const char *why)
{
	log_debug("loop", "the gateway for placed workers ends: %s", why);
	g->quick = now_ms() - g->started_ms < QUICK_MS ? g->quick + 1 : 0;
	stop(g);
}

/* ---- what they say ---- */

static void tell(struct placed_gate *g, char *text)
{
	if (!strv_has(&g->told, text) && g->told.n < TOLD_MAX) {
		strv_push(&g->told, text);
		show_line(&g->l->show, STYLE_YELLOW, "%s", text);
	}
	free(text);
}

/* All texts of both are printable ASCII. */
static void on_event(struct placed_gate *g, const struct wire_msg *m)
{
	struct gw_event e;

	if (gw_get_event(m, &e) == 0 && e.verdict != GW_ALLOW && *e.host)
		tell(g, xasprintf("home %s %s:%u for '%s': %s",
				  e.verdict == GW_DENY ? "refuses" : "cannot reach", e.host, e.port,
				  g->l->config->fleet.place, e.reason));
}

static void on_use(struct placed_gate *g, const struct wire_msg *m)
{
	struct cred_use u;

	if (gw_get_use(m, &u) == 0)
		tell(g, xasprintf("the credential '%s' is used at home for workers at '%s'",
				  u.credential, g->l->config->fleet.place));
}

/* No host is inspected here, so no certificate is made. */
static void refuse_leaf(const struct part *p, const struct wire_msg *m)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	wire_put_bytes(&b, "", 0);
	wire_put_bytes(&b, "", 0);
	(void)wire_send(p->sock, (enum wire_type)GW_LEAF_IS, m->id, &b, NULL, 0);
}

static void take(struct part *p, const struct wire_msg *m)
{
	switch ((unsigned)m->type) {
	case GW_EVENT:
		on_event(p->g, m);
		break;
	case CRED_USED:
		on_use(p->g, m);
		break;
	case GW_LEAF:
		refuse_leaf(p, m);
		break;
	default: /* health, usage: the node's loop has its own */
		break;
	}
}

static void on_part(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct part *p = ev_owner(io, struct part, io);
	cleanup_wire_msg struct wire_msg m;
	int r;

	wire_msg_init(&m);
	r = wire_recv(p->sock, &m);
	if (r > 0)
		take(p, &m);
	else if (r != -EAGAIN)
		ended(p->g, "one of its programs has ended");
}

/* What they have said until now; the loop does not wait for more. */
static void hear_out(struct part *p)
{
	for (int i = 0, r = 1; i < TOLD_MAX && r > 0 && p->sock >= 0; i++) {
		cleanup_wire_msg struct wire_msg m;

		wire_msg_init(&m);
		r = wire_recv(p->sock, &m);
		if (r > 0)
			take(p, &m);
	}
}

/* ---- their start ---- */

static int send_empty(const struct part *p, enum gw_type type, const int *fds, size_t n)
{
	return wire_send(p->sock, (enum wire_type)type, 0, NULL, fds, n);
}

static int start_part(struct placed_gate *g, enum part_kind kind, struct err *err)
{
	static const char *const names[] = {"edge", "gateway", "reader", "cred"};
	struct part *p = &g->parts[kind];

	return placed_program(g->l, names[kind], &p->child, &p->sock, err);
}

static int watch_part(struct part *p)
{
	p->io = (struct ev_io){.fd = p->sock, .fn = on_part};
	(void)fd_set_nonblock(p->sock, true);
	return ev_want(p->g->l->ev, &p->io, EPOLLIN);
}

static const char *phantom_of(struct placed_gate *g, const struct spec_credential *c)
{
	const char *known = strv_env_get(&g->phantoms, c->name);
	cleanup_free char *made = NULL;
	struct err ignored;

	if (known || c->way != SPEC_WAY_PHANTOM)
		return known;
	if (cred_phantom_make(c, &made, &ignored) < 0)
		return NULL;
	strv_env_set(&g->phantoms, c->name, made);
	return strv_env_get(&g->phantoms, c->name);
}

static void put_routes(struct placed_gate *g, const struct sandbox_spec *s, struct gw_config *c)
{
	cleanup_free char **phantoms = xcalloc(s->n_credentials + 1, sizeof(char *));

	/* None of them moves any more. */
	for (size_t i = 0; i < s->n_credentials; i++)
		(void)phantom_of(g, &s->credentials[i]);
	for (size_t i = 0; i < s->n_credentials; i++)
		phantoms[i] = (char *)(uintptr_t)phantom_of(g, &s->credentials[i]);
	cred_routes(s, phantoms, c);
}

static int send_config(struct placed_gate *g, const struct part *p)
{
	cleanup_(gw_config_freep) struct gw_config *c = gw_config_new();
	const struct sandbox_spec *s = g->l->build.spec;
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	c->sandbox = xstrdup(s->name);
	c->keepalive_ms = (uint32_t)s->keepalive_ms;
	gateway_environ(c);
	c->standin4 = xstrdup(GW_STANDIN4);
	strv_extend(&c->tools, &s->provider_tools);
	net_policy_copy(&c->policy, &s->net);
	put_routes(g, s, c);
	if (p == &g->parts[PART_EDGE])
		cred_routes_strip(c);
	gw_put_config(&b, c);
	return wire_send(p->sock, (enum wire_type)GW_CONFIG, 0, &b, NULL, 0);
}

/* A line of the gateway's to one of the other two. */
static int join(struct placed_gate *g, enum gw_type near, enum part_kind kind, enum gw_type far,
		const struct buf *body, struct err *err)
{
	cleanup_fd int a = -1, b = -1;
	int pair[2], r = wire_pair(pair, err);

	if (r < 0)
		return r;
	a = pair[0];
	b = pair[1];
	r = send_empty(&g->parts[PART_GATEWAY], near, &a, 1);
	return r < 0 ? r : wire_send(g->parts[kind].sock, (enum wire_type)far, 0, body, &b, 1);
}

static int start_reader(struct placed_gate *g, struct err *err)
{
	const struct reader_setup setup = {.tools = g->l->build.spec->provider_tools};
	cleanup_buf struct buf b;
	int r = start_part(g, PART_READER, err);

	buf_init(&b, WIRE_BODY_MAX);
	reader_put_setup(&b, &setup);
	return r < 0 ? r : join(g, GW_READER, PART_READER, READER_SETUP, &b, err);
}

static int start_cred(struct placed_gate *g, struct err *err)
{
	int r = start_part(g, PART_CRED, err);

	if (r == 0)
		r = placed_cred_introduce(g->l, g->parts[PART_CRED].sock, err);
	return r < 0 ? r : join(g, GW_CRED, PART_CRED, CRED_LINE, NULL, err);
}

static int start_gateway(struct placed_gate *g, struct err *err)
{
	struct part *p = &g->parts[PART_GATEWAY];
	int r = start_part(g, PART_GATEWAY, err);

	if (r == 0)
		r = send_config(g, p);
	if (r == 0)
		r = send_empty(p, GW_LINES, g->lines, 2);
	closep(&g->lines[0]);
	closep(&g->lines[1]);
	if (r == 0)
		r = start_reader(g, err);
	if (r == 0)
		r = start_cred(g, err);
	if (r == 0)
		r = send_empty(p, GW_START, NULL, 0);
	for (size_t i = PART_GATEWAY; r == 0 && i < PART_N; i++)
		r = watch_part(&g->parts[i]);
	return r;
}

/* The edge has handed over its first connection, or ended. */
static void on_line(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct placed_gate *g = ev_owner(io, struct placed_gate, lines_io);
	struct err err = {0};

	(void)ev_want(ev, io, 0);
	if ((events & EPOLLIN) && !(events & EPOLLHUP) && start_gateway(g, &err) < 0)
		ended(g, err.msg[0] ? err.msg : "the gateway cannot be started");
}

static int make_lines(struct placed_gate *g, struct err *err)
{
	cleanup_fd int a = -1, b = -1;
	int arrivals[2], dials[2], r = wire_pair(arrivals, err);

	if (r < 0)
		return r;
	a = arrivals[0];
	g->lines[0] = arrivals[1];
	r = wire_pair(dials, err);
	if (r < 0)
		return r;
	b = dials[0];
	g->lines[1] = dials[1];
	r = send_empty(&g->parts[PART_EDGE], GW_LINES, (int[]){a, b}, 2);
	g->lines_io = (struct ev_io){.fd = g->lines[0], .fn = on_line};
	return r < 0 ? r : ev_want(g->l->ev, &g->lines_io, EPOLLIN);
}

static int start_edge(struct placed_gate *g, struct err *err)
{
	static const struct gw_listener rows[ROW_N] = {
		[ROW_HOSTS] = {.kind = GW_LISTEN_NODE},
		[ROW_ENDPOINTS] = {.kind = GW_LISTEN_ENDPOINTS},
	};
	struct part *p = &g->parts[PART_EDGE];
	int r = start_part(g, PART_EDGE, err);

	g->started_ms = now_ms();
	if (r == 0)
		r = send_config(g, p);
	if (r == 0)
		r = make_lines(g, err);
	if (r == 0)
		r = gw_send_listeners(p->sock, rows, NULL, ROW_N);
	if (r == 0)
		r = send_empty(p, GW_START, NULL, 0);
	return r < 0 ? r : watch_part(p);
}

/* ---- for tunnels ---- */

static struct placed_gate *gate_of(struct loop *l)
{
	struct placed_gate *g = l->placed_gate;

	if (g)
		return g;
	g = l->placed_gate = xcalloc(1, sizeof(*g));
	g->l = l;
	g->lines[0] = g->lines[1] = -1;
	for (size_t i = 0; i < PART_N; i++)
		g->parts[i] = (struct part){.g = g, .sock = -1, .child = {.pid = -1, .pidfd = -1}};
	strv_init(&g->told);
	strv_init(&g->phantoms);
	return g;
}

const char *placed_gate_phantom(struct loop *l, const char *credential)
{
	const struct spec_credential *c =
		l->build.spec ? spec_credential_find(l->build.spec, credential) : NULL;

	return c ? phantom_of(gate_of(l), c) : NULL;
}

static int edge_of(struct placed_gate *g, struct err *err)
{
	int r;

	if (g->parts[PART_EDGE].sock >= 0)
		return 0;
	if (!g->l->build.spec)
		return err_set(err, EAGAIN, "home has no rules at the moment");
	if (g->quick >= GATE_QUICK_MAX)
		return err_set(err, EIO, "the gateway for workers elsewhere ends again and again");
	r = start_edge(g, err);
	if (r < 0)
		ended(g, "the edge cannot be started");
	return r;
}

/* The lowest free number is given out first: this many are in use. Half of what there may be is for the rest of
 * the loop. */
static bool leaves_room(int fd)
{
	struct rlimit files = {0};

	return getrlimit(RLIMIT_NOFILE, &files) == 0 && (rlim_t)fd < files.rlim_cur / 2;
}

int placed_gate_meet(struct loop *l, enum fleet_open_kind kind, int *ret, struct err *err)
{
	struct placed_gate *g = gate_of(l);
	cleanup_fd int ours = -1, theirs = -1;
	cleanup_buf struct buf b;
	int pair[2], r = edge_of(g, err);

	buf_init(&b, WIRE_INLINE_MAX);
	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return err_sys(err, errno, "cannot make a pair of sockets");
	ours = pair[0];
	theirs = pair[1];
	if (!leaves_room(theirs))
		return err_set(err, EMFILE, "too many tunnels are open");
	wire_put_u32(&b, kind == FLEET_OPEN_HOST ? ROW_HOSTS : ROW_ENDPOINTS);
	r = wire_send(g->parts[PART_EDGE].sock, (enum wire_type)GW_MEET, 0, &b, &theirs, 1);
	if (r < 0)
		return err_sys(err, -r, "cannot reach the edge");
	*ret = take_fd(ours);
	return 0;
}

void placed_gate_free(struct loop *l)
{
	struct placed_gate *g = take_ptr(l->placed_gate);

	if (!g)
		return;
	for (size_t i = 0; i < PART_N; i++)
		hear_out(&g->parts[i]);
	stop(g);
	strv_done(&g->phantoms);
	strv_done(&g->told);
	free(g);
}
