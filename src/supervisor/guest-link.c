#include "supervisor/supervisor.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/path.h"
#include "wire/guest-proto.h"

#define SEND_TIMEOUT_S 5 /* a guest that does not read for so long is stuck */
#define LISTEN_BACKLOG 1024
#define OOM_SCORE_ADJ 500 /* under pressure the kernel takes the agent, not the user's work */

/* Device nodes are bound from the host one by one: a descriptor of the host's /dev/null, handed in
 * as a command's stdin, is the same node, and may be opened again. */
static const char *const dev_nodes[] = {
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty",
};

static void add_rule(struct guest_setup *g, enum guest_access access, const char *path)
{
	g->rules = xrealloc(g->rules, g->n_rules + 1, sizeof(*g->rules));
	g->rules[g->n_rules++] = (struct guest_rule){.access = access, .path = path};
}

/* Landlock's rules follow from the mounts: everything may be read and run, the writable places
 * may be written. */
static void put_rules(const struct sandbox_spec *spec, struct guest_setup *g)
{
	add_rule(g, GUEST_RO, "/");
	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct spec_mount *m = &spec->mounts[i];

		if (spec_is_writable(m->kind) || m->kind == SPEC_TMPFS || m->kind == SPEC_PROC)
			add_rule(g, GUEST_RW, m->target);
		else if (m->kind == SPEC_DEV)
			add_rule(g, GUEST_DEV, m->target);
	}
	for (size_t i = 0; i < ARRAY_SIZE(dev_nodes); i++)
		add_rule(g, GUEST_DEV, dev_nodes[i]);
}

static void put_rlimits(const struct sandbox_spec *spec, struct guest_setup *g)
{
	g->n_rlimits = spec->limits.n_rlimits;
	g->rlimits = xcalloc(g->n_rlimits, sizeof(*g->rlimits));
	for (size_t i = 0; i < g->n_rlimits; i++)
		g->rlimits[i] = (struct guest_rlimit){
			.resource = (uint32_t)spec->limits.rlimits[i].resource,
			.soft = spec->limits.rlimits[i].value,
			.hard = spec->limits.rlimits[i].value,
		};
}

static int put_logins(const struct sandbox_spec *spec, struct guest_setup *g, struct err *err)
{
	for (size_t i = 0; i < spec->n_mounts; i++) {
		if (spec->mounts[i].kind != SPEC_LOGIN)
			continue;
		if (g->n_logins == GUEST_LOGINS_MAX)
			return err_set(err, E2BIG, "more than %d logins of way pipe in one sandbox",
				       GUEST_LOGINS_MAX);
		g->logins[g->n_logins++] = spec->mounts[i].target;
	}
	return 0;
}

/* Addresses and ports as the guest wants them. */
static int put_listeners(const struct gateway_link *gw, struct guest_setup *g, struct err *err)
{
	g->listeners = xcalloc(gw->n_rows, sizeof(*g->listeners));
	g->n_listeners = gw->n_rows;
	g->routes = gw->n_rows > 0;
	for (size_t i = 0; i < gw->n_rows; i++) {
		const struct gw_listener *row = &gw->rows[i];
		struct guest_listener *l = &g->listeners[i];

		l->family = strchr(row->addr, ':') ? AF_INET6 : AF_INET;
		l->udp = row->kind == GW_LISTEN_DNS_UDP;
		l->port = row->port;
		l->backlog = LISTEN_BACKLOG;
		if (inet_pton(l->family, row->addr, l->addr) != 1)
			return err_set(err, EINVAL, "'%s' is no address to listen on", row->addr);
	}
	return 0;
}

static int set_up(struct supervisor *s, struct err *err)
{
	cleanup_guest_setup struct guest_setup g = {
		.hostname = "",
		.landlock = GUEST_LANDLOCK_IF_AVAILABLE,
		.oom_score_adj = OOM_SCORE_ADJ,
	};
	const struct timeval limit = {.tv_sec = SEND_TIMEOUT_S};
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, WIRE_BODY_MAX);
	(void)setsockopt(s->guest, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	put_rules(s->spec, &g);
	put_rlimits(s->spec, &g);
	r = put_logins(s->spec, &g, err);
	if (r == 0)
		r = put_listeners(&s->gateway, &g, err);
	if (r < 0)
		return r;
	guest_setup_put(&b, &g);
	r = wire_send(s->guest, WIRE_SETUP, 0, &b, NULL, 0);
	return r < 0 ? err_sys(err, -r, "cannot reach the guest") : 0;
}

static void kill_command(struct supervisor *s, struct client *c, uint32_t sig)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	wire_put_u32(&b, sig);
	/* A guest that cannot be told to end a command is itself ended, with all commands. */
	if (s->guest >= 0 && s->state != SUP_ENDED &&
	    wire_send(s->guest, WIRE_KILL, c->id, &b, NULL, 0) < 0)
		sup_end(s);
}

/* Keys and logins that the user lets in. ralph's own programs need none. */
static bool needs(const struct supervisor *s, const struct exec_frame *f, enum spec_way way)
{
	return cred_link_has(s, way) && !(f->flags & WIRE_EXEC_PROGRAM);
}

