/*
 * `egress: home`: a proxy on this machine's loopback for the gateways of one task. CONNECT with the
 * slot's own token becomes a tunnel: home dials, and the bytes go over the stream. Each direction of a
 * tunnel has at most FLEET_CREDIT bytes on their way; WINDOW says what was taken.
 *
 * A tunnel ends when both directions have ended (CLOSE with 0), or at once with an error.
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

#define BACKLOG 64
#define HEAD_MAX (8 * KiB)
#define PIECE (32 * KiB)
#define TOKEN_BYTES 16
#define WINDOW_STEP (64 * KiB) /* taken bytes are told in such steps */

enum tunnel_state { TUNNEL_FREE, TUNNEL_HEAD, TUNNEL_OPENING, TUNNEL_OPEN };

struct tunnel {
	struct tunnels *t;
	enum tunnel_state state;
	uint32_t channel;
	int fd;
	struct ev_io io;
	struct buf head;
	struct buf down; /* for the gateway */
	size_t credit;	 /* bytes that may go home now */
	size_t taken;	 /* bytes that home was not told of */
	bool up_ended, down_ended;
};

struct tunnels {
	struct slot *s;
	int listener;
	struct ev_io io;
	char *url, *secret; /* secret: "Basic …" */
	uint32_t last;
	struct tunnel v[FLEET_CHANNELS_MAX];
};

static struct ev *ev_of(const struct tunnel *t)
{
	return t->t->s->n->ev;
}

static struct fleet_out *out_of(const struct tunnel *t)
{
	return &t->t->s->n->out;
}

static void say(struct tunnel *t, enum fleet_type type, uint32_t value)
{
	(void)fleet_pair_put(out_of(t), type, t->t->s->id, t->channel, value);
	node_flush(t->t->s->n);
}

static void drop(struct tunnel *t)
{
	if (t->state == TUNNEL_FREE)
		return;
	(void)ev_want(ev_of(t), &t->io, 0);
	closep(&t->fd);
	buf_done(&t->head);
	buf_done(&t->down);
	t->state = TUNNEL_FREE;
}

static void drop_if_over(struct tunnel *t)
{
	if (t->state == TUNNEL_OPEN && t->up_ended && t->down_ended && t->down.len == 0)
		drop(t);
}

static void want(struct tunnel *t)
{
	uint32_t events = t->down.len ? EPOLLOUT : 0;

	if (t->state == TUNNEL_HEAD ||
	    (t->state == TUNNEL_OPEN && !t->up_ended && t->credit && node_has_room(t->t->s->n)))
		events |= EPOLLIN;
	if (t->state != TUNNEL_FREE)
		(void)ev_want(ev_of(t), &t->io, events);
}

/* ---- the gateway's request ---- */

