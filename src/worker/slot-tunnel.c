/*
 * Connections that home makes for the gateways of one task, over the stream (wire/fleet-tunnel.h). Two
 * listeners on this machine's loopback:
 *
 *	proxy      `egress: home`: CONNECT with the slot's own token becomes a tunnel to a host that home
 *	           dials, if home's rules for this task allow it. Plain HTTP for port 80 goes to home as it is
 *	endpoints  `dial: home`: each connection becomes a tunnel to home's own gateway, which takes nothing
 *	           but requests with its phantom, and adds the key there
 */
#include "worker/node.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text/base64.h"
#include "wire/fleet-tunnel.h"

#define BACKLOG 64
#define HEAD_MAX (8 * KiB)
#define TOKEN_BYTES 16

enum tunnel_state { TUNNEL_HEAD, TUNNEL_OPENING, TUNNEL_OPEN };

struct tunnel {
	struct fleet_tunnel f;
	struct tunnels *t;
	enum tunnel_state state; /* of a used one */
	enum fleet_open_kind kind;
	bool plain; /* the head is a request of its own, and goes to home with what follows it */
	struct buf head;
};

struct door {
	struct tunnels *t;
	enum fleet_open_kind kind;
	int fd;
	uint16_t port;
	struct ev_io io;
};

struct tunnels {
	struct slot *s;
	struct fleet_line line;
	struct door doors[FLEET_OPEN_N];
	char *url, *secret; /* secret: "Basic …" */
	uint32_t last;
	struct tunnel v[FLEET_CHANNELS_MAX];
};

static void drop(struct tunnel *t)
{
	fleet_tunnel_drop(&t->f);
	buf_done(&t->head);
}

/* ---- the gateway's request ---- */

