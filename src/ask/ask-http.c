#include "ask/ask-program.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json/jpick.h"

#define PROXY_PORT 3128 /* of the sandbox's own loopback: the gateway */
#define ANSWER_S 60	/* for an answer, beyond what it may wait */
#define BUSY_TRIES 20	/* of a gateway that has just ended, or a queue that is being changed */
#define BUSY_PAUSE_NS (250 * 1000 * 1000)

static int dial(void)
{
	const struct sockaddr_in a = {.sin_family = AF_INET,
				      .sin_port = htons(PROXY_PORT),
				      .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
	const struct timeval limit = {.tv_sec = ANSWER_S};
	cleanup_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	return connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 ? -errno : take_fd(fd);
}

/* Sends the request and reads the whole answer: its status, or -errno; *ret_body points into b. */
static int exchange(const struct buf *request, struct buf *b, const char **ret_body)
{
	cleanup_fd int fd = dial();
	const char *end;
	int r;

	if (fd < 0)
		return fd;
	r = fd_write_all(fd, request->data, request->len);
	if (r == 0)
		r = fd_read_all(fd, b);
	if (r < 0)
		return r;
	end = strstr(buf_str(b), "\r\n\r\n");
	if (!end || strncmp(buf_str(b), "HTTP/1.1 ", 9) != 0 || b->len < 12)
		return -EPROTO;
	*ret_body = end + 4;
	return (buf_str(b)[9] - '0') * 100 + (buf_str(b)[10] - '0') * 10 + (buf_str(b)[11] - '0');
}

static void put_words(struct buf *b, const struct ask_words *w)
{
	(void)buf_puts(b, "{\"kind\":");
	(void)buf_put_quoted(b, w->kind);
	(void)buf_puts(b, ",\"what\":");
	(void)buf_put_quoted(b, w->what);
	(void)buf_puts(b, ",\"why\":");
	(void)buf_put_quoted(b, w->why);
	(void)buf_puts(b, ",\"choices\":[");
	for (size_t i = 0; i < w->choices.n; i++) {
		(void)buf_puts(b, i ? "," : "");
		(void)buf_put_quoted(b, w->choices.v[i]);
	}
	(void)buf_puts(b, "]}");
}

static void fail(struct ask_result *ret, const char *text)
{
	free(ret->text);
	ret->code = ASK_FAILED;
	ret->text = xstrdup(text);
}

static void read_answer(const char *body, struct ask_result *ret)
{
	static const char *const names[] = {"id", "state", "answer", "scope", "error"};
	struct jtext v[5];

	if (!jpick((struct jtext){body, strlen(body)}, names, v, 5)) {
		fail(ret, "the gateway's answer is not understood");
		return;
	}
	free(ret->text);
	if (v[0].p) {
		free(ret->id);
		ret->id = jtext_dup(v[0], 64);
	}
	ret->text = v[2].p   ? jtext_dup(v[2], ASK_TEXT_MAX)
		    : v[4].p ? jtext_dup(v[4], ASK_TEXT_MAX)
			     : xstrdup("");
	ret->code = jtext_eq(v[1], "allowed")				    ? ASK_ALLOWED
		    : jtext_eq(v[1], "denied") || jtext_eq(v[1], "refused") ? ASK_DENIED
		    : jtext_eq(v[1], "open")				    ? ASK_OPEN
									    : ASK_FAILED;
	if (!ret->text)
		ret->text = xstrdup("");
}

/* The same request once more where the other side was busy, which the person need not hear of. */
static void request(const struct buf *text, struct ask_result *ret)
{
	const struct timespec pause = {.tv_nsec = BUSY_PAUSE_NS};

	for (int i = 0; i < BUSY_TRIES; i++) {
		const char *body = "";
		cleanup_buf struct buf b;
		int status;

		buf_init(&b, ASK_TEXT_MAX);
		status = exchange(text, &b, &body);
		if (status == 200 || (status >= 400 && status != 503)) {
			read_answer(body, ret);
			return;
		}
		(void)nanosleep(&pause, NULL);
	}
	fail(ret, "the sandbox's gateway does not answer");
}

static void get(const char *id, unsigned wait_s, struct ask_result *ret)
{
	cleanup_buf struct buf b;

	buf_init(&b, 4 * KiB);
	(void)buf_printf(&b,
			 "GET /_ralph/asks/%s?wait=%u HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
			 "Connection: close\r\n\r\n",
			 id, wait_s, PROXY_PORT);
	request(&b, ret);
}

static bool is_id(const char *id)
{
	size_t n = strlen(id);

	return n > 0 && n <= 16 && strspn(id, "0123456789abcdef") == n;
}

void ask_again(const char *id, unsigned wait_s, struct ask_result *ret)
{
	cleanup_free char *own = xstrdup(id);

	if (!is_id(own)) {
		fail(ret, "that is no id of an ask");
		return;
	}
	do {
		unsigned now = wait_s < ASK_POLL_S ? wait_s : ASK_POLL_S;

		get(own, now, ret);
		wait_s -= now;
	} while (ret->code == ASK_OPEN && wait_s);
}

void ask_person(const struct ask_words *w, struct ask_result *ret)
{
	cleanup_free char *id = NULL;
	cleanup_buf struct buf body, b;

	buf_init(&body, ASK_TEXT_MAX);
	buf_init(&b, 2 * ASK_TEXT_MAX);
	put_words(&body, w);
	(void)buf_printf(&b,
			 "POST /_ralph/asks HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n"
			 "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
			 PROXY_PORT, body.len, buf_str(&body));
	if (body.full || b.full) {
		fail(ret, "what you ask is too long");
		return;
	}
	request(&b, ret);
	id = ret->id ? xstrdup(ret->id) : NULL;
	if (ret->code == ASK_OPEN && id && w->wait_s)
		ask_again(id, w->wait_s, ret);
}

void ask_result_done(struct ask_result *r)
{
	free(r->id);
	free(r->text);
	*r = (struct ask_result){0};
}
