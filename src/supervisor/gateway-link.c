/*
 * The supervisor's side of edge and gateway.
 *
 * DOC: Theory of operation
 *
 * The guest opens the sockets the policy calls for and hands them out with WIRE_UP. They are
 * watched here until the first connection or datagram arrives; only then is the edge started
 * and given copies of all of them, so that a command which uses no network pays for none. The edge
 * also gets its ends of the lines to the gateway (wire/edge-proto.h). The gateway's end is watched
 * likewise: the first connection that the edge hands over starts the gateway, so that tunnels alone
 * pay for no OpenSSL.
 *
 * When one of the two ends, for whatever reason, the other ends too and the connections are gone. The
 * sockets are watched again: the next connection starts both anew. What ended it may have come from inside, and
 * come again. So one that ended soon after its start is waited for, each time twice as long, and
 * after QUICK_ENDS_MAX of them in a row there is none any more. Nothing that was counted is lost
 * with a gateway: budget, events and logins are kept here and in the credential helper.
 */
#include "supervisor/supervisor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "compose/cred-place.h"
#include "netrules/spec-net.h"
#include "wire/guest-proto.h"

#define HOST_BACKLOG 128
#define LAST_WORDS_MS 1000 /* of a gateway that is told to end */
#define QUICK_MS 60000	   /* an end within this time of the start is a quick one */
#define QUICK_ENDS_MAX 8
#define AGAIN_MS 50 /* before the second start; doubled with each quick end */

int gateway_link_plan(struct supervisor *s, struct err *err)
{
	struct gateway_link *g = &s->gateway;
	int r = net_sockets(&s->spec->net, &g->rows, &g->n_rows, err);

	if (r < 0)
		return r;
	g->fds = xcalloc(g->n_rows, sizeof(int));
	/* Now, while files can be opened: see broker.h. */
	if (g->n_rows)
		g->vmstat = open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
	return s->spec->container.remote_dial && g->n_rows ? remote_link_open(s, err) : 0;
}

int gateway_link_take(struct supervisor *s, struct wire_msg *m)
{
	struct gateway_link *g = &s->gateway;

	if (s->spec->container.remote_dial)
		return m->n_fds ? -EPROTO : ++g->ups >= guest_up_frames(g->n_rows);
	if (g->n_fds + m->n_fds > g->n_rows)
		return -EPROTO;
	for (size_t i = 0; i < m->n_fds; i++)
		g->fds[g->n_fds++] = wire_take_fd(m, i);
	return g->n_fds == g->n_rows;
}

/* On the loopback alone, and on no other port than the spec says: the sandbox may reach that one.
 */
static int listen_on(uint16_t port, struct err *err)
{
	const struct sockaddr_in a = {.sin_family = AF_INET,
				      .sin_port = htons(port),
				      .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
	cleanup_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int on = 1;

	if (fd < 0)
		return err_sys(err, errno, "cannot make a socket");
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, HOST_BACKLOG) < 0)
		return err_sys(err, errno,
			       "port %u of this machine, which the sandbox reaches the gateway "
			       "at, cannot be had; end the program that uses it, or choose another "
			       "name for the sandbox with -n",
			       port);
	return take_fd(fd);
}

int gateway_link_listen(struct supervisor *s, struct err *err)
{
	struct gateway_link *g = &s->gateway;
	int fd;

	if (!s->spec->port)
		return 0;
	fd = listen_on(s->spec->port, err);
	if (fd < 0)
		return fd;
	g->rows = xcalloc(1, sizeof(*g->rows));
	g->fds = xcalloc(1, sizeof(int));
	g->rows[0] = (struct gw_listener){.kind = GW_LISTEN_ENDPOINTS, .port = s->spec->port};
	(void)snprintf(g->rows[0].addr, sizeof(g->rows[0].addr), "127.0.0.1");
	g->fds[0] = fd;
	g->n_rows = g->n_fds = 1;
	return 0;
}

static void close_listeners(struct supervisor *s)
{
	struct gateway_link *g = &s->gateway;

	for (size_t i = 0; i < g->n_fds; i++) {
		if (g->watch)
			(void)ev_want(s->ev, &g->watch[i].io, 0);
		closep(&g->fds[i]);
	}
	g->n_fds = 0;
}

static void on_event(struct supervisor *s, const struct wire_msg *m)
{
	struct gw_event e;

	if (gw_get_event(m, &e) == 0)
		events_link_net(s, &e);
}

