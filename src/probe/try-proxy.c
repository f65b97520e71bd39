/* Requests that the gateway must refuse, sent as a program inside would send them. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/fd.h"
#include "probe/probe.h"

#define WAIT_S 3
#define DNS_HEAD 12
#define DNS_MAX 512

static int dial(const char *addr, unsigned port, int type)
{
	const struct timeval limit = {.tv_sec = WAIT_S};
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	cleanup_fd int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || inet_pton(AF_INET, addr, &sa.sin_addr) != 1)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -1;
	return take_fd(fd);
}

/* The status of the answer to one request; 0: there was none; -1: no connection. */
static int status_of(unsigned port, const char *request)
{
	static const char head[] = "HTTP/1.1 ";
	cleanup_fd int fd = dial("127.0.0.1", port, SOCK_STREAM);
	char answer[64] = "";
	ssize_t n;

	if (fd < 0 || send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
		return -1;
	n = recv(fd, answer, sizeof(answer) - 1, MSG_WAITALL);
	if (n < (ssize_t)strlen(head) + 3 || strncmp(answer, head, strlen(head)) != 0)
		return 0;
	answer[strlen(head) + 3] = '\0';
	return (int)number(answer + strlen(head));
}

/* `proxy-refuses PORT TARGET…`: refused by what is asked for. Any other answer means that somebody
 * was looked up or dialled. */
static int proxy_refuses(int argc, char **argv)
{
	int n = 0;

	for (int i = 1; i < argc; i++) {
		const char *fmt = strchr(argv[i], ':') ? "[%s]:80" : "%s:80";
		char target[300], request[700];
		int status;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		(void)snprintf(target, sizeof(target), fmt, argv[i]);
#pragma GCC diagnostic pop
		(void)snprintf(request, sizeof(request), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n",
			       target, target);
		status = status_of((unsigned)number(argv[0]), request);
		if (status < 0)
			broken("the proxy");
		if (status != 0 && (status < 400 || status >= 500))
			n += out("CONNECT %s: %d", target, status);
	}
	return n;
}

/* A question for the address of a name; the answer's length. */
static ssize_t ask(const char *name, uint8_t answer[DNS_MAX])
{
	cleanup_fd int fd = dial("127.0.0.53", 53, SOCK_DGRAM);
	uint8_t q[DNS_MAX] = {0x52, 0x61, 0x01, 0x00, 0, 1};
	size_t at = DNS_HEAD;

	if (fd < 0)
		return -1;
	while (*name) {
		size_t n = strcspn(name, ".");

		if (n == 0 || n > 63 || at + n + 6 > sizeof(q))
			return -1;
		q[at++] = (uint8_t)n;
		memcpy(q + at, name, n);
		at += n;
		name += n + (name[n] == '.');
	}
	memcpy(q + at, "\0\0\1\0\1", 5); /* the end of the name, A, IN */
	if (send(fd, q, at + 5, 0) < 0)
		return -1;
	return recv(fd, answer, DNS_MAX, 0);
}

static bool is_answered(const char *name)
{
	uint8_t a[DNS_MAX];
	ssize_t n = ask(name, a);

	if (n < DNS_HEAD)
		broken("the name server");
	return (a[3] & 0xf) == 0 && (a[6] || a[7]);
}

/* `dns-refuses NAME…` */
static int dns_refuses(int argc, char **argv)
{
	int n = 0;

	for (int i = 0; i < argc; i++)
		if (is_answered(argv[i]))
			n += out("'%s' has an address", argv[i]);
	return n;
}

/* `dns-answers NAME…`: the gateway knows it by a rule and asks nobody. */
static int dns_answers(int argc, char **argv)
{
	int n = 0;

	for (int i = 0; i < argc; i++)
		if (!is_answered(argv[i]))
			n += out("'%s' has no address", argv[i]);
	return n;
}

/* `gateway-answers PORT` */
static int gateway_answers(int argc, char **argv)
{
	int status = status_of((unsigned)number(argv[0]),
			       "GET /_ralph/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");

	return status == 200 ? 0 : out("the gateway does not answer (%d)", status);
}

const struct attack proxy_attacks[] = {
	{"proxy-refuses", proxy_refuses},
	{"dns-refuses", dns_refuses},
	{"dns-answers", dns_answers},
	{"gateway-answers", gateway_answers},
	{0},
};
