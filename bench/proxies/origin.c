/* The server at the far end: one epoll loop, TLS or plain, nothing that could be the bottleneck. */
#include "bench.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#define PIECE (256 * 1024)
#define TLS_PIECE (16 * 1024)
#define MAX_SSE 64

struct peer {
	int fd;
	SSL *ssl;
	bool ready; /* the handshake is over */
	bool sse, h2;
	char in[4096];
	size_t n_in;
	uint64_t bulk; /* bytes still to be sent */
};

static struct {
	int epoll, listener, timer;
	SSL_CTX *ctx;
	struct peer *sse[MAX_SSE];
	size_t n_sse;
	int piece; /* a file in memory: plain bytes are sent without a copy */
	char tls_piece[TLS_PIECE];
} o;

static const char small[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
			    "Content-Length: 256\r\n\r\n%-256s";
static const char sse_head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
			       "Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n";

static void watch(struct peer *p, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = p};

	(void)epoll_ctl(o.epoll, EPOLL_CTL_MOD, p->fd, &e);
}

static void end(struct peer *p)
{
	for (size_t i = 0; i < o.n_sse; i++)
		if (o.sse[i] == p)
			o.sse[i--] = o.sse[--o.n_sse];
	SSL_free(p->ssl);
	(void)close(p->fd);
	free(p);
}

/* > 0, 0: not now, -1: over. */
static ssize_t put(struct peer *p, const void *data, size_t n)
{
	ssize_t r = p->ssl ? SSL_write(p->ssl, data, (int)n) : send(p->fd, data, n, MSG_NOSIGNAL);

	if (r > 0)
		return r;
	if (p->ssl)
		return SSL_get_error(p->ssl, (int)r) == SSL_ERROR_WANT_WRITE ? 0 : -1;
	return errno == EAGAIN ? 0 : -1;
}

static ssize_t get(struct peer *p)
{
	size_t room = sizeof(p->in) - 1 - p->n_in;
	ssize_t r = p->ssl ? SSL_read(p->ssl, p->in + p->n_in, (int)room)
			   : recv(p->fd, p->in + p->n_in, room, 0);

	if (r > 0) {
		p->n_in += (size_t)r;
		p->in[p->n_in] = '\0';
		return r;
	}
	if (p->ssl)
		return SSL_get_error(p->ssl, (int)r) == SSL_ERROR_WANT_READ ? 0 : -1;
	return r < 0 && errno == EAGAIN ? 0 : -1;
}

static ssize_t put_bulk(struct peer *p)
{
	size_t piece = p->ssl ? TLS_PIECE : PIECE, n = p->bulk < piece ? (size_t)p->bulk : piece;
	off_t at = 0;
	ssize_t r;

	if (p->ssl)
		return put(p, o.tls_piece, n);
	r = sendfile(p->fd, o.piece, &at, n);
	return r > 0 ? r : errno == EAGAIN ? 0 : -1;
}

/* false: p is over. */
static bool send_bulk(struct peer *p)
{
	for (int i = 0; p->bulk && i < 16; i++) {
		ssize_t n = put_bulk(p);

		if (n < 0) {
			end(p);
			return false;
		}
		if (n == 0)
			break;
		p->bulk -= (uint64_t)n;
	}
	watch(p, p->bulk ? EPOLLIN | EPOLLOUT : EPOLLIN);
	return true;
}

static void start_bulk(struct peer *p, const char *number)
{
	char head[160];

	p->bulk = strtoumax(number, NULL, 10);
	if (p->ssl) {
		(void)snprintf(head, sizeof(head),
			       "HTTP/1.1 200 OK\r\nContent-Length: %" PRIu64 "\r\n\r\n", p->bulk);
		(void)put(p, head, strlen(head));
	}
}

static void answer(struct peer *p)
{
	char text[512];

	if (!p->ssl && p->in[0] == 'B') {
		start_bulk(p, p->in + 1);
	} else if (!p->ssl) {
		(void)put(p, "pong\n", 5);
	} else if (strncmp(p->in, "GET /bulk", 9) == 0) {
		start_bulk(p, p->in + 9);
	} else if (strncmp(p->in, "GET /sse", 8) == 0 && o.n_sse < MAX_SSE) {
		o.sse[o.n_sse++] = p;
		(void)put(p, sse_head, strlen(sse_head));
	} else {
		(void)snprintf(text, sizeof(text), small, "{}");
		(void)put(p, text, strlen(text));
	}
}