static void answer(struct tunnel *t, const char *status)
{
	char text[128];
	int n = snprintf(text, sizeof(text), "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", status);

	(void)send(t->fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
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

static void on_head(struct tunnel *t)
{
	struct fleet_open o = {.channel = t->channel, .kind = FLEET_OPEN_HOST};
	const char *head = buf_str(&t->head), *end = strstr(head, "\r\n\r\n");

	if (!end && t->head.len < HEAD_MAX)
		return;
	/* A client that sends more before the answer is none of ours. */
	if (!end || end + 4 != head + t->head.len || !is_authorized(t, head)) {
		answer(t, "407 Proxy Authentication Required");
		drop(t);
	} else if (!read_target(head, &o)) {
		answer(t, "501 Not Implemented");
		drop(t);
	} else if (fleet_open_put(out_of(t), t->t->s->id, &o) < 0) {
		answer(t, "503 Service Unavailable");
		drop(t);
	} else {
		t->state = TUNNEL_OPENING;
		node_flush(t->t->s->n);
		want(t);
	}
}

static void read_head(struct tunnel *t)
{
	ssize_t n;

	if (buf_reserve(&t->head, HEAD_MAX - t->head.len) < 0) {
		drop(t);
		return;
	}
	n = read(t->fd, t->head.data + t->head.len, HEAD_MAX - t->head.len);
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

/* ---- bytes ---- */

static void read_up(struct tunnel *t)
{
	char piece[PIECE];
	size_t most = t->credit < sizeof(piece) ? t->credit : sizeof(piece);
	ssize_t n;

	if (most == 0 || t->up_ended || !node_has_room(t->t->s->n))
		return;
	n = read(t->fd, piece, most);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		say(t, FLEET_CLOSE, ECONNRESET);
		drop(t);
		return;
	}
	if (n == 0) {
		t->up_ended = true;
		say(t, FLEET_CLOSE, 0);
		drop_if_over(t);
		return;
	}
	t->credit -= (size_t)n;
	(void)fleet_data_put(out_of(t), t->t->s->id, t->channel, piece, (size_t)n);
	node_flush(t->t->s->n);
}

static void write_down(struct tunnel *t)
{
	ssize_t n = t->down.len ? send(t->fd, t->down.data, t->down.len, MSG_NOSIGNAL) : 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		say(t, FLEET_CLOSE, ECONNRESET);
		drop(t);
		return;
	}
	buf_consume(&t->down, (size_t)n);
	t->taken += (size_t)n;
	if (t->taken >= WINDOW_STEP || (t->taken && t->down.len == 0)) {
		say(t, FLEET_WINDOW, (uint32_t)t->taken);
		t->taken = 0;
	}
	if (t->down.len == 0 && t->down_ended)
		(void)shutdown(t->fd, SHUT_WR);
	drop_if_over(t);
}

static void on_io(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct tunnel *t = ev_owner(io, struct tunnel, io);

	if (t->state == TUNNEL_HEAD) {
		read_head(t);
		return;
	}
	/* It went away while home dials. */
	if (t->state == TUNNEL_OPENING && events & (EPOLLHUP | EPOLLERR)) {
		say(t, FLEET_CLOSE, ECONNRESET);
		drop(t);
		return;
	}
	if (t->state == TUNNEL_OPEN && events & EPOLLOUT)
		write_down(t);
	if (t->state == TUNNEL_OPEN && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		read_up(t);
	want(t);
}

static void on_connection(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct tunnels *all = ev_owner(io, struct tunnels, io);
	cleanup_fd int fd = accept4(all->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	for (size_t i = 0; i < FLEET_CHANNELS_MAX; i++) {
		struct tunnel *t = &all->v[i];

		if (t->state != TUNNEL_FREE)
			continue;
		*t = (struct tunnel){.t = all,
				     .state = TUNNEL_HEAD,
				     .channel = ++all->last,
				     .fd = take_fd(fd),
				     .credit = FLEET_CREDIT};
		buf_init(&t->head, HEAD_MAX);
		buf_init(&t->down, FLEET_CREDIT);
		t->io = (struct ev_io){.fd = t->fd, .fn = on_io};
		want(t);
		return;
	}
}

/* ---- from home ---- */

static struct tunnel *find(struct tunnels *all, uint32_t channel)
{
	for (size_t i = 0; i < FLEET_CHANNELS_MAX; i++)
		if (all->v[i].state > TUNNEL_HEAD && all->v[i].channel == channel)
			return &all->v[i];
	return NULL;
}

static int on_opened(struct tunnel *t, uint32_t eno)
{
	static const char yes[] = "HTTP/1.1 200 OK\r\n\r\n";

	if (t->state != TUNNEL_OPENING)
		return -EPROTO;
	if (eno || send(t->fd, yes, strlen(yes), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		if (eno)
			answer(t, eno == EPERM ? "403 Forbidden" : "502 Bad Gateway");
		else
			say(t, FLEET_CLOSE, ECONNRESET);
		drop(t);
		return 0;
	}
	t->state = TUNNEL_OPEN;
	return 0;
}

static int on_data(struct tunnel *t, const char *p, size_t n)
{
	/* More than was allowed to be on its way. */
	if (t->state != TUNNEL_OPEN || t->down_ended || t->down.len + t->taken + n > FLEET_CREDIT ||
	    buf_append(&t->down, p, n) < 0)
		return -EPROTO;
	write_down(t);
	return 0;
}

static void on_close(struct tunnel *t, uint32_t eno)
{
	if (eno || t->state != TUNNEL_OPEN) {
		drop(t);
		return;
	}
	t->down_ended = true;
	if (t->down.len == 0)
		(void)shutdown(t->fd, SHUT_WR);
	drop_if_over(t);
}

static int on_window(struct tunnel *t, uint32_t n)
{
	if (n > FLEET_CREDIT - t->credit)
		return -EPROTO;
	t->credit += n;
	return 0;
}

int tunnels_take(struct tunnels *all, const struct fleet_msg *m)
{
	uint32_t channel = 0, value = 0;
	const char *p = NULL;
	struct tunnel *t;
	size_t n = 0;
	int r = m->type == FLEET_DATA ? fleet_data_read(m, &channel, &p, &n)
				      : fleet_pair_read(m, &channel, &value);

	t = r < 0 ? NULL : find(all, channel);
	if (!t) /* what was on its way when a tunnel ended */
		return r;
	if (m->type == FLEET_OPENED)
		r = on_opened(t, value);
	else if (m->type == FLEET_DATA)
		r = on_data(t, p, n);
	else if (m->type == FLEET_CLOSE)
		on_close(t, value);
	else
		r = on_window(t, value);
	want(t);
	return r;
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

struct tunnels *tunnels_new(struct slot *s, struct err *err)
{
	struct tunnels *all = xcalloc(1, sizeof(*all));
	uint16_t port = 0;

	all->s = s;
	all->listener = -1;
	for (size_t i = 0; i < FLEET_CHANNELS_MAX; i++)
		all->v[i] = (struct tunnel){.t = all, .fd = -1};
	if (listen_here(&all->listener, &port, err) < 0 || make_secret(all, port, err) < 0)
		return tunnels_free(all);
	all->io = (struct ev_io){.fd = all->listener, .fn = on_connection};
	(void)ev_want(s->n->ev, &all->io, EPOLLIN);
	return all;
}

struct tunnels *tunnels_free(struct tunnels *all)
{
	if (!all)
		return NULL;
	for (size_t i = 0; i < FLEET_CHANNELS_MAX; i++)
		drop(&all->v[i]);
	if (all->listener >= 0 && all->io.fn)
		(void)ev_want(all->s->n->ev, &all->io, 0);
	closep(&all->listener);
	free(all->url);
	free(all->secret);
	free(all);
	return NULL;
}

const char *tunnels_url(const struct tunnels *all)
{
	return all->url;
}

void tunnels_resume(struct tunnels *all)
{
	for (size_t i = 0; i < FLEET_CHANNELS_MAX; i++)
		want(&all->v[i]);
}
