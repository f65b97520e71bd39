/* As much HTTP/2 as requests of one kind need, written by hand: neither end is what is measured. */
#include "bench.h"

#include <string.h>

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define PREFACE_LEN (sizeof(PREFACE) - 1)
#define FRAME_HEAD 9
#define BODY 256
#define MESSAGE 5 /* before each of gRPC */

enum { DATA, HEADERS, RST_STREAM = 3, SETTINGS, PING = 6, GOAWAY, WINDOW_UPDATE };
enum { ACK = 1, END_STREAM = 1, END_HEADERS = 4 };

static char *put_frame(char *p, int type, int flags, uint32_t stream, size_t n)
{
	const unsigned char head[FRAME_HEAD] = {
		(unsigned char)(n >> 16),
		(unsigned char)(n >> 8),
		(unsigned char)n,
		(unsigned char)type,
		(unsigned char)flags,
		(unsigned char)(stream >> 24),
		(unsigned char)(stream >> 16),
		(unsigned char)(stream >> 8),
		(unsigned char)stream,
	};

	memcpy(p, head, sizeof(head));
	return p + FRAME_HEAD;
}

static char *put_text(char *p, const char *text)
{
	size_t n = strlen(text);

	*p++ = (char)n;
	memcpy(p, text, n);
	return p + n;
}

/* A field that is not indexed: by the number of its name, or by its name. */
static char *put_known(char *p, unsigned int name, const char *value)
{
	if (name < 15) {
		*p++ = (char)name;
	} else {
		*p++ = 15;
		*p++ = (char)(name - 15);
	}
	return put_text(p, value);
}

static char *put_named(char *p, const char *name, const char *value)
{
	*p++ = 0;
	return put_text(put_text(p, name), value);
}

/* SETTINGS as they are, and a window for all that is ever sent here. */
size_t h2_begin(char *out, bool client)
{
	char *p = out;

	if (client) {
		memcpy(p, PREFACE, PREFACE_LEN);
		p += PREFACE_LEN;
	}
	p = put_frame(p, SETTINGS, 0, 0, 0);
	p = put_frame(p, WINDOW_UPDATE, 0, 0, 4);
	memcpy(p, "\x7f\xf0\0\0", 4);
	return (size_t)(p + 4 - out);
}

size_t h2_ask(char *out, const struct way *w, uint32_t stream, bool ends)
{
	bool grpc = w->speaks == WAY_GRPC;
	char fields[512], *f = fields, *p;

	*f++ = (char)(grpc ? 0x83 : 0x82); /* POST, GET */
	*f++ = (char)0x87;		   /* https */
	f = put_known(f, 4, grpc ? "/bench.Echo/Small" : "/small");
	f = put_known(f, 1, w->sni);
	f = put_known(f, 58, "bench/1");
	f = put_named(f, "x-api-key", "phantom-token");
	if (grpc) {
		f = put_known(f, 31, "application/grpc");
		f = put_named(f, "te", "trailers");
	} else {
		f = put_known(f, 19, "application/json");
	}
	p = put_frame(out, HEADERS, END_HEADERS | (grpc ? 0 : END_STREAM), stream,
		      (size_t)(f - fields));
	memcpy(p, fields, (size_t)(f - fields));
	p += f - fields;
	if (grpc && ends) {
		p = put_frame(p, DATA, END_STREAM, stream, MESSAGE + 64);
		memset(p, 0, MESSAGE + 64);
		p[MESSAGE - 1] = 64;
		p += MESSAGE + 64;
	}
	return (size_t)(p - out);
}

/* 256 bytes; for gRPC as a message, with trailers. */
static char *put_answer(char *p, uint32_t stream, bool grpc)
{
	char fields[64], *f = fields;

	*f++ = (char)0x88; /* 200 */
	f = put_known(f, 31, grpc ? "application/grpc" : "application/json");
	p = put_frame(p, HEADERS, END_HEADERS, stream, (size_t)(f - fields));
	memcpy(p, fields, (size_t)(f - fields));
	p += f - fields;
	p = put_frame(p, DATA, grpc ? 0 : END_STREAM, stream, BODY + (grpc ? MESSAGE : 0));
	if (grpc) {
		memcpy(p, "\0\0\0\1\0", MESSAGE);
		p += MESSAGE;
	}
	memset(p, ' ', BODY);
	p += BODY;
	if (!grpc)
		return p;
	f = put_named(fields, "grpc-status", "0");
	p = put_frame(p, HEADERS, END_HEADERS | END_STREAM, stream, (size_t)(f - fields));
	memcpy(p, fields, (size_t)(f - fields));
	return p + (f - fields);
}

static uint32_t number(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;

	return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

size_t h2_ping(char *out)
{
	memset(put_frame(out, PING, 0, 0, 8), 0, 8);
	return FRAME_HEAD + 8;
}

bool h2_is_ponged(const char *in, size_t n)
{
	for (size_t at = 0; at + FRAME_HEAD <= n; at += FRAME_HEAD + (number(in + at) >> 8)) {
		if (in[at + 3] == PING && in[at + 4] == ACK)
			return true;
	}
	return false;
}

int h2_read(char *in, size_t *n, bool server, char *out, size_t *n_out)
{
	size_t at = server && *n >= PREFACE_LEN && memcmp(in, PREFACE, PREFACE_LEN) == 0
			    ? PREFACE_LEN
			    : 0;
	char *p = out;
	int ended = 0;

	if (server && at == 0 && *n < PREFACE_LEN && memcmp(in, PREFACE, *n) == 0) {
		*n_out = 0;
		return 0;
	}
	while (*n - at >= FRAME_HEAD && p < out + H2_OUT - 1024) {
		size_t size = number(in + at) >> 8;
		int type = in[at + 3], flags = in[at + 4];
		uint32_t stream = number(in + at + 5);

		if (*n - at < FRAME_HEAD + size)
			break;
		if (type == SETTINGS && !(flags & ACK))
			p = put_frame(p, SETTINGS, ACK, 0, 0);
		if (type == GOAWAY || type == RST_STREAM)
			return -1;
		if ((type == DATA || type == HEADERS) && (flags & END_STREAM)) {
			ended++;
			if (server)
				p = put_answer(p, stream, type == DATA);
		}
		at += FRAME_HEAD + size;
	}
	*n -= at;
	memmove(in, in + at, *n);
	*n_out = (size_t)(p - out);
	return ended;
}