static void watch(struct supervisor *s, bool on)
{
	struct gateway_link *g = &s->gateway;

	for (size_t i = 0; g->watch && i < g->n_fds; i++)
		(void)ev_want(s->ev, &g->watch[i].io, on ? EPOLLIN : 0);
}

static void on_again(struct ev *ev, struct ev_timer *t)
{
	watch(ev_owner(t, struct supervisor, gateway.again), true);
}

/* Counts the end, and decides when the next connection may start both again. */
static void plan_again(struct supervisor *s)
{
	struct gateway_link *g = &s->gateway;
	bool quick = now_ms() - g->started_ms < QUICK_MS;
	uint64_t wait;

	g->ends++;
	g->quick = quick ? g->quick + 1 : 0;
	g->over = g->quick >= QUICK_ENDS_MAX;
	wait = g->quick ? (uint64_t)AGAIN_MS << g->quick : 0;
	sup_event(s, "gateway-end",
		  json_pack("{so sI sb}", "why", json_text(g->why), "times", (json_int_t)g->ends,
			    "over", g->over));
	if (g->over) {
		close_listeners(s);
		return;
	}
	g->again.fn = on_again;
	ev_timer_set(s->ev, &g->again, wait);
}

static void close_half(struct supervisor *s, struct gateway_half *h)
{
	if (h->sock >= 0)
		(void)ev_want(s->ev, &h->io, 0);
	closep(&h->sock);
}

static void close_lines(struct supervisor *s)
{
	struct gateway_link *g = &s->gateway;

	if (g->lines[0] >= 0)
		(void)ev_want(s->ev, &g->lines_io, 0);
	closep(&g->lines[0]);
	closep(&g->lines[1]);
}

static void on_end(struct supervisor *s, const char *why)
{
	struct gateway_link *g = &s->gateway;

	close_half(s, &g->edge);
	close_half(s, &g->gateway);
	close_lines(s);
	gateway_end_reap(s);
	if (why)
		(void)snprintf(g->why, sizeof(g->why), "%s", why);
	cred_link_unline(s);
	reader_link_stop(s, now_ms() + LAST_WORDS_MS);
	s->usage.status = 0;
	events_link_flush(s);
	budget_link_end(s);
	plan_again(s);
}

/* Those of both, and those that only the gateway has a reason to send; false: neither. */
static bool take_message(struct supervisor *s, const struct gateway_half *h, struct wire_msg *m)
{
	if ((unsigned)m->type == GW_EVENT)
		on_event(s, m);
	if ((unsigned)m->type == GW_EVENT || (unsigned)m->type == GW_HEALTH)
		return true;
	if (h != &s->gateway.gateway)
		return false;
	switch ((unsigned)m->type) {
	case GW_LEAF:
		ca_link_ask(s, m);
		return true;
	case GW_PROVIDER:
		usage_link_provider(s, m);
		return true;
	default:
		return false;
	}
}

/* Takes one frame; false: there is none. */
static bool take_frame(struct supervisor *s, struct gateway_half *h)
{
	cleanup_wire_msg struct wire_msg m;
	int r;

	wire_msg_init(&m);
	r = wire_recv(h->sock, &m);
	if (r == -EAGAIN)
		return false;
	if (r <= 0)
		on_end(s, NULL);
	else if (!take_message(s, h, &m)) /* it may be compromised */
		on_end(s, "it sent a frame that no gateway sends");
	return h->sock >= 0;
}

static void on_edge(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct supervisor *s = ev_owner(io, struct supervisor, gateway.edge.io);

	(void)take_frame(s, &s->gateway.edge);
}

static void on_gateway(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct supervisor *s = ev_owner(io, struct supervisor, gateway.gateway.io);

	(void)take_frame(s, &s->gateway.gateway);
}

static void hear(struct supervisor *s, struct gateway_half *h)
{
	for (int i = 0; i < SUP_HEAR_MAX && s->ev && h->sock >= 0 && take_frame(s, h); i++)
		;
}

void gateway_link_hear(struct supervisor *s)
{
	hear(s, &s->gateway.edge);
	hear(s, &s->gateway.gateway);
	reader_link_hear(s);
}

