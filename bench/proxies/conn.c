/* One connection of a way: through a proxy, into another network, with TLS on top. */
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define GIVE_UP_S 20

static void enter(int netns)
{
	if (setns(netns, CLONE_NEWNET) < 0)
		die("setns", strerror(errno));
}

/* A socket belongs to the network it was made in, wherever its owner goes. */
static int make_socket(const struct way *w)
{
	static int home = -1;
	int fd;

	if (!w->netns)
		return socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (home < 0)
		home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	enter(*w->netns);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	enter(home);
	return fd;
}

int conn_dial(const struct way *w)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(w->port)};
	int on = 1, fd = make_socket(w);

	(void)inet_pton(AF_INET, w->addr, &a.sin_addr);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0 && errno != EINPROGRESS)
		die(w->name, strerror(errno));
	return fd;
}

static bool put_bytes(int fd, SSL *ssl, const char *p, size_t n)
{
	return (ssl ? SSL_write(ssl, p, (int)n) : send(fd, p, n, MSG_NOSIGNAL)) == (ssize_t)n;
}

static bool put(int fd, SSL *ssl, const char *text)
{
	return put_bytes(fd, ssl, text, strlen(text));
}

void conn_send_bytes(const struct way *w, int fd, SSL *ssl, const char *p, size_t n)
{
	if (!put_bytes(fd, ssl, p, n))
		die(w->name, "a request was not taken");
}

void conn_send(const struct way *w, int fd, SSL *ssl, const char *text)
{
	if (!put(fd, ssl, text))
		die(w->name, "a request was not taken");
}

SSL *conn_tls(const struct way *w, SSL_CTX *ctx, int fd)
{
	SSL *ssl = SSL_new(ctx);

	(void)SSL_set_tlsext_host_name(ssl, w->sni);
	(void)SSL_set1_host(ssl, w->sni);
	if (w->speaks)
		(void)SSL_set_alpn_protos(ssl, (const unsigned char *)"\2h2", 3);
	(void)SSL_set_fd(ssl, fd);
	SSL_set_connect_state(ssl);
	return ssl;
}

void conn_connect_text(const struct way *w, char *text, size_t cap)
{
	(void)snprintf(text, cap, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s%s%s\r\n", w->connect,
		       w->connect, w->auth ? "Proxy-Authorization: Basic " : "",
		       w->auth ? w->auth : "", w->auth ? "\r\n" : "");
}

void conn_request_text(const struct way *w, const char *what, char *text, size_t cap)
{
	if (!w->sni)
		(void)snprintf(text, cap, "%s\n", what);
	else
		(void)snprintf(text, cap,
			       "GET /%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bench/1\r\n"
			       "Accept: application/json\r\nx-api-key: phantom-token\r\n\r\n",
			       what, w->sni);
}

bool conn_complete(bool tls, const char *in, size_t n)
{
	const char *body, *length;

	if (!tls)
		return n >= 5;
	body = strstr(in, "\r\n\r\n");
	length = body ? strcasestr(in, "content-length: ") : NULL;
	return length && (size_t)(in + n - body - 4) >= strtoumax(length + 16, NULL, 10);
}

void conn_open(const struct way *w, SSL_CTX *ctx, const char *what, struct held *h)
{
	int fd = conn_dial(w), off = 0;
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	struct timeval limit = {.tv_sec = GIVE_UP_S};
	char text[1024], in[513];
	ssize_t n;

	(void)poll(&p, 1, GIVE_UP_S * 1000);
	if (ioctl(fd, FIONBIO, &off) < 0)
		die(w->name, strerror(errno));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (w->connect) {
		conn_connect_text(w, text, sizeof(text));
		conn_send(w, fd, NULL, text);
		n = recv(fd, in, sizeof(in) - 1, 0);
		if (n < 12 || strncmp(in + 8, " 200", 4) != 0) {
			in[n > 0 ? n : 0] = '\0';
			die(w->name, n < 0    ? strerror(errno)
				     : n == 0 ? "closed instead of a tunnel"
					      : in);
		}
	}
	*h = (struct held){.ssl = w->sni ? conn_tls(w, ctx, fd) : NULL, .fd = fd};
	if (h->ssl && SSL_connect(h->ssl) != 1)
		die(w->name, "the TLS handshake failed");
	if (w->speaks)
		return; /* load_hold_streams() goes on */
	conn_request_text(w, what, text, sizeof(text));
	conn_send(w, fd, h->ssl, text);
}

void conn_close(struct held *h)
{
	SSL_free(h->ssl);
	(void)close(h->fd);
}

bool conn_answer(const struct way *w, struct held *h)
{
	char in[2048];
	size_t n = 0;

	do {
		ssize_t r = h->ssl ? SSL_read(h->ssl, in + n, (int)(sizeof(in) - 1 - n))
				   : recv(h->fd, in + n, sizeof(in) - 1 - n, 0);

		if (r <= 0 && n == 0)
			return false;
		if (r <= 0)
			die(w->name, "half an answer");
		n += (size_t)r;
		in[n] = '\0';
	} while (!conn_complete(h->ssl, in, n));
	if (h->ssl && strncmp(in, "HTTP/1.1 200", 12) != 0)
		die(w->name, in);
	return true;
}

bool conn_exchange(const struct way *w, struct held *h)
{
	char text[512];

	conn_request_text(w, w->sni ? "small" : "P", text, sizeof(text));
	return put(h->fd, h->ssl, text) && conn_answer(w, h);
}
