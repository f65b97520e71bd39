/* A client inside: what it sends, and what it reads. */
#include "live.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

void put_bytes(int fd, const void *p, size_t n)
{
	while (n) {
		ssize_t r = send(fd, p, n, MSG_NOSIGNAL);

		if (r <= 0)
			return; /* the test will see it in what it reads */
		p = (const char *)p + r;
		n -= (size_t)r;
	}
}

void put(int fd, const char *text)
{
	put_bytes(fd, text, strlen(text));
}

char *live_collect(int fd, SSL *ssl, const char *marker)
{
	struct buf b;

	buf_init(&b, 128 * MiB);
	while (!marker || !b.data || !memmem(b.data, b.len, marker, strlen(marker))) {
		char part[16384];
		ssize_t n =
			ssl ? SSL_read(ssl, part, sizeof(part)) : recv(fd, part, sizeof(part), 0);

		if (n < 0 && !ssl && (errno == EAGAIN || errno == EINTR))
			fail_msg("waited in vain for '%s'; got '%s'", marker ? marker : "the end",
				 buf_str(&b));
		if (n <= 0)
			break;
		(void)buf_append(&b, part, (size_t)n);
	}
	return b.data ? buf_take(&b) : xstrdup("");
}

char *get(int fd, const char *marker)
{
	return live_collect(fd, NULL, marker);
}

char *ask(const char *text)
{
	int fd = client_proxy();
	char *answer;

	put(fd, text);
	answer = get(fd, NULL);
	(void)close(fd);
	return answer;
}

void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in '%s'", part, text);
}

void starts(const char *text, const char *with)
{
	if (strncmp(text, with, strlen(with)) != 0)
		fail_msg("'%s' does not start with '%s'", text, with);
}

bool is_reset(int fd)
{
	char c;
	ssize_t n = recv(fd, &c, 1, 0);

	return n < 0 && (errno == ECONNRESET || errno == EPIPE);
}

bool is_closed(int fd)
{
	char c;
	ssize_t n = recv(fd, &c, 1, 0);

	return n == 0 || (n < 0 && (errno == ECONNRESET || errno == EPIPE));
}

/* The head and not a byte more: a server may begin at once. */
static char *get_head(int fd)
{
	struct buf b;
	char one;

	buf_init(&b, 64 * KiB);
	while (!b.data || !memmem(b.data, b.len, "\r\n\r\n", 4)) {
		if (recv(fd, &one, 1, 0) != 1)
			break;
		(void)buf_append(&b, &one, 1);
	}
	return b.data ? buf_take(&b) : xstrdup("");
}

int tunnel_to(const char *authority)
{
	cleanup_free char *rq =
		xasprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority);
	cleanup_free char *answer = NULL;
	int fd = client_proxy();

	put(fd, rq);
	answer = get_head(fd);
	if (strncmp(answer, "HTTP/1.1 200 ", 13) != 0)
		fail_msg("CONNECT %s: '%s'", authority, answer);
	return fd;
}

size_t hello_bytes(const char *sni, unsigned char **ret)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL *s = SSL_new(ctx);
	BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
	char *p;
	long n;

	SSL_set_bio(s, in, out);
	if (sni)
		(void)SSL_set_tlsext_host_name(s, sni);
	(void)SSL_connect(s);
	n = BIO_get_mem_data(out, &p);
	assert_true(n > 0);
	*ret = xmalloc((size_t)n);
	memcpy(*ret, p, (size_t)n);
	SSL_free(s);
	SSL_CTX_free(ctx);
	return (size_t)n;
}
