/* What a server may do with the credential it was sent: show it, in many forms, or refuse it. */
#include "live-servers.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text/base64.h"

#define OK "HTTP/1.1 200 OK\r\n"

/* The token in the request's Authorization. */
static void token_of(const char *head, char ret[static 256])
{
	const char *p = strcasestr(head, "\r\nauthorization:");
	const char *space = p ? strchr(p + 17, ' ') : NULL;

	ret[0] = '\0';
	if (space)
		(void)snprintf(ret, 256, "%.*s", (int)strcspn(space + 1, "\r\n"), space + 1);
}

/* In a spelling that nothing looks for: hexadecimal, with all bits turned round. */
static void respond_hex(struct peer *p, const char *text)
{
	cleanup_buf struct buf b;

	buf_init(&b, MiB);
	for (; *text; text++)
		(void)buf_printf(&b, "%02x", (unsigned char)~(unsigned char)*text);
	peer_respond(p, "", b.data, b.len);
}

/* The body is not looked at: it is the token as it is, so that it would be seen. */
static void respond_encoded(struct peer *p, const char *coding, const char *text)
{
	cleanup_free char *extra = xasprintf("Content-Encoding: %s\r\n", coding);

	peer_respond(p, extra, text, strlen(text));
}

/* Half of it in one chunk, the rest when the test says so. */
static void respond_split(struct peer *p, const char *token, bool wait)
{
	size_t n = strlen(token), half = n / 2;
	cleanup_free char *first = xasprintf("%zx\r\n<%.*s\r\n", half + 1, (int)half, token);
	cleanup_free char *rest = xasprintf("%zx\r\n%s>\r\n0\r\nx-late: %s\r\n\r\n", n - half + 1,
					    token + half, token);

	peer_puts(p, OK "Transfer-Encoding: chunked\r\n\r\n6\r\nbefore\r\n");
	peer_puts(p, first);
	if (wait)
		peer_wait_go();
	peer_puts(p, rest);
}

/* A text that calls itself gRPC. Read as a message of 8 bytes, it would end within the token. */
static void respond_grpc(struct peer *p, const char *token)
{
	cleanup_free char *rest =
		xasprintf("%zx\r\n%s>\r\n0\r\n\r\n", strlen(token) - 7 + 1, token + 7);

	peer_puts(p,
		  OK "Content-Type: application/grpc\r\nTransfer-Encoding: chunked\r\n\r\nd\r\n");
	peer_write(p, "x\0\0\0\x08<", 6);
	peer_write(p, token, 7);
	peer_puts(p, "\r\n");
	peer_wait_go();
	peer_puts(p, rest);
}

static void respond_echo(struct peer *p, const char *how, const char *token)
{
	cleanup_free char *plain = xasprintf("<%s>", token);
	cleanup_buf struct buf b;

	buf_init(&b, 64 * KiB);
	if (strncmp(how, "plain", 5) == 0) {
		peer_respond(p, "", plain, strlen(plain));
	} else if (strncmp(how, "gzip", 4) == 0 || strncmp(how, "deflate", 7) == 0 ||
		   strncmp(how, "br", 2) == 0) {
		respond_encoded(p, how, plain);
	} else if (strncmp(how, "twice", 5) == 0) {
		respond_encoded(p, "gzip, gzip", plain);
	} else if (strncmp(how, "base64", 6) == 0) {
		for (int pad = 0; pad < 3; pad++) {
			cleanup_free char *in = xasprintf("%.*s%s!", pad, "xyz", token);

			base64_put(&b, in, strlen(in));
			(void)buf_putc(&b, '\n');
		}
		peer_respond(p, "", b.data, b.len);
	} else if (strncmp(how, "head", 4) == 0) {
		cleanup_free char *field = xasprintf("X-Echo: %s\r\nSet-Cookie: s=1\r\n", token);

		peer_respond(p, field, "ok", 2);
	} else if (strncmp(how, "interim", 7) == 0) {
		cleanup_free char *early =
			xasprintf("HTTP/1.1 103 Early Hints\r\nLink: <%s>\r\n\r\n", token);

		peer_puts(p, early);
		peer_respond(p, "", "ok", 2);
	} else if (strncmp(how, "part", 4) == 0) {
		peer_puts(p, "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/14\r\n"
			     "Content-Length: 5\r\n\r\n");
		peer_write(p, plain, 5);
	} else if (strncmp(how, "grpc", 4) == 0) {
		respond_grpc(p, token);
	} else if (strncmp(how, "close", 5) == 0) {
		peer_puts(p, OK "\r\n");
		peer_puts(p, plain);
		_exit(0);
	} else {
		respond_split(p, token, strncmp(how, "wait", 4) == 0);
	}
}

static void respond_usage(struct peer *p)
{
	static const char events[] =
		"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":"
		"\"claude-opus-5-5\",\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":30,"
		"\"output_tokens\":1}}}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\","
		"\"usage\":{\"output_tokens\":42}}\n\n";

	peer_respond(p,
		     "Content-Type: text/event-stream; charset=utf-8\r\nRetry-After: 7\r\n"
		     "anthropic-ratelimit-unified-status: allowed\r\n",
		     events, sizeof(events) - 1);
}

bool answer_credential(struct peer *p, const char *path, const char *head, const char *body,
		       size_t n)
{
	const char *part = strncmp(path, "/v1/", 4) == 0 ? path + 4 : path + 1;
	char token[256];

	token_of(head, token);
	if (strncmp(part, "hex", 3) == 0) {
		respond_hex(p, head);
	} else if (strncmp(part, "upload", 6) == 0) {
		cleanup_free char *told = xasprintf("%zu %s", n, token);

		respond_hex(p, told);
	} else if (strncmp(part, "echo/", 5) == 0) {
		respond_echo(p, part + 5, token);
	} else if (strncmp(part, "usage", 5) == 0) {
		respond_usage(p);
	} else if (strncmp(part, "moved", 5) == 0) {
		peer_puts(p, "HTTP/1.1 302 Found\r\nLocation: https://other.test/seen\r\n"
			     "Content-Length: 0\r\n\r\n");
	} else if (strncmp(part, "fresh", 5) == 0 && !streq(token, "new-token-value")) {
		peer_puts(p, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 6\r\n\r\nstale!");
	} else if (strncmp(part, "fresh", 5) == 0) {
		peer_respond(p, "", body, n);
	} else {
		return false;
	}
	return true;
}