static void serve_h2(struct peer *p)
{
	char out[H2_OUT];
	size_t n;
	ssize_t r;

	while ((r = get(p)) > 0) {
		if (h2_read(p->in, &p->n_in, true, out, &n) < 0)
			n = 0; /* one stream is over: its proxy was ended */
		if (n && put(p, out, n) != (ssize_t)n)
			die("origin", "an answer was not taken");
	}
	if (r < 0)
		end(p);
}

static void begin_h2(struct peer *p)
{
	const unsigned char *name;
	unsigned int n;
	char out[64];

	SSL_get0_alpn_selected(p->ssl, &name, &n);
	p->h2 = n == 2;
	if (p->h2)
		(void)put(p, out, h2_begin(out, false));
}

static void serve(struct peer *p)
{
	const char *mark = o.ctx ? "\r\n\r\n" : "\n";
	char *next;
	ssize_t r;

	if (p->ssl && !p->ready) {
		int h = SSL_do_handshake(p->ssl);

		if (h != 1) {
			if (SSL_get_error(p->ssl, h) != SSL_ERROR_WANT_READ)
				end(p);
			return;
		}
		p->ready = true;
		begin_h2(p);
	}
	if (p->h2) {
		serve_h2(p);
		return;
	}
	if (p->bulk && !send_bulk(p))
		return;
	r = p->bulk ? 0 : get(p);
	if (r < 0) {
		end(p);
		return;
	}
	next = r ? strstr(p->in, mark) : NULL;
	if (!next)
		return;
	answer(p);
	p->n_in = 0;
	if (p->bulk)
		(void)send_bulk(p);
}

static void tick(void)
{
	char text[64], chunk[96];
	uint64_t times;

	if (read(o.timer, &times, sizeof(times)) < 0)
		return;
	for (size_t i = 0; i < o.n_sse; i++) {
		(void)snprintf(text, sizeof(text), "data: %020" PRIu64 "\n\n", now_ns());
		(void)snprintf(chunk, sizeof(chunk), "%zx\r\n%s\r\n", strlen(text), text);
		(void)put(o.sse[i], chunk, strlen(chunk));
	}
}

static void welcome(void)
{
	int fd = accept4(o.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), on = 1;
	struct epoll_event e = {.events = EPOLLIN};
	struct peer *p;

	if (fd < 0)
		return;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	p = calloc(1, sizeof(*p));
	if (!p)
		die("origin", "out of memory");
	p->fd = fd;
	if (o.ctx) {
		p->ssl = SSL_new(o.ctx);
		(void)SSL_set_fd(p->ssl, fd);
		SSL_set_accept_state(p->ssl);
	}
	e.data.ptr = p;
	(void)epoll_ctl(o.epoll, EPOLL_CTL_ADD, fd, &e);
}

static void arm(int fd, void *mark)
{
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = mark};

	(void)epoll_ctl(o.epoll, EPOLL_CTL_ADD, fd, &e);
}

pid_t origin_start(uint16_t port, SSL_CTX *ctx)
{
	struct itimerspec every = {.it_interval.tv_nsec = SSE_EVERY_US * 1000L,
				   .it_value.tv_nsec = SSE_EVERY_US * 1000L};
	int listener = world_listener(ORIGIN, port);
	struct epoll_event e[64];
	pid_t pid = fork();

	if (pid != 0) {
		(void)close(listener);
		return pid;
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	o.ctx = ctx;
	if (ctx)
		(void)SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
						    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	o.listener = listener;
	o.epoll = epoll_create1(EPOLL_CLOEXEC);
	o.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	(void)timerfd_settime(o.timer, 0, &every, NULL);
	o.piece = memfd_create("piece", MFD_CLOEXEC);
	if (o.piece < 0 || ftruncate(o.piece, PIECE) < 0)
		die("memfd", strerror(errno));
	arm(listener, &o.listener);
	if (ctx)
		arm(o.timer, &o.timer);
	for (;;) {
		int n = epoll_wait(o.epoll, e, 64, -1);

		for (int i = 0; i < n; i++)
			if (e[i].data.ptr == &o.listener)
				welcome();
			else if (e[i].data.ptr == &o.timer)
				tick();
			else
				serve(e[i].data.ptr);
	}
}
