/* The client of every way: one epoll loop, TLS on top where the way has it. */
#include "bench.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_CONNS 64
#define MAX_SAMPLES 400000
#define STALL_US 40000
/* Not counted: until all connections are there, and the proxy has its own to the origin. */
#define WARM_UP_S(conns) (0.04 + 0.005 * (conns))
#define GIVE_UP_S 20

enum phase { CONNECTING, PROXY, HANDSHAKE, WAITING };

struct client {
	int fd;
	SSL *ssl;
	enum phase phase;
	uint64_t since;
	uint32_t stream; /* the next one, of HTTP/2; 0: nothing was sent yet */
	char in[2048];
	size_t n_in;
};

struct run {
	const struct load *l;
	SSL_CTX *ctx;
	int epoll;
	bool counting, over;
	double *us;
	size_t n;
	uint64_t bytes;
	struct client c[MAX_CONNS];
};

static char sink[1024 * 1024];

uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void ask_h2(struct run *r, struct client *c)
{
	char out[1024];
	size_t n = c->stream ? 0 : h2_begin(out, true);

	c->stream = c->stream ? c->stream + 2 : 1;
	n += h2_ask(out + n, r->l->way, c->stream, true);
	c->since = now_ns();
	conn_send_bytes(r->l->way, c->fd, c->ssl, out, n);
	c->phase = WAITING;
}

static void ask(struct run *r, struct client *c)
{
	const struct way *w = r->l->way;
	char text[512];

	if (w->speaks) {
		ask_h2(r, c);
		return;
	}
	conn_request_text(w,
			  r->l->kind == LOAD_BULK ? (w->sni ? "bulk" ENDLESS : "B" ENDLESS)
			  : w->sni		  ? "small"
						  : "P",
			  text, sizeof(text));
	if (r->l->kind == LOAD_REQUESTS)
		c->since = now_ns();
	conn_send(w, c->fd, c->ssl, text);
	c->n_in = 0;
	c->phase = WAITING;
}

static void open_client(struct run *r, struct client *c)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLOUT, .data.ptr = c};

	*c = (struct client){.since = now_ns()};
	c->fd = conn_dial(r->l->way);
	(void)epoll_ctl(r->epoll, EPOLL_CTL_ADD, c->fd, &e);
}

static void close_client(struct client *c)
{
	SSL_free(c->ssl);
	c->ssl = NULL;
	if (c->fd >= 0)
		(void)close(c->fd);
	c->fd = -1;
}

static void one_done(struct run *r, struct client *c)
{
	if (r->counting && r->n < MAX_SAMPLES)
		r->us[r->n++] = (double)(now_ns() - c->since) / 1e3;
	if (r->l->kind == LOAD_TUNNELS) {
		close_client(c);
		if (!r->over)
			open_client(r, c);
	} else if (!r->over) {
		ask(r, c);
	}
}

static ssize_t take(struct client *c, void *p, size_t n)
{
	ssize_t r = c->ssl ? SSL_read(c->ssl, p, (int)n) : recv(c->fd, p, n, 0);

	if (r > 0)
		return r;
	if (c->ssl)
		return SSL_get_error(c->ssl, (int)r) == SSL_ERROR_WANT_READ ? 0 : -1;
	return r < 0 && errno == EAGAIN ? 0 : -1;
}

static void on_answer_h2(struct run *r, struct client *c)
{
	const struct way *w = r->l->way;
	char out[H2_OUT];
	size_t n_out;
	ssize_t n = take(c, c->in + c->n_in, sizeof(c->in) - c->n_in);
	int ended;

	if (n < 0)
		die(w->name, "closed instead of an answer");
	c->n_in += (size_t)n;
	ended = h2_read(c->in, &c->n_in, false, out, &n_out);
	if (ended < 0)
		die(w->name, "the stream failed");
	if (n_out)
		conn_send_bytes(w, c->fd, c->ssl, out, n_out);
	if (ended)
		one_done(r, c);
}