void gateway_link_leaf(struct supervisor *s, struct wire_msg *m)
{
	if (s->gateway.gateway.sock >= 0)
		(void)wire_send(s->gateway.gateway.sock, (enum wire_type)GW_LEAF_IS, m->id,
				&m->body, NULL, 0);
}

static struct gw_config *make_config(const struct supervisor *s)
{
	struct gw_config *c = gw_config_new();

	c->sandbox = xstrdup(s->spec->name);
	c->keepalive_ms = (uint32_t)s->spec->keepalive_ms;
	gateway_environ(c);
	c->standin4 = xstrdup(GW_STANDIN4);
	c->standin6 = net_has_ipv6() ? xstrdup(GW_STANDIN6) : NULL;
	/* Endpoints on the host are all that it serves there, whatever the engine itself allows. */
	c->budget = usage_link_has_budget(s);
	strv_extend(&c->tools, &s->spec->provider_tools);
	c->before = s->gateway.ends;
	c->outpost = s->gateway.gate.port ? xstrdup(s->gateway.token) : NULL;
	if (!s->spec->port)
		net_policy_copy(&c->policy, &s->spec->net);
	cred_routes(s->spec, s->cred.phantoms, c);
	return c;
}

/* Wipes the text; NULL. */
static char *drop(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
	return NULL;
}

static int send_config(struct supervisor *s, const struct gateway_half *h)
{
	cleanup_(gw_config_freep) struct gw_config *c = make_config(s);
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	if (h == &s->gateway.edge)
		cred_routes_strip(c);
	else
		c->outpost = drop(c->outpost);
	gw_put_config(&b, c);
	return wire_send(h->sock, (enum wire_type)GW_CONFIG, 0, &b, NULL, 0);
}

static int send_listeners(const struct gateway_link *g)
{
	int r = 0;

	if (!g->gate.port)
		return gw_send_listeners(g->edge.sock, g->rows, g->fds, g->n_fds);
	r = gw_send_listeners(g->edge.sock, g->rows, NULL, g->n_rows);
	return r < 0 ? r : gw_send_listeners(g->edge.sock, &g->gate, g->fds, 1);
}

static int send_empty(const struct gateway_half *h, enum gw_type type, const int *fds, size_t n)
{
	return wire_send(h->sock, (enum wire_type)type, 0, NULL, fds, n);
}

static int watch_half(struct supervisor *s, struct gateway_half *h, ev_io_fn *fn)
{
	h->io = (struct ev_io){.fd = h->sock, .fn = fn};
	(void)fd_set_nonblock(h->sock, true);
	return ev_want(s->ev, &h->io, EPOLLIN);
}

static int start_gateway(struct supervisor *s, struct err *err)
{
	struct gateway_link *g = &s->gateway;
	int r = sup_spawn(s, "gateway", &g->gateway.child, &g->gateway.sock, err);

	if (r == 0)
		r = send_config(s, &g->gateway);
	if (r == 0)
		r = send_empty(&g->gateway, GW_LINES, g->lines, 2);
	close_lines(s);
	if (r == 0)
		r = cred_link_line(s, err);
	if (r == 0)
		r = reader_link_line(s, err);
	if (r == 0)
		r = send_empty(&g->gateway, GW_START, NULL, 0);
	return r < 0 ? r : watch_half(s, &g->gateway, on_gateway);
}

/* The edge has handed over its first connection, or ended. */
static void on_line(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct supervisor *s = ev_owner(io, struct supervisor, gateway.lines_io);
	struct err err = {0};

	(void)ev_want(ev, io, 0);
	if ((events & EPOLLIN) && !(events & EPOLLHUP) && start_gateway(s, &err) < 0)
		on_end(s, err.msg[0] ? err.msg : "it cannot be started");
}

/* Gives the edge its ends, and watches one of the others. */
static int make_lines(struct supervisor *s, struct err *err)
{
	struct gateway_link *g = &s->gateway;
	int arrivals[2], dials[2], r = wire_pair(arrivals, err);

	if (r < 0)
		return r;
	r = wire_pair(dials, err);
	if (r < 0) {
		(void)close(arrivals[0]);
		(void)close(arrivals[1]);
		return r;
	}
	g->lines[0] = arrivals[1];
	g->lines[1] = dials[1];
	r = send_empty(&g->edge, GW_LINES, (int[]){arrivals[0], dials[0]}, 2);
	(void)close(arrivals[0]);
	(void)close(dials[0]);
	g->lines_io = (struct ev_io){.fd = g->lines[0], .fn = on_line};
	return r < 0 ? r : ev_want(s->ev, &g->lines_io, EPOLLIN);
}

