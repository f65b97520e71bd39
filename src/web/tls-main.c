/*
 * libexec/ralph/web-tls make DIRECTORY [HOST…]   a certificate of ralph's own there; prints its fingerprint
 * libexec/ralph/web-tls show CERT                prints the fingerprint of another one
 * libexec/ralph/web-tls serve CERT KEY           in front of web, with the descriptors of web.h
 *
 * DOC: Theory of operation
 *
 * TLS ends here. Each connection gets a pair of sockets: one side is sent to web (WEB_CONN), which
 * serves it as it serves a connection of its own; the bytes of the other side go through TLS. web has
 * no key and no OpenSSL, and this process has no session, no file and no program: once it has read
 * the key it can accept, and send to web. It ends with the hand, and with web.
 */
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/ev.h"
#include "base/fd.h"
#include "base/path.h"
#include "confine/filters.h"
#include "confine/syscalls.h"
#include "flow/isolate.h"
#include "web/frames.h"
#include "web/tls-cert.h"
#include "web/web.h"

#define FRONT_CONNS_MAX (2 * WEB_CONNS_MAX)
#define FRONT_BUF_MAX (32 * KiB) /* each direction of a connection */
#define PIECE (16 * KiB)
#define PEM_MAX (64 * KiB)

struct front {
	struct ev *ev;
	struct ev_io listener, hand, web;
	SSL_CTX *ctx;
	size_t n;
};

struct front_conn {
	struct front *front;
	struct ev_io net, inner;
	struct ev_timer limit; /* until the handshake is over; web has the limits behind it */
	struct ev_defer free;
	struct buf in, out; /* for web, for the browser */
	SSL *ssl;
	uint32_t net_wants;
	bool ended; /* web has sent its last byte */
	bool closed;
};

static void free_now(struct ev *ev, struct ev_defer *d)
{
	struct front_conn *c = ev_owner(d, struct front_conn, free);

	(void)ev;
	c->front->n--;
	SSL_free(c->ssl);
	buf_done(&c->in);
	buf_done(&c->out);
	free(c);
}

static void conn_close(struct front_conn *c)
{
	if (c->closed)
		return;
	c->closed = true;
	ev_timer_stop(c->front->ev, &c->limit);
	ev_closing(c->front->ev, &c->net);
	ev_closing(c->front->ev, &c->inner);
	closep(&c->net.fd);
	closep(&c->inner.fd);
	ev_defer(c->front->ev, &c->free);
}

/* n bytes were moved, or what TLS waits for is noted. false: it is over. */
static bool noted(struct front_conn *c, int n)
{
	int e = n > 0 ? SSL_ERROR_NONE : SSL_get_error(c->ssl, n);

	ERR_clear_error();
	if (e == SSL_ERROR_WANT_READ)
		c->net_wants |= EPOLLIN;
	else if (e == SSL_ERROR_WANT_WRITE)
		c->net_wants |= EPOLLOUT;
	return e == SSL_ERROR_NONE || e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE;
}