static int spawn(struct supervisor *s, struct client *c, const struct exec_frame *f,
		 struct wire_msg *m, struct err *err)
{
	bool login = needs(s, f, SPEC_WAY_PIPE);
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, WIRE_BODY_MAX);
	wire_put_u32(&b, (f->flags & WIRE_SPAWN_FLAGS) | (login ? WIRE_EXEC_LOGIN : 0));
	wire_put_u32(&b, f->rows);
	wire_put_u32(&b, f->cols);
	wire_put_str(&b, f->cwd);
	wire_put_strv(&b, &f->argv);
	wire_put_strv(&b, &f->env);
	if (login || needs(s, f, SPEC_WAY_ENV))
		r = cred_link_spawn(s, c->id, &b, m->fds, m->n_fds, err);
	else
		r = wire_send(s->guest, WIRE_SPAWN, c->id, &b, m->fds, m->n_fds);
	if (r < 0 && r != -EMSGSIZE && r != -EOPNOTSUPP)
		return err_set(err, -r, "the guest does not take commands any more");
	return r;
}

static void on_error(struct supervisor *s, uint32_t id, uint32_t eno, const char *msg)
{
	struct client *c = client_by_id(s, id);

	if (id == 0) {
		(void)err_set(&s->why, EIO, "%s", msg);
		/* What the system forbids has a remedy, which a start of nothing else finds. */
		if (s->state == SUP_STARTING && (eno == EPERM || eno == EACCES || eno == ENOSYS))
			(void)err_hint(&s->why, -EIO, "run: ralph doctor");
		sup_end(s);
		return;
	}
	sup_event(s, "exec-failed",
		  json_pack("{sI so}", "id", (json_int_t)id, "message", json_text(msg)));
	if (c)
		client_failed(c, exec_exit_code(eno), msg);
	else
		git_link_ended(s, id);
}

static int handle(struct supervisor *s, struct wire_msg *m)
{
	struct client *c = client_by_id(s, m->id);
	uint32_t value = 0;
	const char *msg = "";
	struct wire_reader r;
	int all;

	wire_read(&r, m);
	value = wire_get_u32(&r);
	if (m->type == WIRE_ERROR)
		msg = wire_get_str(&r);
	if (wire_read_end(&r) < 0 ||
	    (s->state == SUP_STARTING) != (m->type == WIRE_UP || m->id == 0))
		return -EPROTO;
	switch ((unsigned)m->type) {
	case WIRE_UP:
		all = gateway_link_take(s, m);
		if (all > 0)
			sup_up(s, value);
		return all < 0 ? all : 0;
	case WIRE_SPAWNED:
		if (c && c->state == CLIENT_SPAWNING)
			client_started(c, value, m->n_fds ? m->fds[0] : -1);
		return 0;
	case WIRE_ENDED:
		if (git_flow_is_ours(s, m->id))
			git_flow_ended(s, value);
		else if (c && c->state == CLIENT_RUNNING)
			client_ended(c, value);
		else
			git_link_ended(s, m->id);
		return 0;
	case WIRE_SUSPENDED:
		if (c && c->state == CLIENT_RUNNING)
			client_suspended(c);
		return 0;
	case WIRE_ERROR:
		if (git_flow_is_ours(s, m->id))
			git_flow_ended(s, (uint32_t)exec_exit_code(value));
		else
			on_error(s, m->id, value, msg);
		return 0;
	case WIRE_DIALLED:
		ports_link_dialled(s, m);
		return 0;
	default:
		return -EPROTO;
	}
}

static void on_frame(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct supervisor *s = ev_owner(io, struct supervisor, guest_io);
	cleanup_wire_msg struct wire_msg m;
	int r;

	wire_msg_init(&m);
	r = wire_recv(s->guest, &m);
	if (r == -EAGAIN)
		return;
	if (r > 0)
		r = handle(s, &m);
	else if (r == 0)
		r = -EPIPE;
	if (r < 0 && s->state != SUP_STARTING) {
		(void)err_set(&s->why, EIO, "the guest broke off");
		sup_end(s);
	} else if (r < 0) {
		/* The end of its process says why. */
		(void)ev_want(ev, io, 0);
	}
	sup_reconsider(s);
}

static int start(struct supervisor *s, struct engine_launch *launch, struct err *err)
{
	struct engine_proc proc = {.pidfd = -1, .guest = -1};
	int r;

	engine_adopt(s->engine, launch);
	r = engine_start(s->engine, &proc, err);
	if (r < 0)
		return r;
	s->guest = proc.guest;
	s->guest_io = (struct ev_io){.fd = s->guest, .fn = on_frame};
	(void)ev_want(s->ev, &s->guest_io, EPOLLIN);
	sup_watch_process(s, proc.pidfd);
	/* The guest builds its root, and waits to be told what to open. */
	r = gateway_link_plan(s, err);
	if (r == 0)
		r = remote_link_tell(s, err);
	return r < 0 ? r : set_up(s, err);
}

static void stop(struct supervisor *s)
{
}

const struct runner runner_guest = {
	.start_ms = 30000,
	.start = start,
	.spawn = spawn,
	.kill = kill_command,
	.stop = stop,
};

/* A kernel may have to come up first, on a processor that is emulated. */
const struct runner runner_machine = {
	.start_ms = 180 * 1000,
	.start = start,
	.spawn = spawn,
	.kill = kill_command,
	.stop = stop,
};