static void on_answer(struct run *r, struct client *c)
{
	ssize_t n;

	if (r->l->way->speaks) {
		on_answer_h2(r, c);
		return;
	}

	if (r->l->kind == LOAD_BULK) {
		for (int i = 0; i < 8; i++) {
			/* Plain bytes are dropped where they lie: the client must not be the limit.
			 */
			n = c->ssl ? take(c, sink, sizeof(sink))
				   : recv(c->fd, sink, sizeof(sink), MSG_TRUNC);
			if (n < 0 && !c->ssl && errno == EAGAIN)
				return;
			if (n < 0 || (n == 0 && !c->ssl))
				die(r->l->way->name, "the bytes ended");
			if (n == 0)
				return;
			if (r->counting)
				r->bytes += (uint64_t)n;
		}
		return;
	}
	n = take(c, c->in + c->n_in, sizeof(c->in) - 1 - c->n_in);
	if (n < 0)
		die(r->l->way->name, "closed instead of an answer");
	c->n_in += (size_t)n;
	c->in[c->n_in] = '\0';
	if (c->ssl && c->n_in > 12 && strncmp(c->in, "HTTP/1.1 200", 12) != 0)
		die(r->l->way->name, c->in);
	if (n && conn_complete(c->ssl, c->in, c->n_in))
		one_done(r, c);
}

static void secured(struct run *r, struct client *c)
{
	int h = SSL_do_handshake(c->ssl);

	if (h == 1)
		ask(r, c);
	else if (SSL_get_error(c->ssl, h) != SSL_ERROR_WANT_READ)
		die(r->l->way->name, "the TLS handshake failed");
}

static void tunnelled(struct run *r, struct client *c)
{
	const struct way *w = r->l->way;

	if (!w->sni) {
		ask(r, c);
		return;
	}
	c->ssl = conn_tls(w, r->ctx, c->fd);
	c->phase = HANDSHAKE;
	secured(r, c);
}

static void on_client(struct run *r, struct client *c)
{
	const struct way *w = r->l->way;
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
	char text[1024];
	ssize_t n;

	switch (c->phase) {
	case CONNECTING:
		(void)epoll_ctl(r->epoll, EPOLL_CTL_MOD, c->fd, &e);
		if (!w->connect) {
			tunnelled(r, c);
			return;
		}
		conn_connect_text(w, text, sizeof(text));
		conn_send(w, c->fd, NULL, text);
		c->phase = PROXY;
		return;
	case PROXY:
		n = recv(c->fd, c->in + c->n_in, sizeof(c->in) - 1 - c->n_in, 0);
		if (n <= 0)
			die(w->name, "closed instead of a tunnel");
		c->n_in += (size_t)n;
		c->in[c->n_in] = '\0';
		if (!strstr(c->in, "\r\n\r\n"))
			return;
		if (strncmp(c->in + 8, " 200", 4) != 0)
			die(w->name, c->in);
		c->n_in = 0;
		tunnelled(r, c);
		return;
	case HANDSHAKE:
		secured(r, c);
		return;
	case WAITING:
		on_answer(r, c);
		return;
	}
}