static int start(struct supervisor *s, struct err *err)
{
	struct gateway_link *g = &s->gateway;
	int r = sup_spawn(s, "edge", &g->edge.child, &g->edge.sock, err);

	g->started_ms = now_ms();
	g->oom_kills = gateway_end_oom_kills(g);
	if (r == 0)
		r = send_config(s, &g->edge);
	if (r == 0)
		r = make_lines(s, err);
	if (r == 0)
		r = send_listeners(g);
	if (r == 0)
		r = send_empty(&g->edge, GW_START, NULL, 0);
	return r < 0 ? r : watch_half(s, &g->edge, on_edge);
}

/* The first sign of life on any socket, since the start or since the last gateway ended. */
static void on_activity(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct supervisor *s = ((struct gateway_watch *)(void *)io)->sup;
	struct err err = {0};

	if (s->gateway.edge.sock >= 0)
		return; /* another socket of this turn was faster */
	watch(s, false);
	if (start(s, &err) == 0) {
		sup_event(s, "gateway-start", json_object());
		return;
	}
	on_end(s, err.msg[0] ? err.msg : "it cannot be started");
}

void gateway_link_watch(struct supervisor *s)
{
	struct gateway_link *g = &s->gateway;

	g->watch = xcalloc(g->n_fds, sizeof(*g->watch));
	for (size_t i = 0; i < g->n_fds; i++) {
		g->watch[i].sup = s;
		g->watch[i].io = (struct ev_io){.fd = g->fds[i], .fn = on_activity};
	}
	watch(s, true);
}

static int send_policy(const struct gateway_half *h, const struct buf *b)
{
	return h->sock < 0 ? 0 : wire_send(h->sock, (enum wire_type)GW_POLICY, 0, b, NULL, 0);
}

void gateway_link_policy(struct supervisor *s)
{
	struct gateway_link *g = &s->gateway;
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	if (g->edge.sock < 0 || s->spec->port)
		return; /* it will get the spec's rules when it starts, or needs none */
	gw_put_rules(&b, &s->spec->net);
	/* A program that does not learn of a new rule must not go on with the old ones. */
	if (send_policy(&g->edge, &b) < 0 || send_policy(&g->gateway, &b) < 0)
		on_end(s, "it does not take new rules");
}

/*
 * Reads the last frames of one of the two. It ends at the end of the stream and reports before that.
 * The reader is heard out after them: the gateway may have sent the last answer of a command and not
 * yet handed it over, and the usage of that answer counts against the budget.
 */
static void hear_out(struct supervisor *s, const struct gateway_half *h, uint64_t deadline)
{
	for (uint64_t now = now_ms(); h->sock >= 0 && now < deadline; now = now_ms()) {
		struct pollfd p = {.fd = h->sock, .events = POLLIN};
		cleanup_wire_msg struct wire_msg m;
		int r;

		wire_msg_init(&m);
		if (poll(&p, 1, (int)(deadline - now)) <= 0)
			return;
		r = wire_recv(h->sock, &m);
		if (r == 0 || (r < 0 && r != -EAGAIN))
			return;
		if (r > 0 && (unsigned)m.type == GW_EVENT)
			on_event(s, &m);
	}
}

void gateway_link_stop(struct supervisor *s)
{
	struct gateway_half *halves[] = {&s->gateway.gateway, &s->gateway.edge};
	uint64_t deadline = now_ms() + LAST_WORDS_MS;

	if (s->ev) {
		ev_timer_stop(s->ev, &s->gateway.again);
		close_listeners(s);
		close_lines(s);
	}
	for (size_t i = 0; !s->remove && i < ARRAY_SIZE(halves); i++)
		if (halves[i]->sock >= 0)
			(void)shutdown(halves[i]->sock, SHUT_WR);
	for (size_t i = 0; !s->remove && i < ARRAY_SIZE(halves); i++)
		hear_out(s, halves[i], deadline);
	for (size_t i = 0; i < ARRAY_SIZE(halves); i++) {
		closep(&halves[i]->sock);
		child_done(&halves[i]->child);
	}
	reader_link_stop(s, s->remove ? 0 : deadline);
	if (s->spec)
		budget_link_end(s);
}
