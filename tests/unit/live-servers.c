/* Small blocking servers for the gateway's tests: one process each, one more per connection. */
#include "live-servers.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int go_pipe[2] = {-1, -1};

void server_go(void)
{
	(void)!write(go_pipe[1], "g", 1);
}

void peer_wait_go(void)
{
	char c;

	(void)!read(go_pipe[0], &c, 1);
}

ssize_t peer_read(struct peer *p, void *b, size_t n)
{
	return p->ssl ? SSL_read(p->ssl, b, (int)n) : read(p->fd, b, n);
}

void peer_write(struct peer *p, const void *b, size_t n)
{
	while (n) {
		ssize_t r = p->ssl ? SSL_write(p->ssl, b, (int)n) : send(p->fd, b, n, MSG_NOSIGNAL);

		if (r <= 0)
			_exit(0);
		b = (const char *)b + r;
		n -= (size_t)r;
	}
}

void peer_puts(struct peer *p, const char *s)
{
	peer_write(p, s, strlen(s));
}

void peer_respond(struct peer *p, const char *extra, const char *body, size_t n)
{
	static char whole[2 << 20];
	int head = snprintf(whole, sizeof(whole),
			    "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n%s\r\n", n, extra);

	memcpy(whole + head, body, n);
	peer_write(p, whole, (size_t)head + n);
}

static void big(struct peer *p, size_t n)
{
	static char block[65536];
	char head[128];

	memset(block, 'x', sizeof(block));
	(void)snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", n);
	peer_puts(p, head);
	while (n) {
		size_t part = n < sizeof(block) ? n : sizeof(block);

		peer_write(p, block, part);
		n -= part;
	}
}

static void echo(struct peer *p)
{
	char b[65536];
	ssize_t n;

	while ((n = peer_read(p, b, sizeof(b))) > 0)
		peer_write(p, b, (size_t)n);
	_exit(0);
}

static int served; /* requests of this process's connection */