static void spin(struct run *r, double seconds)
{
	uint64_t until = now_ns() + (uint64_t)(seconds * 1e9),
		 give_up = until + GIVE_UP_S * 1000000000ull;
	struct epoll_event e[MAX_CONNS];

	while (now_ns() < until) {
		int n = epoll_wait(r->epoll, e, MAX_CONNS, 100);

		for (int i = 0; i < n; i++)
			on_client(r, e[i].data.ptr);
		if (n == 0 && now_ns() > give_up)
			die(r->l->way->name, "stands still");
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void load_sum_up(double *us, size_t n, struct result *ret)
{
	qsort(us, n, sizeof(*us), by_value);
	ret->ops = (double)n;
	ret->p50_us = n ? us[n / 2] : NAN;
	ret->p99_us = n ? us[n * 99 / 100] : NAN;
	ret->max_us = n ? us[n - 1] : NAN;
	while (n && us[--n] >= STALL_US)
		ret->stalls++;
}

void load_run(const struct load *l, SSL_CTX *ctx, struct result *ret)
{
	static double us[MAX_SAMPLES];
	static struct run r;
	double cpu;
	uint64_t start;

	r = (struct run){.l = l, .ctx = ctx, .us = us};
	*ret = (struct result){0};
	r.epoll = epoll_create1(EPOLL_CLOEXEC);
	for (unsigned int i = 0; i < l->conns; i++)
		open_client(&r, &r.c[i]);
	spin(&r, WARM_UP_S(l->conns));
	cpu = l->way->pid ? proc_cpu_s(*l->way->pid) : 0;
	r.counting = true;
	start = now_ns();
	spin(&r, l->seconds);
	ret->seconds = (double)(now_ns() - start) / 1e9;
	ret->cpu_s = (l->way->pid ? proc_cpu_s(*l->way->pid) : 0) - cpu;
	for (unsigned int i = 0; i < l->conns; i++)
		close_client(&r.c[i]);
	(void)close(r.epoll);
	ret->bytes = (double)r.bytes;
	load_sum_up(us, r.n, ret);
}

void load_sse(const struct way *w, SSL_CTX *ctx, unsigned int events, struct result *ret)
{
	static double us[MAX_SAMPLES];
	char in[4096];
	size_t n = 0, seen = 0;
	struct held h;

	*ret = (struct result){0};
	conn_open(w, ctx, "sse", &h);
	while (n < events) {
		int got = SSL_read(h.ssl, in, sizeof(in) - 1);
		uint64_t now = now_ns();
		char *p = in;

		if (got <= 0)
			die(w->name, "the events ended");
		in[got] = '\0';
		for (; (p = strstr(p, "data: ")) && n < events; p += 6)
			/* The first few come while the connection is still being made. */
			if (++seen > 5)
				us[n++] = (double)(now - strtoumax(p + 6, NULL, 10)) / 1e3;
	}
	conn_close(&h);
	load_sum_up(us, n, ret);
}

void load_hold(const struct way *w, SSL_CTX *ctx, struct held *h, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		conn_open(w, ctx, "small", &h[i]);
		if (!conn_answer(w, &h[i]))
			die(w->name, "no answer");
	}
}

void load_let_go(struct held *h, size_t n)
{
	for (size_t i = 0; i < n; i++)
		conn_close(&h[i]);
}

void load_hold_streams(const struct way *w, SSL_CTX *ctx, struct held *h, size_t conns,
		       unsigned int streams)
{
	char out[1024], in[2048];

	for (size_t i = 0; i < conns; i++) {
		conn_open(w, ctx, NULL, &h[i]);
		conn_send_bytes(w, h[i].fd, h[i].ssl, out, h2_begin(out, true));
		for (unsigned int k = 0; k < streams; k++)
			conn_send_bytes(w, h[i].fd, h[i].ssl, out,
					h2_ask(out, w, 2 * k + 1, false));
		conn_send_bytes(w, h[i].fd, h[i].ssl, out, h2_ping(out));
		/* Its answer comes when all of them were read. */
		for (size_t n = 0; !h2_is_ponged(in, n);) {
			int r = SSL_read(h[i].ssl, in + n, (int)(sizeof(in) - n));

			if (r <= 0)
				die(w->name, "no answer");
			n += (size_t)r;
		}
	}
	(void)usleep(300000);
}

void load_slow(const struct way *w, SSL_CTX *ctx, size_t n, double bytes_per_s, double seconds,
	       void (*each)(void *), void *arg)
{
	size_t step = (size_t)(bytes_per_s / 50);
	struct held h[MAX_CONNS];

	for (size_t i = 0; i < n; i++)
		conn_open(w, ctx, w->sni ? "bulk" ENDLESS : "B" ENDLESS, &h[i]);
	for (unsigned int t = 0; t < seconds * 50; t++) {
		for (size_t i = 0; i < n; i++)
			for (size_t left = step; left;) {
				ssize_t r = h[i].ssl ? SSL_read(h[i].ssl, sink, (int)left)
						     : recv(h[i].fd, sink, left, 0);

				if (r <= 0)
					die(w->name, "the bytes ended");
				left -= (size_t)r;
			}
		(void)usleep(20000);
		each(arg);
	}
	load_let_go(h, n);
}
