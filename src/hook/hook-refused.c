/*
 * What the sandbox refused while the tool ran. Few programs show the text of a refusal: most say that a
 * tunnel failed, or that no version was found. So the hook asks the sandbox's own gateway, and tells the
 * agent, with the command by which it can ask a person.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json/jpick.h"
#include "hook/hook.h"

#define PROXY_PORT 3128
#define ASK_ENV "RALPH_ASK" /* where the agent can ask, this names the program */
#define LIMIT_S 2
#define ANSWER_MAX (16 * KiB)
#define HOSTS_MAX 5 /* named in one report */
#define HOST_MAX 255

static int dial(void)
{
	const struct sockaddr_in a = {.sin_family = AF_INET,
				      .sin_port = htons(PROXY_PORT),
				      .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
	const struct timeval limit = {.tv_sec = LIMIT_S};
	cleanup_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	return connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 ? -1 : take_fd(fd);
}

/* The body of the answer, within b; NULL: there is none. */
static const char *ask(uint64_t since, struct buf *b)
{
	cleanup_fd int fd = dial();
	char request[160];
	const char *end;
	int n = snprintf(request, sizeof(request),
			 "GET /_ralph/refused?since=%llu HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
			 "Connection: close\r\n\r\n",
			 (unsigned long long)since, PROXY_PORT);

	if (fd < 0 || fd_write_all(fd, request, (size_t)n) < 0 || fd_read_all(fd, b) < 0 ||
	    strncmp(buf_str(b), "HTTP/1.1 200 ", 13) != 0)
		return NULL;
	end = strstr(buf_str(b), "\r\n\r\n");
	return end ? end + 4 : NULL;
}

void hook_put_refused(const char *session, struct buf *to)
{
	static const char *const names[] = {"now", "hosts"};
	const char *program = getenv(ASK_ENV), *body;
	uint64_t since, now, n = 0;
	struct jtext v[2], one;
	cleanup_buf struct buf b;
	size_t at = 0;

	buf_init(&b, ANSWER_MAX);
	since = program ? session_refused(session) : INT64_MAX;
	body = since == INT64_MAX ? NULL : ask(since, &b);
	if (!body || !jpick((struct jtext){body, strlen(body)}, names, v, 2))
		return;
	now = jtext_uint(v[0]);
	if (now <= since || session_set_refused(session, now) < 0)
		return;
	while (n < HOSTS_MAX && jpick_each(v[1], &at, &one)) {
		cleanup_free char *host = jtext_dup(one, HOST_MAX);

		if (host)
			(void)buf_printf(to, "%s%s", n++ ? ", " : "ralph: the sandbox refused ",
					 host);
	}
	if (n)
		(void)buf_printf(to, ". If the task needs it, ask: %s host HOST:PORT 'why'. ",
				 program);
}