/* What the paths do is what the tests ask for by name. */
static void answer(struct peer *p, const char *path, const char *head, const char *body, size_t n)
{
	char text[64];

	if (strncmp(path, "/hello", 6) == 0) {
		peer_respond(p, "", "hi", 2);
	} else if (strncmp(path, "/seen", 5) == 0) {
		peer_respond(p, "", head, strlen(head));
	} else if (strncmp(path, "/body", 5) == 0) {
		peer_respond(p, "", body, n);
	} else if (strncmp(path, "/pid", 4) == 0) {
		(void)snprintf(text, sizeof(text), "pid=%d", (int)getpid());
		peer_respond(p, "", text, strlen(text));
	} else if (strncmp(path, "/sse", 4) == 0) {
		peer_puts(p, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
			     "Transfer-Encoding: chunked\r\n\r\nd\r\ndata: first\n\n\r\n");
		peer_wait_go();
		peer_puts(p, "e\r\ndata: second\n\n\r\n0\r\nx-trailer: end\r\n\r\n");
	} else if (strncmp(path, "/close", 6) == 0) {
		peer_puts(p, "HTTP/1.1 200 OK\r\n\r\nuntil the end");
		_exit(0);
	} else if (strncmp(path, "/cut", 4) == 0) {
		peer_puts(p, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
		_exit(0);
	} else if (strncmp(path, "/smuggle", 8) == 0) {
		peer_puts(p, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: "
			     "chunked\r\n\r\nhi");
	} else if (strncmp(path, "/extra", 6) == 0) {
		peer_puts(p, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\n"
			     "Content-Length: 6\r\n\r\npoison");
	} else if (strncmp(path, "/big", 4) == 0) {
		big(p, (size_t)64 * 1024 * 1024);
	} else if (strncmp(path, "/ws", 3) == 0) {
		peer_puts(p, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
			     "Connection: Upgrade\r\n\r\nfrom-server");
		echo(p);
	} else if (strncmp(path, "/once", 5) == 0) {
		/* Only the first request of a connection is answered. */
		if (served)
			_exit(0);
		peer_respond(p, "", "once", 4);
	} else if (strncmp(path, "/die", 4) == 0) {
		_exit(0);
	} else if (!answer_credential(p, path, head, body, n)) {
		peer_puts(p, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
	}
}

/* A chunked body is read to its end and kept raw: the tests look at the framing. */
static size_t read_body(struct peer *p, char *b, size_t have, size_t cap, const char *head)
{
	const char *cl = strcasestr(head, "\r\ncontent-length:");
	bool chunked = strcasestr(head, "\r\ntransfer-encoding:") != NULL;
	size_t want = cl ? (size_t)strtoul(cl + 17, NULL, 10) : 0;

	if (strcasestr(head, "\r\nexpect:"))
		peer_puts(p, "HTTP/1.1 100 Continue\r\n\r\n");
	while (chunked ? !(have >= 5 && memmem(b, have, "0\r\n", 3) &&
			   memcmp(b + have - 4, "\r\n\r\n", 4) == 0)
		       : have < want && have < cap) {
		ssize_t n = peer_read(p, b + have, cap - have);

		if (n <= 0)
			_exit(0);
		have += (size_t)n;
	}
	return have;
}

/* An answer before the body has been read, which then nobody wants. */
static void answer_early(struct peer *p, const char *status)
{
	char b[4096];

	peer_puts(p, "HTTP/1.1 ");
	peer_puts(p, status);
	peer_puts(p, "\r\nContent-Length: 7\r\nConnection: close\r\n\r\ntoo big");
	while (peer_read(p, b, sizeof(b)) > 0)
		;
	_exit(0);
}

static void serve_http(struct peer *p)
{
	static char b[1 << 20], head[1 << 17];
	size_t have = 0;

	for (;;) {
		char *end = memmem(b, have, "\r\n\r\n", 4), *path;
		size_t head_len;

		if (!end) {
			ssize_t n = peer_read(p, b + have, sizeof(b) - have);

			if (n <= 0)
				_exit(0);
			have += (size_t)n;
			continue;
		}
		head_len = (size_t)(end - b) + 4;
		memcpy(head, b, head_len);
		head[head_len] = '\0';
		memmove(b, b + head_len, have - head_len);
		if (strstr(head, "/early "))
			answer_early(p, "413 Content Too Large");
		if (strstr(head, "/fresh/soon ") && !strstr(head, "new-token-value"))
			answer_early(p, "401 Unauthorized");
		have = read_body(p, b, have - head_len, sizeof(b), head);
		path = strchr(head, ' ') + 1;
		if (strncmp(path, "http://", 7) == 0)
			path = strchr(path + 7, '/');
		answer(p, path, head, b, have);
		served++;
		have = 0;
	}
}

static void serve_banner(struct peer *p)
{
	peer_puts(p, "SSH-2.0-test\r\n");
	echo(p);
}

/* A proxy as companies have it: says what it was asked for, once the client has said something. */
static void serve_proxy(struct peer *p)
{
	char b[4096] = "";
	ssize_t n = 0, got;

	while (!strstr(b, "\r\n\r\n") && (got = peer_read(p, b + n, sizeof(b) - 1 - (size_t)n)) > 0)
		n += got;
	if (strncmp(b, "CONNECT ", 8) == 0) {
		char first;

		peer_puts(p, "HTTP/1.1 200 OK\r\n\r\n");
		(void)peer_read(p, &first, 1);
		peer_puts(p, b);
		echo(p);
	}
	peer_respond(p, "Connection: close\r\n", b, strlen(b));
	_exit(0);
}

static void serve_bulk(struct peer *p)
{
	static char block[256 * 1024];
	char b[16];

	if (peer_read(p, b, sizeof(b)) > 0)
		for (;;)
			peer_write(p, block, sizeof(block));
}

static void serve(enum server_kind kind, int fd, SSL_CTX *ctx)
{
	struct peer p = {.fd = fd};
	int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	switch (kind) {
	case SERVER_HTTPS:
	case SERVER_TLS_ECHO:
	case SERVER_SCRIPT_TLS:
		p.ssl = SSL_new(ctx);
		(void)SSL_set_fd(p.ssl, fd);
		if (SSL_accept(p.ssl) != 1)
			_exit(0);
		if (kind == SERVER_TLS_ECHO)
			echo(&p);
		if (kind == SERVER_SCRIPT_TLS)
			serve_script(&p);
		serve_http(&p);
		break;
	case SERVER_HTTP:
		serve_http(&p);
		break;
	case SERVER_BANNER:
		serve_banner(&p);
		break;
	case SERVER_ECHO:
		echo(&p);
		break;
	case SERVER_PROXY:
		serve_proxy(&p);
		break;
	case SERVER_BULK:
		serve_bulk(&p);
		break;
	case SERVER_SCRIPT:
		serve_script(&p);
		break;
	}
}

void server_start(enum server_kind kind, const char *addr, uint16_t port, SSL_CTX *ctx)
{
	struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	bool six = strchr(addr, ':') != NULL;
	int on = 1, fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int small = 2304; /* of unread bytes, so that a body stays with the gateway */
	pid_t us = getpid();

	if (go_pipe[0] < 0)
		assert_int_equal(pipe(go_pipe), 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (kind == SERVER_SCRIPT || kind == SERVER_SCRIPT_TLS)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	assert_int_equal(inet_pton(six ? AF_INET6 : AF_INET, addr,
				   six ? (void *)&a6.sin6_addr : (void *)&a4.sin_addr),
			 1);
	assert_int_equal(bind(fd, six ? (struct sockaddr *)&a6 : (struct sockaddr *)&a4,
			      six ? sizeof(a6) : sizeof(a4)),
			 0);
	assert_int_equal(listen(fd, 1024), 0);
	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != us)
			_exit(0);
		(void)signal(SIGCHLD, SIG_IGN);
		for (;;) {
			int c = accept(fd, NULL, NULL);

			if (c >= 0 && fork() == 0) {
				(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
				(void)close(fd);
				serve(kind, c, ctx);
				_exit(0);
			}
			(void)close(c);
		}
	}
	(void)close(fd);
}

int server_deaf(const char *addr, uint16_t port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)inet_pton(AF_INET, addr, &a.sin_addr);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 0), 0);
	/* Once its queue is full the kernel drops what comes, without a word. */
	for (int i = 0; i < 4; i++) {
		int c = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		(void)connect(c, (struct sockaddr *)&a, sizeof(a));
	}
	return fd;
}