static bool browser_to_web(struct front_conn *c)
{
	while (buf_room(&c->in) >= PIECE && buf_reserve(&c->in, PIECE) == 0) {
		int n = SSL_read(c->ssl, c->in.data + c->in.len, (int)PIECE);

		if (!noted(c, n))
			return false;
		if (n <= 0)
			break;
		c->in.len += (size_t)n;
	}
	while (c->in.len) {
		ssize_t n = send(c->inner.fd, c->in.data, c->in.len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN;
		buf_consume(&c->in, (size_t)n);
	}
	return true;
}

static bool web_to_browser(struct front_conn *c)
{
	while (!c->ended && buf_room(&c->out) >= PIECE && buf_reserve(&c->out, PIECE) == 0) {
		ssize_t n = recv(c->inner.fd, c->out.data + c->out.len, PIECE, MSG_DONTWAIT);

		if (n < 0 && errno != EAGAIN)
			return false;
		if (n < 0)
			break;
		c->ended = n == 0;
		c->out.len += (size_t)n;
	}
	while (c->out.len) {
		int n = SSL_write(c->ssl, c->out.data, (int)c->out.len);

		if (!noted(c, n))
			return false;
		if (n <= 0)
			return true;
		buf_consume(&c->out, (size_t)n);
	}
	if (c->ended)
		(void)SSL_shutdown(c->ssl);
	return !c->ended;
}

static void pump(struct front_conn *c)
{
	struct ev *ev = c->front->ev;

	c->net_wants = 0;
	if (!browser_to_web(c) || !web_to_browser(c)) {
		conn_close(c);
		return;
	}
	if (SSL_is_init_finished(c->ssl))
		ev_timer_stop(ev, &c->limit);
	/* A side is read only while the other takes it. */
	if (buf_room(&c->in) < PIECE)
		c->net_wants &= ~(uint32_t)EPOLLIN;
	(void)ev_want(ev, &c->net, c->net_wants | EPOLLRDHUP);
	(void)ev_want(ev, &c->inner,
		      (buf_room(&c->out) >= PIECE ? EPOLLIN : 0) | (c->in.len ? EPOLLOUT : 0) |
			      (c->ended ? 0 : EPOLLRDHUP));
}

static void on_net(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct front_conn *c = ev_owner(io, struct front_conn, net);

	(void)ev;
	if (!c->closed && events & (EPOLLHUP | EPOLLERR))
		conn_close(c);
	else if (!c->closed)
		pump(c);
	/* The browser has gone, and nothing that it sent is left. */
	if (!c->closed && events & EPOLLRDHUP && !(events & EPOLLIN) && !c->in.len)
		conn_close(c);
}

static void on_inner(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct front_conn *c = ev_owner(io, struct front_conn, inner);

	(void)ev;
	(void)events;
	if (!c->closed)
		pump(c);
}

static void on_limit(struct ev *ev, struct ev_timer *t)
{
	(void)ev;
	conn_close(ev_owner(t, struct front_conn, limit));
}

/* Takes fd. */
static void conn_open(struct front *f, int fd)
{
	struct front_conn *c;
	int pair[2];

	if (f->n >= FRONT_CONNS_MAX ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		(void)close(fd);
		return;
	}
	if (wire_send(f->web.fd, (enum wire_type)(unsigned)WEB_CONN, 0, NULL, &pair[1], 1) < 0) {
		(void)close(fd);
		(void)close(pair[0]);
		(void)close(pair[1]);
		return;
	}
	(void)close(pair[1]);
	c = xcalloc(1, sizeof(*c));
	*c = (struct front_conn){.front = f,
				 .net = {.fd = fd, .fn = on_net},
				 .inner = {.fd = pair[0], .fn = on_inner},
				 .limit.fn = on_limit,
				 .free.fn = free_now,
				 .ssl = SSL_new(f->ctx)};
	buf_init(&c->in, FRONT_BUF_MAX);
	buf_init(&c->out, FRONT_BUF_MAX);
	f->n++;
	ev_timer_set(f->ev, &c->limit, WEB_HEAD_MS);
	if (!c->ssl || SSL_set_fd(c->ssl, fd) != 1) {
		conn_close(c);
		return;
	}
	SSL_set_accept_state(c->ssl);
	pump(c);
}

static void on_accept(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct front *f = ev_owner(io, struct front, listener);
	int fd = accept4(io->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)ev;
	(void)events;
	if (fd >= 0)
		conn_open(f, fd);
}

/* Neither says anything here but that it has ended. */
static void on_end(struct ev *ev, struct ev_io *io, uint32_t events)
{
	(void)io;
	(void)events;
	ev_stop(ev);
}

static int load(struct front *f, const char *cert, const char *key, struct err *err)
{
	f->ctx = SSL_CTX_new(TLS_server_method());
	if (!f->ctx || !SSL_CTX_set_min_proto_version(f->ctx, TLS1_2_VERSION))
		return err_set(err, EIO, "OpenSSL cannot serve");
	if (SSL_CTX_use_certificate_chain_file(f->ctx, cert) != 1)
		return err_set(err, EINVAL, "'%s' holds no certificate in PEM", cert);
	if (SSL_CTX_use_PrivateKey_file(f->ctx, key, SSL_FILETYPE_PEM) != 1)
		return err_set(err, EINVAL, "'%s' does not hold the key of that certificate", key);
	(void)SSL_CTX_set_mode(f->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
					       SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
					       SSL_MODE_RELEASE_BUFFERS);
	(void)SSL_CTX_set_options(f->ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	(void)SSL_CTX_set_session_cache_mode(f->ctx, SSL_SESS_CACHE_OFF);
	return 0;
}

static int shut_in(struct err *err)
{
	int r = isolate_rights();

	if (r == 0)
		r = isolate_files(NULL, NULL, NULL, 0);
	if (r >= 0)
		r = confine_calls(web_tls);
	return r < 0 ? err_sys(err, -r, "web-tls cannot give up its rights") : 0;
}

static int serve(const char *cert, const char *key, struct err *err)
{
	static struct front f;
	int r = load(&f, cert, key, err);

	if (r == 0)
		r = ev_new(&f.ev, err);
	if (r < 0)
		return r;
	f.hand = (struct ev_io){.fd = WEB_HAND_FD, .fn = on_end};
	f.web = (struct ev_io){.fd = WEB_OTHER_FD, .fn = on_end};
	f.listener = (struct ev_io){.fd = WEB_LISTEN_FD, .fn = on_accept};
	if (fd_set_nonblock(WEB_LISTEN_FD, true) < 0 || ev_want(f.ev, &f.hand, EPOLLIN) < 0 ||
	    ev_want(f.ev, &f.web, EPOLLIN) < 0 || ev_want(f.ev, &f.listener, EPOLLIN) < 0)
		return err_sys(err, EIO, "cannot watch the sockets");
	r = shut_in(err);
	return r < 0 ? r : ev_run(f.ev, err);
}

static int print(int dir, const char *cert, struct err *err)
{
	char text[TLS_FINGERPRINT_SIZE];
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, PEM_MAX);
	r = path_read(dir, cert, &b);
	if (r < 0)
		return err_sys(err, -r, "cannot read '%s'", cert);
	r = tls_cert_fingerprint(b.data, b.len, text, err);
	if (r < 0)
		return err_wrap(err, r, "%s", cert);
	(void)puts(text);
	return 0;
}

static int make(const char *path, char **hosts, struct err *err)
{
	cleanup_fd int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	cleanup_strv struct strv names = {0};
	int r;

	if (dir < 0)
		return err_sys(err, errno, "cannot open '%s'", path);
	for (; *hosts; hosts++)
		strv_push(&names, *hosts);
	r = tls_cert_make(dir, &names, err);
	return r < 0 ? r : print(dir, TLS_CERT_FILE, err);
}

int main(int argc, char **argv)
{
	struct err err = {0};
	int r = -EINVAL;

	if (argc == 4 && streq(argv[1], "serve"))
		r = serve(argv[2], argv[3], &err);
	else if (argc >= 3 && streq(argv[1], "make"))
		r = make(argv[2], argv + 3, &err);
	else if (argc == 3 && streq(argv[1], "show"))
		r = print(AT_FDCWD, argv[2], &err);
	if (r < 0)
		(void)fprintf(stderr, "%s\n", err.msg[0] ? err.msg : "usage");
	return r < 0 ? EXIT_RUNTIME : EXIT_OK;
}
