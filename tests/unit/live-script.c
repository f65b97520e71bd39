/*
 * A server that does what the path tells it, reads strictly, and records each request that it read.
 *
 *	/NAME/STATUS/END/AT    answers with STATUS once AT bytes of the body have come
 *	END	keep	goes on reading the body, then the next request
 *		close	the same, but the answer says "Connection: close"
 *		deaf	says "Connection: close" and reads nothing before it is told to go on
 *		stuck	the same without saying so
 *		gone	closes the connection without an answer
 *	STATUS	100	a whole answer with 200 behind a 100
 *		103	the same behind three of the 1xx
 */
#include "live-servers.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static int records[2] = {-1, -1};

void script_init(void)
{
	assert_int_equal(pipe(records), 0);
}

static void record(const char *text)
{
	/* One write below PIPE_BUF: lines of several processes do not mix. */
	(void)!write(records[1], text, strlen(text));
}

const char *script_line(void)
{
	static char line[512];
	size_t n = 0;

	while (n < sizeof(line) - 1 && read(records[0], line + n, 1) == 1 && line[n] != '\n')
		n++;
	line[n] = '\0';
	return line;
}

void script_forget(void)
{
	struct pollfd p = {.fd = records[0], .events = POLLIN};

	while (poll(&p, 1, 0) > 0)
		(void)script_line();
}

struct reader {
	struct peer *p;
	char b[65536];
	size_t at, have;
};

static int next_byte(struct reader *r)
{
	if (r->at == r->have) {
		ssize_t n = peer_read(r->p, r->b, sizeof(r->b));

		if (n <= 0)
			return -1;
		r->have = (size_t)n;
		r->at = 0;
	}
	return (unsigned char)r->b[r->at++];
}

struct script {
	char name[32], end[16];
	unsigned int status;
	unsigned long at, seen; /* of the body */
	bool answered;
};

static void answer(struct peer *p, struct script *s)
{
	static const char *const early[] = {"100 Continue", "102 Processing", "103 Early Hints"};
	char text[256];
	bool says = streq(s->end, "close") || streq(s->end, "deaf");

	if (s->answered)
		return;
	s->answered = true;
	if (streq(s->end, "gone"))
		_exit(0);
	for (size_t i = 0; s->status < 200 && i < (s->status == 100 ? 1 : ARRAY_SIZE(early)); i++) {
		(void)snprintf(text, sizeof(text), "HTTP/1.1 %s\r\n\r\n", early[i]);
		peer_puts(p, text);
	}
	(void)snprintf(text, sizeof(text), "HTTP/1.1 %u Is\r\nContent-Length: 4\r\n%s\r\ndone",
		       s->status < 200 ? 200 : s->status, says ? "Connection: close\r\n" : "");
	peer_puts(p, text);
	if (streq(s->end, "deaf") || streq(s->end, "stuck"))
		peer_wait_go();
}

char script_byte(unsigned long at)
{
	static const char text[] = "GET /smuggled HTTP/1.1\r\nHost: allowed.test:8080\r\n\r\n";

	return text[at % (sizeof(text) - 1)];
}

/* The next n bytes of the body; the answer comes when it is time. */
static bool read_payload(struct reader *r, struct script *s, unsigned long n)
{
	while (n--) {
		if (next_byte(r) != script_byte(s->seen++))
			return false;
		if (s->seen == s->at)
			answer(r->p, s);
	}
	return true;
}

static long read_size(struct reader *r)
{
	char line[32] = "";

	for (size_t n = 0; n < sizeof(line) - 1; n++) {
		int c = next_byte(r);

		if (c < 0)
			return -1;
		line[n] = (char)c;
		if (c == '\n')
			return n >= 2 && line[n - 1] == '\r' && strchr("0123456789abcdef", line[0])
				       ? strtol(line, NULL, 16)
				       : -1;
	}
	return -1;
}

static bool read_chunks(struct reader *r, struct script *s)
{
	long size;

	do {
		size = read_size(r);
		if (size < 0 || !read_payload(r, s, (unsigned long)size) || next_byte(r) != '\r' ||
		    next_byte(r) != '\n')
			return false;
	} while (size);
	return true;
}

static ssize_t read_head(struct reader *r, char *head, size_t cap)
{
	size_t n = 0;

	while (n < cap - 1) {
		int c = next_byte(r);

		if (c < 0)
			return n ? -1 : 0;
		head[n++] = (char)c;
		head[n] = '\0';
		if (n >= 4 && memcmp(head + n - 4, "\r\n\r\n", 4) == 0)
			return (ssize_t)n;
	}
	return -1;
}

/* "POST /is1/401/close/7 HTTP/1.1": false when the head is no such thing. */
static bool read_script(const char *head, struct script *s)
{
	char method[16], path[128], *save = NULL, *part[4] = {0};
	const char *space = strchr(head, ' '), *end = space ? strchr(space + 1, ' ') : NULL;

	*s = (struct script){0};
	if (!end || strncmp(end, " HTTP/1.1\r\n", 11) != 0 || space - head >= 16 ||
	    end - space >= 128)
		return false;
	(void)snprintf(method, sizeof(method), "%.*s", (int)(space - head), head);
	(void)snprintf(path, sizeof(path), "%.*s", (int)(end - space - 1), space + 1);
	if (!streq(method, "GET") && !streq(method, "POST"))
		return false;
	for (size_t i = 0; i < 4; i++)
		part[i] = strtok_r(i ? NULL : path, "/", &save);
	/* A route's path has /v1 in front. */
	if (part[0] && streq(part[0], "v1")) {
		memmove(part, part + 1, 3 * sizeof(part[0]));
		part[3] = strtok_r(NULL, "/", &save);
	}
	if (!part[0] || strncmp(part[0], "is", 2) != 0 || !part[3])
		return false;
	(void)snprintf(s->name, sizeof(s->name), "%s", part[0]);
	s->status = (unsigned int)strtoul(part[1], NULL, 10);
	(void)snprintf(s->end, sizeof(s->end), "%s", part[2]);
	s->at = strtoul(part[3], NULL, 10);
	return true;
}

/* true: whole and as the test sends it. */
static bool read_body(struct reader *r, struct script *s, const char *head)
{
	const char *length = strcasestr(head, "\r\ncontent-length:");

	if (s->at == 0)
		answer(r->p, s);
	if (strcasestr(head, "\r\ntransfer-encoding:"))
		return !length && read_chunks(r, s);
	return read_payload(r, s, length ? strtoul(length + 17, NULL, 10) : 0);
}

void serve_script(struct peer *p)
{
	static struct reader r;
	struct script s;
	char head[8192], line[300];
	ssize_t n;

	r.p = p;
	while ((n = read_head(&r, head, sizeof(head))) > 0) {
		bool whole;

		if (!read_script(head, &s))
			break;
		whole = read_body(&r, &s, head);
		(void)snprintf(line, sizeof(line), "%s %s%s\n", s.name, whole ? "whole" : "cut",
			       strcasestr(head, "\r\nauthorization:") ? " with" : "");
		record(line);
		if (!whole)
			_exit(0);
		answer(p, &s);
	}
	if (n == 0)
		_exit(0);
	(void)snprintf(line, sizeof(line), "not a request: %.60s", head);
	line[strcspn(line, "\r\n")] = '\0';
	(void)strncat(line, "\n", 2);
	record(line);
	_exit(0);
}