static void answer(struct tunnel *t, const char *status)
{
	char text[128];
	int n = snprintf(text, sizeof(text), "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", status);

	(void)send(t->f.fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* How long a wrong guess takes says nothing of the token. */
static bool same(const char *a, const char *b, size_t n)
{
	unsigned char differ = 0;

	for (size_t i = 0; i < n; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return differ == 0;
}

static bool is_authorized(const struct tunnel *t, const char *head)
{
	static const char field[] = "Proxy-Authorization:";
	size_t n = strlen(t->t->secret);

	for (const char *p = strstr(head, "\r\n"); p; p = strstr(p + 2, "\r\n")) {
		const char *value = p + 2 + strlen(field);

		if (strncasecmp(p + 2, field, strlen(field)) != 0)
			continue;
		value += strspn(value, " ");
		return strcspn(value, "\r\n") == n && same(value, t->t->secret, n);
	}
	return false;
}

/* "CONNECT HOST:PORT HTTP/1.1" */
static bool read_target(const char *head, struct fleet_open *o)
{
	static const char verb[] = "CONNECT ";
	const char *at = head + strlen(verb);
	size_t n;

	if (strncmp(head, verb, strlen(verb)) != 0)
		return false;
	n = strcspn(at, " \r\n");
	if (n == 0 || n >= sizeof(o->target) || !memchr(at, ':', n))
		return false;
	memcpy(o->target, at, n);
	o->target[n] = '\0';
	return true;
}

/* "GET http://HOST/PATH HTTP/1.1": plain HTTP, which home's gateway reads. On another port nobody would. */
static bool read_plain(const char *head, struct fleet_open *o)
{
	static const char scheme[] = " http://";
	const char *at = strstr(head, scheme);
	size_t n;

	if (!at || at > head + strcspn(head, "\r\n"))
		return false;
	at += strlen(scheme);
	n = strcspn(at, "/: \r\n");
	if (n == 0 || n + 3 >= sizeof(o->target) ||
	    (at[n] == ':' && strncmp(at + n, ":80/", 4) != 0))
		return false;
	(void)snprintf(o->target, sizeof(o->target), "%.*s:80", (int)n, at);
	return true;
}

static void await_home(struct tunnel *t, const struct fleet_open *o)
{
	struct fleet_line *line = &t->t->line;

	t->state = TUNNEL_OPENING;
	(void)ev_want(line->ev, &t->f.io, 0);
	if (fleet_open_put(line->out, line->id, o) < 0) {
		if (t->kind == FLEET_OPEN_HOST)
			answer(t, "503 Service Unavailable");
		drop(t);
		return;
	}
	line->flush(line);
}

static void on_head(struct tunnel *t)
{
	struct fleet_open o = {.channel = t->f.channel, .kind = FLEET_OPEN_HOST};
	const char *head = buf_str(&t->head), *end = strstr(head, "\r\n\r\n");

	if (!end && t->head.len < HEAD_MAX)
		return;
	if (!end || !is_authorized(t, head)) {
		answer(t, "407 Proxy Authentication Required");
		drop(t);
		return;
	}
	t->plain = read_plain(head, &o);
	/* A client that sends more before it is told that the tunnel stands is none of ours. */
	if (t->plain || (read_target(head, &o) && end + 4 == head + t->head.len)) {
		await_home(t, &o);
		return;
	}
	answer(t, "501 Not Implemented");
	drop(t);
}

static void on_readable(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct tunnel *t = ev_owner(ev_owner(io, struct fleet_tunnel, io), struct tunnel, f);
	ssize_t n = -1;

	if (buf_reserve(&t->head, HEAD_MAX - t->head.len) == 0)
		n = read(t->f.fd, t->head.data + t->head.len, HEAD_MAX - t->head.len);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop(t);
		return;
	}
	t->head.len += (size_t)n;
	t->head.data[t->head.len] = '\0';
	on_head(t);
}

static struct tunnel *free_place(struct tunnels *all)
{
	for (size_t i = 0; i < FLEET_CHANNELS_MAX; i++)
		if (!fleet_tunnel_used(&all->v[i].f))
			return &all->v[i];
	return NULL;
}

static void on_connection(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct door *door = ev_owner(io, struct door, io);
	cleanup_fd int fd = accept4(door->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct fleet_open o = {.kind = FLEET_OPEN_ROUTE, .target = "endpoints"};
	struct tunnels *all = door->t;
	struct tunnel *t = fd < 0 ? NULL : free_place(all);

	if (!t)
		return;
	/* Nothing may be left of the one that had this place. */
	drop(t);
	t->t = all;
	t->kind = door->kind;
	t->plain = false;
	t->state = TUNNEL_HEAD;
	buf_init(&t->head, HEAD_MAX);
	fleet_tunnel_init(&t->f, &all->line, ++all->last, take_fd(fd));
	t->f.io.fn = on_readable;
	o.channel = t->f.channel;
	if (t->kind == FLEET_OPEN_ROUTE)
		await_home(t, &o);
	else
		(void)ev_want(ev, &t->f.io, EPOLLIN);
}

/* ---- from home ---- */

static struct tunnel *find(struct tunnels *all, uint32_t channel)
{
	for (size_t i = 0; i < FLEET_CHANNELS_MAX; i++) {
		struct tunnel *t = &all->v[i];

		if (fleet_tunnel_used(&t->f) && t->state > TUNNEL_HEAD && t->f.channel == channel)
			return t;
	}
	return NULL;
}

static int on_opened(struct tunnel *t, uint32_t eno)
{
	static const char yes[] = "HTTP/1.1 200 OK\r\n\r\n";
	const bool proxy = t->kind == FLEET_OPEN_HOST;

	if (t->state != TUNNEL_OPENING)
		return -EPROTO;
	if (eno && proxy)
		answer(t, eno == EPERM	     ? "403 Forbidden"
			  : eno == ETIMEDOUT ? "504 Gateway Timeout"
					     : "502 Bad Gateway");
	if (eno) {
		drop(t);
	} else if (proxy && !t->plain &&
		   send(t->f.fd, yes, strlen(yes), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		fleet_tunnel_fail(&t->f, ECONNRESET);
		drop(t);
	} else {
		t->state = TUNNEL_OPEN;
		fleet_tunnel_begin(&t->f);
		if (t->plain)
			fleet_tunnel_send(&t->f, t->head.data, t->head.len);
	}
	return 0;
}

int tunnels_take(struct tunnels *all, const struct fleet_msg *m)
{
	uint32_t channel = 0, value = 0;
	struct tunnel *t;
	int r = fleet_tunnel_channel(m, &channel);

	t = r < 0 ? NULL : find(all, channel);
	if (!t) /* what was on its way when a tunnel ended */
		return r;
	if (m->type != FLEET_OPENED)
		return fleet_tunnel_take(&t->f, m);
	(void)fleet_pair_read(m, &channel, &value);
	return on_opened(t, value);
}

/* ---- all of it ---- */

static int listen_here(int *ret, uint16_t *ret_port, struct err *err)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	cleanup_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(sa);

	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		return err_sys(err, errno, "cannot listen on the loopback");
	*ret = take_fd(fd);
	*ret_port = ntohs(sa.sin_port);
	return 0;
}

/* Any program of this machine can connect: the token is what lets one in. */
static int make_secret(struct tunnels *all, uint16_t port, struct err *err)
{
	unsigned char raw[TOKEN_BYTES];
	char token[2 * TOKEN_BYTES + 1];
	cleanup_free char *pair = NULL;
	cleanup_buf struct buf b;

	buf_init(&b, KiB);
	if (getrandom(raw, sizeof(raw), 0) != sizeof(raw))
		return err_sys(err, EIO, "cannot get random bytes");
	for (size_t i = 0; i < sizeof(raw); i++)
		(void)snprintf(token + 2 * i, 3, "%02x", raw[i]);
	pair = xasprintf("ralph:%s", token);
	(void)buf_puts(&b, "Basic ");
	base64_put(&b, pair, strlen(pair));
	all->secret = buf_take(&b);
	all->url = xasprintf("http://%s@127.0.0.1:%u", pair, port);
	return 0;
}

static void flush(struct fleet_line *line)
{
	node_flush(ev_owner(line, struct tunnels, line)->s->n);
}

static bool has_room(const struct fleet_line *line)
{
	return node_has_room(
		((const struct tunnels *)(const void *)((const char *)line -
							offsetof(struct tunnels, line)))
			->s->n);
}

static int open_door(struct tunnels *all, enum fleet_open_kind kind, struct err *err)
{
	struct door *d = &all->doors[kind];
	int r = listen_here(&d->fd, &d->port, err);

	if (r < 0)
		return r;
	d->io = (struct ev_io){.fd = d->fd, .fn = on_connection};
	return ev_want(all->line.ev, &d->io, EPOLLIN);
}

struct tunnels *tunnels_new(struct slot *s, bool proxy, bool endpoints, struct err *err)
{
	struct tunnels *all = xcalloc(1, sizeof(*all));
	int r = 0;

	all->s = s;
	all->line = (struct fleet_line){.ev = s->n->ev,
					.out = &s->n->out,
					.id = s->id,
					.flush = flush,
					.has_room = has_room};
	for (size_t i = 0; i < FLEET_OPEN_N; i++)
		all->doors[i] = (struct door){.t = all, .kind = (enum fleet_open_kind)i, .fd = -1};
	if (proxy)
		r = open_door(all, FLEET_OPEN_HOST, err);
	if (r == 0 && proxy)
		r = make_secret(all, all->doors[FLEET_OPEN_HOST].port, err);
	if (r == 0 && endpoints)
		r = open_door(all, FLEET_OPEN_ROUTE, err);
	return r < 0 ? tunnels_free(all) : all;
}

struct tunnels *tunnels_free(struct tunnels *all)
{
	if (!all)
		return NULL;
	for (size_t i = 0; i < FLEET_CHANNELS_MAX; i++)
		drop(&all->v[i]);
	for (size_t i = 0; i < FLEET_OPEN_N; i++) {
		if (all->doors[i].io.fn)
			(void)ev_want(all->line.ev, &all->doors[i].io, 0);
		closep(&all->doors[i].fd);
	}
	free(all->url);
	free(all->secret);
	free(all);
	return NULL;
}

const char *tunnels_url(const struct tunnels *all)
{
	return all->url;
}

uint16_t tunnels_endpoints(const struct tunnels *all)
{
	return all->doors[FLEET_OPEN_ROUTE].port;
}

void tunnels_resume(struct tunnels *all)
{
	for (size_t i = 0; i < FLEET_CHANNELS_MAX; i++)
		if (fleet_tunnel_used(&all->v[i].f))
			fleet_tunnel_resume(&all->v[i].f);
}
